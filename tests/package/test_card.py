import json
import re

import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard

from toolkit.evaluate.corpus import PAPER_BETWEEN_RANKS, PAPER_BY_RANK
from toolkit.package.build import package_parabank
from toolkit.package.card import _size_category, _template


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
        _, _, reference_count, pair_count, *_ = table_line(card, split)
        assert (int(reference_count), int(pair_count)) == (references, pairs)
        counts = statistics["splits"][split]
        assert (counts["kept"], counts["pairs"]) == (references, pairs)
    assert table_line(card, "pairs")[1] == "7"


def test_yaml_names_configs_files_and_version(demo_parabank):
    data = DatasetCard.load(demo_parabank / "README.md").data
    assert (data.language, data.license, data.size_categories) == (["en"], "cc-by-2.0", ["n<1K"])
    assert [(config["config_name"], config.get("default", False)) for config in data.configs] == [
        ("pairs", True),
        ("references", False),
        ("pair", False),
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
    assert _size_category(rows) == name


def test_an_unknown_builder_is_refused():
    with pytest.raises(FileNotFoundError, match=r"wanted the template cards/parabank3.md"):
        _template("parabank3")


def test_the_card_shows_a_record_pictures_and_errors(demo_parabank):
    card = (demo_parabank / "README.md").read_text()
    pairs = pq.read_table(demo_parabank / "data" / "pairs" / "train-00000-of-00001.parquet").to_pylist()
    example = json.loads(card.split("```json\n")[1].split("```")[0])
    assert example == {name: value for name, value in pairs[0].items() if value is not None}
    lowest = card.split("The pairs with the lowest `dual`")[1].split("And pairs by chance")[0]
    assert "| She can't swim. | She is unable to swim. | -1.50 |" in lowest
    assert lowest.count("\n| ") == 6 and "(assets/funnel.png)" in card


def test_test_sets_that_were_searched_are_told(demo_run, demo_models, tmp_path):
    contamination = [{"test set": "STS | 2012", "revision": "main", "rule": "equal on either side", "pairs": 3}]
    (demo_run / "contamination.json").write_text(json.dumps(contamination))
    package_parabank(demo_run, tmp_path / "bank", "bank", "1.0.0", "mit", demo_models)
    card = (tmp_path / "bank" / "README.md").read_text()
    assert (
        "| test set | revision | rule | pairs |\n|---|---|---|---|\n| STS \\| 2012 | main | equal on either side | 3 |"
        in card
    )
    assert json.loads((tmp_path / "bank" / "contamination.json").read_text()) == contamination
    (demo_run / "contamination.json").write_text("[")
    with pytest.raises(ValueError, match=r"wanted a list of test sets, got .*contamination.json, which is damaged"):
        package_parabank(demo_run, tmp_path / "other", "other", "1.0.0", "mit", demo_models)


def numbers(text):
    """The numbers of a text, as they are spelled."""
    return set(re.findall(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?", text))


def collect_spellings(value, spellings):
    """Every way in which the templates spell the numbers of the figures."""
    if isinstance(value, dict):
        for key, inner in value.items():
            collect_spellings(key, spellings)
            collect_spellings(inner, spellings)
    elif isinstance(value, list | tuple):
        for inner in value:
            collect_spellings(inner, spellings)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        spellings |= {form.format(abs(value)) for form in ("{}", "{:,}", "{:.0f}", "{:.1f}", "{:.2f}", "{:g}")}
    elif isinstance(value, str):
        spellings |= numbers(value)


@pytest.mark.parametrize("builder", ["parabank2", "paranmt"])
def test_every_number_of_the_card_is_one_of_the_figures(demo_run, demo_models, tmp_path, builder):
    """What a template says by itself stands in the template; all else must come from the measured figures."""
    package_parabank(demo_run, tmp_path / "bank", "bank", "1.2.0", "cc-by-2.0", demo_models, builder)
    figures = json.loads((tmp_path / "bank" / "statistics.json").read_text())
    manifest = json.loads((tmp_path / "bank" / "parabank.json").read_text())
    card = (tmp_path / "bank" / "README.md").read_text()
    known: set[str] = numbers(_template(builder))
    total, outcomes = figures["total"], figures["candidates"]
    shares = [
        100 * part / whole
        for part, whole in (
            (total["kept"], total["references"]),
            (figures["copies"], total["pairs"]),
            (figures["clusters"]["in_reference_cluster"], figures["clusters"]["candidates"]),
            *((count, total["candidates"]) for count in outcomes["refused"].values()),
            *((outcomes[key], total["candidates"]) for key in ("not_chosen", "repeated", "chosen")),
            *((row["came_back"], row["constrained"]) for row in figures["negative_constraints"].values()),
        )
    ]
    ratios = [total["candidates"] / total["references"], total["draws"] / total["references"]]
    record = json.loads(card.split("```json\n")[1].split("```")[0])
    collect_spellings(
        [figures, manifest, shares, ratios, record, PAPER_BY_RANK, list(PAPER_BETWEEN_RANKS.values())], known
    )
    text = re.sub(r"content \w+|[0-9a-f]{16,}", "", card)
    assert numbers(text) - known == set()
