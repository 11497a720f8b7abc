"""The pairs of the back-translation experiment, and what its arms train on."""

import gzip
from pathlib import Path

from research.benchmarks.data import TATOEBA
from research.experiments.backtranslation_table import ARMS, BITEXT, added, drawn, held_out


def write(folder, part, pairs):
    file = folder / TATOEBA.format(part)
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(file, "wt", encoding="utf-8") as out:
        out.writelines(f"{german}\t{english}\tattribution\n" for german, english in pairs)


def test_no_seed_trains_on_a_sentence_of_the_test(tmp_path):
    pairs = [(f"Satz {n // 2}", f"sentence {n}") for n in range(300)]  # two sentences have one translation
    write(tmp_path, "train", [*pairs, ("Anderer Satz", "Sentence 1.")])
    write(tmp_path, "test", pairs[:10])
    write(tmp_path, "validation", pairs[10:20])
    test = held_out(tmp_path, 2, 30, 40)
    draws = [drawn(tmp_path, seed, 30, 40) for seed in range(2)]
    for bitext, rest in draws:
        assert (len(bitext), len(rest)) == (30, 40) and not set(bitext) & set(rest)
    training_pairs = [pair for draw in draws for part in draw for pair in part]
    assert len(test) > 20
    assert not {english for _, english in test} & {english for _, english in training_pairs}
    assert not {german for german, _ in test} & {german for german, _ in training_pairs}
    assert not {english for _, english in training_pairs} & {english for _, english in pairs[:20]}
    assert drawn(tmp_path, 0, 30, 40) == draws[0] != draws[1]


def test_arms_differ_in_their_synthetic_pairs_alone():
    folder, synthetic = Path("0"), Path("0/synthetic.tsv")
    settings = {arm: added(folder, arm, synthetic, 20, 90) for arm in ARMS}
    assert settings == {
        BITEXT: {},
        "mixed": {"synthetic": ["0/synthetic.tsv"], "upsample": 1},
        "upsampled": {"synthetic": ["0/synthetic.tsv"], "upsample": 4},
        "real": {"synthetic": ["0/real.tsv"], "upsample": 1},
    }
