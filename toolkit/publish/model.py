"""Publish a packaged encoder, paraphraser or translator on the Hub as a version."""

from __future__ import annotations

import re
from pathlib import Path

from huggingface_hub import HfApi

from toolkit.package.checksums import CHECKSUMS, check_checksums, checksum_lines
from toolkit.package.folder import check_version
from toolkit.publish.hub import CARD, Content, Version, _check_name, _planned
from toolkit.system.outputs import MEASURED, is_ours

KIND = "model"
HERE = '"."'  # how the cards of packaged models name their folder, and what they say of it
COMMENT = "  # this folder, or its name on the Hub"


def plan_model(api: HfApi | None, folder: Path, name: str, version: str) -> Version:
    """Plan a version of a packaged model on the Hub; `toolkit.publish.hub.publish` publishes it.

    Args:
        api: The Hub; None plans without it, as for a first version.
        folder: What parabank package encoder, paraphraser or translator made.
        name: The repository, "owner/name".
        version: MAJOR.MINOR.PATCH.

    Raises:
        ValueError: The folder is no packaged model, or one of its files is missing or damaged; the name or the version
            has another form; the Hub has this version with other files, or a later one.
        OSError: The Hub cannot be reached.
    """
    files = _model_files(folder, _check_name(name), check_version(version))
    return _planned(api, name, KIND, version, files, MEASURED)


def _model_files(folder: Path, name: str, version: str) -> dict[str, Content]:
    """The files of a version by path, with its card and checksums; files that were not packaged are left out.

    Raises:
        ValueError: The folder is no packaged model, or one of its files is missing or damaged.
    """
    if not is_ours(folder / MEASURED) or not (folder / CARD).is_file() or not (folder / CHECKSUMS).is_file():
        raise ValueError(
            f"wanted a packaged model, got {folder} without a {MEASURED} of this toolkit, a {CARD} and {CHECKSUMS}: "
            "package it with parabank package encoder, paraphraser or translator"
        )
    sums = check_checksums(folder, may_differ={CARD})
    card = _card_on_hub((folder / CARD).read_text(encoding="utf-8"), name, version)
    unchanged_files: dict[str, Content] = {key: folder / key for key in sums if key != CARD}
    generated_contents = {CARD: card.encode()}
    return unchanged_files | generated_contents | {CHECKSUMS: checksum_lines(sums, generated_contents)}


def _card_on_hub(card: str, name: str, version: str) -> str:
    r"""A packaged model's card with the name of its repository in the place of "this folder", and its version.

    >>> card = '# A model\n\npath = "."  # this folder, or its name on the Hub\n'
    >>> print(_card_on_hub(card, "someone/a-model", "1.0.0"))
    # A model
    <BLANKLINE>
    Version 1.0.0, tag `v1.0.0`.
    <BLANKLINE>
    path = "someone/a-model"
    <BLANKLINE>
    """
    title = re.search(r"^# .*\n", card, re.MULTILINE)
    end = title.end() if title else 0
    text = card[end:].replace(COMMENT, "").replace(HERE, f'"{name}"')
    return f"{card[:end]}\nVersion {version}, tag `v{version}`.\n{text}"
