"""What the tables of the documents are made of: results as they were written, lines, and numbers rounded once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A figure, or several with "/" or "to" between them; none is empty or a dash. It has no words.
NUMBER = re.compile(r"^(?=\W*\d|[\W_]*$)(?!.*[^\W\d_]{3})")
STARTERS = ROOT / "toolkit" / "starters"


def benchmark(name: str) -> dict:
    """The whole report of a benchmark."""
    return json.loads((ROOT / "research" / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def without_bfloat16(name: str) -> dict | None:
    """The report of the same benchmark with --without_bfloat16; None where it was not run."""
    path = ROOT / "research" / "benchmarks" / "results" / f"{name}_without_bfloat16.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def with_and_without_bfloat16(name: str) -> list[dict]:
    """The report of a benchmark, and that of the same with --without_bfloat16 where it was run."""
    return [record for record in (benchmark(name), without_bfloat16(name)) if record]


def experiment(name: str) -> dict:
    """The whole report of an experiment."""
    return json.loads((ROOT / "research" / "experiments" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def starter(name: str, file: str) -> dict:
    """A record that lies beside a starter's weights."""
    return json.loads((STARTERS / name / file).read_text(encoding="utf-8"))


def table(head: Sequence[str], lines: Iterable[Sequence[str]], below: str = "") -> str:
    """A Markdown table, columns of numbers to the right and others to the left, and a line under it.

    `toolkit.evaluate.tables` has one too. The benchmarks use this one, because importing the toolkit decides how the
    threads of all engines wait.
    """
    rows = [list(line) for line in lines]
    numbers = [all(NUMBER.match(row[n]) for row in rows if n < len(row)) for n in range(1, len(head))]
    found = [head, ["---", *("---:" if right else "---" for right in numbers)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in found) + (f"\n\n{below}" if below else "")


def number(value: float | None, places: int = 1) -> str:
    """A figure, or a dash for none; a half goes up, as a reader of the paper would round.

    >>> number(81.55), number(1234.5, 0), number(None)
    ('81.6', '1,235', '-')
    """
    if value is None:
        return "-"
    return f"{Decimal(str(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):,}"


def beside(ours: str, paper: float | None, places: int = 1) -> str:
    """A figure of ours with the paper's in brackets, if it has one."""
    return ours if paper is None else f"{ours} ({number(paper, places)})"


def machine(record: dict) -> str:
    """What a benchmark ran on."""
    m = record["machine"]
    can = " and ".join(name for name, key in (("bfloat16", "bf16"), ("VNNI", "vnni"), ("AMX", "amx")) if m[key])
    able = can or "neither bfloat16 nor VNNI"
    before, after = m.get("load_average_before"), m.get("load_average")
    load = "not recorded" if after is None else f"{after} at the end"
    if before is not None:
        load = f"{before} before the run"
    processor = f"{m['cpu']} (family/model {m['cpu_family_model']})"
    return f"Measured on: {processor}, {m['cores']} cores, {able}; load average {load}."


def limited(record: dict | None) -> str:
    """What hid instructions of the processor in a report, as a further sentence; empty where nothing did."""
    limits = record["machine"].get("limits", {}) if record else {}
    variables = " and ".join(f"`{name}={value}`" for name, value in limits.items())
    return f" Without bfloat16: all engines ran with {variables}." if limits else ""


def ranges(values: Iterable[float], places: int = 0) -> str:
    """The least and the greatest of some values."""
    found = sorted(values)
    return f"{number(found[0], places)} to {number(found[-1], places)}"
