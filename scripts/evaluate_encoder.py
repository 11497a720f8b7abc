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

from toolkit.evaluate.embeddings import TASKS, as_json, evaluate_encoder, markdown
from toolkit.evaluate.sts import read_sentences
from toolkit.models.starter import resolve, shown_name
from toolkit.score.semantic import load_encoder
from toolkit.shards import write_whole


def main(arguments: list[str]) -> int:
    """Parse the command line, measure, print, and say in one line what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoders", metavar="NAME", nargs="+", required=True, help="starter, folder or Hub id")
    parser.add_argument("--data", type=Path, required=True, help="folder of the official files, see above")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS, help="default: all")
    parser.add_argument("--without", type=Path, help="file of sentences; similarity pairs with one are left out")
    parser.add_argument("--json", type=Path, help="file for all figures, those of single sets too")
    parser.add_argument("--markdown", type=Path, help="file for the tables, which are printed in any case")
    parser.add_argument("--device", default="cpu", help="where the encoders compute (default cpu)")
    given = parser.parse_args(arguments)
    try:
        return measure(given)
    except (ValueError, OSError) as error:
        print(f"evaluate_encoder.py: {error}", file=sys.stderr)
        return 1


def measure(given: argparse.Namespace) -> int:
    """Load, measure and print what the command line names."""
    without = read_sentences(given.without) if given.without else set()
    names = list(dict.fromkeys(given.encoders))
    short = [shown_name(name) for name in names]
    found = {}
    for name, shown in zip(names, short, strict=True):
        encoder = load_encoder(resolve(name), given.device)
        found[shown if short.count(shown) == 1 else name] = evaluate_encoder(encoder, given.data, given.tasks, without)
    tables = markdown(found, given.tasks)
    print(tables)
    if given.markdown:
        write_whole(given.markdown, tables + "\n")
    if given.json:
        write_whole(given.json, json.dumps(as_json(found), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
