"""Figures of paraphrasers and of their guards: each function makes a table."""

from __future__ import annotations

from collections.abc import Iterable

from research.reports.figures import benchmark, beside, by_processor, experiment, measured, number, table

ENGINES = {
    "ours_equal": "ours, five samples of each text",
    "ours_equal_int8": "the same in int8",
    "ours": "ours, the default",
    "one_by_one": "`generate`, one text at a time",
    "batched": "`generate`, sorted batches",
    "ctranslate2_int8": "CTranslate2, int8",
    "ctranslate2_float32": "CTranslate2, fp32",
}
OURS = {"ours_equal": "", "ours_equal_int8": "int8_", "ours": "default_"}  # engine -> how its ratios begin
PEERS = [engine for engine in ENGINES if engine not in OURS]
MODELS = {"starter": "starter", "t5_small": "T5-small", "t5_base": "T5-base", "bart_base": "BART-base"}
READ_FLOORS = ("none", "-0.6", "-0.45", "-0.3", "-0.2")  # of `first_paraphrases.py`, in the table
SETS = {"settings": "chosen on", "settings_report": "reported on"}  # of `first_paraphrases.py`
SETTINGS = {  # column of `paraphraser_defaults.py`, with its decimals
    "ibleu": ("iBLEU", 2),
    "best_ibleu": ("iBLEU, best of 5", 2),
    "bleu": ("BLEU", 1),
    "input_bleu": ("BLEU with the input", 1),
    "semantic": ("cosine", 3),
    "self_bleu": ("self-BLEU", 1),
    "answered": ("% with an output", 1),
    "outputs": ("outputs", 2),
    "texts_per_second": ("texts/s", 1),
}
TRAINED = "trained on ParaBank"  # the rewriter of `rewriter_table.py`
TRAINED_ON = {"tatoeba": "Tatoeba", "captions": "captions"}
SHOWN = 4  # captions whose outputs are shown
TESTED = {
    "ibleu": "iBLEU",
    "bleu": "BLEU",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "input_bleu": "BLEU with the input",
}


def guards() -> str:
    """What guards and floors of the cosine refuse, by human score."""
    results = experiment("guards")["results"]
    below = f"{number(results['of']['texts'], 0)} texts. Cosine: `{results['of']['signature']}`."
    return refused_table(results["refused_by"], below)


def refused_table(refused_by: dict[str, dict], below: str = "") -> str:
    """A line for each guard or floor, with what it refuses beside what it keeps (`guards_table.py`)."""
    columns = [("refused", 0), *((name, 1) for name in ("share", "score_refused", "score_kept"))]
    lines = [
        [
            name,
            *(number(figures[column], places) for column, places in columns),
            " to ".join(number(bound) for bound in figures["difference"]),
            number(figures["good_refused"]),
        ]
        for name, figures in refused_by.items()
    ]
    head = ["refused by", "texts", "% of all", "mean score", "mean score of the rest", "difference"]
    return table([*head, "% of the good ones"], lines, below)


def paraphraser_defaults() -> str:
    """Every setting of `Paraphraser` that was tried, means over the validation sets."""
    return defaults_table(experiment("paraphraser_defaults")["results"]["variants"])


def first_paraphrases() -> str:
    """How many outputs each floor keeps of the sentences that were read, and how many of them are usable or not."""
    figures = experiment("first_paraphrases")["results"]["figures"]
    lines = [
        [f"{SETS[name]}, {system}", floor, number(counts["texts"], 0), number(counts["outputs"], 0)]
        + [number(counts[letter], 1) for letter in "utw"]
        for name, systems in figures.items()
        for system, floors in systems.items()
        for floor, counts in floors.items()
        if floor in READ_FLOORS and system != "both"
    ]
    return table(["texts, decoded by", "floor", "texts", "outputs", "usable", "trivial", "wrong"], lines)


def blind_reading() -> str:
    """How many texts have a usable first output, by system and kind of text (`blind_reading.py`)."""
    return blind_table("blind_reading")


def blind_second() -> str:
    """The same of the second set of texts."""
    return blind_table("blind_reading_second")


def blind_third() -> str:
    """The same of the third set of texts."""
    return blind_table("blind_reading_third")


def blind_fourth() -> str:
    """The same of the fourth set of texts."""
    return blind_table("blind_reading_fourth")


def blind_fifth() -> str:
    """The same of the fifth set of texts."""
    return blind_table("blind_reading_fifth")


def fifth_everyday() -> str:
    """The share of usable first outputs of everyday talk, with its interval."""
    figures = experiment("blind_reading_fifth")["results"]["table"]["pivot, judge"]["everyday"]
    low, high = (number(100 * bound, 0) for bound in figures["interval"])
    return f"{number(100 * figures['usable'] / figures['texts'], 1)} % of {figures['texts']} ({low} to {high})"


def fifth_paired() -> str:
    """The usable share of both versions, of the texts that both have paraphrased."""
    outputs = experiment("blind_reading_fifth")["results"]["outputs"]
    usable = {(x["system"], x["text"]): x["ratings"].count("u") / max(1, len(x["ratings"])) for x in outputs}
    texts = [text for system, text in usable if system == "pivot, judge before"]
    before, now = (
        number(100 * sum(usable[system, text] for text in texts) / len(texts), 0)
        for system in ("pivot, judge before", "pivot, judge")
    )
    return f"{before} % before and {now} % now, of {len(texts)} texts"


def blind_controls() -> str:
    """How two further readers rated outputs of the first sheet."""
    sheet = experiment("blind_reading_third")["results"]["second_sheet"]
    first, second = (number(sheet[f"usable by the {readers} readers"], 1) for readers in ("first", "further"))
    return f"{second} of {sheet['read before, too']} are usable by their reading, {first} by that of the first readers"


def blind_augment() -> str:
    """The same of new rows of `toolkit.augment`, by task."""
    return blind_table("blind_augment")


def blind_table(name: str) -> str:
    """A line for each system: the share of usable first outputs of all texts and of each kind."""
    systems = experiment(name)["results"]["table"]
    kinds = list(next(iter(systems.values())))
    lines = []
    for system, by_kind in systems.items():
        shares = [number(100 * by_kind[kind]["usable"] / by_kind[kind]["texts"], 0) for kind in kinds]
        whole = by_kind["all"]
        low, high = (number(100 * bound, 0) for bound in whole["interval"])
        usable = number(100 * whole["usable"] / whole["outputs"], 0)
        trivial = number(100 * whole["trivial"] / whole["outputs"], 1)
        lines.append(
            [system, *shares, f"{low} to {high}", number(100 * whole["outputs"] / whole["texts"], 0), usable, trivial]
        )
    return table(["system", *kinds, "interval", "% with an output", "% usable of these", "% trivial of these"], lines)


def blind_curve() -> str:
    """Outputs against precision, by the threshold of the judge (`blind_reading.py`)."""
    curve = experiment("blind_reading_fifth")["results"]["curve"]
    lines = [
        [number(point["threshold"], 2), number(100 * point["texts"], 0), number(100 * point["usable"], 0)]
        for point in curve
    ]
    return table(["`min_usable`", "% of texts with an output", "% of these usable"], lines)


def judge_folds() -> str:
    """How well the judge tells outputs of other folds (`research/experiments/judge_fit.py`)."""
    judges = {}
    for name, figures in experiment("judge_fit")["results"].items():
        judges[name] = figures
        if "latest" in figures:
            judges[f"{name}: readings of judge_third"] = figures["latest"]
    lines = [
        [name, number(figures["candidates"], 0), number(figures["usable"], 0), number(figures["auc"], 2)]
        + [number(fifth["usable"], 2) for fifth in figures["calibration"]]
        for name, figures in judges.items()
    ]
    return table(["judge", "outputs", "usable", "AUC", *(f"usable, fifth {n}" for n in range(1, 6))], lines)


def defaults_table(variants: dict[str, dict]) -> str:
    """A line for each setting (`research/experiments/paraphraser_defaults.py`)."""
    lines = [
        [name, *(number(figures["mean"][column], places) for column, (_, places) in SETTINGS.items())]
        for name, figures in variants.items()
    ]
    return table(["settings", *(head for head, _ in SETTINGS.values())], lines)


def paraphraser_speed() -> str:
    """Texts per second of every engine with every model; the lines of other kinds of processors are last."""
    reports = by_processor("paraphraser")
    lines = [
        [
            MODELS[model] + ending,
            *(number(engines.get(engine, {}).get("sentences_per_second")) for engine in ENGINES),
        ]
        for ending, record in reports
        for model, engines in record["results"].items()
    ]
    return table(["texts per second", *ENGINES.values()], lines, measured(reports))


def paraphraser_ratios() -> str:
    """How many times as fast as each peer, with equal numbers of samples / in int8, too / by default."""
    lines = []
    for ending, record in by_processor("paraphraser"):
        for model in record["results"]:
            names = [peer if model == "starter" else f"{peer}_{model}" for peer in PEERS]
            ratios = [[record["ratios"].get(prefix + name) for prefix in OURS.values()] for name in names]
            cells = (" / ".join(map(number, values)) for values in ratios)
            lines.append([MODELS[model] + ending, *cells])
    return table(
        ["ours, five samples / the same in int8 / the default, over", *(ENGINES[peer] for peer in PEERS)], lines
    )


def paraphraser_memory() -> str:
    """Peak memory of a stream of texts."""
    peaks = benchmark("paraphraser")["results"]["starter"]["memory"]
    return " and ".join(
        f"{number(peak, 0)} MB for {number(int(name.split()[0]), 0)} texts" for name, peak in peaks.items()
    )


def tested(number_of_table: str) -> str:
    """One of ParaMac's tables."""
    return tested_table(experiment("paraphraser_table")["results"]["tables"][number_of_table])


def tested_table(tests: dict[str, dict]) -> str:
    """A line for each system of each test: its best output of several (`research/experiments/paraphraser_table.py`)."""
    lines = []
    for test, by_system in tests.items():
        for system, figures in by_system.items():
            cells = [spread(figures["best"].get(name)) for name in TESTED]
            lines.append([test, system, *cells, spread(figures.get("first", {}).get("ibleu"))])
    return table(["test", "trained on", *TESTED.values(), "iBLEU of the first output"], lines)


def spread(figures: tuple[float, float | None] | None) -> str:
    """A mean with its standard deviation, if there is one; nothing where nothing was measured."""
    if figures is None:
        return ""
    mean, deviation = figures
    return f"{number(mean)} ± {number(deviation)}" if deviation else number(mean)


def paramac_1() -> str:
    """Every corpus on every test."""
    return tested("1")


def paramac_4() -> str:
    """After fine-tuning on few pairs."""
    return tested("4")


def paramac_6() -> str:
    """By the number of pairs."""
    return tested("6")


def paramac_6_more() -> str:
    """By ten times as many pairs, from a base model that was trained anew."""
    return tested_table(experiment("paraphraser_sizes")["results"]["tables"]["6"])


def paramac_7() -> str:
    """By the number of epochs."""
    return tested("7")


def rewriter() -> str:
    """ParaBank's table 6: a rewriter and a translator under the same constraint systems, beside the paper's."""
    return rewriter_table(experiment("rewriter_table")["results"]["table_6"])


def rewriter_table(systems: dict[str, dict]) -> str:
    """A line for each model under each system (`research/experiments/rewriter_table.py`)."""
    lines = []
    for system, models in systems.items():
        for model, figures in models.items():
            people, bleu = figures["paper"]
            judgment, deviation = figures["judgment"]
            cells = [
                beside(f"{number(judgment)} ± {number(deviation)}", people),
                beside(number(figures["bleu"]), bleu),
            ]
            more = [number(figures["cosine"][0], 3), number(figures["copies"]), number(figures["references"], 0)]
            lines.append([system, model if model == TRAINED else f"`{model}`", *cells, *more])
    head = ["system", "model", "predicted judgment (people's)", "BLEU without length penalty", "cosine", "% copies"]
    return table([*head, "references"], lines)


def corrections_grammar() -> str:
    """What the starter makes of sentences with errors."""
    return corrections_table(experiment("correction_examples")["results"]["examples"]["grammar"])


def corrections_wording() -> str:
    """What the starter makes of unusual wording."""
    return corrections_table(experiment("correction_examples")["results"]["examples"]["wording"])


def corrections_table(outputs: dict[str, str | None]) -> str:
    """A line for each sentence (`research/experiments/correction_examples.py`)."""
    return texts_table(["input", "best output"], ([text, output or "*none*"] for text, output in outputs.items()))


def merged_outputs() -> str:
    """ParaBank's table 7: outputs under all systems of the rewriter trained on a ParaBank, and how many said each."""
    rows = experiment("rewriter_table")["results"]["table_7"][TRAINED]
    lines = (
        [row["reference"] * (n == 0), text, str(len(of))]
        for row in rows
        for n, (text, of) in enumerate(row["outputs"].items())
    )
    return texts_table(["reference", "output", "systems"], lines)


def syntax_obeyed() -> str:
    """How many outputs have the form that was asked for."""
    return obeyed_table(experiment("syntax_table")["results"]["asked_for"])


def obeyed_table(tests: dict[str, dict]) -> str:
    """A line for each template of each test (`research/experiments/syntax_table.py`)."""
    lines = []
    for test, by_template in tests.items():
        for template, figures in by_template.items():
            shares = [number(figures[name]) for name in ("not_asked", "asked", "answered")]
            lines.append([TRAINED_ON[test], as_form(template), *shares, number(figures["cosine"], 3)])
    head = ["trained on, tested on", "form", "% of sentences whose output has it, not asked for", "asked for"]
    return table([*head, "% of sentences with an output", "cosine with the sentence"], lines)


def syntax_examples() -> str:
    """The different outputs of the first captions, each with the templates that it was written for."""
    examples = list(experiment("syntax_table")["results"]["examples"]["captions"].items())[:SHOWN]
    lines = []
    for text, outputs in examples:
        forms: dict[str, list[str]] = {}
        for form, output in outputs.items():
            forms.setdefault(output or "*none*", []).append(as_form(form))
        lines += [
            [text * (n == 0), output, ", ".join(templates)] for n, (output, templates) in enumerate(forms.items())
        ]
    return texts_table(["input", "output", "asked for"], lines)


def as_form(name: str) -> str:
    """A template as code; other names as they are."""
    return f"`{name}`" if name.startswith("(") else name


def texts_table(head: list[str], lines: Iterable[list[str]]) -> str:
    """A Markdown table of texts, all columns to the left."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines))


def which_paraphraser() -> str:
    """What each kind of paraphraser takes for 1,000 sentences, what it costs and whose its outputs are."""
    pivot = benchmark("pivot")["results"]["engines"]
    starter = benchmark("paraphraser")["results"]["starter"]["ours"]["sentences_per_second"]
    tokens = experiment("prompt_tokens")["results"]
    read = "[yes](../results/usable-paraphrases.md)"
    times = [
        f"{number(1000 / pivot['judge with a language model']['sentences_per_second'] / 60, 0)} minutes",
        f"{number(1000 / pivot['judge without']['sentences_per_second'] / 60, 0)} minutes",
        f"{number(1000 / starter, 0)} seconds",
    ]
    dollars = (
        f"{number(tokens['prompt_tokens'], 0)} + {number(tokens['reply_tokens'], 0)} thousand tokens, "
        f"{number(tokens['dollars_per_thousand'], 2)} dollars"
    )
    return table(
        ["", "1,000 sentences take", "and cost", "licence of the output", "judged here, by language models"],
        [
            ["two translators with a language model (`best` after `make demo`)", times[0], "no money",
             "the models'", read],
            ["two translators alone", times[1], "no money", "the translators'", read],
            ["`starter/paraphraser`", times[2], "no money", "open", read],
            ["a seq2seq model of yours or of the Hub", "see [its size](../results/speed-models.md)", "no money",
             "the model's", "no"],
            ["a language model, here", "much longer without a GPU", "no money", "the model's", "no"],
            ["a language model on a service", "what it allows", dollars,
             "the service's terms; some forbid training on outputs", "no"],
        ],
    )  # fmt: skip


def words_of_prompted_texts() -> str:
    """The mean length of the sentences whose prompts were counted."""
    return number(experiment("prompt_tokens")["results"]["words"], 0)


def paraphrases_of_a_reply() -> str:
    """How many paraphrases the counted replies have."""
    return str(experiment("prompt_tokens")["results"]["paraphrases"])


def prices_of_a_service() -> str:
    """The prices by which the dollars are reckoned."""
    prices = experiment("prompt_tokens")["results"]["prices"]
    return f"{number(prices['input'], 0)} and {number(prices['output'], 0)} dollars"


WAYS = {  # of `protected_texts.py`
    "refused": "nothing done: what lost a piece is refused",
    "required": "pieces required of the decoder",
    "protected": "cut off or replaced by a word (the default)",
}


def protected_pieces() -> str:
    """Of how many texts with pieces that must stay the first output has all of them, by class, paraphraser and way."""
    results = experiment("protected_texts")["results"]
    lines = []
    for name, ways in results["models"].items():
        for way, label in WAYS.items():
            identical = ways[way]["identical"]
            counts = [str(identical.get(piece, 0)) for piece in results["texts"]]
            lines.append([f"`{name}`, {label}", str(sum(identical.values())), *counts])
    total = str(sum(results["texts"].values()))
    head = ["paraphraser", f"all ({total})", *(f"{piece} ({count})" for piece, count in results["texts"].items())]
    return table(head, lines)


MADE = (
    which_paraphraser, words_of_prompted_texts, paraphrases_of_a_reply, prices_of_a_service,
    paraphraser_speed, paraphraser_ratios, paraphraser_memory, guards, paraphraser_defaults, first_paraphrases,
    blind_reading, blind_second, blind_third, blind_fourth, blind_fifth, fifth_everyday, fifth_paired,
    protected_pieces, blind_controls, blind_augment, blind_curve, judge_folds,
    corrections_grammar, corrections_wording, syntax_obeyed, syntax_examples, rewriter, merged_outputs,
    paramac_1, paramac_4, paramac_6, paramac_6_more, paramac_7,
)  # fmt: skip
