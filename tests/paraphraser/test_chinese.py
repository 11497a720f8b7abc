"""Chinese texts: which models are for them, and the form in which their paraphrases come back."""

import json
import shutil
import warnings

import pytest
from datasets import Dataset

import toolkit
from tests.tiny import folder, pairs
from toolkit.clean.script import check_script
from toolkit.paraphraser.form import formed, plain
from toolkit.paraphraser.paraphraser import stated_language
from toolkit.translator.load import languages_of

TEXTS = ["电梯又坏了。", "你昨天为什么没有来？"]


@pytest.fixture(scope="module")
def opus(tmp_path_factory):
    """Two translators that state their languages as OPUS-MT's do: in the configuration of their tokenizer."""
    parent = tmp_path_factory.mktemp("opus")
    for name, languages in (("de-en", ("zh", "en")), ("en-de", ("en", "zh"))):
        model_folder = parent / "-".join(languages)
        shutil.copytree(folder() / name, model_folder)
        file = model_folder / "tokenizer_config.json"
        config = json.loads(file.read_text()) | dict(zip(("source_lang", "target_lang"), languages, strict=True))
        file.write_text(json.dumps(config))
    return str(parent / "zh-en"), str(parent / "en-zh")


def test_translators_state_the_language_of_their_paraphrases(opus, tmp_path):
    assert [languages_of(name) for name in opus] == [("zh", "en"), ("en", "zh")]
    assert stated_language("best", opus) == stated_language(" > ".join(opus)) == "zh"
    paraphraser = toolkit.Paraphraser(pivot=opus)
    assert (paraphraser.lang, paraphraser.pivot_lang, paraphraser.encoder) == ("zh", "en", None)
    assert paraphraser.settings.rank_by == "dual", "the judge knows no Chinese"
    (tmp_path / "training.json").write_text(json.dumps({"settings": {"source_lang": "zh", "lang": "en"}}))
    assert languages_of(str(tmp_path)) == ("zh", "en"), "as a translator that was trained here"
    assert languages_of("starter/paraphraser")[1] == "en" and stated_language("nobody/has-such-a-model") == "en"


def test_chinese_texts_for_an_english_model_are_told_of():
    paraphraser = toolkit.Paraphraser("starter/paraphraser")
    with pytest.warns(UserWarning, match="paraphrases 'en', and most texts are in another script: give lang, and a"):
        paraphraser.paraphrase(TEXTS[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paraphraser.paraphrase(["It is late."])
    with pytest.raises(ValueError, match=r"wanted texts in en, got most of them in another script .*give lang and a"):
        toolkit.augment(Dataset.from_dict({"text": TEXTS}), "text", paraphraser=paraphraser, progress=False)
    with pytest.raises(ValueError, match="wanted the language and the encoder of the Paraphraser, which is loaded"):
        toolkit.augment(Dataset.from_dict({"text": TEXTS}), "text", paraphraser=paraphraser, lang="zh")


def test_a_few_words_in_another_script_are_no_other_language():
    check_script(["We ate 麻婆豆腐 and went home.", "你好"], "en", "")
    check_script(["Python和Java", "我们今天学习编程语言"], "zh", "")
    with pytest.raises(ValueError, match=r"got most of them in another script \('你好吗"):
        check_script(["No.", "你好吗？我今天很好，我们去学校。"], "en", "give another")


@pytest.mark.parametrize(
    ("text", "body", "answer", "expected"),
    [
        ("电梯又坏了。", "电梯又坏了。", "电梯又出故障了.", "电梯又出故障了。"),
        ("你好，世界！", "你好，世界！", "世界,你好!", "世界，你好！"),
        ("你好,世界!", "你好,世界!", "世界，你好！", "世界,你好!"),
        ("「我不走。」他說。", "“我不走。”他說。", "他說：“我不離開。”", "他說：「我不離開。」"),
        ("他说：“好。”", "他说：“好。”", '他回答:"好."', "他回答：“好。”"),
        ("下午3:30见", "下午3:30见。", "3:30下午再见。", "3:30下午再见"),
        ("（真的）", "（真的）。", "(确实)。", "（确实）"),
        ("你说《活着》", "你说《活着》。", "你提到《活着》。", "你提到《活着》"),
    ],
)  # fmt: skip
def test_marks_come_back_as_the_text_has_them(text, body, answer, expected):
    read, form = plain(text, "zh")
    assert read == body and formed(answer, form) == expected


def test_a_model_without_wide_marks_reads_narrow_ones(opus):
    paraphraser = toolkit.Paraphraser(pivot=opus)
    assert paraphraser.half_width, "its pieces are those of German and English"
    assert plain("“你好，世界！”", "zh", half_width=True)[0] == '"你好,世界!"'
    assert not toolkit.Paraphraser("starter/paraphraser").half_width or "，" not in pairs(1)[0][1]


def test_augment_takes_language_and_encoder(opus, tmp_path):
    (tmp_path / "pairs.tsv").write_text("电梯又坏了。\t电梯又出故障了。\n", encoding="utf-8")
    data = Dataset.from_dict({"text": TEXTS})
    bigger = toolkit.augment(data, "text", pairs=tmp_path / "pairs.tsv", lang="zh", progress=False)
    assert bigger["text"][2:] == ["电梯又出故障了。"]
    with pytest.raises(ValueError, match="wanted encoder for texts in zh, got starter/encoder, which knows en only"):
        toolkit.augment(data, "text", pairs=tmp_path / "pairs.tsv", lang="zh", encoder="starter/encoder")
    with pytest.raises(ValueError, match="wanted texts in en, got most of them in another script"):
        toolkit.augment(data, "text", pairs=tmp_path / "pairs.tsv")
