import json

import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard

from toolkit.package.card import size_category, template


def rows_of(folder, pattern):
    return sum(pq.read_metadata(path).num_rows for path in folder.glob(pattern))


def table_line(card, first):
    line = next(line for line in card.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_counts_are_those_of_the_parquet(demo_parabank):
    card = (demo_parabank / "README.md").read_text()
    statistics = json.loads((demo_parabank / "statistics.json").read_text())
    for split in ("train", "validation", "test"):
        pairs = rows_of(demo_parabank, f"data/pairs/{split}-*.parquet")
        references = rows_of(demo_parabank, f"data/references/{split}-*.parquet")
        _, _, kept, published, *_ = table_line(card, split)
        assert (int(kept), int(published)) == (references, pairs)
        counts = statistics["splits"][split]
        assert (counts["kept"], counts["pairs"]) == (references, pairs)
    assert table_line(card, "pairs")[1] == "7"


def test_yaml_names_configs_files_and_version(demo_parabank):
    data = DatasetCard.load(demo_parabank / "README.md").data
    assert (data.language, data.license, data.size_categories) == (["en"], "cc-by-2.0", ["n<1K"])
    assert [(config["config_name"], config.get("default", False)) for config in data.configs] == [
        ("pairs", True),
        ("references", False),
    ]
    for config in data.configs:
        assert config["version"] == "1.2.0"
        assert [entry["split"] for entry in config["data_files"]] == ["train", "validation", "test"]
        assert all(list(demo_parabank.glob(entry["path"])) for entry in config["data_files"])


def test_text_says_what_it_must(demo_parabank):
    card = (demo_parabank / "README.md").read_text()
    assert "| forward | starter/de-en | 44.1 | nrefs:1\\|case:mixed | cc-by-2.0 |" in card
    assert "| backward | starter/en-de | not known | not known | cc-by-2.0 |" in card
    assert "| `limit` | not given |" in card
    assert "| `max_dual_nll` | 3.5 |" in card and "candidates above 3.5 were refused" in card
    assert "| dual | 2 | 20.0 % |" in card and "| too_long | 3 |" in card
    assert "Large-Scale, Diverse, Paraphrastic Bitexts via Sampling and Clustering" in card
    assert "/somewhere" not in card and "{{" not in card and "Undefined" not in card


def test_tables_have_as_many_cells_as_their_heads(demo_parabank):
    card = (demo_parabank / "README.md").read_text().replace("\\|", "")
    lines = card.splitlines()
    tables = [i for i, line in enumerate(lines) if line.startswith("|--") or line.startswith("|-")]
    assert len(tables) >= 14
    for start in tables:
        end = next(i for i in range(start, len(lines)) if not lines[i].startswith("|"))
        assert {line.count("|") for line in lines[start - 1 : end]} == {lines[start].count("|")}, lines[start - 1]
        assert not lines[start - 2].startswith("|") and end > start + 1


@pytest.mark.parametrize("rows, name", [(0, "n<1K"), (99_999, "10K<n<100K"), (10**9, "n>1B")])
def test_size_category(rows, name):
    assert size_category(rows) == name


def test_an_unknown_builder_is_refused():
    with pytest.raises(FileNotFoundError, match=r"wanted the template cards/parabank3.md"):
        template("parabank3")
