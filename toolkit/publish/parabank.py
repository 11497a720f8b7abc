"""Publish a packaged parabank on the Hub as a version, with a card that names its place there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from huggingface_hub import HfApi

from toolkit.package.build import STATISTICS, as_json
from toolkit.package.card import card_of
from toolkit.package.checksums import CHECKSUMS, check_checksums, checksum_lines
from toolkit.package.folder import AGAIN, check_version, files_of, is_parabank
from toolkit.package.parquet import CONFIGS, SPLITS
from toolkit.publish.hub import CARD, Content, Version, _check_name, _numbers, _planned, _record_on_hub
from toolkit.system.outputs import MANIFEST
from toolkit.system.whole_files import read_record

KIND = "dataset"


def plan_parabank(api: HfApi | None, folder: Path, name: str, version: str | None = None, changes: str = "") -> Version:
    """Plan a version of a parabank on the Hub; `toolkit.publish.hub.publish` publishes it.

    The card and the manifest that are published name the repository and the version, and list the versions before it.
    The folder stays as it is.

    Args:
        api: The Hub; None plans without it, as for a first version.
        folder: A packaged parabank.
        name: The repository, "owner/name".
        version: MAJOR.MINOR.PATCH; None takes that of the folder.
        changes: What is new in this version, for the card.

    Raises:
        ValueError: The folder is no parabank, or one of its files is missing or damaged; the name or the version has
            another form; the Hub has this version with other files, or a later one.
        OSError: The Hub cannot be reached.
    """
    manifest = _read_manifest(folder)
    version = check_version(version or manifest["version"])
    sums = check_checksums(folder)
    on_hub = {} if api is None else _record_on_hub(api, _check_name(name), KIND, MANIFEST)
    entries = on_hub.get("versions", [])
    earlier = [entry for entry in entries if _numbers(entry["version"]) < _numbers(version)]
    files = _parabank_files(folder, manifest, sums, name, version, changes, earlier)
    return _planned(api, name, KIND, version, files, MANIFEST)


def _read_manifest(folder: Path) -> dict:
    """The manifest of a packaged parabank.

    Raises:
        ValueError: The folder is no parabank, or was packaged without checksums.
    """
    if not is_parabank(folder) or not (folder / CHECKSUMS).is_file():
        raise ValueError(
            f"wanted a packaged parabank, got {folder} without {MANIFEST} and {CHECKSUMS}: give the folder "
            "that a builder made"
        )
    return read_record(folder / MANIFEST, AGAIN)


def _parabank_files(
    folder: Path, manifest: dict, sums: dict[str, str], name: str, version: str, changes: str, earlier: Sequence[dict]
) -> dict[str, Content]:
    """The files of a version by path; card, manifest and checksums are those of the Hub, not of the folder.

    Args:
        folder: The packaged parabank.
        manifest: Its manifest.
        sums: Its checksums, by path.
        name: The repository.
        version: The version.
        changes: What is new in it.
        earlier: The entries of the versions that the Hub has.
    """
    counts = {key: manifest["counts"]["total"][key] for key in ("pairs", "kept")}
    entry = {"version": version, **counts, "changes": changes}
    hub_manifest = manifest | {"name": name, "version": version, "versions": [*earlier, entry]}
    files = {config: {split: paths for split in SPLITS if (paths := files_of(folder, config, split))}
             for config in CONFIGS}  # fmt: skip
    generated_contents = {
        MANIFEST: as_json(hub_manifest),
        CARD: card_of(folder, hub_manifest, files, read_record(folder / STATISTICS, AGAIN)).encode(),
    }
    unchanged_files: dict[str, Content] = {path: folder / path for path in sums if path not in generated_contents}
    return unchanged_files | generated_contents | {CHECKSUMS: checksum_lines(sums, generated_contents)}
