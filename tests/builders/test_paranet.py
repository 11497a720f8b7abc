"""ParaNet from running text to a data set, with the starters; killed, started again, and in two processes."""

import dataclasses
import importlib.util
import json
import math
import os
import re
import subprocess

import datasets
import pytest

from builders.commands.build_parabank import BUILDERS
from builders.filter import RANKINGS, Filter, filter_parabank
from builders.paranet import ParaNetRun, build
from tests.conftest import drawing
from tests.run.test_shard_runs import ALONE, KILL_AT_SHARD_3, ranks
from tests.score.test_bertscore import save_encoder
from tests.tiny import DEMO, ENVIRONMENT, ROOT
from toolkit.data.shards import read_shard
from toolkit.generate.keywords import keywords
from toolkit.score.comprehensive import Weights, comprehensive
from toolkit.score.diversity import diversity
from toolkit.select.rank import rank_by_ranking
from toolkit.system.outputs import LOCK

SENTENCES = [line.split("\t")[1] for line in DEMO.read_text(encoding="utf-8").splitlines()]


pytestmark = pytest.mark.usefixtures("on_a_cpu")


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    """Two books of the demo's sentences, one with wrapped lines, and a sentence that is in both."""
    folder = tmp_path_factory.mktemp("books")
    (folder / "one.txt").write_text(" ".join(SENTENCES[:20]) + "\n" + " ".join(SENTENCES[20:40]) + "\n")
    (folder / "two.txt").write_text("\n".join(SENTENCES[40:80] + SENTENCES[:1]))
    return folder


@pytest.fixture(scope="module")
def settings(books):
    def run(output, **changed):
        models = {"lang": "en", "infiller": "starter/infiller", "fluency_model": "starter/infiller", "dtype": "float32"}
        sizes = {"min_chars": 30, "shard_rows": 15, "permutations": 4, "beam": 2, "context": 80, "threads": 1}
        return ParaNetRun(text=[str(books)], output_dir=str(output), **{**models, **sizes, **changed})

    return run


@pytest.fixture(scope="module")
def parabank(settings, tmp_path_factory):
    output = tmp_path_factory.mktemp("paranet") / "bank"
    with drawing():
        build(settings(output))
    return output


def rows_of(output):
    shards = sorted(output.with_name(output.name + ".shards").glob("rows-*"))
    return [row for shard in shards for row in read_shard(shard)]


def contents(*folders):
    files = ((f, p) for f in folders for p in f.rglob("*") if p.is_file() and p.name != LOCK)
    return {p.relative_to(f): p.read_bytes() for f, p in files}


def test_references_have_their_context_and_no_source(parabank):
    rows = rows_of(parabank)
    assert {row.reference for row in rows} <= set(SENTENCES) and len(rows) > 50
    assert [row.id for row in rows if row.reason == "duplicate"] == ["two-41"]
    assert all(row.source is None is row.source_lang for row in rows)
    by_id = {row.id: row for row in rows}
    assert by_id["one-2"].context_before == SENTENCES[0] and by_id["one-2"].context_after.startswith(SENTENCES[2][:40])


def test_every_candidate_says_the_keywords_of_its_orders(parabank):
    origin_count = 0
    for row in rows_of(parabank):
        words = {keyword.text for keyword in keywords(row.reference)}
        for candidate in row.candidates:
            assert candidate.method == "infill" and sum(1 for _ in candidate.origins) <= candidate.draws <= 4
            for origin in candidate.origins:
                assert set(origin.positive) <= words and origin.unmet == []
                assert all(word.lower() in candidate.text.lower() for word in origin.positive)
                origin_count += 1
    assert origin_count > 150


def test_the_best_sum_of_three_scores_is_the_paraphrase(parabank):
    ranked = 0
    for row in rows_of(parabank):
        candidates = [c for c in row.candidates if c.reason in (None, "rank")]
        for candidate in candidates:
            scores = candidate.scores
            assert -1 <= scores.semantic <= 1 and scores.fluency <= 0 and 0 <= scores.diversity <= 1
            assert scores.diversity == diversity(row.reference, candidate.text)
            assert scores.ranking == comprehensive(scores, Weights(4.0, 8.0, 1.2))
        if candidates:
            (best,) = row.paraphrases
            assert best.scores.ranking == max(candidate.scores.ranking for candidate in candidates)
            ranked += len(candidates) > 1
        assert all(re.sub(r"\W", "", c.text.lower()) != re.sub(r"\W", "", row.reference.lower()) for c in candidates)
    assert ranked > 30, "nothing would be compared"


def test_the_data_set_loads_with_its_scores_and_context(parabank):
    splits = datasets.load_dataset(str(parabank), "pairs", cache_dir=str(parabank.parent / "cache"))
    published = {(p["id"], p["sentence2"]): p for split in splits.values() for p in split}
    expected = {(row.id, c.text): (row, c) for row in rows_of(parabank) for c in row.paraphrases}
    assert published.keys() == expected.keys() and len(expected) > 40
    for key, pair in published.items():
        row, candidate = expected[key]
        assert pair["sentence1"] == row.reference and pair["context_before"] == row.context_before
        for score in ("semantic", "fluency", "diversity", "ranking"):
            assert pair[score] == getattr(candidate.scores, score)
        assert pair["source"] is None and pair["origins"][0]["positive"]


def test_the_card_says_what_was_measured_and_how(parabank):
    card, statistics = (parabank / "README.md").read_text(), json.loads((parabank / "statistics.json").read_text())
    total = statistics["total"]
    assert f"| pairs | {total['pairs']} |" in card and f"became {total['references']} references" in card
    assert "machine-translated" not in card and "sentences that were drawn" in card
    assert "| `duplicate`: the same text before | 1 |" in card
    assert "| ranking | equation 3 | 4 semantic + 8 / perplexity + 1.2 diversity\\|v:1.0.0 |" in card
    assert "| infiller | starter/infiller |" in card and "nats per token\\|starter/infiller\\|" in card
    assert "{{" not in card and "Undefined" not in card and str(parabank.parent) not in card
    assert set(statistics["scores"]) >= {"semantic", "fluency", "diversity"}
    for picture in ("funnel", "scores", "lengths"):
        assert (parabank / "assets" / f"{picture}.png").stat().st_size > 5000


@pytest.mark.slow
def test_killed_and_started_again_it_makes_the_same_bytes(settings, tmp_path):
    run = settings(tmp_path / "bank", references=30, shard_rows=6)
    build(run)
    before = contents(tmp_path / "bank", tmp_path / "bank.shards")
    for lost in ("rows-00001.parquet", "rows-00003.parquet"):
        (tmp_path / "bank.shards" / lost).unlink()
    build(run)
    assert contents(tmp_path / "bank", tmp_path / "bank.shards") == before


@pytest.mark.slow
def test_two_processes_one_of_them_killed_make_the_same_bytes(settings, tmp_path):
    fields = dataclasses.asdict(settings(tmp_path, references=36, shard_rows=5))
    options = {key: value for key, value in fields.items() if value not in (None, [], True, False) and key != "text"}

    def launched(program, output, before=""):
        (tmp_path / "sitecustomize.py").write_text(before)
        environment = ENVIRONMENT | {"ACCELERATE_USE_CPU": "true", "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
        flags = [f"--{key}={value}" for key, value in (options | {"output_dir": output}).items()]
        command = [*program, "paranet", "--text", *fields["text"], *flags]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)

    alone, two = tmp_path / "alone" / "bank", tmp_path / "two" / "bank"
    assert launched(ALONE, alone).returncode == 0
    assert launched(ranks(2), two, KILL_AT_SHARD_3).returncode != 0
    assert not (two / "README.md").exists()
    process = launched(ranks(2), two)
    assert process.returncode == 0, process.stderr
    assert contents(alone) == contents(two) and len(contents(alone)) > 5
    shards = [contents(output.with_name("bank.shards")) for output in (alone, two)]
    parquet = [{path: data for path, data in files.items() if path.suffix == ".parquet"} for files in shards]
    assert parquet[0] == parquet[1] and len(parquet[0]) > 6


@pytest.mark.slow
def test_fitted_weights_are_those_of_the_first_candidates(settings, tmp_path):
    figures = build(settings(tmp_path / "bank", fit_weights=True, references=20))
    card = (tmp_path / "bank" / "README.md").read_text()
    match = re.search(r"\| ranking \| fitted \| (\S+) semantic \+ (\S+) / perplexity \+ (\S+) diversity", card)
    weights = Weights(*map(float, match.groups()))
    assert figures["total"]["pairs"] and weights != Weights()
    candidates = [c for row in rows_of(tmp_path / "bank") for c in row.candidates if c.scores.ranking is not None]
    assert all(c.scores.ranking == pytest.approx(comprehensive(c.scores, weights)) for c in candidates)
    spreads = [[c.scores.semantic for c in candidates], [math.exp(c.scores.fluency) for c in candidates]]
    for weight, values in zip(weights, spreads, strict=False):  # all 20 references were among the first
        mean = sum(values) / len(values)
        assert weight == pytest.approx(1 / math.sqrt(sum((v - mean) ** 2 for v in values) / len(values)), rel=6e-3)


@pytest.mark.slow
def test_bertscore_by_any_encoder(settings, tmp_path):
    encoder = tmp_path / "bert"
    save_encoder(encoder, SENTENCES)
    run = settings(tmp_path / "bank", references=6, semantic="bertscore", semantic_model=str(encoder))
    assert build(run)["total"]["pairs"]
    assert "BERTScore\\|encoder:bert\\|layer:-1" in (tmp_path / "bank" / "README.md").read_text()


@pytest.mark.slow
def test_guards_refuse_and_the_next_best_takes_the_place(settings, parabank, tmp_path):
    build(settings(tmp_path / "bank", references=40, guards=["negation", "number", "name"]))
    guarded = [row for row in rows_of(tmp_path / "bank") if row.candidates]
    free = {row.id: row for row in rows_of(parabank)}
    reasons = {c.reason for row in guarded for c in row.candidates}
    assert reasons & {"negation", "number", "name"}
    for row in guarded:
        texts = {c.text for c in row.candidates if c.reason in (None, "rank")}
        assert texts <= {c.text for c in free[row.id].candidates if c.reason in (None, "rank")}


@pytest.mark.slow
def test_a_filter_chooses_again_by_its_scores(parabank, tmp_path):
    condition = "semantic > 0.5 and fluency > -9 and diversity > 0.1 and ranking > 0"
    figures = filter_parabank(Filter(parabank=parabank, output_dir=tmp_path / "strict", where=condition))
    scores = [c.scores for row in rows_of(tmp_path / "strict") for c in row.paraphrases]
    assert 0 < figures["total"]["pairs"] == len(scores)
    assert all(s.semantic > 0.5 and s.fluency > -9 and s.diversity > 0.1 for s in scores)
    strict_texts = {row.id: row.paraphrases[0].text for row in rows_of(tmp_path / "strict") if row.paraphrases}
    texts = {row.id: row.paraphrases[0].text for row in rows_of(parabank) if row.paraphrases}
    assert RANKINGS.keys() == BUILDERS.keys(), "every builder can be filtered"
    assert (
        sum(strict_texts[row_id] == texts[row_id] for row_id in strict_texts) > 0
        and "piece" in (tmp_path / "strict" / "README.md").read_text()
    )


def test_the_ranking_can_be_asked_again(parabank):
    row = next(row for row in rows_of(parabank) if sum(c.reason == "rank" for c in row.candidates) > 1)
    for candidate in row.candidates:
        candidate.rank, candidate.reason = None, None if candidate.reason == "rank" else candidate.reason
    (result,) = rank_by_ranking([row], 2)
    assert [c.rank for c in result.paraphrases] == [0, 1]


@pytest.mark.slow
def test_the_command_line_knows_it(settings, tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("build_parabank", ROOT / "scripts" / "build_parabank.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    fields = dataclasses.asdict(settings(tmp_path / "bank", references=5))
    flags = [
        f"--{key}={value}" for key, value in fields.items() if value not in (None, [], True, False) and key != "text"
    ]
    assert script.main(["paranet", "--text", *fields["text"], *flags]) == 0
    assert "pairs of 5 references" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"lang": "zh"}, "wanted a language that is written with spaces, got zh"),
        ({"lang": "de"}, "wanted --stop_words for de, got none: give a file with one word per line"),
        ({"permutations": 0}, "wanted permutations of at least 1, got 0"),
        ({"permutations": 10**6}, "wanted permutations of at most 1,000"),
        ({"drop_rate": 1.5}, r"wanted drop_rate in \[0, 1\], got 1.5"),
        ({"fluency_weight": math.nan}, "wanted fluency_weight in"),
        ({"semantic": "bleu"}, "wanted semantic of cosine, bertscore, got 'bleu'"),
        ({"jaccard": "index"}, "wanted jaccard of distance, similarity, got 'index'"),
        ({"beam": 0}, "wanted beam of at least 1, got 0"),
    ],
)
def test_settings_out_of_range_are_one_line(settings, tmp_path, changed, message):
    with pytest.raises(ValueError, match=message):
        settings(tmp_path, **changed)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"min_chars": 900, "max_chars": 901},
            "wanted sentences of 900 to 901 characters with a mark at their end, got none in",
        ),
        ({"infiller": "starter/de-en"}, "wanted a T5-type model as infiller, got 'starter/de-en', which is marian"),
        ({"infiller": "nobody/t5"}, "wanted a .*, got 'nobody/t5'"),
        ({"fluency_model": "starter/encoder"}, "wanted a causal language model or an infiller, got 'starter/encoder'"),
        ({"wordnet": "README.md"}, "wanted UTF-8 lines of synonyms with tabs between them"),
        ({"lang": "fr", "stop_words": "README.md"}, "wanted --infiller for texts in fr, got starter/infiller"),
    ],
)
def test_what_cannot_be_used_is_one_line(settings, tmp_path, monkeypatch, changed, message):
    monkeypatch.chdir(ROOT)
    with pytest.raises(ValueError, match=message):
        build(settings(tmp_path / "bank", **changed))
    assert not list(tmp_path.rglob("*.parquet"))
