"""What of a text stays letter for letter, for each class and many texts."""

import random
import re
import time
from collections import Counter
from dataclasses import replace

import pytest

from tests.tiny import folder
from toolkit.clean.marks import EXACT, compiled_for
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.paraphraser._beside import _around
from toolkit.paraphraser._masked import _masked
from toolkit.paraphraser.form import plain
from toolkit.paraphraser.paraphraser import NEAR, Paraphraser, _lost_reason, _near, _Part
from toolkit.paraphraser.protect import CLASSES, LOST, PAIR, PATTERNS, kept_pieces, lost_piece
from toolkit.paraphraser.settings import Paraphrasing

PIECES = {
    "url": ["https://example.org/a_(b)?c=1&d=2#e", "http://x.io", "www.example.com/help", "docs.example.org"],
    "mail": ["jo@example.org", "first.last+tag@mail.example.co.uk", "tom_99@example.net"],
    "mention": ["@sam", "@maria_k", "@Team2"],
    "hashtag": ["#summer", "#BlackFriday", "#2026goals"],
    "placeholder": [
        "{name}",
        "{{ user.name }}",
        "${HOME}",
        "$USER",
        "%s",
        "%1$s",
        "%(count)d",
        "<b>Save</b>",
        "<name>",
    ],
    "quantity": ["$49.99", "€ 1,500", "12.5%", "25 °C", "10 kg", "20 x 30 cm", "5GB", "10:30", "2026-05-01", "5 GB"],
    "code": ["`npm install`", "parse_date()", "src/main.py", "--force", "v2.3.1", "#48213", "PROJ-1138", "/etc/hosts"],
    "emoji": ["🎉", "❤️", "👩‍👩‍👧", "🇩🇪", ":-)", "👍🏽", "<3"],
    "pattern": ["ART.77/b"],
}
FRAMES = ["{} and more of it came here", "We looked at {} for a long time.", "It was about {}", "WE SAW {} AND LEFT.",
          "we saw {} and {} too", "They came. We wrote to {}! It was late."]  # fmt: skip
REFUSED_WHOLE = ("empty", "unfinished")
OWN_PATTERN = r"ART\.\d\d/\w"
CASES = [(kind, piece, frame) for kind, pieces in PIECES.items() for piece in pieces for frame in FRAMES]


@pytest.fixture(scope="module")
def paraphraser():
    settings = Paraphrasing(n=2, rank_by="dual", guards=(), min_semantic=None, pool=0, constraint_sets=2,
                            samples_per_set=4, beam=6, protect_patterns=(OWN_PATTERN,))  # fmt: skip
    return Paraphraser(str(folder() / "de-en"), lang="en", settings=settings, dtype="float32")


@pytest.mark.parametrize(("kind", "piece"), [(kind, piece) for kind, pieces in PIECES.items() for piece in pieces])
def test_a_piece_is_found_whole_and_has_its_class(kind, piece):
    for frame in FRAMES:
        text = frame.replace("{}", piece)
        matches = kept_pieces(text, CLASSES, [OWN_PATTERN])
        assert [(match.kind, match.text) for match in matches] == [(kind, piece)] * text.count(piece), text
        assert all(text[match.begin : match.end] == match.text for match in matches)
        assert not [match for match in kept_pieces(text, [c for c in CLASSES if c != kind]) if match.text == piece]


@pytest.mark.parametrize(
    "text",
    [
        "He weighs 70 of them in 5 minutes.",
        "I met her at 5, John.",
        "Mr. Smith (42) left.",
        "It's 3 o'clock - well-known, isn't it?",
        "Tom's iPhone and eBay",
        "AT&T or R&D",
    ],
)
def test_plain_words_and_numbers_are_no_pieces(text):
    assert kept_pieces(text, CLASSES) == []


def test_spans_of_a_text_make_the_text():
    rng = random.Random(0)
    for _ in range(500):
        words = ["Hi", "we", "saw", "it", "here,", "today.", "\n", "is", "at"]
        words += [piece for pieces in PIECES.values() for piece in pieces]
        text = " ".join(rng.choices(words, k=rng.randint(1, 9)))
        pieces = kept_pieces(text, CLASSES, [OWN_PATTERN])
        spans = _around(text, pieces, "en")
        assert "".join(text[begin:end] for begin, end, _ in spans) == text
        assert all(not any(begin < piece.begin < end < piece.end for piece in pieces) for begin, end, _ in spans)


def test_what_is_masked_is_restored_and_what_is_lost_is_said():
    for kind, piece, frame in CASES:
        text = frame.replace("{}", piece)
        pieces = kept_pieces(text, CLASSES, [OWN_PATTERN])
        for is_asked in (False, True):
            masked = _masked(text, pieces, is_asked)
            assert masked.restored(masked.text)[0].count(piece) == text.count(piece), (text, masked.text)
            assert masked.restored(masked.text.lower())[0].count(piece) == text.count(piece)
            loss = masked.restored("It was late.")[1]
            assert loss is not None and loss.reason == f"{kind}_lost" and loss.reason in LOST
            assert masked.restored(f"{masked.text} {masked.text}")[1] is not None, "said too often"


@pytest.mark.parametrize("text", ["we saw Boston with {x} and {y} today", "Tom met @sam, Mary and @jo there"])
def test_no_word_of_the_text_stands_in(text):
    masked = _masked(text, kept_pieces(text, CLASSES), False, ["Chicago"])
    words = re.findall(r"\w+", masked.text)
    assert max(Counter(words).values()) == 1 and "Chicago" not in words


def test_a_possessive_of_a_stand_in_is_refused():
    masked = _masked("Everybody talks about #WorldCup these days.", kept_pieces("#WorldCup", CLASSES), False)
    text = "Everybody talks about #WorldCup these days."
    masked = _masked(text, kept_pieces(text, CLASSES), False)
    assert masked.restored(masked.text.replace(" these", "'s"))[1] is not None


def test_each_output_has_each_piece_or_the_text_says_what_it_lacks(paraphraser):
    """Random weights write anything: whatever passes has all pieces, and candidates without one name its class."""
    cases = CASES[::3]
    texts = [frame.replace("{}", piece) for _, piece, frame in cases]
    outputs = paraphraser.candidates(texts, progress=False)
    count = 0
    for (kind, piece, _), text, candidates in zip(cases, texts, outputs, strict=True):
        for candidate in candidates:
            if candidate.rank is None:
                lacks = candidate.text.count(piece) < text.count(piece)
                assert not lacks or candidate.reason in {f"{kind}_lost", *REFUSED_WHOLE}, (text, candidate)
                continue
            count += 1
            assert candidate.text.count(piece) == text.count(piece), (kind, text, candidate.text)
    assert count > 10
    assert any(candidate.reason in LOST for candidates in outputs for candidate in candidates)


def test_a_piece_that_contains_an_avoided_phrase_leaves_its_text_alone_without_a_paraphrase(paraphraser):
    texts = ["We sleep in the house.", "It costs $5 today."]
    results = paraphraser.candidates(texts, avoid=["dollars"])
    assert len(results) == 2
    assert not any(c.rank is not None and "dollars" in c.text for candidates in results for c in candidates)


@pytest.mark.parametrize(("begin", "end"), [(0, 10), (3000, 3010), (6000, 6010)])
def test_a_language_model_reads_what_is_near(begin, end):
    text = ("word " * 2000)[:6010]
    before, after = _near("Before. ", text, begin, end)
    assert (before is None or len(before) <= NEAR) and (after is None or len(after) <= NEAR)
    assert (before or "").startswith("Before." if begin == 0 else "word") and (after is None) == (end == len(text))
    assert set((before or "").split()) <= {"Before.", "word"} and set((after or "").split()) <= {"word"}


def test_a_lost_piece_is_known_before_the_best_are_chosen():
    text = "Write to jo@example.org today."
    masked = _masked(text, kept_pieces(text, CLASSES, ()), False, (), lambda piece: False)
    part = _Part(text, masked, form=plain(masked.text, "en", True, False, masked.rest)[1])
    assert _lost_reason({"a": part}, "a", masked.text) is None
    assert _lost_reason({"a": part}, "a", "Write today.") == "mail_lost"
    assert _lost_reason({"a": replace(part, constraints=ConstraintSet((), ("today",)))}, "a", masked.text) == (
        "constraint_unmet"
    )


def test_classes_are_on_and_off(paraphraser):
    text = "We wrote to jo@example.org about 10 kg."
    assert paraphraser.settings.protect == CLASSES
    read = [p.text for p in kept_pieces(text, ["quantity"])]
    assert read == ["10 kg"]
    off = paraphraser.candidates([text], protect=(), protect_patterns=(), progress=False)[0]
    assert off and not any((candidate.reason or "") in LOST for candidate in off)
    assert (
        paraphraser.candidates([text], protect=["none"], protect_patterns=(), progress=False)[0][0].text == off[0].text
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"protect": ("links",)}, r"wanted protect of code, url, .* or none alone, got 'links'"),
        ({"protect": ("none", "url")}, "got 'none'"),
        ({"protect_patterns": ("(",)}, r"wanted regular expressions as protect_patterns, got '\('"),
        ({"protect_patterns": ("a*",)}, "which finds none"),
        ({"protect_patterns": ("(?=a)",)}, "which finds none"),
        ({"protect_patterns": (r"\b",)}, "which finds none"),
    ],
)
def test_unknown_classes_and_bad_patterns_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        replace(Paraphrasing(), **settings)


def test_one_string_is_no_list(paraphraser):
    with pytest.raises(ValueError, match="a list of classes to protect"):
        paraphraser.paraphrase(["It is late."], protect="url")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("We saw Boston, {a} and Mary's 47 cats in {b}.", ["{a}", "{b}"]),
        ("Tom's book is for {user}, not for Tom", ["{user}"]),
        ("{x} is in <b>Boston</b> today.", ["{x}", "<b>Boston</b>"]),
        ("{count} of 83 parts weigh 47 kg.", ["{count}", "47 kg"]),
        ("我去过{x}和@sam那里。", ["{x}"]),
        ("BOSTON AND {x} OF BOSTON", ["{x}"]),
    ],
)
def test_texts_that_have_the_words_which_stand_in(text, pieces):
    matches = [piece for piece in kept_pieces(text, CLASSES) if piece.text in pieces]
    masked = _masked(text, matches, False)
    assert [piece.text for piece in matches] == pieces
    output, loss = masked.restored(masked.text)
    assert loss is None and output == text
    swapped = _masked(text, matches, False).restored(" and ".join(reversed([name for name, _ in masked.readings])))
    assert swapped[0] == " and ".join(reversed(pieces)), "each word is of its own piece"


def test_lost_pieces():
    assert lost_piece("See www.a.org, @jo.", "@jo saw www.a.org.", CLASSES) is None
    assert lost_piece("See www.a.org, @jo.", "Jo saw www.a.org.", CLASSES) == "mention_lost"
    assert lost_piece("See ART.7.", "See ART.77.", (), [r"ART\.\d+"]) == "pattern_lost", "another piece has it within"
    assert lost_piece("See it.", "See www.a.org.", CLASSES) is None


@pytest.mark.slow
def test_thousands_of_pieces_in_a_text(paraphraser):
    """None takes the square of the length, and more pieces than words that stand in leave their sentence as it is."""
    addresses = " ".join(f"https://example.org/{number}" for number in range(10_000))
    for text in (
        addresses,
        f"{addresses} are all the pages.",
        f"We saw this: {addresses}",
        f"We saw {addresses} there",
    ):
        begin = time.process_time()
        pieces = kept_pieces(text, CLASSES)
        assert len(pieces) == 10_000
        _around(text, pieces, "en")
        parts = paraphraser._parts(text, pieces)
        assert time.process_time() - begin < 30, text[:40]
        assert "".join(part.text for part in parts) == text
        assert all(part.row is None or len(part.masked.readings) < 30 for part in parts)
    begin = time.process_time()
    assert len(kept_pieces("https://a.org/" + ")." * 50_000, CLASSES)[0].text) == 14
    assert time.process_time() - begin < 10


UNITS = ["a", "1", "A", ".", "-", " ", "`", "/", "(", "_", "@", "{", "[", "<", "a.", "1.", "a-", "1-", "A-", "a/", "~/",
         "a(", "a@", "a_", "A1", "1 x", "-a=", "<a ", "v1.", "www.", "-.a", "a:1:", "1 to ",
         "中", "a中", "@中", "#中", "/中"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["code", "quantity", "emoji", "exact", "pair"])
def test_no_pattern_takes_the_square_of_a_length(name):
    """Of 100,000 characters a square would take hours; `exact` has the patterns of all other classes."""
    for unit in UNITS:
        text = (unit * 100_000)[:100_000]
        pattern = PAIR if name == "pair" else compiled_for(text, {**PATTERNS, "exact": EXACT}[name])
        begin = time.process_time()
        for _ in pattern.finditer(text):
            pass
        assert time.process_time() - begin < 12, (name, unit)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("请写信给jo@example.org确认订单。", ["jo@example.org"]),
        ("详情见https://example.com/a?b=1，谢谢。", ["https://example.com/a?b=1"]),
        ("请看example.com的首页", ["example.com"]),
        ("打开www.example.cn/帮助 查看", ["www.example.cn/帮助"]),
        ("感谢@maria_k的演讲", ["@maria_k"]),
        ("感谢@小明 的演讲", ["@小明"]),
        ("我喜欢#环保话题 和绿色", ["#环保话题"]),
        ("这个文件有5GB，运行parse_date()即可", ["5GB", "parse_date()"]),
        ("メールはinfo@example.jpまで", ["info@example.jp"]),
        ("주소는 example.com에서 확인하세요", ["example.com"]),
    ],
)
def test_pieces_end_where_letters_without_spaces_begin(text, pieces):
    assert [piece.text for piece in kept_pieces(text, CLASSES)] == pieces


@pytest.mark.slow
@pytest.mark.parametrize(("phrase", "is_required"), [("port", True), ("support", False)])
def test_a_required_word_is_not_said_by_a_longer_word_of_an_address(phrase, is_required):
    text = "Open the port at https://example.org/support before noon."
    (paraphrases,) = Paraphraser("starter/paraphraser").paraphrase([text], n=5, require=[phrase])
    assert paraphrases and all("https://example.org/support" in paraphrase for paraphrase in paraphrases)
    without_address = [paraphrase.replace("https://example.org/support", "") for paraphrase in paraphrases]
    assert not is_required or all("port" in paraphrase.lower().split() for paraphrase in without_address)
