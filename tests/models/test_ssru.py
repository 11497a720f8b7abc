"""The model of Firefox translators against its equations, written out in numpy."""

import random

import pytest
import torch

from tests import firefox_folders as firefox
from tests.models.ssru_reference import Reference, position
from toolkit.decode.recurrent import RecurrentEngine
from toolkit.models.ssru import _positions
from toolkit.translator.firefox import _load_firefox, firefox_files

SAME = 1e-9  # nats, in float64


def random_ids(chance: random.Random, vocabulary: int, longest: int) -> list[int]:
    return [*(chance.randrange(1, vocabulary) for _ in range(chance.randrange(longest))), 0]


def assert_scores_are_those_of_the_equations(tiny: firefox.Tiny, pairs: int = 6) -> None:
    model, source, target = _load_firefox(firefox_files(tiny.folder), torch.float64)
    engine, reference, chance = RecurrentEngine(model), Reference.of(tiny), random.Random(1)
    outputs = [[*(chance.randrange(len(target)) for _ in range(9)), 0] for _ in range(pairs)]
    sources = [random_ids(chance, len(source), 12) for _ in outputs]
    expected = [reference.scores(*pair) for pair in zip(sources, outputs, strict=True)]
    assert len({round(score, 3) for scores in expected for score in scores}) > 8 * pairs, "nothing would be compared"
    likelihoods = engine.likelihoods(sources, outputs)
    assert likelihoods.dtype == torch.float64
    torch.testing.assert_close(likelihoods, torch.tensor(expected, dtype=torch.float64), atol=SAME, rtol=0)
    alone = torch.cat([engine.likelihoods([ids], [output]) for ids, output in zip(sources, outputs, strict=True)])
    torch.testing.assert_close(alone, likelihoods, atol=SAME, rtol=0)


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "two_vocabularies"])
@pytest.mark.parametrize("form", ["alphas.bin", "bin", "npz"])
def test_forced_scores_are_those_of_the_equations(form, shared):
    tiny = firefox.tiny(form, shared)
    assert_scores_are_those_of_the_equations(tiny, 6 if form == "alphas.bin" else 2)


@pytest.mark.parametrize("tied", [[1, 1, 1], [1, 2, 1, 2], [2, 1]])
def test_layers_of_the_decoder_may_share_their_tensors(tmp_path, tied):
    tiny = firefox.write_folder(tmp_path / "model", "bin")
    layers = max(tied)
    tiny.settings.update({"dec-depth": len(tied), "transformer-tied-layers": tied})
    size = tiny.arrays["decoder_ff_logit_out_b"].shape[1]
    arrays = firefox.random_arrays(size, size, 8, layers=layers)
    firefox.write_model(tiny.folder / "model.deen.bin", arrays, tiny.settings)
    assert_scores_are_those_of_the_equations(firefox.Tiny(tiny.folder, arrays, tiny.settings), 3)


def test_the_forward_pass_is_that_of_the_engine():
    translator = firefox.wide(firefox.tiny())
    sources, outputs = [[7, 9, 12, 0], [30, 0, 1, 1]], torch.tensor([[5, 6, 7, 0], [8, 9, 10, 0]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    logits = translator.model(torch.tensor(sources), mask, outputs)
    likelihoods = torch.log_softmax(logits, -1).gather(2, outputs[..., None])[..., 0]
    expected = RecurrentEngine(translator.model).likelihoods([sources[0], [30, 0]], outputs.tolist())
    torch.testing.assert_close(likelihoods, expected, atol=SAME, rtol=0)


def test_a_position_is_all_sines_then_all_cosines():
    table = _positions(1024, 32)
    for p in (0, 1, 17, 1023):
        assert table[p].tolist() == pytest.approx(position(p, 32).tolist(), abs=1e-7)
    assert table.dtype == torch.float32
