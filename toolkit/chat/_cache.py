"""Replies that are kept, one committed after another, so that a killed run has paid for nothing in vain."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from toolkit.chat.requests import Reply

TABLES = """
CREATE TABLE IF NOT EXISTS replies (
  key TEXT PRIMARY KEY, text TEXT NOT NULL, finish TEXT NOT NULL, input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL, cost REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batches (id TEXT PRIMARY KEY, keys TEXT NOT NULL);
"""
BUSY = 60.0  # ours: seconds for which a process waits while another one writes
KEYS = 500  # ours: keys that are looked up at a time


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
            some = keys[begin : begin + KEYS]
            places = ", ".join("?" * len(some))
            query = f"SELECT key, text, finish, input_tokens, output_tokens FROM replies WHERE key IN ({places})"
            for key, *values in self._connection.execute(query, some):
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

    def batches(self) -> dict[str, list[str]]:
        """The keys of each batch that was submitted and not collected yet."""
        return {name: json.loads(keys) for name, keys in self._connection.execute("SELECT id, keys FROM batches")}

    def add_batch(self, name: str, keys: Sequence[str]) -> None:
        """Keep the name of a submitted batch."""
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO batches VALUES (?, ?)", (name, json.dumps(list(keys))))

    def remove_batch(self, name: str) -> None:
        """Forget a batch."""
        with self._connection:
            self._connection.execute("DELETE FROM batches WHERE id = ?", (name,))


@contextlib.contextmanager
def open_replies(path: Path) -> Iterator[Replies]:
    """Open the file of replies, or begin one.

    Raises:
        ValueError: The file is something else, or damaged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=BUSY, check_same_thread=False)
    try:
        _prepare(connection)
        yield Replies(path, connection)
    except sqlite3.DatabaseError as error:
        if "full" in str(error) or "I/O" in str(error):
            raise OSError(f"wanted to keep a reply in {path}, got: {error}; make room, and go on") from None
        raise ValueError(
            f"wanted the file of kept replies, got {path}, which is another file or damaged ({error}): give another "
            "reply_cache, or delete this one"
        ) from None
    finally:
        connection.close()


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
