"""A Marian file whose decoder is a transformer: against its equations in numpy, and through the product."""

import random

import pytest
import torch

from tests import firefox_folders as firefox
from tests.models.ssru_reference import Reference
from tests.models.test_ssru import random_ids
from toolkit import Paraphraser, load_translator
from toolkit.decode.beam import beam_search
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.shared import SharedEngine
from toolkit.translator.firefox import _load_firefox, firefox_files

CLOSE = 1e-5  # nats: the engine gives float32


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "two_vocabularies"])
@pytest.mark.parametrize("form", ["alphas.bin", "npz"])
def test_forced_scores_are_those_of_the_equations(tmp_path, form, shared):
    tiny = firefox.write_folder(tmp_path / "model", form, shared, recurrent=False)
    model, source, target = _load_firefox(firefox_files(tiny.folder), torch.float64)
    engine, reference, chance = engine_of(model), Reference.of(tiny), random.Random(1)
    assert isinstance(engine, SharedEngine)
    targets = tiny.arrays["decoder_ff_logit_out_b"].shape[1]
    sources = [random_ids(chance, min(len(source) - 1, targets), 12) for _ in range(4)]
    outputs = [[*(chance.randrange(targets) for _ in range(9)), 0] for _ in sources]
    expected = [reference.scores(*pair) for pair in zip(sources, outputs, strict=True)]
    assert len({round(score, 3) for scores in expected for score in scores}) > 8 * len(sources)
    likelihoods = engine.likelihoods(sources, outputs)
    torch.testing.assert_close(likelihoods.double(), torch.tensor(expected, dtype=torch.float64), atol=CLOSE, rtol=0)
    assert len(source) == len(target) == model.config.vocab_size


def test_a_search_says_no_padding_and_its_scores_are_those_of_the_equations(tmp_path):
    tiny = firefox.write_folder(tmp_path / "model", "bin", recurrent=False)
    model, source, _ = _load_firefox(firefox_files(tiny.folder), torch.float64)
    reference, ids = Reference.of(tiny), source.encode(["Der Hund schläft im Garten."])[0]
    (hypotheses,) = beam_search(engine_of(model), [ids], 6, 30, 6)
    assert len({tuple(hypothesis.ids) for hypothesis in hypotheses}) > 1
    for hypothesis in hypotheses:
        assert model.config.pad_token_id not in hypothesis.ids
        assert hypothesis.logprob == pytest.approx(sum(reference.scores(ids, list(hypothesis.ids))), abs=1e-6)


@pytest.mark.slow
def test_it_translates_paraphrases_and_scores_like_any_translator(tmp_path):
    there = firefox.write_folder(tmp_path / "there", "bin", pair="ende", seed=5, recurrent=False)
    back = firefox.write_folder(tmp_path / "back", "bin", pair="deen", recurrent=False)
    translator = load_translator(str(there.folder), "float32")
    assert translator.signature.endswith("|float32")
    paraphraser = Paraphraser(pivot=(str(there.folder), str(back.folder)), lang="en")
    assert len(paraphraser.candidates(["The dog sleeps in the garden."], progress=False)[0]) > 1


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"transformer-ffn-activation": "gelu"}, "wanted transformer-ffn-activation relu or swish, got 'gelu'"),
        ({"transformer-decoder-autoreg": "average-attention"}, "wanted a model with transformer-decoder-autoreg"),
        ({"transformer-heads": 5}, "wanted embeddings of an even number"),
    ],
)
def test_another_architecture_is_one_line(tmp_path, changed, words):
    tiny = firefox.write_folder(tmp_path / "model", "bin", recurrent=False)
    firefox.write_model(tiny.folder / "model.deen.bin", tiny.arrays, tiny.settings | changed)
    with pytest.raises(ValueError, match=words) as error:
        load_translator(str(tiny.folder), "float32")
    assert "\n" not in str(error.value)


def test_a_missing_tensor_is_named(tmp_path):
    tiny = firefox.write_folder(tmp_path / "model", "bin", recurrent=False)
    arrays = {name: array for name, array in tiny.arrays.items() if name != "decoder_l2_self_Wk"}
    firefox.write_model(tiny.folder / "model.deen.bin", arrays, tiny.settings)
    with pytest.raises(ValueError, match="decoder_l2_self_Wk"):
        load_translator(str(tiny.folder), "float32")
