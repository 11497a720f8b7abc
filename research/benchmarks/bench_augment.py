"""A training set grown by two copies of each row: `toolkit.augment`, nlpaug's augmenters, and Parrot's loop.

    python -m research.benchmarks.bench_augment --data DIR --json research/benchmarks/results/augment.json

It needs nlpaug (`pip install nlpaug`). DIR holds bitext/tatoeba/deu-eng.train.tsv.gz, whose English sentences are the
rows, and lexical/stopwords-iso.json. Each engine runs in a process of its own and gives two new rows of each row:

- `ours`: `toolkit.augment`, guards, cosine and ranking included; `ours_few` draws 6 samples of each row instead of 20.
- `ours_two_processes`: its command, from a file to a file, in two processes of one thread; their start counts.
- `parrot`: `generate` in a loop over the rows, with the same model and without Parrot's filters.
- `nlpaug_back_translation`: in nlpaug's batches; greedy, and with `_beam` by the beam that nlpaug's own models have in
  their settings.
- `textattack`: back-translation by TextAttack, which takes one row at a time; in an environment of its own,
  --textattack_env, which is created on the first run.
- `nlpaug_contextual`: three words of ten by a masked language model of about as many parameters. It reads each row a
  few times and writes no sentence: another and smaller work than the others'.

The models have two sizes: "starter" (the starter paraphraser and translators; the masked model has random weights), and
"base" (BART-base and BERT-base, all with random weights, so that no guard refuses a row). Peers get fewer rows.

With --judges, encoders that no engine uses say which new rows are usable: a cosine with the row of at least 0.8 by each
of them, and no copy of the row or of another new row. `usable_best_peer` is the ratio of the usable rows per second to
the most of any peer.

Ratios are rows per second of `ours` over those of each peer; `fastest_peer` is the least of them; `few_...` and
`two_processes_...` are those of the other two. --memory ROWS also measures the peak memory of ours on ROWS/100 and ROWS
rows, with finished shards on disk. The machine must be idle.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from dataclasses import replace
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from research.benchmarks import augment_engines as engines
from research.benchmarks import processor
from research.benchmarks.augment_engines import Job
from research.benchmarks.data import TATOEBA, fields
from research.reports import report
from research.reports.child import in_child, interpreter, peer_answer
from research.reports.figures import number, table

OURS = {"ours": engines.ours, "ours_few": engines.ours, "ours_two_processes": engines.ours_two_processes}
PEERS = {
    "parrot": engines.parrot,
    "nlpaug_back_translation": engines.nlpaug_back_translation,
    "nlpaug_back_translation_beam": engines.nlpaug_back_translation_beam,
    "nlpaug_contextual": engines.nlpaug_contextual,
}
TEXTATTACK = "textattack"
TEXTATTACK_PACKAGES = ("textattack==0.3.10", "transformers<5", "torch==2.13.0", "python-Levenshtein")
ENGINES = [*OURS, *PEERS, TEXTATTACK]
TEXTATTACK_PART = 10  # it is so slow that a tenth of the peers' rows is enough
SIZED, ENTROPY = "facebook/bart-base", 0.9  # of models of size base: sizes, and nats of a step (bench_paraphraser)
SIZES = ["starter", "base"]  # of `augment_models.SIZES`
MEMORY_PART = 100  # memory is measured on all rows and on so small a part of them
KEYS = ("rows_per_second", "new_rows_of_a_row", "peak_megabytes", "usable_share", "usable_per_second")


def prepare(folder: Path, size: str, texts: list[str], seed: int) -> tuple[dict[str, str], dict[str, Any]]:
    """Write the models with random weights; the folders of all, and what is said about them; runs in a child."""
    from research.benchmarks.augment_models import write_masked
    from research.benchmarks.paraphraser_models import write_model
    from toolkit.starters import resolve

    about = write_masked(folder / "bert", size, texts, seed)
    if size == "starter":
        names = {"paraphraser": "paraphraser", "there": "en-de", "back": "de-en"}
        folders = {name: str(resolve(f"starter/{starter}")) for name, starter in names.items()}
    else:
        about |= write_model(folder / "model", SIZED, texts, seed, ENTROPY)
        folders = dict.fromkeys(("paraphraser", "there", "back"), str(folder / "model"))
    return folders | {"masked": str(folder / "bert")}, about


def measure(arguments: argparse.Namespace, size: str, texts: list[str]) -> tuple[dict[str, Any], dict[str, float]]:
    """The figures of all engines with models of a size, and the ratios."""
    starter = size == "starter"
    rows, peer_rows = (arguments.rows, arguments.few) if starter else (arguments.base_rows, arguments.base_few)
    with tempfile.TemporaryDirectory() as name:
        (models, about), _ = in_child(prepare, Path(name), size, texts, arguments.seed)
        settings = arguments.copies, arguments.threads, arguments.rounds, arguments.seed
        job = Job(models, starter, texts[:rows], *settings)
        results: dict[str, Any] = {"models": about}
        peak: float | None
        for engine in arguments.engines:
            if engine in OURS:
                if engine == "ours_two_processes" and not starter:  # a command does not turn all guards off
                    continue
                figures, peak = in_child(OURS[engine], job, engine)
                peak = None if engine == "ours_two_processes" else peak  # it would be that of what starts them
            elif engine == TEXTATTACK:
                if not starter:  # it takes no other models than Marian's
                    continue
                figures, peak = textattack(arguments, job, texts[: peer_rows // TEXTATTACK_PART]), None
            else:
                figures, peak = in_child(PEERS[engine], replace(job, texts=texts[:peer_rows]), engine)
            outputs, inputs = figures.pop("made"), job.texts if engine in OURS else texts[: figures["rows"]]
            if starter and arguments.judges:  # random weights say nothing
                share = in_child(engines.usable_share, outputs, inputs, arguments.judges, arguments.threads)[0]
                figures["usable_share"] = round(share, 4)
                figures["usable_per_second"] = round(
                    share * figures["new_rows_of_a_row"] * figures["rows_per_second"], 3
                )
            results[engine] = figures | {"peak_megabytes": peak}
            print(f"{size} {engine}: {figures['rows_per_second']} rows/s", file=sys.stderr)
        if arguments.memory and starter:
            results["memory"] = {
                f"{rows} rows": in_child(engines.kept_on_disk, job, list(islice(cycle(texts), rows)), name)[1]
                for rows in (arguments.memory // MEMORY_PART, arguments.memory)
            }
    peers = [peer for peer in (*PEERS, TEXTATTACK) if peer in results]
    ratios: dict[str, float] = {}
    for variant in OURS:
        if variant in results and peers:
            speed = results[variant]["rows_per_second"]
            over = {peer: speed / results[peer]["rows_per_second"] for peer in peers}
            over["fastest_peer"] = min(over.values())
            if "usable_per_second" in results[variant]:
                best = max(results[peer]["usable_per_second"] for peer in peers)
                over["usable_best_peer"] = results[variant]["usable_per_second"] / best
            ratios |= {f"{variant.removeprefix('ours')}_{name}".lstrip("_"): ratio for name, ratio in over.items()}
    if "memory" in results:
        small, large = results["memory"].values()
        ratios["memory_growth"] = large / small
    return results, {name if starter else f"{name}_{size}": ratio for name, ratio in ratios.items()}


def textattack(arguments: argparse.Namespace, job: Job, texts: list[str]) -> dict[str, Any]:
    """The figures of `textattack_peer.py`."""
    words = json.loads((arguments.data / "lexical/stopwords-iso.json").read_text(encoding="utf-8"))["en"]
    request = {"there": job.models["there"], "back": job.models["back"], "texts": texts, "stop_words": words}
    request |= {"copies": job.copies, "threads": job.threads, "rounds": job.rounds}
    python = interpreter(arguments.textattack_env, TEXTATTACK_PACKAGES)
    script = Path(__file__).with_name("textattack_peer.py")
    return peer_answer(python, script, request)


def main() -> None:
    """Measure, print the table and the ratios, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--few", type=int, default=400, help="rows of the peers")
    parser.add_argument("--base_rows", type=int, default=1_000, help="rows of ours with models of size base")
    parser.add_argument("--base_few", type=int, default=64, help="rows of the peers with models of size base")
    parser.add_argument("--copies", type=int, default=2)
    parser.add_argument("--memory", type=int, default=0, metavar="ROWS", help="also measure memory, e.g. with 100000")
    parser.add_argument("--engines", nargs="*", choices=ENGINES, default=ENGINES)
    parser.add_argument("--judges", nargs="*", default=[], help="folders of sentence encoders that say what is usable")
    parser.add_argument("--textattack_env", type=Path, default=Path("build/textattack"))
    processor.add_options(parser, rounds=3)
    arguments = parser.parse_args()
    processor.apply_option(arguments)
    if any(engine.startswith("nlpaug") for engine in arguments.engines) and find_spec("nlpaug") is None:
        parser.error("wanted the package nlpaug, got none: pip install nlpaug, or leave it out of --engines")
    for judge in arguments.judges:
        if not Path(judge, "modules.json").exists():
            parser.error(f"wanted a folder of a sentence encoder as judge, got {judge}, which has no modules.json")
    report.refuse_unfair(arguments.busy)
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"  # it warns of weights that are not sharded
    texts = list(dict.fromkeys(english for _, english in fields(arguments.data / TATOEBA.format("train"))))
    random.Random(arguments.seed).shuffle(texts)  # the file is sorted by length
    results: dict[str, Any] = {}
    ratios: dict[str, float] = {}
    for size in arguments.sizes:
        results[size], more = measure(arguments, size, texts)
        ratios |= more
    lines = [
        [f"{size} {engine}", *(number(figures[engine].get(key)) for key in KEYS)]
        for size, figures in results.items()
        for engine in arguments.engines
        if engine in figures
    ]
    print(table(["engine", *KEYS], lines))
    report.write(arguments.json, arguments.seed, results, ratios)


if __name__ == "__main__":
    main()
