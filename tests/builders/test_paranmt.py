"""ParaNMT from a bitext to a data set, with tiny models; chosen anew, killed, and started again."""

import contextlib
import importlib.util
import json
import math
import re
import shutil

import datasets
import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers

from builders.paranmt import ParaNMT, ParaNMTRun, build, paranmt
from tests.tiny import DEMO, ROOT, folder, pairs, wide_translator
from toolkit.data.rows import Row
from toolkit.data.shards import read_shard
from toolkit.encoder.load import load_encoder
from toolkit.run import mirror
from toolkit.score.overlap import trigram_overlap
from toolkit.system.outputs import LOCK
from toolkit.system.urls import below

pytestmark = pytest.mark.usefixtures("on_a_cpu")


@pytest.fixture(scope="module")
def encoder_path(tmp_path_factory):
    """An encoder of characters: the mean of a random vector for each."""
    characters = ["[UNK]", *sorted({c for pair in pairs(320) for c in pair[1]} - {" "})]
    tokenizer = Tokenizer(models.WordLevel({c: n for n, c in enumerate(characters)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    vectors = np.random.default_rng(0).normal(size=(len(characters), 8)).astype(np.float32)
    path = tmp_path_factory.mktemp("encoders") / "characters"
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=vectors)], device="cpu").save(str(path))
    return path


@pytest.fixture(scope="module")
def settings(encoder_path):
    def run(output, **changed):
        source = {"bitext": [str(DEMO)], "source_lang": "de", "lang": "en", "limit": 40, "shard_rows": 12, "threads": 1}
        models = {"forward": str(folder() / "de-en"), "semantic_model": str(encoder_path), "dtype": "float32"}
        return ParaNMTRun(**{**source, **models, "output_dir": str(output), "beam": 3, "batch_rows": 30, **changed})

    return run


def contents(*folders):
    files = ((f, p) for f in folders for p in f.rglob("*") if p.is_file() and p.name != LOCK)
    return {p.relative_to(f): p.read_bytes() for f, p in files}


def pairs_of(output):
    return datasets.load_dataset(str(output), "pairs", cache_dir=str(output.parent / "cache"))


@pytest.fixture(scope="module")
def parabank(settings, tmp_path_factory):
    """A run of 40 lines in four shards, all of it packaged."""
    output = tmp_path_factory.mktemp("paranmt") / "bank"
    build(settings(output))
    return output


def test_every_translation_is_a_pair_with_three_scores(parabank):
    shards = sorted((parabank.parent / "bank.shards").glob("rows-*"))
    rows = [row for shard in shards for row in read_shard(shard)]
    assert len(shards) == 4 and [(row.source, row.reference) for row in rows] == pairs(40)
    assert all(len(row.candidates) == 1 for row in rows)
    candidates = [row.candidates[0] for row in rows]
    assert all((c.rank == 0) == (c.reason is None) and c.method == "beam" for c in candidates)
    assert sum(c.rank == 0 for c in candidates) > 10, "nothing would be compared"
    for row, candidate in ((row, row.candidates[0]) for row in rows if row.paraphrases):
        assert candidate.scores.trigram_overlap == trigram_overlap(row.reference, candidate.text)
        assert -1 <= candidate.scores.semantic <= 1 and candidate.scores.translation_score <= 0
    published = [pair for split in pairs_of(parabank).values() for pair in split]
    expected = {(r.id, r.reference, c.text, c.scores.semantic) for r in rows for c in r.paraphrases}
    assert {(p["id"], p["sentence1"], p["sentence2"], p["semantic"]) for p in published} == expected


def test_the_card_says_what_was_measured(parabank):
    card, statistics = (parabank / "README.md").read_text(), json.loads((parabank / "statistics.json").read_text())
    table = statistics["paraphrase_scores"]
    assert sum(line["candidates"] for line in table) == statistics["total"]["pairs"]
    assert sum(line["paraphrases"] for line in table) == statistics["total"]["pairs"]
    assert len(re.findall(r"^\| above .* M \| 0\.\d\d ± 0\.\d \|$", card, re.MULTILINE)) == 5
    assert "| above 0.8 up to 1.0 |" in card and "| 18.0 M | 0.35 ± 0.2 |" in card
    assert "| chosen by | nothing: every translation is here |" in card
    assert "cosine\\|encoder:characters\\|" in card and "| paraphrase score | characters | - |" in card
    assert "{{" not in card and "Undefined" not in card and str(parabank.parent) not in card
    assert "| forward | de-en | not known |" in card


def test_tables_of_the_card_have_as_many_cells_as_their_heads(parabank):
    lines = (parabank / "README.md").read_text().replace("\\|", "").splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith("|-")]
    assert len(heads) == 12
    for start in heads:
        end = next(i for i in range(start, len(lines)) if not lines[i].startswith("|"))
        assert {line.count("|") for line in lines[start - 1 : end]} == {lines[start].count("|")}, lines[start - 1]
        assert not lines[start - 2].startswith("|") and end > start + 1


def test_another_part_is_chosen_without_another_translation(parabank, settings, tmp_path):
    output, run = tmp_path / "part", tmp_path / "part.shards"
    shutil.copytree(parabank.with_name("bank.shards"), run)
    times = {p: p.stat().st_mtime_ns for p in run.glob("*.parquet")}
    figures = build(settings(output, by="translation_score", deciles="10,9", sample=2, max_tokens=200))
    assert {p: p.stat().st_mtime_ns for p in run.glob("*.parquet")} == times
    rows = [row for shard in sorted(run.glob("rows-*")) for row in read_shard(shard)]
    scores = sorted(c.scores.translation_score for row in rows for c in row.paraphrases)
    top = scores[math.ceil(0.8 * len(scores))]
    published = [pair for split in pairs_of(output).values() for pair in split]
    assert len(published) == 2 == figures["total"]["pairs"]
    assert all(pair["forward_logprob"] / pair["forward_tokens"] >= top for pair in published)
    refused = figures["candidates"]["refused"]
    assert refused["decile"] + refused["not_sampled"] + 2 == len(scores)
    card = (output / "README.md").read_text()
    assert (
        "| chosen by | translation_score, deciles 10,9 (10 is the highest), at most 200 tokens, at most 2 pairs |"
        in card
    )
    assert "| `sample` | 2 |" in card and f"| `decile`: in a decile that was not chosen | {refused['decile']} |" in card


@pytest.mark.slow
def test_a_choice_that_replaces_another_says_so(parabank, settings, tmp_path, capsys):
    output, run = tmp_path / "part", tmp_path / "part.shards"
    shutil.copytree(parabank.with_name("bank.shards"), run)
    build(settings(output))
    assert "replaces" not in capsys.readouterr().err
    build(settings(output, by="semantic", deciles="6,7,8,9,10"))
    assert f"{output}: this choice replaces the parabank that was there" in capsys.readouterr().err
    build(settings(output, by="semantic", deciles="6,7,8,9,10"))
    assert "replaces" not in capsys.readouterr().err, "the same choice again"


@pytest.mark.slow
def test_killed_and_started_again_it_makes_the_same_bytes(settings, tmp_path):
    run = settings(tmp_path / "bank", limit=20, shard_rows=7, by="semantic", deciles="6,7,8,9,10")
    shards = tmp_path / "bank.shards"
    build(run)
    before = contents(tmp_path / "bank", shards)
    (part,) = shards.glob("chosen-*")
    assert len(list(part.glob("rows-*"))) == 3
    for lost in ("rows-00001.parquet", f"{part.name}/rows-00002.parquet", f"{part.name}/cut.json"):
        (shards / lost).unlink()
    build(run)
    assert contents(tmp_path / "bank", shards) == before
    build(settings(tmp_path / "bank", limit=20, shard_rows=7))
    assert {p: b for p, b in contents(shards).items() if p.name != "settings.json"} == {
        p: b for p, b in before.items() if (shards / p).is_file() and p.name != "settings.json"
    }
    build(run)
    assert contents(tmp_path / "bank", shards) == before


@pytest.mark.slow
@pytest.mark.parametrize("heals", [True, False])
def test_a_bucket_that_is_away_while_shards_are_made_gets_them_before_packaging(
    settings, tmp_path, monkeypatch, capsys, heals
):
    """Shard 1 cannot be sent when it is finished, so shard 2 is not tried then; both are sent before packaging."""
    monkeypatch.setenv("PARABANK_CACHE", str(tmp_path / "cache"))
    send, send_together = mirror.send, mirror.send_together

    def lost(path, url):
        if path.name == "rows-00001.parquet":
            raise OSError("the bucket is away")
        send(path, url)

    def together(urls):
        for url, path in urls.items():
            if not heals:
                lost(path, url)
        send_together(urls)

    monkeypatch.setattr(mirror, "send", lost)
    monkeypatch.setattr(mirror, "send_together", together)
    url = f"file://{tmp_path}/bucket/bank"
    with contextlib.nullcontext() if heals else pytest.raises(OSError, match="the bucket is away"):
        build(settings(url, limit=20, shard_rows=7))
    assert "rows-00001.parquet: not sent yet, the run goes on: the bucket is away\n" in capsys.readouterr().err
    names = [name for name in below(f"{url}.shards") if name.startswith("rows-")]
    assert names == [f"rows-{n:05d}.parquet" for n in range(3) if heals or n == 0]
    assert ("parabank.json" in below(url)) == heals


@pytest.mark.slow
def test_shards_and_batches_change_no_text(settings):
    def texts(beam_rows, *parts):
        encoder, knobs = load_encoder(settings("x").semantic_model), ParaNMT(beam=3, batch_rows=beam_rows)
        rows = [Row(f"d-{n}", "d", s, "de", r, "en", "train") for n, (s, r) in enumerate(pairs(12))]
        cuts = [rows[part] for part in parts]
        return [
            c.text
            for cut in cuts
            for row in paranmt(cut, wide_translator("de-en"), encoder, knobs)
            for c in row.candidates
        ]

    assert texts(300, slice(None)) == texts(3, slice(0, 5), slice(5, None))


def test_other_settings_of_the_run_are_still_refused(parabank, settings):
    with pytest.raises(ValueError, match="beam was 3, now 4"):
        build(settings(parabank, beam=4))


def test_bad_settings_are_one_line(settings, tmp_path):
    with pytest.raises(ValueError, match="wanted beam of at least 1, got 0"):
        settings(tmp_path, beam=0)
    with pytest.raises(ValueError, match="wanted by as"):
        settings(tmp_path, by="length")
    with pytest.raises(ValueError, match="wanted deciles as"):
        settings(tmp_path, deciles="11")
    with pytest.raises(ValueError, match="wanted shard_rows"):
        settings(tmp_path, shard_rows=0)


@pytest.mark.slow
def test_the_command_line_knows_it(settings, tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("build_parabank", ROOT / "scripts" / "build_parabank.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    fields = vars(settings(tmp_path / "bank", limit=6)) | {"by": "semantic", "deciles": "1,2,3,4,5,6,7,8,9,10"}
    flags = [f"--{key}={value}" for key, value in fields.items() if value not in (None, []) and key != "bitext"]
    ours = [flag.replace("=True", "").replace("=False", "") for flag in flags if not flag.endswith("=False")]
    assert script.main(["paranmt", "--bitext", str(DEMO), *ours]) == 0
    assert "pairs of" in capsys.readouterr().out
    assert script.main(["paranmt", "--bitext", str(DEMO), *ours, "--semantic_model", "starter/encoder"]) == 1
    assert "semantic_model was" in capsys.readouterr().err
