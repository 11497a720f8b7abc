"""Mozilla's translation models, fetched by their pair of languages into the cache.

A model stays in the cache as it was fetched, so that a run goes on with the model that it began with; whoever wants a
newer version deletes its folder. Every call compares the files with their hashes.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pyarrow as pa
from huggingface_hub import constants

from toolkit.firefox.published import (
    COLLECTIONS,
    LICENSE,
    _choose,
    _Model,
    _ModelFile,
    _no_such_pair,
    _parse_list,
    _version_key,
    sides,
)
from toolkit.system.contents import hash_file
from toolkit.system.errors import without_secrets
from toolkit.system.lock import alone
from toolkit.system.urls import answer_of, download, is_full, joined_url, retry
from toolkit.system.whole_files import remove_unfinished, temporary_of, whole_file, write_whole

PREFIX = "firefox/"  # of the name of a model: firefox/en-de
ADDRESS = "PARABANK_FIREFOX_MODELS"  # environment variable: the address of a server, such as a company's mirror
MOZILLA = "https://firefox.settings.services.mozilla.com/v1"
RECORD = "firefox.json"  # in the folder of a model: what it is and where it is from
REMEDY = "set HF_HOME to another folder"  # where the cache cannot be written
BLOCK = 1 << 20  # ours: bytes that are decompressed at a time


def fetch_firefox(pair: str) -> Path:
    """The folder of Mozilla's translation model for a pair of languages, fetched if the cache does not have it.

    The cache is the folder of assets of huggingface_hub (`HF_ASSETS_CACHE`, else `HF_HOME`/assets). A file there whose
    size or SHA-256 is not the published one is fetched again. With HF_HUB_OFFLINE=1 no request is sent.

    Args:
        pair: Languages that the model reads and writes: "en-de", "firefox/en-de" or "zh-Hans-en".

    Returns:
        A folder with model.*.bin, vocab.*.spm (or srcvocab.*.spm and trgvocab.*.spm), lex.*.bin where it is published,
        and `RECORD`: pair, version, architecture, license, collection, server, and the sizes and hashes of the files.

    Raises:
        OSError: The server or the cache cannot be reached, what arrives is damaged every time, or the disk is full.
        ValueError: The pair is none or is not published, the network is needed and HF_HUB_OFFLINE is set, or what the
            server answers is no list of models.
    """
    pair = pair.removeprefix(PREFIX)
    sides(pair)
    cache = Path(constants.HF_ASSETS_CACHE).expanduser() / "parabank" / "firefox" / pair
    cached = _newest_cached(cache, pair)
    if cached is not None and not _find_damaged(*cached):
        return cached[0]
    if constants.HF_HUB_OFFLINE:
        actual = f"{', '.join(_find_damaged(*cached))} damaged or missing there" if cached else "none"
        raise ValueError(
            f"wanted {PREFIX}{pair} whole in {cache}, got {actual}, and HF_HUB_OFFLINE, which forbids to fetch it: "
            "unset it"
        )
    with alone(cache, REMEDY):
        return _complete_folder(cache, pair)


def _server() -> str:
    """The address of the server that has the list.

    Raises:
        ValueError: The variable `ADDRESS` holds no HTTP address.
    """
    address = (os.environ.get(ADDRESS) or MOZILLA).rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise ValueError(f"wanted an address as https://HOST/v1 in {ADDRESS}, got {without_secrets(address)!r}: set it")
    return address


def _newest_cached(cache: Path, pair: str) -> tuple[Path, _Model] | None:
    """The newest model of a pair in its cache, and its folder; what has no whole record is none."""
    models = [(path.parent, model) for path in cache.glob(f"*/{RECORD}") if (model := _read_record(path, pair))]
    return max(models, key=lambda entry: (_version_key(entry[1].version), entry[0].name), default=None)


def _read_record(path: Path, pair: str) -> _Model | None:
    """The model of which a record tells; None if the record is damaged."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        files = tuple(_ModelFile(**file) for file in record["files"])
        model = _Model(record["pair"], record["version"], record["architecture"], record["collection"], files)
        _version_key(model.version)
        return model if model.pair == pair and files else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _find_damaged(folder: Path, model: _Model) -> list[str]:
    """The names of the files of a model that are not whole in a folder."""
    return [file.name for file in model.files if not _is_whole(folder / file.name, file.size, file.sha256)]


def _is_whole(path: Path, size: int, sha256: str) -> bool:
    """Whether a file has a size and a SHA-256."""
    return path.is_file() and path.stat().st_size == size and hash_file(path) == sha256


def _complete_folder(cache: Path, pair: str) -> Path:
    """The folder of a model in its cache after what it lacks was fetched; the caller has locked the cache.

    Raises:
        OSError: As `fetch_firefox`.
        ValueError: As `fetch_firefox`.
    """
    address = _server()
    cached = _newest_cached(cache, pair)
    model = cached[1] if cached else _find_model(address, pair)
    folder = cached[0] if cached else cache / f"firefox-{pair}-{model.version}-{model.architecture}"
    folder.mkdir(exist_ok=True)
    remove_unfinished(folder)
    if damaged_names := _find_damaged(folder, model):
        files = [file for file in model.files if file.name in damaged_names]
        megabytes = sum(file.sent_size for file in files) / 1e6
        print(
            f"{PREFIX}{pair}: fetching version {model.version} ({model.architecture}, {megabytes:.1f} MB) from "
            f"{without_secrets(address)} to {folder}",
            file=sys.stderr,
        )
        attachments = _attachments(address)
        for file in files:
            _fetch_file(joined_url(attachments, file.location), folder / file.name, file)
    if cached is None:
        for path in folder.iterdir():  # of a model that was listed here before and never whole
            if path.name not in {RECORD, *(file.name for file in model.files)}:
                path.unlink()
        about = {"license": LICENSE, "server": without_secrets(address)}
        write_whole(folder / RECORD, json.dumps(asdict(model) | about, indent=1) + "\n")
    return folder


def _find_model(address: str, pair: str) -> _Model:
    """The model of a pair in the first collection of a server that has one.

    Raises:
        OSError: The server cannot be reached, or has no collection of models.
        ValueError: It has no model of the pair, or its answer is no list.
    """
    all_records, errors = [], []
    for collection in COLLECTIONS:
        url = f"{address}/buckets/main/collections/{collection}/records"
        try:
            records = _parse_list(retry(partial(answer_of, url)), without_secrets(url))
        except FileNotFoundError as error:
            errors.append(error)
            continue
        if model := _choose(records, pair, collection):
            return model
        all_records += records
    if len(errors) == len(COLLECTIONS):
        raise errors[0]
    raise _no_such_pair(pair, all_records)


def _attachments(address: str) -> str:
    """The address of the files of a server.

    Raises:
        OSError: The server cannot be reached.
        ValueError: It does not say it.
    """
    content = retry(lambda: answer_of(f"{address}/"))
    try:
        url = json.loads(content)["capabilities"]["attachments"]["base_url"]
        if not url.startswith(("http://", "https://")):
            raise ValueError
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ValueError(
            f"wanted capabilities.attachments.base_url in JSON at {without_secrets(address)}/, got {content[:40]!r}: "
            "check the address"
        ) from None
    return url


def _fetch_file(url: str, path: Path, file: _ModelFile) -> None:
    """Fetch a file of a model, which gets its name when it is whole.

    Args:
        url: What is sent.
        path: The file.
        file: What is published of it.

    Raises:
        OSError: It cannot be read or written, or is damaged every time.
        ValueError: What is sent is as published, but what it is compressed from is not.
    """
    compressed = temporary_of(path.with_name(f"{path.name}.sent"))
    try:
        with whole_file(path) as temporary:
            received = compressed if file.compressed else temporary
            retry(lambda: _download_whole(url, received, file))
            if file.compressed:
                _decompress(received, temporary, file)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"wanted {path.name} at {without_secrets(url)}, got no such file: delete {path.parent} and fetch the model "
            "anew, or check the mirror"
        ) from None
    except OSError as error:
        if is_full(error):
            raise OSError(f"wanted to write {path}, got a full disk: make room, or {REMEDY}") from error
        raise
    finally:
        compressed.unlink(missing_ok=True)


def _download_whole(url: str, path: Path, file: _ModelFile) -> None:
    """Copy what is sent of a file to the disk.

    Raises:
        OSError: It cannot be read or written, or has another size or hash.
    """
    download(url, path)
    if not _is_whole(path, file.sent_size, file.sent_sha256):
        raise OSError(
            f"wanted {without_secrets(url)} with {file.sent_size:,} bytes and SHA-256 {file.sent_sha256}, got "
            f"{path.stat().st_size:,} bytes and {hash_file(path)}: check the network, then run the same command again"
        )


def _decompress(received: Path, plain: Path, file: _ModelFile) -> None:
    """Write what a file is compressed from.

    Raises:
        OSError: It cannot be written.
        ValueError: It is not what is published.
    """
    rest = file.size
    try:
        with (
            received.open("rb") as source,
            plain.open("wb") as target,
            pa.CompressedInputStream(source, "zstd") as stream,
        ):
            while rest >= 0 and (block := stream.read(BLOCK)):
                rest -= len(block)
                target.write(block)
    except OSError as error:  # Arrow's of damaged data has no number; that of a full disk has one
        if error.errno:
            raise
        rest = -1
    if rest or hash_file(plain) != file.sha256:
        raise ValueError(
            f"wanted {file.name} of {file.size:,} bytes with SHA-256 {file.sha256} compressed by zstd, got another "
            "content as the list of models says: report it to who publishes the list"
        )
