"""Batch sizes that settings leave open: today's on a CPU, by its free memory on a GPU that is pretended."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from transformers import GPT2Config, MarianConfig, T5Config

from builders.commands.rewrite_text import Rewriting
from builders.parabank import ParaBank
from builders.parabank2 import ParaBank2
from builders.paranet import ParaNet
from builders.paranmt import ParaNMT
from builders.parazh import ParaZh
from tests.gpus import pretend_gpus
from toolkit.decode import recurrent, shared
from toolkit.generate.merge import LONG, max_output_tokens
from toolkit.generate.monolingual import BackTranslation
from toolkit.models import batch_sizes
from toolkit.models.batch_sizes import LOGIT, SHARE, SLICE, STEPS, batches_of, room, with_batches
from toolkit.paraphraser.settings import Paraphrasing
from toolkit.score.cross_entropy import BitextFilter

H100 = 78 << 30
BITEXT = {"bitext": ["a.tsv"], "source_lang": "de", "lang": "en", "forward": "f", "backward": "b", "output": "o.tsv"}
TEXT = {"text": ["a"], "model": "m", "source_lang": "de", "lang": "en", "output": "o.tsv"}


def saved(config, folder) -> str:
    config.save_pretrained(folder)
    return str(folder)


@pytest.fixture
def models(tmp_path) -> dict[str, str]:
    small = {"decoder_layers": 6, "d_model": 512, "vocab_size": 58101, "encoder_layers": 2, "pad_token_id": 58100}
    large = {**small, "decoder_layers": 12, "d_model": 768}
    t5 = {"num_layers": 3, "num_decoder_layers": 4, "d_model": 64, "d_kv": 32, "num_heads": 8, "vocab_size": 32128}
    return {
        "small": saved(MarianConfig(**small), tmp_path / "small"),
        "large": saved(MarianConfig(**large), tmp_path / "large"),
        "t5": saved(T5Config(**t5), tmp_path / "t5"),
        "gpt2": saved(GPT2Config(), tmp_path / "gpt2"),
    }


def gpu(monkeypatch, free: int, count: int = 1, major: int = 9) -> None:
    pretend_gpus(monkeypatch, count, major)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, H100))


@pytest.mark.parametrize(
    ("settings", "rows", "tokens"),
    [
        (ParaBank2(), 2400, 8192),
        (ParaBank(), 1200, None),
        (ParaNMT(), 1200, None),
        (ParaZh(), 1200, 8192),
        (ParaNet(), 1200, 8192),
        (Paraphrasing(), 2400, 8192),
        (Rewriting(model="m", input="i", output="o"), 1200, None),
        (BackTranslation(**TEXT), 512, None),
        (BitextFilter(**BITEXT), None, 8192),
    ],
)
def test_on_a_cpu_they_are_the_same_on_every_machine(settings, rows, tokens):
    assert room("cpu") is None
    new_settings = with_batches(settings, room("cpu"), ["nothing/that-is-read"])
    assert getattr(new_settings, "batch_rows", None) == rows and getattr(new_settings, "batch_tokens", None) == tokens
    assert new_settings.batch_sizes == settings.batch_sizes


def test_the_room_is_a_share_of_what_is_free_for_each_process(monkeypatch):
    gpu(monkeypatch, H100, count=2)
    assert room("cuda") == SHARE * H100 // 2  # of bfloat16
    assert room("cuda", "float32") == SHARE * H100 // 4
    assert room("cuda", sharing=4) == SHARE * H100 // 8
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")  # on two GPUs
    assert room("cuda") == SHARE * H100 // 4
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 30)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 10)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (80, H100))
    assert room("cuda", sharing=1) == SHARE * 100 // 2, "torch has 20 bytes that it does not use"


def test_rows_are_those_whose_caches_and_logits_fit(monkeypatch, models):
    gpu(monkeypatch, H100)
    assert with_batches(ParaBank2(), room("cuda"), [models["small"]]).batch_sizes == {
        "batch_rows": 16_384,
        "batch_tokens": 65_536,
    }
    for name, layers, width, free in (
        ("large", 12, 768, H100),
        ("large", 12, 768, 8 << 30),
        ("small", 6, 512, 1 << 30),
    ):
        gpu(monkeypatch, free)
        rows = with_batches(ParaBank2(), room("cuda"), [models[name], models["gpt2"], "no/model"]).batch_rows
        bytes_of = [
            2 * (2 * layers * width * STEPS * count + min(count, SLICE) * LOGIT * 58101) for count in (rows, rows + 1)
        ]
        assert bytes_of[0] <= SHARE * free < bytes_of[1], "as many as fit"
    result = with_batches(ParaBank2(), room("cuda"), [models["small"], models["large"]])
    assert result == with_batches(ParaBank2(), room("cuda"), [models["large"]]), "the larger one counts"


def test_a_small_gpu_scores_fewer_tokens(monkeypatch, models):
    gpu(monkeypatch, 2 << 30)
    tokens = with_batches(ParaBank2(), room("cuda"), [models["large"]]).batch_tokens
    gpu(monkeypatch, 1 << 30)
    fewer_tokens = with_batches(ParaBank2(), room("cuda"), [models["large"]]).batch_tokens
    assert 0 < fewer_tokens < tokens < 65_536
    assert with_batches(ParaBank2(), 0, [models["large"]]).batch_sizes == {"batch_rows": 1, "batch_tokens": 1}


def test_the_shape_of_a_model(models):
    assert batch_sizes._shape(models["small"]) == batch_sizes._Shape(6, 512, 58101)
    assert batch_sizes._shape(models["t5"]) == batch_sizes._Shape(4, 256, 32128), "its heads are wider than the model"
    assert batch_sizes._shape(models["gpt2"]) is None and batch_sizes._shape("no/model") is None
    unknown = with_batches(ParaBank2(), 10**9, ["no/model"])
    assert unknown.batch_rows == batch_sizes._fitting_rows(10**9, batch_sizes.LARGE)


def test_a_number_that_is_given_wins(monkeypatch, models):
    gpu(monkeypatch, H100)
    settings = ParaBank2(batch_rows=77)
    assert with_batches(settings, room("cuda"), [models["small"]]) == replace(settings, batch_tokens=65_536)
    translator = SimpleNamespace(model=SimpleNamespace(device="cuda", dtype=torch.bfloat16), name=models["small"])
    assert batches_of(settings, translator).batch_sizes == {"batch_rows": 77, "batch_tokens": 65_536}


def test_the_numbers_are_those_of_the_decoders():
    assert max_output_tokens(LONG) == STEPS
    assert shared.SLICE["cuda"] == recurrent.SLICE["cuda"] == SLICE
