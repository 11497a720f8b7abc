"""The lexicon against a program that counts in plain Python, and against figures by hand."""

import json
import math
import random
import runpy
from collections import Counter
from itertools import combinations, product
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.conftest import candidate, row, write_run
from toolkit.lexicon import _counts as counts
from toolkit.lexicon.pmi import COLUMNS, Entry, extract_lexicon, is_lexicon, paraphrases_of
from toolkit.package.build import package_parabank

SCRIPT = Path(__file__).parents[2] / "scripts" / "extract_lexicon.py"


def write_tsv(path: Path, pairs: list[tuple]) -> Path:
    path.write_text("".join("\t".join(map(str, pair)) + "\n" for pair in pairs), encoding="utf-8")
    return path


def within(sentences: set[str]) -> dict[frozenset[str], float]:
    """Ordinary PMI of distinct sentences, by brute force."""
    words, joint = Counter(), Counter()
    for sentence in sentences:
        sentence_words = sorted(set(sentence.lower().split()))
        words.update(sentence_words)
        joint.update(map(frozenset, combinations(sentence_words, 2)))
    return {pair: math.log(n * len(sentences) / math.prod(words[word] for word in pair)) for pair, n in joint.items()}


def oracle(pairs: list[tuple[str, str]], min_count: int) -> dict[tuple[str, str], tuple[int, float, float, float]]:
    """A.1 by brute force, over sentences that are words between spaces."""
    words, joint = Counter(), Counter()
    for left, right in pairs + [(right, left) for left, right in pairs]:
        words.update(set(left.lower().split()))
        joint.update((u, v) for u, v in product(set(left.lower().split()), set(right.lower().split())) if u != v)
    references, paraphrases = within({left for left, _ in pairs}), within({right for _, right in pairs})
    entries = {}
    for (u, v), n in joint.items():
        cross = math.log(n * 2 * len(pairs) / (words[u] * words[v]))
        ordinary = (references.get(frozenset((u, v)), 0.0) + paraphrases.get(frozenset((u, v)), 0.0)) / 2
        if n >= min_count:
            entries[u, v] = (n, cross, ordinary, cross - ordinary)
    return entries


def toy_pairs() -> list[tuple[str, str]]:
    """400 pairs over 30 words, some references several times over, words of a sentence repeated."""
    chance = random.Random(5)
    words = [f"{a}{b}" for a in "bdfgkl" for b in "aeiou"]
    weights = [1 / (n + 1) for n in range(len(words))]

    def sentence() -> str:
        return " ".join(chance.choices(words, weights, k=chance.randint(1, 8)))

    references = [sentence().capitalize() for _ in range(150)]
    return [(chance.choice(references), sentence()) for _ in range(400)]


def table(path: Path) -> dict[tuple[str, str], tuple]:
    return {(r["word"], r["paraphrase"]): tuple(r.values())[2:] for r in pq.read_table(path).to_pylist()}


@pytest.mark.parametrize("min_count", [1, 10])
def test_equals_brute_force(tmp_path, min_count):
    pairs = toy_pairs()
    lexicon = extract_lexicon(write_tsv(tmp_path / "toy.tsv", pairs), tmp_path / "out.parquet", min_count)
    expected = oracle(pairs, min_count)
    assert len(expected) > 100 and lexicon.entries == len(expected)
    entries = table(tmp_path / "out.parquet")
    assert entries.keys() == expected.keys()
    for pair, numbers in expected.items():
        assert entries[pair] == pytest.approx(numbers, abs=1e-12), pair
    assert any(ordinary == 0 for _, _, ordinary, _ in expected.values()) or min_count > 1


def test_figures_by_hand(tmp_path):
    """Four pairs: hong meets kong in both sentences, big meets large only across them."""
    pairs = [("hong kong", "hong kong"), ("big", "large"), ("large", "big"), ("big", "big")]
    extract_lexicon(write_tsv(tmp_path / "p.tsv", pairs), tmp_path / "out.parquet", 1)
    # across: 8 directed sentences, hong and kong in 2 each, 2 meetings; big in 4, large in 2, 2 meetings
    # within: of 3 distinct references, and of 3 distinct paraphrases, one has hong and kong; big and large: unseen, 0
    assert table(tmp_path / "out.parquet")["hong", "kong"] == pytest.approx(
        (2, math.log(4), math.log(3), math.log(4 / 3))
    )
    assert table(tmp_path / "out.parquet")["big", "large"] == pytest.approx((2, math.log(2), 0.0, math.log(2)))


def test_a_reference_with_many_paraphrases_is_one_sentence(tmp_path):
    """Ordinary PMI of a and b on the side of the references: 1 of 2 sentences, not 5 of 6."""
    pairs = [("a b", f"x{n} a b") for n in range(5)] + [("c", "y")]
    lexicon = extract_lexicon(
        write_tsv(tmp_path / "p.tsv", pairs), tmp_path / "out.parquet", 1, wanted=[("a", "b"), ("a", "y")]
    )
    references, paraphrases = math.log(1 * 2 / (1 * 1)), math.log(5 * 6 / (5 * 5))
    assert lexicon.wanted["a", "b"].ordinary_pmi == pytest.approx((references + paraphrases) / 2)
    assert ("a", "y") not in lexicon.wanted


def test_seen_together_on_one_side_only(tmp_path):
    """The side that never saw them counts 0, and is averaged in."""
    pairs = [("u v", "u"), ("w", "v"), ("w", "x")]
    lexicon = extract_lexicon(write_tsv(tmp_path / "p.tsv", pairs), tmp_path / "out.parquet", 1, wanted=[("u", "v")])
    # of 2 distinct references one has u and v
    assert lexicon.wanted["u", "v"].ordinary_pmi == pytest.approx((math.log(2) + 0) / 2)


def test_ten_meetings_are_shown_nine_are_not(tmp_path):
    pairs = [("often", f"frequently n{n}") for n in range(10)] + [("seldom", f"rarely n{n}") for n in range(9)]
    lexicon = extract_lexicon(
        write_tsv(tmp_path / "p.tsv", pairs), tmp_path / "out.parquet", wanted=[("Rarely", "seldom"), ("often", "none")]
    )
    assert set(table(tmp_path / "out.parquet")) == {("often", "frequently"), ("frequently", "often")}
    # a wanted pair is scored however rarely it meets; its key is as it was asked for
    assert {pair: entry.count for pair, entry in lexicon.wanted.items()} == {("Rarely", "seldom"): 9}


def test_both_directions_have_the_same_numbers(tmp_path):
    extract_lexicon(write_tsv(tmp_path / "p.tsv", toy_pairs()), tmp_path / "out.parquet", 3)
    entries = table(tmp_path / "out.parquet")
    assert len(entries) > 50 and all(entries[v, u] == numbers for (u, v), numbers in entries.items())


def test_passes_and_wanted_pairs_make_no_difference(tmp_path, monkeypatch):
    """Words are numbered anew where some are wanted, and counted in as many passes as there are words."""
    pairs = write_tsv(tmp_path / "p.tsv", toy_pairs())
    extract_lexicon(pairs, tmp_path / "one.parquet", 3)
    assert extract_lexicon(pairs, tmp_path / "two.parquet", 3, wanted=[("lu", "ba"), ("du", "no")]).wanted
    monkeypatch.setattr(counts, "PASS_COOCCURRENCES", 300)
    extract_lexicon(pairs, tmp_path / "three.parquet", 3)
    first, second, third = ((tmp_path / f"{name}.parquet").read_bytes() for name in ("one", "two", "three"))
    assert first == second == third


def test_paraphrases_of_are_ranked_by_adjusted_pmi(tmp_path):
    extract_lexicon(write_tsv(tmp_path / "p.tsv", toy_pairs()), tmp_path / "out.parquet", 3)
    expected = sorted(
        (Entry(*pair, *numbers) for pair, numbers in table(tmp_path / "out.parquet").items() if pair[0] == "ba"),
        key=lambda entry: (-entry.adjusted_pmi, -entry.count, entry.paraphrase),
    )
    assert len(expected) > 5
    assert paraphrases_of(tmp_path / "out.parquet", "Ba", 1000) == expected
    assert paraphrases_of(tmp_path / "out.parquet", "ba", 2) == expected[:2]
    assert paraphrases_of(tmp_path / "out.parquet", "nobody", 5) == []


@pytest.mark.slow
def test_a_run_its_parabank_and_its_pairs_give_one_lexicon(tmp_path, demo_models):
    """Only chosen candidates count, and of these only those whose paraphrase score is high enough."""
    rows = [row(n, "train" if n % 2 else "test", f"They laughed {n}.", [
        candidate(f"They chuckled {n}.", 0, -1.0, -1.0, 1), candidate("They wept.", 1, -1.0, -1.0, 1),
        candidate("We refused.", None, -1.0, -1.0, 1, "dual"),
    ]) for n in range(12)]  # fmt: skip
    for record in rows:
        for paraphrase, score in zip(record.candidates, (0.9, 0.34), strict=False):
            paraphrase.scores.semantic = score
    run = write_run(tmp_path / "run.shards", rows, 5)
    package_parabank(run, tmp_path / "bank", "bank", "1.0.0", "cc-by-2.0", demo_models)
    expected = {"pairs": 24, "kept": 12, "refused": {"score": 12}, "unscored": 0}
    assert extract_lexicon(run, tmp_path / "run.parquet").counts == expected
    assert extract_lexicon(tmp_path / "bank", tmp_path / "bank.parquet").counts == expected
    assert (tmp_path / "run.parquet").read_bytes() == (tmp_path / "bank.parquet").read_bytes()
    entries = table(tmp_path / "run.parquet")
    assert {word for pair in entries for word in pair} == {"they", "laughed", "chuckled"}
    assert entries["they", "laughed"][0] == entries["laughed", "chuckled"][0] == 12
    (file,) = (tmp_path / "bank").glob("data/pairs/train*.parquet")
    assert extract_lexicon(file, tmp_path / "pairs.parquet").counts["kept"] == 6


def test_the_columns_are_those_named(tmp_path):
    extract_lexicon(write_tsv(tmp_path / "p.tsv", [("a", "b")]), tmp_path / "out.parquet")
    assert tuple(pq.read_schema(tmp_path / "out.parquet").names) == COLUMNS
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == 0


def test_refuses_a_count_below_one(tmp_path):
    with pytest.raises(ValueError, match=r"^wanted min_count of at least 1, got 0: the paper's is 10$"):
        extract_lexicon(tmp_path, tmp_path / "out.parquet", 0)


def test_leaves_an_older_lexicon_alone_where_it_fails(tmp_path):
    (tmp_path / "out.parquet").write_bytes(b"older")
    with pytest.raises(FileNotFoundError):
        extract_lexicon(tmp_path / "none", tmp_path / "out.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]
    assert (tmp_path / "out.parquet").read_bytes() == b"older"


def test_makes_the_folder_and_refuses_a_file_in_its_place(tmp_path):
    pairs = write_tsv(tmp_path / "p.tsv", [("a", "b")])
    extract_lexicon(pairs, tmp_path / "new" / "out.parquet")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out.parquet"]
    with pytest.raises(OSError, match=r"^wanted to write .*p.tsv/out.parquet, got .*: choose another --output$"):
        extract_lexicon(pairs, pairs / "out.parquet")


def test_a_lexicon_is_known_and_replaced(tmp_path):
    pairs = write_tsv(tmp_path / "p.tsv", [("a", "b")])
    extract_lexicon(pairs, tmp_path / "out.parquet")
    assert is_lexicon(tmp_path / "out.parquet") and not is_lexicon(pairs) and not is_lexicon(tmp_path / "none")


@pytest.mark.parametrize("content", [None, b"nothing"])
def test_refuses_what_is_no_lexicon(tmp_path, content):
    if content:
        (tmp_path / "l.parquet").write_bytes(content)
    with pytest.raises(ValueError, match=r"^wanted a lexicon of parabank extract lexicon, got .*: extract one$"):
        paraphrases_of(tmp_path / "l.parquet", "word", 5)


def extract(*arguments: object) -> int:
    return runpy.run_path(str(SCRIPT))["main"](list(map(str, arguments)))


def test_the_script_prints_tables_12_and_13(tmp_path, capsys):
    pairs = [("They laughed .", "They chuckled .", 0.9)] * 10 + [("The coast .", "The shore .", 0.2)]
    pairs += [("so new", "quite new", 0.5)] * 3
    tsv, output = write_tsv(tmp_path / "p.tsv", pairs), tmp_path / "out.parquet"
    simlex = tmp_path / "SimLex-999.txt"
    simlex.write_text("word1\tword2\tPOS\tSimLex999\nlaughed\tchuckled\tV\t9\nold\tnew\tA\t2\ncoast\tshore\tN\t9\n")
    arguments = ("--parabank", tsv, "--output", output, "--show", "laughed", "shore", "--simlex", simlex)
    assert extract(*arguments, "--json", tmp_path / "figures.json") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "14 pairs, 13 kept (0 without a score), refused: score 1"
    # laughed meets chuckled in 10 of 26 directed sentences, as often as it is said; they is said twice as often
    assert out[2:4] == ["laughed: chuckled, they", "shore: not in the lexicon"]
    assert out[4].startswith("cross-sentence PMI: 50.00 (1 of 3 word pairs seen; the paper's 52.12) Spearman|x100|")
    assert out[5].startswith("adjusted PMI: 50.00 (1 of 3")
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["parabank"] == "p.tsv" and figures["counts"]["kept"] == 13
    assert figures["simlex"]["adjusted PMI"] == {"rho": pytest.approx(50), "pairs": 3, "unseen": 2}


def test_the_script_says_in_one_line_what_went_wrong(tmp_path, capsys):
    assert extract("--parabank", tmp_path / "gone.tsv", "--output", tmp_path / "l.parquet") == 1
    assert capsys.readouterr().err.startswith("parabank extract lexicon: wanted ")
