"""A server on loopback that publishes translation models as Mozilla's Remote Settings does, with faults on request."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import zstandard

NEW, OLD = "translations-models-v2", "translations-models"
NAMES = {
    "model": "model.{}.intgemm8.bin", "lex": "lex.50.50.{}.s2t.bin", "vocab": "vocab.{}.spm",
    "srcvocab": "srcvocab.{}.spm", "trgvocab": "trgvocab.{}.spm",
}  # fmt: skip
THREE = ("model", "lex", "vocab")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Settings:
    """What the server has: collections of records, and attachments by their paths.

    A fault is a regular expression for a path, what happens, and to how many requests: a status, "cut" for half of a
    body, "hang" for half of it and silence until `go`, or "moved" for a redirect.
    """

    def __init__(self) -> None:
        self.collections: dict[str, list[dict]] = {NEW: [], OLD: []}
        self.attachments: dict[str, bytes] = {}
        self.faults: list[list] = []
        self.requests: list[str] = []
        self.go, self.silent = threading.Event(), threading.Event()
        self.url = ""
        self.lock = threading.Lock()

    def publish(
        self, source: str, target: str, version: str = "3.0", architecture: str = "tiny", kinds: tuple = THREE,
        collection: str = NEW, **fields: object,
    ) -> dict[str, bytes]:  # fmt: skip
        """Add the records of a model; return its files by name, compressed in the new collection."""
        files = {}
        for kind in kinds:
            name = NAMES[kind].format(source + target)
            content = f"{kind} {source} {target} {version} {architecture} {fields} ".encode() * 50
            data = zstandard.compress(content) if collection == NEW else content
            location = f"main-workspace/{collection}/{sha256(data)[:12]}.{'zst' if collection == NEW else 'bin'}"
            record: dict = {"id": location, "name": name, "version": version, "fileType": kind, "last_modified": 1}
            record["attachment"] = {
                "hash": sha256(data), "size": len(data), "filename": f"{name}.zst", "location": location,
                "mimetype": "application/zstd",
            }  # fmt: skip
            if collection == NEW:
                record |= {"sourceLanguage": source, "targetLanguage": target, "architecture": architecture}
                record |= {"decompressedHash": sha256(content), "decompressedSize": len(content)}
            else:
                record |= {"fromLang": source, "toLang": target}
            self.collections[collection].append(record | fields)
            self.attachments[location] = data
            files[name] = content
        return files

    def fault(self, path: str, failure: int | str, times: int = 1) -> None:
        """Let so many requests to a path fail."""
        self.faults.append([path, failure, times])

    def befalls(self, path: str) -> int | str | None:
        """The fault of a request, counted down."""
        with self.lock:
            self.requests.append(path)
            for fault in self.faults:
                if fault[2] and re.search(fault[0], path):
                    fault[2] -= 1
                    return fault[1]
        return None

    def body(self, path: str) -> bytes | None:
        """The answer to a request; None if there is none."""
        if path == "/v1/":
            return json.dumps({"capabilities": {"attachments": {"base_url": f"{self.url}/files/"}}}).encode()
        if match := re.fullmatch(r"/v1/buckets/main/collections/(.+)/records", path):
            records = self.collections.get(match[1])
            return None if records is None else json.dumps({"data": records}).encode()
        return self.attachments.get(path.removeprefix("/moved").removeprefix("/files/"))


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    settings: Settings

    def do_GET(self) -> None:
        settings = self.settings
        path = re.sub("^http://[^/]+", "", self.path)  # a client that takes this for its proxy sends whole URLs
        fault, body = settings.befalls(path), settings.body(path)
        status = fault if isinstance(fault, int) else 404 if body is None else 302 if fault == "moved" else 200
        self.send_response(status)
        content = body if body is not None and status == 200 else b"<html>an error</html>"
        if fault == "moved":
            self.send_header("Location", f"/moved{path}")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])
        if fault == "hang":
            self.wfile.flush()
            settings.silent.set()
            settings.go.wait()
        if fault != "cut":
            with contextlib.suppress(OSError):  # who has waited too long has gone
                self.wfile.write(content[len(content) // 2 :])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def publishing() -> Iterator[Settings]:
    """A running server."""
    settings = Settings()
    handler = type("Bound", (Handler,), {"settings": settings})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        settings.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            yield settings
        finally:
            settings.go.set()
            server.shutdown()
