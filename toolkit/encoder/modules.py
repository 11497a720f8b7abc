"""The encoders of ParaNMT-50M as one sentence-transformers module: WORD, TRIGRAM, LSTM, BLSTM, and their combinations.

`SentenceTransformer.save` writes it, and `toolkit.load_encoder` reads it; once this module is imported, so does
`SentenceTransformer(folder)`, which since version 6 asks for `trust_remote_code=True` where a module is not its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from toolkit.encoder.network import CONFIG, TRIGRAMS, WEIGHTS, WORDS, Features, ParaphrasticNetwork
from toolkit.encoder.vocabulary import _write_entries
from toolkit.system.extras import naming_extra

with naming_extra():
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.model import BaseModel
    from sentence_transformers.base.modules.input_module import InputModule


class ParaphrasticEncoder(ParaphrasticNetwork, InputModule):
    """The network as a module, whose interface is the library's."""

    config_file_name = CONFIG
    save_in_root = True

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **kwargs: Any) -> Features:
        """Convert texts to rows of the tables; the arguments are those of the library's interface.

        Args:
            inputs: Texts.
            prompt: A prefix of every text.
            **kwargs: Not used.

        Returns:
            `word_ids` (words,) and `word_offsets` (texts + 1,), and the same of trigrams, as the parts need them; and
            one of the ids again as `input_ids`, which the library's trainer requires.

        Raises:
            ValueError: An input is no string.
        """
        for item in inputs:
            if not isinstance(item, str):
                raise ValueError(
                    f"wanted a text or a list of texts, got {repr(item)[:40]} ({type(item).__name__}) among them: "
                    "leave it out, or give its text"
                )
        texts = [prompt + text for text in inputs] if prompt else inputs
        features = self.text_features(texts)
        return features | {"input_ids": next(iter(features.values()))}

    def forward(self, features: Features, **kwargs: Any) -> Features:
        """Add `sentence_embedding`, (texts, size), to the features."""
        features["sentence_embedding"] = self.embed(features, dict(self.tables.items()))
        return features

    def get_embedding_dimension(self) -> int:
        """The size of a sentence's vector."""
        return self.architecture.size

    def get_config_dict(self) -> dict[str, Any]:
        """The architecture, for the configuration file."""
        return asdict(self.architecture)

    def save(self, output_path: str, *args: Any, safe_serialization: bool = True, **kwargs: Any) -> None:
        """Write configuration, vocabularies and weights as safetensors; the arguments are the library's."""
        self.save_config(output_path)
        for kind, file in (("word", WORDS), ("trigram", TRIGRAMS)):
            if kind in self.vocabularies:
                _write_entries(Path(output_path, file), self.vocabularies[kind])
        weights = {name: weight.detach().cpu().contiguous() for name, weight in self.state_dict().items()}
        save_file(weights, Path(output_path, WEIGHTS))

    @classmethod
    def load(  # type: ignore[override]  # **kwargs are arguments of the library that are not needed here
        cls,
        model_name_or_path: str,
        subfolder: str = "",
        token: bool | str | None = None,
        cache_folder: str | None = None,
        revision: str | None = None,
        local_files_only: bool = False,
        **kwargs: Any,
    ) -> ParaphrasticEncoder:
        """Load an encoder that `save` wrote, from a folder or the Hub; the arguments are the library's."""
        source: dict[str, Any] = {
            "token": token,
            "cache_folder": cache_folder,
            "revision": revision,
            "local_files_only": local_files_only,
        }
        config = cls.load_config(model_name_or_path, subfolder=subfolder, **source)

        def locate(name: str) -> Path:
            path = cls.load_file_path(model_name_or_path, name, subfolder=subfolder, **source)
            if path is None:
                raise ValueError(f"wanted {name} beside {CONFIG}, got none in {model_name_or_path}")
            return Path(path)

        return cls.read(config, locate)


def sentence_transformer(encoder: ParaphrasticEncoder) -> SentenceTransformer:
    """The encoder as a SentenceTransformer, which users load, save and call."""
    return SentenceTransformer(modules=[encoder], device="cpu", similarity_fn_name="cosine")


_TYPE = f"{ParaphrasticEncoder.__module__}.{ParaphrasticEncoder.__name__}"
BaseModel._module_classes = {**BaseModel._module_classes, _TYPE: ParaphrasticEncoder}
