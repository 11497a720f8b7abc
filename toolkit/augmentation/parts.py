"""What of a row is paraphrased: the text of a column, with what a paraphrase of it must keep."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from toolkit.augmentation._spans import Span, find_again, read_spans, wholes, write_spans
from toolkit.augmentation._tags import OUTSIDE, entities, join_tokens, retagged
from toolkit.augmentation.settings import Augmentation
from toolkit.bitext.words import constraint_words
from toolkit.decode.constraint_set import times_said
from toolkit.paraphraser.protect import CLASSES, OWN, WHAT
from toolkit.score.guards import ALWAYS, broken_guard

# Why a row, or one of its columns, gets no copy.
REASONS = {
    "no_text": "the column has no text: None, or white space",
    "keep_not_said": "a phrase to keep is in none of the row's columns",
    "keep_avoided": "a phrase to keep, or a span, says what no paraphrase may say",
    "bad_spans": "a span is not within the text, or the text there is another",
    "no_paraphrase": "no paraphrase passed the guards and the threshold of meaning",
    "not_in_pairs": "the pairs have no paraphrase of the text",
    "mark_lost": "no paraphrase has every placeholder, address, tag, sign, emoji and bracket of the text, and a letter",
    "keep_lost": "no paraphrase contains every phrase to keep",
    "spans_lost": "no paraphrase has every span",
    "already_there": "every paraphrase makes a row that the data, or another split of it, has already",
    "label_changed": "the classifier says that every paraphrase has another label",
    "out_of_time": "the minutes were over",
} | {f"{name}_lost": f"no paraphrase keeps {WHAT[name]} of the text" for name in (*CLASSES, OWN)}


class _SkippedError(ValueError):
    """A row, or a column of it, that gets no copy.

    Attributes:
        reason: Of `REASONS`.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class NewRow(NamedTuple):
    """A row that is made of another.

    Attributes:
        source: The number of that row.
        changes: The values in which it differs, by column.
        score: The least cosine of a paraphrase and its text, where it was measured.
    """

    source: int
    changes: dict[str, Any]
    score: float | None


@dataclass(frozen=True)
class _Tags:
    """How a column of tags says which tokens are in an entity.

    Attributes:
        names: The name of each number; None where the tags are names themselves.
    """

    names: tuple[str, ...] | None = None

    def named(self, tags: Sequence[Any]) -> list[str]:
        """The tags by name; without names, 0 is that of tokens outside of entities.

        Raises:
            ValueError: One is neither a name nor the number of one.
        """
        max_number = math.inf if self.names is None else len(self.names) - 1
        for tag in tags:
            if not isinstance(tag, str) and not (isinstance(tag, int) and 0 <= tag <= max_number):
                raise ValueError(f"wanted names or numbers of tags, got {tag!r}")
        if self.names is None:
            return [tag if isinstance(tag, str) else OUTSIDE if tag == 0 else str(tag) for tag in tags]
        return [self.names[tag] if isinstance(tag, int) else tag for tag in tags]

    def outside(self, tags: Sequence[Any]) -> Any:
        """The tag of a token outside of entities, in the form of the column.

        Raises:
            ValueError: There is none.
        """
        if all(isinstance(tag, str) for tag in tags):
            return OUTSIDE
        if self.names is None:
            return 0
        if OUTSIDE not in self.names:
            raise ValueError(f"wanted a tag {OUTSIDE!r} for tokens outside of entities, got {', '.join(self.names)}")
        return self.names.index(OUTSIDE)


@dataclass(frozen=True)
class _Part:
    """The text of one column of a row.

    Attributes:
        column: Its column.
        text: The text; tokens are joined.
        value: What the column holds: the text, or tokens.
        keep: Words and phrases that a paraphrase must say, the first letter in either case.
        spans: Characters that it must have, at any place.
        span_column: Column of the spans; None where there is none.
        span_value: What that column holds.
        tags: How the tags are read, where the column holds tokens.
        lang: Language of the text (ISO 639-1).
    """

    column: str
    text: str
    value: Any
    keep: tuple[str, ...]
    spans: tuple[Span, ...]
    span_column: str | None
    span_value: Any
    tags: _Tags | None
    lang: str

    @property
    def phrases(self) -> tuple[str, ...]:
        """All that a paraphrase must say, once each; not what has no words, such as white space or a full stop."""
        span_texts = (self.text[begin:end].strip() for begin, end in wholes(self.text, self.spans))
        return tuple(phrase for phrase in dict.fromkeys((*self.keep, *span_texts)) if any(constraint_words(phrase)))

    def changes(self, paraphrase: str) -> dict[str, Any]:
        """The values that a row gets with a paraphrase, by column.

        Raises:
            _SkippedError: It lacks a letter, a mark of the text, a phrase or a span.
        """
        if broken_guard(self.text, paraphrase, self.lang, ALWAYS) is not None:
            raise _SkippedError("mark_lost", f"wanted the marks of {self.text!r:.80}, got {paraphrase!r:.80}")
        for phrase in self.keep:
            if not _says(paraphrase, phrase):
                raise _SkippedError("keep_lost", f"wanted {phrase!r} in the paraphrase, got {paraphrase!r}")
        new_values: dict[str, Any] | None
        if self.tags is not None:
            names, outside = self.tags.named(self.span_value), self.tags.outside(self.span_value)
            new_columns = retagged(self.value, self.span_value, names, self.lang, outside, paraphrase)
            new_values = new_columns and dict(zip((self.column, self.span_column or ""), new_columns, strict=True))
        elif self.span_column is None:
            return {self.column: paraphrase}
        else:
            moved = find_again(self.text, self.spans, paraphrase)
            new_spans = write_spans(self.span_value, moved) if moved is not None else None
            new_values = {self.column: paraphrase, self.span_column: new_spans} if moved is not None else None
        if new_values is None:
            span_texts = [self.text[begin:end] for begin, end in self.spans]
            raise _SkippedError("spans_lost", f"wanted {span_texts!r:.80} in the paraphrase, got {paraphrase!r}")
        return new_values


def _parts_of(row: Mapping[str, Any], settings: Augmentation, lang: str, tags: Mapping[str, _Tags]) -> dict[str, _Part]:
    """The parts of a row, by column.

    Args:
        row: Its values, by column.
        settings: What is paraphrased, and what is kept.
        lang: Language of the texts.
        tags: By column of tokens, how its tags are read, where they have names.

    Returns:
        One part for each column that has a text.

    Raises:
        _SkippedError: A phrase to keep is in no column or says what is avoided, or a span is not in its text.
        ValueError: A column holds something else than texts, tokens, tags, phrases or spans.
    """
    texts = {column: _joined(row[column], column, lang) for column in settings.columns}
    keep = _required_phrases(row, settings)
    for phrase in keep:
        if not any(_says(text, phrase) for text, _ in texts.values()):
            raise _SkippedError(
                "keep_not_said", f"wanted the phrase {phrase!r} in {' or '.join(texts)}, got {texts!r:.120}"
            )
    parts = {}
    for column, (text, token_spans) in texts.items():
        if text.strip():
            part_phrases = tuple(phrase for phrase in keep if _says(text, phrase))
            span_column, part_tags = settings.spans.get(column), tags.get(column, _Tags()) if token_spans else None
            if part_tags is not None and span_column is None:
                raise ValueError(f"wanted spans={{{column!r}: the column of tags}}, because {column!r} holds tokens")
            value = None if span_column is None else row[span_column]
            spans = () if span_column is None else _text_spans(text, token_spans, value, part_tags, span_column)
            part = _Part(column, text, row[column], part_phrases, spans, span_column, value, part_tags, lang)
            for phrase, avoided in itertools.product(part.phrases, settings.avoid):
                if times_said(phrase, avoided):
                    raise _SkippedError(
                        "keep_avoided", f"wanted {phrase!r} kept and {avoided!r} avoided: drop one of them"
                    )
            parts[column] = part
    return parts


def _joined(value: Any, column: str, lang: str) -> tuple[str, list[Span]]:
    """The text of a value, "" for None, and where its tokens stand in it.

    Raises:
        ValueError: The value is neither a text nor a list of tokens.
    """
    if value is None or (isinstance(value, float) and value != value):  # pandas says NaN for None
        return "", []
    if isinstance(value, str):
        return value, []
    if isinstance(value, Sequence) and all(isinstance(token, str) for token in value):
        return join_tokens([*value], lang) if any(token.strip() for token in value) else ("", [])
    raise ValueError(f"wanted a text in column {column!r}, got {value!r:.60} ({type(value).__name__})")


def _text_spans(
    text: str, token_spans: Sequence[Span], value: Any, tags: _Tags | None, column: str
) -> tuple[Span, ...]:
    """The spans of a text in its characters.

    Raises:
        _SkippedError: A span is not within the text, or there are not as many tags as tokens.
        ValueError: The value has none of the forms of spans, or a tag is neither a name nor a number of one.
    """
    if tags is None:
        try:
            return tuple(read_spans(value, text))
        except ValueError as error:
            raise ValueError(f"column {column!r}: {error}") from None
        except IndexError as error:
            raise _SkippedError("bad_spans", f"column {column!r}: {error}") from None
    if not isinstance(value, Sequence) or len(value) != len(token_spans):
        actual = len(value) if isinstance(value, Sequence) else value
        raise _SkippedError(
            "bad_spans", f"column {column!r}: wanted {len(token_spans)} tags, one for each token, got {actual}"
        )
    return tuple((token_spans[begin][0], token_spans[end - 1][1]) for begin, end in entities(tags.named(value)))


def _required_phrases(row: Mapping[str, Any], settings: Augmentation) -> tuple[str, ...]:
    """The phrases that the paraphrases of a row must say, each once.

    Raises:
        ValueError: The column of phrases holds neither a phrase nor a list of phrases.
    """
    keep = settings.keep
    value = row[keep] if isinstance(keep, str) else keep
    phrases = [value] if isinstance(value, str) else () if value is None else value
    if not isinstance(phrases, Sequence) or not all(isinstance(phrase, str) for phrase in phrases):
        raise ValueError(f"wanted words or phrases to keep in column {keep!r}, got {value!r:.80}")
    return tuple(dict.fromkeys(phrase.strip() for phrase in phrases if phrase.strip()))


def _says(text: str, phrase: str) -> bool:
    """Whether a text says a phrase: its words in a row, the first letter in either case.

    >>> _says("Solar power is cheap.", "solar power"), _says("It is solar powered.", "solar power")
    (True, False)
    """
    return times_said(text, phrase) > 0 or times_said(text, phrase[0].swapcase() + phrase[1:]) > 0
