"""Hard negatives against a search by hand, and in the losses of plain sentence-transformers."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from datasets import load_dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import (
    MarginMSELoss,
    MultipleNegativesRankingLoss,
    TripletLoss,
)

from builders.commands import mine_negatives as command
from tests.cross_encoders import saved_cross_encoder
from toolkit.bitext.normalize import match_key
from toolkit.encoder.load import load_encoder
from toolkit.encoder.settings import EncoderTraining
from toolkit.score.entailment import entailments, load_nli
from toolkit.train import hard_negatives
from toolkit.train.encoder import train
from toolkit.train.encoder_pairs import read_pairs
from toolkit.train.hard_negatives import mine_negatives
from toolkit.train.hard_negatives_settings import NegativesSettings

ENCODER = "starter/encoder"
SUBJECTS = ["The dog", "A cat", "My neighbour", "The teacher", "An old man", "The girl"]
ACTIONS = [
    ("sleeps on the sofa.", "is asleep on the couch."),
    ("eats an apple.", "is eating an apple."),
    ("buys 3 tickets.", "is buying 3 tickets."),
    ("runs in the park.", "is running through the park."),
]


@pytest.fixture(scope="module")
def encoder() -> SentenceTransformer:
    return load_encoder(ENCODER)


@pytest.fixture
def pairs(tmp_path):
    lines = [f"{subject} {a}\t{subject} {b}" for subject in SUBJECTS for a, b in ACTIONS]
    lines += ["The dog is asleep on the couch.\tA hound is sleeping.", "a DOG sleeps\tA doggy is asleep."]
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


def settings_of(pairs, **options):
    return NegativesSettings(parabank=str(pairs), encoder=ENCODER, output="", **options)


def triplets(path):
    return [tuple(row.values()) for row in pq.read_table(path).to_pylist()]


def mined(pairs, encoder, **options):
    output = pairs.with_name("out.parquet")
    counts = mine_negatives(settings_of(pairs, **options), encoder, output)
    return triplets(output), counts


def unit(encoder, texts):
    return np.asarray(encoder.encode(texts, normalize_embeddings=True, show_progress_bar=False))


def test_the_negative_is_the_nearest_below_the_ceiling_by_hand(pairs, encoder):
    rows, counts = mined(pairs, encoder, relative_margin=0.2, max_overlap=1.0, lang="de")
    references = list(dict.fromkeys(line.split("\t")[0] for line in pairs.read_text().splitlines()))
    sofa = {"The dog sleeps on the sofa.", "The dog is asleep on the couch."}  # one set: a paraphrase is a reference
    vectors = unit(encoder, references)
    for anchor, positive, negative in rows:
        similar = unit(encoder, [anchor])[0] @ unit(encoder, [positive])[0]
        vector = unit(encoder, [anchor])[0]
        cosines = {
            text: cosine for text, cosine in zip(references, vectors @ vector, strict=True)
            if text != anchor and not {text, anchor} <= sofa and cosine <= similar * 0.8 + 1e-6
        }  # fmt: skip
        assert cosines[negative] == pytest.approx(max(cosines.values()), abs=1e-5)
    assert counts.pairs == 26 and counts.triplets == len(rows) and counts.without == 26 - len(rows)


def test_a_negative_is_never_of_the_anchors_set(pairs, encoder):
    rows, _ = mined(pairs, encoder, relative_margin=0.0, max_overlap=1.0, negatives=30)
    linked = {"The dog sleeps on the sofa.", "The dog is asleep on the couch."}
    assert not [row for row in rows if {row[0], row[2]} <= linked]
    assert all(match_key(anchor) != match_key(negative) for anchor, _, negative in rows)
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize(("anchors", "chunk"), [(3, 5), (1, 1), (100, 7)])
def test_blocks_make_no_difference(pairs, encoder, monkeypatch, anchors, chunk):
    whole, _ = mined(pairs, encoder, negatives=3, relative_margin=0.1)
    monkeypatch.setattr(hard_negatives, "ANCHORS", anchors)
    monkeypatch.setattr(hard_negatives, "CHUNK", chunk)
    monkeypatch.setattr(hard_negatives, "TEXTS_AT_ONCE", 4)
    assert mined(pairs, encoder, negatives=3, relative_margin=0.1)[0] == whole != []


def test_what_may_be_a_paraphrase_is_passed_over(tmp_path):
    refusal, settings = hard_negatives._refusal, settings_of(tmp_path, lang="en")
    assert refusal("It is raining again.", "It's raining again.", settings) == "trivial"
    assert refusal("We will go home by train now.", "Now we will go home by train.", settings) == "overlap"
    assert refusal("We will buy 3 cars there now.", "We will buy 4 cars there now.", settings) is None, "another number"
    assert refusal("He will come home with us now.", "He will not come home with us now.", settings) is None
    assert refusal("It rains.", "We are at home.", settings) is None
    assert refusal("It is raining again.", "It's raining again.", replace(settings, lang="it")) is None


def test_the_language_is_that_of_the_parabank(tmp_path, pairs, capsys):
    assert hard_negatives.with_language(settings_of(pairs)).lang == "en"
    (tmp_path / "bank").mkdir()
    (tmp_path / "bank" / "parabank.json").write_text(json.dumps({"settings": {"lang": "de"}}))
    assert hard_negatives.with_language(settings_of(tmp_path / "bank")).lang == "de"
    assert hard_negatives.with_language(settings_of(tmp_path / "bank", lang="deu")).lang == "de"
    with pytest.raises(ValueError, match=r"wanted pairs in en, got .*, which is in de: give --lang de"):
        hard_negatives.with_language(settings_of(tmp_path / "bank", lang="en"))
    assert run(tmp_path / "bank", tmp_path / "out.jsonl") == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert "wanted --encoder for texts in de, got starter/encoder, which knows en only" in message
    refusal, german = hard_negatives._refusal, settings_of(pairs, lang="de")
    assert refusal("Der Hund schläft jetzt im Garten.", "Der Köter schläft jetzt im Garten.", german) == "overlap"


def test_skip_and_scores(pairs, encoder):
    first, _ = mined(pairs, encoder, negatives=2, relative_margin=0.1, max_overlap=1.0, lang="it")
    second, _ = mined(pairs, encoder, skip=1, relative_margin=0.1, max_overlap=1.0, lang="it", scores=True)
    nexts = {row[:2]: row[2] for row in first}  # the last of each pair
    assert second and all(nexts[row[:2]] == row[2] for row in second)
    anchor, positive, negative, score = second[0]
    a, p, n = unit(encoder, [anchor, positive, negative])
    assert score == pytest.approx(a @ p - a @ n, abs=1e-5)


def test_no_negative_is_an_error_and_leaves_no_file(pairs, encoder):
    with pytest.raises(ValueError, match=r"wanted negatives for .*, got none \(.*\): give more references, a smaller"):
        mined(pairs, encoder, skip=50)
    assert [file.name for file in pairs.parent.iterdir()] == ["pairs.tsv"]
    pairs.write_text("We go.\tWe leave.\n")
    with pytest.raises(ValueError, match=r"wanted pairs of several references, got 1 in"):
        mined(pairs, encoder)


def run(pairs, output, *flags):
    return command.main(["--parabank", str(pairs), "--encoder", ENCODER, "--output", str(output), *flags])


@pytest.mark.parametrize("loss", [MultipleNegativesRankingLoss, TripletLoss, MarginMSELoss])
def test_plain_sentence_transformers_trains_on_the_output_as_it_is(tmp_path, pairs, encoder, loss, capsys):
    flags = ["--scores"] if loss is MarginMSELoss else []
    assert run(pairs, tmp_path / "set", "--relative_margin", "0.1", *flags) == 0
    assert "triplets of 26 pairs" in capsys.readouterr().out
    rows = load_dataset(str(tmp_path / "set"), split="train", cache_dir=str(tmp_path / "cache"))
    assert rows.column_names == ["anchor", "positive", "negative", *(["score"] if flags else [])]
    model = load_encoder(ENCODER)
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path / "out"), max_steps=2, per_device_train_batch_size=4, report_to=[], use_cpu=True,
        save_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    trainer = SentenceTransformerTrainer(model, arguments, rows, loss=loss(model))
    assert trainer.train().global_step == 2
    assert any(not torch.equal(weight, before[name]) for name, weight in model.named_parameters())


def test_the_folder_is_read_and_trained_on_here_too(tmp_path, pairs, capsys):
    assert run(pairs, tmp_path / "set", "--relative_margin", "0.1", "--scores") == 0
    assert run(pairs, tmp_path / "set.jsonl", "--relative_margin", "0.1") == 0
    texts = [pair[1:] for pair in read_pairs([str(tmp_path / "set")])]
    assert texts == [pair[1:] for pair in read_pairs([str(tmp_path / "set.jsonl")])]
    assert all(len(pair[2]) == 1 for pair in texts)
    record = json.loads((tmp_path / "set" / "negatives.json").read_text())
    assert record["triplets"] == len(texts) and record["settings"]["parabank"] == "pairs.tsv"
    assert f"{len(texts):,} triplets of 26 pairs" in (tmp_path / "set" / "README.md").read_text()
    assert run(pairs, tmp_path / "set.jsonl") == 1 and "which exists" in capsys.readouterr().err
    folders = []
    for loss in ("margin", "ranking"):
        settings = EncoderTraining(
            pairs=[str(tmp_path / "set")], output_dir=str(tmp_path / loss), loss=loss, parts=["trigram"], epochs=1,
            dimensions=8, min_count=1, batch=5,
        )  # fmt: skip
        folders.append(train(settings))
    assert all("negatives are in 'negative'" in (folder / "training.json").read_text() for folder in folders)


@pytest.mark.parametrize("loss", ["margin", "ranking"])
def test_a_hard_negative_goes_away_from_its_anchor(tmp_path, loss):
    anchors = [f"word{n} word{n + 1} word{n + 2}" for n in range(0, 60, 3)]
    records = [
        {"anchor": a, "positive": f"{a} more", "negative": f"{a.split()[0]} {a.split()[1]} other"} for a in anchors
    ]
    cosines = {}
    for kind in ("with", "without"):
        path = tmp_path / f"{kind}.jsonl"
        rows = [r if kind == "with" else {n: r[n] for n in ("anchor", "positive")} for r in records]
        path.write_text("".join(json.dumps(record) + "\n" for record in rows))
        settings = EncoderTraining(
            pairs=[str(path)], output_dir=str(tmp_path / kind), loss=loss, parts=["word"], epochs=10, dimensions=16,
            min_count=1, batch=5, learning_rate=0.01,
        )  # fmt: skip
        model = load_encoder(str(train(settings)))
        sides = [unit(model, [record[name] for record in records]) for name in ("anchor", "negative")]
        cosines[kind] = float((sides[0] * sides[1]).sum(1).mean())
    assert cosines["with"] < cosines["without"] - 0.1


def test_a_table_is_written_before_the_next_is_made(tmp_path):
    steps = []

    class Table:
        def to_pylist(self):
            steps.append("written")
            return [{"anchor": "a"}]

    def tables():
        for _ in range(3):
            steps.append("made")
            yield Table()

    hard_negatives._write(tmp_path / "all.jsonl", ".jsonl", tables())
    assert steps == ["made", "written"] * 3
    assert (tmp_path / "all.jsonl").read_text() == '{"anchor": "a"}\n' * 3


def test_the_record_names_no_folders(pairs):
    settings, counts = settings_of(pairs), hard_negatives.Mined(1, 2, 1, 0, {})
    assert hard_negatives.public_record(settings, counts)["settings"]["parabank"] == "pairs.tsv"
    assert SimpleNamespace(**hard_negatives.public_record(settings, counts)).references == 2


def test_what_a_model_of_entailment_takes_for_a_paraphrase_is_no_negative(pairs, encoder, tmp_path):
    path = saved_cross_encoder(tmp_path / "nli")
    free = mine_negatives(settings_of(pairs, negatives=2), encoder, tmp_path / "free.parquet")
    nli = load_nli(path)
    texts = pq.read_table(tmp_path / "free.parquet").to_pylist()
    lesser = sorted(
        min(directions) for directions in entailments([(t["anchor"], t["negative"]) for t in texts], nli, 8)
    )
    limit = lesser[len(lesser) // 2]
    strict_settings = settings_of(pairs, negatives=2, nli=path, max_entailment=limit)
    strict = mine_negatives(strict_settings, encoder, tmp_path / "strict.parquet")
    remaining = pq.read_table(tmp_path / "strict.parquet").to_pylist()
    scores = entailments([(t["anchor"], t["negative"]) for t in remaining], nli, 8)
    assert remaining and max(map(min, scores)) <= limit
    assert strict.refused["entailment"] > 0 and "entailment" not in free.refused
    lenient = mine_negatives(settings_of(pairs, nli=path, max_entailment=1.0), encoder, tmp_path / "all.parquet")
    assert lenient.triplets == mine_negatives(settings_of(pairs), encoder, tmp_path / "one.parquet").triplets
