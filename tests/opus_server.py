"""A server on loopback that has corpora as OPUS does: its API, and archives of which a part may be asked for."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Opus:
    """What the server has: entries of the API, and files by their paths.

    A fault is a path's regular expression, a status, "cut" for half of what is left, "long" for a length that never
    comes, or "moved" for a redirect to another host, and to how many requests it happens.
    """

    def __init__(self) -> None:
        self.entries: list[dict] = []
        self.files: dict[str, bytes] = {}
        self.faults: list[list] = []
        self.requests: list[tuple[str, str | None]] = []
        self.parts, self.url = True, ""

    def publish(self, corpus: str, content: bytes, version: str = "v1", source: str = "de", target: str = "en") -> str:
        """Add a corpus; return its address."""
        path = f"/{corpus}/{version}/moses/{source}-{target}.txt.zip"
        self.files[path] = content
        entry = {"id": 1, "corpus": corpus, "version": version, "latest": "True", "source": source, "target": target}
        entry |= {"preprocessing": "moses", "size": len(content) // 1024, "alignment_pairs": 5, "source_tokens": 9}
        self.entries.append(entry | {"url": self.url + path})
        return self.url + path

    def answer(self, query: dict[str, str]) -> bytes:
        """What the API says."""
        entries = [
            entry
            for entry in self.entries
            if all(entry[key] == query[key] for key in ("corpus", "preprocessing") if key in query)
            and {entry["source"], entry["target"]} == {query["source"], query["target"]}
            and (entry["version"] == query.get("version", entry["version"]) or query["version"] == "latest")
        ]
        return json.dumps({"corpora": entries}).encode()


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    opus: Opus

    def do_GET(self) -> None:
        opus, parts = self.opus, urlsplit(self.path)
        opus.requests.append((self.path, self.headers["Range"]))
        fault = next((f for f in opus.faults if f[2] and re.search(f[0], self.path)), None)
        if fault:
            fault[2] -= 1
        kind = fault[1] if fault else None
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        body = opus.answer(query) if parts.path == "/opusapi/" else opus.files.get(parts.path)
        start = int(self.headers["Range"][6:-1]) if opus.parts and self.headers["Range"] else 0
        status = kind if isinstance(kind, int) else 302 if kind == "moved" else 404 if body is None else 200
        if status == 200 and start:
            status = 206 if start < len(body) else 416
        content = body[start:] if status in (200, 206) else b"<html>an error</html>"
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "http://elsewhere.invalid/a.zip")
        self.send_header("Content-Length", str(len(content) + 9 * (kind == "long")))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(content[: len(content) // 2] if kind == "cut" else content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def serving() -> Iterator[Opus]:
    """A running server."""
    opus = Opus()
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"opus": opus})) as server:
        opus.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            yield opus
        finally:
            server.shutdown()
