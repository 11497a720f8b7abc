"""150 samples of a sentence with T5, mT5, mBART-50, NLLB-200 and Pegasus: our decoder and `transformers.generate`.

    python -m research.benchmarks.bench_families --data DIR --json research/benchmarks/results/families.json

DIR holds bitext/tatoeba/deu-eng.test.tsv.gz (German TAB English). Each model has the size of a published checkpoint and
random weights (`family_models.py`); a step has the mean entropy that the starter has on the same sentences, and every
sample has --tokens tokens. The ids of a sentence are those of the starter's pieces plus FIRST, which keeps them off the
special tokens, and the family's EOS. Both engines compute in bfloat16, or in float32 with --without_bfloat16; each runs
in a process of its own. Ratios are the tokens/s of ours, without constraints, over those of `generate`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from research.benchmarks import processor
from research.benchmarks.bench_decoding import MEMORY, job_of, measure, sentences
from research.reports import report
from research.reports.child import in_child
from research.reports.figures import number, table

FAMILIES = {  # name in the results -> the checkpoint whose sizes it has
    "t5": "google-t5/t5-base",
    "flan_t5": "google/flan-t5-base",
    "mt5": "google/mt5-small",
    "mbart50": "facebook/mbart-large-50-many-to-many-mmt",
    "nllb": "facebook/nllb-200-distilled-600M",
    "pegasus": "google/pegasus-large",
}
FIRST = 10  # ours: id of the starter's piece 0, beyond EOS, padding and the start token of every family
TOKENS = 14  # ours: the mean length in German-English Tatoeba, EOS counted


def prepare(
    folder: Path, pairs: list[tuple[str, str]], checkpoint: str, seed: int, threads: int
) -> tuple[list[list[int]], list[list], dict[str, Any]]:
    """Write the model with a checkpoint's sizes; runs in a child process.

    Returns:
        The ids of each source; for each the words with ids that may be forbidden; and about the model: its checkpoint
        and size, the mean entropy of a step, and that of the starter, which was asked for.
    """
    import torch
    from transformers.utils import logging

    from research.benchmarks.family_models import SIZES, family_model
    from research.benchmarks.opus_size import mean_entropy
    from toolkit.generate.sample import negative_words
    from toolkit.translator.load import load_translator

    torch.set_num_threads(threads)
    logging.disable_progress_bar()
    starter = load_translator("starter/de-en", "float32")
    kind, sizes = SIZES[checkpoint]
    ids = starter.source.encode([source for source, _ in pairs])
    entropy = mean_entropy(starter.model, ids)
    sources = [[FIRST + i for i in source[:-1]] + [sizes["eos_token_id"]] for source in ids]
    words = [
        [(word, [[FIRST + i for i in span] for span in spans]) for word, spans in entries]
        for entries in (negative_words(reference, starter.target) for _, reference in pairs)
    ]
    model = family_model(kind, sizes, sources, seed, entropy)
    model.save_pretrained(folder / "hf")
    layers = sizes["num_layers"] if "num_layers" in sizes else sizes["decoder_layers"]
    about = {
        "sizes_of": checkpoint,
        "size": f"{layers}+{layers} x {sizes['d_model']}, {sizes['vocab_size']:,} pieces",
        "entropy": round(mean_entropy(model, sources), 3),
        "starters_entropy": round(entropy, 3),
    }
    return sources, words, about


def run(family: str, arguments: argparse.Namespace, pairs: list[tuple[str, str]], folder: Path) -> dict[str, dict]:
    """Run both engines on the model of one family."""
    (sources, words, about), _ = in_child(prepare, folder, pairs, FAMILIES[family], arguments.seed, arguments.threads)
    job = job_of(arguments, folder, sources, words, arguments.tokens, len(sources))
    results: dict[str, dict] = {"model": about}
    for engine in engines(arguments.without_bfloat16):
        results |= measure(engine, job)
        print(f"{family} {engine}: {results[engine]['tokens_per_second']:.0f} tokens/s", file=sys.stderr)
    return results


def engines(without_bfloat16: bool) -> tuple[str, str]:
    """Ours and `generate`, in the same arithmetic."""
    return ("ours_float32", "generate_fp32") if without_bfloat16 else ("ours", "generate_bf16")


def markdown(results: dict[str, dict[str, dict]], names: tuple[str, str]) -> str:
    """The figures of all families as Markdown."""
    lines = []
    for figures in results.values():
        ours, peer = (figures[name] for name in names)
        rates = [number(engine["tokens_per_second"], 0) for engine in (ours, peer)]
        memory = [number(engine[MEMORY], 0) for engine in (ours, peer)]
        shared = [number(ours["tokens_per_row"], 2), number(figures["model"]["entropy"], 2)]
        ratio = number(ours["tokens_per_second"] / peer["tokens_per_second"], 2)
        lines.append([figures["model"]["sizes_of"], *rates, ratio, *shared, " / ".join(memory)])
    head = ["tokens/s", *names, "ratio", "tokens for one row", "entropy", "peak MB of each"]
    return table(head, lines)


def main() -> None:
    """Measure, print the table and the ratios, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--sentences", type=int, default=4)
    parser.add_argument("--samples", type=int, default=150, help="samples of every sentence; a multiple of 5")
    parser.add_argument("--tokens", type=int, default=TOKENS, help="tokens of every sample")
    processor.add_options(parser, rounds=1)
    arguments = parser.parse_args()
    processor.apply_option(arguments)
    report.refuse_unfair(arguments.busy)
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"  # it warns of output layers that are not tied
    pairs = sentences(arguments.data, arguments.sentences, arguments.seed)
    results: dict[str, dict[str, dict]] = {}
    for family in arguments.families:
        with tempfile.TemporaryDirectory() as folder:
            results[family] = run(family, arguments, pairs, Path(folder))
    names = engines(arguments.without_bfloat16)
    print(markdown(results, names))
    rates = {family: [figures[name]["tokens_per_second"] for name in names] for family, figures in results.items()}
    ratios = {f"{names[1]}_{family}": round(ours / peer, 3) for family, (ours, peer) in rates.items()}
    report.write(arguments.json, arguments.seed, results, ratios)


if __name__ == "__main__":
    main()
