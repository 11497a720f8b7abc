"""The encoders of ParaNMT-50M as one sentence-transformers module: WORD, TRIGRAM, LSTM, BLSTM, and their combinations.

`SentenceTransformer.save` writes it, and `toolkit.load_encoder` reads it; once this module is imported, so does
`SentenceTransformer(folder)`, which since version 6 asks for `trust_remote_code=True` where a module is not its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.model import BaseModel
from sentence_transformers.base.modules.input_module import InputModule
from torch import Tensor, nn

from toolkit.encoder.settings import Architecture
from toolkit.encoder.tokens import Tokens, tokenize, trigrams, word_keys
from toolkit.encoder.vocabulary import Vocabulary, character_trigrams, read_entries, words, write_entries

WEIGHTS, WORDS, TRIGRAMS = "model.safetensors", "words.txt", "trigrams.txt"
WIDTH = 0.1  # ours: a table's first numbers are drawn from [-0.1, 0.1], about the size of PARAGRAM's
WIDTH_BESIDE_TRIGRAMS = 0.02  # ours: those of words: what little text says of a rare word is less than its trigrams say
LONGEST_RUN = 512  # ours: tokens that a recurrent part reads of a text; the averaging parts read all

Features = dict[str, Tensor]
Tables = dict[str, Tensor]


class ParaphrasticEncoder(InputModule):
    """Texts in, vectors out.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), section 4 and appendix A.2.
    """

    config_file_name = "paraphrastic_config.json"
    save_in_root = True

    def __init__(self, architecture: Architecture, vocabularies: dict[str, Vocabulary]) -> None:
        """Make an encoder with random weights.

        Args:
            architecture: What it is made of.
            vocabularies: "word" for the parts word and lstm, its first entry standing for all unknown words, and
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
            both = architecture.direction != "forward"
            self.lstm = nn.LSTM(architecture.dimensions, hidden, batch_first=True, bidirectional=both)

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **kwargs: Any) -> Features:
        """Texts to rows of the tables; the arguments are those of the library's interface.

        Args:
            inputs: Any texts.
            prompt: Put before every text.
            **kwargs: Not used.

        Returns:
            `word_ids` (words,) and `word_offsets` (texts + 1,), and the same of trigrams, as far as a part needs them;
            and one of the ids again as `input_ids`, by which the library's trainer knows a column.

        Raises:
            ValueError: One is no text.
        """
        for item in inputs:
            if not isinstance(item, str):
                raise ValueError(
                    f"wanted a text or a list of texts, got {repr(item)[:40]} ({type(item).__name__}) among them: "
                    "leave it out, or give its text"
                )
        texts = [prompt + text for text in inputs] if prompt else inputs
        features = {name: torch.from_numpy(ids) for name, ids in self.ids_of(tokenize(texts)).items()}
        return features | {"input_ids": next(iter(features.values()))}

    def ids_of(self, tokens: Tokens) -> dict[str, np.ndarray]:
        """What `preprocess` returns, as numpy arrays: an unknown word has row 0, an unknown trigram none."""
        found: dict[str, np.ndarray] = {}
        if "word" in self.vocabularies:
            rows = self.vocabularies["word"].find(word_keys(tokens))
            found |= {"word_ids": np.maximum(rows, 0), "word_offsets": tokens.offsets}
        if "trigram" in self.vocabularies:
            keys, offsets = trigrams(tokens)
            rows = self.vocabularies["trigram"].find(keys)
            known = np.append(0, np.cumsum(rows >= 0))
            found |= {"trigram_ids": rows[rows >= 0], "trigram_offsets": known[offsets]}
        return found

    def forward(self, features: Features, **kwargs: Any) -> Features:
        """Add `sentence_embedding`, (texts, size), to the features."""
        features["sentence_embedding"] = self.embed(features, dict(self.tables.items()))
        return features

    def embed(self, features: Features, tables: Tables) -> Tensor:
        """The vectors of texts by other tables than the encoder's own: training has only the rows of a batch at hand.

        Args:
            features: As `preprocess` returns them, the ids being rows of these tables.
            tables: For each part (rows, dimensions).

        Returns:
            (texts, size); zeros for a text without a known word or trigram.
        """
        vectors = [
            self.states(features, tables[part]) if part == "lstm" else averages_of(part, features, tables[part])
            for part in self.architecture.parts
        ]
        if self.architecture.combine == "concatenation":
            return torch.cat(vectors, 1)
        return torch.stack(vectors).sum(0) if len(vectors) > 1 else vectors[0]

    def states(self, features: Features, table: Tensor) -> Tensor:
        """The pooled states of the recurrent part, (texts, size of the part)."""
        ids, offsets = features["word_ids"], features["word_offsets"]
        lengths = offsets.diff().clamp(max=LONGEST_RUN)
        if not len(lengths):  # a process without a share
            return table.new_zeros(0, self.architecture.size_of("lstm"))
        longest = max(int(lengths.max()), 1)
        places = torch.arange(longest, device=ids.device)
        said = places < lengths[:, None]  # (texts, longest)
        rows = (offsets[:-1, None] + places).clamp(max=max(len(ids) - 1, 0))
        inputs = table[ids[rows] if len(ids) else rows]
        packed = nn.utils.rnn.pack_padded_sequence(
            inputs, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )
        states = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=longest)[0]
        if self.architecture.direction == "average":
            states = states.unflatten(2, (2, -1)).mean(2)
        if self.architecture.pooling == "max":
            pooled = states.masked_fill(~said[..., None], -math.inf).amax(1)
            return pooled.masked_fill(lengths[:, None] == 0, 0)
        return (states * said[..., None]).sum(1) / lengths.clamp(min=1)[:, None]

    @property
    def max_seq_length(self) -> float:
        """The averaging parts read all of a text."""
        return LONGEST_RUN if self.architecture.parts == ("lstm",) else math.inf

    def get_embedding_dimension(self) -> int:
        """The size of a sentence's vector."""
        return self.architecture.size

    def get_config_dict(self) -> dict[str, Any]:
        """The architecture."""
        return asdict(self.architecture)

    def save(self, output_path: str, *args: Any, safe_serialization: bool = True, **kwargs: Any) -> None:
        """Write configuration, vocabularies and weights, always as safetensors; the arguments are the library's."""
        self.save_config(output_path)
        for kind, file in (("word", WORDS), ("trigram", TRIGRAMS)):
            if kind in self.vocabularies:
                write_entries(Path(output_path, file), self.vocabularies[kind])
        weights = {name: weight.detach().cpu().contiguous() for name, weight in self.state_dict().items()}
        save_file(weights, Path(output_path, WEIGHTS))

    @classmethod
    def load(  # type: ignore[override]  # what the library passes on and we do not need is in **kwargs
        cls,
        model_name_or_path: str,
        subfolder: str = "",
        token: bool | str | None = None,
        cache_folder: str | None = None,
        revision: str | None = None,
        local_files_only: bool = False,
        **kwargs: Any,
    ) -> ParaphrasticEncoder:
        """Read what `save` wrote, from a folder or the Hub; the arguments are the library's."""
        where: dict[str, Any] = {
            "token": token,
            "cache_folder": cache_folder,
            "revision": revision,
            "local_files_only": local_files_only,
        }
        config = cls.load_config(model_name_or_path, subfolder=subfolder, **where)
        architecture = Architecture(**config | {"parts": tuple(config["parts"])})

        def file(name: str) -> Path:
            found = cls.load_file_path(model_name_or_path, name, subfolder=subfolder, **where)
            if found is None:
                raise ValueError(f"wanted {name} beside {cls.config_file_name}, got none in {model_name_or_path}")
            return Path(found)

        kinds = {kind_of(part) for part in architecture.parts}
        vocabularies = {}
        if "word" in kinds:
            vocabularies["word"] = words(read_entries(file(WORDS)))
        if "trigram" in kinds:
            vocabularies["trigram"] = character_trigrams(read_entries(file(TRIGRAMS)))
        encoder = cls(architecture, vocabularies)
        encoder.load_state_dict({name: weight.float() for name, weight in load_file(file(WEIGHTS)).items()})
        return encoder


def kind_of(part: str) -> str:
    """The vocabulary that a part reads."""
    return "trigram" if part == "trigram" else "word"


def averages_of(part: str, features: Features, table: Tensor) -> Tensor:
    """`averages` of the features of a part."""
    texts, rows = (features.get(f"{part}_{name}") for name in ("texts", "rows"))
    return averages(table, features[f"{part}_ids"], features[f"{part}_offsets"], texts, rows)


def averages(
    table: Tensor, ids: Tensor, offsets: Tensor, texts: Tensor | None = None, rows: Tensor | None = None
) -> Tensor:
    """The mean row of each text, (texts, dimensions); zeros where a text has none.

    >>> averages(torch.eye(2), torch.tensor([0, 1, 1]), torch.tensor([0, 2, 2, 3])).tolist()
    [[0.5, 0.5], [0.0, 0.0], [0.0, 1.0]]

    Args:
        table: (rows, dimensions).
        ids: (tokens,) rows of all texts.
        offsets: (texts + 1,) where each text begins among them.
        texts: (tokens,) the same the other way round, for a fast gradient: for every row the texts that read it, ...
        rows: ... and (rows + 1,) where each row begins among these.
    """
    if texts is not None:
        return Averages.apply(table, ids, offsets, texts, rows)
    return nn.functional.embedding_bag(ids, table, offsets, mode="mean", include_last_offset=True)


class Averages(torch.autograd.Function):
    """`averages` whose gradient is computed as it is itself: a row's is a sum over the texts that read it.

    Torch's own scatters token by token, which takes four times as long on a CPU.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor, offsets: Tensor, texts: Tensor, rows: Tensor) -> Tensor:
        """As `averages`."""
        ctx.save_for_backward(offsets, texts, rows)
        return averages(table, ids, offsets)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient of the table, (rows, dimensions)."""
        offsets, texts, rows = ctx.saved_tensors
        shares = gradients[0] / offsets.diff().clamp(min=1)[:, None]
        found = nn.functional.embedding_bag(texts, shares, rows, mode="sum", include_last_offset=True)
        return found, None, None, None, None


def sentence_transformer(encoder: ParaphrasticEncoder) -> SentenceTransformer:
    """The encoder as what users load, save and call."""
    return SentenceTransformer(modules=[encoder], device="cpu", similarity_fn_name="cosine")


_TYPE = f"{ParaphrasticEncoder.__module__}.{ParaphrasticEncoder.__name__}"
BaseModel._module_classes = {**BaseModel._module_classes, _TYPE: ParaphrasticEncoder}
