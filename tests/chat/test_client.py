"""A server is asked once for each reply, again after faults, slower when it complains, never for more than agreed."""

import asyncio
import json
import sqlite3
import threading

import pytest

from tests.chat_server import MODEL, Handler, chat_server, completion, said
from toolkit.chat import _faults
from toolkit.chat._pace import Pace
from toolkit.chat.client import REPLIES, ChatClient
from toolkit.chat.requests import Message, Reply, Request, Submitted, read_reply
from toolkit.chat.settings import PromptedModel, ServerSettings

KEY = "sk-very-secret-12345"
PRICES = {"input_price": 1000.0, "output_price": 2000.0}  # a reply of 100 + 50 tokens costs 0.2 dollars


@pytest.fixture(autouse=True)
def quick_and_keyed(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(_faults, "FIRST_WAIT", 0.01)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def requests(count, text="He left, {}."):
    return [
        Request((Message("user", json.dumps({"text": text.format(n)})),), 60, 1.0, 0.9, seed=n) for n in range(count)
    ]


def client_of(server, folder, parallel=4, **settings):
    return ChatClient(MODEL, ServerSettings(server=server.url, **settings), parallel, folder)


def test_each_request_is_sent_once_and_its_reply_kept(tmp_path):
    with chat_server() as server:
        client = client_of(server, tmp_path)
        twice = requests(6) + requests(3)
        reported = []
        replies = client.ask(twice, reported.append)
        assert sorted(reported) == list(range(9)) and len(server.asked) == 6
        assert replies[:3] == replies[6:] and json.loads(replies[4].text)["paraphrases"][0].endswith("He left, 4.")
        assert (client.usage.asked, client.usage.input_tokens, client.usage.output_tokens) == (6, 600, 300)
        assert server.keys == {f"Bearer {KEY}": 7}, "one more asks which models there are"
        server.every = 500
        again = client_of(server, tmp_path)
        assert again.ask(requests(6)) == replies[:6] and len(server.asked) == 6
        assert str(again.usage) == "0 replies (0 + 0 tokens), 6 kept ones"
    assert client_of(server, tmp_path).ask(requests(6)) == replies[:6], "a server that has gone is not missed"


@pytest.mark.parametrize("change", [{"seed": 7}, {"temperature": 0.5}, {"token_limit": 61}, {"schema": "{}"}])
def test_whatever_changes_a_reply_asks_anew(change, tmp_path):
    from dataclasses import replace

    with chat_server() as server:
        client = client_of(server, tmp_path)
        (request,) = requests(1)
        client.ask([request])
        client.ask([replace(request, **change)])
        ChatClient(MODEL, ServerSettings(server=server.url + "/"), 1, tmp_path).ask([request])
        assert len(server.asked) == 2
        client_of(server, tmp_path, reply_tokens=2000).ask([request])
        assert len(server.asked) == 3 and server.asked[-1]["max_tokens"] == 2000
    assert request.key("a", "x") != request.key("b", "x") != request.key("b", "y")


FAULTS = {0: 500, 1: 503, 2: "half", 3: "wrong json", 4: "empty choices", 5: "closed", 6: 429, 7: "slow", 8: "html",
          9: "silent", 10: 408, 11: "refusal", 12: "filtered"}  # fmt: skip


def test_after_faults_everything_is_there(tmp_path):
    with chat_server(faults=FAULTS) as server:
        client = client_of(server, tmp_path, parallel=3, timeout=1.0)
        replies = client.ask(requests(20))
        assert len(server.asked) == 20 + len(FAULTS) - 2, "what was refused is a reply"
        texts = [reply.text for reply in replies]
        assert sum(reply.finish == "refusal" for reply in replies) == 1 and texts.count("flagged") == 1
        assert sum("I'm sorry" in text for text in texts) == 1
        assert sum("He left" in text for text in texts) == 18


def test_what_the_server_asks_to_wait_is_waited_for(tmp_path):
    def busy(handler, body):
        handler.send(429, {"error": {"message": "slow down"}}, [("Retry-After", "1")])

    with chat_server(faults={0: busy}) as server:
        client_of(server, tmp_path, parallel=1).ask(requests(3))
        assert server.times[1] - server.times[0] >= 0.95


def test_a_server_that_complains_is_asked_fewer_at_a_time(tmp_path):
    async def limits():
        pace, seen = Pace(8, None, None), []
        for is_accepted in (False, False, *[True] * 40):
            await pace.begin(10)
            await pace.end(is_accepted)
            seen.append(pace.limit)
        return seen

    seen = asyncio.run(limits())
    assert seen[:2] == [4, 4] and seen == [4, *sorted(seen[1:])] and seen[-1] == 8
    with chat_server(faults=dict.fromkeys(range(3, 9), 429), delay=0.02) as server:
        client_of(server, tmp_path, parallel=2).ask(requests(20))
        assert server.most <= 2 and len(server.asked) == 26


def test_a_server_need_not_say_which_models_it_has(tmp_path):
    with chat_server() as server:
        server.knows_models = False
        assert len(client_of(server, tmp_path).ask(requests(2))) == 2


@pytest.mark.slow
def test_limits_of_a_minute(tmp_path):
    with chat_server() as server:
        client_of(server, tmp_path, requests_per_minute=600).ask(requests(6))
        assert server.times[5] - server.times[0] >= 0.45
        client_of(server, tmp_path / "b", tokens_per_minute=60 * 400).ask(requests(4, "He left. " * 30 + "{}"))
        assert server.times[9] - server.times[6] >= 0.6


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (401, r"gave no reply \(401: fault 401\); run the same command again when it does"),
        (500, r"gave no reply in 2 attempts \(500: fault 500\)"),
        ("empty choices", r"in 2 attempts \(wanted a reply with a choice, got"),
        (
            lambda handler, body: handler.send(429, {"error": {"message": "pay", "code": "insufficient_quota"}}),
            r"gave no reply \(429: pay\)",
        ),
        (
            lambda handler, body: handler.send(429, {"error": {"message": "x"}}, [("Retry-After", "7200")]),
            r"\(429: x; it asks to wait 120 minutes\)",
        ),
        (
            lambda handler, body: handler.send(307, {}, [("Location", "http://elsewhere.example/v1")]),
            r"redirects to elsewhere.example: if you trust it, give its address",
        ),
        (
            lambda handler, body: handler.send(401, {"error": {"message": f"wrong key {KEY}"}}),
            r"\(401: wrong key \.\.\.\)",
        ),
    ],
)
def test_a_server_without_replies_is_one_line(fault, message, tmp_path):
    with chat_server() as server:
        server.every = fault
        with pytest.raises(RuntimeError, match=message) as error:
            client_of(server, tmp_path, attempts=2).ask(requests(3))
        assert KEY not in str(error.value)
        server.every = None
        assert len(client_of(server, tmp_path).ask(requests(3))) == 3


# What servers say of a text that is too long: OpenAI, llama.cpp today and before, llama.cpp in Python, and vLLM, of the
# text with the reply and of the text alone.
TOO_LONG = [
    (400, {"message": "maximum context length is 10", "code": "context_length_exceeded"}),
    (
        400,
        {
            "code": 400,
            "message": "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
            "type": "exceed_context_size_error",
        },
    ),
    (500, {"code": 500, "message": "the request is too big", "type": "exceed_context_size_error"}),
    (500, {"message": "Requested tokens (2285) exceed context window of 2048", "type": "internal_server_error"}),
    (400, {"message": "This model's maximum context length is 100 tokens. However, you requested 65 output tokens"}),
    (400, {"message": "The decoder prompt (length 70) is longer than the maximum model length of 65."}),
]


@pytest.mark.parametrize(("status", "error"), TOO_LONG)
def test_a_text_that_is_too_long_is_its_own_fault_and_told_once(status, error, tmp_path, capsys):
    def full(handler, body):
        handler.send(status, {"error": error})

    with chat_server(faults={1: full, 2: full}) as server:
        replies = client_of(server, tmp_path, parallel=1).ask(requests(4))
        assert [reply.finish for reply in replies] == ["stop", "too_long", "too_long", "stop"]
        assert len(server.asked) == 4
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith(f"{MODEL}: a text is too long for the server ({status}: {error['message']}), so it gets")
    assert "a smaller --reply_tokens leaves more room" in told


def test_a_context_that_requests_share_is_tried_again_before_a_text_counts_as_too_long(tmp_path):
    def full(handler, body):
        handler.send(
            500, {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}
        )

    with chat_server(faults={1: full}) as server:
        replies = client_of(server, tmp_path, parallel=1).ask(requests(3))
        assert [reply.finish for reply in replies] == ["stop"] * 3 and len(server.asked) == 4
    with chat_server() as server:
        server.every = full
        replies = client_of(server, tmp_path, attempts=3).ask(requests(2, "She left, {}."))
        assert [reply.finish for reply in replies] == ["too_long"] * 2 and len(server.asked) == 6


@pytest.mark.parametrize(
    "answer", [[{"id": MODEL}], {"data": None}, {"models": [{"id": "a"}]}, {"data": [3, {"id": 3}]}, [], None, "none"]
)
def test_a_server_may_say_in_any_form_which_models_it_has(answer, tmp_path, monkeypatch):
    monkeypatch.setattr(Handler, "do_GET", lambda handler: handler.send(200, answer))
    with chat_server() as server:
        assert len(client_of(server, tmp_path).ask(requests(2))) == 2


def test_a_bare_list_of_models_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(Handler, "do_GET", lambda handler: handler.send(200, [{"id": "other"}]))
    with chat_server() as server, pytest.raises(RuntimeError, match=f"got '{MODEL}': it has other"):
        client_of(server, tmp_path).ask(requests(2))


def picky(handler, body):
    """The answer of a server that does not know several parameters."""
    if "response_format" in body:
        return handler.send(500, {"error": {"message": "body, response_format, type: wanted 'json_object'"}})
    if "max_tokens" in body:
        return handler.send(400, {"error": {"message": "use max_completion_tokens instead of max_tokens"}})
    if body.get("temperature") is not None:
        return handler.send(400, {"error": {"message": "Unsupported value: temperature"}})
    return handler.send(200, completion(body, said))


def requests_with_schema(count):
    schema = json.dumps({"type": "object"})
    return [Request((Message("user", f'{{"text": "He left {n}."}}'),), 60, 1.0, 0.9, n, schema) for n in range(count)]


def test_what_a_server_does_not_know_is_left_out(tmp_path, capsys):
    with chat_server() as server:
        server.every = picky
        client = client_of(server, tmp_path, parallel=4, reply_tokens=5000)
        assert len(client.ask(requests_with_schema(8))) == 8
        last = server.asked[-1]
        assert last["max_completion_tokens"] == 5000 and not {"response_format", "temperature", "max_tokens"} & {*last}
    told = capsys.readouterr().err.splitlines()
    assert told == [f"{MODEL}: the server does not take {name!r}, so it is left out"
                    for name in ("response_format", "temperature")]  # fmt: skip


def test_the_cost_ends_at_its_limit_and_goes_on_with_a_higher_one(tmp_path):
    with chat_server() as server:
        client = client_of(server, tmp_path, parallel=1, **PRICES, max_cost=1.0)
        with pytest.raises(
            RuntimeError, match=r"replies.sqlite have cost 1.00 dollars, of max_cost 1: the same command"
        ):
            client.ask(requests(20))
        assert len(server.asked) == 5 and client.usage.cost == pytest.approx(1.0)
        with pytest.raises(RuntimeError, match=r"have cost 1\.00 dollars"):
            client_of(server, tmp_path, **PRICES, max_cost=1.0).ask(requests(20))
        assert len(server.asked) == 5
        assert len(client_of(server, tmp_path, **PRICES, max_cost=9.0).ask(requests(20))) == 20
        assert len(server.asked) == 20


def test_what_a_server_does_not_know_is_learnt_before_a_batch_is_submitted(tmp_path):
    with chat_server() as server:
        server.every = picky
        client = client_of(server, tmp_path, batch=True)
        with pytest.raises(Submitted, match="4 requests"):
            client.ask(requests_with_schema(5))
        tried, sent = server.asked[:-4], server.asked[-4:]
        assert {body["seed"] for body in tried} == {0} and [body["seed"] for body in sent] == [1, 2, 3, 4]
        assert not any({"response_format", "temperature", "max_tokens"} & {*body} for body in sent)
        with pytest.raises(Submitted, match="6 requests"):
            client.ask(requests_with_schema(7))
        assert [body["seed"] for body in server.asked[-2:]] == [5, 6], "a client learns it once"
        server.batch_status, asked = "completed", len(server.asked)
        assert len(client_of(server, tmp_path, batch=True).ask(requests_with_schema(7))) == 7
        assert len(server.asked) == asked, "the reply to what was tried is kept"


def test_what_a_batch_refuses_for_good_is_told_and_not_submitted_again(tmp_path, capsys):
    with chat_server() as server:
        with pytest.raises(Submitted, match="3 requests"):
            client_of(server, tmp_path, batch=True).ask(requests(4))
        server.batch_status = "completed"
        answers = [json.loads(line) for line in server.files["out-batch-0"].splitlines()]
        error = {"message": "no such parameter: seed", "code": "invalid_value"}
        answers[1]["response"] = {"status_code": 400, "body": {"error": error}}
        long = {"message": "Maximum context length is 100 tokens", "type": "exceed_context_size_error", "code": 400}
        answers[2]["response"] = {"status_code": 400, "body": {"error": long}}
        server.files["out-batch-0"] = b"".join(json.dumps(answer).encode() + b"\n" for answer in answers)
        with pytest.raises(
            RuntimeError,
            match=r"batch batch-0: the server refused 1 of its requests for good \(no such parameter: seed\) and "
            "answered 2, which are kept: the same command without --batch",
        ):
            client_of(server, tmp_path, batch=True).ask(requests(4))
        assert "a text is too long for the server (Maximum context length is 100 tokens)" in capsys.readouterr().err
        assert len(server.batches) == 1
        replies = client_of(server, tmp_path).ask(requests(4))
        assert [reply.finish for reply in replies] == ["stop", "stop", "stop", "too_long"] and len(server.asked) == 5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({MODEL: {"input": 0.5, "output": 2}}, None),
        ({MODEL: {"input_cost_per_token": 5e-7, "output_cost_per_token": 2e-6, "mode": "chat"}}, None),
        ({"other": {"input": 1, "output": 2}}, "got .*prices.json, which has prices of other"),
        ({}, "which has prices of no model"),
        ({MODEL: {"input": 1}}, r'wanted prices as .* got {"input": 1} in'),
        ({MODEL: {"input": -1, "output": 2}}, "wanted prices as"),
        ({MODEL: 3}, "wanted prices as .* got 3 in"),
        ([], "got a list in"),
        ("{", "which is no JSON"),
    ],
)
def test_prices_of_a_file(content, message, tmp_path):
    file = tmp_path / "prices.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    with chat_server() as server:
        if message is not None:
            with pytest.raises(ValueError, match=message):
                client_of(server, tmp_path, prices=str(file))
            return
        client = client_of(server, tmp_path, prices=str(file), max_cost=1.0)
        client.ask(requests(2))
        assert client.usage.cost == pytest.approx(2 * (100 * 0.5 + 50 * 2) / 1_000_000)


def test_batches_are_submitted_and_collected_for_half_the_price(tmp_path):
    with chat_server() as server:
        client = client_of(server, tmp_path, batch=True, **PRICES)
        with pytest.raises(Submitted, match="6 requests wait in batches: give the same command again later"):
            client.ask(requests(7))
        assert len(server.batches) == 1 and len(server.asked) == 7
        with pytest.raises(Submitted):
            client_of(server, tmp_path, batch=True, **PRICES).ask(requests(7))
        with sqlite3.connect(tmp_path / REPLIES) as connection:  # as if killed before the name was kept
            connection.execute("DELETE FROM submitted")
        connection.close()
        with pytest.raises(Submitted):
            client_of(server, tmp_path, batch=True, **PRICES).ask(requests(7))
        assert len(server.batches) == 1 and len(server.asked) == 7, "nothing is submitted twice"
        server.batch_status = "completed"
        later = client_of(server, tmp_path, batch=True, **PRICES)
        replies = later.ask(requests(7))
        assert [json.loads(reply.text)["paraphrases"][0][-10:] for reply in replies] == [
            f"e left, {n}."[-10:] for n in range(7)
        ]
        assert later.usage.cost == pytest.approx(6 * 0.1) and len(server.asked) == 7
        with pytest.raises(RuntimeError, match=r"have cost 0\.80 dollars, of max_cost 0\.5"):
            client_of(server, tmp_path, batch=True, **PRICES, max_cost=0.5).ask(requests(8))
        server.batch_status = "failed"
        with pytest.raises(Submitted):
            client_of(server, tmp_path, batch=True).ask(requests(10))
        server.batches["batch-1"]["errors"] = {"object": "list", "data": [{"message": "no money", "code": "x"}]}
        with pytest.raises(
            RuntimeError, match=r"batch batch-1 brought no reply \(no money\): the same command submits"
        ):
            client_of(server, tmp_path, batch=True).ask(requests(10))
        with pytest.raises(Submitted):
            client_of(server, tmp_path, batch=True).ask(requests(10))
        assert len(server.batches) == 3, "a batch that failed is no batch to wait for"


def test_a_reply_of_a_batch_may_have_any_mark_of_a_line(tmp_path):
    with chat_server(say=lambda body: f"One.\u2028Two.\x85{said(body)}") as server:
        client = client_of(server, tmp_path, batch=True)
        with pytest.raises(Submitted):
            client.ask(requests(2))
        server.batch_status = "completed"
        replies = client_of(server, tmp_path, batch=True).ask(requests(2))
        assert all(reply.text.startswith("One.\u2028Two.\x85") for reply in replies)


def test_an_interruption_leaves_what_was_paid_for(tmp_path):
    with chat_server(delay=0.05) as server:
        client = client_of(server, tmp_path, parallel=2)
        reported = []

        def interrupt(number):
            reported.append(number)
            if len(reported) == 4:
                raise KeyboardInterrupt

        with pytest.raises((KeyboardInterrupt, BaseExceptionGroup)):
            client.ask(requests(30), interrupt)
        before = len(server.asked)
        assert before < 30
        assert len(client_of(server, tmp_path).ask(requests(30))) == 30
        assert len(server.asked) <= 30 + 2, "of those under way, which had no reply yet"


def test_two_clients_share_a_file(tmp_path):
    with chat_server(delay=0.01) as server:
        errors = []

        def work(first):
            try:
                client_of(server, tmp_path).ask(requests(40)[first : first + 20])
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(first,)) for first in (0, 20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors and len(server.asked) == 40
        client_of(server, tmp_path).ask(requests(40))
        assert len(server.asked) == 40


def test_a_model_that_is_not_there_and_a_server_that_is_not(tmp_path):
    absent = rf"wanted a model that http\S+ has, got 'big': it has {MODEL}"
    with chat_server() as server, pytest.raises(RuntimeError, match=absent):
        ChatClient("big", ServerSettings(server=server.url), 1, tmp_path).ask(requests(1))
    with pytest.raises(RuntimeError, match=r"wanted a server with OpenAI's chat API at http\S+:9/v1, got none"):
        ChatClient("x", ServerSettings(server="http://127.0.0.1:9/v1"), 1, tmp_path).ask(requests(1))


def test_a_damaged_file_of_replies_is_named(tmp_path):
    (tmp_path / REPLIES).write_text("something else, of more than a hundred bytes, " * 5)
    with (
        chat_server() as server,
        pytest.raises(ValueError, match=r"wanted the file of kept replies, got \S+replies.sqlite"),
    ):
        client_of(server, tmp_path).ask(requests(1))


def test_keys(tmp_path, monkeypatch):
    (tmp_path / "key").write_text("\n  from-a-file \n")
    with chat_server() as server:
        client_of(server, tmp_path, key_file=str(tmp_path / "key")).ask(requests(1))
        monkeypatch.setenv("OTHER", "from-a-variable")
        client_of(server, tmp_path, key_env="OTHER").ask(requests(2))
        monkeypatch.delenv("OPENAI_API_KEY")
        client_of(server, tmp_path).ask(requests(3))
        assert {*server.keys} == {"Bearer from-a-file", "Bearer from-a-variable", "Bearer none"}
    (tmp_path / "key").write_text("\n")
    with pytest.raises(ValueError, match="wanted a key in the first line of"):
        client_of(server, tmp_path, key_file=str(tmp_path / "key"))
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"from-a-" in content for content in files)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"server": "localhost:8000"}, "wanted the address of a server as https://HOST/v1, got 'localhost:8000'"),
        (
            {"server": "http://gpu.example/v1"},
            "wanted https for a server on another machine, got 'http://gpu.example/v1'",
        ),
        (
            {"server": "https://me:secret@host/v1"},
            "wanted the address of a server without a key in it, got one at https",
        ),
        (
            {"server": "https://host/v1", "max_cost": 3.0},
            "wanted prices, or input_price and output_price, for max_cost 3, got none",
        ),
        ({"server": "https://host/v1", "input_price": 3.0}, "wanted both input_price and output_price"),
        ({"batch": True, "max_cost": 1.0}, "wanted --server with --max_cost, --batch, got none"),
        ({"timeout": 0}, "wanted timeout above 0"),
    ],
)
def test_settings_that_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message) as error:
        ServerSettings(**settings)
    assert "secret" not in str(error.value)


def test_addresses_that_can():
    for server in ("http://localhost:1/v1", "http://[::1]:8000/v1", "http://127.0.0.2/v1", "https://host/v1"):
        assert ServerSettings(server=server).server == server
    assert ServerSettings(server="http://host/v1", insecure=True).insecure
    with pytest.raises(ValueError, match="wanted one of --samples with temperature 0, got 3"):
        PromptedModel(model="m", samples=3, temperature=0.0)


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        ({"choices": [{"message": {"content": "a"}, "finish_reason": "length"}]}, Reply("a", "length")),
        ({"choices": [{"message": {"content": None, "refusal": "no"}}]}, Reply("no", "refusal")),
        ({"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}, Reply("", "refusal")),
        ({"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": 3}}, Reply("a", "stop", 3)),
    ],
)
def test_replies_of_servers(answer, reply):
    assert read_reply(answer) == reply


@pytest.mark.parametrize("answer", [{}, [], "text", {"choices": [None]}, {"choices": [{"message": {"content": [1]}}]}])
def test_what_is_no_reply(answer):
    with pytest.raises(ValueError, match=r"wanted a (reply with a choice|text in the reply), got"):
        read_reply(answer)
