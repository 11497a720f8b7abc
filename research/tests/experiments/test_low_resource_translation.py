"""The pairs of the low-resource experiment: training, test and validation have no sentence in common."""

import gzip

from research.experiments import low_resource_translation
from research.experiments.low_resource_translation import BITEXT, counted, drawn, held_out


def write(folder, part, pairs):
    file = folder / BITEXT.format(part)
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(file, "wt", encoding="utf-8") as out:
        out.writelines(f"{french}\t{english}\n" for english, french in pairs)


def test_no_seed_trains_on_a_sentence_of_the_test(tmp_path, monkeypatch):
    monkeypatch.setattr(low_resource_translation, "PAIRS", 40)
    pairs = [(f"sentence {n}", f"phrase {n // 2}") for n in range(200)]  # two sentences have one translation
    write(tmp_path, "train", [*pairs, ("Sentence 1.", "autre phrase")])
    write(tmp_path, "test", pairs[:10])
    write(tmp_path, "validation", pairs[10:20])
    test = held_out(tmp_path, seeds=2)
    training = [pair for seed in range(2) for pair in drawn(tmp_path, seed)]
    assert len(training) == 80 and len(test) > 20
    assert not {english for english, _ in test} & {english for english, _ in training}
    assert not {french for _, french in test} & {french for _, french in training}
    assert not {english for english, _ in training} & {english for english, _ in pairs[:20]}
    assert drawn(tmp_path, 0) == drawn(tmp_path, 0) != drawn(tmp_path, 1)


def test_unseen_words_are_counted(tmp_path):
    (tmp_path / "pairs.tsv").write_text("A cat.\tUn chat.\nA dog.\tUn chien.\n", encoding="utf-8")
    assert counted(tmp_path / "pairs.tsv", [("a cat", "un chat"), ("the bird", "l'oiseau")]) == {
        "pairs": 2,
        "unseen": 50.0,
    }
