"""`toolkit.Paraphraser`: paraphrases of any texts by any seq2seq model, in batches."""

from __future__ import annotations

import hashlib
import sys
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache, partial
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from toolkit.bitext.hub_subwords import HubPieces
from toolkit.bitext.languages import check_code, main_language, near
from toolkit.bitext.words import WordPieces, read_words
from toolkit.chat.client import ChatClient
from toolkit.chat.settings import REPLIES, SEVERAL, PromptedModel
from toolkit.clean.script import in_other_script
from toolkit.data.progress import rows_bar
from toolkit.data.rows import Candidate, Row
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.constraint_set import ConstraintSet, times_said
from toolkit.encoder.load import load_embedder
from toolkit.generate.language_model import load_asked, make_asking
from toolkit.models.batch_sizes import open_sizes, room, with_batches
from toolkit.models.checkpoint import fingerprint
from toolkit.models.coverage import check_language_of, covers
from toolkit.models.language_model import LanguageModel, is_causal
from toolkit.models.precision import check_device
from toolkit.paraphraser._beside import _around
from toolkit.paraphraser._masked import _Masked, _masked
from toolkit.paraphraser._sentences import join, parts_of
from toolkit.paraphraser.document import ParaphrasedDocument, check_kind, document_sentences, paraphrased
from toolkit.paraphraser.form import Form, formed, plain
from toolkit.paraphraser.judged import Rewriter
from toolkit.paraphraser.names import BEST, STARTER, encoder_for, installed_critic, models_of, pivot_name
from toolkit.paraphraser.pipeline import _paraphrase_rows, _prompted_rows, reporting_stages
from toolkit.paraphraser.protect import LOST, _Piece, kept_pieces
from toolkit.paraphraser.settings import MEANING, Paraphrasing
from toolkit.paraphraser.syntax import with_template
from toolkit.score.critic import load_critic
from toolkit.score.guards import ALWAYS, LANGUAGES, broken_guard, check_guards
from toolkit.score.meaning import MeaningModels, MeaningScorer, load_meaning
from toolkit.select.filter import refuse_below
from toolkit.starters import WORDS, resolve, shown_name
from toolkit.system.errors import check_several
from toolkit.system.memory import release_memory
from toolkit.translator.load import Translator, described, languages_of, load_translator

if TYPE_CHECKING:
    from toolkit.score.semantic import Embedder

UNKNOWN = "und"  # ISO 639-2: a language that nobody has stated
MIN_FORWARD = -0.45  # ours: nats per token of the starter; the highest that refuses no usable text (docs)
PIVOT_POOL = 12  # ours: the most probable candidates of a text by pivot, for each paraphrase, that are scored further
READ_POOL = 16  # ours: the same where a language model reads them
MIN_USABLE = (
    0.6  # ours: of two translators; 92 % of the texts that the judge was fitted on last have a read output above
)
MIN_USABLE_ALONE = 0.4  # ours: without a language model, whose judge is less sure (judge_fit.json)
CHUNK = 1000  # ours: texts that are worked on together
LONGEST = 512  # ours: pieces of a text, where a model does not state on how many it was trained
LONGEST_TRANSLATED = 64  # ours: likewise, of a translator: those of Firefox read sentences
NEAR = 1000  # ours: characters before and after a part that a language model reads
LONGEST_ASKED = 4000  # ours: characters of a text that a language model is asked for as a whole
MORE = 2  # ours: paraphrases that a language model is asked for, for each that is wanted; some are refused
MANY = 200  # ours: more texts than this take so long that a bar is shown
WIDE_SAMPLE = "文字"  # "text"
IDENTIFIED = 40  # ours: characters from which on the language of a text is identified
NO_CONSTRAINTS = ConstraintSet()
Phrases = Sequence[str] | Sequence[Sequence[str]]  # for all texts, or some for each text


class Paraphraser:
    """A seq2seq model that says texts in other words.

    >>> import toolkit                                                                         # doctest: +SKIP
    >>> toolkit.Paraphraser().paraphrase(["She closed the door and walked away."])             # doctest: +SKIP
    [['She shut the door and walked away.']]

    Args:
        model: "starter/paraphraser", a Hub id or a folder. Where the folder has a words.txt, outputs with other words
            are refused. Two names with " > " between are the translators of `pivot`. "best" is what is installed: the
            translators "starter/en-pt > starter/pt-en", or else the starter.
        lang: Language of the texts (ISO 639-1); None is what the model or the two translators state, or else English.
        encoder: A sentence encoder for the cosine of text and paraphrase; None takes the starter's in English and
            leaves the cosine out in other languages.
        backward: A model that scores a text given its paraphrase; None takes the model itself.
        prefix: What the model reads before every text, such as "paraphrase: " of many T5 checkpoints; None is what its
            configuration says.
        settings: How texts are paraphrased, where a call does not say otherwise. None takes the defaults, and for the
            starter `MIN_FORWARD`, which was chosen for it.
        dtype: See `load_translator`.
        device: Device of all models; None is a GPU where there is one (`default_device`).
        pivot: Instead of a model two translators, from the language of the texts to another and back: a text is
            translated, and its translations are translated back in other words (`toolkit.generate.pivot`). The first
            one also scores backward.
        critic: A causal language model (a Hub id, a folder, "starter/rewriter") that reads the text and then each
            candidate, where the settings judge candidates. None takes "starter/rewriter", on which the judge was
            fitted, where the package of its model is installed.
        pivot_lang: The other language (ISO 639-1); None is what the translators state. Those of several languages need
            it.
        rewriters: Beside two translators, paraphrasers of the language of the texts: where the settings judge
            candidates, theirs join those of the translators. Each is a seq2seq model, or a causal one that was tuned
            to go on after a text and a line break with its paraphrase, or an adapter of such a model. None takes
            "starter/paraphraser" in English, and "starter/rewriter" where the package of its model is installed.
        lm: Instead of a model a language model that is asked for paraphrases, here or on a server
            (`toolkit.PromptedModel`): its name, or also what it is asked and how. Its paraphrases are ranked by how
            often it says them, and pass the same guards and floors. `backward` then scores both directions.
        meaning: Models that measure whether text and paraphrase mean the same, and the least scores that they may give:
            entailment both ways, ParaPLUIE, a language model as a judge (`toolkit.score.meaning`).

    Raises:
        ValueError: A model cannot be loaded, the language is no code, the prefix is for a model that reads none, or
            guards or a cosine are wanted in a language for which there are none.
    """

    name: str  # of the model, as it may be shown
    lang: str
    settings: Paraphrasing
    model: Translator | None  # that writes paraphrases; None where a language model is asked
    lm: LanguageModel | ChatClient | None  # that is asked for paraphrases
    prompted: PromptedModel | None  # how
    backward: Translator | None
    forward: Translator | None  # into the pivot language; None where the model reads the text itself
    pivot_lang: str | None
    encoder: Embedder | None
    critic: LanguageModel | None
    rewriters: list[Rewriter]  # whose candidates join those of two translators
    known_words: frozenset[str]
    meaning: MeaningModels | None  # that measure candidates
    measures: MeaningScorer | None  # these models
    limit: int  # pieces of a text; a longer one is cut into sentences
    half_width: bool  # whether Chinese and Japanese marks become those of ASCII, because the model has no others
    model_names: dict[str, list[str]]  # of all models that are loaded, by what they are for
    batch_sizes: dict[str, int]  # where the settings leave them open
    mark: bool  # whether the model reads texts with a mark at the end, as most of those that it was trained on

    def __init__(
        self,
        model: str = BEST,
        lang: str | None = None,
        encoder: str | None = None,
        backward: str | None = None,
        prefix: str | None = None,
        settings: Paraphrasing | None = None,
        dtype: str = "auto",
        device: torch.device | str | None = None,
        pivot: Sequence[str] | None = None,
        pivot_lang: str | None = None,
        critic: str | None = None,
        rewriters: Sequence[str] | None = None,
        lm: PromptedModel | str | None = None,
        meaning: MeaningModels | None = None,
    ) -> None:
        machine = (dtype, device, pivot, pivot_lang, critic, rewriters, lm, meaning)
        self._loaded_from = (model, lang, encoder, backward, prefix), machine
        device = check_device(device)
        self.meaning, self.measures = meaning, None if meaning is None else load_meaning(meaning, dtype, device)
        self.lm = self.prompted = None
        if lm is not None:
            if (model, prefix, pivot, pivot_lang, critic, rewriters) != (BEST, None, None, None, None, None):
                raise ValueError("wanted lm alone, got it with a model, a pivot, a prefix, a critic or rewriters")
            self._load_asked(PromptedModel(model=lm) if isinstance(lm, str) else lm, lang, encoder, backward, settings,
                             dtype, device)  # fmt: skip
            return
        lang = None if lang is None else check_code(lang, "lang")
        if pivot is not None and model != BEST:
            raise ValueError(f"wanted a model or a pivot, got both, {model!r} and {tuple(pivot)}: give one of them")
        models = models_of(model if pivot is None else pivot_name(pivot), lang)
        translates = len(models) == 2
        if translates and (backward, prefix) != (None, None):
            raise ValueError("wanted two translators alone, got backward or prefix, too: the first one scores backward")
        if rewriters is not None and not translates:
            raise ValueError(f"wanted rewriters only beside two translators, got {rewriters!r} and model {model!r}")
        check_several(rewriters or (), "a list of rewriters")
        name = models[-1]
        known = described(name)
        self.name, self.lang = known["name"], lang or check_code(stated_language(model, pivot), "lang")
        encoder = encoder_for(self.lang, encoder)
        for part, argument in (
            (None if translates else name, "model"),
            (encoder, "encoder"),
            (backward, "backward"),
            *((rewriter, "rewriters") for rewriter in rewriters or ()),
        ):
            if part is not None:
                check_language_of(part, self.lang, argument)
        floor = MIN_FORWARD if name == STARTER else None
        installed = installed_critic()
        reads = bool(critic or installed)
        self.settings = settings or defaults(self.lang, encoder is not None, floor, translates, reads)
        check_guards(self.settings.guards, self.lang)
        self.forward, self.pivot_lang = None, pivot_lang and check_code(pivot_lang, "pivot_lang")
        if translates:
            self._load_pivot(models, dtype, device)
        else:
            self._load_model(name, backward, prefix, dtype, device)
        self.encoder = None if encoder is None else load_embedder(encoder, device)
        if self.settings.judges:
            critic = critic or installed
        self.critic = None if critic is None else load_critic(critic, dtype, device)
        if rewriters is None and translates and self.settings.judges:  # in English: the judge knows no other language
            rewriters = [STARTER, installed] if installed else [STARTER]
        if rewriters and not self.settings.judges:
            raise ValueError(f"wanted rewriters only where English candidates are judged, got {list(rewriters)!r}")
        self.rewriters = [
            self.critic if self.critic and name == critic else _load_rewriter(name, self.lang, dtype, device)
            for name in rewriters or ()
        ]
        words = Path(resolve(name), WORDS)
        self.known_words = read_words(words) if words.exists() and not translates else frozenset()
        longest = known["max_tokens"] or (LONGEST_TRANSLATED if translates else LONGEST)
        reader = self.forward or self.model
        assert reader is not None
        self.limit = min(engine_of(reader.model).limit, longest)
        self.model_names = {
            "model": models,
            "backward": _names(backward),
            "encoder": _names(encoder),
            "critic": _names(critic),
            "rewriters": _names(*rewriters or ()),
            "meaning": [] if meaning is None else meaning.local_models,
        }
        self.mark = known["marked"] is None or known["marked"] >= 0.5
        wide, narrow = (reader.source.encode([mark])[0] for mark in "，,")
        self.half_width = reader.source.unk in wide and reader.source.unk not in narrow
        self._check_settings(self.settings)
        self._fit_batches(dtype, device)
        self.warned = False
        if model == BEST and pivot is None:
            _tell_choice(self.name)

    def _load_asked(
        self,
        prompted: PromptedModel,
        lang: str | None,
        encoder: str | None,
        backward: str | None,
        settings: Paraphrasing | None,
        dtype: str,
        device: torch.device | str,
    ) -> None:
        """Load a language model that is asked, or take that of a server; the other arguments are those of the class."""
        self.lang = check_code(lang or "en", "lang")
        if self.lang == "zh":
            WordPieces().split(WIDE_SAMPLE)  # a package that is missing is named before anything is asked or paid for
        self.lm, self.prompted = load_asked(prompted, dtype, device), prompted
        self.name = shown_name(self.lm.name)
        is_chat = isinstance(self.lm, ChatClient) or getattr(self.lm.tokenizer, "chat_template", None)
        if prompted.prompt == SEVERAL and not is_chat:
            raise ValueError(
                f"wanted a chat model for the prompt {SEVERAL!r}, got {self.name}, whose tokenizer has no chat "
                "template: give prompt 'examples'"
            )
        encoder = encoder_for(self.lang, encoder)
        for part, argument in ((encoder, "encoder"), (backward, "backward")):
            if part is not None:
                check_language_of(part, self.lang, argument)
        self.settings = settings or replace(defaults(self.lang, encoder is not None), rank_by="draws")
        check_guards(self.settings.guards, self.lang)
        self.model = self.forward = self.pivot_lang = self.critic = None
        self.backward = load_translator(backward, dtype, device, self.lang, self.lang, True) if backward else None
        self.encoder = None if encoder is None else load_embedder(encoder, device)
        self.rewriters, self.known_words, self.mark, self.warned = [], frozenset(), True, False
        self.model_names = {
            "model": _names(None if prompted.server else prompted.model),
            "backward": _names(backward),
            "encoder": _names(encoder),
            "meaning": [] if self.meaning is None else self.meaning.local_models,
        }
        self.half_width = False
        self.limit = LONGEST_ASKED
        self._check_settings(self.settings)
        self._fit_batches(dtype, device)

    def _load_model(
        self, name: str, backward: str | None, prefix: str | None, dtype: str, device: torch.device | str
    ) -> None:
        """Load a model that reads and writes the language; the arguments are those of the class."""
        self.model = load_translator(name, dtype, device, self.lang, self.lang, scoring=backward is None)
        if prefix is not None:
            if not isinstance(self.model.source, HubPieces):
                raise ValueError(f"wanted no prefix for {name!r}, a Marian model, which reads texts as they are")
            self.model.source.task = prefix
        self.backward = load_translator(backward, dtype, device, self.lang, self.lang, True) if backward else self.model

    def _load_pivot(self, pivot: Sequence[str], dtype: str, device: torch.device | str) -> None:
        """Load two translators; the first one scores, too."""
        there, back = pivot
        self.name = pivot_name((shown_name(there), self.name))
        self.pivot_lang = self.pivot_lang or languages_of(there)[1] or languages_of(back)[0]
        self.forward = load_translator(there, dtype, device, self.lang, self.pivot_lang, scoring=True)
        self.model = load_translator(back, dtype, device, self.pivot_lang, self.lang)
        self.backward = self.forward

    def _fit_batches(self, dtype: str, device: torch.device | str) -> None:
        """Choose the batch sizes that settings may leave open, by the memory that the models have left."""
        translators = [model for model in (self.model, self.forward, self.backward, *self.rewriters) if model]
        sizes = with_batches(Paraphrasing(), room(device, dtype), [model.name for model in translators])
        self.batch_sizes = sizes.batch_sizes

    def record(self) -> dict[str, Any]:
        """What its paraphrases depend on: settings, and a hash of the files of each model (`fingerprint`)."""
        prefix = self._loaded_from[0][-1]
        models = {use: [fingerprint(name) for name in names] for use, names in self.model_names.items()}
        record: dict[str, Any] = {
            "paraphraser": self.name, "lang": self.lang, "pivot_lang": self.pivot_lang, "prefix": prefix,
            "models": models, "settings": asdict(self.settings),
        }  # fmt: skip
        if self.prompted is not None:
            record |= {"lm": self.prompted.record()}
        if self.meaning is not None and self.measures is not None:
            record |= {"meaning": self.measures.signatures | self.meaning.floors}
        return record

    def __reduce__(self) -> tuple[type[Paraphraser], tuple[Any, ...]]:
        """What a pickle holds: where the models are, and the settings; whoever reads it loads them again."""
        models, machine = self._loaded_from
        return Paraphraser, (*models, self.settings, *machine)

    def paraphrase(
        self,
        texts: Iterable[str],
        n: int | None = None,
        method: str | None = None,
        seed: int | None = None,
        avoid: Phrases = (),
        require: Phrases = (),
        min_semantic: float | None = None,
        max_iou: float | None = None,
        template: str | None = None,
        progress: bool | None = None,
        min_forward: float | None = None,
        allow_trivial: bool | None = None,
        min_usable: float | None = None,
        protect: Sequence[str] | None = None,
        protect_patterns: Sequence[str] | None = None,
    ) -> list[list[str]]:
        """The best paraphrases of each text.

        Args:
            texts: Texts in the model's language. Paragraphs are paraphrased one by one, and those that are too long for
                the model sentence by sentence.
            n: The most paraphrases of a text. This and all that follows: None is what the settings say.
            method: "auto", "sample", "beam" or "top_p".
            seed: Of the samples. A text has the same paraphrases in any batch, apart from ties that rounding decides.
            avoid: Words or phrases that no paraphrase contains; one list for all texts, or one for each.
            require: Words or phrases that every paraphrase contains, likewise; such texts are decoded by beam search.
                Of a text that is cut into sentences these can only be phrases that it contains itself.
            min_semantic: The least cosine of text and paraphrase.
            max_iou: The greatest share of pieces that they have in common.
            template: The form that the paraphrases should have, such as "(S (NP) (VP))"; only for a model that was
                trained with --syntax, and a wish only.
            progress: Whether a bar is shown; None shows one for many texts.
            min_forward: The least forward log-likelihood per token of a paraphrase, in nats, at most 0; minus infinity
                refuses none.
            allow_trivial: Whether a text that only contracts or expands ("What's", "What is") is a paraphrase.
            min_usable: The least probability that a reader would call a paraphrase usable, in [0, 1], in English: a
                high one gives fewer paraphrases and surer ones.
            protect: What of a text stays letter for letter: classes of `toolkit.paraphraser.protect.CLASSES`; () for
                none. A text in which a piece cannot be kept has no paraphrase; the reason of its candidates names the
                class: "url_lost".
            protect_patterns: Regular expressions of what else does ("pattern_lost").

        Returns:
            For each text at most n paraphrases, best first, in its own form (case, quotes, white space). Fewer, or
            none, where the model says nothing else that passes: never the text itself, also not with other punctuation.

        Raises:
            ValueError: A text is no string or has no visible character (the message names its index), there are not as
                many lists of phrases as texts, a phrase is required and avoided, or a setting is out of its range.
        """
        args = (n, method, seed, avoid, require, min_semantic, max_iou, template, progress, min_forward, allow_trivial)
        candidate_lists = self.candidates(texts, *args, min_usable, protect, protect_patterns)
        return [
            [candidate.text for candidate in candidates if candidate.rank is not None] for candidates in candidate_lists
        ]

    def candidates(
        self,
        texts: Iterable[str],
        n: int | None = None,
        method: str | None = None,
        seed: int | None = None,
        avoid: Phrases = (),
        require: Phrases = (),
        min_semantic: float | None = None,
        max_iou: float | None = None,
        template: str | None = None,
        progress: bool | None = None,
        min_forward: float | None = None,
        allow_trivial: bool | None = None,
        min_usable: float | None = None,
        protect: Sequence[str] | None = None,
        protect_patterns: Sequence[str] | None = None,
    ) -> list[list[Candidate]]:
        """All candidates of each text with scores: the paraphrases by rank, then what was refused, with its reason.

        Args and errors are those of `paraphrase`. Of a text that is cut into parts, only paraphrases are given.
        """
        args = (n, method, seed, avoid, require, min_semantic, max_iou, template, progress, min_forward, allow_trivial)
        return list(self.stream(texts, *args, min_usable, protect, protect_patterns))

    def stream(
        self,
        texts: Iterable[str],
        n: int | None = None,
        method: str | None = None,
        seed: int | None = None,
        avoid: Phrases = (),
        require: Phrases = (),
        min_semantic: float | None = None,
        max_iou: float | None = None,
        template: str | None = None,
        progress: bool | None = None,
        min_forward: float | None = None,
        allow_trivial: bool | None = None,
        min_usable: float | None = None,
        protect: Sequence[str] | None = None,
        protect_patterns: Sequence[str] | None = None,
    ) -> Iterator[list[Candidate]]:
        """The candidates of each text as in `candidates`, one after another: for more texts than memory holds.

        Args and errors are those of `paraphrase`. Texts are read in chunks of `CHUNK`.
        """
        check_several(texts, "texts")
        overrides: dict[str, Any] = {
            "n": n,
            "method": method,
            "seed": seed,
            "min_semantic": min_semantic,
            "min_forward": min_forward,
            "max_iou": max_iou,
            "allow_trivial": allow_trivial,
            "min_usable": min_usable,
            "protect": _several(protect, "a list of classes to protect"),
            "protect_patterns": _several(protect_patterns, "a list of patterns to protect"),
        }
        settings = replace(self.settings, **{name: value for name, value in overrides.items() if value is not None})
        self._check_settings(settings)
        if template is not None and (self.lm is not None or self.forward is not None):
            kind = "two translators" if self.lm is None else "a language model that is asked"
            raise ValueError(
                f"wanted no template for {kind}, got {template!r}: give a model that was trained with them"
            )
        if isinstance(texts, Sequence):
            for index, text in enumerate(texts):
                _check_text(text, index)
        total = len(texts) if isinstance(texts, Sequence) else None
        phrases = zip(_each(require, total, "require"), _each(avoid, total, "avoid"), strict=False)
        return self._chunks(enumerate(texts), phrases, settings, template, total, progress)

    def _chunks(
        self,
        texts: Iterator[tuple[int, str]],
        phrases: Iterator[tuple[Sequence[str], Sequence[str]]],
        settings: Paraphrasing,
        template: str | None,
        total: int | None,
        progress: bool | None,
    ) -> Iterator[list[Candidate]]:
        """Paraphrase the texts chunk by chunk."""
        is_shown = (total is None or total > MANY) if progress is None else progress
        finished_count = 0
        with rows_bar(total, 0, self._stages(settings), "paraphrasing", is_shown) as bar:
            while chunk := list(islice(texts, CHUNK)):
                for index, text in chunk:
                    _check_text(text, index)
                self._warn_of_language([text for _, text in chunk])
                sets = [ConstraintSet(tuple(say), tuple(avoid)) for say, avoid in islice(phrases, len(chunk))]
                yield from self._chunk([text for _, text in chunk], sets, settings, template)
                finished_count += len(chunk)
                bar.update(finished_count - bar.n)  # where equal texts are paraphrased once, stages report fewer
                if len(chunk) > MANY:
                    release_memory()

    def _stages(self, settings: Paraphrasing) -> int:
        """How many stages report a text to the progress bar."""
        measure_count = len(self.meaning.scores) if self.meaning else 0
        return reporting_stages(settings, self.forward, self.critic, self.rewriters, measure_count)

    def _chunk(
        self, texts: Sequence[str], sets: Sequence[ConstraintSet], settings: Paraphrasing, template: str | None
    ) -> Iterator[list[Candidate]]:
        """The candidates of each text of a chunk; texts and sentences that are equal are paraphrased once."""
        pieces = [kept_pieces(text, settings.protect, settings.protect_patterns) for text in texts]
        parts_by_text = [
            self._parts(text, text_pieces, constraint_set, template)
            for text, text_pieces, constraint_set in zip(texts, pieces, sets, strict=True)
        ]
        yield from self._candidates_by_parts(parts_by_text, sets, settings)

    def _candidates_by_parts(
        self, parts_by_text: Sequence[Sequence[_Part]], sets: Sequence[ConstraintSet], settings: Paraphrasing
    ) -> Iterator[list[Candidate]]:
        """The candidates of texts from those of their parts; parts that are equal are paraphrased once."""
        parts_by_row: dict[str, _Part] = {}
        for part in (part for parts in parts_by_text for part in parts):
            if part.row is not None:
                parts_by_row.setdefault(part.row.id, part)
        finished_rows = self._finished_rows(parts_by_row, settings)
        candidates_by_row = {
            row.id: row.paraphrases + [c for c in row.candidates if c.rank is None] for row in finished_rows
        }
        for constraint_set, parts in zip(sets, parts_by_text, strict=True):
            yield _candidates_of(parts, candidates_by_row, constraint_set, settings.n, self.lang)

    def _parts(
        self,
        text: str,
        pieces: Sequence[_Piece],
        constraint_set: ConstraintSet = NO_CONSTRAINTS,
        template: str | None = None,
        before: str = "",
    ) -> list[_Part]:
        """The parts of a text: those that are paraphrased, with their rows, and those that stay.

        Args:
            text: The text.
            pieces: What of it is kept.
            constraint_set: What its paraphrases must say and must not say.
            template: Their form.
            before: What stands before the text.
        """
        piece_places = [(piece.begin, piece.end) for piece in pieces]
        spans, begin = [], 0
        for whole in parts_of(text, self.lang, lambda part: self._fits(with_template(part, template)), piece_places):
            end = begin + len(whole)
            inner = _pieces_between(pieces, begin, end)
            spans += [(begin + first, begin + last, read) for first, last, read in _around(whole, inner, self.lang)]
            begin = end
        kept_texts = [piece.text for piece in pieces]
        required = (p for p in constraint_set.positive if not any(times_said(kept, p) for kept in kept_texts))
        constraint_set = replace(constraint_set, positive=tuple(required))
        parts = []
        for begin, end, is_read in spans:
            inner = _pieces_between(pieces, begin, end)
            phrases = (*constraint_set.positive, *constraint_set.negative)
            masked = _masked(text[begin:end], inner, self.lm is not None, phrases, self._spells)
            part = _Part(text[begin:end], masked)
            if is_read and masked.is_readable and any(map(str.isalpha, masked.rest)):
                is_alone = len(spans) == 1
                near = _near(before, text, begin, end) if self.lm is not None else (None, None)
                self._add_row(part, constraint_set, is_alone, template, *near)
            parts.append(part)
        return parts

    def _add_row(
        self,
        part: _Part,
        constraints: ConstraintSet,
        is_alone: bool,
        template: str | None,
        before: str | None,
        after: str | None,
    ) -> None:
        """Give a part the row that is paraphrased, its form and its constraints.

        Args:
            part: The part.
            constraints: Of its text.
            is_alone: Whether the text has no other part.
            template: Form of the paraphrases.
            before: What stands before it, for a language model that is asked; None where nothing does.
            after: And after it.
        """
        body, part.form = plain(part.masked.text, self.lang, self.mark, self.half_width, part.masked.rest)
        body = part.masked.recased(body)
        if self.lm is not None:  # it has read texts of all forms
            body = part.text.strip()
        part.constraints = _lower_case(constraints) if part.form.case == "upper" else constraints
        if not is_alone:
            part.constraints = _within(part.constraints, body)
        avoided = part.constraints.negative  # a piece that contains an avoided phrase leaves the text no paraphrase
        required = (
            reading
            for reading in part.masked.required(self.lm is not None)
            if not any(times_said(reading, phrase) for phrase in avoided)
        )
        part.constraints = replace(part.constraints, positive=(*part.constraints.positive, *required))
        row_id = _row_id(body, part.constraints, before, after)
        source = with_template(body, template)
        part.row = Row(row_id, "text", source, self.lang, body, self.lang, "", before, after)

    def paraphrase_document(
        self,
        text: str,
        kind: str = "plain",
        n: int = 1,
        seed: int | None = None,
        protect: Sequence[str] | None = None,
        protect_patterns: Sequence[str] | None = None,
        progress: bool | None = None,
    ) -> ParaphrasedDocument:
        """A document with its sentences in other words and all else as it is.

        Args:
            text: The document. Headings, list marks, tables, code, tags, addresses of links and front matter stay byte
                for byte, and so do sentences without a paraphrase. A language model reads the sentence before each.
            kind: "plain", "markdown" or "html".
            n: How many documents; each has the next paraphrase of every sentence, and after the last the first again.
            seed: Of the samples. This and all that follows: None is what the settings say.
            protect: See `paraphrase`.
            protect_patterns: Likewise.
            progress: Whether a bar is shown; None shows one for many sentences.

        Raises:
            ValueError: The kind is unknown, or a setting is out of its range.
        """
        check_kind(kind)
        overrides: dict[str, Any] = {
            "n": n,
            "seed": seed,
            "protect": _several(protect, "a list of classes to protect"),
            "protect_patterns": _several(protect_patterns, "a list of patterns to protect"),
        }
        settings = replace(self.settings, **{name: value for name, value in overrides.items() if value is not None})
        self._check_settings(settings)
        sentences = document_sentences(text, kind, self.lang)
        readable = [sentence for sentence in sentences if sentence.is_readable]
        is_shown = len(readable) > MANY if progress is None else progress
        parts, before = [], ""
        for sentence in sentences:
            if sentence.is_readable:
                pieces = kept_pieces(sentence.text, settings.protect, settings.protect_patterns, sentence.pieces)
                parts.append(self._parts(sentence.text, pieces, before=f"{before} " if before else ""))
            before = sentence.text
        candidates: list[list[Candidate]] = []
        self._warn_of_language([sentence.text for sentence in readable])
        with rows_bar(len(readable), 0, self._stages(settings), "paraphrasing", is_shown) as bar:
            for begin in range(0, len(parts), CHUNK):
                chunk = parts[begin : begin + CHUNK]
                candidates += self._candidates_by_parts(chunk, [NO_CONSTRAINTS] * len(chunk), settings)
                bar.update(len(candidates) - bar.n)
        return paraphrased(text, kind, self.lang, sentences, candidates, n)

    def _finished_rows(self, parts: Mapping[str, _Part], settings: Paraphrasing) -> Iterator[Row]:
        """The rows of parts by the rows' ids, with their candidates."""
        rows = [part.row for part in parts.values() if part.row is not None]
        constraints = {row_id: part.constraints for row_id, part in parts.items()}
        sizes: dict[str, Any] = {name: self.batch_sizes[name] for name in open_sizes(settings)}
        settings = replace(settings, **sizes)
        if self.lm is not None and self.prompted is not None:
            per_reply = self.prompted.outputs if self.prompted.prompt == SEVERAL else 1
            replies = -(-MORE * settings.n // per_reply) if self.prompted.temperature else 1  # greedy ones are equal
            asking = make_asking(self.prompted, replies, settings.seed, constraints)
            scorer = self.backward
            return _prompted_rows(
                rows, self.lm, asking, scorer, self.encoder, settings, partial(_lost_reason, parts), self._measure
            )
        assert self.model is not None and self.backward is not None
        return _paraphrase_rows(
            rows,
            self.model,
            self.backward,
            self.encoder,
            settings,
            constraints,
            partial(_lost_reason, parts),
            self.known_words,
            self.forward,
            self.pivot_lang or UNKNOWN,
            self.critic,
            self.rewriters,
            self._measure,
        )

    def _measure(self, rows: Iterable[Row]) -> Iterable[Row]:
        """Fill the scores of meaning of candidates without a reason, and refuse by the least scores."""
        if self.measures is None or self.meaning is None:
            return rows
        rows = self.measures.fill(rows)
        for score, floor in self.meaning.floors.items():
            rows = refuse_below(rows, score, floor)
        return rows

    def _check_settings(self, settings: Paraphrasing) -> None:
        """Refuse settings that the model cannot follow, that need one which there is not, or the judge, in English."""
        if self.lm is not None:
            self._check_settings_of_asked(settings)
        elif settings.searches and settings.beam < settings.n and self.forward is None:  # of two it is pivot_beam
            raise ValueError(f"wanted a beam of at least n, got beam {settings.beam} and n {settings.n}")
        elif self.forward is not None and settings.method == "top_p":
            raise ValueError("wanted method auto, sample or beam for two translators, got 'top_p'")
        if settings.rank_by in MEANING and settings.rank_by not in (self.meaning.scores if self.meaning else ()):
            raise ValueError(
                f"wanted meaning with the model of {settings.rank_by}, by which is ranked, got none: give it to "
                "Paraphraser"
            )
        if settings.judges:
            check_language_of("the judge of paraphrases", self.lang, "rank_by usable or min_usable")
        if self.encoder is None and (settings.min_semantic is not None or settings.rank_by == "semantic"):
            raise ValueError(f"wanted an encoder for the cosine in {self.lang!r}, got none: give one to Paraphraser")
        if self.encoder is None and self.measures is None and not settings.judges:
            _tell_unmeasured(self.lang)

    def _check_settings_of_asked(self, settings: Paraphrasing) -> None:
        """Refuse settings that a language model which is asked does not have."""
        if settings.method != "auto":
            raise ValueError(f"wanted no method for a language model that is asked, got {settings.method!r}")
        if settings.judges:
            raise ValueError("wanted no judge for a language model that is asked, got rank_by usable or min_usable")
        needs_scores = settings.rank_by in ("dual", "forward") or settings.max_dual_nll is not None
        if self.backward is None and (needs_scores or settings.min_forward is not None):
            raise ValueError("wanted backward, a model that scores, for dual and forward scores, got none")

    def _fits(self, text: str) -> bool:
        """Whether the model can read a text whole."""
        if self.lm is not None:
            return len(text) <= self.limit
        reader = self.forward or self.model
        assert reader is not None
        return len(reader.source.encode([plain(text, self.lang, self.mark, self.half_width)[0]])[0]) <= self.limit

    def _spells(self, piece: str) -> bool:
        """Whether two translators have all characters of a piece, and so copy it; small models change it."""
        if self.forward is None or self.model is None:
            return False
        vocabularies = (self.forward.source, self.forward.target, self.model.source, self.model.target)
        return all(vocabulary.unk not in vocabulary.encode([piece])[0] for vocabulary in vocabularies)

    def _warn_of_language(self, texts: Sequence[str]) -> None:
        """Warn, once, if the texts are in another language than the model's."""
        if not self.warned and in_other_script(texts, self.lang):
            self.warned = True
            warnings.warn(
                f"{self.name} paraphrases {self.lang!r}, and most texts are in another script: give lang, and a model "
                "of that language",
                stacklevel=4,
            )
        long = [text for text in texts if len(text) >= IDENTIFIED] or [" ".join(texts[:IDENTIFIED])]
        language = main_language(long)[0] if len(long[0]) >= IDENTIFIED and not self.warned else None
        if language is not None and not near(self.lang, language):
            self.warned = True
            warnings.warn(
                f"{self.name} paraphrases {self.lang!r}, and most texts seem to be in {language!r}", stacklevel=4
            )


def stated_language(model: str, pivot: Sequence[str] | None = None) -> str:
    """The language that a paraphraser states that it reads and writes; English where it states none.

    Args:
        model: A model, or two with " > " between, as `Paraphraser` takes it.
        pivot: Two translators, there and back, instead of it.

    Raises:
        ValueError: They are not two, or a record of a model is damaged.
    """
    models = models_of(model if pivot is None else pivot_name(pivot))
    if len(models) == 1:
        return languages_of(models[0])[1] or "en"
    return languages_of(models[0])[0] or languages_of(models[1])[1] or "en"


def prompted_paraphraser(
    settings: PromptedModel,
    lang: str | None,
    folder: Path,
    encoder: str | None = None,
    meaning: MeaningModels | None = None,
) -> Paraphraser:
    """A language model as the paraphraser of a command.

    Args:
        settings: Of the command, which may have others, too.
        lang: Of the texts (ISO 639-1); None is English.
        folder: Where a server's replies are kept, unless the settings name a file.
        encoder: Gives the cosine, see `Paraphraser`.
        meaning: Likewise.

    Raises:
        ValueError: See `Paraphraser`.
    """
    values = {field.name: getattr(settings, field.name) for field in fields(PromptedModel)}
    if settings.server is not None:
        values["reply_cache"] = settings.reply_cache or str(folder / REPLIES)
    return Paraphraser(lang=lang, encoder=encoder, lm=PromptedModel(**values), meaning=meaning)


def _load_rewriter(name: str, lang: str, dtype: str, device: torch.device | str) -> Rewriter:
    """Load a paraphraser of a language, a seq2seq model or a causal one.

    Args:
        name: A Hub id, "starter/NAME" or a folder.
        lang: The language (ISO 639-1).
        dtype: See `load_translator`.
        device: Device on which it computes.
    """
    if is_causal(name):
        return load_critic(name, dtype, device)
    return load_translator(name, dtype, device, lang, lang)


def _names(*models: str | None) -> list[str]:
    """The names of models, without those that are None."""
    return [model for model in models if model is not None]


@cache
def _tell_choice(name: str) -> None:
    """Say on stderr, once in a process, which paraphraser the name "best" stands for."""
    print(f"paraphraser: {name}", file=sys.stderr)


@cache
def _tell_unmeasured(lang: str) -> None:
    """Say on stderr, once in a process, that nothing measures whether a paraphrase means the same."""
    print(f"no sentence encoder for {lang!r}: what paraphrases mean is not measured; give an encoder", file=sys.stderr)


def defaults(
    lang: str, measures: bool, min_forward: float | None = None, pivot: bool = False, reads: bool = True
) -> Paraphrasing:
    """The default settings for a language, without guards that do not know it and without floors that nobody measures.

    Args:
        lang: Of the texts (ISO 639-1).
        measures: Whether there is an encoder.
        min_forward: The floor of the forward score that was chosen for the model; None where none was.
        pivot: Whether two translators paraphrase, which are ranked by both directions.
        reads: Whether there is a language model that reads candidates for the judge.
    """
    usual = Paraphrasing()
    floor = usual.min_semantic if measures else None
    guards = usual.guards if lang in LANGUAGES else ()
    settings = replace(usual, guards=guards, min_semantic=floor, min_forward=min_forward)
    if not pivot:
        return settings
    if not (covers("the judge of paraphrases", lang) and measures):
        return replace(settings, rank_by="dual", pool=PIVOT_POOL)
    settings = replace(settings, rank_by="usable", min_usable=MIN_USABLE_ALONE, pool=PIVOT_POOL)
    if not reads:
        return settings
    # a language model tries other words at each place of the text; what only crowds its candidates out is not made
    return replace(settings, min_usable=MIN_USABLE, pool=READ_POOL, method="beam", greedy_pivots=0)


def _check_text(text: object, index: int) -> None:
    """Refuse what cannot be paraphrased.

    Raises:
        ValueError: It is no string, or has no visible character.
    """
    if not isinstance(text, str):
        raise ValueError(f"wanted a text at index {index}, got {'None' if text is None else type(text).__name__}")
    if not text.strip():
        raise ValueError(f"wanted a text at index {index}, got {'an empty string' if not text else 'white space'}")


def _several(items: Sequence[str] | None, name: str) -> tuple[str, ...] | None:
    """Items as a tuple; None of None.

    Raises:
        ValueError: They are one string.
    """
    check_several(items or (), name)
    return None if items is None else tuple(items)


def _each(phrases: Phrases, total: int | None, name: str) -> Iterator[Sequence[str]]:
    """The phrases of each text.

    Args:
        phrases: For all texts, or a list for each.
        total: How many texts there are, if anybody knows.
        name: Of the argument, for the error.

    Raises:
        ValueError: They are one string, or lists for another number of texts.
    """
    check_several(phrases, f"a list of phrases to {name}")
    if all(isinstance(phrase, str) for phrase in phrases):
        return repeat([phrase for phrase in phrases if isinstance(phrase, str)])
    if (
        any(isinstance(text_phrases, str) or not isinstance(text_phrases, Sequence) for text_phrases in phrases)
        or len(phrases) != total
    ):
        raise ValueError(
            f"wanted phrases to {name} for all texts, or a list for each of {total} texts, got {len(phrases)} items"
        )
    return iter([list(text_phrases) for text_phrases in phrases])


@dataclass
class _Part:
    """A part of a text.

    Attributes:
        text: The part.
        masked: What a model reads of it.
        row: Of what is paraphrased; None stays as it is.
        form: Of the part.
        constraints: What its paraphrases must say and must not say.
    """

    text: str
    masked: _Masked
    row: Row | None = None
    form: Form | None = None
    constraints: ConstraintSet = NO_CONSTRAINTS


def _pieces_between(pieces: Sequence[_Piece], begin: int, end: int) -> list[_Piece]:
    """The pieces of a part of a text, with their places in that part."""
    first, last = (bisect_left(pieces, place, key=lambda piece: piece.begin) for place in (begin, end))
    return [piece.moved(-begin) for piece in pieces[first:last]]


def _candidates_of(
    parts: Sequence[_Part],
    candidates_by_row: Mapping[str, Sequence[Candidate]],
    constraints: ConstraintSet,
    n: int,
    lang: str,
) -> list[Candidate]:
    """The candidates of a text from those of its parts.

    Args:
        parts: Of the text.
        candidates_by_row: By id of a row, those by rank, then those that were refused.
        constraints: What the text must say and must not say.
        n: How many paraphrases of it are wanted.
        lang: Its language (ISO 639-1).

    Returns:
        Paraphrases by rank, then those that were refused; of a text of which several parts are paraphrased only
        paraphrases, or if there are none those that lack a piece.
    """
    of_part = constraints if len(parts) == 1 else NO_CONSTRAINTS
    candidates = [
        [] if part.row is None else _in_form(part, candidates_by_row[part.row.id], lang, of_part) for part in parts
    ]
    if len(parts) == 1:
        return candidates[0]
    texts = [part.text for part in parts]
    paraphrases = [[c for c in part_candidates if c.rank is not None] for part_candidates in candidates]
    paraphrases_of_text = [c for c in join(texts, paraphrases, n) if _meets(c.text, constraints)]
    read = [place for place, part in enumerate(parts) if part.row is not None]
    refused = []
    for place in read if len(read) == 1 or not paraphrases_of_text else ():
        before, after = "".join(texts[:place]), "".join(texts[place + 1 :])
        refused += [
            replace(c, text=before + c.text + after)
            for c in candidates[place]
            if c.rank is None and (len(read) == 1 or c.reason in LOST)
        ]
    return paraphrases_of_text + refused


def _lost_reason(parts: Mapping[str, _Part], row_id: str, text: str) -> str | None:
    """Why a plain candidate of a part cannot be used: it does not meet its constraints, or lacks a piece."""
    part = parts[row_id]
    if part.constraints.unmet(text):
        return "constraint_unmet"
    if not part.masked.readings or part.form is None:
        return None
    _, lost = part.masked.restored(formed(text, part.form))
    return lost.reason if lost is not None else None


def _near(before: str, text: str, begin: int, end: int) -> tuple[str | None, str | None]:
    """What stands before and after a part of a text, as far as a language model reads it: whole words.

    Args:
        before: What stands before the text.
        text: The text.
        begin: Where the part begins.
        end: Where it ends.
    """
    first, last = max(0, begin - NEAR), end + NEAR
    text_before, text_after = text[first:begin], text[end:last]
    text_before = text_before.partition(" ")[2] or text_before if first else before + text_before
    if last < len(text):
        text_after = text_after.rpartition(" ")[0] or text_after
    return text_before.strip() or None, text_after.strip() or None


def _in_form(
    part: _Part, candidates: Iterable[Candidate], lang: str, constraints: ConstraintSet = NO_CONSTRAINTS
) -> list[Candidate]:
    """Candidates of a plain text in the form of the text itself, with its pieces.

    Args:
        part: The text, whose marks ("`") the plain one may lack.
        candidates: By rank, then those that were refused.
        lang: Its language (ISO 639-1).
        constraints: What the text in its own form must say and must not say.
    """
    assert part.form is not None
    paraphrases: list[Candidate] = []
    refused: list[Candidate] = []
    for candidate in candidates:
        text, lost = part.masked.restored(formed(candidate.text, part.form))
        reason = candidate.reason
        if lost is not None:
            reason = lost.reason
        elif candidate.rank is not None:
            reason = broken_guard(part.text, text, lang, ALWAYS)
            if reason is None and not _meets(text, constraints):
                reason = "constraint_unmet"
        if candidate.rank is not None and reason is None:
            paraphrases.append(replace(candidate, text=text, rank=len(paraphrases)))
        else:
            refused.append(replace(candidate, text=text, rank=None, reason=reason))
    return paraphrases + refused


def _within(constraints: ConstraintSet, part: str) -> ConstraintSet:
    """The constraints of a part of a text: required are only phrases that the part says."""
    return replace(constraints, positive=tuple(phrase for phrase in constraints.positive if times_said(part, phrase)))


def _meets(text: str, constraints: ConstraintSet) -> bool:
    """Whether a text meets its constraints; one in capitals meets them in lower case."""
    return not (_lower_case(constraints).unmet(text.lower()) if text.isupper() else constraints.unmet(text))


def _lower_case(constraints: ConstraintSet) -> ConstraintSet:
    """The constraints in lower case, for a text that is read so."""
    return ConstraintSet(*(tuple(map(str.lower, phrases)) for phrases in (constraints.positive, constraints.negative)))


def _row_id(text: str, constraints: ConstraintSet, before: str | None = None, after: str | None = None) -> str:
    """A name that is the same for the same text, constraints and context, from which its random numbers come."""
    context = (before, after) if before or after else ()
    content = repr((text, constraints.positive, constraints.negative, *context))
    return f"text-{hashlib.blake2b(content.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"
