r"""Beam search with lexical constraints: ours against transformers 4.55's `force_words_ids`, and plain beam search.

    python -m research.benchmarks.bench_constraints --data DIR \
        --json research/benchmarks/results/constraints_opus20k.json

DIR holds bitext/tatoeba/deu-eng.test.tsv.gz and deu-eng.train.tsv.gz (German TAB English). The model is Marian 6+6
layers x 512 with random weights (`opus_size.py`), calibrated such that the best hypotheses have a given mean length.
Its pieces are trained on that text, so that constraints can be checked in decoded text. Every sentence has one required
word of one to three pieces, drawn from the references (`positive`); or two or three forbidden words of its best
hypothesis in plain beam search (`negative`); or both. In `mixed` every second sentence has both and the others none.
transformers 4.55 runs in an environment of its own, --peer_env, which is created on the first run; `force_words_ids`
applies to a whole batch, so it decodes one sentence at a time, in the faster dtype. --without_bfloat16 limits all
engines to the instructions of a processor without it (`processor.py`).

Every engine decodes the same sentences in a process of its own, one engine after the other in every round; the slow
peer decodes only --peer_sentences of them, evenly spaced. Ratios are medians over the rounds of our sentences/s over
theirs; `..._by_tokens` compares tokens/s of the best hypotheses. `score` is the mean log-probability of a token of the
best hypotheses, by the model in float32: CTranslate2 searches less by default, and does as the others with patience 2.
`beam_cost_*` is our time with constraints over the time of plain beam search, and `beam_cost_free_rows` that of the
sentences without constraints in mixed batches. The machine must be idle: when other work runs, the two threads wait for
each other, and only --threads 1 and `cpu_seconds` give useful results.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from research.benchmarks import processor
from research.benchmarks.bench_decoding import CAP, MEAN_TOKENS, sentences
from research.benchmarks.data import TATOEBA, fields
from research.benchmarks.engines import BEAM_ENGINES, BeamJob
from research.reports import report
from research.reports.child import in_child, interpreter, peer_answer
from research.reports.figures import number, ranges, table

if TYPE_CHECKING:
    from transformers import MarianMTModel

    from toolkit.bitext.subwords import Pieces
    from toolkit.decode.constraint_set import ConstraintSet

BEAM = 12  # ours: the beam size of the ParaBank builder
BATCH = 100  # ours: batch size of our decoder in sentences; 1200 hypotheses as in the ParaBank builder
# Batch sizes of the other engines in sentences; of several the fastest counts.
BATCHES = {"generate": (16,), "ctranslate2": (1, 4, 16, 64)}
SIZES = {"opus20k": ("", 20_000), "opus58k": ("_58k", 58_000)}
PIECES = (1, 2, 3)  # ours: numbers of pieces of a required word
NEGATIVE = (2, 3)  # ours: numbers of forbidden words of a sentence
STEEPER = 3.5  # ours: factor on the slope of the EOS logit, so that the hypotheses of all engines have similar lengths
BISECTIONS, BISECTED = 8, 8  # ours: bisection steps, and the number of sentences whose mean length they measure
PEER = "transformers_force_words"
PEER_PACKAGES = ("transformers==4.55.*", "torch==2.13.0", "sentencepiece", "safetensors", "numpy<3")
PLAIN_CHECKED = 4  # ours: sentences on which the plain beam searches of the peer and ours are compared
OWN = ("ours_bfloat16", "ours_float32", "ours_int8")
OF_BFLOAT16 = ["ours_bfloat16", "generate_bfloat16"]
SCORED_TOKENS = 1000  # ours: of a batch that `score` reads
WARM = 3  # ours: warm-up sentences of the peer


def prepare(
    folder: Path, data: Path, pairs: list[tuple[str, str]], vocabulary: int, seed: int, threads: int
) -> tuple[list[list[int]], dict[str, list[ConstraintSet]], list[list[int]]]:
    """Write the model in both formats; runs in a child process.

    Returns:
        The ids of each source; by name of the kind, a constraint set for each sentence; the ids of each required word.
    """
    import torch
    from transformers import MarianTokenizer
    from transformers.utils import logging

    from research.benchmarks import opus_size
    from toolkit.bitext.subwords import marian_tokenizer, pieces_of, train_pieces

    torch.set_num_threads(threads)
    logging.disable_progress_bar()
    text = (text for line in fields(data / TATOEBA.format("train")) for text in line)
    train_pieces(text, folder / "spm", vocabulary)
    marian_tokenizer(folder / "spm", folder / "spm", folder / "hf")
    pad_last(folder / "hf" / "vocab.json")
    pieces = pieces_of(MarianTokenizer.from_pretrained(folder / "hf"))[1]
    sources = sorted(pieces.encode([source for source, _ in pairs]), key=len)
    examples = sources[:: max(1, len(sources) // BISECTED)]
    model = opus_size.random_model(len(pieces), examples, seed, MEAN_TOKENS, CAP, None)
    with torch.no_grad():
        model.model.shared.weight[model.config.eos_token_id] *= STEEPER
    plain = bisect_bias(model, sources)
    model.save_pretrained(folder / "hf")
    opus_size.convert(model, folder / "ct2")
    sets = constraint_sets(random.Random(seed), pieces, [reference for _, reference in pairs], pieces.decode(plain))
    return sources, sets, [pieces.spell(constraints.positive[0]) or [] for constraints in sets["positive"]]


def pad_last(vocabulary: Path) -> None:
    """Exchange the ids of <pad> and of the last piece in a vocab.json, because OPUS-MT has <pad> last."""
    ids = json.loads(vocabulary.read_text(encoding="utf-8"))
    last = next(piece for piece, i in ids.items() if i == len(ids) - 1)
    ids["<pad>"], ids[last] = ids[last], ids["<pad>"]
    vocabulary.write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")


def bisect_bias(model: MarianMTModel, sources: list[list[int]]) -> list[list[int]]:
    """Set the bias of EOS such that hypotheses have MEAN_TOKENS on average; return the best one of each sentence."""
    from toolkit.decode.beam import beam_search
    from toolkit.decode.shared import SharedEngine

    def best(batch: list[list[int]]) -> list[list[int]]:
        return [hypotheses[0].ids for hypotheses in beam_search(SharedEngine(model), batch, BEAM, CAP)]

    low, high = -20.0, 30.0
    for _ in range(BISECTIONS):
        model.final_logits_bias[0, model.config.eos_token_id] = (low + high) / 2
        if statistics.mean(map(len, best(sources[:: max(1, len(sources) // BISECTED)]))) > MEAN_TOKENS:
            low = (low + high) / 2
        else:
            high = (low + high) / 2
    return best(sources)


def constraint_sets(
    chance: random.Random, pieces: Pieces, references: Sequence[str], plain: Sequence[str]
) -> dict[str, list[ConstraintSet]]:
    """For each kind of constraints a constraint set for each sentence; required words are drawn from all references."""
    from toolkit.bitext.words import constraint_words
    from toolkit.decode.constraint_set import ConstraintSet, times_said

    words = sorted({word for text in references for word in text.split() if word.isalpha() and word.islower()})
    by_pieces = {n: [word for word in words if len(pieces.spell(word) or []) == n] for n in PIECES}
    positive, negative = [], []
    for text in plain:
        positive.append((chance.choice(by_pieces[chance.choice([n for n in PIECES if by_pieces[n]])]),))
        words_of_text = [
            word
            for word in dict.fromkeys(constraint_words(text))
            if word.isalpha() and not times_said(positive[-1][0], word)
        ]
        negative.append(tuple(chance.sample(words_of_text, min(chance.choice(NEGATIVE), len(words_of_text)))))
    joint = [ConstraintSet(p, n) for p, n in zip(positive, negative, strict=True)]
    return {
        "positive": [ConstraintSet(p) for p in positive],
        "negative": [ConstraintSet(negative=n) for n in negative],
        "both": joint,
        "mixed": [constraints if i % 2 else ConstraintSet() for i, constraints in enumerate(joint)],
    }


def force_words(python: Path, job: BeamJob, words: list[list[int]], dtype: str | None) -> dict:
    """Run `force_words_peer.py` on a job; without a dtype it chooses the faster one, and also decodes without words."""
    request = {"folder": str(job.folder / "hf"), "sources": job.sources, "words": words, "beam": job.beam}
    request |= {"max_tokens": job.max_tokens, "threads": job.threads, "warm": min(WARM, len(words)), "dtype": dtype}
    request["plain"] = 0 if dtype else min(PLAIN_CHECKED, len(words))
    script = Path(__file__).with_name("force_words_peer.py")
    return peer_answer(python, script, request)


def part(job: BeamJob, numbers: range) -> BeamJob:
    """A job with only some of the sentences."""
    sets = {name: [sets[i] for i in numbers] for name, sets in job.sets.items()}
    return replace(job, sources=[job.sources[i] for i in numbers], sets=sets)


def measure(engine: str, job: BeamJob, known: dict[str, int]) -> dict[str, dict]:
    """Run one round of an engine in a new process; `known` keeps the batch size with which each engine is fastest."""
    work, kind = BEAM_ENGINES[engine]
    sizes = (known[engine],) if engine in known else BATCHES.get(engine.split("_")[0], (job.batch,))
    results = {size: in_child(work, replace(job, batch=size), kind) for size in sizes}
    known[engine] = min(sizes, key=lambda size: results[size][0][engine]["seconds"])
    figures_by_name, peak = results[known[engine]]
    return {name: f | {"batch_sentences": known[engine], "peak_megabytes": peak} for name, f in figures_by_name.items()}


def rounds(arguments: argparse.Namespace, job: BeamJob, words: list[list[int]]) -> dict[str, list[dict]]:
    """Run all rounds, every engine once in each; return seconds and ids of each round by name of the engine."""
    numbers = range(0, len(job.sources), max(1, len(job.sources) // arguments.peer_sentences))
    python = None if arguments.no_peer else interpreter(arguments.peer_env, PEER_PACKAGES)
    results: dict[str, list[dict]] = {}
    known: dict[str, int] = {}
    dtype = None
    for turn in range(arguments.rounds):
        round_results: dict[str, dict] = {}
        for engine in arguments.engines:
            round_results |= measure(engine, job, known)
            print(f"round {turn} {engine}: {round_results[engine]['seconds']:.2f} s", file=sys.stderr)
        if python:
            round_results[PEER] = force_words(python, part(job, numbers), [words[i] for i in numbers], dtype)
            dtype = round_results[PEER]["dtype"]
            print(f"round {turn} {PEER} in {dtype}: {round_results[PEER]['seconds']:.2f} s", file=sys.stderr)
        for name, figures in round_results.items():
            results.setdefault(name, []).append(figures)
    return results


def summary(results: dict[str, list[dict]], job: BeamJob, pieces: Pieces, stride: int) -> dict[str, dict]:
    """The figures of each engine over all rounds, and the share of texts that meet their constraints."""
    figures = {}
    for name, each in results.items():
        ids, kind = each[-1]["ids"], "positive" if name == PEER else name.split("_")[-1]
        speeds = sorted(len(ids) / entry["seconds"] for entry in each)
        base = {k: v for k, v in each[0].items() if k not in ("seconds", "cpu_seconds", "ids", "plain")}
        figures[name] = base | {
            "sentences_per_second": round(statistics.median(speeds), 3),
            "spread": [round(speeds[0], 3), round(speeds[-1], 3)],
            "mean_tokens": round(statistics.mean(map(len, ids)), 3),
            "longest": max(map(len, ids)),
            "sentences": len(ids),
            "seconds": [round(entry["seconds"], 3) for entry in each],
            "cpu_seconds": [round(entry["cpu_seconds"], 3) for entry in each],
        }
        if kind in job.sets:
            sets = job.sets[kind][:: stride if name == PEER else 1]
            met = [not constraints.unmet(text) for constraints, text in zip(sets, pieces.decode(ids), strict=True)]
            figures[name]["constraints_met"] = statistics.mean(met)
    return figures


def score_per_token(folder: Path, sources: list[list[int]], hypotheses: dict[str, list[list[int]]]) -> dict[str, float]:
    """The mean log-probability of a token of each engine's best hypotheses, in nats; runs in a child process."""
    from toolkit.decode.likelihood import log_likelihood
    from toolkit.decode.shared import SharedEngine
    from toolkit.translator.load import load_translator

    engine = SharedEngine(load_translator(str(folder / "hf"), "float32").model)
    result = {}
    for name, ids in hypotheses.items():
        scores = log_likelihood(engine, sources, ids, SCORED_TOKENS)
        result[name] = round(statistics.mean(s / len(hypothesis) for s, hypothesis in zip(scores, ids, strict=True)), 4)
    return result


def tokens(hypotheses: list[list[int]]) -> int:
    """Tokens of all hypotheses, EOS counted."""
    return sum(map(len, hypotheses))


def ratios(results: dict[str, list[dict]], suffix: str) -> dict[str, float]:
    """Our speed over that of every peer, and the cost of constraints, as medians over the rounds of the engines run."""

    def over(numerator: str, denominator: str, unit: Callable[[list[list[int]]], int] = len) -> float:
        """The speed of one engine over that of another in sentences/s, or in `unit`s/s: the median of the rounds."""
        by_round = zip(results[numerator], results[denominator], strict=True)
        shares = [(unit(a["ids"]) / a["seconds"]) / (unit(b["ids"]) / b["seconds"]) for a, b in by_round]
        return round(statistics.median(shares), 3)

    result: dict[str, float] = {}
    for ours in (name for name in OWN if name in results):
        prefix = "" if ours == OWN[0] else f"{ours}_"
        if PEER in results:
            result[f"{prefix}{PEER}{suffix}"] = over(f"{ours}_positive", PEER)
            result[f"{prefix}{PEER}_by_tokens{suffix}"] = over(f"{ours}_positive", PEER, tokens)
        for name in (n for n in results if n.startswith(("generate", "ctranslate2"))):
            kind, _, dtype = name.partition("_")
            result[f"{prefix}{kind}_beam_{dtype}{suffix}"] = over(ours, name)
            result[f"{prefix}{kind}_beam_{dtype}_by_tokens{suffix}"] = over(ours, name, tokens)
        for kind in ("positive", "negative", "both", "mixed"):
            result[f"{prefix}beam_cost_{kind}{suffix}"] = over(ours, f"{ours}_{kind}")
        mixed_cost, both_cost = (result[f"{prefix}beam_cost_{kind}{suffix}"] for kind in ("mixed", "both"))
        result[f"{prefix}beam_cost_free_rows{suffix}"] = round(2 * mixed_cost - both_cost, 3)
    return result


def markdown(size: str, figures: dict[str, dict]) -> str:
    """The figures of a size as Markdown."""
    lines = []
    for name, f in figures.items():
        rates = [number(f["sentences_per_second"], 2), ranges(f["spread"], 2)]
        met = f"{f['constraints_met']:.1%}" if "constraints_met" in f else ""
        rest = [met, str(f.get("batch_sentences", 1)), number(f.get("score"), 3)]
        lines.append([name, *rates, number(f["mean_tokens"], 2), *rest])
    return table([size, "sentences/s", "spread", "mean tokens", "met", "batch", "score"], lines)


def run(size: str, arguments: argparse.Namespace, folder: Path) -> tuple[dict[str, dict], dict[str, float]]:
    """Run all engines on the model of one size; return figures and ratios."""
    from transformers import MarianTokenizer

    from toolkit.bitext.subwords import pieces_of

    suffix, vocabulary = SIZES[size]
    pairs = sentences(arguments.data, arguments.sentences, arguments.seed)
    (sources, sets, words), _ = in_child(
        prepare, folder, arguments.data, pairs, vocabulary, arguments.seed, arguments.threads
    )
    job = BeamJob(folder, sources, sets, BEAM, CAP, arguments.batch, arguments.threads)
    results = rounds(arguments, job, words)
    pieces = pieces_of(MarianTokenizer.from_pretrained(folder / "hf"))[1]
    stride = max(1, len(sources) // arguments.peer_sentences)
    figures = summary(results, job, pieces, stride)
    if PEER in results and "ours_float32" in results:
        ids, peer_ids = results["ours_float32"][0]["ids"][::stride], results[PEER][0]["plain"]
        figures[PEER]["plain_as_ours"] = statistics.mean(a == b for a, b in zip(ids, peer_ids, strict=False))
    plain = {name: each[0]["ids"] for name, each in results.items() if "constraints_met" not in figures[name]}
    for name, score in in_child(score_per_token, folder, sources, plain)[0].items():
        figures[name]["score"] = score
    print(markdown(size, figures))
    return figures, ratios(results, suffix)


def main() -> None:
    """Measure, print the tables and the ratios, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=96)
    parser.add_argument("--peer_sentences", type=int, default=24, help=f"sentences for {PEER}, evenly spaced")
    parser.add_argument(
        "--peer_env", type=Path, default=Path("build/transformers-4.55"), help="folder of its environment"
    )
    parser.add_argument("--no_peer", action="store_true", help=f"without {PEER}")
    parser.add_argument("--engines", nargs="+", choices=list(BEAM_ENGINES), help="default: all")
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=["opus20k"])
    parser.add_argument("--batch", type=int, default=BATCH, help="batch size of our decoder in sentences")
    processor.add_options(parser, rounds=3)
    arguments = parser.parse_args()
    arguments.engines = processor.chosen_engines(arguments, list(BEAM_ENGINES), OF_BFLOAT16)
    processor.apply_option(arguments)
    report.refuse_unfair(arguments.busy)
    results: dict[str, dict[str, dict]] = {}
    all_ratios: dict[str, float] = {}
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as folder:
            results[size], size_ratios = run(size, arguments, Path(folder))
        all_ratios |= size_ratios
    report.write(arguments.json, arguments.seed, results, all_ratios)


if __name__ == "__main__":
    main()
