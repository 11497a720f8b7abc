"""One table of which part knows which languages, and the refusal where a part meets another language."""

import json
import re

import pytest

import toolkit
from builders.commands.rewrite_text import Rewriting
from builders.parabank import ParaBankRun
from builders.parabank2 import ParaBank2Run
from builders.paranet import ParaNetRun
from builders.paranmt import ParaNMTRun
from tests.tiny import ROOT, folder
from toolkit.augmentation.sources import _Pairs
from toolkit.generate.keywords import STOP_WORDS, keywords
from toolkit.models.coverage import PARTS, check_language_of, covers
from toolkit.paraphraser.settings import ParaphraserTraining
from toolkit.score.guards import LANGUAGES
from toolkit.score.negation import NEGATION
from toolkit.starters import PACKAGED, STARTERS, starter
from toolkit.train.infiller_settings import InfillerTraining

BITEXT = {"bitext": ["x"], "output_dir": "new"}
TO_CHINESE = {**BITEXT, "source_lang": "en", "lang": "zh"}
TO_GERMAN = {**BITEXT, "source_lang": "en", "lang": "de"}
TEXT = {"text": ["x"], "output_dir": "new", "stop_words": "words.txt"}
OWN = {"infiller": "my/t5", "fluency_model": "my/lm", "semantic_model": "my/encoder"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ParaNMTRun(**TO_CHINESE, forward="x"), "--semantic_model for texts in zh, got starter/encoder"),
        (lambda: ParaNMTRun(**TO_GERMAN, forward="x", by="semantic"), "--semantic_model for texts in de, got starter/"),
        (
            lambda: ParaNMTRun(**TO_GERMAN, forward="x", semantic_model=str(starter("encoder"))),
            "--semantic_model for texts in de, got /.*/encoder, which knows en only: give --semantic_model a sentence",
        ),
        (lambda: ParaNetRun(**TEXT, lang="de", **OWN | {"infiller": "starter/infiller"}), "--infiller for texts in de"),
        (lambda: ParaNetRun(**TEXT, lang="fr", **OWN | {"fluency_model": "openai-community/gpt2"}), "--fluency_model"),
        (lambda: ParaNetRun(**TEXT, lang="fr", **OWN | {"semantic_model": "starter/encoder"}), "--semantic_model for"),
        (lambda: ParaNetRun(**TEXT, lang="fr"), "--infiller for texts in fr, got google-t5/t5-large, which knows en"),
        (
            lambda: ParaBank2Run(**TO_CHINESE, forward="x", backward="y", known_words="starter/de-en"),
            "--known_words for texts in zh, got starter/de-en, which knows en only: give --known_words a file of that",
        ),
        (lambda: ParaBankRun(**TO_GERMAN, forward="x", idf="my.tsv"), "a builder for texts in de, got the judgment"),
        (lambda: Rewriting(model="x", input="y", output="z", idf="starter/de-en", lang="fr"), "--idf for texts in fr"),
        (
            lambda: ParaphraserTraining(pairs=["x"], output_dir="y", base_model="starter/paraphraser", lang="de"),
            "--base_model for texts in de",
        ),
        (
            lambda: ParaphraserTraining(pairs=["x"], output_dir="y", size="starter", lang="de", syntax="link-grammar"),
            "--syntax for texts in de, got link-grammar, which knows en only: give --syntax stanza:LANGUAGE",
        ),
        (
            lambda: InfillerTraining(text=["x"], output_dir="y", base_model="starter/infiller", lang="de"),
            "--base_model for texts in de",
        ),
        (lambda: toolkit.Paraphraser(lang="zh"), "wanted model for texts in zh, got starter/paraphraser, which"),
        (lambda: toolkit.Paraphraser("my/model", lang="zh", encoder="starter/encoder"), "encoder for texts in zh, got"),
    ],
)  # fmt: skip
def test_a_part_for_another_language_is_refused_with_the_flag_to_give(make, message):
    with pytest.raises(ValueError, match=message) as error:
        make()
    assert "\n" not in str(error.value) and "only: give " in str(error.value)


@pytest.mark.parametrize(
    ("lang", "pivot"),
    [
        ("de", "firefox/de-en firefox/en-de"),
        ("fr", "firefox/fr-en firefox/en-fr"),
        ("zh", "firefox/zh-Hans-en firefox/en-zh-Hans"),
    ],
)
def test_texts_that_the_default_paraphraser_cannot_read_are_answered_with_a_command(lang, pivot):
    with pytest.raises(ValueError, match=f"two translators: parabank augment --lang {lang} --pivot {pivot}$"):
        toolkit.Paraphraser(lang=lang)


def test_what_is_known_or_belongs_to_the_user_is_accepted():
    ParaNMTRun(**TO_CHINESE, forward="x", semantic_model="my/encoder")
    ParaNMTRun(**TO_CHINESE | {"source_lang": "zh", "lang": "en"}, forward="x")
    ParaNetRun(**TEXT, lang="de", **OWN)
    ParaBank2Run(**TO_CHINESE, forward="x", backward="y", known_words="words.txt")
    ParaphraserTraining(pairs=["x"], output_dir="y", base_model="google-t5/t5-large", lang="de")


@pytest.mark.parametrize(("key", "file"), [("language", "encoder"), ("lang", "translator")])
def test_a_model_that_states_its_language_is_held_to_it(tmp_path, key, file):
    (tmp_path / file).mkdir()
    (tmp_path / file / "measured.json").write_text(json.dumps({key: "fr"}))
    check_language_of(str(tmp_path / file), "fr", "--semantic_model")
    with pytest.raises(ValueError, match=r"wanted --semantic_model for texts in zh, got .*, which knows fr only: give"):
        check_language_of(tmp_path / file, "zh", "--semantic_model")
    check_language_of(str(folder() / "de-en"), "zh", "--forward")  # it states none
    (tmp_path / file / "measured.json").write_text(json.dumps({key: "no"}))
    check_language_of(str(tmp_path / file), "nb", "--semantic_model")  # another code of it
    (tmp_path / file / "measured.json").write_text(json.dumps({key: "mul"}))
    check_language_of(str(tmp_path / file), "zh", "--semantic_model")  # a group


def test_a_parabank_of_another_language_gets_no_cosine(tmp_path, monkeypatch):
    (tmp_path / "parabank.json").write_text(json.dumps({"settings": {"lang": "zh"}}))
    with pytest.raises(ValueError, match=r"wanted pairs in en, got .*, which is in zh: give --lang zh"):
        _Pairs(tmp_path, None, lang="en")
    (tmp_path / "pairs.tsv").write_text("你好\t您好\n", encoding="utf-8")
    monkeypatch.setattr("toolkit.augmentation.sources.language_of", lambda pairs, lang: "zh")
    assert _Pairs(tmp_path / "pairs.tsv", None).encoder is None


def test_the_table_is_what_the_code_has():
    assert set(NEGATION) == set(LANGUAGES) == set(PARTS["the guards"].languages)
    assert keywords("the dog", STOP_WORDS) and covers("the stop words", "en") and not covers("the stop words", "de")
    for name in ("paraphraser", "infiller", "de-en", "en-de", "encoder"):
        figures = json.loads((STARTERS / name / "measured.json").read_text(encoding="utf-8"))
        assert PARTS[f"starter/{name}"].languages == (figures.get("lang") or figures["language"],)
    starters = {name.removeprefix("starter/") for name in PARTS if name.startswith("starter/")}
    assert {p.parent.name for p in STARTERS.glob("*/measured.json")} == starters - set(PACKAGED)
    defaults = {f.default for f in ParaNetRun.__dataclass_fields__.values() if isinstance(f.default, str)}
    assert {"google-t5/t5-large", "openai-community/gpt2", "starter/encoder"} <= defaults & set(PARTS)


def test_the_page_shows_the_table():
    page = (ROOT / "docs" / "guides" / "languages.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `?([^|`]+?)`? \| ([a-z]{2}(?:, [a-z]{2})*) \|", page, re.M))
    assert rows == {name: ", ".join(part.languages) for name, part in PARTS.items()}
