"""ParaNet: put the keywords of a sentence in other orders, let a model write what is between them, keep the best.

Liu, Shi, Qi, Hou, Li & Tian (2022), "ParaMac: A General Unsupervised Paraphrase Generation Framework Leveraging
Semantic Constraints and Diversifying Mechanisms", Findings of EMNLP. `paranet` below is its section 3, top to bottom;
the defaults of `ParaNet` are its section 4 and appendix A. It needs running text alone: no bitext and no translator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from builders.build import build_parabank, load_source
from builders.pipeline import Pipeline
from toolkit.bitext.words import read_words
from toolkit.data.rows import Row
from toolkit.generate.keywords import DROP_RATE, NO_SPACES, PERMUTATIONS, STOP_WORDS
from toolkit.models.coverage import check_language_of, covers
from toolkit.run.shard_runs import PAPER, Beam
from toolkit.run.text_run import TextRun
from toolkit.score.comprehensive import FITTED_ON, Weights, comprehensive_rows, fitted_weights
from toolkit.score.diversity import JACCARD, diversity_rows, diversity_signature
from toolkit.score.guards import Guards, guard_rows
from toolkit.system.ranges import Count, Seed, Settings, Share, at_most, between, one_of

if TYPE_CHECKING:
    from accelerate import PartialState

    from toolkit.generate.synonyms import Synonyms
    from toolkit.models.language_model import LanguageModel
    from toolkit.score.semantic import Measure
    from toolkit.translator.load import Translator

SEMANTIC = ("cosine", "bertscore")
SCORING = ("fluency_model", "semantic_model")
MAX_PERMUTATIONS = 1000  # ours: the orders of one sentence are decoded beside each other
MAX_WEIGHT = 1e6  # ours
Weight = Annotated[float, between(0, MAX_WEIGHT)]
RULE = {"bleu": None, "license": None}  # of a part of the pipeline that is no model, on the card


@dataclass(frozen=True)
class ParaNet(Settings):
    """The settings of the pipeline; the defaults are the paper's, unless a comment says otherwise.

    Attributes:
        permutations: The most orders of the keywords of a reference.
        drop_rate: Share of the keywords that are dropped, those that say least about the reference.
        beam: Beam size of the infilling; the best hypothesis of each order is a candidate.
        guards: What a candidate must keep of its reference: "negation", "number", "name", "person"; others are refused.
            Not in the paper.
        semantic_weight: Weight of the semantic score.
        fluency_weight: Weight of the fluency, as 1 / perplexity.
        diversity_weight: Weight of the diversity.
        jaccard: The first term of the diversity: "distance", or "similarity" as printed.
        paraphrases: The most paraphrases of a reference.
        batch_rows: Hypotheses in a decoding batch. None is 1,200 on a CPU, and by its memory on a GPU.
        batch_tokens: Size of a scoring batch: texts times the tokens of the longest. None is 8,192 on a CPU, and by its
            memory on a GPU.
        batch_texts: Texts in an encoding batch.
        seed: Seed of the orders.
    """

    CPU_BATCHES: ClassVar = {"batch_rows": 1200, "batch_tokens": 8192}  # ours

    permutations: Annotated[Count, at_most(MAX_PERMUTATIONS)] = PERMUTATIONS
    drop_rate: Share = DROP_RATE
    beam: Beam = 4  # ours: the paper does not say
    guards: Guards = field(default_factory=list)  # ours
    semantic_weight: Weight = Weights().semantic
    fluency_weight: Weight = Weights().fluency
    diversity_weight: Weight = Weights().diversity
    jaccard: Annotated[str, one_of(JACCARD)] = "distance"  # section 3.3.3 says distance and prints a similarity
    paraphrases: Count = 1  # section 3.3: "select the best candidate"
    batch_rows: Count | None = None
    batch_tokens: Count | None = None
    batch_texts: Count = 64  # ours
    seed: Seed = 0

    @property
    def weights(self) -> Weights:
        """The weights of the comprehensive score."""
        return Weights(self.semantic_weight, self.fluency_weight, self.diversity_weight)


@dataclass(frozen=True)
class _Parts:
    """The models and words of a run.

    Attributes:
        infiller: A T5-type model; None if `generate` is there.
        measure: The semantic score of each pair of a reference and a candidate.
        language_model: Says how fluent a candidate is: a causal language model, or an infiller.
        stop_words: Words that are no keywords.
        synonyms: What may replace a keyword; None replaces nothing.
        generate: Another source of candidates; None is the paper's.
    """

    infiller: Translator | None
    measure: Measure
    language_model: LanguageModel | Translator
    stop_words: Set[str] = STOP_WORDS
    synonyms: Synonyms | None = None
    generate: Callable[[Iterable[Row]], Iterator[Row]] | None = None


def paranet(rows: Iterable[Row], parts: _Parts, settings: ParaNet, weights: Weights) -> Iterator[Row]:
    """The pipeline of section 3, on the rows of one shard.

    Args:
        rows: Rows with a reference and its context, without candidates.
        parts: The models and words.
        settings: The settings of the pipeline.
        weights: Of the comprehensive score: `settings.weights`, or fitted ones.

    Yields:
        The same rows with every candidate: chosen ones have a rank, refused ones a reason.
    """
    # Imported here because it loads torch, so that --help and the error for a mistyped flag appear at once.
    from toolkit.select.rank import rank_by_ranking

    rows = _score_candidates(rows, parts, settings)
    rows = comprehensive_rows(rows, weights)  # 3.3.4
    return rank_by_ranking(rows, settings.paraphrases)  # 3.3


def _score_candidates(rows: Iterable[Row], parts: _Parts, settings: ParaNet) -> Iterator[Row]:
    """Sections 3.1 to 3.3.3: the rows with their candidates and the three scores of each."""
    from toolkit.generate.infill import infill_rows
    from toolkit.models.batch_sizes import batches_of
    from toolkit.score.fluency import fluency_rows
    from toolkit.score.semantic import measured_rows
    from toolkit.select.filter import refuse_repeats

    settings = batches_of(settings, parts.infiller or parts.language_model)
    if parts.infiller is not None:
        rows = infill_rows(  # 3.1 keywords: extraction, filtering, substitution, permutation; 3.2 generation
            rows,
            parts.infiller,
            parts.stop_words,
            parts.synonyms,
            settings.permutations,
            settings.drop_rate,
            settings.beam,
            settings.batch_sizes["batch_rows"],
            settings.batch_sizes["batch_tokens"],
            settings.seed,
        )
    elif parts.generate is not None:
        rows = parts.generate(rows)
    rows = refuse_repeats(rows)  # ours: the order of the reference itself brings copies of it
    rows = guard_rows(rows, settings.guards)  # ours; without guards it refuses nothing
    rows = measured_rows(rows, parts.measure)  # 3.3.1
    rows = fluency_rows(rows, parts.language_model, settings.batch_sizes["batch_tokens"])  # 3.3.2
    return diversity_rows(rows, settings.jaccard)  # 3.3.3


@dataclass(frozen=True, kw_only=True)
class ParaNetRun(ParaNet, TextRun):
    """The settings of a run: running text, the models, and the settings of the pipeline.

    Attributes:
        infiller: T5-type model with sentinel tokens: a Hub id, a local path or "starter/infiller" (English).
        fluency_model: Causal language model, or an infiller: a Hub id, a local path or "starter/infiller".
        semantic: The semantic score: "cosine" of sentence vectors, or "bertscore" (F1) as in the paper.
        semantic_model: Sentence encoder for "cosine", or any encoder of transformers for "bertscore": a Hub id, a local
            folder, or "starter/encoder" (English). The paper's is a RoBERTa-large tuned on MNLI.
        semantic_layer: Hidden states that BERTScore compares; -1 are the last.
        wordnet: Folder of WordNet's database files, or a file with synonyms in each line, tabs between them. A word of
            a keyword is replaced by a synonym only with it.
        stop_words: File with one word per line that is no keyword; needed for languages other than English.
        fit_weights: Fit the three weights to candidates of the first references: one over the standard deviation.
        seed: Seed of the draw of the references, and of the orders.
    """

    infiller: str = "google-t5/t5-large"  # section 3.2
    fluency_model: str = "openai-community/gpt2"  # appendix A
    # ours: BERTScore in the paper (section 3.3.1), which needs a model from the Hub
    semantic: Annotated[str, one_of(SEMANTIC)] = "cosine"
    semantic_model: str = "starter/encoder"  # ours: English
    semantic_layer: int = -1  # ours: the paper does not say
    wordnet: str | None = None
    stop_words: str | None = None
    fit_weights: bool = False
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Refuse a language without spaces, or without stop words, and models of another language."""
        super().__post_init__()
        if self.lang in NO_SPACES:
            raise ValueError(
                f"wanted a language that is written with spaces, got {self.lang}: ParaNet joins words by them"
            )
        if not covers("the stop words", self.lang) and not self.stop_words:
            raise ValueError(f"wanted --stop_words for {self.lang}, got none: give a file with one word per line")
        for name in ("infiller", "fluency_model", "semantic_model") if self.generator == PAPER else SCORING:
            check_language_of(getattr(self, name), self.lang, f"--{name}")


def build(run: ParaNetRun) -> dict:
    """Build the parabank of running text and package it.

    Returns:
        What `builders.build.build_parabank` returns, with its errors.
    """
    resources = {name: value for name in ("wordnet", "stop_words") if (value := getattr(run, name))}
    files: dict[str, list[str | Path]] = {"text": [*run.text], **{name: [value] for name, value in resources.items()}}
    names = ("infiller", "fluency_model", "semantic_model") if run.generator == PAPER else SCORING
    models = {name: getattr(run, name) for name in names}
    lists = ["text", "decontaminate"] if run.fit_weights else []  # the weights are fitted to rows of the input
    return build_parabank(run, "paranet", files, models, _load, lists=lists)


def _load(run: ParaNetRun, state: PartialState) -> Pipeline:
    """Load the models and the words of a run, and fit the weights if that is asked for."""
    from toolkit.generate.sentinels import load_infiller
    from toolkit.generate.synonyms import read_synonyms
    from toolkit.score.fluency import fluency_signature, load_fluency
    from toolkit.translator.load import described

    stop_words = read_words(Path(run.stop_words)) if run.stop_words else STOP_WORDS
    synonyms = read_synonyms(Path(run.wordnet)) if run.wordnet else None
    source = load_source(run, state)
    infiller = None if source.generate else load_infiller(run.infiller, run.dtype, state.device, run.lang)
    same = infiller if run.fluency_model == run.infiller else None
    language_model = same or load_fluency(run.fluency_model, run.dtype, state.device, run.lang)
    measure, semantic = _load_measure(run, state)
    parts = _Parts(infiller, measure, language_model, stop_words, synonyms, source.generate)
    weights, how = (fit(run, parts), "fitted") if run.fit_weights else (run.weights, "equation 3")
    models = [
        *(source.models or [{"role": "infiller"} | described(run.infiller)]),
        {"role": "semantic score"} | described(run.semantic_model) | {"signature": semantic},
        {"role": "fluency"} | described(run.fluency_model) | {"signature": fluency_signature(language_model)},
        RULE | {"role": "diversity", "name": "equation 2", "signature": diversity_signature(run.jaccard)},
        RULE | {"role": "ranking", "name": how, "signature": weights.signature},
    ]
    pieces = infiller.target.split if infiller else None
    return Pipeline(lambda rows: paranet(rows, parts, run, weights), pieces, models)


def _load_measure(run: ParaNetRun, state: PartialState) -> tuple[Measure, str]:
    """The semantic score of a run, and its signature."""
    if run.semantic == "bertscore":
        from toolkit.score.bertscore import bertscore_signature, load_bertscore

        measure = load_bertscore(run.semantic_model, run.semantic_layer, state.device)
        return measure, bertscore_signature(run.semantic_model, run.semantic_layer)
    from toolkit.encoder.load import load_embedder
    from toolkit.score.semantic import pair_cosines, semantic_signature

    encoder = load_embedder(run.semantic_model, state.device)
    signature = semantic_signature(encoder, run.semantic_model)
    return lambda pairs: pair_cosines(pairs, encoder, run.batch_texts), signature


def fit(run: ParaNetRun, parts: _Parts) -> Weights:
    """Fit the weights to the candidates of the first references; every process finds the same.

    Raises:
        ValueError: The candidates do not differ in a score.
    """
    rows = (row for row in run.input_rows() if row.reason is None)
    first = list(islice(rows, -(-FITTED_ON // run.permutations)))
    return fitted_weights(
        [
            candidate
            for row in _score_candidates(first, parts, run)
            for candidate in row.candidates
            if candidate.reason is None
        ]
    )
