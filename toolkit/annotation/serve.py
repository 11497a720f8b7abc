"""A local page on which people judge a sheet. Every answer is on the disk before the page says that it is saved."""

from __future__ import annotations

import contextlib
import fcntl
import json
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jinja2

from toolkit.annotation._answers import (
    ANSWERS,
    Answers,
    answer_files,
    append_answers,
    check_sheet,
    checked_name,
    open_sheet,
    read_answers,
    read_items,
    value,
)
from toolkit.package.templates import TEMPLATES
from toolkit.system.lock import take, write_holder
from toolkit.system.outputs import LOCK

OPEN_SECONDS = 1800  # ours: so long a page that an annotator was shown counts as theirs
LOOPBACK = ("127.0.0.1", "localhost", "::1")
IDLE_SECONDS = 60  # ours: a connection that sends nothing for so long is closed, so that it holds no thread
LONGEST_REQUEST = 10_000  # ours: bytes; one answer has a hundred


class Desk:
    """The pages and answers of a sheet, and who gets which page next.

    Args:
        folder: The folder of the sheet.

    Raises:
        ValueError: The folder holds no sheet, or a file of it is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record, self.sheet = open_sheet(folder)
        self.items = {item.item: item for item in read_items(folder)}
        self.pages: dict[int, list[str]] = defaultdict(list)
        for item in self.items.values():
            self.pages[item.page].append(item.item)
        self.lock = threading.Lock()
        self.shown: dict[int, dict[str, float]] = defaultdict(dict)  # page -> annotator -> when
        self.addresses: dict[str, set[str]] = defaultdict(set)  # annotator -> from where they answered
        self.answers: dict[str, dict[str, Answers]] = {}
        self.files = answer_files(folder)
        for name, file in self.files.items():
            check_sheet(file, self.record["id"], list(self.items.values()))
            self.answers[name] = read_answers(file, self.sheet, self.items)

    def note_address(self, annotator: str, address: str) -> None:
        """Say so on the terminal where one name comes from several machines: two people would change each other's."""
        with self.lock:
            known_addresses = self.addresses[annotator]
            if address not in known_addresses:
                known_addresses.add(address)
                if len(known_addresses) > 1:
                    address_list = " and ".join(sorted(known_addresses))
                    print(
                        f"{annotator} answers from {address_list}: if these are two people, give one another name",
                        flush=True,
                    )

    def begun(self, annotator: str) -> list[int]:
        """The pages on which an annotator has answered, in the order of the first answers."""
        return list(dict.fromkeys(self.items[item].page for item in self.answers.get(annotator, ())))

    def complete(self, annotator: str, page: int) -> bool:
        """Whether an annotator has answered all questions of a page."""
        answers = self.answers.get(annotator, {})
        return all(answers.get(item, {}).keys() >= set(self.sheet.required) for item in self.pages[page])

    def open_to(self, annotator: str) -> tuple[list[int], int]:
        """The pages that an annotator may get, and how many more they may get if others do not finish them.

        A page is theirs to get if they have not begun it, and if too few others have finished it or had it before them
        in the last half hour.
        """
        other_annotators = [name for name in self.answers if name != annotator]
        finishers = {page: {name for name in other_annotators if self.complete(name, page)} for page in self.pages}
        since = time.monotonic() - OPEN_SECONDS
        people = {
            page: finishers[page]
            | {name for name, when in self.shown[page].items() if when > since and name != annotator}
            for page in self.pages
        }
        judgments_per_page, begun_pages = self.record["judgments"], set(self.begun(annotator))
        unfinished_pages = [
            page for page in self.pages if page not in begun_pages and len(finishers[page]) < judgments_per_page
        ]
        free_pages = [page for page in unfinished_pages if len(people[page]) < judgments_per_page]
        free_pages.sort(key=lambda page: (-len(people[page]), _order_key(annotator, page)))
        return free_pages, len(unfinished_pages) - len(free_pages)

    def next_page(self, annotator: str) -> dict:
        """The page that an annotator should get next, None if there is none; and how many are done, left and reserved.

        Pages that others have begun come first, so that judgments of the same texts can be compared early.
        """
        with self.lock:
            begun_pages = self.begun(annotator)
            unfinished_pages = [page for page in begun_pages if not self.complete(annotator, page)]
            free_pages, reserved = self.open_to(annotator)
            page = next(iter([*unfinished_pages, *free_pages]), None)
            if page is not None:
                self.shown[page][annotator] = time.monotonic()
            numbers = {
                "done": len(begun_pages) - len(unfinished_pages),
                "left": len(free_pages) + len(unfinished_pages),
                "reserved": reserved,
            }
            return {"page": page, "begun": begun_pages, **numbers}

    def page(self, annotator: str, page: int) -> dict:
        """A page as an annotator sees it, with what they have answered."""
        with self.lock:
            answers = self.answers.get(annotator, {})
            items = [self.items[item] for item in self.pages[page]]
            return {
                "page": page,
                "reference": items[0].reference,
                "items": [
                    {"item": item.item, "paraphrase": item.paraphrase, "answers": answers.get(item.item, {})}
                    for item in items
                ],
            }

    def save(self, annotator: str, item: str, answers: dict[str, Any]) -> None:
        """Save the answers to an item.

        Raises:
            ValueError: The item or a question is not of this sheet, or an answer is out of its range.
            OSError: The answers cannot be written.
        """
        questions = {question.name: question for question in self.sheet.questions}
        if item not in self.items or not answers.keys() <= questions.keys():
            raise ValueError(
                f"wanted answers to an item of this sheet, got {item!r} with {', '.join(answers)}: reload the page"
            )
        values = {name: value(questions[name], str(answer)) for name, answer in answers.items()}
        present_answers = {name: answer for name, answer in values.items() if answer is not None}
        with self.lock:
            file = self.files.setdefault(annotator, self.folder / ANSWERS / f"{annotator}.csv")
            append_answers(file, self.sheet, item, present_answers, self.record["id"])
            self.answers.setdefault(annotator, {})[item] = present_answers
            self.shown[self.items[item].page][annotator] = time.monotonic()


def _order_key(annotator: str, page: int) -> bytes:
    """A place for a page in an order that is each annotator's own."""
    return blake2b(f"{annotator}\t{page}".encode(), digest_size=8).digest()


def _render_page(desk: Desk) -> str:
    """The page for the browser."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    files = ("page.css", "annotate.css", "annotate.js", "annotate.html")
    style, own_style, script, text = ((TEMPLATES / name).read_text(encoding="utf-8") for name in files)
    data = {
        "id": desk.record["id"],
        "questions": [asdict(question) for question in desk.sheet.questions],
        "required": desk.sheet.required,
        "pages": len(desk.pages),
        "texts": len(desk.items),
        "minutes": -(-len(desk.items) * desk.sheet.seconds // 60),
        "example": desk.sheet.example,
    }
    return environment.from_string(text).render(style=style + own_style, script=script, data=data)


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of the page; `desk`, `shown_page` and `hosts` are set by `_server`."""

    desk: Desk
    shown_page: bytes
    hosts: frozenset[str]  # by which the page may be asked for; empty is any
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS

    def handle(self) -> None:
        """Answer the requests of a connection until it ends, also where the browser ends it in the middle of one."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """The page, the next page of an annotator, or one page."""
        url = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        page = {str(number): number for number in self.desk.pages}.get(query.get("page", ""))
        if self.is_foreign():
            self.reply(403, b"{}", "application/json")
        elif url.path == "/":
            self.reply(200, self.shown_page, "text/html; charset=utf-8")
        elif url.path == "/next":
            self.answer(lambda: self.desk.next_page(self.annotator(query)))
        elif url.path == "/page" and page is not None:
            self.answer(lambda: self.desk.page(self.annotator(query), page))
        else:
            self.reply(404, b"{}", "application/json")

    def is_foreign(self) -> bool:
        """Whether another site asks, or this one under another site's name (DNS rebinding)."""
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
        site = self.headers.get("Sec-Fetch-Site", "none")
        navigates = self.headers.get("Sec-Fetch-Mode") == "navigate" and self.path.partition("?")[0] == "/"
        return bool(self.hosts and host not in self.hosts) or not (navigates or site in ("same-origin", "none"))

    def annotator(self, query: Mapping[str, Any]) -> str:
        """The name of the annotator in a request from a page of this sheet.

        Raises:
            ValueError: The page is of another sheet, or the name is no file name.
        """
        if query.get("sheet") != self.desk.record["id"]:
            raise ValueError("wanted a page of this sheet, got one of another that was served here: reload the page")
        name = checked_name(str(query.get("annotator", "")))
        self.desk.note_address(name, self.client_address[0])
        return name

    def do_POST(self) -> None:
        """Save the answers to an item; other sites' pages cannot send JSON here."""
        length = self.headers.get("Content-Length", "")
        size = int(length) if length.isascii() and length.isdecimal() and len(length) < 10 else LONGEST_REQUEST + 1
        if size > LONGEST_REQUEST:
            self.close_connection = True
            self.reply(413, b"{}", "application/json")
            return
        body = self.rfile.read(size)
        if self.path != "/answers" or self.is_foreign() or self.headers.get("Content-Type") != "application/json":
            self.reply(404, b"{}", "application/json")
            return

        def save() -> dict:
            try:
                request = json.loads(body)
                item, answers = str(request["item"]), dict(request["answers"])
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise ValueError(f"wanted annotator, item and answers, got another request ({error})") from None
            self.desk.save(self.annotator(request), item, answers)
            return {"saved": item}

        self.answer(save)

    def answer(self, work: Callable[[], dict]) -> None:
        """Reply with what `work` returns, or with its error."""
        try:
            status, content = 200, work()
        except ValueError as error:
            status, content = 400, {"error": str(error)}
        except OSError as error:
            status, content = 507, {"error": f"not saved: {error.strerror}"}
        self.reply(status, json.dumps(content).encode(), "application/json")

    def reply(self, status: int, body: bytes, kind: str) -> None:
        """Send a reply."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing: the terminal shows the address."""


def _server(folder: Path, host: str, port: int) -> ThreadingHTTPServer:
    """A server of a sheet, which does not serve yet.

    Args:
        folder: The folder of the sheet.
        host: The address that it listens to.
        port: The port; 0 takes a free one.

    Raises:
        ValueError: The folder holds no sheet, or a file of it is damaged.
        OSError: The port is taken, or no port of this machine.
    """
    desk = Desk(folder)
    attributes = {"desk": desk, "shown_page": _render_page(desk).encode(), "hosts": _allowed_hosts(host)}
    try:
        return ThreadingHTTPServer((host, port), type("SheetHandler", (_Handler,), attributes))
    except OverflowError:
        raise ValueError(f"wanted a port from 0 to 65535, got {port}: choose another") from None
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}: choose another --port or --host", f"{host}:{port}") from None


def _allowed_hosts(host: str) -> frozenset[str]:
    """The names by which a page may be asked for on an address of this machine alone; none where others may ask."""
    return frozenset(LOOPBACK) if host in LOOPBACK else frozenset()


def serve(folder: Path, host: str, port: int) -> None:
    """Serve a sheet until the command is interrupted.

    Raises:
        RuntimeError: Another process serves it.
        ValueError, OSError: See `_server`.
    """
    open_sheet(folder)
    with (folder / LOCK).open("a+", encoding="utf-8") as lock:
        take(lock, fcntl.LOCK_EX, folder)
        lock.truncate(0)
        write_holder(lock)
        with _server(folder, host, port) as http_server:
            name = host if _allowed_hosts(host) else socket.gethostname()
            address = f"http://{name}:{http_server.server_address[1]}/"
            print(f"{address}   Answers go to {folder / ANSWERS}. Ctrl-C ends.", flush=True)
            http_server.serve_forever()
