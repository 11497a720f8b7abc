"""The engines of the benchmark of augmentation give new rows; nlpaug's where it is installed."""

from importlib.util import find_spec

import pytest
from transformers import AutoModelForMaskedLM, AutoTokenizer

from research.benchmarks import augment_engines as engines
from research.benchmarks.augment_models import write_masked
from research.benchmarks.bench_augment import prepare
from tests.tiny import pairs

TEXTS = [english for _, english in pairs(40)]
ENGINES = {"ours": engines.ours, "ours_few": engines.ours, "ours_two_processes": engines.ours_two_processes}
ENGINES |= {"parrot": engines.parrot}
if find_spec("nlpaug"):
    ENGINES |= {"back_translation": engines.nlpaug_back_translation, "contextual": engines.nlpaug_contextual}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    engine_models, about = prepare(tmp_path_factory.mktemp("models"), "starter", TEXTS, 0)
    assert about["masked_parameters"] > 3_000_000
    return engine_models


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_gives_new_rows(models, name):
    job = engines.Job(models, True, TEXTS[:12], 2, 1, 1, 0)
    figures = ENGINES[name](job, name)
    assert figures["rows"] == 12 and 0.5 < figures["new_rows_of_a_row"] <= 2
    assert all(isinstance(text, str) and text for text in figures["examples"])


def test_a_masked_model_fills_masks(tmp_path):
    write_masked(tmp_path / "bert", "starter", TEXTS, 0)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "bert")
    read = tokenizer(f"the {tokenizer.mask_token} is here", return_tensors="pt")
    logits = AutoModelForMaskedLM.from_pretrained(tmp_path / "bert")(read["input_ids"]).logits
    assert logits.shape == (1, read["input_ids"].shape[1], 7500) and tokenizer.mask_token_id in read["input_ids"]


def test_memory_is_measured_with_shards_on_disk(models, tmp_path):
    job = engines.Job(models, True, [], 2, 1, 1, 0)
    assert engines.kept_on_disk(job, TEXTS[:5], str(tmp_path)) > 2
    assert list((tmp_path / "shards-5").glob("new-*.arrow"))
