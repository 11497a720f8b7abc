"""An adapter keeps its products when its matrices are rounded to float8, and the recipe's own pairs are whole."""

import json
import random

import torch
from safetensors.torch import load_file, save_file

from research.experiments.starter_rewriter import HELD_OUT, SETTINGS, WEIGHTS, own_pairs, save_small


def test_an_adapter_in_float8_has_nearly_the_same_products(tmp_path):
    generator = torch.Generator().manual_seed(0)
    down, up = torch.randn(4, 64, generator=generator) / 8, torch.randn(32, 4, generator=generator) / 100
    up[:, 3] = 0.0  # a rank that learned nothing
    save_file({"layer.lora_A.weight": down, "layer.lora_B.weight": up}, tmp_path / WEIGHTS)
    (tmp_path / SETTINGS).write_text(json.dumps({"r": 4, "lora_alpha": 8}))
    save_small(tmp_path)
    small = load_file(tmp_path / WEIGHTS)
    assert {weight.dtype for weight in small.values()} == {torch.float8_e4m3fn}
    alpha = json.loads((tmp_path / SETTINGS).read_text())["lora_alpha"]
    before = 8 * up @ down
    after = alpha * small["layer.lora_B.weight"].float() @ small["layer.lora_A.weight"].float()
    assert torch.isfinite(after).all() and (after - before).norm() < 0.06 * before.norm()


def test_held_out_texts_are_in_no_pair():
    pairs, held_out_texts = own_pairs(random.Random(0))
    assert len(held_out_texts) == 2 * HELD_OUT and len(pairs) % 3 == 0
    assert not {text for text, _ in held_out_texts} & {text for pair in pairs for text in pair}
