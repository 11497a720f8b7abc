"""Figures of speed and memory: each function makes a table or a figure."""

from __future__ import annotations

from statistics import mean, median

from reports.figures import benchmark, machine, number, ranges, table

ENGINES = {
    "ours": "ours, {dtype}",
    "ours_int8": "ours, int8",
    "ctranslate2_int8": "CTranslate2 int8",
    "ctranslate2_float32": "CTranslate2 float32",
    "generate_bf16": "`transformers.generate` bf16",
    "generate_fp32": "`transformers.generate` fp32",
}
SIZES = {
    "opus20k": "OPUS-MT size (6+6 x 512, 20,000 pieces, random weights, the starter's entropy)",
    "opus20k_flat": "the same, all tokens nearly equal",
    "opus58k": "58,000 pieces, the starter's entropy",
    "starter": "starter (4+2 x 256, 7,500 pieces)",
}
ENDINGS = {"opus20k": "", "opus20k_flat": "_flat", "opus58k": "_58k", "starter": "_starter"}
DTYPES = {"bfloat16": "bf16", "int8": "int8", "float32": "fp32"}
COSTS = ("positive", "negative", "both", "mixed")


def widest(record: dict) -> str:
    """What --dtype auto means on the machine of a benchmark."""
    return "bf16" if record["machine"]["bf16"] else "fp32"


def decoding() -> str:
    """Sampled tokens per second by engine and size of the model; ours with constraints."""
    records = {size: benchmark(f"decoding_{size}") for size in SIZES}
    found = {size: record["results"][size] for size, record in records.items()}
    lines = []
    for engine, name in ENGINES.items():
        key = engine + "_constrained" * engine.startswith("ours")
        rates = [one.get(key, {}).get("tokens_per_second") for one in found.values()]
        lines.append([name.format(dtype=widest(records["opus20k"])), *(number(rate, 0) for rate in rates)])
    ours = [one["ours_constrained"] for one in found.values()]
    lines.append(["*sampled tokens for one decoded row*", *(f"*{number(one['tokens_per_row'], 2)}*" for one in ours)])
    lines.append(["*mean entropy of a step, nats*", *(f"*{number(one['entropy'], 2)}*" for one in ours)])
    head = ["tokens per second (ours: with different constraints for every sample)", *SIZES.values()]
    return table(head, lines, machine(records["opus20k"]))


def decoding_ratios() -> str:
    """Ours over each peer, without constraints on either side, and what constraints cost."""
    ratios = {ending: benchmark(f"decoding_{size}")["ratios"] for size, ending in ENDINGS.items()}
    names = {name: f"speed-up over {said}" for name, said in ENGINES.items() if not name.startswith("ours")}
    lines = []
    for name, said in (names | {"constraint_cost": "time with constraints / time without"}).items():
        both = [
            [found.get(f"{prefix}{name}{ending}") for prefix in ("", "ours_int8_")] for ending, found in ratios.items()
        ]
        lines.append([said, *(" / ".join(number(value, 2) for value in values) for values in both)])
    return table([f"ours, {widest(benchmark('decoding_opus20k'))} / int8", *SIZES.values()], lines)


def beams() -> str:
    """Sentences per second of beam 12, plain and with one required word."""
    record = benchmark("constraints_opus20k")
    found, lines = record["results"]["opus20k"], []
    for dtype, name in DTYPES.items():
        if f"ours_{dtype}" in found:
            plain, required = found[f"ours_{dtype}"], found[f"ours_{dtype}_positive"]
            lines.append([f"ours, {name}", number(plain["sentences_per_second"]), *required_cells(required)])
    peer = found["transformers_force_words"]
    lines.append([f"`force_words_ids` ({DTYPES[peer['dtype']]}, the faster of its dtypes)", "", *required_cells(peer)])
    for name, engine in (("generate", "`transformers.generate`"), ("ctranslate2", "CTranslate2")):
        for key in [key for key in found if key.startswith(f"{name}_")]:
            dtype, rate = DTYPES[key.removeprefix(f"{name}_")], number(found[key]["sentences_per_second"])
            lines.append([f"{engine} {dtype}", rate, "no constraints per sentence", "", ""])
    head = [
        "sentences per second",
        "without constraints",
        "with a required word",
        "word in the text",
        "tokens per sentence",
    ]
    return table(head, lines, machine(record))


def required_cells(found: dict) -> list[str]:
    """What a search with a required word gave: sentences per second, how often it was met, and its length."""
    met = f"{number(100 * found['constraints_met'], 0)} %"
    return [number(found["sentences_per_second"], 2), met, number(found["mean_tokens"])]


def beam_ratios() -> str:
    """Ours over each peer of beam search, and what constraints cost."""
    record = benchmark("constraints_opus20k")
    ratios, lines = record["ratios"], []
    for dtype, name in DTYPES.items():
        prefix = f"ours_{dtype}_" if f"ours_{dtype}_beam_cost_both" in ratios else ""
        if f"ours_{dtype}" in record["results"]["opus20k"]:
            peers = [
                [f"transformers_force_words{end}" for end in ("", "_by_tokens")],
                [f"generate_beam_{peer}" for peer in ("float32", "bfloat16")],
                [f"ctranslate2_beam_{peer}" for peer in ("float32", "int8")],
                [f"beam_cost_{kind}" for kind in COSTS],
            ]
            lines.append([name, *(" / ".join(number(ratios.get(prefix + one), 2) for one in peer) for peer in peers)])
    cost = "time with constraints / without: required word / forbidden words / both / both in every second sentence"
    over = ["`force_words_ids`, by sentences / by tokens", "`generate`, fp32 / bf16", "CTranslate2, fp32 / int8"]
    return table(["speed-up of ours over", *over, cost], lines)


def encoder_training() -> str:
    """Pairs per second."""
    record, engines = benchmark("encoder"), ("ours_m40", "ours_m1", "peer_100", "peer_4000")
    lines = []
    for key, name, ending in (("word", "WORD", ""), ("trigram", "WORD + TRIGRAM", "trigram_")):
        found = record["results"][key]
        ratios = [record["ratios"][f"train_{ending}sentence_transformers{batch}"] for batch in ("", "_4000")]
        minutes = number(found["ours_m40"]["seconds_of_the_paper"] / 60, 0)
        rates = [number(found[engine]["median"], 0) for engine in engines]
        lines.append([name, *rates, " / ".join(map(number, ratios)), minutes])
    paper = "minutes for the paper's 5M pairs x 5 epochs, extrapolated"
    ours, its = ("ours, M = 40", "ours, M = 1"), ("sentence-transformers, batch 100", "batch 4,000")
    head = ["pairs per second", *ours, *its, "speed-up at M = 40, over batch 100 / 4,000", paper]
    return table(head, lines, machine(record))


def encoding() -> str:
    """Sentences per second."""
    record, batches = benchmark("encoder"), ("32", "1024")
    found, lines = record["results"]["encode"], []
    for key, name in (("word", "WORD"), ("word_trigram", "WORD + TRIGRAM")):
        rates = [[found.get(f"{who}_{key}_{batch}") for batch in batches] for who in ("ours", "peer")]
        cells = [" / ".join(number(one["median"], 0) for one in rate if one) for rate in rates]
        ratios = [record["ratios"][f"encode_sentence_transformers{end}"] for end in ("", "_1024") if cells[1]]
        lines.append([name, *cells, " / ".join(map(number, ratios))])
    return table(["sentences per second, batches of 32 / 1,024", "ours", "`StaticEmbedding`", "speed-up"], lines)


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
    record = benchmark("load")
    found, ratios = record["results"], record["ratios"]
    names = {
        "product": "matrix products, steps",
        "float32": "decoder fp32, tokens",
        "int8": "decoder int8, tokens",
    }
    lines = []
    for kind in (kind for kind in names if kind in found["idle"]):
        rates = [
            " / ".join(number(median(found[when][kind][policy]), 0) for policy in ("default", "toolkit"))
            for when in ("idle", "busy")
        ]
        lines.append([names[kind], *rates, number(ratios[f"busy_share_{kind}"], 2)])
    head = ["per second, OpenMP's default / ours", "idle machine", f"with {found['others']} other busy processes"]
    return table([*head, "ours: slowdown over a fair share of the cores"], lines, machine(record))


def spinning() -> str:
    """What ours gains in bench_encoder, in percent, where waiting threads spin as long as OpenMP's do by themselves."""
    long, soon = (benchmark(name)["results"] for name in ("encoder_spinning", "encoder"))
    ours = [(kind, name) for kind in ("trigram", "encode") for name in long[kind] if name.startswith("ours")]
    gains = [100 * (long[kind][name]["median"] / soon[kind][name]["median"] - 1) for kind, name in ours]
    return f"{ranges(gains)} %"


def pipeline() -> str:
    """The stages of ParaBank 2 with the starters."""
    record, stages = benchmark("pipeline"), ("sampling", "dual scoring", "clustering")
    found = record["results"]["stages"]
    shares = [f"{number(100 * found['shares'][stage])} %" for stage in stages]
    rates = [median(found[f"sentences_per_second_{name}"]) for name in ("before", "by_round")]
    cells = [*map(number, rates), number(record["ratios"]["pipeline_before"], 2), *shares]
    head = ["sentences per second, a row for each sample", "a row for each prefix", "ratio"]
    head += [*(f"time in {stage}" for stage in stages), "peak MB"]
    return table(head, [[*cells, number(found["peak_megabytes"], 0)]], machine(record))


def without_models() -> str:
    """Everything of ParaBank 2 but the models: candidates/s per core, and what a candidate costs in each stage."""
    record = benchmark("host")
    found = record["results"]["without_models"]
    shares, costs = found["shares"], found["microseconds_per_candidate"]
    lines = [
        [stage, number(costs[stage], 2), f"{number(100 * shares[stage])} %"]
        for stage in sorted(costs, key=lambda stage: -costs[stage])
    ]
    rates = [number(found[f"{name}candidates_per_second"], 0) for name in ("", "distinct_")]
    lines.append(["*all*", f"*{number(sum(costs.values()), 2)}*", ""])
    lines.append(["*candidates/s per core: drawn / distinct*", f"*{' / '.join(rates)}*", ""])
    return table(["stage", "microseconds per candidate", "share"], lines, machine(record))


def memory() -> str:
    """Peak memory of everything but the models."""
    found = benchmark("memory")["results"]["memory"]["lines"]
    stages = next(iter(found.values()))
    lines = [[stage, *(number(one[stage]["peak_megabytes"], 0) for one in found.values())] for stage in stages]
    return table(["peak MB by lines", *(number(int(count), 0) for count in found)], lines)


MADE = (
    decoding,
    decoding_ratios,
    beams,
    beam_ratios,
    encoder_training,
    encoding,
    adam,
    dtypes,
    waiting,
    spinning,
    pipeline,
    without_models,
    memory,
)
