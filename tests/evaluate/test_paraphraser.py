"""The figures of a paraphraser's outputs, by hand and by other programs."""

from dataclasses import replace

import pytest
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu import corpus_bleu

from tests.tiny import pairs
from toolkit.evaluate.ibleu import ibleu_signature
from toolkit.evaluate.paraphraser import Paraphrased, _best_output, _self_bleu, evaluate, markdown

REFERENCES = [reference for _, reference in pairs(30)]
SHIFTED = REFERENCES[1:] + REFERENCES[:1]
ITEMS = [
    Paraphrased(text, (paraphrase,), (f"{text} {paraphrase}", paraphrase, text))
    for text, paraphrase in zip(REFERENCES, SHIFTED, strict=True)
]


def test_the_figures_are_those_of_sacrebleu_and_rouge_score():
    result = evaluate(ITEMS, alpha=0.7)
    outputs = [item.outputs[0] for item in ITEMS]
    bleu, copied = corpus_bleu(outputs, [SHIFTED]).score, corpus_bleu(outputs, [REFERENCES]).score
    first = result["first"]
    assert first["bleu"] == pytest.approx(bleu) and first["input_bleu"] == pytest.approx(copied)
    assert first["ibleu"] == pytest.approx(0.7 * bleu - 0.3 * copied)
    scorer = RougeScorer(["rougeL"])
    rouge = [
        scorer.score(reference, output)["rougeL"].fmeasure for reference, output in zip(SHIFTED, outputs, strict=True)
    ]
    assert first["rougeL"] == pytest.approx(100 * sum(rouge) / len(rouge))
    assert result["best"]["bleu"] == pytest.approx(100), "the reference is among the outputs"
    assert result["best"]["ibleu"] > first["ibleu"]
    assert result["all"]["outputs"] == 3 and result["all"]["answered"] == 100


def test_a_copy_of_the_input_has_no_more_ibleu_than_the_references_give():
    copies = [Paraphrased(item.text, item.references, (item.text,)) for item in ITEMS]
    first = evaluate(copies)["first"]
    assert first["input_bleu"] == pytest.approx(100) and first["intersection_over_union"] == 100
    assert first["ibleu"] == pytest.approx(0.8 * first["bleu"] - 20) and first["length_ratio"] == 1


def test_references_that_only_some_inputs_have_are_left_out():
    items = [replace(item, references=(*item.references, "Something else.")) for item in ITEMS[:10]]
    assert evaluate([*items, *ITEMS[10:]]) == evaluate(ITEMS)


def test_no_output_counts_as_an_empty_text():
    silent = [Paraphrased(item.text, item.references, ()) for item in ITEMS[:5]]
    result = evaluate([*ITEMS[5:], *silent])
    assert result["all"]["answered"] == pytest.approx(100 * 25 / 30)
    assert _best_output(silent[0], 0.8) == "" and result["best"]["bleu"] < 100


def test_self_bleu_is_lower_for_outputs_that_differ():
    assert _self_bleu([[REFERENCES[0], REFERENCES[0], REFERENCES[1]]]) > _self_bleu([REFERENCES[:3]])


def test_languages_without_spaces_and_letters_beyond_ascii():
    chinese = Paraphrased(
        "他昨天没有来开会。", ("他昨天没来参加会议。",), ("昨天他没有来参加会议。", "他昨天没来开会。")
    )
    result = evaluate([chinese] * 3, lang="zh")
    assert 10 < result["first"]["bleu"] < 100 and 10 < result["first"]["rouge2"] < 100
    assert 20 < result["first"]["intersection_over_union"] < 100 and 10 < result["all"]["self_bleu"] < 100
    assert result["first"]["length_ratio"] == pytest.approx(11 / 9)
    assert ibleu_signature(0.8, 1, "zh").count("tok:zh") == 1
    russian = Paraphrased("Он не пришёл.", ("Он не явился.",), ("Он не пришёл к нам.",))
    assert evaluate([russian], lang="ru")["first"]["rouge1"] == pytest.approx(100 * 4 / 8)


def test_a_table_says_how_many_inputs_have_an_output():
    silent = [Paraphrased(item.text, item.references, ()) for item in ITEMS]
    single = [Paraphrased(item.text, item.references, item.outputs[:1]) for item in ITEMS]
    lines = markdown({"none": evaluate(silent), "one": evaluate(single)}).splitlines()
    assert lines[0].endswith("| % with an output | self-BLEU |")
    assert lines[2].endswith("| 0.0 | - |") and lines[4].endswith("| 100.0 | - |")
