"""What a model thinks before it answers is no part of its reply, however a server sends it."""

import pytest

from tests.chat.test_client import client_of, requests
from tests.chat.test_client import quick_and_keyed as quick_and_keyed
from tests.chat_server import chat_server
from toolkit.chat.requests import LENGTH, REFUSAL, STOP, Reply, read_reply, without_thought

PARTS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "He left, so ..."}]},
    {"type": "text", "text": "He went"},
    {"type": "text", "text": " away."},
]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>\nHe left, so ...\n</think>\n\nHe went.", "He went."),
        ("\n<think>\n\n</think>\n\nHe went.\n", "He went.\n"),
        ("He left, so ...\n</think>\n\nHe went.", "He went."),
        ("[THINK]He left, so ...[/THINK]He went.", "He went."),
        ("<think>the text says <think> itself</think>He went.", "He went."),
        ("He went.", "He went."),
        (" He went.", " He went."),
        ("He wrote <think> and </think> into it.", "He wrote <think> and </think> into it."),
        ("He wrote <think> into it.", "He wrote <think> into it."),
        ("", ""),
    ],
)
@pytest.mark.parametrize("finish", [STOP, LENGTH, REFUSAL])
def test_the_answer_stands_after_the_thought(text, answer, finish):
    assert without_thought(Reply(text, finish, 3, 4)) == Reply(answer, finish, 3, 4)


@pytest.mark.parametrize("text", ["<think>", "<think>\nHe left, so\n1. He went.", " [THINK]He left"])
def test_a_thought_that_does_not_end_was_cut(text):
    assert without_thought(Reply(text, STOP, 3, 4)) == without_thought(Reply(text, LENGTH, 3, 4))
    assert without_thought(Reply(text, LENGTH, 3, 4)) == Reply("", LENGTH, 3, 4)
    assert without_thought(Reply(text, REFUSAL)) == Reply("", REFUSAL)


@pytest.mark.parametrize(
    ("content", "finish", "reply"),
    [
        (PARTS, "stop", Reply("He went away.", STOP)),
        (PARTS[:1], "length", Reply("", LENGTH)),
        ([], "stop", Reply("", STOP)),
        ([{"type": "text", "text": None}, {"type": "reference", "reference_ids": [1]}], "stop", Reply("", STOP)),
    ],
)
def test_the_text_of_a_reply_in_parts(content, finish, reply):
    assert read_reply({"choices": [{"message": {"content": content}, "finish_reason": finish}]}) == reply


@pytest.mark.parametrize("content", [["text"], [1], {"type": "text", "text": "a"}, 3])
def test_content_in_another_form_is_refused(content):
    with pytest.raises(ValueError, match="wanted a text in the reply, got"):
        read_reply({"choices": [{"message": {"content": content}}]})


@pytest.mark.parametrize(
    ("content", "text"),
    [(PARTS, "He went away."), ("<think>So ...</think>\nHe went away.", "He went away."), ("<think>So", "")],
)
def test_a_server_with_thoughts_is_asked_once_for_each_reply_and_kept_ones_are_the_same(content, text, tmp_path):
    with chat_server(say=lambda body: content) as server:
        replies = client_of(server, tmp_path).ask(requests(3))
        assert [reply.text for reply in replies] == [text] * 3 and len(server.asked) == 3
        assert client_of(server, tmp_path).ask(requests(3)) == replies
