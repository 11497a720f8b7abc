"""Replies that are kept, one committed after another, so that a killed run has paid for nothing in vain."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from toolkit.chat.requests import Reply

TABLES = """
CREATE TABLE IF NOT EXISTS replies (
  key TEXT PRIMARY KEY, text TEXT NOT NULL, finish TEXT NOT NULL, input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL, cost REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS submitted (
  server TEXT NOT NULL, model TEXT NOT NULL, id TEXT NOT NULL, keys TEXT NOT NULL, PRIMARY KEY (server, id));
CREATE TABLE IF NOT EXISTS batches (id TEXT PRIMARY KEY, keys TEXT NOT NULL);
"""  # `batches` is that of older files, which do not say whose a batch is
BUSY = 60.0  # ours: seconds for which a process waits while another one writes
KEYS = 500  # ours: keys that are looked up at a time
REMEDIES = {  # what SQLite says where the file itself is sound, and what helps
    "full": "make room, and go on",
    "I/O": "make room, and go on",
    "locked": "another process writes to it for long: wait for that, or end it, and go on",
    "readonly": "let this user write to it, and go on",
    "unable to open": "name a file in a folder that this user may write to",
}


class ServedModel(NamedTuple):
    """Whose a batch is: a server gives no other one its batches, and a model has its own prices.

    Attributes:
        server: The address of the server.
        model: The name by which it has the model.
    """

    server: str
    model: str


class Replies:
    """The replies in one file, which several processes of a machine may read and write.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Take an open file; see `open_replies`."""
        self.path, self._connection = path, connection

    def find(self, keys: Sequence[str]) -> dict[str, Reply]:
        """The replies that are kept, by key."""
        replies = {}
        for begin in range(0, len(keys), KEYS):
            part = keys[begin : begin + KEYS]
            places = ", ".join("?" * len(part))
            query = f"SELECT key, text, finish, input_tokens, output_tokens FROM replies WHERE key IN ({places})"
            for key, *values in self._connection.execute(query, part):
                replies[key] = Reply(*values)
        return replies

    def keep(self, key: str, reply: Reply, cost: float) -> None:
        """Keep a reply; it is on the disk when this returns."""
        values = (key, reply.text, reply.finish, reply.input_tokens, reply.output_tokens, cost)
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?)", values)

    def cost(self) -> float:
        """Dollars that all replies of the file have cost."""
        return self._connection.execute("SELECT COALESCE(SUM(cost), 0) FROM replies").fetchone()[0]

    def batches(self, owner: ServedModel) -> dict[str, list[str]]:
        """The keys of each batch of a model that was submitted and not collected yet, by the name of the batch."""
        query = "SELECT id, keys FROM submitted WHERE server = ? AND model = ?"
        return {name: json.loads(keys) for name, keys in self._connection.execute(query, owner)}

    def add_batch(self, owner: ServedModel, name: str, keys: Sequence[str]) -> None:
        """Keep the name of a submitted batch."""
        with self._connection:
            values = (*owner, name, json.dumps(list(keys)))
            self._connection.execute("INSERT OR REPLACE INTO submitted VALUES (?, ?, ?, ?)", values)

    def remove_batch(self, owner: ServedModel, name: str) -> None:
        """Forget a batch."""
        with self._connection:
            self._connection.execute("DELETE FROM submitted WHERE server = ? AND id = ?", (owner.server, name))

    def claim_batches(self, owner: ServedModel, keys: Collection[str]) -> None:
        """Note whose the batches of an older file are: a key depends on server and model, so it is nobody else's.

        Args:
            owner: A model.
            keys: Keys of requests to it.
        """
        old = self._connection.execute("SELECT id, keys FROM batches").fetchall()
        for name, batch_keys in ((name, json.loads(text)) for name, text in old):
            if not set(batch_keys).isdisjoint(keys):
                self.add_batch(owner, name, batch_keys)
                with self._connection:
                    self._connection.execute("DELETE FROM batches WHERE id = ?", (name,))


@contextlib.contextmanager
def open_replies(path: Path) -> Iterator[Replies]:
    """Open the file of replies, or begin one.

    Raises:
        OSError: It cannot be written now, here or within the block.
        ValueError: The file is something else, or damaged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=BUSY, check_same_thread=False)) as connection:
            _prepare(connection)
            yield Replies(path, connection)
    except sqlite3.DatabaseError as error:
        if remedy := next((remedy for words, remedy in REMEDIES.items() if words in str(error)), None):
            raise OSError(f"wanted to keep a reply in {path}, got: {error}; {remedy}") from None
        raise ValueError(
            f"wanted the file of kept replies, got {path}, which is another file or damaged ({error}): give another "
            "reply_cache, or delete this one"
        ) from None


def _prepare(connection: sqlite3.Connection) -> None:
    """Set up a file; of several processes that begin it, each waits for the others."""
    end = time.monotonic() + BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(TABLES)
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.05)
