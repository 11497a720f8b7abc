r"""A paraphraser that has read more than everyday sentences: the starter, trained further on questions and book text.

    python -m experiments.wide_paraphraser --data DIR --work build/paraphraser-table

DIR holds paraphrase/{paranet,quora}. Of Quora's pairs (both directions) and ParaNet's those are kept whose sides have a
cosine of MIN_COSINE or more by the starter encoder. A text of the tests of `paraphraser_data.py` is in none of them.
The corpora are for research, so that the model is not published; `augmentation_table.py` measures what it is worth for
texts that are no everyday sentences.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from experiments.paraphraser_data import Pair, quora_pairs, test_keys
from experiments.paraphraser_runs import paranet, training
from toolkit.bitext.normalize import match_key
from toolkit.encoder.load import load_encoder
from toolkit.paraphraser.paraphraser import ENCODER, STARTER

MIN_COSINE = 0.8
EPOCHS = 2


def near(pairs: Sequence[Pair], least: float) -> list[Pair]:
    """The pairs whose sides have at least such a cosine, and are not the same without case and punctuation."""
    different = [pair for pair in pairs if match_key(pair[0]) != match_key(pair[1])]
    encoder = load_encoder(ENCODER)
    one, other = (
        encoder.encode([pair[side] for pair in different], batch_size=256, normalize_embeddings=True) for side in (0, 1)
    )
    cosines = np.einsum("nd,nd->n", one, other)
    return [pair for pair, cosine in zip(different, cosines, strict=True) if cosine >= least]


def wide_pairs(data: Path) -> list[Pair]:
    """The training pairs in random order."""
    used = test_keys(data)
    questions = near([pair for pair in quora_pairs(data) if used.isdisjoint(map(match_key, pair))], MIN_COSINE)
    books = near([pair for pair in paranet(data) if used.isdisjoint(map(match_key, pair))], MIN_COSINE)
    print(f"{len(questions)} pairs of Quora, {len(books)} of ParaNet", flush=True)
    pairs = questions + [(other, one) for one, other in questions] + books
    random.Random(0).shuffle(pairs)
    return pairs


def main() -> None:
    """Train the model and print its folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    sizes = {"epochs": EPOCHS, "batch_tokens": 2048, "save_every": 500}
    print(training(options.work, "wide", wide_pairs(options.data), 0, STARTER, **sizes))


if __name__ == "__main__":
    main()
