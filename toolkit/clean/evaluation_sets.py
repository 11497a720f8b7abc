"""Read the texts of evaluation sets: of any file with texts in its columns, or of a data set with all its splits."""

from __future__ import annotations

import glob
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from toolkit.bitext.csv_data_sets import check_folder, csv_options
from toolkit.bitext.csv_records import SAMPLE_LINES, csv_records
from toolkit.bitext.normalize import match_key
from toolkit.bitext.read import is_dataset, open_parquet, text_suffix
from toolkit.bitext.text_file import checked_path, text_lines
from toolkit.bitext.words import WORDS_WITHOUT_SPACES
from toolkit.clean._characters import WIDE
from toolkit.clean.contamination import EvaluationSet
from toolkit.system.contents import content_of
from toolkit.system.errors import without_secrets
from toolkit.system.urls import is_file, is_url, matching

LEAST_LETTERS = 12  # ours: letters and digits of a text; fewer are a label, a score, or said by everybody
WIDE_LETTERS = 4  # ours: a Chinese, Japanese or Korean character counts as three of them
WITHOUT_SPACES = re.compile(f"[{WORDS_WITHOUT_SPACES}]")
SUFFIXES = (".txt", ".tsv", ".csv", ".json", ".jsonl", ".parquet")
FORMS = "files (.txt, .tsv, .csv, .jsonl or .parquet, also compressed), globs of them, or data sets"
WITHIN_SENTENCES = frozenset(
    ".,'\"!?-:()[]“”‘’„«»–—…。，、！？：「」（）¿¡&%$€/"
)  # ours: signs that separate no fields
REVISION_DIGITS = 12  # ours: of the hash of a file's content


def read_sets(addresses: Sequence[str]) -> list[EvaluationSet]:
    """The evaluation sets that some addresses name.

    Args:
        addresses: Files and globs of files, also at URLs; folders of data sets; and Hub ids ("id:configuration" where
            it has several).

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: A file cannot be read, or a set has no text.
    """
    return [_read_set(path) for address in addresses for path in _expand_glob(address)]


def _expand_glob(address: str) -> list[str]:
    """The files of a glob; any other address alone."""
    if glob.has_magic(address) and not Path(address).exists() and not is_file(address):
        return matching(address) or [checked_path(address)]
    return [address]


def _read_set(address: str) -> EvaluationSet:
    """One evaluation set: every field of every record that is long enough to be a sentence.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file cannot be read, or has no text.
    """
    if Path(address).is_dir() or is_dataset(address):
        revision, fields = _dataset_texts(address)
    else:
        revision, fields = content_of([checked_path(address)]).split()[-1][:REVISION_DIGITS], _file_texts(address)
    texts = list(dict.fromkeys(text for text in fields if _is_sentence(text)))
    if not texts:
        raise ValueError(f"wanted sentences in {address}, got none of {LEAST_LETTERS} letters: check the file")
    is_place = Path(address).is_absolute() or is_url(address)
    name = "/".join(Path(without_secrets(address)).parts[-2:]) if is_place else address
    return EvaluationSet(name, revision, texts)


def _is_sentence(text: str) -> bool:
    """Whether a field of a record is a text to look for, not a label or a number.

    >>> [_is_sentence(text) for text in ("entailment", "3.250", "A man is playing a flute.", "他在吹笛子。")]
    [False, False, True, True]
    >>> _is_sentence("ฉันชอบกินข้าวผัดมาก"), _is_sentence("not_entailment")
    (True, False)
    """
    key = match_key(text)
    if sum(map(len, WIDE.findall(key))) >= WIDE_LETTERS:
        return True
    has_words = any(c.isspace() for c in text.strip()) or WITHOUT_SPACES.search(text) is not None
    return len(key) >= LEAST_LETTERS and has_words


def _file_texts(path: str) -> Iterator[str]:
    """The fields of all records of a file.

    Raises:
        ValueError: Its form is unknown, or it cannot be read; the message names the line.
    """
    suffix = text_suffix(path)
    if suffix == ".parquet":
        for batch in open_parquet(path).iter_batches():
            yield from _find_strings(batch.to_pylist())
    elif suffix in (".json", ".jsonl"):
        for number, line in enumerate(text_lines(path), 1):
            if line.strip():
                try:
                    yield from _find_strings(json.loads(line))
                except ValueError as error:
                    raise ValueError(
                        f"{path}, line {number}: wanted a record in JSON, got {line[:60]!r} ({error})"
                    ) from None
    elif suffix == ".csv":
        for _, record in csv_records(text_lines(path), path):
            yield from record
    elif Path(path).suffix.lower() in SUFFIXES or suffix in SUFFIXES or not suffix or suffix == ".all":
        texts = text_lines(path)
        first = list(islice(texts, SAMPLE_LINES))
        delimiter = _even_delimiter(first)
        for line in chain(first, texts):
            yield from line.split(delimiter)
    else:
        raise ValueError(f"wanted {FORMS}, got {path}: convert it")


def _even_delimiter(lines: Sequence[str]) -> str:
    r"""What separates the fields of lines of text: a TAB, or the sign that is equally often in all lines, if any.

    >>> _even_delimiter(["7|A man runs.|3.2", "8|He, too, ran.|1.0"]), _even_delimiter(["He came; I left.", "Go!"])
    ('|', '\t')

    Args:
        lines: The first lines; empty ones do not count.
    """
    lines = [line for line in lines if line.strip()]
    if any("\t" in line for line in lines) or not lines:
        return "\t"
    signs = {sign for sign in lines[0] if not sign.isalnum() and not sign.isspace() and sign not in WITHIN_SENTENCES}
    counts = {sign: [line.count(sign) for line in lines] for sign in signs}
    even = {
        sign: minimum
        for sign, line_counts in counts.items()
        if (minimum := min(line_counts)) == max(line_counts) or minimum > 1
    }
    columns = {sign: minimum for sign, minimum in even.items() if minimum > 1 or len(lines) > 1}
    return max(sorted(columns), key=columns.__getitem__, default="\t")


def _find_strings(value: Any) -> Iterator[str]:
    """The strings within a record, whatever their depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _find_strings(child)


def _dataset_texts(address: str) -> tuple[str, Iterator[str]]:
    """The revision of a data set, and the strings of all records of all its splits.

    A folder is read anew each time: the cache of `datasets` knows its files by their names, sizes and times.

    Raises:
        ValueError: It does not load.
    """
    import datasets  # most evaluation sets are files: they need not wait for this import

    check_folder(address)
    is_folder = Path(address).is_dir()
    name, _, configuration = (address, "", "") if is_folder else address.partition(":")
    try:
        if Path(name, "dataset_dict.json").exists() or Path(name, "state.json").exists():
            loaded = datasets.load_from_disk(name)
        elif is_folder:
            with tempfile.TemporaryDirectory() as cache:
                options = csv_options(name, None, cache)
                loaded = datasets.load_dataset(name, cache_dir=cache, keep_in_memory=True, **options)
        else:
            options = csv_options(name, configuration or None)
            loaded = datasets.load_dataset(name, configuration or None, **options)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ValueError(
            f"wanted {FORMS}, got {address}, which does not load ({reason}): check the path or Hub id"
        ) from error
    splits = list(loaded.values()) if isinstance(loaded, dict) else [loaded]
    if is_folder:
        files = sorted(file for file in Path(name).rglob("*") if file.is_file())
        revision = content_of(files).split()[-1][:REVISION_DIGITS]
    else:
        revision = "-".join(split._fingerprint[:REVISION_DIGITS] for split in splits)
    return revision, (text for split in splits for batch in split.iter(1000) for text in _find_strings(batch))
