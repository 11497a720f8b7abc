"""Make a data set's folder of a finished run's shards, whole or not at all: `package_parabank`."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from toolkit.package.card import _template, card_of
from toolkit.package.checksums import write_checksums
from toolkit.package.counts import _no_paraphrase_message
from toolkit.package.folder import check_version
from toolkit.package.parquet import _write_parquet, finished_shards
from toolkit.package.plots import TRANSLATED, _draw_pictures
from toolkit.package.statistics import measure
from toolkit.run.shard_runs import MAKERS
from toolkit.score.overlap import PieceSplitter
from toolkit.select.equal import find_equal_pairs
from toolkit.system.code_version import CODE
from toolkit.system.outputs import CONTAMINATION, MANIFEST, check_output_folder
from toolkit.system.settings import SETTINGS
from toolkit.system.urls import is_url
from toolkit.system.whole_files import read_record, write_whole
from toolkit.version import VERSION

STATISTICS = "statistics.json"
ROLES = ("role", "name", "bleu", "signature", "license")


def package_parabank(
    shards: Path,
    output_dir: Path,
    name: str,
    version: str,
    license: str,
    models: list[dict],
    builder: str = "parabank2",
    pieces: PieceSplitter | None = None,
    max_rows_per_file: int = 500_000,
) -> dict:
    """Make a data set of a finished run: Parquet files, statistics, card and checksums.

    All files are written into a hidden folder beside `output_dir`, which takes its place when it is complete. The same
    shards give the same bytes. A pair stands once per reference text (`toolkit.select.equal`): a row keeps a
    paraphrase unless a row of an equal reference has it with a better score, and the kept ones get the ranks 0, 1, 2,
    ...; a row that keeps none is left out. So every paraphrase stays beside its own source, and `references` nests the
    rows of `pairs`. A paraphrase that is a reference of a split held out from its own is left out, too.

    Args:
        shards: The run's folder, with settings.json, inputs.json and all output shards.
        output_dir: The data set's folder; an older data set of this toolkit there is replaced.
        name: The data set's name.
        version: MAJOR.MINOR.PATCH.
        license: The data set's licence, as the Hub names it ("cc-by-2.0").
        models: The models used: dicts with `role`, `name`, `bleu`, `signature` (of the BLEU) and `license`; None where
            it is not known.
        builder: Which card of cards/ describes the data set.
        pieces: Cuts a text into subword pieces, for the diversity table; None cuts at white space.
        max_rows_per_file: Rows of a Parquet file at most.

    Returns:
        The measured figures (`toolkit.package.statistics.measure`), also in statistics.json.

    Raises:
        FileNotFoundError: `shards` is not a run's folder; `builder` has no card.
        FileExistsError: `output_dir` holds something other than a data set of this toolkit.
        ValueError: The run is not finished or kept no paraphrase; its records are damaged; a bad version; a model lacks
            a key.
    """
    check_package(output_dir, version, builder)
    _check_models(models)
    shard_paths, settings = finished_shards(shards), read_record(shards / SETTINGS)
    with _hidden_sibling(output_dir.resolve()) as folder:
        equal = find_equal_pairs(shard_paths)
        files = _write_parquet(shard_paths, folder, equal.left_out, max_rows_per_file)
        if not files["pairs"]:
            where, ranks = settings.get("where"), settings.get("ranks", "1-")
            raise ValueError(_no_paraphrase_message(shard_paths, where, ranks))
        statistics = measure(shard_paths, files, equal.copies, equal.held_out, pieces)
        if settings.get("text") and statistics["source_languages"]:
            statistics[TRANSLATED] = True
        manifest = _make_manifest(name, version, license, builder, settings, statistics, models)
        write_whole(folder / MANIFEST, as_json(manifest))
        write_whole(folder / STATISTICS, as_json(statistics))
        if (shards / CONTAMINATION).is_file():
            write_whole(folder / CONTAMINATION, (shards / CONTAMINATION).read_bytes())
        _draw_pictures(statistics, folder)
        write_whole(folder / "README.md", card_of(folder, manifest, files, statistics))
        write_checksums(folder)
    return statistics


def check_package(output_dir: Path, version: str, builder: str) -> None:
    """Refuse arguments with which packaging would fail, before there is anything to package.

    Raises:
        OSError: `output_dir` holds something other than a data set of this toolkit, or cannot be written; `builder` has
            no card.
        ValueError: A bad version.
    """
    check_version(version)
    check_output_folder(output_dir, MANIFEST)
    _template(builder)


def _check_models(models: list[dict]) -> None:
    """Refuse a model without one of the keys that the card shows.

    Raises:
        ValueError: A key is missing.
    """
    for model in models:
        if missing := [key for key in ROLES if key not in model]:
            raise ValueError(f"wanted models with {', '.join(ROLES)}, got one without {missing}: None says 'not known'")


def _make_manifest(
    name: str, version: str, license: str, builder: str, settings: dict, statistics: dict, models: list[dict]
) -> dict:
    """What parabank.json says of a data set: its names, how it was made, how much there is, and by which models."""
    return {
        "name": name,
        "version": version,
        "license": license,
        "builder": builder,
        "toolkit": VERSION,
        "settings": _public_settings(settings),
        "counts": {"total": statistics["total"], **statistics["splits"]},
        "models": [{key: model[key] for key in ROLES} for model in models],
    }


def as_json(content: dict) -> bytes:
    """A record as a JSON file for readers: indented, text as it is."""
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


@contextlib.contextmanager
def _hidden_sibling(output_dir: Path) -> Iterator[Path]:
    """A hidden folder beside another, which takes its place at the end of the block.

    After an error the hidden folder is removed, and the other is as it was. What killed processes left is removed.

    Args:
        output_dir: An absolute path; it may exist.

    Yields:
        The path of the hidden folder, which does not exist yet.
    """
    folder = _sibling(output_dir, "packaging")
    _remove_leftovers(output_dir, "packaging")
    try:
        yield folder
        _replace_folder(output_dir, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _public_settings(settings: dict) -> dict:
    """Settings without this machine's places, servers and processes: a URL or absolute path is cut to its last part.

    >>> _public_settings(
    ...     {"seed": 1, "processes": 8, "forward": "/home/me/models/de-en", "bitext": ["/home/me/a.de", "a.en"]}
    ... )
    {'seed': 1, 'forward': 'de-en', 'bitext': ['a.de', 'a.en']}
    >>> _public_settings({"server": "http://10.0.0.7:8000/v1", "bitext": ["https://a.org/b/c.tsv.gz?raw=1"]})
    {'server': 'yes', 'bitext': ['c.tsv.gz']}
    """

    def public_value(value: object) -> object:
        if isinstance(value, list):
            return [public_value(item) for item in value]
        if isinstance(value, str) and value.startswith(("http://", "https://")):
            return Path(urlsplit(value).path).name
        is_location = isinstance(value, str) and (is_url(value) or Path(value).is_absolute())
        return Path(str(value)).name if is_location else value

    public = {key: public_value(value) for key, value in settings.items() if key not in {*MAKERS, CODE}}
    return public | ({"server": "yes"} if settings.get("server") else {})


def _sibling(folder: Path, purpose: str) -> Path:
    """The path of a hidden folder beside another, on the same file system, for this process alone.

    >>> name = _sibling(Path("build/parabank2"), "packaging").name
    >>> name.startswith(".parabank2.packaging.") and name.endswith(f".{os.getpid()}")
    True
    """
    return folder.with_name(f".{folder.name}.{purpose}.{platform.node()}.{os.getpid()}")


def _remove_leftovers(folder: Path, purpose: str) -> None:
    """Remove the hidden siblings of a folder that ended processes of this machine left; those of running ones stay."""
    name = _sibling(folder, purpose).stem
    for leftover in folder.parent.iterdir() if folder.parent.is_dir() else ():
        process = leftover.suffix[1:]
        if leftover.stem == name and process.isdigit() and (int(process) == os.getpid() or not _is_alive(int(process))):
            shutil.rmtree(leftover, ignore_errors=True)


def _is_alive(process: int) -> bool:
    """Whether a process of this machine is running.

    >>> _is_alive(os.getpid())
    True
    """
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _replace_folder(folder: Path, complete: Path) -> None:
    """Rename a complete folder to its final name; an older folder is moved aside first, and back if that fails."""
    old = _sibling(folder, "replaced")
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)  # of a process of this number that was killed
        folder.rename(old)
    try:
        complete.rename(folder)
    except OSError:
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
    _remove_leftovers(folder, "replaced")
