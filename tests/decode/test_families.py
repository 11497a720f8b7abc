"""Every family that the engine says it drives: the same ids and log-probabilities as the model's own forward pass."""

import pytest
import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM

from tests import tiny  # noqa: F401 - one thread
from toolkit.decode.engine import FAMILIES, Engine
from toolkit.decode.sampling import sample


def random_model(family: str) -> torch.nn.Module:
    torch.manual_seed(0)
    config = AutoConfig.for_model(
        family,
        vocab_size=60,
        d_model=16,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=64,
        init_std=0.5,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
        forced_bos_token_id=None,
    )
    return AutoModelForSeq2SeqLM.from_config(config).eval()


@pytest.mark.parametrize("family", FAMILIES)
def test_decoding_with_shared_states_is_the_models_own_forward_pass(family):
    model = random_model(family)
    sources = [[5, 9, 11, 30, 2], [17, 2], [8, 40, 41, 42, 43, 44, 45, 2]]
    with torch.no_grad():
        greedy = sample(Engine(model), sources, [[] for _ in sources], [0, 1, 2], 1, 12)
        drawn = sample(Engine(model), sources, [[] for _ in range(9)], list(range(9)), 5, 12)
        for n, found in enumerate([*greedy, *drawn]):
            source = sources[n] if n < 3 else sources[(n - 3) // 3]
            said = torch.tensor([[model.config.decoder_start_token_id, *found.ids[:-1]]])
            logprobs = model(input_ids=torch.tensor([source]), decoder_input_ids=said).logits[0].log_softmax(-1)
            ids = torch.tensor(found.ids)
            assert found.logprob == pytest.approx(logprobs.gather(1, ids[:, None]).sum().item(), abs=1e-3)
            if n < 3:
                logprobs[:, model.config.pad_token_id] = -torch.inf
                assert logprobs.argmax(-1).tolist() == found.ids
    assert len({tuple(s.ids) for s in drawn}) > 3
