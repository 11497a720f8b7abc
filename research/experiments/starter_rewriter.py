r"""The recipe of the starter rewriter: an adapter with which a small language model paraphrases.

    python -m research.experiments.starter_rewriter --pairs build/starter-paraphraser \
        --output_dir build/starter-rewriter

--pairs is the folder of `starter_paraphraser.py` after its steps natural, parabank and teacher. SmolLM2-135M learns to
go on after a text and a line break with its paraphrase (LoRA, Hu et al. 2022; the loss is of the paraphrase alone).
What it learns from:

- 5,700 texts of our own with two paraphrases each (own_paraphrases.tsv.gz, whose lines are: part, text, paraphrase that
  keeps the text's order, freer paraphrase), written by a large language model: both after the text, and for each text
  one more pair, of both paraphrases in a random order or of the text after one of them;
- 3,300 people's paraphrases of Tatoeba whose cosine is high, and 2,000 pairs of a sentence and an output of two
  translators that the judge called usable.

Outputs that readers called usable are left out, and so are all texts of `evaluation_texts.tsv`, since the judge is
fitted on what the model finds probable; some texts of our own are much like one of them. HELD_OUT texts of our own are
kept apart, whose paraphrases' loss is printed at the end, before the adapter is rounded. The part "second" of the file
came after the training.

The result goes to `toolkit/starters/rewriter`, in float8 (e4m3). Three epochs took two minutes on an H100, by a loop
of the same steps that was written for it.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from torch.nn.functional import cross_entropy

from research.experiments.evaluation_texts import FILE
from research.experiments.starter_paraphraser import Pair, left_out, records, words_in
from toolkit.bitext.text_file import read_text
from toolkit.encoder.load import load_encoder
from toolkit.models.language_model import BREAK, load_language_model
from toolkit.score.semantic import pair_cosines

BASE = "starter/smollm2"
PARAPHRASES = Path(__file__).with_name("own_paraphrases.tsv.gz")
FIRST = "first"  # the part of PARAPHRASES that is learned from
HELD_OUT = 150  # texts of PARAPHRASES
PEOPLE, TAUGHT = 3300, 2000  # pairs
LEAST_COSINE, LEAST_WORDS, LEAST_CHANGED = 0.8, 4, 2  # of people's pairs; words that only one side has
RANK, LAYERS = 16, ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
EPOCHS, RATE, WARMUP, BATCH = 3, 6e-4, 20, 96
POOLED = 20  # batches of similar length are cut from so many
SCALE = 2.0**10  # by which the product of both matrices grows before it is rounded to float8; LoRA's alpha undoes it
WEIGHTS, SETTINGS = "adapter_model.safetensors", "adapter_config.json"


def own_pairs(chance: random.Random) -> tuple[list[Pair], list[Pair]]:
    """Pairs of our own: those to learn from, and those of HELD_OUT texts, each text with its two paraphrases."""
    lines = read_text(str(PARAPHRASES)).splitlines()
    texts = [texts for part, *texts in (line.split("\t") for line in lines) if part == FIRST]
    chance.shuffle(texts)
    test_pairs = [(text, paraphrase) for text, *paraphrases in texts[:HELD_OUT] for paraphrase in paraphrases]
    pairs = []
    for text, near, free in texts[HELD_OUT:]:
        more = chance.choice([(near, text), (free, text), (near, free), (free, near)])
        pairs += [(text, near), (text, free), more]
    return pairs, test_pairs


def others_pairs(folder: Path) -> list[Pair]:
    """Sentences with paraphrases by people and by two translators, in random order, in a random direction."""
    chance = random.Random(0)
    apart = left_out(folder) | {line.split("\t")[2] for line in FILE.read_text(encoding="utf-8").splitlines()}
    groups = records(folder / "natural.tsv")
    people = [
        (text, paraphrase)
        for text, *paraphrases in groups
        for paraphrase in paraphrases
        if text < paraphrase and differs(text, paraphrase)
    ]
    cosines = pair_cosines(people, load_encoder("starter/encoder"))
    near = [pair for pair, cosine in zip(people, cosines, strict=True) if cosine >= LEAST_COSINE]
    taught = [(text, output) for text, output in records(folder / "teacher.tsv") if differs(text, output)]
    pairs = []
    for candidates, count in ((near, PEOPLE), (taught, TAUGHT)):
        free = [pair for pair in candidates if not apart & set(pair)]
        for first, second in chance.sample(free, min(count, len(free))):
            pairs.append((first, second) if chance.random() < 0.5 else (second, first))
    chance.shuffle(pairs)
    return pairs


def differs(first: str, second: str) -> bool:
    """Whether two sentences are long enough, and have enough words that the other has not."""
    sides = [{word.lower() for word in words_in(text)} for text in (first, second)]
    return min(map(len, sides)) >= LEAST_WORDS and len(sides[0] ^ sides[1]) >= LEAST_CHANGED


def batches(examples: Sequence[tuple[list[int], list[int]]], chance: random.Random) -> list[list[int]]:
    """Numbers of examples of similar length, in random order."""
    size, order = BATCH * POOLED, list(range(len(examples)))
    chance.shuffle(order)
    pools = [order[begin : begin + size] for begin in range(0, len(order), size)]
    ordered = [sorted(pool, key=lambda n: len(examples[n][0]) + len(examples[n][1])) for pool in pools]
    cut = [pool[begin : begin + BATCH] for pool in ordered for begin in range(0, len(pool), BATCH)]
    chance.shuffle(cut)
    return cut


def loss_of(model: Any, examples: Sequence[tuple[list[int], list[int]]]) -> torch.Tensor:
    """The mean loss of the paraphrases' tokens after their texts, in nats."""
    longest = max(len(text) + len(paraphrase) for text, paraphrase in examples)
    rows = torch.zeros(len(examples), longest, dtype=torch.long)
    inside, labels = torch.zeros_like(rows), torch.full_like(rows, -100)
    for row, (text, paraphrase) in enumerate(examples):
        whole = len(text) + len(paraphrase)
        rows[row, :whole], inside[row, :whole] = torch.tensor(text + paraphrase), 1
        labels[row, len(text) - 1 : whole - 1] = torch.tensor(paraphrase)
    rows, inside, labels = (tensor.to(model.device) for tensor in (rows, inside, labels))
    hidden = model.base_model.model.model(input_ids=rows, attention_mask=inside).last_hidden_state
    mask = labels != -100
    return cross_entropy(model.base_model.model.lm_head(hidden[mask]), labels[mask])


def train(pairs: Sequence[Pair], test_pairs: Sequence[Pair], output: Path, device: str) -> None:
    """Train the adapter, print the loss of the pairs that were held out, and save it in float8."""
    torch.manual_seed(0)
    loaded = load_language_model(BASE, "float32", device)
    tokenizer: Any = loaded.tokenizer
    examples, apart = (
        [tuple(tokenizer(text + BREAK, add_special_tokens=False)["input_ids"] for text in pair) for pair in pair_list]
        for pair_list in (pairs, test_pairs)
    )
    config = LoraConfig(
        task_type="CAUSAL_LM", r=RANK, lora_alpha=2 * RANK, lora_dropout=0.0, target_modules=list(LAYERS)
    )
    model: Any = get_peft_model(loaded.model, config)
    model.train()
    weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(weights, RATE, weight_decay=0.0)
    chance, began = random.Random(0), time.monotonic()
    steps = [batch for _ in range(EPOCHS) for batch in batches(examples, chance)]
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
    with torch.no_grad():
        near, free = (loss_of(model.eval(), apart[side::2]).item() for side in (0, 1))
    print(f"held out: loss {near:.3f} of paraphrases in the text's order, {free:.3f} of freer ones")
    model.peft_config["default"].base_model_name_or_path = BASE
    model.save_pretrained(output)
    save_small(output)


def save_small(folder: Path) -> None:
    """Round an adapter to float8, both matrices of a product, and each of its ranks, scaled to a like size before."""
    weights, small = load_file(folder / WEIGHTS), {}
    for name in [name for name in weights if "lora_A" in name]:
        partner = name.replace("lora_A", "lora_B")
        down, up = weights[name].float(), weights[partner].float()
        scale = (SCALE * up.square().mean(0).sqrt() / down.square().mean(1).sqrt()).sqrt().clamp(min=1.0)
        small[name] = (down * scale[:, None]).to(torch.float8_e4m3fn)
        small[partner] = (up * (SCALE / scale)).to(torch.float8_e4m3fn)
    save_file(small, folder / WEIGHTS)
    settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    settings["lora_alpha"] /= SCALE
    (folder / SETTINGS).write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    """Choose the pairs, and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, required=True, help="folder of starter_paraphraser.py")
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    pairs, test_pairs = own_pairs(random.Random(0))
    pairs += others_pairs(options.pairs)
    print(f"{len(pairs):,} pairs")
    train(pairs, test_pairs, options.output_dir, options.device)


if __name__ == "__main__":
    main()
