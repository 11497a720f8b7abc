r"""Build a small parabank from the bitext that ships with the package, show it, and paraphrase five sentences.

    parabank demo [--output_dir build/parabank2]

It is equal to `parabank build parabank2 --config toolkit/demo/parabank2.yaml --bitext ... --output_dir ...` and
then `load_dataset("parabank2")` in the parent folder of the result. The sentences are paraphrased by way of Portuguese,
with the translators of the extra [pt], or else by the starter paraphraser, which was trained on a larger parabank of
the same kind.
"""

from __future__ import annotations

import os
import shutil
import textwrap
import time
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from toolkit.system.command import run_command
from toolkit.system.settings import parse_settings

PROGRAM = "parabank demo"
SHOWN = ("demo-3", "demo-64", "demo-116", "demo-208", "demo-251")  # ours: the ids of five arbitrary references
SENTENCES = (  # ours: neither in the demo's bitext nor in the starter's training text
    "The elevator is broken again, so we have to take the stairs.",
    "He didn't come to the party because he was ill.",
    "Can you tell me how to get to the train station?",
    "My sister bought a new car two weeks ago.",
    "I have never seen such a beautiful garden before.",
)
PARAPHRASES = 3  # ours: shown of each of them at most


@dataclass(frozen=True)
class _DemoSettings:
    """The settings of the demo.

    Attributes:
        output_dir: Folder of the parabank.
    """

    output_dir: str = "build/parabank2"


def main(arguments: list[str]) -> int:
    """Build a parabank, load it and print it, and paraphrase; print an error as one line."""
    settings = parse_settings(_DemoSettings, arguments, __doc__ or "", PROGRAM)
    return run_command(PROGRAM, lambda: demo(Path(settings.output_dir)), resumes=True, processes=1)


def demo(output: Path) -> None:
    """Build the demo's parabank and show it; then paraphrase a few sentences."""
    from builders.parabank2 import ParaBank2Run, build
    from toolkit.package.report import write_report
    from toolkit.paraphraser.names import installed_critic
    from toolkit.paraphraser.paraphraser import MIN_USABLE

    folder = files("toolkit").joinpath("demo")
    flags: dict[str, object] = {
        "config": folder / "parabank2.yaml",
        "bitext": folder / "bitext.de-en.tsv",
        "output_dir": output,
    }
    if installed_critic():
        flags["min_usable"] = MIN_USABLE  # with a language model the judge is surer than without one
    run = parse_settings(
        ParaBank2Run, [part for name, value in flags.items() for part in (f"--{name}", str(value))], ""
    )
    print("Sampling 150 translations of each sentence, scoring them both ways, clustering ...", flush=True)
    began = time.perf_counter()
    if not (figures := build(run)):
        return  # in a launch of several processes the main one shows it
    write_report(output, page := output.resolve().with_name(f"{output.resolve().name}.html"))
    show(output.resolve(), page, figures, time.perf_counter() - began)
    paraphrase()


def show(folder: Path, page: Path, figures: dict, seconds: float) -> None:
    """Load the parabank as a user would, from its parent folder, and print its content and where its report is."""
    from datasets import disable_progress_bars, load_dataset

    disable_progress_bars()
    os.chdir(folder.parent)
    pairs = load_dataset(folder.name)
    references = load_dataset(folder.name, "references")
    total = figures["total"]
    print(f"\n{folder}   built in {seconds:.0f} s; its card is README.md")
    print(f"\n  >>> load_dataset({folder.name!r})        # in {folder.parent}")
    for split, rows in pairs.items():
        print(f"  {split:12s}{rows.num_rows:6,} pairs of {references[split].num_rows:4,} references")
    print(f"  {total['kept']} of {total['references']} references kept at least one paraphrase\n")
    _print_table(figures["diversity"], max(map(int, figures["paraphrases_per_reference"])))
    print()
    rows = {row["id"]: row for split in references.values() for row in split}
    for row in [rows[i] for i in SHOWN if i in rows]:
        _print_row(row["reference"], [paraphrase["text"] for paraphrase in row["paraphrases"]])
    print("  Some of these are wrong: the starters are small. The toolkit's README says how to use larger translators.")
    print(f"\n  All of them, with the candidates that lost and why: open {page} in a browser.")


def _print_table(diversity: dict, ranks: int) -> None:
    """Print the measures by rank and between ranks, beside the paper's figures, of ranks that some reference has."""
    from toolkit.evaluate.corpus import PAPER_BETWEEN_RANKS, PAPER_BY_RANK

    print("  paraphrases against    (1-BLEU) x 100      intersection/union x 100    length ratio")
    print("                         ours   paper's*     ours   paper's*             ours   paper's*")
    for line in diversity["by_rank"][:ranks]:
        paper = PAPER_BY_RANK[line["rank"]]
        print(
            f"  rank {line['rank']} / reference {line['one_minus_bleu']:9.1f} {paper[0]:8.1f}"
            f" {line['intersection_over_union']:10.1f} {paper[1]:8.1f} {line['length_ratio']:16.2f} {paper[2]:8.2f}"
        )
    for line in (line for line in diversity["between_ranks"] if max(line["ranks"]) <= ranks):
        bleu, shared = PAPER_BETWEEN_RANKS[tuple(line["ranks"])]
        name = "rank {} / rank {}".format(*line["ranks"])
        print(
            f"  {name} {line['one_minus_bleu']:12.1f} {bleu:8.1f}"
            f" {line['intersection_over_union']:10.1f} {shared:8.1f} {line['length_ratio']:16.2f}"
        )
    print("  Where a reference has fewer paraphrases, its last one counts.")
    print("  * ParaBank 2, tables 1 and 2: CzEng, Czech-English, translators forty times the size of these starters")


def paraphrase() -> None:
    """Paraphrase SENTENCES by the best paraphraser that is installed and print the result."""
    import toolkit

    began = time.perf_counter()
    paraphraser = toolkit.Paraphraser()
    results = paraphraser.paraphrase(SENTENCES, n=PARAPHRASES)
    seconds = time.perf_counter() - began
    print(f"\n  >>> toolkit.Paraphraser().paraphrase(sentences, n={PARAPHRASES})        # {seconds:.1f} s")
    print(f"      by {paraphraser.name}\n")
    for sentence, paraphrases in zip(SENTENCES, results, strict=True):
        _print_row(sentence, paraphrases)


def _print_row(text: str, paraphrases: list[str]) -> None:
    """Print a text on the left and its paraphrases on the right."""
    width = min(shutil.get_terminal_size((110, 20)).columns, 110)
    half = width // 2 - 4
    left = textwrap.wrap(text, half)
    right: list[str] = []
    for number, paraphrase in enumerate(paraphrases, 1):
        right += textwrap.wrap(paraphrase, half, initial_indent=f"{number}  ", subsequent_indent="   ")
    right = right or ["none that is sure enough"]
    for i in range(max(len(left), len(right))):
        print(f"  {left[i] if i < len(left) else '':{half}s} | {right[i] if i < len(right) else ''}")
    print()
