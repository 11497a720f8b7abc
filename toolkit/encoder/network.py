"""The encoders of ParaNMT-50M: WORD, TRIGRAM, LSTM, BLSTM, and their combinations; they need torch alone.

`toolkit.encoder.modules` makes a module of sentence-transformers of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from toolkit.encoder.settings import Architecture
from toolkit.encoder.tokens import _Tokens, _trigrams, _word_keys, tokenize
from toolkit.encoder.vocabulary import _read_entries, _Vocabulary, character_trigrams, words

CONFIG, WEIGHTS, WORDS, TRIGRAMS = "paraphrastic_config.json", "model.safetensors", "words.txt", "trigrams.txt"
WIDTH = 0.1  # ours: a table is initialised uniformly in [-0.1, 0.1], about the range of PARAGRAM's vectors
WIDTH_BESIDE_TRIGRAMS = 0.02  # ours: for words beside trigrams, because trigrams represent rare words better
LONGEST_RUN = 512  # ours: tokens that a recurrent part reads of a text; the averaging parts read all

Features = dict[str, Tensor]
Tables = dict[str, Tensor]


class ParaphrasticNetwork(nn.Module):
    """An encoder of texts as vectors, by averages of word or trigram vectors, a recurrent network, or both.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), section 4 and appendix A.2.
    """

    def __init__(self, architecture: Architecture, vocabularies: dict[str, _Vocabulary]) -> None:
        """Make an encoder with random weights.

        Args:
            architecture: Its parts and sizes.
            vocabularies: "word" for the parts word and lstm, whose first entry stands for all unknown words, and
                "trigram" for the part trigram.
        """
        super().__init__()
        self.architecture, self.vocabularies = architecture, vocabularies
        self.tables = nn.ParameterDict(
            {
                part: nn.Parameter(torch.empty(len(vocabularies[kind_of(part)]), architecture.dimensions))
                for part in architecture.parts
            }
        )
        for part, table in self.tables.items():
            width = WIDTH_BESIDE_TRIGRAMS if part == "word" and "trigram" in architecture.parts else WIDTH
            nn.init.uniform_(table, -width, width)
        if "lstm" in architecture.parts:
            hidden = architecture.hidden or architecture.dimensions
            is_bidirectional = architecture.direction != "forward"
            self.lstm = nn.LSTM(architecture.dimensions, hidden, batch_first=True, bidirectional=is_bidirectional)

    def text_features(self, texts: Sequence[str]) -> Features:
        """Convert texts to rows of the tables.

        Args:
            texts: Texts.

        Returns:
            `word_ids` (words,) and `word_offsets` (texts + 1,), and the same of trigrams, as the parts need them.
        """
        tokens = tokenize(texts, self.architecture.chinese)
        return {name: torch.from_numpy(ids) for name, ids in self.ids_of(tokens).items()}

    def ids_of(self, tokens: _Tokens) -> dict[str, np.ndarray]:
        """`text_features` as numpy arrays: an unknown word has row 0, an unknown trigram is left out."""
        arrays: dict[str, np.ndarray] = {}
        if "word" in self.vocabularies:
            rows = self.vocabularies["word"].find(_word_keys(tokens))
            arrays |= {"word_ids": np.maximum(rows, 0), "word_offsets": tokens.offsets}
        if "trigram" in self.vocabularies:
            keys, offsets = _trigrams(tokens)
            rows = self.vocabularies["trigram"].find(keys)
            known_counts = np.append(0, np.cumsum(rows >= 0))
            arrays |= {"trigram_ids": rows[rows >= 0], "trigram_offsets": known_counts[offsets]}
        return arrays

    @torch.inference_mode()
    def encode(self, texts: Sequence[str], batch_size: int = 32, show_progress_bar: bool = False) -> np.ndarray:
        """The vectors of texts, (texts, size) float32, in the batches of `SentenceTransformer.encode`.

        Args:
            texts: Texts.
            batch_size: Texts that are encoded at a time.
            show_progress_bar: Not used: there is no progress bar.
        """
        tables = dict(self.tables.items())
        device, order = next(self.parameters()).device, np.argsort([-len(text) for text in texts])
        vectors = np.empty((len(texts), self.architecture.size), np.float32)
        for start in range(0, len(texts), batch_size):
            places = order[start : start + batch_size]
            features = self.text_features([texts[place] for place in places])
            moved_features = {name: ids.to(device) for name, ids in features.items()}
            vectors[places] = self.embed(moved_features, tables).cpu().numpy()
        return vectors

    def embed(self, features: Features, tables: Tables) -> Tensor:
        """The vectors of texts by given tables; in training these hold only the rows of a batch.

        Args:
            features: As `text_features` returns them, with ids that are rows of these tables.
            tables: (rows, dimensions) for each part.

        Returns:
            (texts, size); zeros for a text without a known word or trigram.
        """
        vectors = [
            self.states(features, tables[part]) if part == "lstm" else _part_averages(part, features, tables[part])
            for part in self.architecture.parts
        ]
        if self.architecture.combine == "concatenation":
            return torch.cat(vectors, 1)
        return torch.stack(vectors).sum(0) if len(vectors) > 1 else vectors[0]

    def states(self, features: Features, table: Tensor) -> Tensor:
        """The pooled states of the recurrent part, (texts, size of the part)."""
        ids, offsets = features["word_ids"], features["word_offsets"]
        lengths = offsets.diff().clamp(max=LONGEST_RUN)
        if not len(lengths):  # a process whose share of the batch is empty
            return table.new_zeros(0, self.architecture.size_of("lstm"))
        longest = max(int(lengths.max()), 1)
        positions = torch.arange(longest, device=ids.device)
        is_token = positions < lengths[:, None]  # (texts, longest); the rest is padding
        rows = (offsets[:-1, None] + positions).clamp(max=max(len(ids) - 1, 0))
        inputs = table[ids[rows] if len(ids) else rows]
        packed = nn.utils.rnn.pack_padded_sequence(
            inputs, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )
        states = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=longest)[0]
        if self.architecture.direction == "average":
            states = states.unflatten(2, (2, -1)).mean(2)
        if self.architecture.pooling == "max":
            pooled = states.masked_fill(~is_token[..., None], -math.inf).amax(1)
            return pooled.masked_fill(lengths[:, None] == 0, 0)
        return (states * is_token[..., None]).sum(1) / lengths.clamp(min=1)[:, None]

    @property
    def max_seq_length(self) -> float:
        """The most tokens that are read of a text; the averaging parts have no limit."""
        return LONGEST_RUN if self.architecture.parts == ("lstm",) else math.inf

    @classmethod
    def read(cls, config: dict[str, Any], locate: Callable[[str], Path]) -> Self:
        """Make an encoder of its files.

        Args:
            config: What the file CONFIG has: its architecture.
            locate: The path of each other file by its name.
        """
        architecture = Architecture(**config | {"parts": tuple(config["parts"])})
        kinds = {kind_of(part) for part in architecture.parts}
        vocabularies = {}
        if "word" in kinds:
            vocabularies["word"] = words(_read_entries(locate(WORDS)))
        if "trigram" in kinds:
            vocabularies["trigram"] = character_trigrams(_read_entries(locate(TRIGRAMS)))
        encoder = cls(architecture, vocabularies)
        encoder.load_state_dict({name: weight.float() for name, weight in load_file(locate(WEIGHTS)).items()})
        return encoder


def kind_of(part: str) -> str:
    """The vocabulary that a part uses: "word" or "trigram"."""
    return "trigram" if part == "trigram" else "word"


def _part_averages(part: str, features: Features, table: Tensor) -> Tensor:
    """`_averages` of the features of a part."""
    texts, rows = (features.get(f"{part}_{name}") for name in ("texts", "rows"))
    return _averages(table, features[f"{part}_ids"], features[f"{part}_offsets"], texts, rows)


def _averages(
    table: Tensor, ids: Tensor, offsets: Tensor, texts: Tensor | None = None, rows: Tensor | None = None
) -> Tensor:
    """The mean row of each text, (texts, dimensions); zeros where a text has none.

    >>> _averages(torch.eye(2), torch.tensor([0, 1, 1]), torch.tensor([0, 2, 2, 3])).tolist()
    [[0.5, 0.5], [0.0, 0.0], [0.0, 1.0]]

    Args:
        table: (rows, dimensions).
        ids: (tokens,) rows of all texts.
        offsets: (texts + 1,) where each text begins among `ids`.
        texts: (tokens,) the inverse index, for a fast gradient: for each row the texts that contain it.
        rows: (rows + 1,) where each row begins among `texts`.
    """
    if texts is not None:
        return _Averages.apply(table, ids, offsets, texts, rows)
    return nn.functional.embedding_bag(ids, table, offsets, mode="mean", include_last_offset=True)


class _Averages(torch.autograd.Function):
    """`_averages` with a gradient by the same kernel: the gradient of a row is a sum over the texts that contain it.

    The gradient of torch adds up token by token, which takes four times as long on a CPU.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor, offsets: Tensor, texts: Tensor, rows: Tensor) -> Tensor:
        """The mean row of each text; see `_averages`."""
        ctx.save_for_backward(offsets, texts, rows)
        return _averages(table, ids, offsets)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient of the table, (rows, dimensions)."""
        offsets, texts, rows = ctx.saved_tensors
        shares = gradients[0] / offsets.diff().clamp(min=1)[:, None]
        gradient = nn.functional.embedding_bag(texts, shares, rows, mode="sum", include_last_offset=True)
        return gradient, None, None, None, None
