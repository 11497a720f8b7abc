"""The list in which Mozilla publishes the translation models of Firefox, and the choice of one of them.

The list is a collection of Remote Settings, one record for each file. Two collections have models. The newer is
compressed by zstd, and is what Firefox reads and Mozilla adds to; the older has most of the same files as they are,
with versions of their own, for older releases of Firefox. It is read for pairs that the newer lacks, and from mirrors
that have it alone.

Sources: https://remote-settings.readthedocs.io (records, attachments); Firefox's `TranslationsParent.sys.mjs` (the
files of a model are of one version; the range of versions); remote_settings of https://github.com/mozilla/translations
(the fields of a record).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

COLLECTIONS = ("translations-models-v2", "translations-models")  # in the order in which they are asked
NEWEST = 3  # the greatest major version whose files are read: 1 is tiny, 2 base and split vocabularies, 3 zstd
LICENSE = "MPL-2.0"  # of all models that Mozilla publishes
ARCHITECTURES = ("base", "base-memory", "tiny")  # ours: of one version the larger is taken, which translates better
LANGUAGE = r"[a-z]{2,3}(?:-(?:[A-Z][a-z]{3}|[A-Z]{2}|[0-9]{3}))*"  # a code with its script or region: zh-Hans, pt-BR
PAIR = re.compile(rf"({LANGUAGE})-({LANGUAGE})")
VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:([a-z]+)(\d*))?")
SHA256 = re.compile(r"[0-9a-f]{64}")
NAMES = {  # what a file of each type is called
    "model": re.compile(r"model\.[\w.-]*bin"),
    "lex": re.compile(r"lex\.[\w.-]*bin"),
    **{side: re.compile(rf"{side}\.[\w.-]*spm") for side in ("vocab", "srcvocab", "trgvocab")},
}
ANDROID = re.compile(r"env\.appinfo\.OS\s*==\s*'Android'")  # of a record for telephones alone


@dataclass(frozen=True)
class _ModelFile:
    """A file of a model: its name, bytes and SHA-256 on the disk, and where and how it is sent.

    Attributes:
        name: As "model.ende.intgemm8.bin".
        size: Bytes.
        sha256: In hexadecimal.
        location: Path below the server's address for attachments.
        sent_size: Bytes of what is sent; less than `size` where it is compressed.
        sent_sha256: Of what is sent; another than `sha256` where it is compressed.
    """

    name: str
    size: int
    sha256: str
    location: str
    sent_size: int
    sent_sha256: str

    @property
    def compressed(self) -> bool:
        """Whether what is sent is compressed by zstd."""
        return self.sent_sha256 != self.sha256


@dataclass(frozen=True)
class _Model:
    """A translation model in the list: what it is, and its files sorted by name."""

    pair: str
    version: str
    architecture: str
    collection: str
    files: tuple[_ModelFile, ...]


def _parse_list(content: bytes, url: str) -> list[dict]:
    """The records of a collection, without those that name no languages, type and version.

    Args:
        content: What the server answered.
        url: The collection, without secrets.

    Raises:
        ValueError: It is no list of records.
    """
    try:
        answer = json.loads(content)
        records = [record for record in answer["data"] if isinstance(record, dict)]
    except (ValueError, LookupError, TypeError):
        raise ValueError(
            f'wanted a list of models in JSON ({{"data": [...]}}) at {url}, got {content[:40]!r}: check the address'
        ) from None
    texts = ("fileType", "version")
    return [
        record
        for record in records
        if all(isinstance(record.get(key), str) for key in texts) and PAIR.fullmatch(_pair(record))
    ]


def _pair(record: dict) -> str:
    """The pair of a record of either collection, as "en-de"."""
    source = record.get("sourceLanguage", record.get("fromLang"))
    return f"{source}-{record.get('targetLanguage', record.get('toLang'))}"


def sides(pair: str) -> tuple[str, str]:
    """The language that a model of a pair reads, and the one that it writes.

    >>> sides("en-de"), sides("zh-Hans-en")
    (('en', 'de'), ('zh-Hans', 'en'))

    Raises:
        ValueError: It is no pair.
    """
    match = PAIR.fullmatch(pair)
    if match is None:
        raise ValueError(f"wanted a pair of languages as en-de or zh-Hans-en, got {pair!r}: give two codes")
    return match[1], match[2]


def _version_key(version: str) -> tuple:
    """What versions are compared by; a released one is newer than all that are not, such as 3.1a1.

    >>> sorted(["3.0", "3.1a2", "2.10", "2.9", "3.1a10"], key=_version_key)
    ['3.1a2', '3.1a10', '2.9', '2.10', '3.0']

    Raises:
        ValueError: It is no version.
    """
    match = VERSION.fullmatch(version)
    if match is None:
        raise ValueError(f"wanted a version as 3.0 or 3.1a1, got {version!r}: check the list of models")
    major, minor, patch, letters, number = match.groups()
    return letters is None, int(major), int(minor), int(patch or 0), letters or "", int(number or 0)


def _choose(records: Iterable[dict], pair: str, collection: str) -> _Model | None:
    """The model of a pair that is taken: of those with all their files and a version that is read, in this order.

    A released version before others; the newest; one that is not for Android alone; one that is no variant; the
    largest architecture; the one that was changed last.

    Args:
        records: Of a collection.
        pair: As "en-de".
        collection: Its name.

    Returns:
        The model; None if the collection has none for the pair.

    Raises:
        ValueError: The record of a file of the model is damaged.
    """
    sets = _complete([record for record in records if _pair(record) == pair])
    if not sets:
        return None
    model, files = max(sets, key=lambda entry: _preference(entry[0]))
    architecture = model.get("architecture")
    return _Model(
        pair,
        model["version"],
        architecture if isinstance(architecture, str) and re.fullmatch(r"[\w-]+", architecture) else "unknown",
        collection,
        tuple(sorted((_parse_file(kind, record) for kind, record in files.items()), key=lambda file: file.name)),
    )


def _complete(records: Iterable[dict]) -> list[tuple[dict, dict[str, dict]]]:
    """The records of models with a vocabulary whose versions are read, each with those of its files by type."""
    known = [record for record in records if _major(record) <= NEWEST]
    sets = [(model, _records_by_type(model, known)) for model in known if model["fileType"] == "model"]
    return [(model, files) for model, files in sets if "vocab" in files or {"srcvocab", "trgvocab"} <= set(files)]


def _major(record: dict) -> float:
    """The first number of the version of a record; infinity where it is no version."""
    match = VERSION.fullmatch(record["version"])
    return int(match[1]) if match else math.inf


def _preference(model: dict) -> tuple:
    """What models with all their files are compared by; no two are equal, so that the order of a list plays no part."""
    architecture = model.get("architecture")
    rank = ARCHITECTURES.index(architecture) if architecture in ARCHITECTURES else len(ARCHITECTURES)
    android = bool(ANDROID.search(str(model.get("filter_expression", ""))))
    variant = str(model.get("variant") or "")
    return _version_key(model["version"]), not android, not variant, -rank, _age(model)


def _age(record: dict) -> tuple:
    """What records of the same file are compared by: when they were changed, then their ids."""
    changed = record.get("last_modified")
    return changed if isinstance(changed, int) else 0, str(record.get("id"))


def _records_by_type(model: dict, records: Sequence[dict]) -> dict[str, dict]:
    """The records of a model and its files by type: one vocabulary or one for each side, and the shortlist if any."""
    files: dict[str, dict] = {"model": model}
    for record in sorted(records, key=_age):
        if record["fileType"] in NAMES and record["fileType"] != "model" and _belongs(record, model):
            files[record["fileType"]] = record
    for side in ("srcvocab", "trgvocab") if "vocab" in files else ():
        files.pop(side, None)
    return files


def _belongs(record: dict, model: dict) -> bool:
    """Whether a file is of the version, architecture, variant and platform of a model, as far as both name these."""
    keys = ("architecture", "variant", "filter_expression")
    same = (not record.get(key) or not model.get(key) or record[key] == model[key] for key in keys)
    return _pair(record) == _pair(model) and record["version"] == model["version"] and all(same)


def _parse_file(kind: str, record: dict) -> _ModelFile:
    """The file of a record.

    Raises:
        ValueError: The record lacks a hash, a size or a location, or its name is none of a file of this type.
    """
    name: Any = record.get("name")
    try:
        attachment = record["attachment"]
        size, sha256 = int(attachment["size"]), attachment["hash"].lower()
        file = _ModelFile(
            name,
            int(record.get("decompressedSize", size)),
            record.get("decompressedHash", sha256).lower(),
            attachment["location"].lstrip("/"),
            size,
            sha256,
        )
        whole = SHA256.fullmatch(file.sha256) and SHA256.fullmatch(sha256) and file.size > 0 and size > 0
        unknown = file.location.endswith(".zst") and not file.compressed  # of what it is compressed from
        if not whole or unknown or not file.location or not NAMES[kind].fullmatch(name):
            raise ValueError
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ValueError(
            f"wanted name, size, hash and location of a {kind} file in the list of models, got the name {name!r} and "
            f"the attachment {record.get('attachment')!r}: check the address, or report it to who publishes the list"
        ) from None
    return file


def _no_such_pair(pair: str, records: Sequence[dict]) -> ValueError:
    """The error of a pair that no collection has: what there is from and to its languages, and the way by English."""
    newer = {record["version"] for record in records if _pair(record) == pair and record["fileType"] == "model"}
    if newer and all(_major({"version": version}) > NEWEST for version in newer):
        return ValueError(
            f"wanted a model of {pair} of version {NEWEST}.x or older, got {', '.join(sorted(newer))}: "
            "update the toolkit"
        )
    source, target = sides(pair)
    pairs = sorted({_pair(model) for model, _ in _complete(records)})
    beginning, ending = (
        [name for name in pairs if sides(name)[side] == code] for side, code in enumerate((source, target))
    )
    steps = (f"{source}-en", f"en-{target}")
    if "en" not in (source, target) and {*steps} <= {*pairs}:
        advice = f"go by way of English, with firefox/{steps[0]} and firefox/{steps[1]}"
    elif "en" not in (source, target):
        advice = "go by way of English where both steps exist"
    else:
        advice = "give one of these"
    return ValueError(
        f"wanted a pair of languages that Mozilla publishes, got {pair}: from {source} there is "
        f"{', '.join(beginning) or 'nothing'}, to {target} {', '.join(ending) or 'nothing'}; {advice}"
    )
