"""From replies of language models to sentences: what models say around them, and what they say instead."""

import pytest

from toolkit.data.rows import Row
from toolkit.generate._replies import is_refusal, sentence_in
from toolkit.generate.prompt import PROMPTS, read_prompt

REFERENCE = "The old man left the house early in the morning."
PLAIN = "Early in the morning the old man went out."


@pytest.mark.parametrize(
    "reply",
    [
        f"Here is a paraphrase: {PLAIN}",
        f"Sure! Here's one way to say it:\n\n{PLAIN}",
        f'Certainly! Here is the sentence in other words:\n\n"{PLAIN}"',
        f"Paraphrase: {PLAIN}",
        f"**{PLAIN}**",
        f'"{PLAIN}"',
        f"“{PLAIN}”",
        f"1. {PLAIN}\n2. At dawn, the man left.",
        f"- {PLAIN}",
        f"{PLAIN}\n\n(Note: the meaning is kept.)",
        f"{PLAIN} (Note: this keeps the meaning)",
        f"In other words: {PLAIN}\n\nSentence: Another one.",
        f"[[{PLAIN}]]",
        f"Of course! Rephrased: {PLAIN}\nLet me know if you need more!",
    ],
)
def test_what_is_not_the_sentence_goes_and_is_said(reply):
    assert sentence_in(reply, REFERENCE) == (PLAIN, True)


@pytest.mark.parametrize(
    "reply",
    [
        PLAIN,
        "Sure, he left early.",  # an answer that begins like an opening, without one
        "Here is the old man, leaving early.",
        'He said "go" and left "now".',
        "The answer is that he left.",
        "1990 was when he left.",
        "Note: he left.",
    ],
)
def test_a_sentence_alone_stays_as_it_is(reply):
    assert sentence_in(reply, REFERENCE) == (reply, False)


def test_what_the_reference_has_itself_stays():
    assert sentence_in('"He went."', '"He left."') == ('"He went."', False)
    assert sentence_in("1. He went.", "1. He left.") == ("1. He went.", False)
    assert sentence_in("He went (note 3).", "He left (note 3).") == ("He went (note 3).", False)


@pytest.mark.parametrize(
    "reply",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot assist with this request.",
        "As an AI language model, I do not have opinions.",
        "I’m unable to paraphrase this sentence.",
        "I apologize, but this is not possible.",
    ],
)
def test_refusals_are_known(reply):
    assert is_refusal(reply, REFERENCE)
    assert not is_refusal("He was sorry that he could not help.", REFERENCE)
    assert not is_refusal(reply, reply), "what the reference says itself is no refusal"


@pytest.mark.parametrize("name", sorted(path.stem for path in PROMPTS.glob("*.txt")))
def test_the_prompts_of_the_toolkit_have_the_reference_once(name):
    row = Row("a-1", "a", None, None, "A {strange} sentence.", "en", "train", "Before it.", "After it.")
    asked = read_prompt(name).asked(row)
    assert asked.count("A {strange} sentence.") == 1
    assert (name == "context") == ("Before it." in asked and "After it." in asked)


@pytest.mark.parametrize(
    ("content", "got"),
    [("Say it again.", "got none for the reference"), ("{reference} {source}", r"got \{source\}"), (None, "got '")],
)
def test_a_prompt_that_cannot_be_used(tmp_path, content, got):
    if content is not None:
        (tmp_path / "mine.txt").write_text(content)
    with pytest.raises(ValueError, match=f"wanted a prompt .*{got}"):
        read_prompt(str(tmp_path / "mine.txt"))
