"""Figures of the parabanks of subtitles, of what was trained on the Chinese one, and of the cost at full size."""

from __future__ import annotations

from research.reports.figures import experiment, number, table
from toolkit.evaluate.tables import with_spread

DIRECTIONS = {"en-zh": "English to Chinese", "zh-en": "Chinese to English"}
OPEN_DIRECTIONS = {"zh-en": "into English", "en-zh": "into Chinese"}
# ParaZh-22M, table 3: pairs, words of a sentence, domain; the last line of the table is ours
PAPER_CORPORA = (
    ("*PKU Paraphrase Bank*", "509K", "23.05", "literature"),
    ("*Chinese Paraphrase from Quora*", "263K", "9.80", "questions"),
    ("*ParaZh-22M*", "22M", "22.16", "general"),
)
SETS = ("Chinese STS-B dev", "Chinese STS-B test", "LCQMC test", "AFQMC dev", "PAWS-X zh test")
ARMS = ("none", "oversampling", "paraphrased")


def subtitle_translators() -> str:
    """Training and BLEU of both translators."""
    record = experiment("subtitle_parabanks")
    head = ["translator", "pairs", "steps", "pieces trained on", "hours", "held-out nats per piece", "BLEU"]
    lines = []
    for direction, name in DIRECTIONS.items():
        translator = record["results"][direction]
        held_out = number(min(translator["held_out_nats_per_token"].values()), 2)
        figures = [
            number(translator["pairs"]["train"], 0),
            number(translator["step"], 0),
            number(translator["tokens"], 0),
        ]
        lines.append(
            [name, *figures, number(translator["seconds"] / 3600), held_out, number(translator["bleu"]["value"])]
        )
    signatures = " and ".join(f"`{record['results'][d]['bleu']['signature']}`" for d in DIRECTIONS)
    pairs = record["results"]["en-zh"]["bleu"]["pairs"]
    return table(head, lines, f"BLEU on {number(pairs, 0)} validation lines: {signatures}.")


def chinese_corpora() -> str:
    """ParaZh's table 3 with ours."""
    parabank = experiment("subtitle_parabanks")["results"]["parazh"]
    words = number(parabank["lengths"]["references"]["words"]["mean"], 2)
    head = ["corpus", "pairs", "words of a sentence (jieba)", "domain"]
    lines = [list(line) for line in PAPER_CORPORA]
    return table(head, [*lines, ["ours", number(parabank["total"]["pairs"], 0), words, "TV subtitles"]])


def chinese_funnel() -> str:
    """What became of the lines and candidates of the Chinese parabank."""
    parabank = experiment("subtitle_parabanks")["results"]["parazh"]
    refused = parabank["inputs"]["refused"]
    outcomes = parabank["candidates"]
    lines = [
        ["lines read", number(parabank["inputs"]["lines"], 0)],
        *([f"refused as `{reason}`", number(count, 0)] for reason, count in refused.items()),
        ["references", number(parabank["total"]["references"], 0)],
        ["candidates", number(parabank["total"]["candidates"], 0)],
        *([f"refused as `{reason}`", number(count, 0)] for reason, count in outcomes["refused"].items()),
        ["pairs", number(parabank["total"]["pairs"], 0)],
    ]
    return table(["", "number"], lines)


def contaminated_subtitles() -> str:
    """How many lines have texts of the evaluation sets."""
    contamination = experiment("subtitle_parabanks")["results"]["parazh"]["contamination"]
    parts = []
    for entry in contamination:
        lines = sum(value for key, value in entry.items() if key.startswith("lines"))
        parts.append(f"{number(lines, 0)} of {entry['set']}")
    return "Lines with texts of the evaluation sets, which were left out: " + ", ".join(parts) + "."


def chinese_encoders() -> str:
    """Spearman of encoders on the Chinese sets, and of random weights."""
    record = experiment("subtitle_parabanks")
    lines = [
        [name, *(f"{spearman(encoder, s)} ({spearman(encoder['untrained'], s)})" for s in SETS)]
        for name, encoder in record["results"]["chinese"].items()
    ]
    seeds = len(next(iter(record["results"]["chinese"].values()))["seeds"])
    return table(["encoder, words of Chinese", *SETS], lines, f"Mean and deviation of {seeds} seeds.")


def spearman(figures: dict, name: str) -> str:
    """Spearman's correlation x 100 on a set."""
    return with_spread(figures["spearman"][name]["values"], 1)


def chinese_tasks() -> str:
    """Accuracy on three tasks of CLUE."""
    record = experiment("chinese_augmentation")
    head = ["task", "rows", "with paraphrases", "none", "oversampling", "paraphrased", "p", "*paper: without, with*"]
    lines = []
    for name, task in record["results"].items():
        arms = [with_spread(task["accuracy"][arm], 1) for arm in ARMS]
        p = number(task["against_none"]["paraphrased"]["p"], 3)
        rows = [number(task["rows"], 0), number(task["with_paraphrases"], 0)]
        lines.append([name, *rows, *arms, p, "*" + ", ".join(number(value, 2) for value in task["paper"]) + "*"])
    return table(head, lines)


def full_size() -> str:
    """GPU-hours and disk of the papers' corpora, estimated."""
    results = experiment("scale_estimates")["results"]
    head = [
        "corpus",
        "rows of the decoder",
        "operations",
        "of these scoring",
        "one GPU: hours",
        "eight GPUs",
        "GPU memory, GB",
        "disk, GB",
    ]
    lines = []
    for name, corpus in results["corpora"].items():
        hours = [
            "{} to {}".format(*(number(h, 0 if h >= 10 else 1) for h in corpus["hours"][f"{n} GPU"])) for n in (1, 8)
        ]
        work = [
            f"{corpus['rows'] / 1e9:,.0f} billion",
            f"{corpus['operations'] / 1e18:.1f} x 10^18",
            f"{100 * corpus['share_of_scoring']:.0f} %",
        ]
        lines.append([name, *work, *hours, number(corpus["gpu_gigabytes"]), number(corpus["gigabytes"], 0)])
    shares = " and ".join(f"{100 * share:.0f} %" for share in results["shares"])
    peak = f"{results['peak'] / 1e12:,.0f} trillion operations a second"
    below = f"**Estimated**, not measured: {results['gpu']} at {shares} of its peak of {peak} (dense bfloat16)."
    return table(head, lines, below)


def growth() -> str:
    """Time and memory of a tenth of a run and of the whole."""
    record = experiment("subtitle_parabanks")
    lines = []
    for run in (record["results"]["growth"], record["results"]["parazh"]):
        references = run["total"]["references"]
        rate = references / run["seconds"]
        lines.append([number(references, 0), number(run["seconds"], 0), number(rate), number(run["peak_megabytes"], 0)])
    head = ["references", "seconds, all steps", "references a second", "peak MB of a process"]
    machine = record["machine"]
    return table(
        head,
        lines,
        f"Two processes on {machine['cpu']} (family/model {machine['cpu_family_model']}), other work beside.",
    )


def two_cores() -> str:
    """Hours of two CPU cores at measured rates."""
    corpora = experiment("scale_estimates")["results"]["corpora"]
    lines = [
        [name, number(corpus["two_cores"]["sentences_per_second"]), number(corpus["two_cores"]["hours"], 0)]
        for name, corpus in corpora.items()
        if "two_cores" in corpus
    ]
    return table(["corpus", "references a second", "hours"], lines)


def open_translators() -> str:
    """BLEU of the translators that were trained on the open text, and how many of their paraphrases are usable."""
    results = experiment("chinese_starter")["results"]
    scores = " and ".join(f"{number(results[name]['bleu'])} {to}" for name, to in OPEN_DIRECTIONS.items())
    read = results["read"]
    return (
        f"BLEU {scores} ({results['test_pairs']} held-out pairs, most of a few characters); of {read['outputs']} "
        f"paraphrases of the longest held-out sentences {read['usable']} is usable"
    )


MADE = (
    open_translators,
    subtitle_translators,
    chinese_corpora,
    chinese_funnel,
    contaminated_subtitles,
    chinese_encoders,
    chinese_tasks,
    full_size,
    growth,
    two_cores,
)
