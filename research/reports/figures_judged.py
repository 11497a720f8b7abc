"""Figures of what people said of ParaBank's released outputs: each function makes a table or a figure."""

from __future__ import annotations

from research.experiments.systems import (
    PAPER_JUDGED,
    PAPER_JUDGED_BY_LENGTH,
    PAPER_ORACLES_AGAINST,
    PAPER_ORACLES_JUDGED,
)
from research.reports.figures import beside, experiment, number, table
from toolkit.evaluate.judged import PAPER_GRAMMATICAL

MOST_GRAMMATICAL = "ParaBank 34"  # of the systems in ParaBank's table 5
LENGTHS = (5, 10, 20, 40)  # words of a reference, ParaBank, section 5.3


def grammatical() -> str:
    """ParaBank, table 5, in a line: the released judgments, in brackets what is in print."""
    systems = experiment("judged")["results"]["systems"]
    return ", ".join(
        f"{name.removeprefix('ParaBank ')} {beside(number(systems[name]['grammatical']), paper)}"
        for name, paper in PAPER_GRAMMATICAL.items()
    )


def grammaticality_rho() -> str:
    """How well the regression on the features of the predicted judgment predicts grammaticality."""
    figures = experiment("grammaticality_regression")["made_by"]["figures"]
    agreement = experiment("judged")["results"]["split_half_spearman"]["grammaticality"]
    return (
        f"{number(figures['spearman'], 2)} ± {number(figures['spearman_deviation_of_folds'], 2)} "
        f"(two halves of the annotators agree by {number(agreement, 2)})"
    )


def oracles() -> str:
    """ParaBank 2's oracle systems, picked among ParaBank's."""
    results = experiment("judged")["results"]["oracles"]["against"]
    head = ["oracle (paper)", "human score", "% grammatical", "1-BLEU against the reference", "intersection/union"]
    lines = []
    for name, figures in results.items():
        score, grammar = PAPER_ORACLES_JUDGED[f"ParaBank 2, {name}"]
        bleu, shared, _, _ = PAPER_ORACLES_AGAINST[f"ParaBank 2, {name}"]
        ours = (figures[key] for key in ("score", "grammatical", "one_minus_bleu", "intersection_over_union"))
        papers = (score, grammar, bleu, shared)
        lines.append([name, *(beside(number(value), paper) for value, paper in zip(ours, papers, strict=True))])
    return table(head, lines)


def human_scores() -> str:
    """ParaBank, table 4, top, Czech-English: the released judgments, in brackets what is in print."""
    systems = experiment("judged")["results"]["summary"]["systems"]
    lines = []
    for name, papers in PAPER_JUDGED_BY_LENGTH.items():
        figures = systems[name]
        cells = [beside(number(figures["lengths"][str(n)]), papers[n]) for n in LENGTHS]
        average = f"{number(figures['average'])} ± {number(figures['score_error'])} ({number(PAPER_JUDGED[name])})"
        lines.append([name, *cells, average])
    return table(["system", *(f"{n} words" for n in LENGTHS), "average"], lines)


def human_scores_gap() -> str:
    """The greatest difference of an average to the paper's, in points."""
    systems = experiment("judged")["results"]["summary"]["systems"]
    return number(max(abs(systems[name]["average"] - paper) for name, paper in PAPER_JUDGED.items()))


def human_agreement() -> str:
    """Krippendorff's alpha of the released judgments: similarity and grammaticality."""
    agreement = experiment("judged")["results"]["summary"]["agreement"]
    return " and ".join(number(agreement[name]["alpha"], 2) for name in ("similarity", "grammaticality"))


def people_left_out() -> str:
    """Annotators of the released judgments whom the paper's rules leave out, and all."""
    summary = experiment("judged")["results"]["summary"]
    return f"{len(summary['left_out'])} of {summary['annotators']}"


def more_grammatical() -> str:
    """How many systems have more grammatical texts than ParaNMT, and the gain of the best of the paper's."""
    systems = experiment("judged")["results"]["systems"]
    paranmt = systems["ParaNMT"]["grammatical"]
    ours = {name: figures["grammatical"] for name, figures in systems.items() if name.startswith("ParaBank")}
    more = sum(share > paranmt for share in ours.values())
    return f"{more} of {len(ours)}; {_gain(ours[MOST_GRAMMATICAL], paranmt)}"


def nearest() -> str:
    """The gain in human score of the best system over ParaNMT: over all lengths, and of each length."""
    systems = experiment("judged")["results"]["summary"]["systems"]
    paranmt, ours = systems["ParaNMT"], [figures for name, figures in systems.items() if name.startswith("ParaBank")]
    by_length = (
        _gain(max(figures["lengths"][str(n)] for figures in ours), paranmt["lengths"][str(n)]) for n in LENGTHS
    )
    return f"{_gain(max(figures['average'] for figures in ours), paranmt['average'])}; {', '.join(by_length)}"


def _gain(figure: float, baseline: float) -> str:
    """How much greater a figure is than another, in per cent of the other."""
    return f"{number(100 * (figure / baseline - 1))} %"


def unigram_rho() -> str:
    """The rank correlation of BLEU and unigram precision over the released systems."""
    results = experiment("released")["results"]
    rho = number(results["spearman_of_bleu_and_unigram_precision"], 3)
    return f"{rho} over {len(results['systems'])} systems"


def more_diverse() -> str:
    """How many released systems are more diverse than ParaNMT, by the length of the reference (ParaBank, 5.4)."""
    bleu = experiment("released")["results"]["by_length"]
    paranmt = bleu.pop("ParaNMT")
    counts = (sum(figures[str(n)] < paranmt[str(n)] for figures in bleu.values()) for n in LENGTHS)
    return f"{', '.join(map(str, counts))} of {len(bleu)} systems, of {', '.join(map(str, LENGTHS))} words"


def openings() -> str:
    """How often translations begin as their references."""
    lines = [
        [name, number(shares["texts"], 0), *(number(shares[str(count)]) for count in (1, 2, 3))]
        for name, shares in experiment("released")["results"]["openings"].items()
    ]
    return table(
        ["% of the texts that begin with the reference's first", "texts", "token", "2 tokens", "3 tokens"], lines
    )


def five_words() -> str:
    """BLEU of references of five words, with and without the texts that repeat their reference."""
    measures = ("bleu", "bleu_without_copies", "paper")
    lines = [
        [name, f"{figures['copies']} of {figures['texts']}", *(number(figures[measure]) for measure in measures)]
        for name, figures in experiment("released")["results"]["five_words"].items()
    ]
    return table(["BLEU, references of five words", "copies", "all texts", "without copies", "printed"], lines)


def predicted_order() -> str:
    """ParaBank's systems 28 and 31: predicted judgments and human scores of the authors' outputs."""
    predicted = experiment("parabank_tables")["results"]["authors"]["the authors' own outputs"]["own"]["against"]
    people = experiment("judged")["results"]["summary"]["systems"]
    names = ("ParaBank 28", "ParaBank 31")
    regression = " and ".join(number(predicted[name]["judgment"][0]) for name in names)
    return (
        f"{regression} by the regression, {' and '.join(number(people[name]['average']) for name in names)} by people"
    )


SCORES_OF_MEANING = {  # name in the table: field in `milliseconds` of `meaning_scores.py`, and what it needs
    "cosine of MiniLM": ("semantic", "a sentence encoder"),
    "regression on judgments": ("judgment", "nothing, English"),
    "likelihood given the text": ("given_reference", "`starter/rewriter`, English"),
    "entailment, lesser direction": ("entailed", "a small cross-encoder trained on SICK"),
    "entailed by the text": ("entailed", "the same"),
    "ParaPLUIE": ("parapluie", "SmolLM2 of 135 million weights"),
    "rubric": ("rubric", "the same"),
}


def meaning_scores() -> str:
    """How scores of meaning agree with people's judgments and readings, and what they cost."""
    results = experiment("meaning_scores")["results"]
    judged, read = results["judgments"], results["readings"]
    lines = []
    for name, (field, needs) in SCORES_OF_MEANING.items():
        low, high = judged[name]["interval"]
        low_area, high_area = read[name]["interval"]
        lines.append(
            [
                f"{name} ({needs})",
                f"{number(judged[name]['spearman'], 2)} ({number(low, 2)} to {number(high, 2)})",
                number(judged[name]["within references"], 2),
                f"{number(read[name]['auc'], 2)} ({number(low_area, 2)} to {number(high_area, 2)})",
                number(read[name].get("judge with it"), 3),
                number(results["milliseconds"][field], 1),
            ]
        )
    fitted = read["fitted judge"]
    low, high = fitted["interval"]
    area = f"{number(fitted['auc'], 2)} ({number(low, 2)} to {number(high, 2)})"
    lines.append(["the fitted judge, in folds of these texts alone", "-", "-", area, number(fitted["auc"], 3), "-"])
    head = ["score", "Spearman", "within references", "AUC of usable", "judge with it", "ms a pair"]
    return table(head, lines)


def meaning_pairs() -> str:
    """Of how many pairs the correlations are."""
    pairs = experiment("meaning_scores")["results"]["judgments"]["pairs"]
    return f"{number(pairs['count'], 0)} pairs of {pairs['references']} references"


def meaning_outputs() -> str:
    """Of how many outputs the areas are."""
    outputs = experiment("meaning_scores")["results"]["readings"]["outputs"]
    return f"{number(outputs['count'], 0)} outputs, {number(outputs['usable'], 0)} of them usable"


def sheets_of_papers() -> str:
    """The sheets for people: their size, and the hours that all annotators need together."""
    lines = [
        [f"`{name}`", *(number(sheet[key], 0) for key in ("pages", "texts", "judgments", "hours_of_all_annotators"))]
        for name, sheet in experiment("human_packs")["results"]["sheets"].items()
    ]
    return table(["sheet", "pages", "texts", "annotators of a text", "hours of all annotators"], lines)


def references_that_tell() -> str:
    """How many references tell a difference between two systems."""
    plan = experiment("human_packs")["results"]["plan"]
    counts = plan["references_that_tell"]
    below = (
        "Standard deviation of the difference of two systems over references: "
        f"{number(plan['median_deviation'])} points, the median of {len(plan['deviation_of_differences'])} pairs."
    )
    lines = [["references", *(number(count, 0) for count in counts.values())]]
    return table(["difference between two systems, points", *counts], lines, below)


def half_intervals() -> str:
    """The half widths of the 95 % intervals of a sheet's means."""
    plan = experiment("human_packs")["results"]["plan"]
    levels = plan["half_interval_of_levels"]
    return (
        f"{number(plan['half_interval_of_a_mean'])} points of 100 for the mean of a system in `parabank`, at most "
        f"{number(levels['paranmt'], 2)} levels for the mean of a range in `paranmt` and "
        f"{number(levels['parazh'], 2)} for that of `parazh`"
    )


MADE = (
    *(sheets_of_papers, references_that_tell, half_intervals),
    *(meaning_scores, meaning_pairs, meaning_outputs),
    *(five_words, grammatical, grammaticality_rho, human_agreement, human_scores, human_scores_gap, more_grammatical),
    *(more_diverse, nearest, openings, oracles, people_left_out, predicted_order, unigram_rho),
)
