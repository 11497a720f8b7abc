"""README.md of a data set: YAML that `datasets` reads, and measured figures. The text itself is in cards/."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
from huggingface_hub import DatasetCard, DatasetCardData

from toolkit.clean.rules import REASONS
from toolkit.evaluate.corpus import PAPER_BETWEEN_RANKS, PAPER_BY_RANK
from toolkit.package.parquet import DATA, PAIR, PAIR_COLUMNS
from toolkit.package.plots import ASSETS
from toolkit.package.reasons import OF_CANDIDATES
from toolkit.package.templates import TEMPLATES
from toolkit.system.contents import hash_file
from toolkit.system.outputs import CONTAMINATION
from toolkit.version import VERSION

# The Hub's size categories: rows below the number; the last has no upper bound
SIZES = {
    1_000: "n<1K",
    10_000: "1K<n<10K",
    100_000: "10K<n<100K",
    1_000_000: "100K<n<1M",
    10_000_000: "1M<n<10M",
    100_000_000: "10M<n<100M",
    1_000_000_000: "100M<n<1B",
}
LARGEST = "n>1B"
PARTS = "parts.md"  # what the templates share, put in behind the head
HEAD = "---\n{{ card_data }}\n---\n"
BAR = "\\|"  # a bar inside of a cell of a table
DESCRIPTIONS = {
    "pairs": "One row per reference and paraphrase",
    "references": "One row per reference, its paraphrases nested",
    PAIR: "The two texts of each pair alone: anchor and positive of a trainer",
}


def _size_category(rows: int) -> str:
    """The Hub's name for a number of rows.

    >>> _size_category(999), _size_category(1000), _size_category(10**10)
    ('n<1K', '1K<n<10K', 'n>1B')
    """
    return next((name for bound, name in SIZES.items() if rows < bound), LARGEST)


def _template(builder: str) -> str:
    """The text of a parabank's card.

    Raises:
        FileNotFoundError: There is no such card.
    """
    path = TEMPLATES / f"{builder}.md"
    if not path.is_file():
        raise FileNotFoundError(f"wanted the template cards/{builder}.md, got none: write one, or name another builder")
    parts = (TEMPLATES / PARTS).read_text(encoding="utf-8")
    return path.read_text(encoding="utf-8").replace(HEAD, HEAD + parts, 1)


def _configurations(files: dict[str, dict[str, list[Path]]], version: str) -> list[dict]:
    """The `configs:` of the YAML: which files make which split of which config; the first config is the default.

    The config `pair` has two columns of the files of `pairs`, so that the texts are on the disk once.

    The description of a config holds a checksum of its files. `datasets` 5.2 keeps the cache of a local folder under a
    hash of what its card says of all configs, so other content has another cache, also under the same path and version.
    """
    listed = [
        {
            "config_name": config,
            **({"default": True} if number == 0 else {}),
            "version": version,
            "description": f"{DESCRIPTIONS[config]} (content {_content(splits)})",
            "data_files": [{"split": split, "path": f"{DATA}/{config}/{split}-*.parquet"} for split in splits],
        }
        for number, (config, splits) in enumerate(files.items())
    ]
    description = f"{DESCRIPTIONS[PAIR]} (content {_content(files['pairs'])})"
    pair = listed[0] | {"config_name": PAIR, "description": description, "columns": PAIR_COLUMNS}
    return [*listed, {key: value for key, value in pair.items() if key != "default"}]


def _content(splits: dict[str, list[Path]]) -> str:
    """A short checksum of the files of a config, which are there."""
    sums = "".join(f"{hash_file(file)}  {file.name}\n" for files in splits.values() for file in files)
    return hashlib.sha256(sums.encode()).hexdigest()[:16]


def _render_card(
    manifest: dict,
    files: dict[str, dict[str, list[Path]]],
    statistics: dict,
    pictures: Sequence[str] = (),
    contamination: Sequence[dict] = (),
) -> str:
    """The card of a data set.

    Args:
        manifest: What parabank.json says.
        files: What `write_parquet` wrote: config to split to files. They are read.
        statistics: What `measure` returned.
        pictures: The names of the pictures in `ASSETS`.
        contamination: The test sets that were searched for, as records of equal keys.

    Returns:
        README.md's text: YAML between two lines of three dashes, then Markdown.

    Raises:
        FileNotFoundError: The manifest's builder has no card.
    """
    data = DatasetCardData(
        language=statistics["languages"],
        license=manifest["license"],
        task_categories=["sentence-similarity", "text-generation"],
        size_categories=[_size_category(statistics["total"]["pairs"])],
        pretty_name=manifest["name"],
        tags=list(
            dict.fromkeys(["paraphrase", "parabank", manifest["builder"], "synthetic", *_method_tags(statistics)])
        ),
        configs=_configurations(files, manifest["version"]),
    )
    card = DatasetCard.from_template(
        data,
        template_str=_template(manifest["builder"]),
        manifest=manifest,
        statistics=statistics,
        line_reasons=REASONS,
        candidate_reasons=OF_CANDIDATES,
        paper_by_rank=PAPER_BY_RANK,
        paper_between_ranks=PAPER_BETWEEN_RANKS,
        toolkit_version=VERSION,
        pictures=pictures,
        assets=ASSETS,
        contamination=contamination,
        record=_shown_record(_first_record(files["pairs"])),
        revision=f'revision="v{manifest["version"]}", ' if "versions" in manifest else "",
        versions=_versions_table(manifest.get("versions", [])),
    )
    return str(card)


def _method_tags(statistics: dict) -> list[str]:
    """The tag of a data set that says how its paraphrases were made."""
    return ["machine-translated"] if statistics["source_languages"] else []


def card_of(folder: Path, manifest: dict, files: dict[str, dict[str, list[Path]]], statistics: dict) -> str:
    """The card of a data set whose other files are in a folder; see `_render_card`.

    Raises:
        FileNotFoundError: The manifest's builder has no card.
        ValueError: The record of test sets is damaged.
    """
    contamination_file = folder / CONTAMINATION
    try:
        contamination = (
            json.loads(contamination_file.read_text(encoding="utf-8")) if contamination_file.is_file() else []
        )
    except ValueError as error:
        raise ValueError(
            f"wanted a list of test sets, got {contamination_file}, which is damaged ({error}): delete it"
        ) from None
    pictures = sorted(path.stem for path in (folder / ASSETS).glob("*.png"))
    return _render_card(manifest, files, statistics, pictures, contamination)


def _first_record(files: dict[str, list[Path]]) -> dict:
    """The first record of a config."""
    (first, *_), *_ = files.values()
    with pq.ParquetFile(first) as file:
        return next(file.iter_batches(1)).to_pylist()[0]


def _shown_record(record: dict) -> str:
    """A record as JSON, a line for each column that is not null.

    >>> print(_shown_record({"id": "demo-1", "rank": 0, "judgment": None}))
    {
     "id": "demo-1",
     "rank": 0
    }
    """
    lines = [
        f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in record.items()
        if value is not None
    ]
    return "\n".join(["{", ",\n".join(lines), "}"])


def _versions_table(versions: Sequence[dict]) -> str:
    """The section of a card on the Hub that lists its versions, the newest first; empty for a card that is not there.

    >>> print(_versions_table([{"version": "1.0.0", "pairs": 7000, "kept": 900, "changes": ""}]))
    ## Versions
    <BLANKLINE>
    | version | pairs | references with a paraphrase | what is new |
    |---|---:|---:|---|
    | 1.0.0 | 7,000 | 900 | - |
    <BLANKLINE>
    <BLANKLINE>
    """
    if not versions:
        return ""
    lines = []
    for version in reversed(versions):
        changes = " ".join(version["changes"].split()).replace("|", BAR) or "-"
        lines.append(f"| {version['version']} | {version['pairs']:,} | {version['kept']:,} | {changes} |")
    head = ["| version | pairs | references with a paraphrase | what is new |", "|---|---:|---:|---|"]
    return "\n".join(["## Versions", "", *head, *lines, "", ""])
