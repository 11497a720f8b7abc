"""The settings of augmentation, without imports that take seconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from toolkit.paraphraser.protect import Classes, OwnPatterns
from toolkit.system.ranges import SEEDS, Count, Range, Settings, Share, between, one_of

VARY = ("separately", "together")
KEEP_BY = ("select", "constrain")
CROSS_VALIDATED = "cross_validated"  # a classifier that is trained on the data
PROVENANCE = ("augmented_from", "paraphraser", "score")


def _column_names(columns: object) -> tuple[str, ...]:
    """The names of columns, given one name or several.

    >>> _column_names("text"), _column_names(["text", "title"])
    (('text',), ('text', 'title'))

    Raises:
        ValueError: A name is no text.
    """
    names = (columns,) if isinstance(columns, str) or not isinstance(columns, Iterable) else tuple(columns)
    for name in names:
        if not isinstance(name, str):
            raise ValueError(
                f"wanted the name of a column as a text, got {name!r} ({type(name).__name__}): name the columns, those "
                "of a data frame with data.rename(columns=str)"
            )
    return names


Columns = Annotated[
    tuple[str, ...],
    Range(
        "the names of different columns",
        lambda names: names and len(set(names)) == len(names),
        show=list,
    ),
]
Provenance = Annotated[
    tuple[str, ...],
    Range(
        "three different names as {}, or none",
        lambda names: len(names) in (0, len(PROVENANCE)) and len(set(names)) == len(names),
        show=list,
    ),
]
AnySeed = Annotated[int, Range(f"{{}} in [0, {SEEDS})", lambda seed: 0 <= seed < SEEDS)]
Minutes = Annotated[float, Range("{} above 0", lambda minutes: minutes > 0)]
Semantic = Annotated[float, between(-1, 1)]
Forward = Annotated[float, Range("{} of at most 0", lambda nats: nats <= 0)]


@dataclass(frozen=True, kw_only=True)
class Augmentation(Settings):
    """What new rows are made of, and how many.

    Attributes:
        columns: Columns whose texts are paraphrased.
        copies: New rows for each row, and with vary "separately" for each of its columns, at most.
        vary: "separately": a new row has one paraphrased column (ParaZh's S1 + S2); "together": all of them (S12).
        keep: A column whose words or phrases every paraphrase contains, or the phrases themselves.
        keep_by: "select": of several paraphrases those that contain all of them are taken (ParaZh, section
            4.4); "constrain": the decoder is made to generate them.
        avoid: Words or phrases that no paraphrase contains.
        spans: By text column, the column of its spans; both may hold lists, of tokens and of tags.
        label: Column of the classes.
        balance: A class gets only as many new rows as it lacks to the size of the largest.
        stratify: All classes grow by the same share, that of the class with the fewest new rows.
        max_new_rows: New rows at most; None is no limit.
        minutes: No shard is begun after so many minutes; None is no limit.
        min_semantic: The least cosine of text and paraphrase; None is what the paraphraser's settings say.
        min_forward: The least forward log-likelihood per token of a paraphrase, in nats; None likewise.
        min_usable: The least probability that a reader would call a paraphrase usable, in [0, 1]; None likewise.
        allow_trivial: Whether a text that only contracts or expands ("What's", "What is") is new.
        protect: What of a text stays letter for letter, of `toolkit.paraphraser.protect.CLASSES`; None likewise.
        protect_patterns: Regular expressions of what else does.
        provenance: Names of three columns of the result: the number of the row that a new row is made of (null in other
            rows), the paraphraser, and the cosine of text and paraphrase; () adds none.
        seed: Of all that is random.
    """

    columns: Columns
    copies: Count = 1
    vary: Annotated[str, one_of(VARY)] = "separately"
    keep: str | tuple[str, ...] | None = None
    keep_by: Annotated[str, one_of(KEEP_BY)] = "select"
    avoid: tuple[str, ...] = ()
    spans: Mapping[str, str] = field(default_factory=dict)
    label: str | None = None
    balance: bool = False
    stratify: bool = False
    max_new_rows: Count | None = None
    minutes: Minutes | None = None
    min_semantic: Semantic | None = None
    min_forward: Forward | None = None
    min_usable: Share | None = None
    allow_trivial: bool = False
    protect: Classes | None = None
    protect_patterns: OwnPatterns = ()
    provenance: Provenance = PROVENANCE
    seed: AnySeed = 0

    def __post_init__(self) -> None:
        """Refuse columns that are none, and settings that do not go together."""
        _column_names((*self.columns, *self.spans, *self.spans.values(), *([] if self.label is None else [self.label])))
        if not isinstance(self.copies, int) or not isinstance(self.max_new_rows, int | None):
            raise ValueError(f"wanted whole numbers of rows, got {self.copies!r} and {self.max_new_rows!r}")
        super().__post_init__()
        if self.balance and self.stratify:
            raise ValueError("wanted either balance or stratify, got both")
        if (self.balance or self.stratify) and self.label is None:
            setting = "balance" if self.balance else "stratify"
            raise ValueError(f"wanted label, the column of the classes, for {setting}, got None")

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The columns that are paraphrased in one new row: one by one, or all."""
        return (self.columns,) if self.vary == "together" else tuple((column,) for column in self.columns)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns of texts: those that are paraphrased, and those whose spans are named."""
        return tuple(dict.fromkeys((*self.columns, *self.spans)))

    @property
    def chooses(self) -> bool:
        """Whether a paraphrase may be refused for what it does not say, so that more of them are wanted."""
        return self.keep is not None or any(column in self.spans for column in self.columns)
