import json
import re

import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard

from tests.conftest import demo_rows, write_run
from toolkit.evaluate.corpus import PAPER_BETWEEN_RANKS, PAPER_BY_RANK
from toolkit.package.build import package_parabank
from toolkit.package.card import _size_category, _template
from toolkit.score.judge import BACK_FEATURES, CRITIC_FEATURES

CRITIC = [name for name in (*CRITIC_FEATURES, *BACK_FEATURES) if name.isidentifier() and "_squared" not in name]


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
    assert "| `dual`: its dual score is too low | 2 | 20.0 % |" in card
    assert "| `too_long`: a side has too many characters or words | 3 |\n| `empty`: " in card, "most first"
    assert "| *not the best of its cluster or list* | 1 | 10.0 % |" in card
    assert "Large-Scale, Diverse, Paraphrastic Bitexts via Sampling and Clustering" in card
    assert "/somewhere" not in card and "{{" not in card and "Undefined" not in card


def test_a_judged_parabank_says_so(tmp_path, demo_models):
    rows = demo_rows()
    for row in rows:
        for paraphrase in row.paraphrases:
            paraphrase.scores.edit_ratio, paraphrase.scores.usable = 0.4, 0.7
            for name in CRITIC:
                setattr(paraphrase.scores, name, -0.5)
    run = write_run(tmp_path / "demo.shards", rows)
    cards = {}
    for name, settings in (("paper", {}), ("judged", {"min_usable": 0.6, "guards": ["negation", "name"]})):
        record = json.loads((run / "settings.json").read_text()) | settings
        (run / "settings.json").write_text(json.dumps(record))
        package_parabank(run, tmp_path / name, name, "1.2.0", "mit", demo_models)
        cards[name] = (tmp_path / name / "README.md").read_text()
    columns = re.search(r"\| column \| meaning \|\n.*?\n\n", cards["judged"], re.DOTALL)[0]
    example = json.loads(cards["judged"].split("```json\n")[1].split("```")[0])
    assert "usable" in example and set(example) <= set(re.findall(r"`(\w+)`", columns))
    as_paper, own = (part.split("\n\n")[1] for part in cards["judged"].split("\nWhat is ")[1:])
    assert "(`min_usable`)" in own and "below 0.6" in own and "(`guards`): negation, name" in own
    assert "the best of these" not in as_paper and "The other columns" in cards["judged"]
    assert "and the best of these" in cards["paper"] and "`min_usable`" not in cards["paper"]
    assert "The pairs with the lowest `usable` that were kept" in cards["judged"]


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
            *((outcomes[key], total["candidates"]) for key in ("not_chosen", "held_out", "repeated", "chosen")),
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
