"""How good the outputs of a paraphraser are: BLEU, iBLEU, ROUGE and cosine, of the first output and of the best of n.

The papers report for each input the output with the highest iBLEU of several, chosen with the reference at hand
(ParaMac, section 5.1.1). Nobody can choose so who has no reference, so the first output stands beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean

from sacrebleu.metrics import BLEU

from toolkit.evaluate.ibleu import ALPHA, TOKENIZERS, _sentence_ibleu, bleu_tokenizer, corpus_ibleu
from toolkit.evaluate.tables import table
from toolkit.score.overlap import intersection_over_union_percentage
from toolkit.system.extras import require

ROUGE = ("rouge1", "rouge2", "rougeL")
CHOICES = ("first", "best")
HEADS = {
    "ibleu": "iBLEU",
    "bleu": "BLEU",
    "input_bleu": "BLEU with the input",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "intersection_over_union": "intersection/union with the input",
    "length_ratio": "length ratio",
    "semantic": "cosine with the input",
    "bertscore": "BERTScore with the input",
}

Measure = Callable[[list[tuple[str, str]]], list[float]]  # of pairs of texts
NONE: Mapping[str, Measure] = {}


@dataclass(frozen=True)
class Paraphrased:
    """An input with its references and what a system made of it.

    Attributes:
        text: The input.
        references: Human paraphrases of it, one or more.
        outputs: The system's, best first; none where it gave none, which counts as an empty text.
    """

    text: str
    references: tuple[str, ...]
    outputs: tuple[str, ...]


def markdown(systems: dict[str, dict[str, dict[str, float]]]) -> str:
    """A Markdown table with two lines for each system: its first output, and the best of its outputs by iBLEU."""
    names = list(dict.fromkeys(name for system_figures in systems.values() for name in system_figures["first"]))
    body = []
    for system, system_figures in systems.items():
        for choice in CHOICES:
            cells = [f"{system_figures[choice][name]:.2f}" for name in names]
            similarity = system_figures["all"].get("self_bleu")
            further_cells = [
                f"{system_figures['all']['answered']:.1f}",
                "-" if similarity is None else f"{similarity:.1f}",
            ]
            body.append([system, choice, *cells, *further_cells])
    heads = [HEADS.get(name, name) for name in names]
    return table(["system", "output", *heads, "% with an output", "self-BLEU"], body)


def _best_output(example: Paraphrased, alpha: float, lang: str = "en") -> str:
    """The output with the highest iBLEU against the references; the first of equal ones, "" of none."""
    metric = BLEU(effective_order=True, tokenize=bleu_tokenizer(lang))
    scores = [_sentence_ibleu(output, example.references, example.text, alpha, metric) for output in example.outputs]
    return example.outputs[max(range(len(scores)), key=scores.__getitem__)] if scores else ""


def evaluate(
    examples: Sequence[Paraphrased],
    alpha: float = ALPHA,
    measures: Mapping[str, Measure] = NONE,
    lang: str = "en",
) -> dict[str, dict[str, float]]:
    """The figures of a system's outputs.

    Args:
        examples: Inputs, at least one. Where some have more references than others, the first of each count.
        alpha: Weight of the references in iBLEU, in [0, 1].
        measures: By name further measures of input and output, such as "semantic" or "bertscore".
        lang: Language of the texts (ISO 639-1): in one without spaces, characters are words.

    Returns:
        Under "first" and "best" (`_best_output`) the figures of that output: `bleu` and `ibleu` of the corpus,
        `input_bleu` (BLEU against the inputs), ROUGE F1 x 100 (the greatest over the references, its mean over inputs),
        `intersection_over_union` with the input x 100, `length_ratio` of output and input, and the means of `measures`.
        Under "all": `outputs`, the mean number of an input; `answered`, the percentage of inputs
        with one; and `_self_bleu`, where inputs have several.
    """
    results = {}
    for name in CHOICES:
        outputs = [
            _best_output(example, alpha, lang) if name == "best" else next(iter(example.outputs), "")
            for example in examples
        ]
        results[name] = _figures(examples, outputs, alpha, measures, lang)
    output_lists = [example.outputs for example in examples if len(example.outputs) > 1]
    results["all"] = {
        "outputs": fmean(len(example.outputs) for example in examples),
        "answered": 100 * fmean(bool(example.outputs) for example in examples),
        **({"self_bleu": _self_bleu(output_lists, lang=lang)} if output_lists else {}),
    }
    return results


def evaluate_systems(
    test: Sequence[Paraphrased],
    systems: Mapping[str, Sequence[Sequence[str]]],
    alpha: float = ALPHA,
    measures: Mapping[str, Measure] = NONE,
    lang: str = "en",
) -> dict[str, dict[str, dict[str, float]]]:
    """The figures of several systems on the same inputs, by name of the system; see `evaluate`.

    Args:
        test: Inputs with references.
        systems: By name, the outputs of each input, best first.
        alpha: See `evaluate`.
        measures: See `evaluate`.
        lang: See `evaluate`.
    """
    return {
        name: evaluate(
            [
                replace(example, outputs=tuple(system_outputs))
                for example, system_outputs in zip(test, outputs, strict=True)
            ],
            alpha,
            measures,
            lang,
        )
        for name, outputs in systems.items()
    }


def _figures(
    examples: Sequence[Paraphrased],
    outputs: Sequence[str],
    alpha: float,
    measures: Mapping[str, Measure],
    lang: str,
) -> dict[str, float]:
    """The figures of one output of each input, see `evaluate`."""
    count = min(len(example.references) for example in examples)
    references = [[example.references[k] for example in examples] for k in range(count)]
    texts = [example.text for example in examples]
    ibleu, bleu, input_bleu = corpus_ibleu(outputs, references, texts, alpha, lang)
    rouge = require("rouge_score.rouge_scorer").RougeScorer(ROUGE, tokenizer=None if lang == "en" else _Words(lang))
    scores = [
        rouge.score_multi(example.references[:count], output) for example, output in zip(examples, outputs, strict=True)
    ]
    pairs = list(zip(texts, outputs, strict=True))
    separate = [(_with_spaces(text, lang), _with_spaces(output, lang)) for text, output in pairs]
    return {
        "ibleu": ibleu,
        "bleu": bleu,
        "input_bleu": input_bleu,
        **{name: 100 * fmean(score[name].fmeasure for score in scores) for name in ROUGE},
        "intersection_over_union": fmean(intersection_over_union_percentage(*spaced) for spaced in separate),
        "length_ratio": fmean(len(output.split()) / max(1, len(text.split())) for text, output in separate),
        **{name: fmean(measure(pairs)) for name, measure in measures.items()},
    }


class _Words:
    """Words of letters and digits for ROUGE, whose own tokenizer knows ASCII only; characters where no spaces are."""

    def __init__(self, lang: str) -> None:
        self.lang = lang

    def tokenize(self, text: str) -> list[str]:
        """The words in lower case."""
        return re.findall(r"\w+", _with_spaces(text, self.lang).lower())


def _with_spaces(text: str, lang: str) -> str:
    """A text with its characters apart, in a language that has no spaces."""
    return " ".join(text) if lang in TOKENIZERS else text


def _self_bleu(outputs: Iterable[Sequence[str]], max_outputs: int = 5, lang: str = "en") -> float:
    """How much the outputs of an input resemble one another: the mean BLEU of each against the others.

    >>> _self_bleu([["He is ill today.", "He is ill today."]])
    100.0

    Args:
        outputs: Of each input, two or more.
        max_outputs: Of an input, so many are compared.
        lang: Language of the texts (ISO 639-1).

    Returns:
        BLEU in [0, 100], the mean over outputs and then over inputs.

    Source: Zhu et al. (2018), "Texygen", section 3.2.
    """
    metric, means = BLEU(effective_order=True, tokenize=bleu_tokenizer(lang)), []
    for texts in outputs:
        compared_texts = list(islice(texts, max_outputs))
        scores = [
            metric.sentence_score(text, compared_texts[:n] + compared_texts[n + 1 :]).score
            for n, text in enumerate(compared_texts)
        ]
        means.append(round(fmean(scores), 6))
    return fmean(means)
