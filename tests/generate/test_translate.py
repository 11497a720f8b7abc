"""The best translations of rows, with a tiny translator."""

from dataclasses import replace

import pytest

from tests.tiny import pairs, translator, wide_translator
from toolkit.data.rows import Candidate, Origin, Row
from toolkit.decode.beam import beam_search
from toolkit.decode.shared import SharedEngine
from toolkit.generate import translate
from toolkit.generate.merge import max_output_tokens
from toolkit.generate.translate import translate_rows

BEAM = 5


def rows(count: int = 8) -> list[Row]:
    return [Row(f"demo-{n}", "demo", de, "de", en, "en", "train") for n, (de, en) in enumerate(pairs(count))]


def translated(given: list[Row], n_best: int = 1, batch_rows: int = 20) -> list[Row]:
    return list(translate_rows(given, wide_translator("de-en"), BEAM, batch_rows, n_best))


def test_rows_keep_their_order_and_have_one_translation():
    found = translated(rows())
    assert [row.id for row in found] == [f"demo-{n}" for n in range(8)]
    assert len({len(row.source or "") for row in found}) > 4, "rows are decoded in another order"
    for row in found:
        (candidate,) = row.candidates
        assert (candidate.method, candidate.draws, candidate.origins) == ("beam", 1, [Origin()])
        assert candidate.generator == translator("de-en").signature
        assert candidate.rank is None and candidate.reason in (None, "unfinished", "empty")
    assert sum(not row.candidates[0].reason for row in found) > 4


@pytest.mark.parametrize("n_best", [1, 3, BEAM])
def test_candidates_are_the_hypotheses_of_a_search_of_each_row_best_first(n_best):
    model, source, target = wide_translator("de-en").model, translator("de-en").source, translator("de-en").target
    for row in translated(rows(), n_best):
        ids = source.encode([row.source])[0]
        (found,) = beam_search(SharedEngine(model), [ids], BEAM, max_output_tokens(len(ids)), n_best)
        texts = target.decode([h.ids for h in found])
        assert [c.text for c in row.candidates] == list(dict.fromkeys(texts))
        assert sum(c.draws for c in row.candidates) == n_best
        for candidate in row.candidates:
            same = [h for h, text in zip(found, texts, strict=True) if text == candidate.text]
            best = max(same, key=lambda h: (h.ended, h.logprob))
            assert candidate.scores.forward_logprob == pytest.approx(best.logprob, abs=1e-3)
            assert candidate.scores.forward_tokens == len(best.ids)


@pytest.mark.slow
@pytest.mark.parametrize("batch_rows", [1, 15, 10_000])
def test_batches_do_not_matter(batch_rows):
    def texts(found: list[Row]) -> list[list[tuple[str, str | None]]]:
        return [[(c.text, c.reason) for c in row.candidates] for row in found]

    assert texts(translated(rows(), 3, batch_rows)) == texts(translated(rows(), 3))


def test_a_source_longer_than_the_model_does_not_stop_its_shard():
    long = Row("odd-1", "odd", "Wort " * 2000, "de", "A word.", "en", "train")
    found = translated([long, *rows(1)])
    assert [c.reason for c in found[0].candidates] == ["source_too_long"]
    assert found[1].candidates[0].text == translated(rows(1))[0].candidates[0].text


@pytest.mark.parametrize("source", ["", None, "   ", "😀👨‍👩‍👧 gut", "שלום עולם", "a\0b", "漢字", "x" * 60])
def test_odd_sources_give_a_candidate(source):
    (row,) = translated([Row("odd-1", "odd", source, "de", "We are here.", "en", "train")])
    assert len(row.candidates) == 1


def test_no_rows():
    assert translated([]) == []


def test_what_could_not_be_translated_keeps_no_text_of_the_other_language(monkeypatch):
    def unfinished(given, *_):
        for row in given:
            yield replace(row, candidates=[Candidate("Ein Satz ohne", "beam", reason="unfinished")])

    monkeypatch.setattr(translate, "translate_rows", unfinished)
    (row,) = translate.sourced_rows([replace(rows(1)[0], source=None)], translator("en-de"), "de", BEAM, 20)
    assert row.source is None and [(c.text, c.reason) for c in row.candidates] == [("", "unfinished")]
