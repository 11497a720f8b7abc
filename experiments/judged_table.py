r"""What people said of ParaBank's released outputs: grammaticality (ParaBank, table 5), and the oracles of ParaBank 2.

    python -m experiments.judged_table --judgments DIR --json experiments/results/judged.json

DIR holds ref.tsv.gz and candidates.tsv.gz as ParaBank's authors published them: the references that they released are
299 of the paper's 400. Nothing of ours is measured here but the measures. The oracle systems (ParaBank 2, section 3.4)
pick among the five of ParaBank's systems that were evaluated most, each reference's best, median and worst text by the
mean human score; the paper picks among ParaBank 2's five ranks, whose judgments were not released.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from experiments.parabank_runs import authors_run
from reports import report
from reports.figures import table
from toolkit.evaluate import judged, systems
from toolkit.evaluate.tables import cell

CHOSEN_FROM = [name for name in systems.PAPER_JUDGED if name != "ParaNMT"]
SEED = 0
Table = dict[str, dict[str, float]]


def oracles(folder: Path) -> tuple[Table, Table]:
    """The oracle systems: what people gave them, and their measures against the references; and best against worst."""
    references, texts = judged.read_judged(folder)
    _, run = authors_run(folder)
    said = {(text.id, text.text): text for text in texts}
    scores = {key: sum(text.scores) / len(text.scores) for key, text in said.items() if text.scores}
    found = systems.oracle_texts([run[name] for name in CHOSEN_FROM], scores)
    against = {
        name: judged.figures([said[key] for key in own.items()]) | systems.compare(references, own)
        for name, own in found.items()
    }
    return against, {"max / min": systems.compare(found["max"], found["min"])}


def markdown(head: Sequence[str], lines: Table, columns: Sequence[str], paper: dict[str, float]) -> str:
    """A table: a line for each system, the paper's figure in brackets behind the first column that it has one of."""
    found = []
    for name, figures in lines.items():
        cells = [cell([figures[column]] if column in figures else [], whole=column == "texts") for column in columns]
        if name in paper:
            cells[1] += f" ({paper[name]:.2f})"
        found.append([name, *cells])
    return table(head, found)


def main() -> None:
    """Read, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=Path, required=True)
    parser.add_argument("--json")
    options = parser.parse_args()
    _, texts = judged.read_judged(options.judgments)
    by_system = judged.by_system(texts)
    against, between = oracles(options.judgments)
    columns = ["texts", "grammatical", "grammaticality", "score"]
    head = ["system", "texts", "% grammatical (the paper)", "mean of 0, 1, 2", "score"]
    print(markdown(head, by_system, columns, judged.PAPER_GRAMMATICAL), "\n")
    measures = ["score", "grammatical", "one_minus_bleu", "intersection_over_union", "length_ratio"]
    print(markdown(["oracle", *measures], against, measures, {}), "\n")
    others = [text for text in texts if judged.NAMES["0"] not in text.systems]
    agreement = {
        "score": judged.split_half(others, lambda text: text.scores, SEED),
        "grammaticality": judged.split_half(others, lambda text: text.grammaticality, SEED),
    }
    results = {
        "systems": by_system, "paper_grammatical": judged.PAPER_GRAMMATICAL, "split_half_spearman": agreement,
        "oracles": {"chosen_from": CHOSEN_FROM, "against": against, "between": between},
        "paper_oracles": {"human": systems.PAPER_ORACLES_JUDGED, "against": systems.PAPER_ORACLES_AGAINST},
    }  # fmt: skip
    report.write(options.json, SEED, results, {f"split-half, {name}": rho for name, rho in agreement.items()})


if __name__ == "__main__":
    main()
