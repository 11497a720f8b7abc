r"""The histogram of the dual scores of a built parabank, for all candidates and for the chosen ones.

    python -m research.experiments.score_histogram --parabank build/parabank2 \
        --json research/experiments/results/score_histogram.json

The parabank is one that the toolkit packaged; `make demo` builds the one whose figures are committed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from research.reports import report


def main() -> None:
    """Read the parabank's statistics, print them, and write them with the settings of the build."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parabank", type=Path, required=True, help="folder of a packaged parabank")
    parser.add_argument("--json", help="file for the figures")
    options = parser.parse_args()
    statistics, manifest = (
        json.loads((options.parabank / name).read_text(encoding="utf-8"))
        for name in ("statistics.json", "parabank.json")
    )
    bins = statistics["histograms"]["dual"]
    for bin_ in bins:
        print(f"{bin_['least']:5.1f} {bin_['candidates']:7,} candidates {bin_['paraphrases']:7,} paraphrases")
    settings = {name: manifest["settings"][name] for name in ("constraint_rate", "min_p", "max_dual_nll")}
    report.write(options.json, manifest["settings"]["seed"], {"settings": settings, "dual": bins}, {})


if __name__ == "__main__":
    main()
