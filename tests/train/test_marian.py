"""A training that begins with a trained translator, and with back-translated pairs beside the bitext."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from sentencepiece import SentencePieceProcessor
from transformers import MarianMTModel, MarianTokenizer

import toolkit
from tests.tiny import DEMO, folder, pairs
from toolkit.bitext.split import split_of
from toolkit.bitext.subwords import pieces_of
from toolkit.models.checkpoint import fingerprint
from toolkit.run.workspace import Outcome
from toolkit.system.contents import CONTENT
from toolkit.system.settings import SETTINGS
from toolkit.train._marian import load_base
from toolkit.train._translator_batches import segmented
from toolkit.train._translator_data import VALIDATION_SHARE, open_pairs, prepare, upsampled
from toolkit.train._translator_steps import Text, likelihood
from toolkit.train.translator import _begin, _count_long, train
from toolkit.translator.load import load_translator
from toolkit.translator.settings import SIZES, Size, TrainingSettings

SMALL = Size(200, True, 32, 1, 1, 2, 64)
SYNTHETIC = [(f"Wir sehen {n} Häuser.", f"We see {n} houses.") for n in range(400)]


@pytest.fixture(scope="module", autouse=True)
def small(on_a_cpu):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SIZES, "tiny", SMALL)
        AcceleratorState._reset_state()  # another test of this process may have begun in another precision
        yield


def training_settings(output: Path, **changed: object) -> TrainingSettings:
    settings = {
        "bitext": [str(DEMO)], "output_dir": str(output), "source_lang": "de", "lang": "en", "validation": [str(DEMO)],
        "learning_rate": 1e-2, "warmup_steps": 3, "cooldown_steps": 3, "max_steps": 12, "batch_tokens": 512,
        "save_every": 6, "average": 2, "alpha": None, "seed": 1, **changed,
    }  # fmt: skip
    return TrainingSettings(**settings)


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    """A translator that was trained for some steps."""
    return train(training_settings(tmp_path_factory.mktemp("base") / "run", size="tiny")) / "model"


@pytest.fixture
def synthetic(tmp_path) -> Path:
    lines = ["\t".join(pair) for pair in [*SYNTHETIC, SYNTHETIC[0], ("Ja.", "Ja."), ("Nein.", "")]]
    (tmp_path / "synthetic.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "synthetic.tsv"


def record(run: Path) -> dict:
    return json.loads((run / "model" / "training.json").read_text())


def pairs_in(path: Path) -> list[tuple[str, str]]:
    return [(pair["source"], pair["reference"]) for pair in open_pairs(path).to_pylist()]


@pytest.mark.slow
def test_synthetic_pairs_are_trained_on_and_never_held_out(tmp_path, synthetic):
    alone = training_settings(tmp_path / "alone", size="tiny", validation=[])
    mixed = replace(alone, output_dir=str(tmp_path / "mixed"), synthetic=[str(synthetic)])
    counts, without = prepare(mixed), prepare(alone)
    synthetic_counts = counts.pop("synthetic")
    assert counts == without, "the counts of the bitext are its own"
    held_out = [pair for pair in SYNTHETIC if split_of(pair[1], VALIDATION_SHARE, 0.0) == "validation"]
    assert synthetic_counts == {
        "train": 400 - len(held_out), "held_out": len(held_out), "duplicate": 1, "same_text": 1, "empty": 1
    } and held_out  # fmt: skip
    assert pairs_in(tmp_path / "mixed" / "validation.arrow") == pairs_in(tmp_path / "alone" / "validation.arrow")
    train_pairs = pairs_in(tmp_path / "mixed" / "train.arrow")
    assert train_pairs[: counts["train"]] == pairs_in(tmp_path / "alone" / "train.arrow")
    assert train_pairs[counts["train"] :] == [pair for pair in SYNTHETIC if pair not in held_out]
    pieces = SentencePieceProcessor(model_file=str(tmp_path / "mixed" / "source.spm"))
    assert "▁house" in pieces.encode("houses", out_type=str)


@pytest.mark.slow
def test_each_synthetic_file_has_its_own_form_and_a_given_validation_holds_out_none(tmp_path, synthetic):
    more = pa.table({"source": ["Es regnet sehr."], "reference": ["It rains a lot."]})
    pq.write_table(more, tmp_path / "more.parquet")
    (tmp_path / "back.tsv").write_text("".join(f"{english}\t{german}\n" for german, english in pairs(60)))
    settings = training_settings(
        tmp_path / "run", size="tiny", bitext=[str(tmp_path / "back.tsv")], source_column="1", reference_column="0",
        validation=[str(tmp_path / "back.tsv")], synthetic=[str(synthetic), str(tmp_path / "more.parquet")],
    )  # fmt: skip
    counts = prepare(settings)
    assert counts["train"] == counts["validation"] == 60 and counts["synthetic"]["train"] == 401
    assert pairs_in(tmp_path / "run" / "train.arrow")[-1] == ("Es regnet sehr.", "It rains a lot.")


@pytest.mark.slow
def test_a_training_begins_where_its_base_ended_and_keeps_its_pieces(tmp_path, base, synthetic):
    settings = training_settings(tmp_path / "run", base_model=str(base), synthetic=[str(synthetic)], learning_rate=2e-3)
    model, tokenizer = load_base(settings)
    validation = pa.table({"source": [de for de, _ in pairs(320)], "reference": [en for _, en in pairs(320)]})
    text = Text(validation, validation, *pieces_of(tokenizer))
    training = _begin(settings, Accelerator(cpu=True), text, model)
    before = record(base.parent)["held_out_nats_per_token"]
    assert likelihood(training.loss_of, text, settings) == pytest.approx(min(before.values()), abs=1e-3)
    assert model.config.dropout == 0.1 and load_base(replace(settings, dropout=0.3))[0].config.dropout == 0.3

    run = train(settings)
    run_record = record(run)
    assert run_record["held_out_nats_per_token"]["last"] < min(before.values())
    outcome = Outcome(**run_record["outcome"])
    assert outcome.model == min(run_record["held_out_nats_per_token"].values()) and outcome.lower_is_better
    assert outcome.others == {"model": pytest.approx(min(before.values()), abs=1e-3)} and len(outcome.lines()) == 1
    assert Outcome(**record(base.parent)["outcome"]).others == {}, "a new model stands beside nothing"
    assert run_record["log"][0]["held_out_nats_per_token"] < min(before.values()) + 0.1, "not from the beginning"
    assert run_record["contents"]["base_model"] == fingerprint(str(base))
    assert run_record["contents"]["synthetic"].startswith(f"{synthetic.stat().st_size} bytes, sha256 ")
    assert run_record["size"] == record(base.parent)["size"] | {"vocabulary": len(tokenizer)}
    assert run_record["pairs"]["synthetic"]["train"] == 400 and run_record["pairs"]["train"] == 320
    assert run_record["pairs"]["too_long"] == 0
    lengths = [max(map(len, pair)) for pair in segmented(validation, text.source, text.target)]
    short = replace(settings, max_tokens=min(lengths))
    assert _count_long(validation, text, short) == sum(length > min(lengths) for length in lengths) > 0
    for name in ("source.spm", "target.spm", "vocab.json"):
        assert (run / "model" / name).read_bytes() == (base / name).read_bytes()
    assert not (run / "source.spm").exists()
    assert len(MarianTokenizer.from_pretrained(run / "model")) == len(tokenizer)
    assert load_translator(str(run / "model"), "float32", source_lang="de", lang="en").name

    shutil.rmtree(run / "model")
    assert record(train(settings))["log"] == run_record["log"], "it goes on from its last checkpoint"
    changed = json.loads((run / SETTINGS).read_text()) | {CONTENT + "base_model": "sha256:0"}
    (run / SETTINGS).write_text(json.dumps(changed))
    with pytest.raises(ValueError, match=r"holds a run with other settings: content of base_model was 'sha256:0', now"):
        train(settings)


@pytest.mark.slow
def test_a_training_with_sampled_segmentations_begins_with_a_starter(tmp_path):
    model, tokenizer = load_base(
        training_settings(tmp_path / "run", base_model="starter/de-en", size="starter", alpha=0.3)
    )
    assert model.dtype.is_floating_point and model.config.d_model == 256
    source, _ = pieces_of(tokenizer)
    sampled = source.encode(["Wir schlafen heute."] * 50, alpha=0.3)
    assert len({tuple(ids) for ids in sampled}) > 1, "about a third of the draws differ from the Viterbi segmentation"
    assert toolkit.load_translator("starter/de-en").source.encode(["Ja."]) == source.encode(["Ja."])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"source_lang": "en", "lang": "de"}, "wanted a translator from en to de, got .* give the other direction"),
        ({"lang": "fr"}, "wanted a translator from de to fr, got .*, which reads de and writes en: give another"),
        (
            {"size": "starter"},
            "wanted a base model of size starter, got .*, which has 1 and 1 layers of width 32: leave",
        ),
        ({"max_tokens": 300}, "wanted max_tokens up to 256, which .*model reads, got 300"),
        (
            {"base_model": "starter/infiller"},
            "wanted a translator that parabank train translator made, .*, a t5 model: give",
        ),
        ({"base_model": "lost"}, "wanted a model, got 'lost', which is neither"),
    ],
)
def test_a_base_that_does_not_fit_is_one_error(tmp_path, base, changed, message):
    settings = {"base_model": str(base), "check_language": False, **changed}
    with pytest.raises(ValueError, match=message):
        train(training_settings(tmp_path / "run", **settings))
    assert not (tmp_path / "run").exists()


def test_a_marian_model_of_others_is_refused(tmp_path, base):
    settings = training_settings(tmp_path / "run", base_model=str(folder() / "de-en"), max_tokens=64)
    with pytest.raises(ValueError, match=r"a Marian model with another activation_function: give another model"):
        load_base(settings)
    shutil.copytree(base, tmp_path / "biased")
    model = MarianMTModel.from_pretrained(base)
    model.final_logits_bias[0, 5] = 0.5  # as OPUS-MT's have one, which this training does not learn
    model.save_pretrained(tmp_path / "biased")
    with pytest.raises(ValueError, match=r"a Marian model with another final_logits_bias: give another model"):
        load_base(replace(settings, base_model=str(tmp_path / "biased")))


def test_an_epoch_has_the_pairs_of_the_bitext_as_often_as_asked():
    table = pa.table({"source": ["a", "b", "c"], "reference": ["A", "B", "C"]})
    assert upsampled(table, 2, 3)["source"].to_pylist() == ["a", "b", "a", "b", "a", "b", "c"]
    assert upsampled(table, 2, 1) == table
