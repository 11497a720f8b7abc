r"""Human judgments of ParaBank's released outputs: grammaticality (ParaBank, table 5) and ParaBank 2's oracle systems.

    python -m research.experiments.judged_table --judgments DIR --json research/experiments/results/judged.json

`summary` is what `parabank annotate` summarise` prints: the scores by the length of the reference (ParaBank, table 4)
and how far annotators agree, without the annotators whom the paper leaves out; all other figures are of all annotators.

DIR holds ref.tsv.gz and candidates.tsv.gz as ParaBank's authors published them, with 299 of the paper's 400 references.
All outputs are the authors'; only the measures are ours. The oracle systems (ParaBank 2, section 3.4) select for each
reference the best, median and worst text by mean human score, among the five of ParaBank's systems that were evaluated
most; the paper selects among ParaBank 2's five ranks, whose judgments were not released.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from research.experiments import systems
from research.experiments.parabank_runs import authors_run
from research.reports import report
from research.reports.figures import table
from toolkit.annotation.summary import summarise
from toolkit.evaluate import judged
from toolkit.evaluate.tables import cell

CHOSEN_FROM = [name for name in systems.PAPER_JUDGED if name != "ParaNMT"]
SEED = 0
Table = dict[str, dict[str, float]]


def oracles(folder: Path) -> tuple[Table, Table]:
    """The oracle systems' human scores and measures against the references; and the best measured against the worst."""
    references, texts = judged.read_judged(folder)
    _, run = authors_run(folder)
    texts_by_key = {(text.id, text.text): text for text in texts}
    scores = {key: sum(text.scores) / len(text.scores) for key, text in texts_by_key.items() if text.scores}
    oracle_texts = systems.oracle_texts([run[name] for name in CHOSEN_FROM], scores)
    against = {
        name: judged.figures([texts_by_key[key] for key in texts_of_oracle.items()])
        | systems.compare(references, texts_of_oracle)
        for name, texts_of_oracle in oracle_texts.items()
    }
    return against, {"max / min": systems.compare(oracle_texts["max"], oracle_texts["min"])}


def markdown(head: Sequence[str], lines: Table, columns: Sequence[str], paper: dict[str, float]) -> str:
    """A Markdown table with a line for each system, and the paper's figure in brackets in the second column."""
    rows = []
    for name, figures in lines.items():
        cells = [cell([figures[column]] if column in figures else [], whole=column == "texts") for column in columns]
        if name in paper:
            cells[1] += f" ({paper[name]:.2f})"
        rows.append([name, *cells])
    return table(head, rows)


def main() -> None:
    """Read the judgments, measure, print, and write the JSON."""
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
    paraphrases = [text for text in texts if judged.NAMES["0"] not in text.systems]
    agreement = {
        "score": judged.split_half(paraphrases, lambda text: text.scores, SEED),
        "grammaticality": judged.split_half(paraphrases, lambda text: text.grammaticality, SEED),
    }
    summary = summarise(options.judgments)
    names = ["judgments", "agreement", "systems"]
    results = {
        "systems": by_system, "summary": {name: summary[name] for name in names} | {
            "annotators": len(summary["annotators"]),
            "left_out": [person["left_out"] for person in summary["annotators"].values() if person["left_out"]],
        }, "paper_grammatical": judged.PAPER_GRAMMATICAL, "split_half_spearman": agreement,
        "oracles": {"chosen_from": CHOSEN_FROM, "against": against, "between": between},
        "paper_oracles": {"human": systems.PAPER_ORACLES_JUDGED, "against": systems.PAPER_ORACLES_AGAINST},
    }  # fmt: skip
    report.write(options.json, SEED, results, {f"split-half, {name}": rho for name, rho in agreement.items()})


if __name__ == "__main__":
    main()
