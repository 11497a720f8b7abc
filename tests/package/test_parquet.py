import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toolkit.data.rows import Scores, from_record, schema, to_table
from toolkit.data.shards import read_shard, read_tables
from toolkit.package import parquet
from toolkit.package.parquet import (
    _pairs_schema,
    _pairs_table,
    _references_schema,
    _references_table,
    _write_parquet,
    finished_shards,
    splits_in,
)
from toolkit.select.equal import find_equal_pairs


def write(shards, folder, **options):
    return _write_parquet(shards, folder, find_equal_pairs(shards).left_out, **options)


def all_rows(run):
    return [row for shard in finished_shards(run) for row in read_shard(shard)]


def expected_pairs(rows):
    return [(row.id, row.reference, c.text, c.rank, c.scores) for row in rows for c in row.paraphrases]


def found_pairs(table):
    fields = list(schema(Scores).names)
    return [
        (r["id"], r["sentence1"], r["sentence2"], r["rank"], Scores(**{name: r[name] for name in fields}))
        for r in table.to_pylist()
    ]


def test_pairs_are_the_chosen_candidates_best_first(demo_run):
    rows = all_rows(demo_run)
    pairs = _pairs_table(to_table(rows))
    assert pairs.schema == _pairs_schema()
    assert len(pairs) == 7
    assert found_pairs(pairs) == expected_pairs(rows)
    paraphrases = [paraphrase for row in rows for paraphrase in row.paraphrases]
    assert pairs["dual"].to_pylist() == [paraphrase.scores.dual for paraphrase in paraphrases]
    assert pairs["origins"].to_pylist()[0] == [
        {"recipe": "random", "positive": [], "negative": ["will", "go"], "unmet": []},
        {"recipe": "random", "positive": [], "negative": ["will", "go", "extra"], "unmet": []},
    ]


def test_references_nest_what_pairs_spell_out(demo_run):
    rows = to_table(all_rows(demo_run))
    references, pairs = _references_table(rows), _pairs_table(rows)
    assert references.schema == _references_schema()
    assert references["id"].to_pylist() == ["demo-0", "demo-2", "demo-3", "demo-4"]
    texts = [p["text"] for paraphrases in references["paraphrases"].to_pylist() for p in paraphrases]
    assert texts == pairs["sentence2"].to_pylist()
    nested = references["paraphrases"].type.value_type
    assert [nested.field(i).name for i in range(2)] == ["text", "rank"]
    assert {f.name for f in nested} - {"text"} < set(pairs.column_names)


@pytest.mark.parametrize("start", [0, 1, 4, 5])
def test_tables_of_a_slice_and_of_nothing(demo_run, start):
    rows = all_rows(demo_run)
    table = to_table(rows).slice(start)
    assert found_pairs(_pairs_table(table)) == expected_pairs(rows[start:])
    assert len(_references_table(table)) == sum(bool(row.paraphrases) for row in rows[start:])


def test_tables_of_several_chunks(demo_run):
    rows = all_rows(demo_run)
    table = pa.concat_tables([to_table(rows[:3]), to_table(rows[3:])])
    assert _pairs_table(table).equals(_pairs_table(to_table(rows)))
    assert _references_table(table).combine_chunks().equals(_references_table(to_table(rows)).combine_chunks())


def test_text_columns_come_in_the_order_that_trainers_take(demo_run):
    assert _pairs_schema().names[:4] == ["id", "sentence1", "sentence2", "rank"]


def test_features_keep_a_list_of_structs(demo_run):
    features = datasets.Features.from_arrow_schema(_references_schema())
    assert isinstance(features["paraphrases"], datasets.List)
    assert features["paraphrases"].feature["origins"].feature["negative"] == datasets.List(datasets.Value("string"))


def test_read_tables_reads_what_read_shard_reads(demo_run):
    shard = finished_shards(demo_run)[0]
    tables = list(read_tables(shard, batch_rows=1))
    assert len(tables) == 2
    assert [from_record(r) for t in tables for r in t.to_pylist()] == list(read_shard(shard))


def test_files_are_cut_and_numbered(demo_run, tmp_path):
    files = write(finished_shards(demo_run), tmp_path / "out", max_rows_per_file=2)
    assert [path.name for path in files["pairs"]["train"]] == [f"train-{i:05d}-of-00003.parquet" for i in range(3)]
    assert [pq.read_metadata(path).num_rows for path in files["pairs"]["train"]] == [2, 2, 1]
    assert list(files["references"]) == ["train", "validation", "test"]
    assert sorted(p for p in (tmp_path / "out").rglob("*") if p.is_file()) == sorted(
        path for splits in files.values() for paths in splits.values() for path in paths
    )


@pytest.mark.parametrize("limit", ["ROW_GROUP_ROWS", "ROW_GROUP_BYTES"])
def test_small_row_groups_hold_the_same_rows(demo_run, tmp_path, monkeypatch, limit):
    monkeypatch.setattr(parquet, limit, 1)
    first = write(finished_shards(demo_run), tmp_path / "one")["pairs"]["train"]
    monkeypatch.undo()
    second = write(finished_shards(demo_run), tmp_path / "other")["pairs"]["train"]
    assert pq.read_metadata(first[0]).num_row_groups == 2
    assert pq.read_table(first[0]).equals(pq.read_table(second[0]))


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "wanted a record in JSON, got .*inputs.json, which is damaged"),
        ('{"shards": 3, "ro', "wanted a record in JSON, got .*inputs.json, which is damaged"),
        ("\udcff", "wanted a record in JSON, got .*inputs.json, which is damaged"),
        ("[3]", "wanted a record in JSON, got .*inputs.json, which holds no"),
        ('{"shards": "3", "rows": 5, "refused": {}}', "wanted shards, rows and refused in .*inputs.json"),
        ('{"shards": 3, "rows": 5, "refused": 4}', "wanted shards, rows and refused in .*inputs.json"),
        ("{}", "wanted shards, rows and refused in .*inputs.json"),
    ],
)
def test_a_damaged_record_of_inputs_is_one_line(demo_run, content, message):
    (demo_run / "inputs.json").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=message) as error:
        finished_shards(demo_run)
    assert "\n" not in str(error.value) and str(error.value).endswith("finished shards are kept")


def test_max_rows_per_file_must_be_positive(demo_run, tmp_path):
    with pytest.raises(ValueError, match="wanted max_rows_per_file of at least 1, got 0"):
        write(finished_shards(demo_run), tmp_path / "out", max_rows_per_file=0)


def test_an_unknown_split_is_refused(demo_run):
    rows = all_rows(demo_run)
    rows[0].split = "dev"
    with pytest.raises(ValueError, match=r"wanted splits train, validation, test, got .'dev'."):
        splits_in(to_table(rows))


def test_a_run_that_is_not_finished_is_refused(demo_run):
    (demo_run / "rows-00001.parquet").unlink()
    with pytest.raises(ValueError, match=r"got 2 .rows-00001.parquet is missing.: run the same command again"):
        finished_shards(demo_run)


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"wanted a run's folder with inputs.json"):
        finished_shards(tmp_path)


def test_a_broken_shard_is_named(demo_run):
    shard = finished_shards(demo_run)[0]
    shard.write_bytes(shard.read_bytes()[:100])
    with pytest.raises(
        ValueError, match=r"wanted a shard of rows, got a broken .*rows-00000.parquet \(.*: delete it, then"
    ):
        list(read_tables(shard))
    pq.write_table(pa.table({"id": ["a"]}), shard)
    with pytest.raises(ValueError, match=r"rows-00000.parquet: wanted a shard of rows, got a table without"):
        list(read_tables(shard))
