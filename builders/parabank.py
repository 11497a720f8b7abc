"""ParaBank: translate the foreign side under several sets of lexical constraints from the reference.

Hu, Rudinger, Post & Van Durme (2019), "ParaBank: Monolingual Bitext Generation and Sentential Paraphrasing via
Lexically-constrained Neural Machine Translation", AAAI. `parabank` below is its section 3.2 with the score of
section 5.1; the 37 systems of its table 3 are `toolkit.generate.systems`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from builders.build import build_parabank, load_forward, load_source
from builders.pipeline import Pipeline
from toolkit.bitext.idf import Idf, read_idf
from toolkit.bitext.words import read_words
from toolkit.data.rows import Row
from toolkit.generate.inflections import part_of_speech, spacy_tagger
from toolkit.generate.ppdb import Ppdb, read_ppdb
from toolkit.models.coverage import check_language_of, of_language
from toolkit.run.bitext_run import BitextRun
from toolkit.run.shard_runs import MAX_BEAM
from toolkit.score.guards import Guards, guard_rows
from toolkit.starters import idf_file, words_file
from toolkit.system.ranges import Range, Seed, Settings, at_most, checked_by

if TYPE_CHECKING:
    from accelerate import PartialState

    from toolkit.decode.constraint_set import ConstraintSet
    from toolkit.translator.load import Translator


SIZES = "beam and batch_rows of at least 1 and paraphrases of at least 0"
SHOWN = ("beam", "batch_rows", "paraphrases")
Size = Annotated[int, Range(SIZES, lambda size: size >= 1, shown=SHOWN)]
Most = Annotated[int, Range(SIZES, lambda size: size >= 0, shown=SHOWN)]


def _check_systems(systems: str) -> None:
    """Refuse systems that are not in table 3.

    Raises:
        ValueError: As `parse_systems`.
    """
    from toolkit.generate.systems import parse_systems

    parse_systems(systems)


@dataclass(frozen=True)
class ParaBank(Settings):
    """The settings of the pipeline; the defaults are the paper's, unless a comment says otherwise.

    Attributes:
        systems: Systems of the paper's table 3: "all", "evaluated" (those in bold), or numbers and ranges like
            "17,21,28-31".
        beam: Beam size; the best hypothesis becomes a candidate.
        paraphrases: The most paraphrases of a reference, chosen by predicted judgment; 0 keeps all.
        guards: What a candidate must keep of its reference: "negation", "number", "name", "person"; others are refused.
            Not in the paper.
        batch_rows: Hypotheses in a decoding batch. None is 1,200 on a CPU, and by its memory on a GPU.
        seed: Seed of the random choice of words, inflections and paraphrases.
    """

    CPU_BATCHES: ClassVar = {"batch_rows": 1200}  # ours: 100 searches

    systems: Annotated[str, checked_by(_check_systems)] = "1-34"  # section 5.3: all without PPDB, as for CzEng
    beam: Annotated[Size, at_most(MAX_BEAM)] = 12  # ours: ParaNMT's, because the paper names none
    # ours: "on average 4 paraphrases per reference" (section 7) are those that its systems found
    paraphrases: Most = 0
    guards: Guards = field(default_factory=list)  # ours
    batch_rows: Size | None = None
    seed: Seed = 0


@dataclass(frozen=True)
class Lexicon:
    """The resources for choosing constraint words: IDF, part-of-speech tagger, PPDB paraphrases, and known words."""

    idf: Idf
    tag: Callable[[Sequence[str]], list[str]] = part_of_speech
    ppdb: Ppdb | None = None
    known_words: Set[str] = frozenset()


def parabank(
    rows: Iterable[Row],
    forward: Translator,
    lexicon: Lexicon,
    settings: ParaBank,
    generate: Callable[[Iterable[Row]], Iterator[Row]] | None = None,
) -> Iterator[Row]:
    """The pipeline of section 3.2, on the rows of one shard.

    Args:
        rows: Rows with a source and a reference, without candidates.
        forward: Translates the source language to the references' language.
        lexicon: The resources for choosing constraints.
        settings: The settings of the pipeline.
        generate: Another source of candidates, with the scores that the paper's generation gives; None is the paper's.

    Yields:
        The same rows with a candidate for every distinct text, whose origins name all systems that generated it.
    """
    # Imported here because they load torch, so that --help and the error for a mistyped flag appear at once.
    from toolkit.generate.constrain import constrain_rows
    from toolkit.generate.recipes import constraint_sets
    from toolkit.generate.systems import RECIPES, parse_systems
    from toolkit.models.batch_sizes import batches_of
    from toolkit.score.judgment import judgment_rows
    from toolkit.score.overlap import overlap_rows
    from toolkit.select.filter import refuse_copies
    from toolkit.select.rank import rank_by_judgment

    settings = batches_of(settings, forward)
    systems = [RECIPES[number] for number in parse_systems(settings.systems)]

    def list_sets(row: Row) -> list[tuple[str | None, ConstraintSet]]:  # 3.2 selection of lexical constraints, table 3
        resources = lexicon.idf, lexicon.tag, lexicon.ppdb
        return [
            (system.name, constraint_set)
            for system in systems
            for constraint_set in constraint_sets(system, row.reference, row.id, settings.seed, *resources)
        ]

    if generate is None:
        rows = constrain_rows(  # 2.3 lexically constrained decoding; 5.3 identical outputs are merged
            rows, forward, list_sets, settings.beam, settings.batch_sizes["batch_rows"], known_words=lexicon.known_words
        )
    else:
        rows = generate(rows)
    rows = refuse_copies(rows)  # ours
    rows = guard_rows(rows, settings.guards)  # ours; without guards it refuses nothing
    rows = judgment_rows(rows)  # 5.1 scoring
    rows = overlap_rows(rows, forward.target)  # for the card, and for ParaBank 2's comparison (section 3.7)
    return rank_by_judgment(rows, settings.paraphrases)


@dataclass(frozen=True, kw_only=True)
class ParaBankRun(ParaBank, BitextRun):
    """The settings of a run: a bitext, a translator, an IDF table and the settings of the pipeline.

    Attributes:
        forward: Translator from the source language to the references': a Hub id, a local path or "starter/de-en".
        idf: IDF table from parabank count idf, counted on the translator's training text, or "starter/de-en" for
            that of the starter.
        ppdb: File of PPDB 2.0's lexical XL pack, for systems 35 to 37.
        spacy_model: Name of a spaCy model that tags parts of speech; without it a lexicon with a few rules is used.
        known_words: File with one word per line, or "starter/de-en" for the words of that starter's training text.
            Candidates contain only these words and those of the source and the reference. Not in the paper; useful with
            a small translator.
    """

    forward: str
    idf: str
    ppdb: str | None = None
    spacy_model: str | None = None
    known_words: str | None = None

    def __post_init__(self) -> None:
        """Refuse systems that need PPDB without it, and a language that a score or a file does not know."""
        from toolkit.generate.recipes import check_ppdb
        from toolkit.generate.systems import parse_systems

        super().__post_init__()
        check_ppdb(parse_systems(self.systems), bool(self.ppdb))
        check_language_of("the judgment score", self.lang)
        for name in ("idf", "known_words"):
            of_language(name, getattr(self, name), self)

    def check_inputs(self) -> None:
        """Refuse a bitext that cannot be used.

        Raises:
            ValueError: As `check_bitext`; a resource cannot be read; or a system needs more words of some kind than the
                references have.
        """
        from toolkit.generate.recipes import check_pools
        from toolkit.generate.systems import parse_systems

        super().check_inputs()
        lexicon = _read_lexicon(self)  # so that a damaged one is refused first
        references = (pair.reference for pair in self.usable(Counter()))
        check_pools(references, parse_systems(self.systems), lexicon.idf)


def _read_lexicon(run: ParaBankRun) -> Lexicon:
    """Read the lexical resources of a run.

    Raises:
        ValueError: A file has another form; the message names it.
    """
    ppdb = read_ppdb(Path(run.ppdb)) if run.ppdb else None
    return Lexicon(
        read_idf(idf_file(run.idf)),
        spacy_tagger(run.spacy_model) if run.spacy_model else part_of_speech,
        ppdb,
        read_words(words_file(run.known_words)) if run.known_words else frozenset(),
    )


def build(run: ParaBankRun) -> dict:
    """Build the parabank of a bitext and package it.

    Returns:
        What `builders.build.build_parabank` returns, with its errors.
    """
    files: dict[str, list[str | Path]] = {"bitext": [*run.bitext], "idf": [idf_file(run.idf)], "known_words": []}
    if run.ppdb:
        files["ppdb"] = [run.ppdb]
    if run.known_words:
        files["known_words"] = [words_file(run.known_words)]
    return build_parabank(run, "parabank", files, {"forward": run.forward}, _load)


def _load(run: ParaBankRun, state: PartialState) -> Pipeline:
    """Load the translator and the lexical resources of a run."""
    from toolkit.translator.load import described

    lexicon = _read_lexicon(run)
    forward = load_forward(run.forward, run, state)
    source = load_source(run, state, forward)
    models = [*source.models, {"role": "forward"} | described(forward.name)]

    def recipe(rows: Iterable[Row]) -> Iterator[Row]:
        return parabank(rows, forward, lexicon, run, source.generate)

    return Pipeline(recipe, forward.target.split, models)
