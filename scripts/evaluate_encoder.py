r"""Measure sentence encoders on similarity and transfer tasks and print them side by side, in Markdown.

    python scripts/evaluate_encoder.py --encoders starter/encoder DIR sentence-transformers/all-MiniLM-L6-v2 --data DATA

DATA holds the official files; what is not there is left out, and named:

    sts/2012 ... sts/2015         STS.input.NAME.txt and STS.gs.NAME.txt: the test parts that SemEval gives out
    sts/2016                      STS2016.input.NAME.txt and STS2016.gs.NAME.txt
    sts/benchmark                 sts-dev.csv, sts-test.csv of the STS Benchmark
    sts/sick-msrp/sts/sick2014    SICK_train.txt, SICK_trial.txt, SICK_test_annotated.txt of SemEval 2014, task 1
    sts/sick-msrp/para/msr        msr-para-train.tsv, msr-para-val.tsv (the official training part but for its last 500
                                  pairs; these), msr-para-test.tsv of the Microsoft Research Paraphrase Corpus
    sts/chinese/Chinese-STS-B     sts-b-dev.txt, sts-b-test.txt
    classification                rt-polarity.all (MR), custrev.all (CR), subj.all, mpqa.all, stsa.binary.train,
                                  stsa.binary.dev, stsa.binary.test (SST), TREC.train.all, TREC.test.all: lines of
                                  "label text", plain or .gz

--without leaves pairs out of the similarity tasks, for an encoder that was trained on some of their sentences.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import toolkit
from toolkit.command import run_command
from toolkit.outputs import check_output_file, is_ours
from toolkit.shards import write_whole
from toolkit.starters import resolve, shown_name

PROGRAM = "evaluate_encoder.py"


def main(arguments: list[str]) -> int:
    """Parse the command line, measure, print, and say in one line what went wrong."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoders", metavar="NAME", nargs="+", required=True, help="starter, folder or Hub id")
    parser.add_argument("--data", type=Path, required=True, help="folder of the official files, see above")
    parser.add_argument("--tasks", nargs="+", help="of sts, benchmark, sick, chinese and transfer (default: all)")
    parser.add_argument("--without", type=Path, help="file of sentences; similarity pairs with one are left out")
    parser.add_argument("--json", type=Path, help="file for all figures, those of single sets too")
    parser.add_argument("--markdown", type=Path, help="file for the tables, which are printed in any case")
    parser.add_argument("--device", default="cpu", help="where the encoders compute (default cpu)")
    given = parser.parse_args(arguments)
    return run_command(PROGRAM, lambda: measure(given))


def check(given: argparse.Namespace) -> None:
    """Find what would stop the command, before a model is loaded.

    Raises:
        OSError: An output cannot be written; the data are not there.
        ValueError: There is no such device.
    """
    from toolkit.evaluate.embeddings import is_markdown
    from toolkit.models.precision import check_device

    inputs = [given.data, *given.encoders, *([given.without] if given.without else [])]
    for output, made in ((given.json, is_ours), (given.markdown, is_markdown)):
        if output:
            check_output_file(output, inputs, made)
    if given.json and given.markdown and given.json.resolve() == given.markdown.resolve():
        raise FileExistsError(f"wanted two files to write, got {given.json} for both: choose another name")
    if not given.data.is_dir():
        raise FileNotFoundError(f"wanted a folder of evaluation sets, got {given.data}, which is none: see --help")
    check_device(given.device)


def measure(given: argparse.Namespace) -> None:
    """Load, measure and print what the command line names; all models are loaded before one is measured."""
    from toolkit.encoder.load import load_encoder
    from toolkit.evaluate.embeddings import TASKS, as_json, check_tasks, evaluate_encoder, markdown
    from toolkit.evaluate.sts import read_sentences

    tasks = check_tasks(given.tasks or TASKS)
    check(given)
    without = read_sentences(given.without) if given.without else set()
    names = list(dict.fromkeys(given.encoders))
    short = [shown_name(name) for name in names]
    encoders = {name: load_encoder(resolve(name), given.device) for name in names}
    found = {}
    for name, shown in zip(names, short, strict=True):
        figures = evaluate_encoder(encoders.pop(name), given.data, tasks, without)
        found[shown if short.count(shown) == 1 else name] = figures
    tables = markdown(found, tasks)
    print(tables)
    if given.markdown:
        write_whole(given.markdown, tables + "\n")
    if given.json:
        record = {"toolkit": toolkit.__version__, "encoders": as_json(found)}
        write_whole(given.json, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
