"""The settings of augmentation, without imports that take seconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from toolkit.system.errors import check_lists
from toolkit.system.settings import SEEDS, check_among, check_at_least_one

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


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """What new rows are made of, and how many.

    Attributes:
        columns: Columns whose texts are paraphrased.
        copies: New rows for each row, and with vary "separately" for each of its columns, at most.
        vary: "separately": a new row has one paraphrased column (ParaZh's S1 + S2); "together": all of them (S12).
        keep: A column whose words or phrases every paraphrase says, or the phrases themselves.
        keep_by: "select": of several paraphrases those that say all of them are taken (ParaZh, section 4.4);
            "constrain": the decoder says them.
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
        provenance: Names of three columns of the result: the number of the row that a new row is made of (null in other
            rows), the paraphraser, and the cosine of text and paraphrase; () adds none.
        seed: Of all that is random.
    """

    columns: tuple[str, ...]
    copies: int = 1
    vary: str = "separately"
    keep: str | tuple[str, ...] | None = None
    keep_by: str = "select"
    spans: Mapping[str, str] = field(default_factory=dict)
    label: str | None = None
    balance: bool = False
    stratify: bool = False
    max_new_rows: int | None = None
    minutes: float | None = None
    min_semantic: float | None = None
    min_forward: float | None = None
    min_usable: float | None = None
    allow_trivial: bool = False
    provenance: tuple[str, ...] = PROVENANCE
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: A setting is out of its range.
        """
        check_lists(self)
        _column_names((*self.columns, *self.spans, *self.spans.values(), *([] if self.label is None else [self.label])))
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise ValueError(f"wanted the names of different columns, got {list(self.columns)}")
        if not isinstance(self.copies, int) or not isinstance(self.max_new_rows, int | None):
            raise ValueError(f"wanted whole numbers of rows, got {self.copies!r} and {self.max_new_rows!r}")
        check_at_least_one(self, "copies")
        check_among(self, "vary", VARY)
        check_among(self, "keep_by", KEEP_BY)
        if self.balance and self.stratify:
            raise ValueError("wanted either balance or stratify, got both")
        if (self.balance or self.stratify) and self.label is None:
            setting = "balance" if self.balance else "stratify"
            raise ValueError(f"wanted label, the column of the classes, for {setting}, got None")
        if self.max_new_rows is not None and self.max_new_rows < 1:
            raise ValueError(f"wanted max_new_rows of at least 1, got {self.max_new_rows}")
        if self.minutes is not None and self.minutes <= 0:
            raise ValueError(f"wanted minutes above 0, got {self.minutes}")
        if self.min_semantic is not None and not -1 <= self.min_semantic <= 1:
            raise ValueError(f"wanted min_semantic in [-1, 1], got {self.min_semantic}")
        if self.min_forward is not None and not self.min_forward <= 0:
            raise ValueError(f"wanted min_forward of at most 0, got {self.min_forward}")
        if self.min_usable is not None and not 0 <= self.min_usable <= 1:
            raise ValueError(f"wanted min_usable in [0, 1], got {self.min_usable}")
        if len(self.provenance) not in (0, len(PROVENANCE)) or len(set(self.provenance)) != len(self.provenance):
            raise ValueError(f"wanted three different names as provenance, or none, got {list(self.provenance)}")
        if not 0 <= self.seed < SEEDS:
            raise ValueError(f"wanted seed in [0, {SEEDS}), got {self.seed}")

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The columns that are paraphrased in one new row: one by one, or all."""
        return (self.columns,) if self.vary == "together" else tuple((column,) for column in self.columns)

    @property
    def chooses(self) -> bool:
        """Whether a paraphrase may be refused for what it does not say, so that more of them are wanted."""
        return self.keep is not None or any(column in self.spans for column in self.columns)
