"""Candidates of rows: words that are forbidden, chance by row, and odd texts."""

from dataclasses import replace
from typing import ClassVar

import pytest

from tests.tiny import pairs, translator, wide_translator
from toolkit.data.rows import Candidate, Origin, Row, Scores
from toolkit.decode.constraint_set import ConstraintSet, times_said
from toolkit.decode.sampling import Sample, sample
from toolkit.generate.sample import choose_words, negative_words, sample_rows

SETS, SAMPLES = 3, 8


def rows(count: int = 6) -> list[Row]:
    return [Row(f"demo-{n}", "demo", de, "de", en, "en", "train") for n, (de, en) in enumerate(pairs(count))]


def sampled(given: list[Row], seed: int = 0, batch_rows: int = 48, rate: float = 0.5) -> list[Row]:
    return list(sample_rows(given, wide_translator("de-en"), SETS, SAMPLES, 10, rate, batch_rows, seed))


def texts(row: Row) -> dict[str, int]:
    return {c.text: c.draws for c in row.candidates}


def test_draws_sum_to_sets_times_samples():
    for row in sampled(rows()):
        assert sum(c.draws for c in row.candidates) == SETS * SAMPLES
        assert len(texts(row)) == len(row.candidates), "equal texts are one candidate"
        for candidate in row.candidates:
            assert candidate.scores.forward_logprob < 0
            assert candidate.scores.forward_tokens >= 1
            assert candidate.method == "sample"
            assert candidate.reason in (None, "empty", "unfinished", "unknown_word")
            assert (candidate.text == "") == (candidate.reason == "empty")
            assert {o.recipe for o in candidate.origins} <= {f"set-{k}" for k in range(SETS)}
            assert not any(o.unmet for o in candidate.origins), "constraints on pieces are not looked for in the text"


def test_a_row_has_the_same_candidates_alone():
    found = sampled(rows())
    assert [row.id for row in found] == [f"demo-{n}" for n in range(6)]
    for together, given in zip(found, rows(), strict=True):
        (alone,) = sampled([given])
        assert without_scores(alone) == without_scores(together)
        assert logprobs(alone) == pytest.approx(logprobs(together), abs=1e-4)
        assert len(alone.candidates) > 5


def without_scores(row: Row) -> list[Candidate]:
    """All of a row's candidates but their log-probabilities, which are equal up to rounding only."""
    scores = [Scores(forward_tokens=c.scores.forward_tokens) for c in row.candidates]
    return [replace(c, scores=kept) for c, kept in zip(row.candidates, scores, strict=True)]


def logprobs(row: Row) -> list[float | None]:
    return [c.scores.forward_logprob for c in row.candidates]


@pytest.mark.slow
def test_candidates_depend_on_seed_and_id_not_on_the_order_of_rows():
    first = {row.id: texts(row) for row in sampled(rows())}
    assert {row.id: texts(row) for row in sampled(rows()[::-1])} == first
    other_seed = {row.id: texts(row) for row in sampled(rows(), seed=1)}
    assert all(other_seed[i] != first[i] for i in first)
    other_ids = [texts(row) for row in sampled([replace(row, id=f"other-{n}") for n, row in enumerate(rows())])]
    assert all(found != first[f"demo-{n}"] for n, found in enumerate(other_ids))


def test_a_forbidden_word_is_not_said_in_its_segmentation(monkeypatch):
    drawn: list[tuple[list[list[int]], Sample]] = []

    def spy(engine, sources, phrases, *rest):
        found = sample(engine, sources, phrases, *rest)
        drawn.extend(zip((one for one in phrases for _ in range(SAMPLES)), found, strict=True))
        return found

    monkeypatch.setattr("toolkit.generate.sample.sample", spy)
    free = sampled(rows(), rate=0.0)
    unconstrained = [found for _, found in drawn]
    drawn.clear()
    # the references are texts that the model says if it may
    said_by_model = [max((c.text for c in row.candidates if not c.reason), key=len) for row in free]
    given = sampled([replace(row, reference=text) for row, text in zip(rows(), said_by_model, strict=True)], rate=1.0)
    assert len(drawn) == len(given) * SETS * SAMPLES
    assert all(phrases for phrases, _ in drawn)
    assert not any(said(found, phrases) for phrases, found in drawn)
    assert sum(said(found, phrases) for (phrases, _), found in zip(drawn, unconstrained, strict=True)) > 30
    target = translator("de-en").target
    for row in given:
        words = {word for word, _ in negative_words(row.reference, target)}
        assert all(set(origin.negative) == words for c in row.candidates for origin in c.origins)


@pytest.mark.slow
def test_whole_words_are_not_said_in_any_pieces():
    target = translator("de-en").target
    free = sampled(rows(), rate=0.0)
    said_by_model = [max((c.text for c in row.candidates if not c.reason), key=len) for row in free]
    given = [replace(row, reference=text) for row, text in zip(rows(), said_by_model, strict=True)]
    came_back = {}
    for forbid in ("pieces", "words"):
        found = list(sample_rows(given, wide_translator("de-en"), SETS, SAMPLES, 10, 1.0, 48, 0, 0.0, forbid))
        assert all(sum(c.draws for c in row.candidates) == SETS * SAMPLES for row in found)
        came_back[forbid] = [c.text for row in found for c in row.candidates for o in c.origins if again(c.text, o)]
        for row in found:
            words = {word for word, _ in negative_words(row.reference, target)}
            assert all(set(origin.negative) == words for c in row.candidates for origin in c.origins)
    assert came_back["pieces"] and not came_back["words"]
    without = [replace(row, reference="NATO!") for row in rows()]
    assert list(sample_rows(without, wide_translator("de-en"), SETS, SAMPLES, 10, 1.0, 48, 0, 0.0, "words")) == sampled(
        without
    )


def test_what_is_to_be_avoided_is_said_under_no_set():
    free = sampled(rows(), rate=0.0)
    avoid = {row.id: [max((c.text for c in row.candidates if not c.reason), key=len).split()[0]] for row in free}
    settings = (wide_translator("de-en"), SETS, SAMPLES, 10, 0.5, 48, 0, 0.0, "words", 1.0)
    found = list(sample_rows(rows(), *settings, avoid))
    assert any(len(o.negative) > 1 for row in found for c in row.candidates for o in c.origins), "and the sets' words"
    for row in found:
        (word,) = avoid[row.id]
        assert all(word in origin.negative for c in row.candidates for origin in c.origins)
        assert not any(times_said(c.text, word) for c in row.candidates)
    with pytest.raises(ValueError, match="wanted forbid 'words' with words to avoid, got 'pieces'"):
        list(sample_rows(rows(), wide_translator("de-en"), SETS, SAMPLES, 10, 0.5, 48, 0, avoid=avoid))


def again(text: str, origin: Origin) -> bool:
    """Whether a text says a word that was forbidden when it was sampled."""
    return bool(ConstraintSet(negative=tuple(origin.negative)).unmet(text))


def said(found: Sample, phrases: list[list[int]]) -> bool:
    """Whether a sample has all ids of a phrase in a row."""
    return any(found.ids[i : i + len(phrase)] == phrase for phrase in phrases for i in range(len(found.ids)))


def test_negative_words_of_chinese_are_those_of_jieba():
    pieces = Characters("小明今天来到北京。")
    assert negative_words("小明今天来到北京。", pieces) == [("今天", [[4, 5]]), ("来到", [[6, 7]])], "no name, no mark"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ذهب الولد كَتَبَ 5.", ["ذهب", "الولد", "كَتَبَ"]),
        ('הילד הלך לבית־הספר צה"ל היום.', ["הילד", "הלך", "היום"]),
        ("लड़का स्कूल गया।", ["लड़का", "स्कूल", "गया"]),
        ("그 소년은 갔다.", ["그", "소년은", "갔다"]),
        ("می‌روم خانه", ["خانه"]),
        ("少年は今日、学校に行った。", []),
        ("เขาไป โรงเรียน", []),
        ("ខ្ញុំ ចូលចិត្ត", []),
    ],
)
def test_negative_words_of_scripts_without_capitals(text, words):
    assert [word for word, _ in negative_words(text, Characters("".join(dict.fromkeys(text))))] == words


class Characters:
    """Pieces of one character, numbered from 2 in the order of a text; 0 is unknown, 1 the end."""

    def __init__(self, text):
        self.names, self.unk = ["<unk>", "</s>", *text], 0

    def encode(self, texts):
        return [[*(self.names.index(character) for character in text), 1] for text in texts]


def test_negative_words_are_lower_case_and_alphabetical():
    reference = "Anna saw 3 dogs, didn't she? NATO re-entered the house-boat in 2019: never again."
    found = [word for word, _ in negative_words(reference, translator("de-en").target)]
    assert found == ["saw", "dogs", "she", "the", "in", "never", "again"]


def test_a_part_of_a_word_with_an_unknown_letter_is_no_word():
    target = translator("de-en").target
    assert target.encode(["ñ"])[0][-2] == target.unk
    assert negative_words("a peñon", target) == [("a", [target.encode(["a"])[0][:-1]])]
    assert negative_words("ñon ñ we", target) == [("we", [target.encode(["we"])[0][:-1]])]


def test_a_word_of_several_pieces_is_one_phrase_without_its_punctuation():
    target = translator("de-en").target
    found = dict(negative_words("we were overwhelmed, we said.", target))
    assert list(found) == ["we", "were", "overwhelmed", "said"]
    assert len(found["overwhelmed"][0]) > 1
    for word, spans in found.items():
        assert [text_of(span) for span in spans] == [word]
    viterbi = target.encode(["we were overwhelmed, we said."])[0]
    span = found["overwhelmed"][0]
    assert any(viterbi[i : i + len(span)] == span for i in range(len(viterbi)))


def text_of(span: list[int]) -> str:
    target = translator("de-en").target
    return target.processor.decode_pieces([target.names[i] for i in span])


@pytest.mark.parametrize("marks", ['"{}"', "({})", "'{}'", "- {} -", "go:{}", "{}'", '("{}!")', "...{}", "go!{}"])
def test_a_word_between_marks_may_be_forbidden(marks):
    target = translator("de-en").target
    for word in ("saw", "we", "overwhelmed"):
        reference = f"You said {marks.format(word)} to me."
        found = dict(negative_words(reference, target))
        assert word in found, "wherever it stands"
        (span,) = found[word]
        assert text_of(span).lstrip("\"'(-:!. ") == word
        ids = target.encode([reference])[0]
        assert any(ids[i : i + len(span)] == span for i in range(len(ids)))


def test_a_word_behind_a_mark_is_forbidden_there_and_not_inside_others():
    target = translator("de-en").target
    (span,) = dict(negative_words('A dog ("in")', target))["in"]
    assert text_of(span).startswith('"'), "the mark is of the phrase"
    whole = target.encode(["Within us."])[0]
    assert not any(whole[i : i + len(span)] == span for i in range(len(whole)))


def test_every_segmentation_of_a_repeated_word_is_forbidden_with_it():
    target = translator("de-en").target
    found = negative_words('we saw "we" ("saw") \'saw saw', target)
    assert [word for word, _ in found] == ["we", "saw"], "each word once"
    spans = dict(found)
    assert len(spans["we"]) == 2 and len(spans["saw"]) == 3, "and equal segmentations once"
    assert spans["saw"][0] == target.encode(["saw"])[0][:-1]
    assert len({tuple(span) for span in spans["saw"]}) == 3


def test_all_segmentations_of_a_chosen_word_go_to_the_decoder_and_its_name_once_to_the_record(monkeypatch):
    given: list[list[list[int]]] = []

    def spy(engine, sources, phrases, *rest):
        given.extend(phrases)
        return sample(engine, sources, phrases, *rest)

    monkeypatch.setattr("toolkit.generate.sample.sample", spy)
    (row,) = sampled([Row("demo-1", "demo", "Ja.", "de", 'we "we" (we)', "en", "train")], rate=1.0)
    assert all(len(phrases) == 3 for phrases in given) and len(given) == SETS
    assert {tuple(origin.negative) for c in row.candidates for origin in c.origins} == {("we",)}


def test_the_specials_of_a_tokenizer_are_no_words():
    class Framed:
        """A tokenizer that begins with <s>, its first word without a space, and spells a letter in bytes."""

        names: ClassVar = {
            0: "</s>",
            1: "<unk>",
            2: "<s>",
            3: "we",
            4: "▁se",
            5: "<0xC3>",
            6: "<0xB1>",
            7: "or",
            8: "▁go",
        }
        unk = 1

        def encode(self, texts):
            return [[2, 3, 4, 5, 6, 7, 8, 0]]

    assert negative_words("we señor go", Framed()) == [("we", [[3]]), ("go", [[8]])]


@pytest.mark.parametrize("reference", ["", "   ", "NATO!", "... 12 ?", "😀", "Ünë Ärger"])
def test_references_without_words_forbid_nothing(reference):
    assert negative_words(reference, translator("de-en").target) == []


WORDS = [(word, [[n]]) for n, word in enumerate("abcdefghij")]


def test_choose_words_depends_on_seed_and_row_only():
    first = choose_words(WORDS, 5, 0.5, 0, "demo-1")
    assert choose_words(WORDS, 5, 0.5, 0, "demo-1") == first
    assert choose_words(WORDS, 5, 0.5, 1, "demo-1") != first
    assert choose_words(WORDS, 5, 0.5, 0, "demo-2") != first
    assert len({str(chosen) for chosen in first}) > 1


def test_choose_words_takes_each_with_its_rate():
    assert choose_words(WORDS, 4, 0.0, 0, "x") == [[]] * 4
    assert choose_words(WORDS, 4, 1.0, 0, "x") == [WORDS] * 4
    for rate in (0.2, 0.5):
        chosen = choose_words(WORDS, 1000, rate, 0, "x")
        for word in WORDS:
            assert sum(word in subset for subset in chosen) == pytest.approx(1000 * rate, abs=60)  # over 3.8 sigma


@pytest.mark.parametrize(
    "source", ["", "   ", "😀👨‍👩‍👧 gut", "שלום עולם", "مرحبا بالعالم", "a\0b", "漢字", "x" * 60, "\ufeff\u200f"]
)
def test_odd_sources_give_candidates(source):
    (row,) = sampled([Row("odd-1", "odd", source, "de", "We are here.", "en", "train")])
    assert sum(c.draws for c in row.candidates) == SETS * SAMPLES


@pytest.mark.parametrize("reference", ["", "😀 we", "שלום", "a\0b c", "we " * 2000])
def test_odd_references_give_candidates(reference):
    (row,) = sampled([Row("odd-1", "odd", "Ich bin da.", "de", reference, "en", "train")])
    assert sum(c.draws for c in row.candidates) == SETS * SAMPLES


def test_a_source_longer_than_the_model_does_not_stop_its_shard():
    long = Row("odd-1", "odd", "Wort " * 2000, "de", "A word.", "en", "train")
    found = sampled([long, *rows(1)])
    assert [(c.text, c.draws, c.reason) for c in found[0].candidates] == [("", 0, "source_too_long")]
    assert texts(found[1]) == texts(sampled(rows(1))[0])
