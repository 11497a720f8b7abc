"""Marian models of several target languages, and tokens that were added to a tokenizer."""

import pytest
import torch
from transformers import MarianMTModel, MarianTokenizer

from tests import tiny
from toolkit.bitext.subwords import _added_tokens
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.likelihood import log_likelihood
from toolkit.generate.constrain import _word_table
from toolkit.translator.languages import _marian_codes, _marian_language_token, _own_code
from toolkit.translator.load import load_translator, set_languages

TEXTS = ["Guten Morgen.", "Der Hund <name> ist da.", "[ENT]Hallo [ENT] du", "Wir gehen <name>", "x</s>y"]


@pytest.fixture(scope="module")
def targets(tmp_path_factory):
    return str(
        tiny.model_of_targets(
            tmp_path_factory.mktemp("targets") / "m", ["fra", "spa", "cmn_Hant", "cmn_Hans"], ["<name>", "[ENT]"]
        )
    )


@pytest.mark.parametrize(("lang", "code"), [("fr", "fra"), ("fra", "fra"), ("es", "spa"), ("zh", "cmn_Hans")])
def test_the_token_of_the_language_stands_before_every_source(targets, lang, code):
    tokenizer = MarianTokenizer.from_pretrained(targets)
    translator = load_translator(targets, "float32", source_lang="de", lang=lang)
    for text in TEXTS[:4]:
        expected = tokenizer(f">>{code}<<{text}")["input_ids"]
        assert translator.source.encode([text]) == [expected]
        assert expected[0] == tokenizer.encoder[f">>{code}<<"]


def test_what_the_model_writes_is_what_transformers_writes_with_that_token(targets):
    tokenizer, model = MarianTokenizer.from_pretrained(targets), MarianMTModel.from_pretrained(targets).eval()
    translator = load_translator(targets, "float32", lang="es")
    outputs = translator.target.encode(["We go home."])
    with torch.inference_mode():
        read = tokenizer(">>spa<<Guten Morgen.", return_tensors="pt")
        loss = model(**read, labels=torch.tensor(outputs)).loss * len(outputs[0])
    ids = translator.source.encode(["Guten Morgen."])
    [(score)] = log_likelihood(engine_of(translator.model), ids, outputs, 1000)
    assert score == pytest.approx(-float(loss), rel=1e-4)
    assert score != pytest.approx(log_likelihood(engine_of(translator.model), [ids[0][1:]], outputs, 1000)[0], rel=1e-4)


@pytest.mark.parametrize("lang", ["en", "de", "xx"])
def test_a_language_without_a_token_is_refused_with_the_list(targets, lang):
    with pytest.raises(ValueError, match=rf"wanted a language .*got '{lang}'; it knows cmn_Hans, cmn_Hant, fra, spa"):
        load_translator(targets, "float32", source_lang="de", lang=lang)


def test_a_model_of_several_languages_is_told_one(targets):
    with pytest.raises(ValueError, match=r"wanted lang for .*, got None: it writes one of cmn_Hans, cmn_Hant, fra"):
        load_translator(targets, "float32")


def test_no_paraphraser_is_trained_on_a_model_of_several_targets(targets):
    tokenizer, model = MarianTokenizer.from_pretrained(targets), MarianMTModel.from_pretrained(targets)
    with pytest.raises(ValueError, match=r"wanted a model of one target language to train, got .*, which has cmn_Hans"):
        set_languages(model, tokenizer, "fr", "fr", targets)


def test_a_model_with_one_token_takes_it(tmp_path):
    path = str(tiny.model_of_targets(tmp_path / "m", ["fra"]))
    tokenizer = MarianTokenizer.from_pretrained(path)
    assert load_translator(path, "float32").source.prefix == [tokenizer.encoder[">>fra<<"]]
    assert _marian_language_token(MarianTokenizer.from_pretrained(tiny.folder() / "de-en"), "en", "x") is None


def test_the_codes_of_opus_mt():
    codes = dict.fromkeys(["ara", "arz", "fra", "fr_CA", "lav", "zho", "srp_Cyrl", "srp_Latn", "nob"], 0)
    own_codes = {lang: _own_code(lang, codes, "x") for lang in ("ar", "fr", "lv", "zh", "sr", "nb")}
    assert own_codes == {"ar": "ara", "fr": "fra", "lv": "lav", "zh": "zho", "sr": "srp_Cyrl", "nb": "nob"}


def test_language_tokens_and_added_tokens_in_texts(targets):
    tokenizer = MarianTokenizer.from_pretrained(targets)
    translator = load_translator(targets, "float32", lang="fr")
    target = translator.target
    assert _added_tokens(tokenizer).keys() == {"<name>", "[ENT]"}
    assert _marian_codes(tokenizer).keys() == {"fra", "spa", "cmn_Hant", "cmn_Hans"}
    assert target.decode(target.encode(["The <name> is [ENT] x."])) == ["The <name> is [ENT] x."]
    assert target.spell("<name>") == [tokenizer.convert_tokens_to_ids("<name>")]
    assert target.split("We <name>We") == [*target.split("We"), "<name>", *target.split("We")]
    assert 0 not in target.encode(["x</s>y"])[0][:-1], "a text that spells the end is its letters"
    assert 0 not in translator.source.encode(["x</s>y", "<name>"])[0][:-1]
    size = translator.model.config.vocab_size
    assert len(target.surfaces()) == size == len(tokenizer), "a mask over the vocabulary has every token"
    assert len(_word_table(target, translator.model.device).factor) >= size
    texts = target.decode([[tokenizer.encoder[">>fra<<"], *target.encode(["We go."])[0]]])
    assert texts == ["We go."], "a language token has no text"


def test_added_tokens_of_which_the_model_has_no_embedding(tmp_path):
    path = tiny.model_of_targets(tmp_path / "m", [], ["<name>"])
    tokenizer = MarianTokenizer.from_pretrained(path)
    tokenizer.add_tokens(["<more>"])
    tokenizer.save_pretrained(path)
    with pytest.raises(ValueError, match=r"wanted an embedding for every token of .*: call model.resize_token_emb"):
        load_translator(str(path), "float32")
