"""Hard negatives of a parabank: time and memory against sentence-transformers' `mine_hard_negatives`.

    python -m research.benchmarks.bench_negatives --data DATA --json research/benchmarks/results/negatives.json

The pairs are English sentences of Tatoeba that translate one German sentence. Both get the same pairs and the same
encoder, compute with the same number of threads, search exactly, and write one negative of each pair whose cosine is
at most 95 % of that of the positive, from the 50 nearest sentences. Ours also knows which sentences are linked by
common references (`sets`), passes over those that share too many words or differ in contractions alone, and keeps the
vectors on the disk; `mine_hard_negatives` knows the pairs of an anchor. `linked` is the share of an engine's negatives
that are of their anchor's set, which is no negative. Ratios: seconds of the peer over ours, and memory likewise.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from research.benchmarks.data import TATOEBA, fields
from research.reports import report
from research.reports.child import in_child

NEIGHBOURS, MARGIN, BATCH = 50, 0.05, 256


def write_pairs(data: Path, path: Path, limit: int) -> int:
    """Write pairs of English sentences with one German sentence as TSV, and return how many there are."""
    translations: dict[str, list[str]] = {}
    for german, english in fields(data / TATOEBA.format("train")):
        translations.setdefault(german, []).append(english)
    lines = [
        f"{first}\t{second}\n"
        for sentences in translations.values()
        for place, first in enumerate(sentences)
        for second in sentences[place + 1 :]
    ][:limit]
    path.write_text("".join(lines), encoding="utf-8")
    return len(lines)


def ours(pairs: str, encoder: str, threads: int, output: str) -> float:
    """Mine with the toolkit; runs in a child process. Returns the seconds without those of imports and loading."""
    from toolkit.encoder.load import load_encoder
    from toolkit.train.hard_negatives import mine_negatives
    from toolkit.train.hard_negatives_settings import NegativesSettings

    import torch  # isort: skip  (the toolkit sets OpenMP's variables first, as for its users)

    torch.set_num_threads(threads)
    loaded = load_encoder(encoder, "cpu")
    settings = NegativesSettings(
        parabank=pairs, encoder=encoder, output=output, neighbours=NEIGHBOURS, relative_margin=MARGIN, batch_size=BATCH
    )
    began = time.perf_counter()
    mine_negatives(settings, loaded, Path(output))
    return time.perf_counter() - began


def peer(pairs: str, encoder: str, threads: int, output: str) -> float:
    """Mine with sentence-transformers; runs in a child process."""
    import torch
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import mine_hard_negatives

    torch.set_num_threads(threads)
    loaded = SentenceTransformer(encoder, device="cpu", trust_remote_code=True)
    columns = [line.split("\t") for line in Path(pairs).read_text(encoding="utf-8").splitlines()]
    began = time.perf_counter()
    data = Dataset.from_dict(dict(zip(("anchor", "positive"), zip(*columns, strict=True), strict=True)))
    mined = mine_hard_negatives(
        data, loaded, num_negatives=1, relative_margin=MARGIN, range_max=NEIGHBOURS, batch_size=BATCH, verbose=False
    )
    mined.to_json(output)
    return time.perf_counter() - began


def linked_share(pairs: str, output: str) -> dict[str, float]:
    """How many triplets were written, and which share of the negatives is linked to its anchor by common references."""
    neighbours: dict[str, set[str]] = {}
    for line in Path(pairs).read_text(encoding="utf-8").splitlines():
        first, second = line.split("\t")
        neighbours.setdefault(first, set()).add(second)
        neighbours.setdefault(second, set()).add(first)
    part: dict[str, int] = {}
    for number, start in enumerate(neighbours):
        open_texts = [] if start in part else [start]
        while open_texts:
            text = open_texts.pop()
            part[text] = number
            open_texts += [neighbour for neighbour in neighbours[text] if neighbour not in part]
    triplets = [json.loads(line) for line in Path(output).read_text(encoding="utf-8").splitlines()]
    linked = sum(part[triplet["anchor"]] == part.get(triplet["negative"]) for triplet in triplets)
    return {"triplets": len(triplets), "linked": round(linked / len(triplets), 4)}


def main() -> None:
    """Measure in turns, print the figures and the ratios, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with bitext/tatoeba")
    parser.add_argument("--encoder", required=True, help="folder of a sentence encoder that both engines load")
    parser.add_argument("--pairs", type=int, default=100_000, help="at most so many")
    parser.add_argument("--json", help="file for the report")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds")
    parser.add_argument("--busy", action="store_true", help="measure even if the machine is busy with other work")
    options = parser.parse_args()
    report.refuse_unfair(options.busy)
    results: dict = {"encoder": Path(options.encoder).name, "threads": options.threads}
    engines = {"ours": ours, "mine_hard_negatives": peer}
    with tempfile.TemporaryDirectory() as folder:
        pairs = Path(folder, "pairs.tsv")
        results["pairs"] = write_pairs(options.data, pairs, options.pairs)
        for number in range(options.rounds):
            for name, engine in engines.items():
                output = str(Path(folder, f"{name}-{number}.jsonl"))
                seconds, peak = in_child(engine, str(pairs), options.encoder, options.threads, output)
                of_engine = results.setdefault(name, {"seconds": [], "peak_megabytes": []})
                of_engine["seconds"].append(round(seconds, 2))
                of_engine["peak_megabytes"].append(peak)
                of_engine |= linked_share(str(pairs), output)
                print(f"{name}: {seconds:.1f} s, {peak:.0f} MB, {of_engine['linked']:.1%} linked", file=sys.stderr)
    best = {name: {field: min(results[name][field]) for field in ("seconds", "peak_megabytes")} for name in engines}
    ratios = {
        field: round(best["mine_hard_negatives"][field] / best["ours"][field], 3)
        for field in ("seconds", "peak_megabytes")
    }
    report.write(options.json, 0, results, ratios)


if __name__ == "__main__":
    main()
