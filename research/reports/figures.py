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
PROCESSORS = {  # kinds of processors: what names of reports and of lines end in
    "": "",
    "_without_bfloat16": ", without bfloat16",
    "_avx2": ", AVX2 alone",
}
STARTERS = ROOT / "toolkit" / "starters"


def benchmark(name: str) -> dict:
    """The whole report of a benchmark."""
    return json.loads((ROOT / "research" / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def by_processor(name: str) -> list[tuple[str, dict]]:
    """The reports of a benchmark, each with what its lines end in; of kinds of processors that it was run on."""
    reports = []
    for suffix, ending in PROCESSORS.items():
        path = ROOT / "research" / "benchmarks" / "results" / f"{name}{suffix}.json"
        if path.exists():
            reports.append((ending, json.loads(path.read_text(encoding="utf-8"))))
    return reports


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
    table_lines = [head, ["---", *("---:" if right else "---" for right in numbers)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in table_lines) + (f"\n\n{below}" if below else "")


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
    return f"Measured on: {processor(m)}, {can or 'neither bfloat16 nor VNNI'}; {load(m)}."


def measured(reports: Sequence[tuple[str, dict]]) -> str:
    """What a table was measured on, and what its other kinds of processors were.

    Args:
        reports: As `by_processor` returns them.
    """
    sentences = [machine(reports[0][1])]
    for ending, record in reports[1:]:
        m, kind = record["machine"], ending.removeprefix(", ")
        limits = " and ".join(f"`{name}={value}`" for name, value in m.get("limits", {}).items())
        same = limits and processor(m) == processor(reports[0][1]["machine"])
        ran = [] if same else [processor(m), load(m)]
        ran += [f"all engines ran with {limits}"] if limits else []
        sentences.append(f"{kind[0].upper()}{kind[1:]}: {'; '.join(ran)}.")
    return " ".join(sentences)


def processor(m: dict) -> str:
    """The processor of a benchmark's machine, and its cores."""
    return f"{m['cpu']} (family/model {m['cpu_family_model']}), {m['cores']} cores"


def load(m: dict) -> str:
    """The load of a benchmark's machine."""
    before, after = m.get("load_average_before"), m.get("load_average")
    if before is not None:
        return f"load average {before} before the run"
    return f"load average {'not recorded' if after is None else f'{after} at the end'}"


def ranges(values: Iterable[float], places: int = 0) -> str:
    """The least and the greatest of some values."""
    numbers = sorted(values)
    return f"{number(numbers[0], places)} to {number(numbers[-1], places)}"
