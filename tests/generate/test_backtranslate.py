"""Back-translation with a tiny translator: greedy, cleaned, and the same bytes after a kill and in two processes."""

import gzip
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from tests.tiny import ENVIRONMENT, PYTHON, ROOT, folder, killing_at, pairs, plain_model, translator, wide_translator
from toolkit.bitext.read import read_bitext
from toolkit.clean.rules import first_reasons, normal_batch
from toolkit.clean.texts import Texts
from toolkit.data.rows import Candidate, Row
from toolkit.data.shards import read_shard
from toolkit.generate.backtranslate import _back_translated, _refuse_pairs, back_translate
from toolkit.generate.merge import max_output_tokens
from toolkit.generate.monolingual import BackTranslation
from toolkit.generate.rewrite import rewrite

SCRIPT = str(ROOT / "scripts" / "backtranslate_text.py")
ENGLISH = [reference for _, reference in pairs(60)]  # of ten the tiny translator says something that ends
KILL_AT_SHARD_3 = killing_at("rows-00003.parquet")


def asked(text: Path, output: Path, **changed: object) -> BackTranslation:
    """Settings of a small run; the tiny model writes nonsense, so no rule compares the lengths of a pair."""
    settings = {
        "model": str(folder() / "en-de"), "text": [str(text)], "output": str(output), "source_lang": "de", "lang": "en",
        "shard_rows": 12, "threads": 1, "dtype": "float32", "max_length_ratio": 100.0, **changed,
    }  # fmt: skip
    return BackTranslation(**settings)


@pytest.fixture
def text(tmp_path) -> Path:
    (tmp_path / "news.txt").write_text("\n".join(ENGLISH) + "\n", encoding="utf-8")
    return tmp_path / "news.txt"


def rows(sentences: list[str]) -> list[Row]:
    return [Row(f"news-{n}", "news", None, None, one, "en", "train") for n, one in enumerate(sentences)]


@pytest.mark.slow
def test_greedy_is_a_beam_of_one_and_what_transformers_decodes(text, tmp_path):
    found = list(_back_translated(rows(ENGLISH), wide_translator("en-de"), asked(text, tmp_path / "out.tsv")))
    model, tiny = plain_model("en-de").double(), translator("en-de")
    beam_of_one = rewrite(ENGLISH, wide_translator("en-de"), beam=1)
    compared = 0
    for row, (best,) in zip(found, beam_of_one, strict=True):
        (candidate,) = row.candidates
        assert candidate.scores.forward_logprob == pytest.approx(best.scores.forward_logprob)
        ids = tiny.source.encode([row.reference])
        said = model.generate(
            input_ids=torch.tensor(ids), num_beams=1, do_sample=False, max_new_tokens=max_output_tokens(len(ids[0]))
        )
        assert tiny.target.decode([[i for i in said[0].tolist() if i != model.config.pad_token_id]]) == [best.text]
        if candidate.reason is None:
            assert candidate.text == normal(best.text)
            compared += 1
    assert [row.reference for row in found] == ENGLISH and compared > 5


def normal(text: str) -> str:
    texts = Texts.of([text])
    return normal_batch(texts, texts, asked(Path("a.txt"), Path("b.tsv")), "de", "en").source.strings[0]


def test_the_rules_for_pairs_refuse_translations(text, tmp_path):
    given = {
        "Wir  gehen – heute.": ("We go today.", None),
        "we go TODAY": ("We go today.", "same_text"),
        "Wir gehen " * 10: ("We go.", "length_ratio"),
        "我们今天去": ("We go today, friends.", "wrong_script"),
        "": ("We go today.", "empty"),
    }
    some = rows([sentence for sentence, _ in given.values()])
    for row, said in zip(some, given, strict=True):
        row.candidates = [Candidate(said, "beam")]
    settings = asked(text, tmp_path / "out.tsv", max_length_ratio=3.0)
    _refuse_pairs(some, settings, "de")
    assert [row.candidates[0].reason for row in some] == [reason for _, reason in given.values()]
    assert some[0].candidates[0].text == "Wir gehen - heute."
    _refuse_pairs([], settings, "de")


@pytest.mark.slow
def test_texts_are_read_one_after_the_other_and_cleaned(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"We go.\n\ncaf\xe9\n" + "We  stay – here.\n".encode())
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(b"1\tWe go.\n2\tThey sleep.\n"))
    pq.write_table(pa.table({"text": ["It rains.", "Привет, мир!", "word " * 300]}), tmp_path / "c.parquet")
    read = asked(tmp_path / "a.txt", tmp_path / "out.tsv")
    many = replace(read, text=[str(tmp_path / name) for name in ("a.txt", "c.parquet")])
    found = {row.id: (row.reference, row.reason) for row in many.input_rows()}
    assert list(found) == [f"a-{line}" for line in range(1, 8)]
    assert [text for text, reason in found.values() if not reason] == ["We go.", "We stay - here.", "It rains."]
    reasons = ["empty", "invalid_utf8", "wrong_script", "too_long"]
    assert [reason for _, reason in found.values() if reason] == reasons
    column = replace(read, text=[str(tmp_path / "b.tsv.gz")], text_column="1")
    assert [row.reference for row in column.input_rows()] == ["We go.", "They sleep."]
    twice = replace(column, text=column.text * 2)
    assert [row.reason for row in twice.input_rows()] == [None, None, "duplicate", "duplicate"]
    assert [row.id for row in replace(twice, limit=3).input_rows()] == ["b-1", "b-2", "b-3"]
    assert not list(twice.shards_dir.iterdir()), "what cleaning needed is gone"


@pytest.mark.slow
def test_a_text_becomes_pairs_that_a_training_reads(text, tmp_path, on_a_cpu):
    text.write_text(text.read_text(encoding="utf-8") + "\n" + ENGLISH[0] + "\n", encoding="utf-8")
    settings = asked(text, tmp_path / "out.tsv.gz")
    counts = back_translate(settings)
    assert counts["empty"] >= 1 and counts["duplicate"] == 1 and counts.total() == 62
    read = list(read_bitext([settings.output]))
    assert len(read) == counts["kept"] > 5 and {pair.fault for pair in read} == {None}
    sides = Texts.of([pair.source for pair in read]), Texts.of([pair.reference for pair in read])
    assert set(first_reasons(normal_batch(*sides, settings, "de", "en"), settings, [None] * len(read))) == {None}
    order = [ENGLISH.index(pair.reference) for pair in read]
    assert order == sorted(order), "in the order of the text"
    first = Path(settings.output).read_bytes()
    assert back_translate(settings) == counts and Path(settings.output).read_bytes() == first
    shards = sorted(settings.shards_dir.glob("rows-*.parquet"))
    assert len(shards) == 5 and sum(row.reason is None for path in shards for row in read_shard(path)) == 60
    with pytest.raises(ValueError, match=r"shard_rows was 12, now 6"):
        back_translate(replace(settings, shard_rows=6))
    moved = replace(settings, output=str(tmp_path / "out.parquet"))
    back_translate(moved)
    assert [pair.source for pair in read_bitext([moved.output])] == [pair.source for pair in read]


def test_no_usable_translation_is_one_error_and_no_file(text, tmp_path, on_a_cpu):
    settings = asked(text, tmp_path / "out.tsv", limit=1)
    with pytest.raises(
        ValueError, match=r"^wanted at least one usable translation, got none of 1 \({'empty': 1}\): give"
    ):
        back_translate(settings)
    assert not (tmp_path / "out.tsv").exists() and not list(tmp_path.glob(".*.tmp"))


def command(text: Path, output: Path, **changed: object) -> list[str]:
    settings = {
        "model": folder() / "en-de", "text": text, "output": output, "source_lang": "de", "lang": "en",
        "shard_rows": 8, "threads": 1, "dtype": "float32", "max_length_ratio": 100.0, **changed,
    }  # fmt: skip
    return [PYTHON, SCRIPT, *(str(part) for name, value in settings.items() for part in (f"--{name}", value))]


def launch(given: list[str], start: Path, before: str = "") -> subprocess.CompletedProcess:
    """A command in real processes; `before` is Python that each of them runs when it starts."""
    start.mkdir(exist_ok=True)
    (start / "sitecustomize.py").write_text(before)
    environment = ENVIRONMENT | {"ACCELERATE_USE_CPU": "true", "PYTHONPATH": f"{start}{os.pathsep}{ROOT}"}
    return subprocess.run(given, env=environment, capture_output=True, text=True, timeout=300)


def contents(output: Path) -> dict[str, bytes]:
    shards = sorted(output.with_name(f"{output.name}.shards").glob("*.parquet"))
    return {path.name: path.read_bytes() for path in shards} | {"": output.read_bytes()}


@pytest.mark.slow
def test_killed_and_started_again_in_two_processes_it_writes_the_same_bytes(text, tmp_path):
    whole, killed = tmp_path / "whole.tsv.gz", tmp_path / "killed.tsv.gz"
    done = launch(command(text, whole), tmp_path / "start")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{whole}: ") and " pairs of 60 lines, refused: " in done.stdout
    done = launch(command(text, killed), tmp_path / "start", KILL_AT_SHARD_3)
    assert done.returncode == -signal.SIGKILL, done.stderr
    shards = killed.with_name("killed.tsv.gz.shards")
    kept = {path: path.stat().st_mtime_ns for path in shards.glob("rows-*.parquet")}
    assert len(kept) == 3 and not killed.exists()
    done = launch(command(text, killed, processes=2), tmp_path / "start")
    assert done.returncode == 0, done.stderr
    assert contents(killed) == contents(whole) and len(contents(whole)) == 8 + 8 + 1
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "done is done"
    assert not list(shards.glob(".*.tmp")), "the killed process's temporary file is gone"
