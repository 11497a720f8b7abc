"""The figures of a paraphraser's outputs, by hand and by other programs."""

from dataclasses import replace

import pytest
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu import corpus_bleu

from tests.tiny import pairs
from toolkit.evaluate.paraphraser import Paraphrased, best_output, evaluate, self_bleu

REFERENCES = [reference for _, reference in pairs(30)]
SHIFTED = REFERENCES[1:] + REFERENCES[:1]
ITEMS = [
    Paraphrased(text, (other,), (f"{text} {other}", other, text))
    for text, other in zip(REFERENCES, SHIFTED, strict=True)
]


def test_the_figures_are_those_of_sacrebleu_and_rouge_score():
    found = evaluate(ITEMS, alpha=0.7)
    outputs = [one.outputs[0] for one in ITEMS]
    bleu, copied = corpus_bleu(outputs, [SHIFTED]).score, corpus_bleu(outputs, [REFERENCES]).score
    first = found["first"]
    assert first["bleu"] == pytest.approx(bleu) and first["input_bleu"] == pytest.approx(copied)
    assert first["ibleu"] == pytest.approx(0.7 * bleu - 0.3 * copied)
    scorer = RougeScorer(["rougeL"])
    rouge = [
        scorer.score(reference, output)["rougeL"].fmeasure for reference, output in zip(SHIFTED, outputs, strict=True)
    ]
    assert first["rougeL"] == pytest.approx(100 * sum(rouge) / len(rouge))
    assert found["best"]["bleu"] == pytest.approx(100), "the reference is among the outputs"
    assert found["best"]["ibleu"] > first["ibleu"]
    assert found["all"]["outputs"] == 3 and found["all"]["answered"] == 100


def test_a_copy_of_the_input_has_no_more_ibleu_than_the_references_give():
    copies = [Paraphrased(one.text, one.references, (one.text,)) for one in ITEMS]
    first = evaluate(copies)["first"]
    assert first["input_bleu"] == pytest.approx(100) and first["intersection_over_union"] == 100
    assert first["ibleu"] == pytest.approx(0.8 * first["bleu"] - 20) and first["length_ratio"] == 1


def test_references_that_only_some_inputs_have_are_left_out():
    more = [replace(one, references=(*one.references, "Something else.")) for one in ITEMS[:10]]
    assert evaluate([*more, *ITEMS[10:]]) == evaluate(ITEMS)


def test_no_output_counts_as_an_empty_text():
    silent = [Paraphrased(one.text, one.references, ()) for one in ITEMS[:5]]
    found = evaluate([*ITEMS[5:], *silent])
    assert found["all"]["answered"] == pytest.approx(100 * 25 / 30)
    assert best_output(silent[0], 0.8) == "" and found["best"]["bleu"] < 100


def test_self_bleu_is_lower_for_outputs_that_differ():
    assert self_bleu([[REFERENCES[0], REFERENCES[0], REFERENCES[1]]]) > self_bleu([REFERENCES[:3]])
