"""Figures of speed and memory but for decoding: each function makes a table or a figure."""

from __future__ import annotations

from statistics import mean, median

from research.reports.figures import benchmark, by_processor, machine, measured, number, table
from research.reports.figures_decoding import DTYPES


def encoder_training() -> str:
    """Pairs per second; the lines of other kinds of processors are last."""
    reports = by_processor("encoder")
    lines = [line for ending, record in reports for line in training_lines(record, ending)]
    paper = "minutes for the paper's 5M pairs x 5 epochs, extrapolated"
    ours, peers = ("ours, M = 40", "ours, M = 1"), ("sentence-transformers, batch 100", "batch 4,000")
    head = ["pairs per second", *ours, *peers, "speed-up at M = 40, over batch 100 / 4,000", paper]
    return table(head, lines, measured(reports))


def training_lines(record: dict, ending: str) -> list[list[str]]:
    """The lines of one report, which their names end in."""
    engines, lines = ("ours_m40", "ours_m1", "peer_100", "peer_4000"), []
    for key, name, prefix in (("word", "WORD", ""), ("trigram", "WORD + TRIGRAM", "trigram_")):
        results = record["results"][key]
        ratios = [record["ratios"][f"train_{prefix}sentence_transformers{batch}"] for batch in ("", "_4000")]
        minutes = number(results["ours_m40"]["seconds_of_the_paper"] / 60, 0)
        rates = [number(results[engine]["median"], 0) for engine in engines]
        lines.append([name + ending, *rates, " / ".join(map(number, ratios)), minutes])
    return lines


def encoder_bound() -> str:
    """What the search for negatives alone permits on AVX2 alone, with the papers' mega-batch."""
    pairs, dimensions = MEGA_BATCH
    operations = (2 * pairs) ** 2 * dimensions  # two for half of the products of all sentences of both sides
    rate = benchmark("pivot")["results"]["billion_operations_per_second"]
    limit = pairs / (operations / (1e9 * rate))
    times = limit / benchmark("encoder_avx2")["results"]["word"]["peer_4000"]["median"]
    return (
        f"{number(operations / 1e9, 0)} billion operations for {number(pairs, 0)} pairs; at the {number(rate, 0)} "
        f"billion a second of the processor with AVX2 alone {number(limit, 0)} pairs a second are the most for WORD, "
        f"{number(times, 1)} times its peer's batch of {number(pairs, 0)}, if all else took no time"
    )


def encoding() -> str:
    """Sentences per second; the lines of other kinds of processors are last."""
    lines = [line for ending, record in by_processor("encoder") for line in encoding_lines(record, ending)]
    return table(["sentences per second, batches of 32 / 1,024", "ours", "`StaticEmbedding`", "speed-up"], lines)


def encoding_lines(record: dict, ending: str) -> list[list[str]]:
    """The lines of one report, which their names end in."""
    batches, results, lines = ("32", "1024"), record["results"]["encode"], []
    for key, name in (("word", "WORD"), ("word_trigram", "WORD + TRIGRAM")):
        rates = [[results.get(f"{engine}_{key}_{batch}") for batch in batches] for engine in ("ours", "peer")]
        cells = [" / ".join(number(figures["median"], 0) for figures in rate if figures) for rate in rates]
        ratios = [record["ratios"][f"encode_sentence_transformers{end}"] for end in ("", "_1024") if cells[1]]
        lines.append([name + ending, *cells, " / ".join(map(number, ratios))])
    return lines


def adam() -> str:
    """What a step of the loop takes with other optimizers, over ours."""
    ratios = benchmark("encoder")["ratios"]
    names = {
        "adam_dense": "torch's dense Adam",
        "adam_dense_fused": "its fused Adam",
        "adam_sparse": "its `SparseAdam`",
    }
    return ", ".join(f"{number(ratios[key], 2)} times with {name}" for key, name in names.items())


def dtypes() -> str:
    """Speed of each dtype by instruction set, and the quality of each."""
    record = benchmark("dtypes")
    speeds, quality = record["results"]["tokens_per_second"], record["results"]["quality"]
    caps = {"native": "this processor", "vnni": "without bfloat16", "avx2": "AVX2 alone"}
    lines = []
    for dtype, figures in quality.items():
        rates = [number(median(speeds[cap][dtype]), 0) if dtype in speeds[cap] else "-" for cap in caps]
        means = [
            number(mean(figures[name]), places) for name, places in (("kept", 1), ("cosine_1", 3), ("cosine_5", 3))
        ]
        lines.append([DTYPES[dtype], *rates, number(figures["bleu"]), f"{means[0]} %", f"{means[1]} / {means[2]}"])
    speed = [f"tokens per second, {name}" for name in caps.values()]
    return table(["dtype", *speed, "BLEU", "references kept", "cosine, rank 1 / 5"], lines, machine(record))


def waiting() -> str:
    """What the toolkit's wait policy costs on an idle machine and gains on a busy one."""
    reports = by_processor("load")
    names = {
        "product": "matrix products, steps",
        "float32": "decoder fp32, tokens",
        "int8": "decoder int8, tokens",
    }
    lines = []
    for ending, record in reports:
        results, ratios = record["results"], record["ratios"]
        for kind in (kind for kind in names if kind in results["idle"]):
            rates = [
                " / ".join(number(median(results[when][kind][policy]), 0) for policy in ("default", "toolkit"))
                for when in ("idle", "busy")
            ]
            lines.append([names[kind] + ending, *rates, number(ratios[f"busy_share_{kind}"], 2)])
    processes = reports[0][1]["results"]["others"]
    head = ["per second, OpenMP's default / ours", "idle machine", f"with {processes} other busy processes"]
    return table([*head, "ours: slowdown over a fair share of the cores"], lines, measured(reports))


def pipeline() -> str:
    """The stages of ParaBank 2 with the starters; the lines of other kinds of processors are last."""
    reports, lines = by_processor("pipeline"), []
    for ending, record in reports:
        figures = record["results"]["stages"]
        shares = [f"{number(100 * figures['shares'][stage])} %" for stage in ("sampling", "dual scoring", "clustering")]
        cells = [number(figures["sentences_per_second"]), *shares, number(figures["peak_megabytes"], 0)]
        lines.append([ending.removeprefix(", ") or "with bfloat16", *cells])
    head = ["processor", "sentences per second", "time in sampling", "time in dual scoring", "time in clustering"]
    return table([*head, "peak MB"], lines, measured(reports))


def without_models() -> str:
    """Everything of ParaBank 2 but the models: what a candidate costs in each stage, and candidates/s per core."""
    reports = by_processor("host")
    results = [record["results"]["without_models"] for _, record in reports]
    first = results[0]["microseconds_per_candidate"]
    stages = sorted({stage for result in results for stage in result["shares"]}, key=lambda stage: -first.get(stage, 0))
    lines = [
        [stage, *(number(result["microseconds_per_candidate"].get(stage), 2) for result in results)] for stage in stages
    ]  # fmt: skip
    lines.append(
        ["*all*", *(f"*{number(sum(result['microseconds_per_candidate'].values()), 2)}*" for result in results)]
    )
    rates = [
        " / ".join(number(result[f"{name}candidates_per_second"], 0) for name in ("", "distinct_"))
        for result in results
    ]  # fmt: skip
    lines.append(["*candidates/s per core: drawn / distinct*", *(f"*{rate}*" for rate in rates)])
    head = [f"microseconds per candidate{ending}" for ending, _ in reports]
    return table(["stage", *head], lines, measured(reports))


def memory() -> str:
    """Peak memory of everything but the models."""
    results = benchmark("memory")["results"]["memory"]["lines"]
    stages = next(iter(results.values()))
    lines = [[stage, *(number(result[stage]["peak_megabytes"], 0) for result in results.values())] for stage in stages]
    return table(["peak MB by lines", *(number(int(count), 0) for count in results)], lines)


MEGA_BATCH = 4000, 300  # pairs, and dimensions of WORD
FULL_SIZE = 20_000_000  # references of ParaBank 2: its hundred million pairs, five of a reference
KEPT = {"all": "all (the default)", "20": "20", "5": "5", "chosen": "chosen"}
VERSIONS = {
    "appended": "a tenth more rows at the end",
    "corrected": "one paraphrase of a thousand has other words",
    "filtered": "one row of a hundred is gone, at random places",
    "scored": "all pairs have one more score",
}


def kept() -> str:
    """The bytes of a run's shards by what they keep, and those of the published files."""
    results = benchmark("keep")["results"]
    lines = []
    for keep, label in KEPT.items():
        figures = results["kept"][keep]
        size = figures["shards"] + figures["counts"]
        share = 100 * size / results["kept"]["all"]["shards"]
        lines.append(
            [label, number(figures["candidates"]), number(size, 0), number(size * FULL_SIZE / 1e9, 0), number(share, 0)]
        )
    published = results["published"]
    lines.append(["*the published files*", "", number(published, 0), number(published * FULL_SIZE / 1e9, 0), ""])
    head = ["`--keep`", "candidates of a reference", "bytes of a reference", "GB at full size", "% of all"]
    return table(head, lines, f"{results['references']:,} references.")


def versions() -> str:
    """The megabytes that a second version sends, by what has changed in it."""
    record = benchmark("versions")
    lines = []
    for change, label in VERSIONS.items():
        figures = record["results"][change]
        sizes = (
            figures["bytes"],
            figures["git_lfs"],
            *(figures[writer]["second"] for writer in ("ours", "plain", "small")),
        )
        lines.append([label, *(number(size / 1e6) for size in sizes)])
    head = ["second version", "its files", "git-lfs", "Xet", "Xet, pyarrow's default files", "Xet, smaller pages"]
    return table(head, lines)


def versions_rows() -> str:
    """The rows of the first version."""
    return f"{benchmark('versions')['results']['rows']:,}"


MADE = (
    encoder_training,
    encoding,
    encoder_bound,
    adam,
    dtypes,
    waiting,
    pipeline,
    without_models,
    memory,
    kept,
    versions,
    versions_rows,
)
