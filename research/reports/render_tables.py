"""Write the figures of the documents from the committed results, so that no number in them is typed.

    python -m research.reports.render_tables [--check] [FILE.md ...]

In Markdown a table stands between `<!-- table: NAME -->` and `<!-- end -->`, a figure within a sentence between
`<!-- figure: NAME -->` and `<!-- end -->`; what is between is written here, by the function of that name in `MADE`.
Figures are read from research/benchmarks/results/*.json, research/experiments/results/*.json and the starters' own
records, papers' figures are constants of the package, and rounding is done here. --check writes nothing and exits with
1, naming the first that differs. Without files: README.md, PAPERS.md, CONTRIBUTING.md, CHANGELOG.md and docs/.
"""

from __future__ import annotations

import argparse
import pkgutil
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import research.reports
from research.reports.figures import ROOT

DOCUMENTS = ("README.md", "PAPERS.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md")
MARKER = r"<!-- (?:table|figure): [a-z]"
PLACE = re.compile(rf"<!-- (table|figure): ([a-z]\w*) -->(?:(?!{MARKER}).)*?<!-- end -->", re.DOTALL)
MODULES = [
    import_module(f"research.reports.{module.name}")
    for module in pkgutil.iter_modules(research.reports.__path__)
    if module.name.startswith("figures_")
]
MADE: dict[str, Callable[[], str]] = {function.__name__: function for module in MODULES for function in module.MADE}


def rendered(text: str, where: str) -> str:
    """A document with all that is between markers made anew.

    Raises:
        ValueError: A name is none of `MADE`, a marker has no end, or a result lacks a figure.
    """

    def replacement(match: re.Match[str]) -> str:
        kind, name = match.groups()
        if name not in MADE:
            raise ValueError(f"wanted a {kind} of {', '.join(sorted(MADE))}, got {name!r} in {where}: rename or add it")
        around = "\n\n" if kind == "table" else ""
        try:
            return f"<!-- {kind}: {name} -->{around}{MADE[name]()}{around}<!-- end -->"
        except KeyError as error:
            raise ValueError(
                f"wanted {error} in the results of {kind} {name}, got none: run its program whole"
            ) from None

    if re.search(MARKER, PLACE.sub("", text)):
        raise ValueError(f"wanted <!-- end --> after each table and figure, got one without in {where}: add it")
    return PLACE.sub(replacement, text)


def stale(text: str, where: str) -> str | None:
    """The name of the first table or figure of a document that differs from the results; None if all are theirs."""
    for old, new in zip(PLACE.finditer(text), PLACE.finditer(rendered(text, where)), strict=True):
        if old[0] != new[0]:
            return f"{old[1]} {old[2]}"
    return None


def main(arguments: list[str]) -> int:
    """Render or check the documents, and say in one line what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if a table or figure differs")
    options = parser.parse_args(arguments)
    for path in options.documents or [path for form in DOCUMENTS for path in sorted(ROOT.glob(form))]:
        try:
            text = path.read_text(encoding="utf-8")
            if options.check and (name := stale(text, path.name)):
                raise ValueError(f"wanted {name} of {path.name} as its results have it: run this without --check")
            if not options.check and (new := rendered(text, path.name)) != text:
                path.write_text(new, encoding="utf-8")
        except (ValueError, OSError) as error:
            print(f"render_tables.py: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
