"""A language model as the paraphraser: the same guards, floors, reasons and formats as any other."""

import json
import pickle
import sys

import pytest
from datasets import Dataset

import toolkit
from tests.chat_server import MODEL, chat_server
from toolkit.chat.settings import PromptedModel

TEXTS = ["She closed the door and walked away.", "where are you going", "Tom bought 3 books for $5."]


def outputs(*texts):
    """A model that always says these."""
    return lambda body: json.dumps({"paraphrases": list(texts)})


def paraphraser_of(server, folder, **changed):
    options = {name: changed.pop(name) for name in ("lang", "encoder", "backward", "settings") if name in changed}
    prompted = PromptedModel(model=MODEL, server=server.url, reply_cache=str(folder / "kept.sqlite"), **changed)
    return toolkit.Paraphraser(lm=prompted, **options)


def reasons(candidates):
    return {candidate.text: candidate.reason for candidate in candidates}


def test_texts_get_paraphrases_in_their_own_form(tmp_path):
    with chat_server() as server:
        paraphraser = paraphraser_of(server, tmp_path)
        paraphrases = paraphraser.paraphrase(TEXTS, n=2)
        assert [len(texts) for texts in paraphrases] == [2, 2, 2]
        assert all(text.islower() and "?" not in text for text in paraphrases[1]), "the user's own case and marks"
        assert all("$5" in text for text in paraphrases[2])
        assert paraphraser.name == MODEL and len(server.asked) == 3
        assert paraphraser.paraphrase(TEXTS, n=1) and len(server.asked) == 3, "fewer paraphrases ask for nothing"
        assert pickle.loads(pickle.dumps(paraphraser)).paraphrase(TEXTS, n=2) == paraphrases and len(server.asked) == 3
        paraphraser.paraphrase(TEXTS, n=4)
        assert len(server.asked) == 6, "more ask for the replies that are not there"
        paraphraser_of(server, tmp_path, temperature=0.0).paraphrase(TEXTS, n=4)
        assert len(server.asked) == 9, "greedy replies are equal"


def test_guards_floors_and_constraints_refuse_what_it_says(tmp_path):
    say = outputs("Tom bought 4 books for $5.", "Tom didn't buy 3 books for $5.", "Cheese is good for 3 and $5, Tom.",
                   "Tom purchased 3 books for $5.", "Tom bought 3 books for $5.", "Tom got 3 books for 5.")  # fmt: skip
    with chat_server(say=say) as server:
        paraphraser = paraphraser_of(server, tmp_path)
        result = reasons(paraphraser.candidates(TEXTS[2:], n=3, min_semantic=0.7)[0])
        assert result["Tom purchased 3 books for $5."] is None
        assert result["Tom bought 4 books for $5."] == "number" and result["Tom got 3 books for 5."] == "quantity_lost"
        assert result["Tom didn't buy 3 books for $5."] == "negation"
        assert result["Cheese is good for 3 and $5, Tom."] == "semantic"
        assert result["Tom bought 3 books for $5."] is not None, "a copy"
        result = reasons(paraphraser.candidates(TEXTS[2:], avoid=["purchased"])[0])
        assert result["Tom purchased 3 books for $5."] == "constraint_unmet"
        assert json.loads(server.asked[-1]["messages"][-1]["content"])["avoid"] == ["purchased"]
        assert paraphraser.paraphrase(TEXTS[2:], require=["purchased"]) == [["Tom purchased 3 books for $5."]]


def test_refusals_and_cut_replies_have_a_reason(tmp_path):
    with chat_server(say=lambda body: "I'm sorry, but I can't help with that.") as server:
        assert {c.reason for c in paraphraser_of(server, tmp_path).candidates(TEXTS[:1])[0]} == {"refusal"}
    with chat_server(say=lambda body: '{"paraphrases": [') as server:
        assert {c.reason for c in paraphraser_of(server, tmp_path).candidates(TEXTS[:1])[0]} == {"empty"}


def test_the_paragraphs_of_a_text_are_asked_for_with_those_around_them(tmp_path):
    with chat_server() as server:
        (paraphrases,) = paraphraser_of(server, tmp_path).paraphrase(["He left the house.\n\nShe stayed there."])
        contents = [json.loads(request["messages"][-1]["content"]) for request in server.asked]
        assert {(content["text"], content["before"], content["after"]) for content in contents} == {
            ("He left the house.", "", "She stayed there."),
            ("She stayed there.", "He left the house.", ""),
        }
        assert paraphrases[0].count("\n\n") == 1 and "left the house" in paraphrases[0]


def test_chinese(tmp_path):
    with chat_server(say=outputs("我今天很高兴。", "今天我非常开心。")) as server:
        paraphraser = paraphraser_of(server, tmp_path, lang="zh")
        assert paraphraser.paraphrase(["我今天非常高兴。"], n=2) == [["我今天很高兴。", "今天我非常开心。"]]
        assert "language, zh" in server.asked[0]["messages"][0]["content"]


def test_a_package_that_chinese_needs_is_named_before_the_server_is_asked(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rjieba", None)
    with chat_server() as server, pytest.raises(ModuleNotFoundError, match="wanted the package rjieba, got none"):
        paraphraser_of(server, tmp_path, lang="zh")
    assert not server.asked


def test_a_paraphraser_scores_both_directions(tmp_path):
    from dataclasses import replace

    with chat_server() as server:
        paraphraser = paraphraser_of(server, tmp_path, backward="starter/paraphraser")
        paraphraser.settings = replace(paraphraser.settings, rank_by="dual")
        best = [c for c in paraphraser.candidates(TEXTS[:1], n=3, min_forward=-20.0)[0] if c.rank is not None]
        assert [c.rank for c in best] == list(range(len(best))) and len(best) > 1
        duals = [c.scores.dual for c in best]
        assert duals == sorted(duals, reverse=True) and all(c.scores.forward_logprob is not None for c in best)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "starter/paraphraser"}, "wanted lm alone, got it with a model"),
        ({"prefix": "x"}, "wanted lm alone"),
        ({"settings": toolkit.Paraphrasing(rank_by="forward")}, "wanted backward, a model that scores, for dual and"),
        ({"settings": toolkit.Paraphrasing(rank_by="usable")}, "wanted no judge for a language model that is asked"),
        ({"settings": toolkit.Paraphrasing(rank_by="draws", method="beam")}, "wanted no method for a language model"),
        ({"lang": "zh", "encoder": "starter/encoder"}, "encoder"),
    ],
)
def test_what_does_not_go_together(arguments, message, tmp_path):
    with chat_server() as server, pytest.raises(ValueError, match=message):
        toolkit.Paraphraser(**arguments, lm=PromptedModel(model=MODEL, server=server.url))


def test_a_model_without_a_template_is_refused_unless_it_has_another_prompt(tmp_path):
    from tests.language_models import saved

    path = saved("mamba", tmp_path / "m")
    with pytest.raises(ValueError, match="wanted a chat model for the prompt 'several', got m, whose tokenizer has no"):
        toolkit.Paraphraser(lm=path)
    paraphraser = toolkit.Paraphraser(lm=PromptedModel(model=path, prompt="paraphrase"), dtype="float32", device="cpu")
    assert len(paraphraser.candidates(["He left."])[0]) >= 1


def test_augment_by_a_language_model(tmp_path):
    with chat_server() as server:
        data = Dataset.from_dict({"text": TEXTS, "label": [0, 1, 0]})
        paraphraser = paraphraser_of(server, tmp_path, style="formal")
        bigger = toolkit.augment(data, "text", copies=2, paraphraser=paraphraser, output_dir=tmp_path / "shards",
                                 progress=False)  # fmt: skip
        assert len(bigger) == 9 and set(bigger["paraphraser"][3:]) == {MODEL}
        record = (tmp_path / "shards" / "settings.json").read_text()
        assert '"style": "formal"' in record and "reply_cache" not in record
        with pytest.raises(ValueError, match="lm"):
            toolkit.augment(data, "text", copies=2, paraphraser=paraphraser_of(server, tmp_path, style="short"),
                            output_dir=tmp_path / "shards", progress=False)  # fmt: skip


def test_augment_says_nothing_that_is_to_be_avoided(tmp_path):
    data = Dataset.from_dict({"text": TEXTS})
    with chat_server() as server:
        paraphraser = paraphraser_of(server, tmp_path)
        bigger = toolkit.augment(data, "text", copies=3, paraphraser=paraphraser, avoid=["in short", "frankly"],
                                 progress=False)  # fmt: skip
        new = bigger["text"][len(TEXTS) :]
        assert len(new) > len(TEXTS) and not any(
            phrase in text.lower() for text in new for phrase in ("short", "frankly")
        )
    (tmp_path / "pairs.tsv").write_text(
        f"{TEXTS[0]}\tShe shut the door and left.\n{TEXTS[0]}\tShe left, the door shut.\n"
    )
    for avoid, count in (([], 2), (["door shut"], 1)):
        assert len(toolkit.augment(data, "text", copies=2, pairs=tmp_path / "pairs.tsv", avoid=avoid)) == 3 + count
    with pytest.raises(ValueError, match="wanted a list of phrases to avoid, got a str"):
        toolkit.augment(data, "text", avoid="door", progress=False)


def test_it_is_told_the_pieces_of_a_text_and_refused_without_them(tmp_path):
    text = "Please mail jo@example.org about {item} today."
    say = outputs("Today, mail jo@example.org about {item}, please.", "Today, mail Jo about {item}, please.",
                   "Mail jo@example.org about it today, please.",
                   "Mail jo@example.org, jo@example.org of {item} now.")  # fmt: skip
    with chat_server(say=say) as server:
        paraphraser = paraphraser_of(server, tmp_path)
        result = reasons(paraphraser.candidates([text], n=4, min_semantic=-1.0)[0])
        content = json.loads(server.asked[0]["messages"][-1]["content"])
        assert content["text"] == text and set(content["require"]) == {"jo@example.org", "{item}"}
        assert result["Today, mail jo@example.org about {item}, please."] is None
        assert result["Today, mail Jo about {item}, please."] == "mail_lost"
        assert result["Mail jo@example.org about it today, please."] == "placeholder_lost"
        assert result["Mail jo@example.org, jo@example.org of {item} now."] == "mail_lost", "said too often"
        assert all(paraphraser.paraphrase([text], n=4)[0])


def test_it_reads_the_sentence_before_in_a_document(tmp_path):
    text = "# The door\n\nShe closed **it** today. He left for www.example.org then.\n\n- It was late.\n"
    with chat_server() as server:
        document = paraphraser_of(server, tmp_path).paraphrase_document(text, "markdown")
        contents = [json.loads(request["messages"][-1]["content"]) for request in server.asked]
        assert {(content["text"], content.get("before", "")) for content in contents} == {
            ("The door", ""),
            ("She closed **it** today.", "The door"),
            ("He left for www.example.org then.", "She closed **it** today."),
            ("It was late.", "He left for www.example.org then."),
        }
        required = {content["text"]: content["require"] for content in contents if content.get("require")}
        assert required["He left for www.example.org then."] == ["www.example.org"]
        assert "**it**" in document.texts[0] and document.texts[0].count("www.example.org") == 1
        assert document.sentences == 4 and len(document.unchanged) < 3
    with chat_server(say=outputs("He then left for the page.", "He left then.")) as server:
        document = paraphraser_of(server, tmp_path / "b").paraphrase_document("He left for www.example.org then.")
        assert document.unchanged == [("He left for www.example.org then.", "url_lost")]


def test_its_record_has_the_content_of_its_prompt(tmp_path):
    (tmp_path / "mine.txt").write_text("Say it in other words: {reference}")
    with chat_server() as server:
        paraphraser = paraphraser_of(server, tmp_path, prompt=str(tmp_path / "mine.txt"))
        record = paraphraser.record()
        assert record == paraphraser.record() and record["models"]["model"] == []
        (tmp_path / "mine.txt").write_text("Say it in a few words: {reference}")
        assert paraphraser.record() != record
