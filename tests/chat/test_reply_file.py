"""The file of replies: what is paid for is kept, or one line says why not; a batch is collected by whose it is."""

import sqlite3

import pytest

from tests.chat.test_client import PRICES, client_of, requests
from tests.chat.test_client import quick_and_keyed as quick_and_keyed
from tests.chat_server import MODEL, chat_server
from toolkit.chat import _cache
from toolkit.chat.client import REPLIES, ChatClient
from toolkit.chat.requests import Submitted
from toolkit.chat.settings import ServerSettings


def test_a_full_disk_is_one_line_and_what_is_under_way_is_waited_for(tmp_path, monkeypatch):
    prepare = _cache._prepare

    def prepare_small_disk(connection):
        prepare(connection)
        connection.execute("PRAGMA max_page_count = 16")

    with chat_server(say=lambda body: "He went away. " * 300, delay=0.02) as server:
        reported = []
        with monkeypatch.context() as changed:
            changed.setattr(_cache, "_prepare", prepare_small_disk)
            with pytest.raises(
                OSError, match=r"^wanted to keep a reply in \S+replies.sqlite, got: database or disk is full; make room"
            ):
                client_of(server, tmp_path, parallel=4).ask(requests(40), reported.append)
        asked = len(server.asked)
        assert 4 < asked < 40 and len(reported) == asked, "nothing that was sent is cancelled"
        assert len(client_of(server, tmp_path).ask(requests(40))) == 40
        assert len(server.asked) <= 40 + 4, "of those under way, for which there was no room"


def test_a_file_that_another_process_holds_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(_cache, "BUSY", 0.05)
    with chat_server() as server:
        client_of(server, tmp_path).ask(requests(1))
        other = sqlite3.connect(tmp_path / REPLIES, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OSError, match=r"got: database is locked; another process writes to it for long: wait"):
            client_of(server, tmp_path, parallel=2).ask(requests(20))
        other.close()
        assert len(server.asked) <= 1 + 3
        assert len(client_of(server, tmp_path).ask(requests(20))) == 20


def test_a_file_that_was_held_for_a_while_has_all_that_came(tmp_path, monkeypatch):
    monkeypatch.setattr(_cache, "BUSY", 0.05)
    with chat_server(delay=0.02) as server:
        client_of(server, tmp_path).ask(requests(1))
        other = sqlite3.connect(tmp_path / REPLIES, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")

        def release(number):
            if number and other.in_transaction:
                other.execute("ROLLBACK")

        with pytest.raises(RuntimeError, match=r"got: database is locked; all replies are kept now: the same command"):
            client_of(server, tmp_path, parallel=3).ask(requests(20), release)
        other.close()
        assert len(server.asked) < 20
        client_of(server, tmp_path).ask(requests(20))
        assert len(server.asked) == 20, "nothing is paid twice"


def test_a_folder_in_the_place_of_the_file_is_one_line(tmp_path):
    (tmp_path / REPLIES).mkdir()
    with chat_server() as server, pytest.raises(OSError, match="unable to open database file; name a file in a folder"):
        client_of(server, tmp_path).ask(requests(1))


def test_batches_of_two_servers_in_one_file_are_collected_by_their_own(tmp_path):
    with chat_server() as first, chat_server() as second:
        for server in (first, second):
            with pytest.raises(Submitted, match="2 requests"):
                client_of(server, tmp_path, batch=True).ask(requests(3))
        assert [*first.batches] == [*second.batches], "both servers gave the same name"
        second.batch_status = "completed"
        with pytest.raises(Submitted, match="2 requests"):
            client_of(first, tmp_path, batch=True).ask(requests(3))
        assert len(client_of(second, tmp_path, batch=True).ask(requests(3))) == 3
        first.batch_status = "completed"
        assert len(client_of(first, tmp_path, batch=True).ask(requests(3))) == 3
        assert len(first.asked) == len(second.asked) == 3


def test_batches_of_two_models_in_one_file_are_collected_for_their_own_price(tmp_path):
    with chat_server() as server:
        server.knows_models = False

        def served(name, price):
            prices = {"input_price": price, "output_price": price}
            return ChatClient(name, ServerSettings(server=server.url, batch=True, **prices), 1, tmp_path)

        for name in ("cheap", "dear"):
            with pytest.raises(Submitted):
                served(name, 1.0).ask(requests(3))
        server.batch_status = "completed"
        cheap, dear = served("cheap", 10.0), served("dear", 1000.0)
        cheap.ask(requests(3))
        dear.ask(requests(3))
        assert cheap.usage.cost == pytest.approx(2 * 150 * 10 / 1e6 / 2)
        assert dear.usage.cost == pytest.approx(2 * 150 * 1000 / 1e6 / 2)


def test_a_file_of_before_has_its_batches_collected_by_the_model_that_was_asked(tmp_path):
    with chat_server() as server:
        server.knows_models = False
        with pytest.raises(Submitted):
            client_of(server, tmp_path, batch=True).ask(requests(3))
        with sqlite3.connect(tmp_path / REPLIES) as connection:
            connection.execute("INSERT INTO batches SELECT id, keys FROM submitted")
            connection.execute("DROP TABLE submitted")
        connection.close()
        server.batch_status = "completed"
        other = ChatClient("other", ServerSettings(server=server.url, batch=True), 1, tmp_path)
        with pytest.raises(Submitted):
            other.ask(requests(3))
        assert other.usage.asked == 1, "what it tried, and nothing of the batch of the other model"
        client = ChatClient(MODEL, ServerSettings(server=server.url, batch=True, **PRICES), 1, tmp_path)
        assert len(client.ask(requests(3))) == 3 and client.usage.cost == pytest.approx(2 * 0.1)
        assert len(server.batches) == 2
