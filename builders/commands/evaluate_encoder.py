r"""Measure sentence encoders on similarity and transfer tasks and print them side by side, in Markdown.

    parabank evaluate encoder --encoders starter/encoder DIR sentence-transformers/all-MiniLM-L6-v2 --data DATA

DATA holds the official files; tasks whose files are missing are left out, and the missing files are listed:

    sts/2012 ... sts/2015         STS.input.NAME.txt and STS.gs.NAME.txt: the public test parts of SemEval
    sts/2016                      STS2016.input.NAME.txt and STS2016.gs.NAME.txt
    sts/benchmark                 sts-dev.csv, sts-test.csv of the STS Benchmark
    sts/sick-msrp/sts/sick2014    SICK_train.txt, SICK_trial.txt, SICK_test_annotated.txt of SemEval 2014, task 1
    sts/sick-msrp/para/msr        msr-para-train.tsv, msr-para-val.tsv (the official training part: all but its last 500
                                  pairs, and these), msr-para-test.tsv of the Microsoft Research Paraphrase Corpus
    sts/chinese/Chinese-STS-B     sts-b-dev.txt, sts-b-test.txt
    classification                rt-polarity.all (MR), custrev.all (CR), subj.all, mpqa.all, stsa.binary.train,
                                  stsa.binary.dev, stsa.binary.test (SST), TREC.train.all, TREC.test.all: lines of
                                  "label text", plain or .gz

--pairs takes pairs of your own: files or data sets with labels 0 and 1 or negatives, or with scores from 0 to 5 and
--scored, in any form that trainings read. Measured are the correlations of the cosines with the labels or scores and,
of labels, the average precision and the accuracy at the best threshold.

--without leaves pairs out of the similarity tasks, for an encoder that was trained on some of their sentences.

--suite runs tasks of MTEB by the package mteb in place of those of --tasks: `english` and `chinese` are its similarity
and pair classification tasks of these languages. The official files in DATA are used where they are there (STS 2012 to
2016, the test part of the STS Benchmark, SICK, and the Chinese sets LCQMC, AFQMC, PAWS-X and STS-B under sts/chinese),
and mteb's data sets of the Hub else.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import toolkit
from toolkit.evaluate.tables import table
from toolkit.starters import resolve, shown_name
from toolkit.system.command import run_command
from toolkit.system.outputs import check_output_file, is_ours
from toolkit.system.settings import Parser
from toolkit.system.whole_files import write_whole

PROGRAM = "parabank evaluate encoder"


def main(arguments: list[str]) -> int:
    """Parse the command line, measure, print; print an error as one line."""
    parser = Parser(prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--encoders",
        metavar="NAME",
        nargs="+",
        required=True,
        help="encoders to measure: starter/NAME, folder or Hub id",
    )
    parser.add_argument("--data", type=Path, help="folder of the official files, see above")
    parser.add_argument("--pairs", nargs="+", default=[], help="files or data sets of labelled pairs, see above")
    parser.add_argument("--scored", action="store_true", help="the pairs have scores from 0 to 5")
    parser.add_argument(
        "--tasks", nargs="+", help="tasks among sts, benchmark, sick, chinese and transfer (default: all)"
    )
    parser.add_argument("--suite", metavar="TASK", nargs="+", help="english, chinese, or names of tasks of MTEB")
    parser.add_argument("--results", type=Path, help="folder for mteb's own files of the results of --suite")
    parser.add_argument(
        "--without", type=Path, help="file with a sentence per line; similarity pairs with one of them are left out"
    )
    parser.add_argument("--json", type=Path, help="file for all figures, including those of single sets")
    parser.add_argument("--markdown", type=Path, help="file for the tables, which are also printed")
    parser.add_argument("--device", help="device of the encoders (default: a GPU where there is one)")
    options = parser.parse_args(arguments)
    if not (options.data or options.pairs or options.suite):
        parser.error("wanted --data, --pairs or --suite, got none of them: name what to measure on")
    if options.suite and (options.tasks or options.without):
        parser.error("wanted --tasks and --without for the tasks of --data alone, got --suite, too: run it by itself")
    if options.results and not options.suite:
        parser.error("wanted --results for the tasks of --suite, got no --suite: add one or leave it out")
    return run_command(PROGRAM, lambda: _measure(options))


def _check(options: argparse.Namespace) -> None:
    """Check everything that can stop the command, before a model is loaded.

    Raises:
        OSError: An output cannot be written, or the data folder does not exist.
        ValueError: There is no such device.
    """
    from toolkit.evaluate.embeddings import is_markdown
    from toolkit.models.precision import check_device

    others = [file for file in (options.data, options.without) if file]
    inputs = [*others, *options.pairs, *options.encoders]
    for output, is_own_output in ((options.json, is_ours), (options.markdown, is_markdown)):
        if output:
            check_output_file(output, inputs, is_own_output)
    if options.json and options.markdown and options.json.resolve() == options.markdown.resolve():
        raise FileExistsError(f"wanted two files to write, got {options.json} for both: choose another name")
    if options.data and not options.data.is_dir():
        raise FileNotFoundError(f"wanted a folder of evaluation sets, got {options.data}, which is none: see --help")
    if options.results and options.results.exists() and not options.results.is_dir():
        raise NotADirectoryError(f"wanted a folder for the results, got {options.results}: choose another name")
    check_device(options.device)


def _measure(options: argparse.Namespace) -> None:
    """Load all encoders, measure them and print the tables."""
    from toolkit.encoder.load import load_encoder
    from toolkit.evaluate.embeddings import TASKS, as_json, check_tasks, evaluate_encoder, markdown
    from toolkit.evaluate.sts import pair_figures, read_sentences
    from toolkit.evaluate.suite import evaluate_suite, load_suite, suite_json, suite_markdown, suite_names

    tasks = check_tasks(options.tasks or TASKS)
    _check(options)
    suite, missing = load_suite(suite_names(options.suite), options.data) if options.suite else ({}, [])
    without = read_sentences(options.without) if options.without else set()
    pairs = {source: _sentences_and_labels(source, options.scored) for source in options.pairs}
    names = list(dict.fromkeys(options.encoders))
    labels = [shown_name(name) for name in names]
    encoders = {name: load_encoder(resolve(name), options.device) for name in names}
    figures, figures_of_suite, figures_of_pairs = {}, {}, {}
    for name, label in zip(names, labels, strict=True):
        encoder, shown = encoders.pop(name), label if labels.count(label) == 1 else name
        if options.suite:
            figures_of_suite[shown] = evaluate_suite(encoder, name, suite, options.results)
        elif options.data:
            figures[shown] = evaluate_encoder(encoder, options.data, tasks, without)
        figures_of_pairs[shown] = {source: pair_figures(encoder, source, *columns) for source, columns in pairs.items()}
    tables = [markdown(figures, tasks)] if figures else []
    tables += [suite_markdown(figures_of_suite, missing)] if options.suite else []
    tables += [_pair_tables(figures_of_pairs, pairs)] if pairs else []
    print("\n\n".join(tables))
    if options.markdown:
        write_whole(options.markdown, "\n\n".join(tables) + "\n")
    if options.json:
        record: dict[str, object] = {"toolkit": toolkit.__version__, "encoders": as_json(figures)}
        if options.suite:
            by_encoder = {label: suite_json(task_figures) for label, task_figures in figures_of_suite.items()}
            record |= {"suite": by_encoder, "missing": missing}
        record |= {"pairs": figures_of_pairs} if pairs else {}
        write_whole(options.json, json.dumps(record, indent=1) + "\n")


def _sentences_and_labels(source: str, scored: bool) -> tuple[list[str], list[str], list[float]]:
    """Both sides of labelled pairs, and their labels or scores.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It has another form.
    """
    from toolkit.package.read import read_labelled

    sides: tuple[list, list, list] = [], [], []
    for batch in read_labelled(source, scored=scored):
        for values, column in zip(sides, batch.columns, strict=True):
            values += column.to_pylist()
    if not sides[0]:
        raise ValueError(f"wanted labelled pairs, got none in {source}: give another file")
    return sides


def _pair_tables(
    figures: dict[str, dict[str, dict[str, float]]], pairs: dict[str, tuple[list[str], list[str], list[float]]]
) -> str:
    """A Markdown table for each source of pairs, and signatures: how the cosines agree with labels or scores."""
    from toolkit.evaluate.embeddings import VERSION

    parts = []
    for source, first_figures in next(iter(figures.values())).items():
        rows = [[name, *(f"{value:.1f}" for value in of_pairs[source].values())] for name, of_pairs in figures.items()]
        parts.append(f"## {Path(source).name}, cosine, x 100\n\n{table(['encoder', *first_figures], rows)}")
    sizes = [(Path(source).name, len(labels)) for source, (_, _, labels) in pairs.items()]
    return "\n\n".join([*parts, "\n".join(f"- `{name}: cosine|pairs:{size}|{VERSION}`" for name, size in sizes)])
