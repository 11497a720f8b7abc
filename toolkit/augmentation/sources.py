"""Where paraphrases come from: a model, or a parabank in which the texts are looked up."""

from __future__ import annotations

import contextlib
import string
import weakref
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa

from toolkit.augmentation.parts import _Part
from toolkit.augmentation.settings import Augmentation
from toolkit.bitext.normalize import match_key
from toolkit.data.database import database
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.encoder.load import load_embedder
from toolkit.models.checkpoint import fingerprint
from toolkit.models.coverage import check_language_of
from toolkit.package.folder import language_of
from toolkit.package.read import read_pairs
from toolkit.paraphraser.english import contraction_key
from toolkit.paraphraser.form import formed, plain
from toolkit.paraphraser.names import encoder_for
from toolkit.paraphraser.pipeline import reporting_stages
from toolkit.paraphraser.protect import CLASSES, LOST, lost_piece
from toolkit.system.contents import contents_of, with_contents

if TYPE_CHECKING:
    from toolkit.paraphraser.paraphraser import Paraphraser
    from toolkit.score.semantic import Embedder

CHOICES = 15  # ParaZh (Hao et al. 2022), section 4.4: of so many outputs one that says all keywords is selected
STOPS = ".。"


class _Paraphrase(NamedTuple):
    """A paraphrase of a text.

    Attributes:
        text: What it says.
        score: The cosine of both texts in [-1, 1], where it was measured.
    """

    text: str
    score: float | None


class _Paraphrases(NamedTuple):
    """The paraphrases of a text.

    Attributes:
        best_first: Its paraphrases.
        none: Why there is none, of `parts.REASONS`; if there are some, why there might be none.
    """

    best_first: list[_Paraphrase]
    none: str


class _Source(Protocol):
    """Where paraphrases come from.

    Attributes:
        name: As it is written to the new rows.
        lang: Language of the texts (ISO 639-1).
        stages: How many of its stages report a text to the progress bar.
    """

    name: str
    lang: str
    stages: int

    def record(self) -> dict[str, Any]:
        """What its paraphrases depend on, with hashes of its files."""
        ...

    @property
    def encoder(self) -> Embedder | None:
        """A sentence encoder for that language, if there is one."""
        ...

    def paraphrases(self, parts: Sequence[_Part], copies: int, choose: bool) -> list[_Paraphrases]:
        """At most so many paraphrases of each text, best first; more, where some may be refused later (`choose`)."""
        ...


class _Model:
    """Paraphrases by a `Paraphraser`.

    Args:
        paraphraser: The model.
        settings: Its seed, whether the decoder says the phrases that a text must keep, the floors, and what is trivial.
    """

    def __init__(self, paraphraser: Paraphraser, settings: Augmentation) -> None:
        self.name, self.lang = paraphraser.name, paraphraser.lang
        self.paraphraser, self.settings, meaning = paraphraser, settings, paraphraser.meaning
        models = paraphraser.forward, paraphraser.critic, paraphraser.rewriters
        self.stages = reporting_stages(paraphraser.settings, *models, len(meaning.scores) if meaning else 0)

    @property
    def encoder(self) -> Embedder | None:
        """See `_Source`."""
        return self.paraphraser.encoder

    def record(self) -> dict[str, Any]:
        """See `_Source`."""
        return self.paraphraser.record()

    def paraphrases(self, parts: Sequence[_Part], copies: int, choose: bool) -> list[_Paraphrases]:
        """See `_Source`."""
        candidate_lists = self.paraphraser.candidates(
            [part.text for part in parts],
            n=max(copies, CHOICES) if choose else copies,
            seed=self.settings.seed,
            avoid=self.settings.avoid,
            require=[part.phrases for part in parts] if self.settings.keep_by == "constrain" else (),
            min_semantic=self.settings.min_semantic,
            min_forward=self.settings.min_forward,
            min_usable=self.settings.min_usable,
            allow_trivial=self.settings.allow_trivial or None,
            protect=self.settings.protect,
            protect_patterns=self.settings.protect_patterns or None,
            progress=False,
        )
        return [
            _Paraphrases(
                [_Paraphrase(c.text, c.scores.semantic) for c in candidates if c.rank is not None],
                next((c.reason for c in candidates if c.reason in LOST), "no_paraphrase"),
            )
            for candidates in candidate_lists
        ]


class _Pairs:
    """Paraphrases that a parabank has of a text, as its reference or as one of its paraphrases.

    A text is looked up as it is, and in the plain form in which a paraphraser reads it; case and a full stop at the end
    do not count. DuckDB holds the pairs; it spills to disk what does not fit into memory.

    Args:
        pairs: A parabank, as `read_pairs` takes it.
        min_semantic: The least cosine; pairs without a score are taken.
        allow_trivial: Whether a text that only contracts or expands is a paraphrase.
        avoid: Words or phrases that no paraphrase contains.
        protect: What of a text every paraphrase has as often; None is all classes.
        protect_patterns: Regular expressions of what else.
        lang: Language of the pairs (ISO 639-1); None is what they state, or else English.
        encoder: A sentence encoder; None takes the starter's where it knows the language.
    """

    stages = 1

    def __init__(
        self,
        pairs: str | Path,
        min_semantic: float | None,
        allow_trivial: bool = False,
        avoid: Sequence[str] = (),
        protect: Sequence[str] | None = None,
        protect_patterns: Sequence[str] = (),
        lang: str | None = None,
        encoder: str | None = None,
    ) -> None:
        self.allow_trivial, self._constraints = allow_trivial, ConstraintSet((), tuple(avoid))
        self._protected = CLASSES if protect is None else tuple(protect), tuple(protect_patterns)
        self.name, self.lang = Path(pairs).name, language_of(pairs, lang) or "en"
        self._pairs, self._encoder_name = pairs, (encoder := encoder_for(self.lang, encoder))
        if encoder is not None:
            check_language_of(encoder, self.lang, "encoder")
        self.encoder = None if encoder is None else load_embedder(encoder)
        with contextlib.ExitStack() as stack:
            self.connection = stack.enter_context(database())
            self.connection.execute("CREATE SEQUENCE place")
            self.connection.execute(
                "CREATE TABLE pairs (key VARCHAR, said VARCHAR, semantic DOUBLE, place BIGINT DEFAULT nextval('place'))"
            )
            whitespace = string.whitespace
            for batch in read_pairs(pairs):
                self.connection.register("batch", batch)
                for text_column, paraphrase_column in (("sentence1", "sentence2"), ("sentence2", "sentence1")):
                    self.connection.execute(
                        "INSERT INTO pairs (key, said, semantic) "
                        f"SELECT rtrim(lower(trim({text_column}, ?)), '{STOPS}'), {paraphrase_column}, semantic "
                        f"FROM batch WHERE trim({paraphrase_column}, ?) <> '' AND (semantic IS NULL OR semantic >= ?)",
                        [whitespace, whitespace, -1.0 if min_semantic is None else min_semantic],
                    )
            self.close = weakref.finalize(self, stack.pop_all().close)

    def record(self) -> dict[str, Any]:
        """See `_Source`."""
        encoder = self._encoder_name and fingerprint(self._encoder_name)
        return {"pairs": self.name, "encoder": encoder} | with_contents({}, contents_of({"pairs": [str(self._pairs)]}))

    def paraphrases(self, parts: Sequence[_Part], copies: int, choose: bool) -> list[_Paraphrases]:
        """See `_Source`; all that there are, because some may be refused."""
        plain_texts = [plain(part.text, self.lang) for part in parts]
        keys_by_part = [
            list(dict.fromkeys(form.strip().lower().rstrip(STOPS) for form in (part.text, body)))
            for part, (body, _) in zip(parts, plain_texts, strict=True)
        ]
        distinct_keys = dict.fromkeys(key for keys in keys_by_part for key in keys)
        self.connection.register("wanted", pa.table({"key": list(distinct_keys)}))
        rows = self.connection.execute(
            "SELECT key, said, semantic FROM pairs SEMI JOIN wanted USING (key) ORDER BY place"
        ).fetchall()
        paraphrases: dict[str, list[_Paraphrase]] = defaultdict(list)
        for key, paraphrase, semantic in rows:
            if self._constraints.unmet(paraphrase):
                continue
            paraphrases[key].append(_Paraphrase(paraphrase, semantic))
        return [
            self._kept(
                part.text,
                [_Paraphrase(formed(found.text, form), found.score) for key in keys for found in paraphrases[key]],
            )
            for part, keys, (_, form) in zip(parts, keys_by_part, plain_texts, strict=True)
        ]

    def _kept(self, text: str, paraphrases: Sequence[_Paraphrase]) -> _Paraphrases:
        """The distinct paraphrases of a text that have all of it that is protected."""
        best_first, reason = [], "not_in_pairs"
        for paraphrase in _distinct_paraphrases(paraphrases, text, self._key):
            lost = lost_piece(text, paraphrase.text, *self._protected)
            if lost is None:
                best_first.append(paraphrase)
            else:
                reason = lost
        return _Paraphrases(best_first, reason)

    def _key(self, text: str) -> str:
        """What of a text tells it from others: its letters, and in English those without contractions."""
        return match_key(text) if self.allow_trivial or self.lang != "en" else contraction_key(text)


def _distinct_paraphrases(
    paraphrases: Sequence[_Paraphrase], text: str, key: Callable[[str], str]
) -> list[_Paraphrase]:
    """The paraphrases whose key differs from the text's and from those before them."""
    seen_keys, distinct = {key(text)}, []
    for paraphrase in paraphrases:
        if key(paraphrase.text) not in seen_keys:
            seen_keys.add(key(paraphrase.text))
            distinct.append(paraphrase)
    return distinct
