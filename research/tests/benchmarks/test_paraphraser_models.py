"""Paraphrasers with random weights: their outputs have the length of the texts, and every engine does equal work."""

from pathlib import Path
from unittest import mock

import pytest

from research.benchmarks import paraphraser_models
from research.benchmarks.paraphraser_engines import Job, N, ctranslate2, generate, ours
from tests.tiny import pairs

TINY = {
    **{"vocab_size": 300, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4},
    **{"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4},
    **{"encoder_ffn_dim": 128, "decoder_ffn_dim": 128},
}
TEXTS = [english for _, english in pairs(320)]


@pytest.mark.slow
@pytest.mark.parametrize("checkpoint", ["google-t5/t5-small", "facebook/bart-base"])
def test_outputs_are_as_long_as_the_texts_and_all_engines_give_some(checkpoint, tmp_path: Path):
    kind, sizes = paraphraser_models.SIZES[checkpoint]
    small = {name: TINY.get(name, value) for name, value in sizes.items()}
    with mock.patch.dict(paraphraser_models.SIZES, {checkpoint: (kind, small)}):
        about = paraphraser_models.write_model(tmp_path / "model", checkpoint, TEXTS, 0, 0.9)
    mean, deviation = about["tokens_of_an_output"]
    assert mean == pytest.approx(about["tokens_of_a_text"], rel=0.15) and deviation < mean
    job = Job(str(tmp_path / "model"), str(tmp_path / "ct2"), False, TEXTS[:6], 2, 1, 1, 0)
    engines = {"ours_equal": ours, "one_by_one": generate, "batched": generate}
    try:
        paraphraser_models.convert(tmp_path / "model", tmp_path / "ct2")
        engines["ctranslate2_float32"] = ctranslate2
    except ModuleNotFoundError:  # the tests' extra is without CTranslate2
        pass
    for name, engine in engines.items():
        figures = engine(job, name)
        assert figures["texts"] == (2 if name == "one_by_one" else 6)
        assert 1 < figures["outputs_of_a_text"] <= N
        assert all(len(set(texts)) == len(texts) for texts in figures["examples"].values())
