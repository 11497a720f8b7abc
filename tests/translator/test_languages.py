"""ISO 639-1 against the codes of checkpoints, and translators that state other languages than the flags."""

import json
import shutil
from types import SimpleNamespace

import pytest
from transformers import T5Config
from transformers.models.m2m_100 import tokenization_m2m_100
from transformers.models.mbart50 import tokenization_mbart50
from transformers.models.nllb import tokenization_nllb

from tests import families
from tests.tiny import folder, model_of_targets
from toolkit.bitext.hub_subwords import hub_pieces
from toolkit.clean._scripts import SCRIPTS
from toolkit.translator.languages import ISO_639_3, _own_code, _target_tag, _task_prefix, check_stated
from toolkit.translator.load import load_translator

NLLB = dict.fromkeys(tokenization_nllb.FAIRSEQ_LANGUAGE_CODES, 0)
MBART50 = dict.fromkeys(tokenization_mbart50.FAIRSEQ_LANGUAGE_CODES, 0)
M2M100 = dict.fromkeys(tokenization_m2m_100.FAIRSEQ_LANGUAGE_CODES["m2m100"], 0)


def test_a_model_of_many_languages_gets_the_tag_of_the_one_that_it_writes():
    tokenizer = SimpleNamespace(get_vocab=lambda: {"<2de>": 5, "<2en>": 6, "<2zh_Latn>": 7, "a": 8})
    assert _target_tag(tokenizer, "de", "madlad") == "<2de> "
    for lang in (None, "fr"):
        with pytest.raises(ValueError, match=f"one of the 3 languages that 'madlad' has tags for, got {lang}"):
            _target_tag(tokenizer, lang, "madlad")
    assert _target_tag(SimpleNamespace(get_vocab=lambda: {"a": 8}), None, "plain") == ""


@pytest.mark.parametrize("name", [name for name in families.NAMES if name != "marian"])
def test_a_text_that_spells_a_special_token_means_its_letters(name):
    pieces = families.translator(name, "de", "en").source
    texts = [f"We {token} sleep." for token in pieces.tokenizer.all_special_tokens if "extra_id" not in token]
    specials = pieces.special - {pieces.unk}
    plain, *spelled = pieces.encode(["We sleep.", *texts])
    begin, end = len(pieces.prefix), len(plain) - len(pieces.suffix)
    assert len(texts) > 2 and not specials & set(plain[begin:end])
    for ids in spelled:
        assert ids[:begin] == plain[:begin] and ids[len(ids) - len(pieces.suffix) :] == plain[end:]
        assert not specials & set(ids[begin : len(ids) - len(pieces.suffix)])


def test_a_tokenizer_without_an_end_is_refused_in_one_line():
    with pytest.raises(ValueError, match="wanted a tokenizer with a token that ends a text, got a SimpleNamespace"):
        hub_pieces(SimpleNamespace(eos_token_id=None))


@pytest.mark.parametrize(
    ("codes", "lang", "expected"),
    [
        (MBART50, "de", "de_DE"),
        (MBART50, "en", "en_XX"),
        (MBART50, "zh", "zh_CN"),
        (M2M100, "de", "de"),
        (M2M100, "zh", "zh"),
        (NLLB, "de", "deu_Latn"),
        (NLLB, "zh", "zho_Hans"),
        (NLLB, "zho_Hant", "zho_Hant"),
        (NLLB, "fa", "pes_Arab"),
        (NLLB, "et", "est_Latn"),
        (NLLB, "sq", "als_Latn"),
    ],
)
def test_a_checkpoints_own_code(codes, lang, expected):
    assert _own_code(lang, codes, "some/model") == expected


def test_every_language_of_the_table_is_one_of_nllb():
    assert {code.split("_")[0] for code in NLLB} >= set(ISO_639_3.values())
    assert set(SCRIPTS) - set(ISO_639_3) == set(), "the languages that cleaning knows"


def test_an_unknown_language_is_one_line_with_those_that_are_known():
    with pytest.raises(
        ValueError, match=r"wanted a language that 'some/model' knows, got 'xx'; it knows af_ZA, .*_"
    ) as e:
        _own_code("xx", MBART50, "some/model")
    assert "\n" not in str(e.value) and all(code in str(e.value) for code in MBART50)


@pytest.mark.parametrize("name", families.MANY_LANGUAGES)
@pytest.mark.parametrize(("source_lang", "lang"), [("xx", "de"), ("de", "xx")])
def test_a_checkpoint_that_does_not_know_a_language(name, source_lang, lang):
    with pytest.raises(ValueError, match=r"wanted a language that .* knows, got 'xx'; it knows .*de") as error:
        load_translator(str(families.checkpoint(name)), "float32", "cpu", source_lang, lang)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", families.MANY_LANGUAGES)
def test_a_checkpoint_of_many_languages_is_told_two(name):
    with pytest.raises(
        ValueError, match=r"wanted source_lang and lang for .*, which has \d+ languages, got None and de"
    ):
        load_translator(str(families.checkpoint(name)), "float32", lang="de")


@pytest.mark.parametrize(
    ("codes", "languages", "message"),
    [
        (("en", "de"), ("de", "en"), "wanted a translator from de to en, got 'x', .*reads en and writes de.*other dir"),
        (("fr", "en"), ("de", "en"), "wanted a translator from de to en, got 'x', .*reads fr and writes en.*another"),
        (("de", "fr"), ("de", "en"), "reads de and writes fr: give another translator"),
        (("de", None), ("fr", "en"), "reads de"),
        (("no", "en"), ("sv", "en"), "reads no"),
        (("de", "en"), ("en", "en"), "wanted a model that rewrites en"),
    ],
)
def test_other_languages_than_stated(codes, languages, message):
    with pytest.raises(ValueError, match=message) as error:
        check_stated("x", codes, languages)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("codes", "languages"),
    [
        (("de", "en"), ("de", "en")),
        ((None, None), ("de", "en")),
        (("de", "en"), (None, None)),
        (("de", "en"), ("de", None)),
        (("ROMANCE", "en"), ("fr", "en")),
        (("mul", "en"), ("fr", "en")),
        (("en", "cat+oci+spa"), ("en", "ca")),
        (("no", "en"), ("nb", "en")),
        (("sh", "en"), ("hr", "en")),
        (("iw", "en"), ("he", "en")),
    ],
)
def test_languages_that_may_be_those_stated(codes, languages):
    check_stated("x", codes, languages)


def test_a_starter_is_held_against_the_languages():
    with pytest.raises(ValueError, match="wanted a translator from de to en, got 'starter/en-de', which reads en and"):
        load_translator("starter/en-de", "float32", source_lang="de", lang="en")
    load_translator("starter/en-de", "float32", source_lang="en", lang="de")


@pytest.mark.parametrize(
    ("entries", "languages", "refused"),
    [
        ({"source_lang": "fi", "target_lang": "en"}, ("fi", "en"), False),
        ({"source_lang": "fi", "target_lang": "en"}, ("de", "en"), True),
        ({"source_lang": "fi", "target_lang": "en"}, ("en", "fi"), True),
        ({"source_lang": "en", "target_lang": "ROMANCE"}, ("en", "fr"), False),
    ],
)
def test_a_marian_tokenizers_languages(tmp_path, entries, languages, refused):
    shutil.copytree(folder() / "de-en", tmp_path / "model")
    file = tmp_path / "model" / "tokenizer_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | entries))
    if refused:
        with pytest.raises(ValueError, match=f"wanted a translator from {languages[0]} to {languages[1]}.*reads fi"):
            load_translator(str(tmp_path / "model"), "float32", "cpu", *languages)
    else:
        load_translator(str(tmp_path / "model"), "float32", "cpu", *languages)


def test_a_marian_model_of_several_targets_is_not_held_to_one(tmp_path):
    model_of_targets(tmp_path / "model", ["dan", "swe"])
    file = tmp_path / "model" / "tokenizer_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"source_lang": "en", "target_lang": "sv"}))
    load_translator(str(tmp_path / "model"), "float32", "cpu", "en", "da")
    with pytest.raises(ValueError, match=r"got .*, which reads en: give"):
        load_translator(str(tmp_path / "model"), "float32", "cpu", "fr", "da")


TASKS = {
    "summarization": {"prefix": "summarize: "},
    "translation_en_to_de": {"max_length": 300, "prefix": "translate English to German: "},
}


def test_a_t5_prefix_stands_before_every_source(tmp_path):
    shutil.copytree(families.checkpoint("t5"), tmp_path / "model")
    file = tmp_path / "model" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"task_specific_params": TASKS}))
    translator = load_translator(str(tmp_path / "model"), "float32", "cpu", "en", "de")
    plain = families.translator("t5", "en", "de")
    assert translator.source.encode(["Yes."]) == plain.source.encode(["translate English to German: Yes."])
    assert translator.target.encode(["Ja."]) == plain.target.encode(["Ja."])
    with pytest.warns(UserWarning, match="names no prefix for de to en, only translation_en_to_de; it reads texts as"):
        backward = load_translator(str(tmp_path / "model"), "float32", "cpu", "de", "en")
    assert backward.source.encode(["Ja."]) == plain.source.encode(["Ja."])


@pytest.mark.filterwarnings("error")
def test_no_warning_where_no_prefix_is_named():
    assert _task_prefix(T5Config(), "de", "en", "x") == ""
    assert _task_prefix(T5Config(task_specific_params=TASKS), "en", "en", "x") == "", "a rewriter"
