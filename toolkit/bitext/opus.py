"""Corpora of OPUS: ask its API for one, fetch the zip archive of its Moses form, and record what it is.

Source: https://opus.nlpl.eu/opusapi, and what OpusTools sends to it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from tqdm import tqdm

from toolkit.bitext._codes import short_code
from toolkit.bitext.languages import check_code
from toolkit.system.contents import hash_file
from toolkit.system.errors import without_secrets
from toolkit.system.outputs import check_output_file
from toolkit.system.urls import answer_of, download_rest, is_full, retry
from toolkit.system.whole_files import read_record, write_whole
from toolkit.version import VERSION

ADDRESS = "PARABANK_OPUS"  # environment variable: the address of another API, such as a mirror's
SITE = "https://opus.nlpl.eu"
API = f"{SITE}/opusapi/"
LATEST = "latest"
LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|::1")
NAME = re.compile(r"\w[\w.+-]*")  # of a corpus, a version or a language: a part of the name of a file
LICENSE = re.compile(r"licen[cs]e|creative commons|cc[ -]?(?:by|0)\b|public domain|copyright", re.IGNORECASE)
LONGEST_LICENSE = 2000  # ours: characters of a licence text that are recorded
ABOUT = 1 << 16  # ours: bytes of LICENSE or README that are looked at
BEYOND_END = 416  # the HTTP status of a request for a part after the end


@dataclass(frozen=True)
class _Corpus:
    """A corpus of OPUS on the disk.

    Attributes:
        corpus: Its name, as "Tatoeba".
        version: As "v2023-04-12".
        source_lang: The language that was asked for first, as OPUS calls it.
        lang: The other one.
        url: Where it is from.
        bytes: Its size.
        sha256: Of the archive, in hexadecimal.
        license: What LICENSE or README in it say, or where to look.
    """

    corpus: str
    version: str
    source_lang: str
    lang: str
    url: str
    bytes: int
    sha256: str
    license: str


def fetch_opus(corpus: str, source_lang: str, lang: str, folder: Path, version: str = LATEST) -> tuple[Path, _Corpus]:
    """Fetch the zip archive of a corpus for two languages, whole or not at all, with a record beside it.

    What has come when the connection breaks stays in a hidden file of the folder, from which the next call goes on.

    Args:
        corpus: Its name, as OPUS writes it: "Tatoeba", "OpenSubtitles".
        source_lang: One language, as a code of ISO 639 or BCP 47, or as OPUS calls it ("zh_CN").
        lang: The other language.
        folder: Where the archive goes; it is created.
        version: As "v2023-04-12"; the newest by default.

    Returns:
        The archive, CORPUS.SOURCE-TARGET.VERSION.zip, and what it is. An archive that was fetched before is kept.

    Raises:
        OSError: The server or the disk cannot be reached, what arrives is damaged every time, or a file of the name is
            not from here.
        ValueError: OPUS has no such corpus, the answer is not one of its API, or an address is not HTTPS.
        RuntimeError: Another process fetches the same archive.
    """
    for given in (source_lang, lang):
        check_code(given, "a language")
    entry = _find(corpus, source_lang, lang, version)
    path = folder / f"{entry['corpus']}.{entry['source']}-{entry['target']}.{entry['version']}.zip"
    record = path.with_name(f"{path.name}.json")
    check_output_file(path, (), lambda _: record.is_file())
    languages = [entry["source"], entry["target"]]
    if short_code(languages[0]) != short_code(source_lang):
        languages.reverse()  # OPUS sorts them
    if path.is_file():
        known = read_record(record, "delete it and the archive")
        if known.get("url") == without_secrets(entry["url"]) and known.get("sha256") == hash_file(path):
            return path, _Corpus(**{field.name: known[field.name] for field in fields(_Corpus)})
    folder.mkdir(parents=True, exist_ok=True)

    def describe(part: Path) -> _Corpus:
        return _Corpus(
            corpus=entry["corpus"],
            version=entry["version"],
            source_lang=languages[0],
            lang=languages[1],
            url=without_secrets(entry["url"]),
            bytes=part.stat().st_size,
            sha256=hash_file(part),
            license=_find_license(part) or f"not stated in the archive: see {SITE}/{entry['corpus']}",
        )

    return path, _fetch_archive(entry["url"], path, record, describe)


def _check_secure(url: str) -> None:
    """Refuse an address that is neither HTTPS nor on this machine.

    Raises:
        ValueError: It is refused.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and LOOPBACK.fullmatch(parts.hostname or "")):
        raise ValueError(f"wanted an address as https://HOST, got {without_secrets(url)}: check {ADDRESS}")


def _find(corpus: str, source_lang: str, lang: str, version: str) -> dict[str, str]:
    """What the API has of a corpus.

    Raises:
        OSError: It cannot be reached.
        ValueError: It has no such corpus; the message lists others. Or its answer is none.
    """
    typed, short = (source_lang, lang), (short_code(source_lang) or source_lang, short_code(lang) or lang)
    for source, target in dict.fromkeys((typed, short)):
        if entries := _ask(source, target, corpus=corpus, version=version):
            return entries[0]
    pair = f"{short[0]} and {short[1]}"
    versions = sorted({entry["version"] for entry in _ask(*short, corpus=corpus)}) if version != LATEST else []
    if versions:
        raise ValueError(f"wanted {version} of {corpus} in {pair}, got none: OPUS has {', '.join(versions)}")
    names = sorted({entry["corpus"] for entry in _ask(*short, version=LATEST)}, key=str.lower)
    same = next((name for name in names if name.lower() == corpus.lower()), None)
    hint = f"did you mean {same}? " if same else ""
    has = f"OPUS has {', '.join(names)}" if names else "OPUS has nothing in these languages"
    raise ValueError(f"wanted a corpus {corpus} in {pair}, got none: {hint}{has}")


def _ask(source: str, target: str, corpus: str = "", version: str = "") -> list[dict[str, str]]:
    """The corpora in Moses form that the API lists.

    Raises:
        OSError: It cannot be reached.
        ValueError: Its answer is none, or names a file that could not be written or fetched safely.
    """
    address = os.environ.get(ADDRESS) or API
    _check_secure(address)
    parameters = {"corpus": corpus, "source": source, "target": target, "preprocessing": "moses", "version": version}
    content = retry(partial(answer_of, f"{address}?{urlencode({k: v for k, v in parameters.items() if v})}"))
    try:
        entries = [{key: entry[key] for key in ("corpus", "version", "source", "target", "url")}
                   for entry in json.loads(content)["corpora"]]  # fmt: skip
        for entry in entries:
            if not all(NAME.fullmatch(entry[key]) for key in ("corpus", "version", "source", "target")):
                raise ValueError
    except (ValueError, LookupError, TypeError):
        raise ValueError(
            f"wanted a list of corpora in JSON from {without_secrets(address)}, got {content[:60]!r}: check {ADDRESS}"
        ) from None
    return entries


def _fetch_archive(url: str, path: Path, record: Path, describe: Callable[[Path], _Corpus]) -> _Corpus:
    """Fetch a zip archive; if it is damaged, once more from its beginning.

    The record is written before the archive gets its name: after a kill between both the next call fetches again.

    Args:
        url: Its address.
        path: Where it goes.
        record: The file that describes it.
        describe: What the record says of a whole archive.

    Returns:
        That description.

    Raises:
        OSError: As `fetch_opus`.
        ValueError: An address is not HTTPS.
        RuntimeError: Another process fetches it.
    """
    _check_secure(url)
    part = path.with_name(f".{path.name}.part")
    print(f"{path.name}: fetching {without_secrets(url)} to {path.parent}", file=sys.stderr)
    with part.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(f"wanted {part} for this command alone, got it held by another: wait for it") from None
        damage = None
        for _ in range(2):
            _download(url, part)
            damage = _find_damage(part)
            if damage is None:
                fetched = describe(part)
                write_whole(record, json.dumps(asdict(fetched) | {"toolkit": VERSION}, indent=1) + "\n")
                os.replace(part, path)
                return fetched
            file.truncate(0)  # its beginning may be of an older file
    part.unlink()
    raise OSError(f"wanted a whole zip archive from {without_secrets(url)}, got {damage}: try again later")


def _download(url: str, part: Path) -> None:
    """Fetch the rest of a file, with a progress bar on a terminal.

    Raises:
        OSError: It cannot be read or written, or breaks off every time.
        ValueError: A redirection is not to HTTPS.
    """
    with tqdm(unit="B", unit_scale=True, file=sys.stderr, disable=None, desc=part.name[1:-5]) as bar:

        def report(position: int, size: int | None) -> None:
            bar.total = size
            bar.update(position - bar.n)

        try:
            retry(lambda: download_rest(url, part, _check_secure, report))
        except OSError as error:
            if getattr(error.__cause__, "status", None) == BEYOND_END:
                return  # all of it is there; if it is another file's, it is damaged
            if is_full(error):
                raise OSError(f"wanted to write {part}, got a full disk: make room") from error
            if isinstance(error, FileNotFoundError) or not part.stat().st_size:
                raise
            kept = f"{part.stat().st_size / 1e6:.1f} MB are kept, the same command goes on from there"
            raise OSError(f"{error}; {kept}") from error


def _find_damage(path: Path) -> str | None:
    """What is damaged of a zip archive, by the checksums in it; None if nothing is."""
    try:
        with zipfile.ZipFile(path) as archive:
            name = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        return f"{path.stat().st_size:,} bytes of another file ({error})"
    return name and f"{name} damaged in it"


def _find_license(path: Path) -> str:
    """What LICENSE in a zip archive says, or else the lines of README that speak of a licence; empty if none does."""
    with zipfile.ZipFile(path) as archive:
        texts = {kind: _about(archive, kind) for kind in ("license", "licence", "readme")}
    stated = texts["license"] or texts["licence"]
    lines = stated if stated else [line for line in texts["readme"] if LICENSE.search(line)]
    return " ".join(" ".join(lines).split())[:LONGEST_LICENSE]


def _about(archive: zipfile.ZipFile, kind: str) -> Sequence[str]:
    """The lines of the file of a kind in an archive; none if there is no such file."""
    for info in archive.infolist():
        if Path(info.filename).name.lower().startswith(kind) and not info.is_dir():
            with archive.open(info) as file:
                return file.read(ABOUT).decode("utf-8", "replace").splitlines()
    return []
