"""Figures of speed and memory but for decoding: each function makes a table or a figure."""

from __future__ import annotations

from statistics import mean, median

from research.reports.figures import benchmark, by_processor, machine, measured, number, table
from research.reports.figures_decoding import DTYPES


def encoder_training() -> str:
    """Pairs per second; the lines of other kinds of processors are last."""
    reports = by_processor("encoder")
    lines = [line for said, record in reports for line in training_lines(record, said)]
    paper = "minutes for the paper's 5M pairs x 5 epochs, extrapolated"
    ours, its = ("ours, M = 40", "ours, M = 1"), ("sentence-transformers, batch 100", "batch 4,000")
    head = ["pairs per second", *ours, *its, "speed-up at M = 40, over batch 100 / 4,000", paper]
    return table(head, lines, measured(reports))


def training_lines(record: dict, ending: str) -> list[list[str]]:
    """The lines of one report, which their names end in."""
    engines, lines = ("ours_m40", "ours_m1", "peer_100", "peer_4000"), []
    for key, name, prefix in (("word", "WORD", ""), ("trigram", "WORD + TRIGRAM", "trigram_")):
        found = record["results"][key]
        ratios = [record["ratios"][f"train_{prefix}sentence_transformers{batch}"] for batch in ("", "_4000")]
        minutes = number(found["ours_m40"]["seconds_of_the_paper"] / 60, 0)
        rates = [number(found[engine]["median"], 0) for engine in engines]
        lines.append([name + ending, *rates, " / ".join(map(number, ratios)), minutes])
    return lines


def encoder_bound() -> str:
    """What the search for negatives alone permits on AVX2 alone, with the papers' mega-batch."""
    pairs, dimensions = MEGA_BATCH
    operations = (2 * pairs) ** 2 * dimensions  # two for half of the products of all sentences of both sides
    rate = benchmark("pivot")["results"]["billion_operations_per_second"]
    most = pairs / (operations / (1e9 * rate))
    times = most / benchmark("encoder_avx2")["results"]["word"]["peer_4000"]["median"]
    return (
        f"{number(operations / 1e9, 0)} billion operations for {number(pairs, 0)} pairs; at the {number(rate, 0)} "
        f"billion a second of the processor with AVX2 alone {number(most, 0)} pairs a second are the most for WORD, "
        f"{number(times, 1)} times its peer's batch of {number(pairs, 0)}, if all else took no time"
    )


def encoding() -> str:
    """Sentences per second; the lines of other kinds of processors are last."""
    lines = [line for said, record in by_processor("encoder") for line in encoding_lines(record, said)]
    return table(["sentences per second, batches of 32 / 1,024", "ours", "`StaticEmbedding`", "speed-up"], lines)


def encoding_lines(record: dict, ending: str) -> list[list[str]]:
    """The lines of one report, which their names end in."""
    batches, found, lines = ("32", "1024"), record["results"]["encode"], []
    for key, name in (("word", "WORD"), ("word_trigram", "WORD + TRIGRAM")):
        rates = [[found.get(f"{who}_{key}_{batch}") for batch in batches] for who in ("ours", "peer")]
        cells = [" / ".join(number(one["median"], 0) for one in rate if one) for rate in rates]
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
    found, quality = record["results"]["tokens_per_second"], record["results"]["quality"]
    caps = {"native": "this processor", "vnni": "without bfloat16", "avx2": "AVX2 alone"}
    lines = []
    for dtype, one in quality.items():
        rates = [number(median(found[cap][dtype]), 0) if dtype in found[cap] else "-" for cap in caps]
        means = [number(mean(one[name]), places) for name, places in (("kept", 1), ("cosine_1", 3), ("cosine_5", 3))]
        lines.append([DTYPES[dtype], *rates, number(one["bleu"]), f"{means[0]} %", f"{means[1]} / {means[2]}"])
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
    for said, record in reports:
        found, ratios = record["results"], record["ratios"]
        for kind in (kind for kind in names if kind in found["idle"]):
            rates = [
                " / ".join(number(median(found[when][kind][policy]), 0) for policy in ("default", "toolkit"))
                for when in ("idle", "busy")
            ]
            lines.append([names[kind] + said, *rates, number(ratios[f"busy_share_{kind}"], 2)])
    others = reports[0][1]["results"]["others"]
    head = ["per second, OpenMP's default / ours", "idle machine", f"with {others} other busy processes"]
    return table([*head, "ours: slowdown over a fair share of the cores"], lines, measured(reports))


def pipeline() -> str:
    """The stages of ParaBank 2 with the starters; the lines of other kinds of processors are last."""
    reports, lines = by_processor("pipeline"), []
    for said, record in reports:
        found = record["results"]["stages"]
        shares = [f"{number(100 * found['shares'][stage])} %" for stage in ("sampling", "dual scoring", "clustering")]
        cells = [number(found["sentences_per_second"]), *shares, number(found["peak_megabytes"], 0)]
        lines.append([said.removeprefix(", ") or "with bfloat16", *cells])
    head = ["processor", "sentences per second", "time in sampling", "time in dual scoring", "time in clustering"]
    return table([*head, "peak MB"], lines, measured(reports))


def without_models() -> str:
    """Everything of ParaBank 2 but the models: what a candidate costs in each stage, and candidates/s per core."""
    reports = by_processor("host")
    found = [record["results"]["without_models"] for _, record in reports]
    first = found[0]["microseconds_per_candidate"]
    stages = sorted({stage for one in found for stage in one["shares"]}, key=lambda stage: -first.get(stage, 0))
    lines = [
        [stage, *(number(one["microseconds_per_candidate"].get(stage), 2) for one in found)] for stage in stages
    ]  # fmt: skip
    lines.append(["*all*", *(f"*{number(sum(one['microseconds_per_candidate'].values()), 2)}*" for one in found)])
    rates = [
        " / ".join(number(one[f"{name}candidates_per_second"], 0) for name in ("", "distinct_")) for one in found
    ]  # fmt: skip
    lines.append(["*candidates/s per core: drawn / distinct*", *(f"*{rate}*" for rate in rates)])
    head = [f"microseconds per candidate{said}" for said, _ in reports]
    return table(["stage", *head], lines, measured(reports))


def memory() -> str:
    """Peak memory of everything but the models."""
    found = benchmark("memory")["results"]["memory"]["lines"]
    stages = next(iter(found.values()))
    lines = [[stage, *(number(one[stage]["peak_megabytes"], 0) for one in found.values())] for stage in stages]
    return table(["peak MB by lines", *(number(int(count), 0) for count in found)], lines)


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
    found = benchmark("keep")["results"]
    lines = []
    for keep, label in KEPT.items():
        one = found["kept"][keep]
        size = one["shards"] + one["counts"]
        share = 100 * size / found["kept"]["all"]["shards"]
        lines.append(
            [label, number(one["candidates"]), number(size, 0), number(size * FULL_SIZE / 1e9, 0), number(share, 0)]
        )
    published = found["published"]
    lines.append(["*the published files*", "", number(published, 0), number(published * FULL_SIZE / 1e9, 0), ""])
    head = ["`--keep`", "candidates of a reference", "bytes of a reference", "GB at full size", "% of all"]
    return table(head, lines, f"{found['references']:,} references.")


def versions() -> str:
    """The megabytes that a second version sends, by what has changed in it."""
    record = benchmark("versions")
    lines = []
    for change, label in VERSIONS.items():
        one = record["results"][change]
        sizes = (one["bytes"], one["git_lfs"], *(one[writer]["second"] for writer in ("ours", "plain", "small")))
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
