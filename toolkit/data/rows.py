"""Row, the record that all stages read and write: one reference with all its candidates.

The dataclasses are the only definition. The Arrow schema of a shard and the features of a published dataset are
derived from them (`schema`), so a field added here appears everywhere.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from itertools import accumulate, chain
from operator import attrgetter
from typing import Any

import pyarrow as pa


@dataclass(slots=True)
class Scores:
    """Numbers measured on one candidate; None where a number has not been measured.

    Attributes:
        forward_logprob: log p(candidate | source), the sum over the candidate's tokens in nats, EOS counted, <= 0.
        forward_tokens: The number of tokens in that sum.
        backward_logprob: log p(source | candidate), the sum over the source's tokens in nats, EOS counted, <= 0.
        backward_tokens: The number of tokens in that sum.
        edit_ratio: Edit distance of candidate and reference in characters over the reference's length, >= 0.
        intersection_over_union: Intersection over union of the sets of pieces of candidate and reference, in [0, 1].
        semantic: The cosine of the sentence vectors of candidate and reference, or their BERTScore F1, in [-1, 1].
        fluency: Log-probability of the candidate by a language model, in nats per token, <= 0.
        diversity: How differently candidate and reference are worded and ordered, in [0, 1].
        trigram_overlap: Shared word trigrams over the smaller number of trigrams of the two texts, in [0, 1].
        given_reference: Log-probability of the candidate by a language model that has read the reference, less that of
            the reference once more, each per token, in nats; near 0 where it is as expected as a repetition.
        after_reference: The same without subtracting the repetition, in nats per token, <= 0.
        changed_words: The sum over the tokens of the candidate that differ from the reference, by that model, in nats.
        after_changes: The least log-probability of a token right behind such tokens, in nats, <= 0; 0 without one.
        unchanged_words: The mean over the other tokens, in nats per token, <= 0; 0 without one.
        after_candidate: Log-probability of the reference by that model after the candidate, in nats per token, <= 0.
        after_candidate_total: The same, the sum over the reference's tokens, in nats.
        after_candidate_least: The same of its least probable token, in nats.
        relative_fluency: Log-probability of the candidate by a language model less that of the reference, each per
            token, in nats; above 0 it is the more natural one of both.
        usable: The probability that a reader would call the candidate usable, by the judge, in [0, 1].
        judgment: The human score of semantic similarity that a regression predicts, in [0, 100].
        entailed: The probability that the candidate follows from the reference, by an NLI model, in [0, 1].
        entails: The probability that the reference follows from the candidate, likewise.
        parapluie: By how many nats a language model holds "Yes" for more probable than "No", asked whether both are
            paraphrases (ParaPLUIE).
        rubric: The grade that a language model gives the candidate for its meaning, in [1, 5].
        ranking: The number by which the builder ranks, greater is better, where it is a sum of other scores.
    """

    forward_logprob: float | None = None
    forward_tokens: int | None = None
    backward_logprob: float | None = None
    backward_tokens: int | None = None
    edit_ratio: float | None = None
    intersection_over_union: float | None = None
    semantic: float | None = None
    fluency: float | None = None
    diversity: float | None = None
    trigram_overlap: float | None = None
    given_reference: float | None = None
    after_reference: float | None = None
    changed_words: float | None = None
    after_changes: float | None = None
    unchanged_words: float | None = None
    after_candidate: float | None = None
    after_candidate_total: float | None = None
    after_candidate_least: float | None = None
    relative_fluency: float | None = None
    usable: float | None = None
    judgment: float | None = None
    entailed: float | None = None
    entails: float | None = None
    parapluie: float | None = None
    rubric: float | None = None
    ranking: float | None = None

    @property
    def dual(self) -> float | None:
        """Forward plus backward log-likelihood, each per token (nats, <= 0); ParaBank 2, section 2.2.

        >>> Scores(forward_logprob=-4.0, forward_tokens=4, backward_logprob=-3.0, backward_tokens=2).dual
        -2.5
        """
        if self.forward_logprob is None or self.backward_logprob is None:
            return None
        assert self.forward_tokens and self.backward_tokens
        return self.forward_logprob / self.forward_tokens + self.backward_logprob / self.backward_tokens

    @property
    def dual_sum(self) -> float | None:
        """Forward plus backward log-likelihood, the sums over all tokens (nats, <= 0); ParaZh, equation 1.

        >>> Scores(forward_logprob=-4.0, forward_tokens=4, backward_logprob=-3.0, backward_tokens=2).dual_sum
        -7.0
        """
        if self.forward_logprob is None or self.backward_logprob is None:
            return None
        return self.forward_logprob + self.backward_logprob

    @property
    def dual_per_token(self) -> float | None:
        """`dual_sum` per token of the candidate (nats, <= 0); ParaZh, section 2.4; the denominator is ours.

        >>> Scores(forward_logprob=-4.0, forward_tokens=4, backward_logprob=-3.0, backward_tokens=2).dual_per_token
        -1.75
        """
        if self.dual_sum is None:
            return None
        assert self.forward_tokens
        return self.dual_sum / self.forward_tokens

    @property
    def translation_score(self) -> float | None:
        """Forward log-likelihood per token (nats, <= 0); ParaNMT-50M, section 5.4.

        >>> Scores(forward_logprob=-4.0, forward_tokens=8).translation_score
        -0.5
        """
        if self.forward_logprob is None:
            return None
        assert self.forward_tokens
        return self.forward_logprob / self.forward_tokens

    @property
    def backward_score(self) -> float | None:
        """Backward log-likelihood per token (nats, <= 0).

        >>> Scores(backward_logprob=-3.0, backward_tokens=2).backward_score
        -1.5
        """
        if self.backward_logprob is None:
            return None
        assert self.backward_tokens
        return self.backward_logprob / self.backward_tokens

    @property
    def entailment(self) -> float | None:
        """The lesser of both probabilities of entailment, in [0, 1].

        >>> Scores(entailed=0.9, entails=0.25).entailment
        0.25
        """
        if self.entailed is None or self.entails is None:
            return None
        return min(self.entailed, self.entails)


# The properties of `Scores` as SQL, null where a property is None; {0} becomes what stands before the names of fields
DERIVED_SQL = {
    "dual": "{0}forward_logprob / {0}forward_tokens + {0}backward_logprob / {0}backward_tokens",
    "dual_sum": "{0}forward_logprob + {0}backward_logprob",
    "dual_per_token": "({0}forward_logprob + {0}backward_logprob) / {0}forward_tokens",
    "translation_score": "{0}forward_logprob / {0}forward_tokens",
    "backward_score": "{0}backward_logprob / {0}backward_tokens",
    "entailment": "CASE WHEN {0}entailed + {0}entails IS NOT NULL THEN LEAST({0}entailed, {0}entails) END",
}


def score_sql(name: str, prefix: str = "") -> str:
    """A score, measured or derived, as an expression of SQL.

    >>> score_sql("dual_sum", "scores.")
    'scores.forward_logprob + scores.backward_logprob'

    Args:
        name: A field of `Scores`, or one of `DERIVED_SQL`.
        prefix: What stands before the name of a field, such as "scores.".
    """
    return DERIVED_SQL.get(name, f"{{0}}{name}").format(prefix)


def measured_parts(names: Iterable[str]) -> list[str]:
    """The fields of `Scores` that some scores are made of, each once.

    >>> measured_parts(["dual_sum", "translation_score", "semantic"])
    ['forward_logprob', 'backward_logprob', 'forward_tokens', 'semantic']

    Args:
        names: Fields of `Scores`, or names of `DERIVED_SQL`.
    """
    return list(dict.fromkeys(part for name in names for part in re.findall("[a-z_]+", score_sql(name))))


@dataclass(slots=True)
class Origin:
    """One way in which a candidate was generated: the recipe and the lexical constraints of the decoding.

    Attributes:
        recipe: Its name in its paper: "set-3" of ParaBank 2, system "17" of ParaBank; None if there is no recipe.
        positive: Phrases that were required.
        negative: Phrases that were forbidden; a phrase after "<BOS> " was forbidden only at the beginning.
        unmet: Descriptions of the constraints that the text does not meet; empty where constraints are on pieces, not
            on words.
    """

    recipe: str | None = None
    positive: list[str] = field(default_factory=list)
    negative: list[str] = field(default_factory=list)
    unmet: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Candidate:
    """One text that may become a paraphrase of its row's reference.

    Attributes:
        text: The detokenised text.
        method: How it was generated: "beam", "sample", "constrain", "infill", "pivot",
            "continuation" or "lm".
        origins: Every way in which this text was generated. Equal texts of one row are one candidate.
        draws: How many times the text was generated.
        rank: 0 for the best of the row's chosen candidates; None if it was not chosen.
        generator: Short signature of the model and its settings.
        scores: The scores measured so far.
        cluster: The number of its cluster; 0 is the cluster of the reference.
        reason: The first filter that refused it; None if it has not been refused.
    """

    text: str
    method: str
    origins: list[Origin] = field(default_factory=list)
    draws: int = 1
    rank: int | None = None
    generator: str | None = None
    scores: Scores = field(default_factory=Scores)
    cluster: int | None = None
    reason: str | None = None


@dataclass(slots=True)
class Row:
    """One reference with all its candidates. A shard never splits a row.

    Attributes:
        id: "<origin>-<line>", unique in a parabank.
        origin: The name of the corpus that the reference is from.
        source: The foreign sentence; None if there is none.
        source_lang: The language of the source (ISO 639-1).
        reference: The human sentence that is paraphrased.
        lang: The language of the reference and of every candidate (ISO 639-1).
        split: "train", "validation" or "test".
        context_before: The text before the reference, where the corpus is running text.
        context_after: The text after the reference.
        candidates: All candidates, including refused ones.
        reason: The first rule of cleaning that refused the whole row; None if it has not been refused.
    """

    id: str
    origin: str
    source: str | None
    source_lang: str | None
    reference: str
    lang: str
    split: str
    context_before: str | None = None
    context_after: str | None = None
    candidates: list[Candidate] = field(default_factory=list)
    reason: str | None = None

    @property
    def paraphrases(self) -> list[Candidate]:
        """The chosen candidates, best first."""
        return sorted((c for c in self.candidates if c.rank is not None), key=lambda c: c.rank or 0)


ARROW_TYPES: dict[type, pa.DataType] = {str: pa.string(), int: pa.int32(), float: pa.float64(), bool: pa.bool_()}


def _arrow_type(annotation: object) -> pa.DataType:
    """The Arrow type of a field's annotation: a scalar, `X | None`, `list[X]` or a dataclass."""
    if isinstance(annotation, types.UnionType):
        return _arrow_type(next(a for a in typing.get_args(annotation) if a is not type(None)))
    if typing.get_origin(annotation) is list:
        return pa.list_(_arrow_type(typing.get_args(annotation)[0]))
    if is_dataclass(annotation):
        return pa.struct(list(schema(typing.cast(type, annotation))))
    return ARROW_TYPES[typing.cast(type, annotation)]


@cache
def hints_of(record_type: type) -> dict[str, object]:
    """The annotation of each field of a dataclass."""
    return typing.get_type_hints(record_type)


@cache
def schema(record_type: type = Row) -> pa.Schema:
    """The Arrow schema of a dataclass."""
    return pa.schema([(name, _arrow_type(hint)) for name, hint in hints_of(record_type).items()])


def to_table(rows: Iterable[Row]) -> pa.Table:
    """Rows as an Arrow table with `schema()`."""
    return pa.Table.from_struct_array(_arrow_array(list(rows), Row))


def _arrow_array(values: Sequence[Any], annotation: object) -> pa.Array:
    """The values of one field as an Arrow array, made column by column: a record for each value would cost more.

    Args:
        values: The field of each record.
        annotation: The type of the field; see `_arrow_type`.
    """
    if typing.get_origin(annotation) is list:
        offsets = pa.array([0, *accumulate(map(len, values))], pa.int32())
        items = _arrow_array(list(chain.from_iterable(values)), typing.get_args(annotation)[0])
        return pa.ListArray.from_arrays(offsets, items, _arrow_type(annotation))
    if not isinstance(annotation, type) or not is_dataclass(annotation):
        return pa.array(values, _arrow_type(annotation))
    distinct = {id(value): value for value in values}  # all samples under one constraint set have one origin
    if len(distinct) < len(values):
        positions = {key: n for n, key in enumerate(distinct)}
        return _arrow_array([*distinct.values()], annotation).take(pa.array([positions[id(value)] for value in values]))
    columns = [_arrow_array(list(map(attrgetter(name), values)), hint) for name, hint in hints_of(annotation).items()]
    return pa.StructArray.from_arrays(columns, fields=list(schema(annotation)))


def from_record(record: dict) -> Row:
    """The Row that one record of `to_table(...).to_pylist()` describes.

    >>> row = Row("demo-1", "demo", "Hallo!", "de", "Hello!", "en", "train", candidates=[Candidate("Hi!", "sample")])
    >>> from_record(to_table([row]).to_pylist()[0]) == row
    True
    """
    candidates = [
        Candidate(**c | {"scores": Scores(**c["scores"]), "origins": [Origin(**o) for o in c["origins"]]})
        for c in record["candidates"]
    ]
    return Row(**record | {"candidates": candidates})
