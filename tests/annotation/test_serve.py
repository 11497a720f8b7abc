"""The page on which people judge: who gets which page, and that no answer is lost; in real processes and a browser."""

import contextlib
import csv
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from builders.commands.annotate import main
from tests import pages
from tests.annotation.test_make import write_bank
from tests.pages import check_page
from toolkit.annotation import serve
from toolkit.annotation._answers import read_answers, read_items
from toolkit.annotation.make import make_sheet
from toolkit.annotation.serve import Desk, _server
from toolkit.annotation.sheets import PARABANK, PARANMT, PARAZH

ROOT = Path(__file__).parents[2]
TEXTS = [
    "We will go home now.",
    "我们现在回家。",
    "سوف نعود إلى البيت الآن.",
    "<b>bold</b> & 'more'",
    *(f"{n} texts" for n in range(8)),
]


def new_sheet(folder, sheet=PARABANK, size=12, texts=TEXTS):
    """A sheet of twelve references with three paraphrases each, from a secret parabank."""
    bank = write_bank(folder, "secret", [(text, f"{text} 1", f"{text} 2", f"{text} 3") for text in texts])
    make_sheet([bank], sheet, folder / "sheet", size=size, ranks=(1, 3))
    return folder / "sheet"


def id_of(folder):
    return json.loads((folder / "sheet.json").read_text())["id"]


def answer_page(desk, annotator, page):
    for item in desk.pages[page]:
        desk.save(annotator, item, {"similarity": 50, "ungrammatical": 0, "nonsensical": 0})


def test_every_page_gets_as_many_annotators_as_wanted(tmp_path):
    folder = new_sheet(tmp_path)
    desk = Desk(folder)
    people = [f"person{n}" for n in range(5)]
    while pages := {name: reply["page"] for name in people if (reply := desk.next_page(name))["page"] is not None}:
        for name, page in pages.items():
            answer_page(desk, name, page)
    counts = {page: sum(page in desk.begun(name) for name in people) for page in desk.pages}
    assert set(counts.values()) == {3}, "people who work at the same time take no page together that is full"
    again = Desk(folder)
    assert again.answers == desk.answers and all(again.begun(name) == desk.begun(name) for name in people)


def test_begun_pages_come_first_and_unfinished_ones_before(tmp_path):
    desk = Desk(new_sheet(tmp_path))
    first = desk.next_page("anna")["page"]
    answer_page(desk, "anna", first)
    assert desk.next_page("ben")["page"] == first, "so that two people judge the same texts early"
    second = desk.next_page("anna")["page"]
    desk.save("anna", desk.pages[second][0], {"similarity": 1})
    reply = desk.next_page("anna")
    numbers = {"done": 1, "left": len(desk.pages) - 1, "reserved": 0}
    assert reply == {"page": second, "begun": [first, second], **numbers}
    assert desk.page("anna", second)["items"][0]["answers"] == {"similarity": 1.0}


def test_who_leaves_a_page_half_done_does_not_keep_it(tmp_path, monkeypatch):
    bank = write_bank(tmp_path, "bank", [(text, f"{text} 1", f"{text} 2") for text in TEXTS[:1]])
    make_sheet([bank], PARABANK, tmp_path / "sheet", size=1, ranks=(1, 2), judgments=1)
    desk = Desk(tmp_path / "sheet")
    page = desk.next_page("anna")["page"]
    desk.save("anna", desk.pages[page][0], {"similarity": 1})
    assert desk.next_page("ben") == {"page": None, "begun": [], "done": 0, "left": 0, "reserved": 1}
    now = time.monotonic()
    monkeypatch.setattr(serve.time, "monotonic", lambda: now + 1801)
    assert desk.next_page("ben")["page"] == page
    answer_page(desk, "ben", page)
    assert desk.next_page("cleo") == {"page": None, "begun": [], "done": 0, "left": 0, "reserved": 0}


@contextlib.contextmanager
def served(folder):
    """The address of a server in this process."""
    with _server(folder, "127.0.0.1", 0) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{serving.server_address[1]}"
        finally:
            serving.shutdown()
            thread.join()


def request(url, body=None, **headers):
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=30) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_nothing_that_a_browser_gets_says_where_a_text_is_from(tmp_path):
    folder = new_sheet(tmp_path)
    query = f"sheet={id_of(folder)}&annotator=anna"
    with served(folder) as url:
        replies = [request(url)[1], request(f"{url}/next?{query}")[1]]
        replies += [request(f"{url}/page?{query}&page={page}")[1] for page in range(1, 13)]
    assert len(replies) == 14 and not any("secret" in text or "rank 1" in text for text in replies)
    assert "http" not in replies[0].replace("http-equiv", ""), "the page needs no network"


def test_wrong_requests_are_refused_and_nothing_is_written(tmp_path):
    folder = new_sheet(tmp_path)
    good = {"sheet": id_of(folder), "annotator": "anna", "item": "1", "answers": {"similarity": 5}}
    with served(folder) as url:
        for body, status, message in (
            (good | {"item": "99"}, 400, "wanted answers to an item of this sheet"),
            (good | {"answers": {"similarity": 101}}, 400, "wanted similarity from 0 to 100"),
            (good | {"answers": {"fluency": 1}}, 400, "wanted answers to an item of this sheet"),
            (good | {"answers": {"\ud800": 1}}, 400, "wanted answers to an item of this sheet"),
            (good | {"annotator": "../../etc"}, 400, "wanted a name of up to 40 letters"),
            (good | {"sheet": "another"}, 400, "wanted a page of this sheet"),
            (b"[" * 9000, 400, "wanted annotator, item and answers"),
            (b"{", 400, "wanted annotator, item and answers"),
            ([], 400, "wanted annotator, item and answers"),
            (b"x" * 20_000, 413, ""),
        ):
            assert request(f"{url}/answers", body)[0] == status and message in request(f"{url}/answers", body)[1]
        assert request(f"{url}/answers", good, Content_Type="text/plain")[0] == 404, "a form of another site"
        assert request(f"{url}/answers", good, Sec_Fetch_Site="cross-site")[0] == 404
        for path in ("", "/next?annotator=anna"):
            assert request(url + path, Host="evil.example")[0] == 403, "DNS rebinding"
            assert request(url + path, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403
        assert request(url, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200, "a link"
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as plain:
            plain.sendall(b"POST /answers HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n")
            assert plain.recv(100).startswith(b"HTTP/1.1 413")
        for path in ("/page?annotator=anna&page=999", "/page?page=%C2%B2", "/nothing"):
            assert request(url + path)[0] == 404
        assert request(f"{url}/next")[0] == 400
        assert not list((folder / "answers").iterdir())
        assert request(f"{url}/answers", good) == (200, '{"saved": "1"}')
    assert read_answers(folder / "answers" / "anna.csv", PARABANK, ["1"])["1"]["similarity"] == 5


def test_a_full_disk_is_said_and_the_answer_is_not_counted(tmp_path, monkeypatch):
    folder = new_sheet(tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("toolkit.annotation.serve.append_answers", full)
    with served(folder) as url:
        body = {"sheet": id_of(folder), "annotator": "anna", "item": "1", "answers": {"similarity": 5}}
        assert request(f"{url}/answers", body) == (507, '{"error": "not saved: No space left on device"}')
        assert json.loads(request(f"{url}/next?sheet={id_of(folder)}&annotator=anna")[1])["begun"] == []


def start(folder, port=0):
    """A server in a process of its own, and its address."""
    command = [sys.executable, "scripts/annotate.py", "serve", str(folder), "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    assert line.startswith("http://"), line + process.stderr.read()
    return process, line.split()[0]


@pytest.mark.slow
def test_one_server_at_a_time_and_one_line_for_what_cannot_be_served(tmp_path, capsys):
    folder = new_sheet(tmp_path)
    process, url = start(folder)
    try:
        assert main(["serve", str(folder)]) == 1
        assert "for this command alone, got it held by process" in capsys.readouterr().err
        copy = tmp_path / "other"
        shutil.copytree(folder, copy)
        (copy / ".lock").unlink()
        assert main(["serve", str(copy), "--port", url.split(":")[2].strip("/")]) == 1
        assert "choose another --port" in capsys.readouterr().err
        assert main(["serve", str(copy), "--port", "70000"]) == 1
        assert "wanted a port from 0 to 65535, got 70000" in capsys.readouterr().err
        (copy / "sheet.json").unlink()
        assert main(["serve", str(copy)]) == 1
        assert "wanted the folder of a sheet" in capsys.readouterr().err
        process.send_signal(signal.SIGINT)
        assert process.wait(90) == 130
        assert "interrupted; every answer is saved" in process.stderr.read()
    finally:
        process.kill()
        process.communicate()


def open_page(browser, url, **options):
    page = browser.new_page(**options)
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.goto(url)
    return page


def wait_for_save(page):
    page.wait_for_function("document.getElementById('saved').textContent === 'Saved.'")


@pytest.mark.slow
def test_a_sheet_by_keys_alone(browser, tmp_path):
    folder = new_sheet(tmp_path)
    expected = {}
    with served(folder) as url:
        page = open_page(browser, url)
        page.keyboard.type("Änne_娜")
        page.keyboard.press("Enter")
        for number in range(12):
            page.wait_for_function(f"document.getElementById('progress').textContent.startsWith('{number} page')")
            page.wait_for_selector(".item.active")
            ids = page.eval_on_selector_all("#items .item", "boxes => boxes.map(box => box.id.slice(5))")
            for place, item in enumerate(ids):
                page.keyboard.press(str((number + place) % 10))
                expected[item] = {
                    "similarity": float((number + place) % 10 * 10),
                    "ungrammatical": 0.0,
                    "nonsensical": 0.0,
                }
                if place == 0:
                    page.keyboard.press("ArrowLeft")
                    page.keyboard.press("u")
                    expected[item] |= {"similarity": max(expected[item]["similarity"] - 1, 0), "ungrammatical": 1.0}
                page.keyboard.press("Enter")
        page.wait_for_selector("#done:not([hidden])")
        assert page.inner_text("#progress") == "12 pages done, 0 left"
        assert page.eval_on_selector("#bar", "bar => bar.position") == 1
        assert page.inner_text("#done h2") == "Thank you, Änne_娜!" and "12 of them by you" in page.inner_text("#over")
    assert read_answers(folder / "answers" / "änne_娜.csv", PARABANK, expected) == expected
    assert expected.keys() == {item.item for item in read_items(folder)}


@pytest.mark.slow
def test_no_answer_is_lost_by_a_killed_server_or_a_reload(browser, tmp_path):
    folder = new_sheet(tmp_path)
    process, url = start(folder)
    page = open_page(browser, f"{url}?annotator=anna")
    page.wait_for_selector(".item.active")
    items = page.eval_on_selector_all("#items .item", "boxes => boxes.map(box => box.id.slice(5))")
    page.keyboard.press("7")
    wait_for_save(page)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    page.keyboard.press("Enter")
    page.keyboard.press("3")
    page.keyboard.press("n")
    page.wait_for_selector("#saved.failed")
    assert "Not saved (the server does not answer). Your answers wait in this browser." in page.inner_text("#saved")
    process, _ = start(folder, int(url.split(":")[2].strip("/")))
    try:
        page.reload()
        page.wait_for_selector(".item.active")
        outputs = page.eval_on_selector_all("#items output", "all => all.map(one => one.textContent)")
        assert outputs[:2] == ["70", "30"] and page.is_checked(f"#nonsensical-{items[1]}")
        wait_for_save(page)
        answers = read_answers(folder / "answers" / "anna.csv", PARABANK, items)
        assert answers[items[0]]["similarity"] == 70
        assert answers[items[1]] == {"similarity": 30.0, "ungrammatical": 0.0, "nonsensical": 1.0}
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_an_answer_confirmed_while_its_page_is_on_the_way_is_shown(browser, tmp_path, monkeypatch):
    folder = new_sheet(tmp_path)
    page_is_read, answer_is_saved = threading.Event(), threading.Event()
    read_page, save = Desk.page, Desk.save

    def late_page(desk, annotator, number):
        page = read_page(desk, annotator, number)
        page_is_read.set()
        answer_is_saved.wait(20)
        time.sleep(0.5)  # so that the browser hears of the answer first
        return page

    def save_after_page(desk, annotator, item, answers):
        page_is_read.wait(20)
        save(desk, annotator, item, answers)
        answer_is_saved.set()

    with served(folder) as url:
        page = open_page(browser, f"{url}?annotator=anna")
        page.wait_for_selector(".item.active")
        page.route("**/answers", lambda route: route.abort())
        page.keyboard.press("7")
        page.wait_for_selector("#saved.failed")
        page.unroute("**/answers")
        monkeypatch.setattr(Desk, "page", late_page)
        monkeypatch.setattr(Desk, "save", save_after_page)
        page.reload()
        page.wait_for_selector(".item.active")
        assert answer_is_saved.is_set()
        assert page.eval_on_selector("#items output", "output => output.textContent") == "70"
        page.close()


@pytest.mark.slow
def test_an_answer_that_is_refused_waits_until_it_is_taken(browser, tmp_path):
    folder = new_sheet(tmp_path)
    with served(folder) as url:
        page = open_page(browser, f"{url}?annotator=anna")
        page.wait_for_selector(".item.active")
        (folder / "answers" / "anna.csv").write_text("item;similarity\n")
        page.keyboard.press("7")
        page.wait_for_selector("#saved.failed")
        assert "another program wrote" in page.inner_text("#saved")
        (folder / "answers" / "anna.csv").unlink()
        page.reload()
        wait_for_save(page)
        page.wait_for_selector(".item.active")
    assert len(read_answers(folder / "answers" / "anna.csv", PARABANK, [str(n) for n in range(99)])) == 1


@pytest.mark.slow
def test_another_sheet_at_the_same_address_gets_no_answers(browser, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = new_sheet(tmp_path / "a"), new_sheet(tmp_path / "b", size=11)
    process, url = start(first)
    page = open_page(browser, f"{url}?annotator=anna")
    page.wait_for_selector(".item.active")
    process.kill()
    process.communicate()
    process, _ = start(second, int(url.split(":")[2].strip("/")))
    try:
        page.keyboard.press("3")
        page.wait_for_selector("#saved.failed")
        assert "wanted a page of this sheet, got one of another" in page.inner_text("#saved")
        assert not list((second / "answers").iterdir())
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_two_tabs_of_one_annotator(browser, tmp_path):
    """The answer of the tab that was answered last holds, although the other tried to send an earlier one."""
    folder = new_sheet(tmp_path)
    context = browser.new_context()
    with served(folder) as url:
        first = open_page(context, f"{url}?annotator=anna")
        first.wait_for_selector(".item.active")
        item = first.locator("#items .item").first.get_attribute("id").removeprefix("item-")
        first.route("**/answers", lambda route: route.abort())
        first.keyboard.press("7")
        first.wait_for_selector("#saved.failed")
        second = open_page(context, f"{url}?annotator=anna")
        wait_for_save(second)
        second.wait_for_selector(".item.active")
        second.keyboard.press("ArrowUp")
        second.keyboard.press("9")
        wait_for_save(second)
        first.unroute("**/answers")
        wait_for_save(first)
    assert (
        read_answers(folder / "answers" / "anna.csv", PARABANK, [str(n) for n in range(99)])[item]["similarity"] == 90
    )


@pytest.mark.slow
def test_a_page_must_be_complete_and_pages_before_it_can_be_changed(browser, tmp_path):
    folder = new_sheet(tmp_path)
    with served(folder) as url:
        page = open_page(browser, f"{url}?annotator=anna")
        page.wait_for_selector(".item.active")
        page.click("#next")
        count = page.locator("#items .item").count()
        assert page.inner_text("#missing") == f"{count} of {count} questions have no answer yet."
        first = page.inner_text("#reference")
        for _ in range(count):
            page.keyboard.press("5")
            page.keyboard.press("ArrowDown")
        page.click("#next")
        page.wait_for_function("!document.getElementById('previous').disabled")
        assert page.inner_text("#reference") != first
        page.click("#previous")
        page.wait_for_function(f"document.getElementById('reference').textContent === {json.dumps(first)}")
        slider = page.locator("#items input[type=range]").first
        box = slider.bounding_box()
        page.mouse.click(box["x"] + box["width"] - 3, box["y"] + box["height"] / 2)
        assert int(page.locator("#items output").first.inner_text()) > 95
        wait_for_save(page)
        item = page.locator("#items .item").first.get_attribute("id").removeprefix("item-")
    assert read_answers(folder / "answers" / "anna.csv", PARABANK, [str(n) for n in range(99)])[item]["similarity"] > 95


@pytest.mark.slow
@pytest.mark.parametrize(("sheet", "digits"), [(PARAZH, "421"), (PARANMT, "32")])
def test_levels_by_digits(browser, tmp_path, sheet, digits):
    bank = write_bank(tmp_path, "bank", [(f"the {n}", f"a {n}", f"{n / 10}") for n in range(1, 10)])
    make_sheet([bank], sheet, tmp_path / "sheet", size=9)
    items = read_items(tmp_path / "sheet")
    with served(tmp_path / "sheet") as url:
        page = open_page(browser, f"{url}?annotator=anna")
        for number in range(len(items)):
            page.wait_for_function(f"document.getElementById('progress').textContent.startsWith('{number} page')")
            page.wait_for_selector("fieldset.active")
            for digit in digits:
                page.keyboard.press(digit)
            page.keyboard.press("Enter")
        page.wait_for_selector("#done:not([hidden])")
    answers = read_answers(tmp_path / "sheet" / "answers" / "anna.csv", sheet, [item.item for item in items])
    assert list(answers[items[0].item].values()) == list(map(float, digits)) and len(answers) == len(items)


@pytest.mark.slow
@pytest.mark.parametrize("sheet", [PARABANK, PARANMT, PARAZH])
def test_the_start_page_says_what_is_asked_how_long_it_takes_and_an_example(browser, tmp_path, sheet):
    bank = write_bank(tmp_path, "bank", [(f"the {n}", f"a {n}", f"{n / 10}") for n in range(1, 10)])
    make_sheet([bank], sheet, tmp_path / "sheet", size=9)
    with served(tmp_path / "sheet") as url:
        page = open_page(browser, url)
        content = page.inner_text("#start")
        assert all(question.asks.lower() in content.lower() for question in sheet.questions)
        assert re.search(r"9 pages with (9|10) paraphrases, which take at most about [23] minutes", content)
        assert sheet.example[0] in content and all(text in content and why in content for text, why in sheet.example[1])
        assert page.evaluate("document.activeElement.id") == "annotator" and page.is_hidden("#status")
        check_page(page)
        page.close()


@pytest.mark.slow
def test_a_slider_shows_nothing_before_an_answer_and_takes_numbers_as_typed(browser, tmp_path):
    with served(new_sheet(tmp_path)) as url:
        page = open_page(browser, f"{url}?annotator=anna")
        page.wait_for_selector(".item.active")
        slider, output = page.locator("#items input[type=range]").nth(1), page.locator("#items output").first
        assert slider.get_attribute("aria-valuetext") == "no answer yet"
        empty = slider.screenshot()
        slider.evaluate("slider => { slider.value = 5; }")
        assert slider.screenshot() == empty, "no thumb that could be an anchor"
        for keys, value in (
            ("7 5", "75"), ("7", "70"), ("0", "0"), ("0 5", "5"), ("1 0", "10"), ("1 0 0", "100"), ("7 5 3", "30"),
        ):  # fmt: skip
            for key in keys.split():
                page.keyboard.press(key)
            assert output.inner_text() == value, keys
            page.keyboard.press("ArrowDown")  # the next digit begins a number
            page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        assert page.locator("#items output").nth(1).inner_text() == "6"
        assert slider.get_attribute("aria-valuetext") == "6" and slider.screenshot() != empty
        assert "Type the tens, then the ones" in page.inner_text("#keys")
        page.close()


@pytest.mark.slow
def test_another_name_begins_once_all_is_saved(browser, tmp_path):
    with served(new_sheet(tmp_path)) as url:
        page = open_page(browser, f"{url}?annotator=anna")
        page.wait_for_selector(".item.active")
        page.route("**/answers", lambda route: route.abort())
        page.keyboard.press("7")
        page.wait_for_selector("#saved.failed")
        page.click("#another")
        assert page.inner_text("#saved") == "Wait until your answers are saved." and page.inner_text("#who") == "anna"
        page.unroute("**/answers")
        wait_for_save(page)
        page.click("#another")
        page.wait_for_selector("#start:not([hidden])")
        assert page.url == url + "/"
        page.close()


@pytest.mark.slow
def test_any_text_is_text_and_can_be_read(browser, tmp_path):
    with served(new_sheet(tmp_path, texts=[*pages.TEXTS.values()], size=10)) as url:
        page = open_page(browser, f"{url}?annotator=anna")
        directions = {}
        for number in range(10):
            page.wait_for_function(f"document.getElementById('progress').textContent.startsWith('{number} page')")
            page.wait_for_selector(".item.active")
            reference = page.locator("#reference")
            directions[reference.text_content()] = reference.evaluate("one => getComputedStyle(one).direction")
            assert page.locator("#work b").count() == 0
            check_page(page)
            for _ in range(page.locator("#items .item").count()):
                page.keyboard.press("5")
                page.keyboard.press("Enter")
        page.wait_for_selector("#done:not([hidden])")
        check_page(page)
        page.emulate_media(color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 28)"
        page.click("#back")
        page.wait_for_selector(".item.active")
        page.close()
    assert directions == {text: "rtl" if lang == "ar" else "ltr" for lang, text in pages.TEXTS.items()}


def test_slow_and_broken_connections_hold_no_thread_and_print_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(serve._Handler, "timeout", 0.3)
    before = threading.active_count()
    with _server(new_sheet(tmp_path), "127.0.0.1", 0) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        address = serving.server_address[:2]
        head = b"POST /answers HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        begun = head + b"Content-Length: 90\r\n\r\n{"
        for data in (b"", b"GET / HT", begun):
            with socket.create_connection(address) as slow:
                slow.sendall(data)
                slow.settimeout(60)
                assert slow.recv(1) == b"", "the server closes it"
        with socket.create_connection(address) as broken:
            broken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # the end is a reset
            broken.sendall(begun)
        with urllib.request.urlopen(f"http://127.0.0.1:{address[1]}/") as page:
            assert page.status == 200
        serving.shutdown()
        thread.join()
    for _ in range(600):
        if threading.active_count() <= before:
            break
        time.sleep(0.1)
    assert threading.active_count() <= before and capsys.readouterr().err == ""


def test_a_text_that_a_spreadsheet_would_compute_is_a_text_in_it_and_itself_on_the_page(tmp_path):
    texts = ['=HYPERLINK("http://evil")', "+49 30 1234", "- No.", "@here", "'=1", "'Tis late.", "No."]
    bank = write_bank(tmp_path, "bank", [(f"A {n}.", text) for n, text in enumerate(texts)])
    make_sheet([bank], PARABANK, tmp_path / "sheet", size=len(texts))
    assert sorted(item.paraphrase for item in read_items(tmp_path / "sheet") if item.paraphrase in texts) == sorted(
        texts
    )
    with (tmp_path / "sheet" / "items.csv").open(encoding="utf-8-sig", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert "'- No." in cells and "'Tis late." in cells and not [cell for cell in cells if cell[:1] in tuple("=+-@")]


def test_one_name_from_two_machines_is_told_once(tmp_path, capsys):
    desk = Desk(new_sheet(tmp_path))
    for name, address in (("anna", "10.0.0.5"), ("bob", "10.0.0.7"), ("anna", "10.0.0.7"), ("anna", "10.0.0.5")):
        desk.note_address(name, address)
    message = "anna answers from 10.0.0.5 and 10.0.0.7: if these are two people, give one another name"
    assert capsys.readouterr().out.splitlines() == [message]
