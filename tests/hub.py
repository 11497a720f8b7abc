"""A Hub on loopback: the part of its HTTP interface that publishing and loading use, with faults on request.

It keeps repositories of data sets and models as commits of files, in memory. Parquet files and weights are uploaded as
the Hub asks for them, by the protocol of git-lfs or into a Xet storage, everything else inside the commit. Without a
Xet storage, as many servers are, a client must set HF_HUB_DISABLE_XET=1.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from tests.xet import Xet

LARGE = (".parquet", ".safetensors", ".png", ".spm", ".gz")  # uploaded by git-lfs
READER, WRITER, GUEST = "hf_reader", "hf_writer", "hf_guest"  # tokens: may read; may write; may write elsewhere only
TOKENS = {READER: "read", WRITER: "write", GUEST: "fineGrained"}
USER = "someone"


@dataclass(frozen=True)
class Blob:
    """The content of a file, and how it was uploaded."""

    content: bytes
    large: bool

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def oid(self) -> str:
        """The id that git gives a file: of a large one that of its pointer."""
        data = self.content
        if self.large:
            data = f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {len(data)}\n".encode()
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@dataclass
class Repository:
    """A repository: its commits by id, where its branch is, and its tags."""

    private: bool
    commits: dict[str, dict[str, Blob]] = field(default_factory=dict)
    main: str = ""
    tags: dict[str, str] = field(default_factory=dict)

    def commit(self, files: dict[str, Blob]) -> str:
        """Add a commit with these files to the branch."""
        names = "".join(f"{path} {blob.oid}\n" for path, blob in sorted(files.items()))
        self.main = hashlib.sha1(f"{self.main}\n{names}{len(self.commits)}".encode()).hexdigest()
        self.commits[self.main] = files
        return self.main

    def at(self, revision: str) -> str | None:
        """The commit that a branch, a tag or an id names."""
        known = {"main": self.main} | self.tags | {oid: oid for oid in self.commits}
        return known.get(revision)


@dataclass
class Fault:
    """What goes wrong with the next requests to some path.

    Attributes:
        method: The method of the requests.
        path: A regular expression, searched for in their paths.
        answer: A status, "drop" to close the connection in the middle of the request's body, or "stall" to stop
            reading it until `Hub.resume` is set.
        times: How many requests it befalls.
        skip: How many requests pass before.
        headers: Headers of the answer.
    """

    method: str
    path: str
    answer: int | str
    times: int = 1
    skip: int = 0
    headers: dict[str, str] = field(default_factory=dict)


class Hub:
    """The state of the server, which tests read, and the faults that they want."""

    def __init__(self, xet: Xet | None = None) -> None:
        self.xet = xet
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.stored: dict[str, bytes] = {}  # by SHA-256, what git-lfs uploaded
        self.uploaded = 0  # bytes of all uploads of large files
        self.requests: list[str] = []
        self.faults: list[Fault] = []
        self.lock = threading.RLock()
        self.stalled, self.resume = threading.Event(), threading.Event()
        self.slept: list[float] = []  # seconds that a client in this process waited
        self.url = ""

    def fault(self, method: str, path: str) -> Fault | None:
        """The fault that befalls a request, counted down."""
        for fault in self.faults:
            if fault.method == method and re.search(fault.path, path):
                if fault.skip:
                    fault.skip -= 1
                elif fault.times:
                    fault.times -= 1
                    return fault
        return None


class Answer(Exception):
    """The answer to a request."""

    def __init__(self, status: int, content: object = b"", headers: dict[str, str] | None = None):
        self.status, self.headers = status, headers or {}
        self.content = content if isinstance(content, bytes) else json.dumps(content).encode()


def missing(code: str) -> Answer:
    """The Hub's answer for something that is not there."""
    return Answer(404, {"error": code}, {"X-Error-Code": code, "X-Error-Message": code})


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else every answer waits for 40 ms
    hub: Hub

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    def handle_one_request(self) -> None:
        with contextlib.suppress(ConnectionError):
            super().handle_one_request()

    def do_GET(self) -> None:
        self.reply()

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET

    def reply(self) -> None:
        """Find what a request asks for, or let the fault happen."""
        path = unquote(urlsplit(self.path).path)
        length = int(self.headers.get("Content-Length") or 0)
        with self.hub.lock:
            self.hub.requests.append(f"{self.command} {path}")
            fault = self.hub.fault(self.command, path)
        if fault and fault.answer == "stall":
            self.hub.stalled.set()
            self.rfile.read(length // 2)
            self.hub.resume.wait(60)
        if fault and fault.answer in ("drop", "stall"):
            self.rfile.read(length // 2)
            self.close_connection = True
            self.connection.close()
            return
        body = self.rfile.read(length) if length else self.chunks()
        try:
            if fault:
                raise Answer(int(fault.answer), {"error": "an injected fault"}, fault.headers)
            with self.hub.lock:
                self.route(path, body)
            raise missing("EntryNotFound")
        except Answer as answer:
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if "Content-Length" not in answer.headers:
                self.send_header("Content-Length", str(len(answer.content)))
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.content)

    def chunks(self) -> bytes:
        """The body of a request in chunks."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return b""
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    @property
    def role(self) -> str:
        """What the token of a request may do: "read", "write" or, without one, ""."""
        return TOKENS.get((self.headers.get("Authorization") or "").removeprefix("Bearer "), "")

    def route(self, path: str, body: bytes) -> None:
        """Call what serves a path; each raises its answer."""
        routes: list[tuple[str, str, Callable[..., None]]] = [
            ("GET", r"/api/whoami-v2", self.whoami),
            ("POST", r"/api/repos/create", self.create),
            ("POST", r"/api/validate-yaml", self.validate),
            ("POST", r"/(?:datasets/)?.+\.git/info/lfs/objects/batch", self.batch),
            ("PUT", r"/lfs/(\w+)", self.store),
            ("POST", r"/api/(datasets|models)/(.+?)/preupload/(.+)", self.preupload),
            ("POST", r"/api/(datasets|models)/(.+?)/commit/(.+)", self.commit),
            ("POST", r"/api/(datasets|models)/(.+?)/tag/(.+)", self.tag),
            ("POST", r"/api/(datasets|models)/(.+?)/paths-info/(.+)", self.paths_info),
            ("GET", r"/api/(datasets|models)/(.+?)/refs", self.refs),
            ("GET", r"/api/(datasets|models)/(.+?)/xet-(read|write)-token/(.+)", self.xet_token),
            ("GET", r"/api/(datasets|models)/(.+?)/tree/([^/]+)/?(.*)", self.tree),
            ("GET", r"/api/(datasets|models)/([^/]+/[^/]+)(?:/revision/(.+))?", self.info),
            ("GET|HEAD", r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", self.resolve),
        ]
        for method, pattern, serve in routes:
            if re.fullmatch(method, self.command) and (match := re.fullmatch(pattern, path)):
                serve(*match.groups(), body=body)

    def whoami(self, body: bytes) -> None:
        if not self.role:
            raise Answer(401, {"error": "Invalid username or password."})
        raise Answer(200, {"name": USER, "type": "user", "orgs": [{"name": "org"}], "auth": {
            "accessToken": {"role": self.role, "displayName": "t"}}})  # fmt: skip

    def may_write(self) -> None:
        """Refuse a request without a token that may write."""
        if self.role != "write":
            message = "You don't have the rights to create or change this repository"
            raise Answer(403 if self.role else 401, {"error": message}, {"X-Error-Message": message})

    def create(self, body: bytes) -> None:
        self.may_write()
        request = json.loads(body)
        name = f"{request.get('organization') or USER}/{request['name']}"
        key = (f"{request.get('type') or 'model'}s", name)
        place = {"url": f"{self.hub.url}/{'datasets/' if key[0] == 'datasets' else ''}{name}", "name": name, "id": name}
        if key in self.hub.repositories:
            raise Answer(409, {"error": "You already created this repo", **place})
        self.hub.repositories[key] = Repository(request.get("visibility") == "private")
        self.hub.repositories[key].commit({".gitattributes": Blob(b"*.parquet filter=lfs\n", False)})
        raise Answer(200, place)

    def validate(self, body: bytes) -> None:
        raise Answer(200, {"errors": [], "warnings": []})

    def repository(self, kind: str, name: str) -> Repository:
        """A repository that the token may see."""
        repository = self.hub.repositories.get((kind, name))
        if repository is None or (repository.private and not self.role):
            raise (
                missing("RepoNotFound") if self.role else Answer(401, {"error": "x"}, {"X-Error-Code": "RepoNotFound"})
            )
        return repository

    def files(self, kind: str, name: str, revision: str) -> tuple[str, dict[str, Blob]]:
        """The commit of a revision and its files."""
        repository = self.repository(kind, name)
        oid = repository.at(revision)
        if oid is None:
            raise missing("RevisionNotFound")
        return oid, repository.commits[oid]

    def info(self, kind: str, name: str, revision: str | None, body: bytes) -> None:
        oid, files = self.files(kind, name, revision or "main")
        siblings = [{"rfilename": path} for path in sorted(files)]
        private = self.repository(kind, name).private
        raise Answer(200, {"id": name, "sha": oid, "private": private, "siblings": siblings, "tags": [],
                           "downloads": 0, "likes": 0, "gated": False, "disabled": False})  # fmt: skip

    def described(self, path: str, blob: Blob) -> dict:
        """A file as the listings show it."""
        large = {"lfs": {"oid": blob.sha256, "size": len(blob.content), "pointerSize": 130}} if blob.large else {}
        return {"type": "file", "path": path, "oid": blob.oid, "size": len(blob.content), **large}

    def tree(self, kind: str, name: str, revision: str, folder: str, body: bytes) -> None:
        _, files = self.files(kind, name, revision)
        recursive = parse_qs(urlsplit(self.path).query).get("recursive", [""])[0].lower() == "true"
        start = f"{folder}/" if folder else ""
        entries: dict[str, dict] = {}
        for path, blob in sorted(files.items()):
            inside = path.removeprefix(start)
            if not path.startswith(start):
                continue
            for depth in range(inside.count("/")):
                parent = start + "/".join(inside.split("/")[: depth + 1])
                if recursive or depth == 0:
                    entries[parent] = {"type": "directory", "path": parent, "oid": "0" * 40, "size": 0}
            if recursive or "/" not in inside:
                entries[path] = self.described(path, blob)
        if folder and not entries:
            raise missing("EntryNotFound")
        raise Answer(200, list(entries.values()))

    def paths_info(self, kind: str, name: str, revision: str, body: bytes) -> None:
        _, files = self.files(kind, name, revision)
        text = body.decode()
        paths = json.loads(text)["paths"] if text.startswith("{") else parse_qs(text).get("paths", [])
        entries = [self.described(path, files[path]) for path in paths if path in files]
        folders = [p for p in paths if p not in files and any(f.startswith(f"{p}/") for f in files)]
        entries += [{"type": "directory", "path": path, "oid": "0" * 40, "size": 0} for path in folders]
        raise Answer(200, entries)

    def refs(self, kind: str, name: str, body: bytes) -> None:
        repository = self.repository(kind, name)
        branches = [{"name": "main", "ref": "refs/heads/main", "targetCommit": repository.main}]
        tags = [{"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": oid} for tag, oid in repository.tags.items()]
        raise Answer(200, {"branches": branches, "tags": tags, "converts": [], "pullRequests": []})

    def preupload(self, kind: str, name: str, revision: str, body: bytes) -> None:
        self.may_write()
        _, files = self.files(kind, name, revision)
        answers = []
        for file in json.loads(body)["files"]:
            path = file["path"]
            oid = {"oid": files[path].oid} if path in files else {}
            if path in files and files[path].large:
                oid = {"oid": files[path].sha256}
            mode = "lfs" if path.endswith(LARGE) else "regular"
            answers.append({"path": path, "uploadMode": mode, "shouldIgnore": False, **oid})
        raise Answer(200, {"files": answers})

    def xet_token(self, kind: str, name: str, use: str, revision: str, body: bytes) -> None:
        if use == "write":
            self.may_write()
        if self.hub.xet is None:
            raise Answer(404, {"error": "Not Found"})
        expires = int(time.time()) + 3600
        headers = {
            "X-Xet-Cas-Url": self.hub.xet.address,
            "X-Xet-Access-Token": "x",
            "X-Xet-Token-Expiration": str(expires),
        }
        raise Answer(200, {"casUrl": self.hub.xet.address, "accessToken": "x", "exp": expires}, headers)

    def batch(self, body: bytes) -> None:
        self.may_write()
        objects = [
            {"oid": item["oid"], "size": item["size"]}
            | (
                {}
                if item["oid"] in self.hub.stored
                else {"actions": {"upload": {"href": f"{self.hub.url}/lfs/{item['oid']}"}}}
            )
            for item in json.loads(body)["objects"]
        ]
        raise Answer(200, {"transfer": "basic", "objects": objects})

    def store(self, sha256: str, body: bytes) -> None:
        if hashlib.sha256(body).hexdigest() != sha256:
            raise Answer(400, {"error": "the content has another hash"})
        self.hub.stored[sha256] = body
        self.hub.uploaded += len(body)
        raise Answer(200)

    def commit(self, kind: str, name: str, revision: str, body: bytes) -> None:
        self.may_write()
        repository = self.repository(kind, name)
        files = dict(repository.commits[repository.main])
        for line in body.decode().splitlines():
            operation = json.loads(line)
            value = operation["value"]
            if operation["key"] == "header" and value.get("parentCommit") not in (None, repository.main):
                raise Answer(412, {"error": "A commit has happened since"})
            if operation["key"] == "file":
                files[value["path"]] = Blob(base64.b64decode(value["content"]), False)
            if operation["key"] == "lfsFile":
                if (
                    value["oid"] not in self.hub.stored
                    and self.hub.xet
                    and (content := self.hub.xet.content(value["oid"]))
                ):
                    self.hub.stored[value["oid"]] = content
                if value["oid"] not in self.hub.stored:
                    raise Answer(400, {"error": f"no content was uploaded for {value['path']}"})
                files[value["path"]] = Blob(self.hub.stored[value["oid"]], True)
            if operation["key"] == "deletedFile":
                files.pop(value["path"])
            if operation["key"] == "deletedFolder":
                files = {path: blob for path, blob in files.items() if not path.startswith(value["path"])}
        oid = repository.commit(files)
        raise Answer(200, {"commitUrl": f"{self.hub.url}/{name}/commit/{oid}", "commitOid": oid, "success": True})

    def tag(self, kind: str, name: str, revision: str, body: bytes) -> None:
        self.may_write()
        repository, tag = self.repository(kind, name), json.loads(body)["tag"]
        oid = repository.at(revision)
        if oid is None:
            raise missing("RevisionNotFound")
        if tag in repository.tags:
            raise Answer(409, {"error": "Tag reference exists already"})
        repository.tags[tag] = oid
        raise Answer(200)

    def resolve(self, kind: str | None, name: str, revision: str, path: str, body: bytes) -> None:
        oid, files = self.files("datasets" if kind else "models", name, revision)
        if path not in files:
            answer = missing("EntryNotFound")
            answer.headers["X-Repo-Commit"] = oid
            raise answer
        blob = files[path]
        content, status = blob.content, 200
        headers = {
            "X-Repo-Commit": oid,
            "ETag": f'"{blob.sha256 if blob.large else blob.oid}"',
            "Accept-Ranges": "bytes",
        }
        if blob.large:
            headers |= {"X-Linked-Etag": f'"{blob.sha256}"', "X-Linked-Size": str(len(content))}
            if self.hub.xet and blob.sha256 in (files_there := self.hub.xet.files()):
                headers["X-Xet-Hash"] = files_there[blob.sha256][0]
                headers["X-Xet-Refresh-Route"] = f"{self.hub.url}/api/{kind or 'models/'}{name}/xet-read-token/{oid}"
        if part := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or ""):
            first, last = int(part[1]), int(part[2] or len(content) - 1)
            headers["Content-Range"] = f"bytes {first}-{min(last, len(content) - 1)}/{len(content)}"
            content, status = content[first : last + 1], 206
        if self.command == "HEAD":
            headers["Content-Length"] = str(len(content))
        raise Answer(status, content, headers)


@contextlib.contextmanager
def serving(xet: Xet | None = None) -> Iterator[Hub]:
    """A Hub that listens on a free port of this machine until the block ends."""
    hub = Hub(xet)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("HubHandler", (Handler,), {"hub": hub}))
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
