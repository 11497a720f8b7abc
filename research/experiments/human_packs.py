r"""Sheets for people, ready to be judged: outputs of ours and the authors' released ones mixed, and how many tell.

    python -m research.experiments.human_packs --data DIR --output_dir build/packs \
        --json research/experiments/results/human_packs.json

makes three folders for `parabank annotate serve`, and prints the command of each:

- parabank: ParaBank's tables 4 and 5, ParaBank 2's table 1. The references that ParaBank's authors released, five texts
  of each beside each other, with controls: ParaNMT's and ParaBank's 17, 21, 28, 31 and 34 as released, and outputs of
  ours for the same references: `starter/paraphraser`, two translators with the judge ("best"), and a ParaBank 2 of the
  references as running text. Texts that several systems share are judged once.
- paranmt: ParaNMT-50M's table 3. 100 pairs of each range of the paraphrase score, of a ParaNMT that is built here and
  of the released texts of ParaNMT, scored by the same encoder.
- parazh: ParaZh-22M's tables 4 and 5. 800 pairs of a ParaZh of --parazh FOLDER; without it this sheet is left out. The
  authors' own pairs are not published.

The JSON has what can be said before anybody judges: from the released judgments the agreement of the annotators, the
deviation over references of the difference between two systems, and from it how many references tell a difference of
1, 2, 3 and 5 points with a probability of 80 % (two-sided test at 5 %), and the half width of the 95 % interval of a
system's mean. For ratings in levels nobody has released judgments: the interval is of the largest deviation that the
levels permit, half of their range.

DIR holds judgments/parabank (ref.tsv.gz, candidates.tsv.gz) and bitext/tatoeba/deu-eng.test.tsv.gz.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scipy.stats import norm

from builders.parabank2 import ParaBank2TextRun
from builders.parabank2 import build as build_parabank2
from builders.paranmt import ParaNMTRun
from builders.paranmt import build as build_paranmt
from research.benchmarks.data import TATOEBA
from research.experiments.corpora import write_tsv
from research.experiments.parabank_runs import authors_run
from research.experiments.work_record import check_work, models_read
from research.reports import report
from research.reports.figures import number, table
from toolkit.annotation.make import make_sheet
from toolkit.annotation.sheets import PARABANK, PARANMT, PARAZH, Sheet
from toolkit.encoder.load import load_encoder
from toolkit.evaluate.judged import attentive, judged_texts, released_judgments, split_half
from toolkit.package.read import read_references
from toolkit.paraphraser.names import BEST, STARTER
from toolkit.paraphraser.paraphraser import Paraphraser

RELEASED = ("ParaNMT", "ParaBank 17", "ParaBank 21", "ParaBank 28", "ParaBank 31", "ParaBank 34")
PIVOT = ["starter/en-de", "starter/de-en"]
POINTS = (1, 2, 3, 5)
POWER, LEVEL = 0.8, 0.05
Texts = Mapping[str, str]  # by id of a reference


def write_released(data: Path, folder: Path) -> tuple[dict[str, str], dict[str, Path]]:
    """The released references by id, and a file of pairs of each released system by its name."""
    rows, run = authors_run(data / "judgments" / "parabank")
    references = {row.id: row.reference for row in rows}
    return references, {name: write_pairs(folder, name, references, run[name]) for name in RELEASED}


def write_pairs(folder: Path, name: str, references: Texts, texts: Texts) -> Path:
    """Write the texts of a system beside their references."""
    path = folder / f"{name}.tsv"
    write_tsv(path, [(references[key], text) for key, text in texts.items() if text.strip()])
    return path


def our_texts(references: dict[str, str], folder: Path) -> dict[str, Texts]:
    """The first output of each of our systems for each reference that it has one for; those of before are read."""
    texts_by_system: dict[str, Texts] = {}
    for name in (STARTER, BEST):
        path = folder / f"{name.replace('/', ' ')}.tsv"
        if path.exists():
            lines = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
            by_reference = dict(lines)
            texts_by_system[name] = {
                key: by_reference[reference] for key, reference in references.items() if reference in by_reference
            }
            continue
        outputs = Paraphraser(name, lang="en").paraphrase(list(references.values()), n=1)
        texts_by_system[name] = {
            key: paraphrases[0] for key, paraphrases in zip(references, outputs, strict=True) if paraphrases
        }
        write_pairs(folder, path.stem, references, texts_by_system[name])
    text = folder / "references.txt"
    text.write_text("".join(f"{reference}\n" for reference in references.values()), encoding="utf-8")
    output = folder / "parabank2"
    if not (output / "README.md").exists():
        build_parabank2(
            ParaBank2TextRun(
                text=[str(text)], lang="en", pivot=PIVOT, output_dir=str(output), min_chars=1, max_chars=1000
            )
        )
    first = {row.reference: row.paraphrases[0].text for row in read_references(output) if row.paraphrases}
    texts_by_system["ParaBank 2"] = {
        key: first[reference] for key, reference in references.items() if reference in first
    }
    return texts_by_system


def scored(pairs: Path, folder: Path) -> Path:
    """The pairs of a file with the paraphrase score of the starter's encoder, as a data file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    lines = [line.split("\t") for line in pairs.read_text(encoding="utf-8").splitlines()]
    encoder = load_encoder("starter/encoder")
    sides = [encoder.encode(list(side)) for side in zip(*lines, strict=True)]
    cosines = [float(cosine) for cosine in encoder.similarity_pairwise(*sides)]
    columns = dict(zip(("sentence1", "sentence2"), map(list, zip(*lines, strict=True)), strict=True))
    path = folder / "ParaNMT as released.parquet"
    pq.write_table(pa.table(columns | {"semantic": cosines}), path)
    return path


def starter_paranmt(data: Path, folder: Path) -> Path:
    """A ParaNMT of the starters, with the paraphrase score."""
    output = folder / "ParaNMT by the starters"
    if not (output / "README.md").exists():
        build_paranmt(
            ParaNMTRun(bitext=[str(data / TATOEBA.format("test"))], source_lang="de", lang="en",
                       forward="starter/de-en", semantic_model="starter/encoder", output_dir=str(output))
        )  # fmt: skip
    return output


def references_that_tell(deviation: float, points: float) -> int:
    """How many references tell a difference between two systems that differ by so much on average.

    Args:
        deviation: Of the difference over references.
        points: The mean difference.
    """
    quantiles = norm.ppf(1 - LEVEL / 2) + norm.ppf(POWER)
    return math.ceil((quantiles * deviation / points) ** 2)


def planned(data: Path, references: int) -> dict[str, Any]:
    """What the released judgments say of a sheet: agreement, deviations, and how many references tell.

    Args:
        data: Has the judgments.
        references: Of the sheet `parabank`.
    """
    judgments, left_out = attentive(released_judgments(data / "judgments" / "parabank"))
    texts = [text for text in judged_texts(judgments) if text.scores]
    by_system: dict[str, dict[str, float]] = {}
    for text in texts:
        for system in text.systems:
            by_system.setdefault(system, {})[text.id] = statistics.fmean(text.scores)
    deviations = {}
    for first, second in itertools.combinations(RELEASED, 2):
        shared = by_system[first].keys() & by_system[second].keys()
        deviations[f"{first} / {second}"] = statistics.stdev(
            by_system[first][key] - by_system[second][key] for key in shared
        )
    middle = statistics.median(deviations.values())
    single = statistics.median(statistics.stdev(by_system[name].values()) for name in RELEASED)
    levels = {"paranmt": (3 - 1, PARANMT.size), "parazh": (5 - 1, PARAZH.size)}
    half = norm.ppf(1 - LEVEL / 2)
    return {
        "annotators": len({judgment.annotator for judgment in judgments}),
        "left_out": len(left_out),
        "judgments_of_a_text": statistics.fmean(len(text.scores) for text in texts),
        "agreement_of_halves": split_half(texts, lambda text: text.scores, 0),
        "deviation_of_differences": deviations,
        "median_deviation": middle,
        "references_that_tell": {str(points): references_that_tell(middle, points) for points in POINTS},
        "half_interval_of_a_mean": half * single / math.sqrt(references),
        "half_interval_of_levels": {name: half * span / 2 / math.sqrt(size) for name, (span, size) in levels.items()},
    }


def main() -> None:
    """Make the sheets, print how to start them, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--parazh", type=Path, help="a packaged ParaZh")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json")
    options = parser.parse_args()
    work = options.output_dir / "outputs"
    models = [*models_read(STARTER), *models_read(BEST), *PIVOT]
    check_work(work, "outputs", {"data": options.data}, {"models": models})
    references, files = write_released(options.data, work)
    files |= {name: write_pairs(work, name.replace("/", " "), references, texts)
              for name, texts in our_texts(references, work).items()}  # fmt: skip
    packs: dict[str, tuple[Sheet, Sequence[Path], int | None]] = {
        "parabank": (PARABANK, list(files.values()), len(references)),
        "paranmt": (PARANMT, [starter_paranmt(options.data, work), scored(files["ParaNMT"], work)], None),
    }
    if options.parazh:
        packs["parazh"] = (PARAZH, [options.parazh], None)
    sheets = {}
    for name, (sheet, parabanks, size) in packs.items():
        record = make_sheet(list(map(str, parabanks)), sheet, options.output_dir / name, size, seed=options.seed)
        counts = {key: record[key] for key in ("pages", "texts", "controls", "judgments", "sampled")}
        hours = record["texts"] * record["judgments"] * sheet.seconds / 3600
        sheets[name] = counts | {"systems": sorted(record["parabanks"]), "hours_of_all_annotators": hours}
        print(f"parabank annotate serve {options.output_dir / name}", flush=True)
    plan = planned(options.data, sheets["parabank"]["sampled"]["all"])
    head = ["points between two systems", *map(str, POINTS)]
    print(table(head, [["references that tell it", *(number(n, 0) for n in plan["references_that_tell"].values())]]))
    report.write(options.json, options.seed, {"sheets": sheets, "plan": plan}, {})


if __name__ == "__main__":
    main()
