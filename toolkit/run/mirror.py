"""A run whose output is a URL: a run in a folder of this machine, mirrored at the URL.

Work, locks and renames stay on the local disk. What the URL has of the run is fetched before it begins, and each file
is sent when it is finished, so that another machine goes on where this one stopped. What was fetched counts when it is
whole, and a damaged copy is never sent back. What it does not do: keep two machines from working on one URL at a time.
They make the same shards, each of them all.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from queue import SimpleQueue

from toolkit.data.shards import INPUTS, dropped_of, is_whole
from toolkit.system.cache import cache_folder
from toolkit.system.errors import one_line, without_secrets
from toolkit.system.lock import check_free
from toolkit.system.outputs import CONTAMINATION, MANIFEST
from toolkit.system.settings import SETTINGS, compare_settings
from toolkit.system.urls import below, check_bucket, fetch, is_url, joined_url, read_bytes, remove, send, send_together

DIGITS = 12  # ours: of the hash of a URL
PAUSE = 60.0  # ours: seconds without a try after an address has refused a shard; a refusal takes some 40 itself
PROBE = ".probe"  # a file that is written to a new URL and removed again
# The files of a run, all of which are written once; in this order a shard comes after the counts that belong to it.
SHARD_FILE = re.compile(rf"(dropped|input|rows)-\d+\.parquet|{re.escape(CONTAMINATION)}")
FINISHED = re.compile(r"(dropped|rows)-\d+\.parquet")  # those of finished shards


def working_folder(output_dir: str) -> Path:
    """The folder in which the parabank of a run is made: its output, or for a URL a folder in the cache; it has a name.

    >>> working_folder("build/bank/").as_posix()
    'build/bank'
    >>> working_folder("s3://bucket/bank").name
    'bank'
    """
    if not is_url(output_dir):
        return Path(output_dir) if Path(output_dir).name not in ("", "..") else Path(output_dir).resolve()
    url = without_secrets(output_dir.rstrip("/"))
    return cache_folder() / hashlib.sha256(url.encode()).hexdigest()[:DIGITS] / url.rpartition("/")[2]


def _run_folder(output_dir: str) -> Path:
    """The folder of the shards of a run, beside that of its parabank."""
    return Path(f"{working_folder(output_dir)}.shards")


def _run_url(output_dir: str) -> str:
    """The URL of the shards of a run, beside that of its parabank.

    >>> _run_url("s3://bucket/bank/")
    's3://bucket/bank.shards'
    """
    return f"{output_dir.rstrip('/')}.shards"


def _check_output_url(output_dir: str) -> None:
    """Refuse a URL that is a whole bucket, beside which no shards could be.

    Raises:
        ValueError: The URL has no path.
    """
    if is_url(output_dir) and "/" not in output_dir.partition("://")[2].rstrip("/"):
        raise ValueError(f"wanted a folder in a bucket, got {output_dir}: add the name of the parabank")


def fetch_run(output_dir: str, settings: dict, free: Set[str]) -> set[str]:
    """Bring what a URL has of a run to the folder of the run; do nothing for an output that is a folder.

    A copy counts when all of it has arrived and can be read. A file that is damaged at the URL is none: its line on the
    terminal says that it is made again.

    Args:
        output_dir: The output of the run.
        settings: Its settings, as it records them.
        free: The settings that may differ from call to call.

    Returns:
        The names of the files that are damaged at the URL, which `send_run` replaces.

    Raises:
        OSError: The URL holds other files, or cannot be reached or written; a file arrives cut every time.
        RuntimeError: Another launch on this machine works on the run.
        ValueError: The URL holds a run with other settings, or its record is damaged.
    """
    if not is_url(output_dir):
        return set()
    url, folder = _run_url(output_dir), _run_folder(output_dir)
    check_free(folder)
    check_bucket(output_dir)
    record, remote_sizes, packaged_sizes = read_bytes(joined_url(url, SETTINGS)), below(url), below(output_dir)
    other_names = [
        *filter(lambda name: name != PROBE, remote_sizes),
        *(packaged_sizes if MANIFEST not in packaged_sizes else ()),
    ]
    if record is None and other_names:
        raise FileExistsError(
            f"wanted a new URL, or that of a run, got {output_dir}, which holds {other_names[0]} and no run of this "
            "toolkit: choose another --output_dir"
        )
    if record is None:
        _check_written(url)
        print(f"{without_secrets(url)}: 0 files fetched to {folder}", file=sys.stderr)
        return set()
    compare_settings(_record_at(joined_url(url, SETTINGS), record), settings, free, without_secrets(url))
    sizes = {path.name: path.stat().st_size for path in (folder.iterdir() if folder.is_dir() else ())}
    names = [SETTINGS] * (SETTINGS not in sizes)
    # The record of the input shards comes last: without it they are cut again, but what is finished stays.
    shards = [
        *filter((SHARD_FILE if INPUTS in remote_sizes else FINISHED).fullmatch, remote_sizes),
        *filter(INPUTS.__eq__, remote_sizes),
    ]
    names += [name for name in shards if sizes.get(name) != remote_sizes[name]]
    fetched, damaged = _fetch_named(url, folder, names)
    for name in sorted(damaged):
        print(
            f"{without_secrets(joined_url(url, name))}: damaged there, so it is made again and replaced",
            file=sys.stderr,
        )
    print(f"{without_secrets(url)}: {fetched} files fetched to {folder}", file=sys.stderr)
    return damaged


def _record_at(url: str, content: bytes) -> dict:
    """The record of a run at a URL.

    Raises:
        ValueError: It is damaged.
    """
    try:
        record = json.loads(content)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise ValueError(
            f"wanted the record of a run in JSON, got {url}, which is damaged: choose another --output_dir"
        )
    return record


def _fetch_named(url: str, folder: Path, names: list[str]) -> tuple[int, set[str]]:
    """Fetch files of a run, each whole or not at all; return the number of these and the names of the damaged ones.

    A finished shard whose counts are damaged is not fetched, so that both are made again; the record of the input
    shards is not, if one of them is damaged.
    """
    damaged, fetched = set[str](), 0
    folder.mkdir(parents=True, exist_ok=True)
    for kind in (SETTINGS, CONTAMINATION, "dropped-", "input-", "rows-", INPUTS):
        selected_names = {name for name in names if name.startswith(kind)}
        if kind == "rows-":
            uncounted = {name for name in selected_names if dropped_of(Path(name)).name in damaged}
            selected_names, damaged = selected_names - uncounted, damaged | uncounted
        if kind == INPUTS and any(name.startswith(("input-", CONTAMINATION)) for name in damaged):
            (folder / INPUTS).unlink(missing_ok=True)
            break
        refused = fetch({joined_url(url, name): folder / name for name in sorted(selected_names)}, _is_whole)
        damaged |= {address.rpartition("/")[2] for address in refused}
        fetched += len(selected_names) - len(refused)
    return fetched, damaged


def _is_whole(copy: Path, url: str) -> bool:
    """Whether a copy of a file of a run can be read: a shard of rows or counts, or a record in JSON."""
    if url.endswith(".parquet"):
        return is_whole(copy)
    try:
        return isinstance(json.loads(copy.read_bytes()), dict | list)
    except ValueError:
        return False


def _check_written(url: str) -> None:
    """Refuse a folder at a URL in which no file can be written and removed again.

    Raises:
        OSError: It cannot be written.
    """
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder, PROBE)
        probe.write_text("written by parabank-toolkit before a run begins, and removed at once\n", encoding="utf-8")
        send(probe, joined_url(url, PROBE))
    remove([joined_url(url, PROBE)])


def send_run(output_dir: str, damaged: Set[str] = frozenset()) -> None:
    """Send what a URL lacks of a run whose input shards are cut; do nothing for an output that is a folder.

    Finished shards go before the input shards, because they are worth more. One that the URL has is not replaced unless
    it is damaged there.

    Args:
        output_dir: The output of the run.
        damaged: The names of files that are damaged at the URL (`fetch_run`).

    Raises:
        OSError: The URL cannot be written.
    """
    if not is_url(output_dir):
        return
    url, folder = _run_url(output_dir), _run_folder(output_dir)
    remote_sizes = below(url)
    names = sorted(path.name for path in folder.iterdir() if SHARD_FILE.fullmatch(path.name))
    changed_names = {
        name for name in (*names, INPUTS) if remote_sizes.get(name) != (folder / name).stat().st_size
    } - damaged
    for name in sorted(filter(FINISHED.fullmatch, changed_names & remote_sizes.keys())):
        print(
            f"{without_secrets(joined_url(url, name))}: another file of that name came there, which is kept",
            file=sys.stderr,
        )
        changed_names.remove(name)
    send(folder / SETTINGS, joined_url(url, SETTINGS))
    unsent_names = [name for name in (*names, INPUTS) if name in changed_names | damaged]
    for kind in (CONTAMINATION, "dropped-", "rows-", "input-", INPUTS):
        send_together({joined_url(url, name): folder / name for name in unsent_names if name.startswith(kind)})


def _send_shard(output_dir: str, shard: Path) -> None:
    """Send a finished shard, and before it the counts of what it does not keep; nothing for an output that is a folder.

    Raises:
        OSError: The URL cannot be written.
    """
    if is_url(output_dir):
        for path in (dropped_of(shard), shard):
            if path.exists():
                send(path, joined_url(_run_url(output_dir), path.name))


@contextlib.contextmanager
def sending(output_dir: str) -> Iterator[Callable[[Path], None]]:
    """Send finished shards while others are made, by a thread, so that an address that refuses them stops no work.

    What cannot be sent is a line; it is tried again after PAUSE, and is sent by `send_run` in any case. At the end of
    the block what is on its way arrives.

    Yields:
        Takes a finished shard; it does nothing for an output that is a folder.
    """
    if not is_url(output_dir):
        yield lambda shard: None
        return
    shards: SimpleQueue[Path | None] = SimpleQueue()
    thread = threading.Thread(target=_send_queued, args=(output_dir, shards), daemon=True)
    thread.start()
    try:
        yield shards.put
    finally:
        shards.put(None)
        thread.join()


def _send_queued(output_dir: str, shards: SimpleQueue[Path | None]) -> None:
    """Send the shards of a queue in their order until None comes; after a failure none for PAUSE seconds."""
    unsent_shards, next_attempt = deque[Path](), 0.0
    while (shard := shards.get()) is not None:
        unsent_shards.append(shard)
        while unsent_shards and time.monotonic() >= next_attempt:
            if _was_sent(output_dir, unsent_shards[0]):
                unsent_shards.popleft()
            else:
                next_attempt = time.monotonic() + PAUSE


def _was_sent(output_dir: str, shard: Path) -> bool:
    """Send a finished shard; if that fails, print a line, because the shard is whole on the disk and sent later."""
    try:
        _send_shard(output_dir, shard)
    except OSError as error:
        print(f"{shard.name}: not sent yet, the run goes on: {one_line(error)}", file=sys.stderr)
        return False
    return True


def send_parabank(output_dir: str) -> None:
    """Send a packaged parabank in place of an older one; do nothing for an output that is a folder.

    Its manifest goes first and comes last, so that a parabank of which a part is missing is none.

    Raises:
        OSError: The URL cannot be written.
    """
    if not is_url(output_dir):
        return
    folder, remote_sizes = working_folder(output_dir), below(output_dir)
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    remove([joined_url(output_dir, name) for name in remote_sizes if name == MANIFEST])
    for name in sorted(files, key=lambda name: name == MANIFEST):
        if name == MANIFEST:
            remove([joined_url(output_dir, old) for old in remote_sizes if old not in files])
        send(files[name], joined_url(output_dir, name))
