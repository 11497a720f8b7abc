"""Models of every family with random weights: their entropy is what was asked for, and both engines do equal work."""

import functools
from pathlib import Path
from unittest import mock

import pytest
import torch

from research.benchmarks import bench_families, engines, family_models
from research.benchmarks.engines import Job, generate, ours
from research.benchmarks.opus_size import mean_entropy

TINY = {
    **{"vocab_size": 300, "d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2},
    **{"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2},
    **{"encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "forced_bos_token_id": 299},
}
ENTROPY, TOKENS = 0.7, 6


@functools.cache
def tiny_model(checkpoint: str):
    """The family's settings with small sizes, and sentences of two lengths."""
    kind, sizes = family_models.SIZES[checkpoint]
    small = {name: TINY.get(name, value) for name, value in sizes.items()}
    sources = [[*ids, sizes["eos_token_id"]] for ids in ([20, 31, 12, 40, 77], [20, 50])]
    return family_models.family_model(kind, small, sources, 0, ENTROPY), sources


@pytest.mark.parametrize("checkpoint", family_models.SIZES)
def test_a_step_has_the_entropy_that_was_asked_for(checkpoint):
    model, sources = tiny_model(checkpoint)
    assert mean_entropy(model, sources) == pytest.approx(ENTROPY, abs=0.1)


@pytest.mark.parametrize("checkpoint", family_models.SIZES)
def test_every_sample_of_both_engines_has_the_greatest_length(checkpoint, tmp_path: Path):
    """Neither EOS nor padding is ever said, and a language that is forced at the beginning is not counted."""
    model, sources = tiny_model(checkpoint)
    model.save_pretrained(tmp_path / "hf")
    job = Job(tmp_path, sources, [[], []], 10, 10, TOKENS, 2, torch.get_num_threads(), 1, 0)
    figures = ours(job, "float32") | generate(job, "float32")
    for name in ("ours_float32", "generate_fp32"):
        assert figures[name]["mean_tokens"] == figures[name]["longest"] == TOKENS
    assert 1.0 < figures["ours_float32"]["tokens_per_row"] < TOKENS


@pytest.mark.parametrize("checkpoint", family_models.SIZES)
def test_generate_draws_a_token_more_where_the_first_is_forced(checkpoint, tmp_path: Path, monkeypatch):
    model, sources = tiny_model(checkpoint)
    monkeypatch.setattr(engines, "load", lambda job, dtype: model)
    with mock.patch.object(model, "generate", wraps=model.generate) as spy:
        engines.generate(Job(tmp_path, sources, [[], []], 5, 10, TOKENS, 2, torch.get_num_threads(), 1, 0), "float32")
    forced = "mbart" in checkpoint or "nllb" in checkpoint
    assert spy.call_args.kwargs["max_new_tokens"] == TOKENS + forced


def test_the_families_are_those_of_the_sizes_and_the_starters_ids_fit_into_each():
    assert set(bench_families.FAMILIES.values()) == set(family_models.SIZES)
    for _, sizes in family_models.SIZES.values():
        special = [sizes[name] for name in ("eos_token_id", "pad_token_id", "decoder_start_token_id")]
        assert max(special) < bench_families.FIRST and sizes["vocab_size"] > 10_000


def test_the_table_has_a_line_for_each_family():
    engine = {"tokens_per_second": 20.0, "tokens_per_row": 2.5, "peak_megabytes": 1000.0}
    measurements = {"ours": engine, "generate_bf16": engine | {"tokens_per_second": 8.0}}
    results = {"t5": {"model": {"sizes_of": "google-t5/t5-base", "entropy": 0.71}, **measurements}}
    last = bench_families.markdown(results, bench_families.engines(False)).splitlines()[-1]
    assert last == "| google-t5/t5-base | 20 | 8 | 2.50 | 2.50 | 0.71 | 1,000 / 1,000 |"
