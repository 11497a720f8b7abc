"""A new version of a parabank by a condition: the script, its card and its shards."""

import json
import re
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from builders.commands.filter_parabank import main
from builders.filter import Filter, filter_parabank, parse_ranks
from builders.parabank2 import ParaBank2Run, build
from tests.cross_encoders import saved_cross_encoder
from tests.tiny import DEMO, folder
from toolkit.data.shards import read_shard
from toolkit.package.load import load_parabank
from toolkit.system.lock import held
from toolkit.system.processes import processes

LIMITS = {"constraint_sets": 2, "samples_per_set": 6, "clusters": 4, "paraphrases": 3, "max_dual_nll": 30.0}


@pytest.fixture(scope="module")
def parabank(tmp_path_factory):
    """A parabank of thirty references by tiny translators."""
    output = tmp_path_factory.mktemp("made") / "bank"
    models = {"forward": str(folder() / "de-en"), "backward": str(folder() / "en-de"), "dtype": "float32"}
    source = {"bitext": [str(DEMO)], "source_lang": "de", "lang": "en", "limit": 30, "shard_rows": 12, "threads": 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACCELERATE_USE_CPU", "true")
        build(ParaBank2Run(**source, **models, **LIMITS, output_dir=str(output)))
    return output


def scores(parabank):
    """The dual score of every pair."""
    table = load_parabank(parabank, split="train").with_format("arrow")[:]
    parts = [pc.divide(table[f"{side}_logprob"], table[f"{side}_tokens"]) for side in ("forward", "backward")]
    return sorted(pc.add(*parts).to_pylist())


def limit_of(parabank):
    """A threshold that a third of the pairs does not reach."""
    values = scores(parabank)
    return values[len(values) // 3]


@pytest.mark.slow
def test_the_new_version_meets_the_condition(parabank, tmp_path, capsys):
    limit = limit_of(parabank)
    flags = [str(parabank), "--where", f"dual > {limit!r}", "--ranks", "1-2", "--output_dir", str(tmp_path / "strict")]
    assert main(flags) == 0
    stdout = capsys.readouterr().out
    assert scores(tmp_path / "strict")[0] > limit
    assert load_parabank(tmp_path / "strict").num_rows["train"] < load_parabank(parabank).num_rows["train"]
    manifest = json.loads((tmp_path / "strict" / "parabank.json").read_text())
    old = json.loads((parabank / "parabank.json").read_text())
    assert (manifest["version"], manifest["name"]) == ("1.1.0", "strict")
    assert (manifest["models"], manifest["license"]) == (old["models"], old["license"])
    assert (manifest["settings"]["where"], manifest["settings"]["ranks"]) == (f"(dual > {limit!r})", "1-2")
    figures = json.loads((tmp_path / "strict" / "statistics.json").read_text())
    assert figures["candidates"]["refused"]["where"] == int(re.search(r"conditions: ([\d,]+)", stdout)[1])
    assert (
        figures["total"]["candidates"] == json.loads((parabank / "statistics.json").read_text())["total"]["candidates"]
    )
    card = (tmp_path / "strict" / "README.md").read_text()
    assert f"| `where` | (dual > {limit!r}) |" in card and "| `where`: " in card
    ranks = set(load_parabank(tmp_path / "strict", split="train")["rank"])
    assert ranks == {0, 1}


@pytest.mark.slow
def test_it_can_be_filtered_again(parabank, tmp_path):
    limit = limit_of(parabank)
    once = filter_parabank(Filter(parabank=parabank, output_dir=tmp_path / "a", where=f"dual > {limit!r}", ranks="1-2"))
    filter_parabank(Filter(parabank=parabank, output_dir=tmp_path / "b", where=f"dual > {limit!r}"))
    twice = filter_parabank(Filter(parabank=tmp_path / "b", output_dir=tmp_path / "c", ranks="1-2"))
    filter_parabank(Filter(parabank=tmp_path / "a", output_dir=tmp_path / "d", where="draws < 100"))
    assert load_parabank(tmp_path / "d").num_rows == load_parabank(tmp_path / "a").num_rows
    assert once["total"] == twice["total"]
    for split in ("train", "validation", "test"):
        for name in (tmp_path / "a" / "data").rglob(f"{split}-*.parquet"):
            assert name.read_bytes() == (tmp_path / "c" / name.relative_to(tmp_path / "a")).read_bytes()


@pytest.mark.slow
def test_a_condition_that_all_meet_gives_the_same_parabank(parabank, tmp_path):
    filter_parabank(Filter(parabank=parabank, output_dir=tmp_path / "same", where="true", version="1.0.0"))
    for name in (parabank / "data").rglob("*.parquet"):
        assert name.read_bytes() == (tmp_path / "same" / name.relative_to(parabank)).read_bytes()
    figures = [json.loads((path / "statistics.json").read_text()) for path in (parabank, tmp_path / "same")]
    assert figures[0] == figures[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "choice",
    [
        {"best_share": 0.3},
        {"best_share": 1.0, "one_per_reference": True},
        {"best_share": 1.0, "max_similarity": 0.3},
        {"best_share": 0.6, "ranks": "2-3"},
    ],
)
def test_a_condition_that_all_meet_leaves_a_choice_over_the_corpus(parabank, tmp_path, choice):
    filter_parabank(Filter(parabank=parabank, output_dir=tmp_path / "cut", **choice))
    filter_parabank(Filter(parabank=tmp_path / "cut", output_dir=tmp_path / "same", where="dual > -99"))
    filter_parabank(Filter(parabank=tmp_path / "same", output_dir=tmp_path / "again", where="draws > 0"))
    files = sorted((tmp_path / "cut" / "data").rglob("*.parquet"))
    for name in files:
        for folder_name in ("same", "again"):
            assert name.read_bytes() == (tmp_path / folder_name / name.relative_to(tmp_path / "cut")).read_bytes()
    assert files and load_parabank(tmp_path / "cut").num_rows["train"] < load_parabank(parabank).num_rows["train"]


def test_every_kept_candidate_has_the_score_that_it_may_be_chosen_by(parabank):
    for shard in sorted(parabank.with_name("bank.shards").glob("rows-*")):
        for row in read_shard(shard):
            for candidate in row.candidates:
                if candidate.rank is not None or candidate.reason in ("cluster", "rank"):
                    assert candidate.scores.intersection_over_union is not None and candidate.scores.dual is not None


@pytest.mark.slow
def test_one_line_for_what_cannot_be(parabank, tmp_path, capsys):
    away = tmp_path / "away"
    away.mkdir()
    for path in parabank.iterdir():
        if path.is_file():
            (away / path.name).write_bytes(path.read_bytes())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    cases = [
        (tmp_path, ["--where", "dual > -2"], "wanted a packaged parabank, got .* without parabank.json"),
        (away, ["--where", "dual > -2"], "wanted the run of .*away beside it, got no .*away.shards"),
        (parabank, [], "wanted one of --where, --ranks, --best_pairs.* got none"),
        (parabank, ["--where", "semantic > 0.5"], "wanted scores that this run has measured .*got semantic"),
        (parabank, ["--where", "dul > 0.5"], "wanted scores of .* got 'dul'"),
        (parabank, ["--where", "dual > 1"], r"got none: the condition \(dual > 1\) refused \d+; make it less strict$"),
        (parabank, ["--ranks", "9-"], "wanted at least one paraphrase, got none of ranks 9-: give --ranks that some"),
        (parabank, ["--ranks", "3-1"], "wanted ranks such as 1, 1-3 or 2-, got '3-1'"),
        (parabank, ["--ranks", "1", "--version", "2"], "wanted a version MAJOR.MINOR.PATCH, got '2'"),
        (parabank, ["--ranks", "1", "--output_dir", str(parabank)], "wanted an output folder apart from the input"),
        (parabank, ["--ranks", "1", "--output_dir", str(tmp_path / "mine")], "holds files but no parabank.json"),
        (parabank, ["--min_rubric", "4"], "wanted --rubric with --min_rubric, got none"),
        (
            parabank,
            ["--ranks", "1", "--server", "https://example.org/v1"],
            "wanted --rubric, the name of a model, with",
        ),
        (parabank, ["--nli", str(away)], "wanted a cross-encoder for natural language inference, got .*away"),
    ]
    for number, (source, flags, message) in enumerate(cases):
        flags = flags if "--output_dir" in flags else [*flags, "--output_dir", str(tmp_path / f"out-{number}")]
        try:
            assert main([str(source), *flags]) == 1, flags
        except SystemExit as refused:  # before anything is read
            assert refused.code == 2
        line = capsys.readouterr().err.splitlines()[-1].replace(" error:", "")
        assert line.startswith("parabank filter parabank: ") and re.search(message, line), line
        assert not (tmp_path / f"out-{number}").exists()


@pytest.mark.slow
def test_another_choice_does_not_go_into_the_same_folder(parabank, tmp_path):
    filter_parabank(Filter(parabank=parabank, output_dir=tmp_path / "out", ranks="1"))
    with pytest.raises(ValueError, match=r"out.shards holds another choice: ranks was '1', now '2'; choose another"):
        filter_parabank(Filter(parabank=parabank, output_dir=tmp_path / "out", ranks="2"))
    filter_parabank(Filter(parabank=parabank, output_dir=tmp_path / "out", ranks="1"))


@pytest.mark.slow
def test_one_choice_at_a_time_is_made_in_a_folder(parabank, tmp_path):
    with held(tmp_path / "out.shards", processes(exchange=False)), pytest.raises(RuntimeError, match=r"out\.shards"):
        filter_parabank(Filter(parabank=parabank, output_dir=tmp_path / "out", ranks="1"))
    assert filter_parabank(Filter(parabank=parabank, output_dir=tmp_path / "out", ranks="1"))["total"]["pairs"]


@pytest.mark.slow
def test_a_choice_that_kept_nothing_gives_way_to_another(parabank, tmp_path):
    with pytest.raises(ValueError, match="got none: the condition"):
        filter_parabank(Filter(parabank=parabank, output_dir=tmp_path / "out", where="dual > 1"))
    assert filter_parabank(Filter(parabank=parabank, output_dir=tmp_path / "out", where="dual > -9"))["total"]["pairs"]
    (tmp_path / "mine.shards").mkdir()
    (tmp_path / "mine.shards" / "settings.json").write_text('{"toolkit": "0.1.0", "builder": "parabank2"}')
    with pytest.raises(ValueError, match=r"mine.shards holds another choice"):
        filter_parabank(Filter(parabank=parabank, output_dir=tmp_path / "mine", where="dual > -9"))


@pytest.mark.parametrize("ranks", ["", "0", "0-2", "a", "1-b", "-3", "2-1", "1-2-3", "1.5", "²"])
def test_ranks_that_are_none(ranks):
    with pytest.raises(ValueError, match="wanted ranks such as 1, 1-3 or 2-"):
        parse_ranks(ranks)


@pytest.mark.slow
def test_models_of_meaning_measure_the_paraphrases_once(parabank, tmp_path, monkeypatch):
    nli = saved_cross_encoder(tmp_path / "nli", longest=512)
    first = {"parabank": parabank, "nli": nli}
    filter_parabank(Filter(**first, output_dir=tmp_path / "measured"))
    table = load_parabank(tmp_path / "measured", split="train").with_format("arrow")[:]
    lesser = sorted(map(min, table["entailed"].to_pylist(), table["entails"].to_pylist()))
    assert len(table) == load_parabank(parabank).num_rows["train"] and lesser[0] < lesser[-1]
    limit = lesser[len(lesser) // 2]
    monkeypatch.setattr("toolkit.score.entailment._probabilities", None)  # nothing is measured again
    strict = filter_parabank(Filter(**first, min_entailment=limit, output_dir=tmp_path / "strict"))
    assert strict["total"]["pairs"] == sum(score >= limit for score in lesser) < len(lesser)
    record = json.loads((tmp_path / "strict" / "parabank.json").read_text())["settings"]
    assert record["where"] == f"(entailment >= {limit!r})" and record["nli"].startswith("entailment|nli|")
    figures = filter_parabank(
        Filter(parabank=tmp_path / "strict", where="entailed > entails", output_dir=tmp_path / "more")
    )
    assert 0 < figures["total"]["pairs"] < strict["total"]["pairs"], "the scores are in the new version's run, too"
    best = Filter(parabank=tmp_path / "measured", by="entailment", best_pairs=5, output_dir=tmp_path / "best")
    assert filter_parabank(best)["total"]["pairs"] == 5


@pytest.mark.slow
def test_a_measurement_that_was_ended_goes_on(parabank, tmp_path, monkeypatch):
    from toolkit.score import entailment

    nli, probabilities, calls = saved_cross_encoder(tmp_path / "nli", longest=600), entailment._probabilities, []

    def ends(pairs, model, batch_size):
        calls.append(len(pairs))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return probabilities(pairs, model, batch_size)

    monkeypatch.setattr(entailment, "_probabilities", ends)
    settings = Filter(parabank=parabank, nli=nli, where="entailed > 0", output_dir=tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        filter_parabank(settings)
    assert not (tmp_path / "out").exists()
    figures = filter_parabank(settings)
    assert len(calls) == 4 and figures["total"]["pairs"] == load_parabank(parabank).num_rows["train"], "three shards"


@pytest.mark.slow
def test_a_run_of_before_has_fewer_scores(parabank, tmp_path):
    """Shards whose candidates lack the newest fields can be filtered by those that they have."""
    old = tmp_path / "old"
    shutil.copytree(parabank, old)
    shutil.copytree(parabank.with_name("bank.shards"), tmp_path / "old.shards")
    for shard in (tmp_path / "old.shards").glob("rows-*.parquet"):
        table = pq.read_table(shard)
        column = table["candidates"].combine_chunks()
        values = pa.Table.from_struct_array(column.flatten())
        scores = pa.Table.from_struct_array(values["scores"].combine_chunks()).drop_columns(["entailed", "rubric"])
        values = values.set_column(values.column_names.index("scores"), "scores", scores.to_struct_array())
        lists = pa.ListArray.from_arrays(column.offsets, values.to_struct_array().combine_chunks())
        pq.write_table(table.set_column(table.column_names.index("candidates"), "candidates", lists), shard)
    limit = limit_of(parabank)
    new = filter_parabank(Filter(parabank=old, where=f"dual > {limit!r}", output_dir=tmp_path / "new"))
    same = filter_parabank(Filter(parabank=parabank, where=f"dual > {limit!r}", output_dir=tmp_path / "same"))
    assert new["total"] == same["total"]
    best = {"by": "dual_per_token", "best_share": 0.5}
    assert filter_parabank(Filter(parabank=old, **best, output_dir=tmp_path / "half"))["total"]["pairs"]
    with pytest.raises(ValueError, match=r"wanted scores that this run has measured .*got entailment"):
        filter_parabank(Filter(parabank=old, where="entailment > 0.5", output_dir=tmp_path / "none"))
    settings = Filter(parabank=old, nli=saved_cross_encoder(tmp_path / "nli"), output_dir=tmp_path / "measured")
    assert filter_parabank(settings)["total"]["pairs"] == load_parabank(parabank).num_rows["train"]
