"""The fit of predicted judgments: its arithmetic against scikit-learn's, its folds, its figures and its command."""

import gzip
import json

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import Ridge

from builders.commands.train_judgment import main
from toolkit.encoder.load import load_encoder
from toolkit.evaluate.judgment_fit import (
    _JudgedPairs,
    _out_of_fold,
    _system_means,
    _within_references,
    cosine_figures,
    fit,
    last_fifth,
    read_judgments,
)
from toolkit.score.judgment import SHIPPED, _read_regression
from toolkit.score.judgment_features import SIGNS


def test_prediction_is_scikit_learns():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, len(SIGNS))) * np.arange(1, len(SIGNS) + 1)
    scores = rng.normal(size=60) + 50 + values @ list(SIGNS.values()) * 0.1
    signs = np.array(list(SIGNS.values()))
    scaled = (values - values.mean(0)) / values.std(0) * signs
    peer = Ridge(alpha=5.0, positive=True).fit(scaled, scores)
    model = fit(values, scores, np.arange(60), penalty=5.0)
    assert model.predict(values) == pytest.approx(peer.predict(scaled), abs=1e-5)
    assert (model.weights * signs >= 0).all()
    assert np.ptp(peer.predict(scaled)) > 1


def test_each_reference_counts_the_same():
    values, scores = np.zeros((4, len(SIGNS))), np.array([10.0, 10.0, 10.0, 90.0])
    assert fit(values, scores, np.array([1, 1, 1, 2])).intercept == pytest.approx(50)


def pairs_of(references: int) -> _JudgedPairs:
    """Five candidates of each reference; their scores are noise, but the same for all of a reference."""
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(references), 5)
    scores = np.repeat(rng.uniform(0, 100, references), 5)
    values = np.repeat(rng.normal(size=(references, len(SIGNS))), 5, 0)
    return _JudgedPairs([str(g) for g in groups], ["x"] * len(groups), [{"1"}] * len(groups), scores, groups, values)


def test_no_fold_splits_a_reference():
    predictions, cuts = _out_of_fold(pairs_of(60))
    groups = np.repeat(np.arange(60), 5)
    assert sorted(np.concatenate(cuts)) == list(range(300))
    assert [len(set(groups[a]) & set(groups[b])) for a in cuts for b in cuts if a is not b] == [0] * 90
    assert abs(np.corrcoef(predictions, pairs_of(60).scores)[0, 1]) < 0.6  # with split references it would be near 1


def test_within_references_ranks_only_inside_each():
    j = pairs_of(3)._replace(scores=np.arange(15.0))
    assert _within_references(np.tile(np.arange(5.0), 3), j) == pytest.approx(1)
    assert _within_references(np.repeat([0.0, 5.0, 10.0], 5) - np.tile(np.arange(5.0), 3) / 10, j) == pytest.approx(-1)


def write_judgments(folder, records: list[tuple[str, str, str, str, str]]) -> None:
    with gzip.open(folder / "ref.tsv.gz", "wt") as file:
        file.write("ref_id\tref_sent\n1\tHe said no.\n2\tWe go now.\n")
    with gzip.open(folder / "candidates.tsv.gz", "wt") as file:
        file.write("worker_id_anon\tref_len\tref_id\tsys_id\tcandidate\thuman_score\tgm\n")
        file.writelines("\t".join(["0", "5", *record]) + "\n" for record in records)


def test_judgments_are_averaged_and_copies_left_out(tmp_path):
    write_judgments(tmp_path, [
        ("1", "3 4", "He refused.", "40", "2"), ("1", "3 4", "He refused.", "70", "1"),
        ("1", "5", "He refused.", "", "0"), ("1", "0", "He said no.", "100", "2"), ("2", "7", "We go now.", "100", "2"),
        ("2", "7", "🙂", "5", "0"), ("2", "9", "Now we go.", "80", "2"), ("2", "8", "Nobody scores.", "", "1"),
    ])  # fmt: skip
    judgments = read_judgments(tmp_path)
    assert judgments.candidates == ["He refused.", "Now we go."]
    assert judgments.references == ["He said no.", "We go now."]
    assert judgments.scores.tolist() == [55, 80]
    assert judgments.groups.tolist() == [1, 2]
    assert judgments.systems == [{"ParaBank 3", "ParaBank 4", "ParaBank 5"}, {"ParaBank 9"}]
    grammaticality = read_judgments(tmp_path, "grammaticality")
    assert grammaticality.candidates == ["He refused.", "Now we go.", "Nobody scores."]
    assert grammaticality.scores.tolist() == [50, 100, 50]  # in points, 100 where nobody flagged it


def test_the_cosine_alone_is_measured_on_the_last_fifth():
    """The nearer a text is to its reference, the better it was judged."""
    references = [f"The dog number {i} sleeps." for i in range(40) for _ in range(3)]
    texts = [text for reference in references[::3] for text in (reference, "The dog sleeps.", "Money is gone!")]
    pairs = _JudgedPairs(
        references, texts, [set()] * 120, np.array([90.0, 50.0, 10.0] * 40), np.zeros(120), np.zeros(0)
    )
    encoder = load_encoder("starter/encoder")
    result = cosine_figures(pairs, encoder, "starter/encoder")
    assert result["spearman_last_fifth_cosine_alone"] > 0.9 and result["encoder"].startswith("cosine|encoder:starter/")
    upside_down = pairs._replace(scores=-pairs.scores)
    assert cosine_figures(upside_down, encoder, "starter/encoder")["spearman_last_fifth_cosine_alone"] < -0.9


def test_no_judged_pair_is_an_error(tmp_path, capsys):
    write_judgments(tmp_path, [("1", "0", "He said no.", "100", "2")])
    assert main(["--judgments", str(tmp_path), "--output", str(tmp_path / "out.json")]) == 1
    assert "parabank train judgment: wanted judged pairs in" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()


def test_another_target_wants_a_file_of_its_own(capsys):
    shipped = SHIPPED.read_bytes()
    with pytest.raises(SystemExit):
        main(["--judgments", "nowhere", "--target", "grammaticality"])
    assert "wanted --output with --target grammaticality, got none" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--judgments", "nowhere", "--target", "fluency"])
    assert "wanted target of similarity, grammaticality, got 'fluency'" in capsys.readouterr().err
    assert main(["--judgments", "nowhere"]) == 1
    assert (
        "parabank train judgment: wanted the authors' judgments, got nowhere without ref.tsv.gz"
        in capsys.readouterr().err
    )
    assert SHIPPED.read_bytes() == shipped


def test_the_last_fifth_is_of_whole_references():
    mask = last_fifth([str(i // 3) for i in range(3000)])
    assert mask.reshape(1000, 3).mean(1).tolist() == mask[::3].tolist()
    assert 0.15 < mask.mean() < 0.25


def test_the_means_of_a_system_are_of_its_candidates():
    pairs = pairs_of(1)._replace(systems=[{"a"}, {"a", "b"}, {"b"}, {"b"}, {"b"}], scores=np.arange(5.0))
    assert _system_means(np.array([0.0, 2.0, 4.0, 6.0, 8.0]), pairs) == ([1.0, 5.0], [0.5, 2.5])


def test_the_command_writes_a_regression_and_prints_its_figures(tmp_path, capsys):
    """Of forty references: the fewer words of it a candidate has, the lower it was judged."""
    with gzip.open(tmp_path / "ref.tsv.gz", "wt") as file:
        file.write("ref_id\tref_sent\n" + "".join(f"{n}\tThe dog number {n} sleeps here.\n" for n in range(40)))
    with gzip.open(tmp_path / "candidates.tsv.gz", "wt") as file:
        file.write("worker_id_anon\tref_len\tref_id\tsys_id\tcandidate\thuman_score\tgm\n")
        for n in range(40):
            texts = (
                f"Dog number {n} sleeps here.",
                f"The dog {n} is asleep.",
                "A dog!",
                f"{n} cats ran.",
                "Money is gone.",
            )
            file.writelines(f"0\t5\t{n}\t{i}\t{text}\t{95 - 20 * i - n % 3}\t2\n" for i, text in enumerate(texts, 1))
    output = tmp_path / "out.json"
    flags = ["--judgments", str(tmp_path), "--output", str(output)]
    assert main([*flags, "--encoder", "starter/encoder"]) == 0
    record, pairs = json.loads(output.read_text()), read_judgments(tmp_path)
    figures = record["made_by"]["figures"]
    assert capsys.readouterr().out.splitlines() == [f"{name:32}{figure}" for name, figure in figures.items()]
    assert list(figures)[-1] == "spearman_last_fifth_cosine_alone"
    assert (figures["pairs"], figures["references"], len(figures["spearman_by_fold"])) == (200, 40, 10)
    assert figures["spearman"] == pytest.approx(np.mean(figures["spearman_by_fold"]), abs=1e-4)
    assert figures["spearman"] > 0.8
    assert record["made_by"]["command"] == "parabank train judgment --judgments DIR"
    assert spearmanr(_read_regression(output).predict(pairs.values), pairs.scores).statistic > 0.8
    test = last_fifth(pairs.references)
    rest = fit(pairs.values[~test], pairs.scores[~test], pairs.groups[~test])
    held_out = spearmanr(rest.predict(pairs.values[test]), pairs.scores[test]).statistic
    assert figures["spearman_last_fifth"] == pytest.approx(held_out, abs=1e-4) and 0 < test.sum() < 200
    assert main(flags) == 0, "its own file is written again"
    assert json.loads(output.read_text())["weights"] == record["weights"]
