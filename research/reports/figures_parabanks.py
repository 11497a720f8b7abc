"""Figures of parabanks and of the starter translators: each function makes a table or a figure."""

from __future__ import annotations

from statistics import fmean

from research.experiments import systems
from research.reports.figures import beside, experiment, number, ranges, starter, table
from toolkit.bitext.idf import read_idf
from toolkit.evaluate import corpus, lengths
from toolkit.evaluate.tables import with_spread
from toolkit.starters import idf_file

FEWEST = 10  # ours: a BLEU of fewer references is not shown
BLEU, IOU, TREE, RATIO = "one_minus_bleu", "intersection_over_union", "tree_edit_distance", "length_ratio"
IDF_WORDS = ("proud", "told", "work", "them", "her", "was", "for", "to")  # ParaBank, table 2
QUALITY = (
    *("references kept", "cosine, rank 1 / 5", "1-BLEU against the reference, rank 1 / 5", "1-BLEU between ranks"),
    "paraphrases per reference",
)
PAPERS_SETTINGS, STARTERS_SETTINGS = "the papers' settings", "the starters' settings"
SYSTEMS = (*systems.PAPER_JUDGED, *(f"ParaBank 2, rank {rank}" for rank in range(1, corpus.RANKS + 1)))
# ParaZh-22M, table 2: BLEU on newstest 2020, Chinese to English and English to Chinese
PAPER_BACK_TRANSLATION = {"26.4M pairs": "30.53, 42.38", "and back-translated pairs": "30.97, 52.42"}
PAIRS = tuple(" / ".join(pair) for pair in systems.PAPER_BETWEEN)


def quality_settings() -> list[tuple[dict, dict]]:
    """Every setting that was measured, with the record it stands in: the papers', the starters', the demo's."""
    records = [experiment(f"quality_{name}")["results"] for name in ("paper_settings", "demo_settings", "demo_rate")]
    return [
        (record, setting)
        for record in records
        for setting in sorted(record["settings"], key=lambda entry: -entry["max_dual_nll"])
    ]


def setting_name(record: dict, setting: dict) -> str:
    """The flags of a setting."""
    known = f" --known_words {record['known_words']}" if record["known_words"] else ""
    min_p = f" --min_p {setting['min_p']}" if setting["min_p"] else ""
    flags = f"`--constraint_rate {setting['constraint_rate']}{min_p}{known} --max_dual_nll {setting['max_dual_nll']}`"
    return flags if min_p or known else f"the paper's settings with {flags}"


def quality() -> str:
    """What each setting keeps, of how many references, how near and how different."""
    lines = [[setting_name(record, setting), *setting_cells(setting)] for record, setting in quality_settings()]
    beam = quality_settings()[0][0]["beam_12"]
    best = [number(beam["cosine_1"], 3), number(beam["bleu_1"])]
    lines.append(["best hypothesis of the starters' beam search (beam 12)", "", *best, "", ""])
    first, last = (corpus.PAPER_BY_RANK[rank][0] for rank in (1, corpus.RANKS))
    among = fmean(bleu for bleu, _ in corpus.PAPER_BETWEEN_RANKS.values())
    lines.append(
        [
            "*ParaBank 2, tables 1 and 2 (CzEng)*",
            "",
            "",
            f"*{number(first)} / {number(last)}*",
            f"*{number(among)}*",
            "",
        ]
    )
    return table(["settings", *QUALITY], lines)


def setting_cells(setting: dict) -> list[str]:
    """The figures of a setting, under the heads of QUALITY."""
    m = setting["mean"]
    cosine, bleu = (
        f"{number(m[f'{name}_1'], p)} / {number(m[f'{name}_5'], p)}" for name, p in (("cosine", 3), ("bleu", 1))
    )
    return [f"{number(m['kept'])} %", cosine, bleu, number(m["among_ranks"]), number(m["paraphrases"], 2)]


def quality_grid() -> str:
    """Meaning against diversity by the rate of constraints and the limit of the dual score, beside beam search."""
    record = experiment("quality_grid")["results"]
    lines = []
    for setting in sorted(record["settings"], key=lambda entry: (entry["constraint_rate"], -entry["max_dual_nll"])):
        m = setting["mean"]
        lines.append(
            [
                *(str(setting[name]) for name in ("constraint_rate", "max_dual_nll")),
                f"{number(m['kept'])} %",
                *(number(m[name], 3) for name in ("cosine_1", "beam_cosine", "cosine_5")),
                *(number(m[name]) for name in ("bleu_1", "beam_bleu", "bleu_5", "among_ranks")),
            ]
        )
    head = ["rate", "limit", "references kept", "cosine, rank 1", "cosine, beam search", "cosine, rank 5"]
    head += ["1-BLEU, rank 1", "1-BLEU, beam search", "1-BLEU, rank 5", "1-BLEU between ranks"]
    return table(head, lines, f"{record['references']} references, {len(record['settings'][0]['by_seed'])} seeds.")


def quality_guards() -> str:
    """The same settings with and without guards."""
    names = ("paper_settings", "paper_guards", "demo_rate", "demo_guards")
    records = [experiment(f"quality_{name}")["results"] for name in names]
    lines = []
    for without, guarded in (records[:2], records[2:]):
        for limit in sorted({entry["max_dual_nll"] for entry in guarded["settings"]}, reverse=True):
            for record, name in ((without, "none"), (guarded, ", ".join(guarded["guards"]))):
                setting = next(entry for entry in record["settings"] if entry["max_dual_nll"] == limit)
                lines.append([setting_name(record, setting), name, *setting_cells(setting)])
    return table(["settings", "guards", *QUALITY], lines)


def quality_short() -> str:
    """The papers' settings, the demo's and plain beam search by the best paraphrase of each reference."""
    head = ["settings", "references kept", "cosine, rank 1", "beam search: cosine of the same references"]
    head += ["1-BLEU, rank 1", "1-BLEU between ranks 1, 3, 5"]
    (record, papers), (_, demos) = quality_settings()[0], quality_settings()[-1]
    lines = [
        [
            *(name, f"{number(m['kept'])} %", number(m["cosine_1"], 3), number(m["beam_cosine"], 3)),
            *(number(m["bleu_1"]), number(m["among_ranks"])),
        ]
        for name, m in (("the defaults", papers["mean"]), ("`--preset starter`", demos["mean"]))
    ]
    beam = record["beam_12"]
    cosine = number(beam["cosine_1"], 3)
    lines.append(["plain beam search, one translation", "100 %", "-", cosine, number(beam["bleu_1"]), "-"])
    among = fmean(bleu for bleu, _ in corpus.PAPER_BETWEEN_RANKS.values())
    first = f"*{number(corpus.PAPER_BY_RANK[1][0])}*"
    lines.append(["*in the paper (Czech-English, CzEng)*", "-", "-", "-", first, f"*{number(among)}*"])
    return table(head, lines, f"{record['references']} references.")


def quality_by_rank() -> str:
    """1-BLEU by rank beside ParaBank 2's tables 1 and 2."""
    rates_and_limits = ((0.5, 3.5), (0.3, 3.0))  # rate and cut: the paper's settings, and the starters'
    settings = [
        (record, setting)
        for record, setting in quality_settings()
        if (setting["constraint_rate"], setting["max_dual_nll"]) in rates_and_limits
    ]
    means = [setting["mean"] for _, setting in settings]
    lines = [
        [f"rank {rank}", number(corpus.PAPER_BY_RANK[rank][0]), *(number(mean[f"bleu_{rank}"]) for mean in means)]
        for rank in range(1, corpus.RANKS + 1)
    ]
    among = fmean(bleu for bleu, _ in corpus.PAPER_BETWEEN_RANKS.values())
    shared = fmean(line[1] for line in corpus.PAPER_BY_RANK.values())
    lines.append(
        ["between ranks 1, 3 and 5, mean of the three pairs", number(among), *(number(m["among_ranks"]) for m in means)]
    )
    lines.append(["intersection/union, mean over the ranks", number(shared), *(number(m["overlap"]) for m in means)])
    return table(["1-BLEU against the reference", "paper", *(setting_name(*pair) for pair in settings)], lines)


def starters() -> str:
    """How well the starter translators translate."""
    lines = []
    for name in ("de-en", "en-de"):
        figures, training = starter(name, "measured.json"), starter(name, "training.json")
        counts = [figures["pairs"], figures["parameters"], training["progress"]["seconds"] / 60]
        lines.append([f"`starter/{name}`", number(figures["bleu"]), *(number(count, 0) for count in counts)])
    head = ["starter", "BLEU", "held-out pairs", "parameters", "minutes of training"]
    return table(head, lines, f"`{starter('de-en', 'measured.json')['signature']}`")


def back_translation() -> str:
    """BLEU and chrF of translators that train on with and without back-translated pairs, beside ParaZh's table 2."""
    results = experiment("backtranslation_table")["results"]
    names = {
        "before": f"{results['pairs']:,} pairs",
        "bitext": "trained on, the same pairs",
        "mixed": f"trained on, and {number(fmean(results['synthetic_pairs']), 0)} back-translated pairs",
    }
    lines = [
        [name, *(mean_of(results[metric][arm]) for metric in results["signatures"])] for arm, name in names.items()
    ]
    lines += [[f"*the paper, {name}*", f"*{bleu}*", ""] for name, bleu in PAPER_BACK_TRANSLATION.items()]
    steps = " and ".join(f"{count:,}" for count in results["steps"])
    below = f"{results['seeds']} seeds, {steps} steps, {number(results['test_pairs'], 0)} test pairs."
    head = ["German to English", *results["signatures"]]
    return table(head, lines, f"{below} {'; '.join(results['signatures'].values())}.")


def mean_of(figures: dict) -> str:
    """The mean and the deviation of several seeds."""
    return f"{number(figures['mean'])} ± {number(figures['deviation'])}"


def three(setting: str = PAPERS_SETTINGS, name: str = "parabank_tables") -> dict:
    """The three papers' systems in one setting, with the values of each run."""
    return experiment(name)["results"][setting]


def common(system: str, measure: str, setting: str = PAPERS_SETTINGS) -> float:
    """A system or a pair of systems on the references that all systems have."""
    results = three(setting)["common"]
    return fmean(results["between" if " / " in system else "against"][system][measure])


def decoding_bleu() -> str:
    """What sampling and constraints cost in BLEU (ParaZh-22M, section 2.4)."""
    works = experiment("decoding_bleu")["results"]
    lines = []
    for way in next(iter(works.values()))["ways"]:
        scores = [work["ways"][way] for work in works.values()]
        chances = ["" if score["p"] is None or score["p"] >= 0.05 else "*" for score in scores]
        lines.append(
            [way, *(with_spread(score["bleu"], 1) + star for score, star in zip(scores, chances, strict=True))]
        )
    head = ["translation", *(f"{name}, {work['sentences']:,} sentences" for name, work in works.items())]
    return table(head, lines, "Star: another BLEU than beam search, p < 0.05.")


def side_by_side() -> str:
    """ParaBank 2's table 1 and ParaBank's table 4, top, on the references that all systems have."""
    settings = (PAPERS_SETTINGS, STARTERS_SETTINGS)
    count, fewer = (number(common("ParaNMT", "references", setting), 0) for setting in settings)
    head = [
        f"measured on {count} references", "references with a text", "1-BLEU against the reference",
        "intersection/union", "tree edit distance", "length ratio", "predicted judgment (paper: human judgment)",
        "cosine", f"1-BLEU against the reference, starters' settings, {fewer} references",
    ]  # fmt: skip
    lines = []
    for name in SYSTEMS:
        paper = dict(zip((BLEU, IOU, TREE, RATIO), systems.PAPER_AGAINST.get(name, ()), strict=False))
        places = {BLEU: 1, IOU: 1, TREE: 2, RATIO: 2}
        cells = [beside(number(common(name, m), p), paper.get(m), p) for m, p in places.items()]
        rating = beside(number(common(name, "judgment")), systems.PAPER_JUDGED.get(name))
        texts = number(fmean(three()["own"]["against"][name]["references"]), 0)
        last = [rating, number(common(name, "cosine"), 2), number(common(name, BLEU, STARTERS_SETTINGS))]
        lines.append([name, texts, *cells, *last])
    return table(head, lines)


def between_systems() -> str:
    """ParaBank 2's table 2, on the same references."""
    lines = []
    for name, paper in zip(PAIRS, systems.PAPER_BETWEEN.values(), strict=True):
        cells = [beside(number(common(name, m)), p) for m, p in zip((BLEU, IOU), paper, strict=False)]
        tree = beside(number(common(name, TREE), 2), paper[2], 2)
        lines.append([name, *cells, tree, number(common(name, BLEU, STARTERS_SETTINGS))])
    return table(
        ["compared", "1-BLEU", "intersection/union", "tree edit distance", "1-BLEU, starters' settings"], lines
    )


def orders() -> str:
    """Which of the papers' orders come out, on the same references."""
    differences = {name: [run[name] for run in three()["common"]["orders"]] for name in systems.PAPER_ORDERS}
    papers = dict(systems.PAPER_ORDERS)
    first, second = "ParaBank 17", "ParaBank 34"
    differences[f"1-BLEU, {first} - {second}"] = [common(first, BLEU) - common(second, BLEU)]
    papers[f"1-BLEU, {first} - {second}"] = systems.PAPER_AGAINST[first][0] - systems.PAPER_AGAINST[second][0]
    first = "ParaBank 2, rank 1"
    against = three()["common"]["against"]
    for other in ("ParaNMT", "ParaBank 17", "ParaBank 34"):
        name = f"{TREE.replace('_', ' ')}, ParaBank 2's rank 1 - {other}"
        differences[name] = [
            ours - theirs for ours, theirs in zip(against[first][TREE], against[other][TREE], strict=True)
        ]
        papers[name] = systems.PAPER_AGAINST[first][2] - systems.PAPER_AGAINST[other][2]
    lines = []
    for name, ours in differences.items():
        comes_out = "yes" if all(difference * papers[name] > 0 for difference in ours) else "**no**"
        places = 2 if name.startswith("tree") else 1
        lines.append([name, with_spread(ours, places), number(papers[name], places), comes_out])
    return table(["difference", "ours", "paper", "same order as in the paper"], lines)


def second_corpus() -> str:
    """ParaBank's systems by translators from German and from French (section 4; table 4, "Avg.")."""
    german, french = (three(name=name)["own"]["against"] for name in ("parabank_tables", "parabank_tables_french"))
    lines = []
    for name, (czech_bleu, french_bleu, french_human) in systems.PAPER_SECOND.items():
        ours, theirs = ({key: fmean(values) for key, values in results[name].items()} for results in (german, french))
        lines.append(
            [
                name,
                " / ".join(number(figures["references"], 0) for figures in (ours, theirs)),
                beside(number(100 - ours[BLEU]), czech_bleu),
                beside(number(100 - theirs[BLEU]), french_bleu),
                beside(number(ours["judgment"]), systems.PAPER_JUDGED[name]),
                beside(number(theirs["judgment"]), french_human),
                " / ".join(number(figures["cosine"], 2) for figures in (ours, theirs)),
            ]
        )
    head = ["", "references, German / French", "BLEU, German (Czech)", "BLEU, French"]
    head += ["predicted judgment, German (people, Czech)", "predicted judgment, French (people)"]
    return table([*head, "cosine, German / French"], lines)


def authors() -> str:
    """Our measures on the outputs that ParaBank's authors released."""
    results = experiment("parabank_tables")["results"]["authors"]["the authors' own outputs"]["common"]
    lines = [
        [name, number(fmean(results["against"][name][BLEU])), number(systems.PAPER_AGAINST[name][0])]
        for name in ("ParaNMT", "ParaBank 17", "ParaBank 34")
    ]
    pair = results["between"][PAIRS[0]][BLEU]
    lines.append([PAIRS[0], number(fmean(pair)), number(systems.PAPER_BETWEEN["ParaBank 17", "ParaBank 34"][0])])
    count = fmean(results["against"]["ParaNMT"]["references"])
    return table(
        ["1-BLEU", f"measured by us, {number(count, 0)} references", "printed, ParaBank 2, tables 1 and 2"], lines
    )


def bleu_by_length() -> str:
    """ParaBank's table 4, bottom: ours, the authors' outputs by our measure, in print."""
    ours, theirs = three()["by_length"], experiment("parabank_tables")["results"]["authors"]
    theirs = theirs["the authors' own outputs"]["by_length"][0]
    lines = []
    for name, paper in systems.PAPER_BY_LENGTH.items():
        cells = []
        for place, length in enumerate(lengths.LENGTHS):
            runs = [run[name]["lengths"][place] for run in ours]
            enough = all(run["references"] >= FEWEST for run in runs)
            bleu = number(fmean(run["bleu"] for run in runs)) if enough else "-"
            cells.append(f"{bleu} / {number(theirs[name]['lengths'][place]['bleu'])} / {number(paper[length])}")
        lines.append([name, *cells])
    head = "BLEU: ours / authors' outputs / printed"
    return table([head, *(f"{length} words" for length in lengths.LENGTHS)], lines)


def same_as_28() -> str:
    """Of how many references ParaNMT's text is that of the system without constraints."""
    return "{} of {}".format(*three()["equal_to_28"])


def news_kept() -> str:
    """Of how many references of news ParaBank 2 has a text."""
    results = experiment("parabank_tables_news")["results"]
    count = fmean(results[PAPERS_SETTINGS]["own"]["against"]["ParaBank 2, rank 1"]["references"])
    return f"{number(count, 0)} of {results['references']}"


def judged() -> str:
    """ParaBank's systems by predicted judgment."""
    return ", ".join(number(common(name, "judgment")) for name in systems.PAPER_JUDGED if name != "ParaNMT")


def most_diverse() -> str:
    """System 21 and the next of ParaBank's evaluated systems by 1-BLEU."""
    bleus = {name: common(name, BLEU) for name in systems.PAPER_JUDGED}
    name = max((name for name in bleus if name != "ParaBank 21"), key=bleus.__getitem__)
    return f"1-BLEU {number(bleus['ParaBank 21'])}; the next is {name} with {number(bleus[name])}"


def against_paranmt() -> str:
    """ParaBank 2's rank 1 against ParaNMT."""
    pairs = [(common("ParaBank 2, rank 1", m), common("ParaNMT", m)) for m in (BLEU, IOU)]
    return "; ".join(f"{number(parabank)} against {number(paranmt)}" for parabank, paranmt in pairs)


def between_ranks() -> str:
    """1-BLEU between ranks, and between ParaBank 17 and 34."""
    return f"{ranges((common(pair, BLEU) for pair in PAIRS[1:]), 1)}; {number(common(PAIRS[0], BLEU))}"


def tree_distances() -> str:
    """Tree edit distance of ParaBank 2's ranks from the reference."""
    return ranges((common(name, TREE) for name in SYSTEMS if name.startswith("ParaBank 2,")), 1)


def judgment_figures() -> dict:
    """How well the regression predicts what people gave."""
    return experiment("judgment")["made_by"]["figures"]


def folds() -> str:
    """Spearman over the folds, and its deviation."""
    figures = judgment_figures()
    return f"{number(figures['spearman'], 3)} ± {number(figures['spearman_deviation_of_folds'], 3)}"


def judgment() -> str:
    """ParaBank, section 5.1."""
    names = {
        "spearman_last_fifth": "held-out fifth of the references",
        "spearman_last_fifth_bleu_alone": "held-out fifth, sentence BLEU alone",
        "spearman_last_fifth_cosine_alone": "held-out fifth, cosine of all-MiniLM-L6-v2 alone",
        "spearman_within_references": "within the candidates of one reference",
        "pearson_of_system_means": "means of systems (Pearson)",
    }
    lines = [[name, number(judgment_figures()[key], 3)] for key, name in names.items()]
    return table(
        ["predicted against human judgment", "Spearman"], [["cross-validation over ten folds", folds()], *lines]
    )


def judgment_rho() -> str:
    """The same in a line."""
    last = number(judgment_figures()["spearman_last_fifth"], 3)
    return f"{folds()} in ten-fold cross-validation; {last} on the held-out fifth of the references"


def idf() -> str:
    """IDF of ParaBank's example words in the starter's table."""
    idf_table = read_idf(idf_file("starter/de-en"))
    return ", ".join(number(idf_table.idf(word)) for word in IDF_WORDS)


MADE = (
    quality, quality_grid, quality_short, quality_guards, quality_by_rank, starters, back_translation, decoding_bleu,
    side_by_side, between_systems, orders, second_corpus, authors, bleu_by_length, same_as_28, news_kept, judged,
    most_diverse, against_paranmt, between_ranks, tree_distances, judgment, judgment_rho, idf,
)  # fmt: skip
