"""What an augmentation did: rows in, new rows, and what was skipped, by reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field

from toolkit.augmentation.parts import REASONS, _SkippedError


@dataclass
class Summary:
    """The counts of an augmentation.

    Attributes:
        rows: Rows that were worked on.
        new_rows: Rows that were made of them.
        skipped: By reason (`parts.REASONS`), rows, or with vary "separately" columns of rows, without a new row.
        first: By reason, the first row that was skipped for it, and why.
        dropped: New rows that were made and not wanted, because of balance, stratify or max_new_rows.
        why_dropped: Why, in a few words.
        smaller: By class, with balance, how many rows it has less than the largest although it was to have as many.
    """

    rows: int = 0
    new_rows: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    dropped: int = 0
    why_dropped: str = "more than were wanted"
    smaller: dict[str, int] = field(default_factory=dict)

    def add(self, rows: int, new_rows: int) -> None:
        """Count the rows of a shard."""
        self.rows += rows
        self.new_rows += new_rows

    def skip(self, row: int, error: _SkippedError, rows: int = 1) -> None:
        """Count a row that gets no copy, or several of which it is the first."""
        self.skipped[error.reason] += rows
        self.first.setdefault(error.reason, f"row {row}: {error}")

    def clear(self) -> None:
        """Begin again, as a stream does that is read once more."""
        self.__init__()  # type: ignore[misc]

    def merge(self, other: Summary) -> None:
        """Add the counts of a later shard."""
        self.rows += other.rows
        self.new_rows += other.new_rows
        self.dropped += other.dropped
        self.skipped.update(other.skipped)
        self.first = other.first | self.first

    def __str__(self) -> str:
        """The counts, a line for each reason.

        >>> print(Summary(1000, 1200, Counter(no_text=3), {"no_text": "row 7: wanted a text, got None"}))
        1,000 rows, 1,200 new rows
        3 skipped: the column has no text: None, or white space (row 7: wanted a text, got None)
        """
        lines = [f"{self.rows:,} rows, {self.new_rows:,} new rows"]
        if self.dropped:
            lines.append(f"{self.dropped:,} more were made and left out: {self.why_dropped}")
        if self.smaller:
            lacks = ", ".join(f"label {label} by {lack:,} rows" for label, lack in self.smaller.items())
            lines.append(f"smaller than the largest class: {lacks}; raise copies, and max_new_rows if there is one")
        for reason, count in self.skipped.most_common():
            lines.append(f"{count:,} skipped: {REASONS[reason]} ({self.first[reason]})")
        return "\n".join(lines)

    def record(self) -> dict:
        """The summary as JSON holds it."""
        return asdict(self) | {"skipped": dict(self.skipped)}

    @classmethod
    def of(cls, record: dict) -> Summary:
        """The summary that a record holds."""
        return cls(**(record | {"skipped": Counter(record["skipped"])}))
