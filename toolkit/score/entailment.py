"""Entailment both ways: whether a candidate follows from its reference, and the reference from the candidate.

A candidate that says more than its reference does not follow from it, and from one that says less the reference does
not follow. The model is a cross-encoder for natural language inference, or a classifier of paraphrases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from toolkit.data.progress import at_hand
from toolkit.data.rows import Row
from toolkit.models.precision import check_device
from toolkit.models.weights import load_whole
from toolkit.starters import model_name, shown_name
from toolkit.system.extras import naming_extra

with naming_extra():
    from sentence_transformers import CrossEncoder

DECIMALS = 6  # ours: further digits differ from batch to batch
PARAPHRASE = 1  # the label of a classifier with two, such as `parabank train pair_classifier` trains
ENTAILS = "entail"  # in the name of the label of a model with names: "entailment", "ENTAILMENT", "entailed"
ENTAILS_NOT = ("not", "non", "contradict")  # likewise, of others: "not_entailment"


@dataclass(frozen=True)
class NliModel:
    """A model of entailment.

    Attributes:
        encoder: Reads a premise with a hypothesis.
        label: The number of its output for entailment.
        signature: Name, parameters and label, for provenance.
    """

    encoder: CrossEncoder
    label: int
    signature: str


def load_nli(name: str, device: torch.device | str | None = None) -> NliModel:
    """Load a model of entailment.

    Args:
        name: A Hub id ("cross-encoder/nli-deberta-v3-base") or a folder.
        device: Device on which it computes; None is a GPU where there is one (`default_device`).

    Raises:
        ValueError: There is no such model, a tensor of it is missing or not finite, or no label of it is entailment.
    """
    name, chosen_device = model_name(name), check_device(device)
    encoder: CrossEncoder = load_whole(
        lambda: CrossEncoder(name, device=str(chosen_device)),
        name,
        "a cross-encoder for natural language inference",
        "no folder or Hub id of one",
    )
    names = (encoder.config and encoder.config.id2label) or {}
    label = _entailment_label({int(number): str(text) for number, text in names.items()}, name)
    size = sum(p.numel() for p in encoder.parameters()) / 1e6
    return NliModel(
        encoder, label, f"entailment|{shown_name(name)}|{size:.1f}M|label:{label}|decimals:{DECIMALS}|v:1.0.0"
    )


def _entailment_label(names: Mapping[int, str], model: str) -> int:
    """The number of the label that says entailment, or of two without names the second one: a paraphrase.

    >>> _entailment_label({0: "entailment", 1: "neutral", 2: "contradiction"}, "nli")
    0
    >>> _entailment_label({0: "LABEL_0", 1: "LABEL_1"}, "mrpc")
    1

    Raises:
        ValueError: No label, or more than one, is entailment.
    """
    numbers = [
        number for number, name in names.items() if ENTAILS in name.lower() and not name.lower().startswith(ENTAILS_NOT)
    ]
    if not numbers and len(names) == 2 and all(name.startswith("LABEL_") for name in names.values()):
        return PARAPHRASE
    if len(numbers) != 1:
        raise ValueError(
            f"wanted a model with a label for entailment, got {model} with {', '.join(names.values())}: name its "
            "labels in its config.json (id2label), or give a cross-encoder for natural language inference"
        )
    return numbers[0]


def entailment_rows(rows: Iterable[Row], model: NliModel, batch_size: int) -> Iterator[Row]:
    """Fill `entailed` and `entails` of every candidate without a reason.

    A pair that the model cannot read whole has neither.

    Args:
        rows: Rows with candidates; all of a shard are held at a time.
        model: The model.
        batch_size: Pairs that are read at a time.
    """
    shard = list(rows)
    owners = [(row, candidate) for row in shard for candidate in row.candidates if candidate.reason is None]
    with at_hand(shard):
        probabilities = entailments([(row.reference, candidate.text) for row, candidate in owners], model, batch_size)
    for (_, candidate), (entailed, entails) in zip(owners, probabilities, strict=True):
        candidate.scores.entailed, candidate.scores.entails = entailed, entails
    yield from shard


def entailments(
    pairs: Sequence[tuple[str, str]], model: NliModel, batch_size: int
) -> list[tuple[float | None, float | None]]:
    """How probably the second text of each pair follows from the first, and the first from the second, in [0, 1].

    Args:
        pairs: Two texts each; equal pairs are read once.
        model: The model.
        batch_size: Pairs that are read at a time.

    Returns:
        Both probabilities of each pair; None where the model cannot read both texts whole.
    """
    directed = list(dict.fromkeys(texts for pair in pairs for texts in (pair, pair[::-1])))
    probability = dict(zip(directed, _probabilities(directed, model, batch_size), strict=True))
    return [(probability[pair], probability[pair[::-1]]) for pair in pairs]


def _probabilities(pairs: Sequence[tuple[str, str]], model: NliModel, batch_size: int) -> list[float | None]:
    """The probability that the second text of each pair follows from the first; None where both are too long."""
    encoder, probabilities = model.encoder, list[float | None]([None] * len(pairs))
    limit = encoder.max_seq_length or encoder.tokenizer.model_max_length
    lengths = _lengths(pairs, encoder.tokenizer) if pairs else []
    numbers = [number for number, length in enumerate(lengths) if length <= limit]
    if numbers:
        outputs = encoder.predict(
            [pairs[number] for number in numbers], batch_size=batch_size, apply_softmax=True, show_progress_bar=False
        )
        for number, output in zip(numbers, outputs[:, model.label].tolist(), strict=True):
            probabilities[number] = round(output, DECIMALS)
    return probabilities


def _lengths(pairs: Sequence[tuple[str, str]], tokenizer: Any) -> list[int]:
    """The number of tokens of each pair, with those between and around both texts."""
    firsts, seconds = ([pair[side] for pair in pairs] for side in (0, 1))
    return [len(ids) for ids in tokenizer(firsts, seconds, truncation=False, verbose=False)["input_ids"]]
