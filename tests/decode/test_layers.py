"""A step of our own layers is a step of the model's own decoder, layer by layer, on a CPU and on a pretended GPU."""

from contextlib import nullcontext
from dataclasses import replace
from itertools import cycle

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoConfig, AutoModelForSeq2SeqLM, PreTrainedModel
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from research.benchmarks.gpu_check import random_model
from tests.pretended import FREE, pretended_cuda
from toolkit.decode._attention import Rows, StepsLayer
from toolkit.decode._layers import LAYERED, compute_step, for_device, read_layers, source_states
from toolkit.decode.shared import SharedEngine

PAD, LAYERS, STEPS = 1, 3, 5
MOST_DISPATCHES = 250  # of a step of six layers; transformers' own decoder has 670 with our attention


def model_of(family: str, activation: str = "relu") -> PreTrainedModel:
    """A model of a family in float64, all of whose weights are random, those of norms and biases, too."""
    config = AutoConfig.for_model(
        family, vocab_size=60, d_model=16, encoder_layers=1, decoder_layers=LAYERS, encoder_attention_heads=2,
        decoder_attention_heads=4, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=32, pad_token_id=PAD,
        eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None, forced_bos_token_id=None,
        scale_embedding=True, activation_function=activation, init_std=0.3,
    )  # fmt: skip
    torch.manual_seed(5)
    model = AutoModelForSeq2SeqLM.from_config(config).eval().double()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return model


def library_states(model: PreTrainedModel, encoded: Tensor, steps: Tensor) -> list[list[Tensor]]:
    """By step and layer, the hidden states of each row by the model's own decoder; last those that it returns."""
    decoder, cache, results = model.get_decoder(), EncoderDecoderCache(DynamicCache(), DynamicCache()), []
    for ids in steps:
        outputs: list[Tensor] = []
        hooks = [layer.register_forward_hook(lambda _m, _i, out, o=outputs: o.append(out)) for layer in decoder.layers]
        last = decoder(input_ids=ids[:, None], encoder_hidden_states=encoded, past_key_values=cache, use_cache=True)
        for hook in hooks:
            hook.remove()
        results.append([states[:, 0] for states in (*outputs, last.last_hidden_state)])
    return results


def toolkit_states(model: PreTrainedModel, encoded: Tensor, steps: Tensor, sentence: Tensor) -> list[list[Tensor]]:
    """The same by our layers; `encoded` has one entry for each sentence, not for each row."""
    whole = read_layers(model.get_decoder())
    keys, values = source_states(whole, encoded)
    depths = [replace(whole, layers=whole.layers[: n + 1], last_norm=None) for n in range(LAYERS)] + [whole]
    caches = [[StepsLayer(STEPS) for _ in layers.layers] for layers in depths]
    rows, source = Rows.of(keys, None, sentence), for_device(keys, values)
    return [
        [
            compute_step(layers, ids, n, cache, source[: len(cache)], rows)
            for layers, cache in zip(depths, caches, strict=True)
        ]
        for n, ids in enumerate(steps)
    ]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize(("family", "activation"), list(zip(LAYERED, cycle(["relu", "silu", "gelu"]), strict=False)))
def test_every_layer_gives_what_the_models_own_gives(family, activation, device):
    model = model_of(family, activation)
    sentence = torch.tensor([0, 1, 0, 2, 1, 0])
    encoded = torch.randn(3, 7, 16, dtype=torch.double)
    steps = torch.randint(3, 60, (STEPS, len(sentence)))
    steps[2, 1] = PAD  # some positions are not those of padding
    with torch.inference_mode():
        expected = library_states(model, encoded[sentence], steps)
        with pretended_cuda() if device == "cuda" else nullcontext():
            model.to(device)
            actual = toolkit_states(model, encoded.to(device), steps.to(device), sentence.to(device))
            actual = [[states.cpu() for states in of_step] for of_step in actual]
    for of_step, expected_of_step in zip(actual, expected, strict=True):
        for states, expected_states in zip(of_step, expected_of_step, strict=True):
            torch.testing.assert_close(states, expected_states, atol=1e-6, rtol=1e-5)  # the scores are in float32
    assert max(states.std() for states in expected[0]) > 0.1


class Dispatches(TorchDispatchMode):
    """Counts what the host dispatches; operators that are made of others are counted as those."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        is_made = torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
        self.count += not is_made or func._schema.name.split("::")[1] in FREE
        return func(*args, **(kwargs or {}))


def test_a_step_on_a_gpu_has_few_dispatches():
    with torch.inference_mode(), pretended_cuda():
        model = random_model(6, 64, 101, torch.float32, torch.device("cpu"), -20.0).to("cuda")
        engine = SharedEngine(model)
        engine.graphs = False
        state = engine.start([[5, 6, 7, 0], [8, 0]], 4, 10)
        ids = torch.full((8,), 3, device="cuda")
        engine.step(state, ids)
        with Dispatches() as dispatches:
            engine.step(state, ids)
    assert 100 < dispatches.count < MOST_DISPATCHES


class Doubled(nn.Linear):
    """A linear layer that is not plain, as those with adapters."""

    def forward(self, x: Tensor) -> Tensor:
        """Twice the product."""
        return 2 * super().forward(x)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", ["self_attn.v_proj", "self_attn.out_proj", "encoder_attn.q_proj", "fc1"])
def test_a_layer_that_is_not_plain_is_called(name, device):
    model, sources = model_of("marian"), [[5, 9, 2], [17, 2]]

    def hidden_states() -> Tensor:
        with torch.inference_mode():
            engine = SharedEngine(model)
            state = engine.start(sources, 1, 3)
            for ids in ([2, 2], [7, 8]):
                hidden = engine.step(state, torch.tensor(ids, device=device))
            return hidden.cpu()

    with pretended_cuda() if device == "cuda" else nullcontext():
        model.to(device)
        plain = hidden_states()
        layer = model.get_decoder().layers[0].get_submodule(name)
        layer.__class__ = Doubled
        class_output = hidden_states()
        layer.__class__ = nn.Linear
        with torch.no_grad():
            layer.weight *= 2
            layer.bias *= 2
        doubled = hidden_states()
    assert (plain - class_output).abs().max() > 1e-3
    torch.testing.assert_close(class_output, doubled, atol=1e-6, rtol=1e-5)


def test_weights_are_read_anew_for_every_batch():
    with torch.inference_mode(False), pretended_cuda():
        model = model_of("bart").to("cuda")
        engine, ids = SharedEngine(model), torch.tensor([2], device="cuda")

        def hidden_states() -> Tensor:
            with torch.inference_mode():
                return engine.step(engine.start([[5, 9, 2]], 1, 3), ids).cpu()

        first = hidden_states()
        with torch.no_grad():
            model.get_decoder().layers[0].self_attn.v_proj.weight.mul_(-1)
        assert (first - hidden_states()).abs().max() > 1e-3
