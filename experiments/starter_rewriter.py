r"""The recipe of the starter rewriter: an adapter with which a small language model paraphrases.

    python -m experiments.starter_rewriter --pairs build/starter-paraphraser --output_dir build/starter-rewriter

--pairs is the folder of `starter_paraphraser.py` after its steps natural, parabank and teacher. SmolLM2-135M learns to
go on after a text and a line break with its paraphrase: people's paraphrases of Tatoeba whose cosine is high, and pairs
of a sentence and an output of two translators that the judge called usable, each in a random direction. Outputs that
readers called usable are left out, and so are all texts of `evaluation_texts.tsv`: what the model finds probable is a
feature of the judge, which is fitted on these. Only the upper layers have adapters (LoRA, Hu et al. 2022), and the loss
is of the paraphrase alone.

The result goes to `toolkit/starters/rewriter` in float16. 5,300 pairs once took 20 minutes on a core.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from torch.nn.functional import cross_entropy

from experiments.evaluation_texts import FILE
from experiments.starter_paraphraser import Pair, left_out, records, words_in
from toolkit.encoder.load import load_encoder
from toolkit.models.language_model import BREAK, load_language_model
from toolkit.score.semantic import pair_cosines

BASE = "starter/smollm2"
PEOPLE, TAUGHT = 3300, 2000  # pairs
LEAST_COSINE, LEAST_WORDS, LEAST_CHANGED = 0.8, 4, 2  # of people's pairs; words that only one side has
FIRST_LAYER, RANK, LAYERS = 10, 8, ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
RATE, WARMUP, BATCH = 5e-4, 20, 24
POOLED = 20  # batches of similar length are cut from so many
WEIGHTS = "adapter_model.safetensors"


def training_pairs(folder: Path) -> list[Pair]:
    """Texts with paraphrases, in random order and direction."""
    chance = random.Random(0)
    apart = left_out(folder) | {line.split("\t")[2] for line in FILE.read_text(encoding="utf-8").splitlines()}
    groups = records(folder / "natural.tsv")
    people = [(one, other) for one, *others in groups for other in others if one < other and differs(one, other)]
    cosines = pair_cosines(people, load_encoder("starter/encoder"))
    near = [pair for pair, cosine in zip(people, cosines, strict=True) if cosine >= LEAST_COSINE]
    taught = [(text, output) for text, output in records(folder / "teacher.tsv") if differs(text, output)]
    chosen = []
    for some, count in ((near, PEOPLE), (taught, TAUGHT)):
        free = [pair for pair in some if not apart & set(pair)]
        for one, other in chance.sample(free, min(count, len(free))):
            chosen.append((one, other) if chance.random() < 0.5 else (other, one))
    chance.shuffle(chosen)
    return chosen


def differs(one: str, other: str) -> bool:
    """Whether two sentences are long enough, and have enough words that the other has not."""
    sides = [{word.lower() for word in words_in(text)} for text in (one, other)]
    return min(map(len, sides)) >= LEAST_WORDS and len(sides[0] ^ sides[1]) >= LEAST_CHANGED


def batches(examples: Sequence[tuple[list[int], list[int]]], chance: random.Random) -> list[list[int]]:
    """Numbers of examples of similar length, in random order."""
    size = BATCH * POOLED
    pools = [range(begin, min(begin + size, len(examples))) for begin in range(0, len(examples), size)]
    ordered = [sorted(pool, key=lambda n: len(examples[n][0]) + len(examples[n][1])) for pool in pools]
    cut = [pool[begin : begin + BATCH] for pool in ordered for begin in range(0, len(pool), BATCH)]
    chance.shuffle(cut)
    return cut


def loss_of(model: Any, examples: Sequence[tuple[list[int], list[int]]]) -> torch.Tensor:
    """The mean loss of the paraphrases' tokens after their texts, in nats."""
    longest = max(len(text) + len(said) for text, said in examples)
    rows = torch.zeros(len(examples), longest, dtype=torch.long)
    inside, labels = torch.zeros_like(rows), torch.full_like(rows, -100)
    for row, (text, said) in enumerate(examples):
        whole = len(text) + len(said)
        rows[row, :whole], inside[row, :whole] = torch.tensor(text + said), 1
        labels[row, len(text) - 1 : whole - 1] = torch.tensor(said)
    hidden = model.base_model.model.model(input_ids=rows, attention_mask=inside).last_hidden_state
    counted = labels != -100
    return cross_entropy(model.base_model.model.lm_head(hidden[counted]), labels[counted])


def train(pairs: Sequence[Pair], output: Path) -> None:
    """Train the adapter for one epoch, and save it in float16."""
    torch.manual_seed(0)
    loaded = load_language_model(BASE, "float32")
    tokenizer: Any = loaded.tokenizer
    examples = [
        tuple(tokenizer(text + BREAK, add_special_tokens=False)["input_ids"] for text in pair) for pair in pairs
    ]
    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=RANK,
        lora_alpha=2 * RANK,
        lora_dropout=0.05,
        target_modules=list(LAYERS),
        layers_to_transform=list(range(FIRST_LAYER, loaded.model.config.num_hidden_layers)),
        layers_pattern="layers",
    )
    model: Any = get_peft_model(loaded.model, config)
    model.train()
    weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(weights, RATE, weight_decay=0.0)
    steps, began = batches(examples, random.Random(0)), time.monotonic()
    for step, batch in enumerate(steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / WARMUP) * (1 - step / len(steps))
        loss = loss_of(model, [examples[n] for n in batch])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        if step % 20 == 19:
            print(f"{step + 1} of {len(steps)}, loss {loss.item():.3f}, {time.monotonic() - began:.0f} s", flush=True)
    model.peft_config["default"].base_model_name_or_path = BASE
    model.save_pretrained(output)
    save_file({name: value.half() for name, value in load_file(output / WEIGHTS).items()}, output / WEIGHTS)


def main() -> None:
    """Choose the pairs, and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, required=True, help="folder of starter_paraphraser.py")
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    pairs = training_pairs(options.pairs)
    print(f"{len(pairs):,} pairs")
    train(pairs, options.output_dir)


if __name__ == "__main__":
    main()
