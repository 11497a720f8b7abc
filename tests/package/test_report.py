"""The report's page: its data, and its behaviour in a browser."""

import base64
import gzip
import json
import re
import shutil
from dataclasses import replace

import pytest

from builders.commands.report_parabank import main
from tests.conftest import DEMO_MODELS, row, write_run
from tests.package.test_counts import random_rows
from tests.pages import TEXTS, check_page
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.package._histograms import SCORES
from toolkit.package._score_meanings import MEANINGS
from toolkit.package.build import package_parabank
from toolkit.package.report import LEFT_OUT, LOSERS, _render_report, write_report
from toolkit.system.whole_files import read_record


def data_of(page):
    """The data that a page holds."""
    packed = re.search(r'<script type="text/plain" id="data">(.*?)</script>', page)
    return json.loads(gzip.decompress(base64.b64decode(packed[1])))


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A parabank of a hundred random rows, a Chinese, an Arabic and a hostile one, with its run and report."""
    rows = random_rows(3, 100)
    for number, (reference, text, lang) in enumerate([
        ("我们现在回家。", "我们马上回家。", "zh"),
        ("سوف نعود إلى البيت الآن.", "سنعود الآن إلى المنزل.", "ar"),
        ("</script><script>alert(1)</script>", "<b>bold</b> & 'more'", "en"),
    ]):  # fmt: skip
        candidate = Candidate(text, "sample", rank=0, scores=Scores(-0.2, 4, -0.2, 4, semantic=0.99))
        rows.append(Row(f"x-{number}", "x", None, None, reference, lang, "train", candidates=[candidate]))
    folder = tmp_path_factory.mktemp("report")
    run = write_run(folder / "bank.shards", rows, 40)
    package_parabank(run, folder / "bank", "bank", "1.0.0", "mit", DEMO_MODELS)
    write_report(folder / "bank", folder / "bank.html")
    return folder


@pytest.fixture
def parabank(shared, tmp_path):
    """That parabank and its run, for a test that changes them."""
    for name in ("bank", "bank.shards"):
        shutil.copytree(shared / name, tmp_path / name)
    return tmp_path / "bank"


def test_the_page_has_every_reference_with_what_won_and_lost(parabank, tmp_path):
    size = write_report(parabank, tmp_path / "bank.html")
    page = (tmp_path / "bank.html").read_text()
    assert size == len(page.encode()) < 200_000
    data = data_of(page)
    statistics = read_record(parabank / "statistics.json")
    assert data["total"] == statistics["total"]["pairs"]
    assert sum(len(reference[5]) for reference in data["rows"]) == statistics["total"]["pairs"]
    assert all(list(counts) == sorted(counts, key=counts.get, reverse=True) for *_, counts in data["rows"])
    lost = [len(reference[6]) + sum(reference[7].values()) for reference in data["rows"]]
    assert sum(lost) == statistics["total"]["candidates"] - statistics["total"]["pairs"]
    assert (
        len(data["rows"]) == statistics["total"]["references"]
        and max(len(reference[6]) for reference in data["rows"]) <= LOSERS
    )
    assert list(data["scores"]) == list(statistics["scores"])
    assert "http" not in re.sub(r'id="data">.*?</script>', "", page) and " src=" not in page


def test_a_sample_of_references(parabank, tmp_path):
    write_report(parabank, tmp_path / "some.html", rows=10)
    sample = data_of((tmp_path / "some.html").read_text())["rows"]
    write_report(parabank, tmp_path / "all.html")
    whole = data_of((tmp_path / "all.html").read_text())["rows"]
    assert len(sample) == 10 and sample == whole[:10]


def test_without_a_run_there_are_no_losers(parabank, tmp_path):
    shutil.rmtree(tmp_path / "bank.shards")
    write_report(parabank, tmp_path / "bank.html")
    page = (tmp_path / "bank.html").read_text()
    assert "the shards of the run were not beside the parabank" in page
    rows = data_of(page)["rows"]
    assert all(not reference[6] and not reference[7] and reference[5] for reference in rows)


def test_a_pair_that_equals_a_better_one_lost(tmp_path, demo_models):
    rows = [row(number, "train", "Go home!", [Candidate("Go to your home.", "sample", rank=0,
            scores=Scores(-1.0 - number, 4, -1.0, 2))]) for number in range(2)]  # fmt: skip
    run = write_run(tmp_path / "bank.shards", rows)
    package_parabank(run, tmp_path / "bank", "bank", "1.0.0", "mit", demo_models)
    write_report(tmp_path / "bank", tmp_path / "bank.html")
    references = {reference[0]: reference for reference in data_of((tmp_path / "bank.html").read_text())["rows"]}
    assert len(references["demo-0"][5]) == 1 and not references["demo-1"][5]
    assert [loser[1] for loser in references["demo-1"][6]] == [LEFT_OUT]


def test_what_was_refused_over_the_corpus_has_its_reason(tmp_path, demo_models):
    rows = [row(number, "train", "Go home!", [Candidate(f"Go to home {number}.", "sample", rank=0,
            scores=Scores(-1.0 - number, 4, -1.0, 2))]) for number in range(2)]  # fmt: skip
    run = write_run(tmp_path / "bank.shards", rows)
    rows[1].candidates[0] = replace(rows[1].candidates[0], rank=None, reason="decile")
    chosen_run = write_run(run / "chosen-1", rows)
    settings = read_record(chosen_run / "settings.json") | {"chosen": "chosen-1"}
    (chosen_run / "settings.json").write_text(json.dumps(settings))
    package_parabank(chosen_run, tmp_path / "bank", "bank", "1.0.0", "mit", demo_models)
    write_report(tmp_path / "bank", tmp_path / "bank.html")
    references = {reference[0]: reference for reference in data_of((tmp_path / "bank.html").read_text())["rows"]}
    assert len(references["demo-0"][5]) == 1 and [loser[1] for loser in references["demo-1"][6]] == ["decile"]


@pytest.mark.slow
def test_five_thousand_rows_are_below_five_megabytes(parabank):
    """Long texts with ten candidates each, all different."""
    import random

    chance = random.Random(0)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(20_000)]

    def text():
        return " ".join(chance.choices(words, k=12))

    rows = [
        Row(f"r-{n}", "r", text(), "de", text(), "en", "train", candidates=[
            Candidate(text(), "sample", rank=rank if rank < 4 else None, reason=None if rank < 4 else "cluster",
                      scores=Scores(-4 * chance.random(), 4, -4 * chance.random(), 4, chance.random()))
            for rank in range(7)])
        for n in range(5000)
    ]  # fmt: skip
    manifest, statistics = (read_record(parabank / f"{name}.json") for name in ("parabank", "statistics"))
    page = _render_report(manifest, statistics, rows, True, "bank", [])
    assert len(page.encode()) < 5_000_000


def test_one_line_for_what_cannot_be(parabank, tmp_path, capsys):
    assert main([str(parabank)]) == 0
    size = (tmp_path / "bank.html").stat().st_size
    assert size < 1e6 and capsys.readouterr().out.endswith(f"bank.html: {size / 1e3:.0f} kB; open it in a browser\n")
    (tmp_path / "empty").mkdir()
    statistics = read_record(parabank / "statistics.json")
    for name, change, message in (
        ("empty", None, "wanted a packaged parabank, got .*empty without parabank.json"),
        ("old", "scores", "wanted a parabank with histograms, got .*old of an older toolkit: package it again"),
        ("cut", "cut", "wanted a whole Parquet file, got .*train-00000-of-00001.parquet"),
    ):
        if change:
            shutil.copytree(parabank, tmp_path / name)
        if change == "scores":
            record = {key: value for key, value in statistics.items() if key != "scores"}
            (tmp_path / name / "statistics.json").write_text(json.dumps(record))
        if change == "cut":
            file = tmp_path / name / "data" / "references" / "train-00000-of-00001.parquet"
            file.write_bytes(file.read_bytes()[:-20])
        assert main([str(tmp_path / name)]) == 1
        assert re.search(message, capsys.readouterr().err)
        assert not (tmp_path / f"{name}.html").exists()
    (tmp_path / "mine.html").write_text("mine")
    for flags, message in (
        (["--rows", "0"], "wanted at least 1 row, got 0"),
        (["--output", str(tmp_path)], "wanted a file to write, got the folder"),
        (["--output", str(tmp_path / "mine.html")], "exists and was not written by this command"),
    ):
        assert main([str(parabank), *flags]) == 1
        assert message in capsys.readouterr().err
    assert (tmp_path / "mine.html").read_text() == "mine"


@pytest.fixture
def page(shared, browser):
    """The report in a browser, from a file."""
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(f"file://{shared}/bank.html")
    tab.wait_for_selector("#rows tbody tr")
    yield tab
    tab.close()
    assert errors == []


def move(page, score, steps, key="ArrowRight"):
    page.focus(f"#score-{score}")
    for _ in range(steps):
        page.keyboard.press(key)


@pytest.mark.slow
def test_a_slider_counts_the_whole_parabank(page, shared):
    parabank = shared / "bank"
    statistics = read_record(parabank / "statistics.json")
    total = f"{statistics['total']['pairs']:,}"
    assert page.inner_text("#remaining") == f"All {total} pairs remain."
    assert page.is_hidden("#python") and page.is_hidden("#shell")
    move(page, "semantic", 30)
    bins = statistics["scores"]["semantic"]
    left = sum(bins["pairs"][30:])
    assert page.inner_text("#remaining") == f"{left:,} of {total} pairs remain, counted in the whole parabank."
    assert page.inner_text("#slider-semantic output") == f"at least 0.2: {left:,} pairs"
    assert page.get_attribute("#score-semantic", "aria-valuetext") == f"at least 0.2: {left:,} pairs"
    assert page.inner_text("#python") == f'load_dataset("{parabank}", filters=[("semantic", ">=", 0.2)])'
    assert page.inner_text("#shell").startswith(
        f'parabank filter parabank {parabank} --where "semantic >= 0.2" --output'
    )
    heads = page.locator("#threshold h3").all_inner_texts()
    assert heads == ["Just inside the threshold: Semantic score", "Just outside"]
    assert page.locator("li.gone").count() > 0
    struck = "one => getComputedStyle(one).textDecorationLine"
    assert page.locator("li.gone > span").first.evaluate(struck) == "line-through"
    assert page.locator("li.gone > details").first.evaluate(struck) == "none", "a struck minus sign is none"
    move(page, "trigram_overlap", 5, "ArrowLeft")
    match = re.fullmatch(r"(\d+) of \d+ pairs remain\.", page.inner_text("#remaining"))
    assert 0 < int(match[1]) < left, "all pairs are on the page"
    assert '("semantic", ">=", 0.2), ("trigram_overlap", "<", 0.9)' in page.inner_text("#python")
    move(page, "dual", 3)
    assert '("dual", ">=", ' in page.inner_text("#python") and "dual >= " in page.inner_text("#shell")
    move(page, "translation_score", 3)
    assert page.is_hidden("#python") and "cannot choose by translation_score" in page.inner_text("#no-column")
    page.click("#reset")
    assert page.inner_text("#remaining") == f"All {total} pairs remain." and page.locator("li.gone").count() == 0
    assert page.input_value("#score-dual") == "0" and page.is_hidden("#reset") and page.inner_text("#threshold") == ""


@pytest.mark.slow
def test_the_count_stays_in_sight_and_scores_are_said_on_demand(page):
    for width, height in ((1280, 800), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.locator("#rows tbody tr").nth(20).scroll_into_view_if_needed()
        assert 0 <= page.locator("#remaining").bounding_box()["y"] < height / 2
    assert page.locator("#sample li").count() == 6
    assert page.locator("#sample").bounding_box()["y"] < page.locator("#rows").bounding_box()["y"]
    assert page.locator("#rows dl").count() == 0
    page.locator("#rows details.scores summary").first.click()
    assert re.match(r"Dual score -?\d", page.inner_text("#rows dl dt"))
    assert "higher is better" in page.inner_text("#rows dl dd")


def test_every_score_of_a_histogram_is_explained():
    assert MEANINGS.keys() == SCORES.keys()
    assert all(title and ("igher is" in meaning or "ower is" in meaning) for title, meaning in MEANINGS.values())


@pytest.fixture
def all_scripts(tmp_path, demo_models, browser):
    """The report of a parabank whose references, paraphrases and refused candidates are `TEXTS`."""
    rows = []
    for number, (lang, text) in enumerate(TEXTS.items()):
        scores = Scores(-0.2 - number, 4, -0.2, 4, semantic=0.9)
        candidates = [
            Candidate(f"{text} a", "sample", rank=0, scores=scores),
            Candidate(f"{text} b", "sample", reason="dual", scores=scores),
        ]
        rows.append(Row(f"x-{number}", text, text, "de", text, lang, "train", candidates=candidates))
    package_parabank(
        write_run(tmp_path / "bank.shards", rows, 40), tmp_path / "bank", "bank", "1.0.0", "mit", demo_models
    )
    write_report(tmp_path / "bank", tmp_path / "bank.html")
    page = browser.new_page()
    page.goto(f"file://{tmp_path}/bank.html")
    page.wait_for_selector("#rows tbody tr")
    yield page
    page.close()


@pytest.mark.slow
def test_any_text_is_text_and_can_be_read(all_scripts):
    page = all_scripts
    move(page, "dual", 20)
    for summary in page.locator("#rows details > summary").all():
        summary.click()
    check_page(page)
    cells = page.locator("#rows tbody td:first-child div:first-child")
    assert sorted(cells.evaluate_all("all => all.map(one => one.textContent)")) == sorted(TEXTS.values())
    directions = dict(zip(*(cells.evaluate_all(f"all => all.map(one => {code})")
                            for code in ("one.lang", "getComputedStyle(one).direction")), strict=True))  # fmt: skip
    assert directions.pop("ar") == "rtl" and set(directions.values()) == {"ltr"}
    beside = """text => {
      const box = text.getBoundingClientRect(), summary = text.parentElement.querySelector(".scores > summary");
      const scores = summary.getBoundingClientRect();
      return scores.left >= box.right + 4 || scores.top >= box.bottom - 1;
    }"""
    assert all(text.evaluate(beside) for text in page.locator("#rows li > span[dir]").all()), "no text leaves its place"
    page.fill("#search", "👍")
    words = page.locator("#rows tbody tr .losers li > span:first-child").first
    assert (
        words.evaluate("one => [...one.childNodes].map(node => node.textContent).join('|')")
        == "|Prima| |👩‍👩‍👧| |👍🏽| |🇩🇪||!| |b|"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("score", "steps"), [("semantic", 30), ("dual", 12)])
def test_the_line_to_copy_loads_what_the_slider_says(page, score, steps):
    from datasets import load_dataset

    move(page, score, steps)
    line = page.inner_text("#python")
    expected = int(re.match(r"\d+", page.inner_text("#remaining"))[0])
    loaded = eval(line, {"load_dataset": load_dataset})
    assert sum(loaded.num_rows.values()) == expected


@pytest.mark.slow
def test_search_sort_pages_and_keys(page):
    texts = page.locator("#rows tbody tr td:first-child div:first-child").all_inner_texts
    assert page.inner_text("#found").endswith("of 103 references") and len(texts()) == 25
    page.keyboard.press("n")
    assert page.inner_text("#page") == "Page 2 of 5"
    page.keyboard.press("p")
    page.keyboard.press("p")
    assert page.inner_text("#page") == "Page 1 of 5" and page.is_disabled("#previous")
    page.keyboard.press("/")
    page.keyboard.type("回家")
    assert texts() == ["我们现在回家。"] and page.inner_text("#found") == "1 of 103 references"
    assert page.locator("#rows mark").all_inner_texts() == ["马", "上"]
    page.fill("#search", "nobody has this")
    assert texts() == [] and page.is_visible("#none")
    page.fill("#search", "")
    assert page.is_hidden("#none")
    page.select_option("#sort", "longest reference first")
    lengths = [len(text) for text in texts()]
    assert lengths == sorted(lengths, reverse=True)
    page.click("#next")
    assert page.inner_text("#page") == "Page 2 of 5"


@pytest.mark.slow
def test_losers_say_why_and_markup_is_text(page):
    page.select_option("#sort", "most paraphrases first")
    page.locator("#rows details:not(.scores) > summary").first.click()
    assert page.locator("#rows details[open] .reason").first.is_visible()
    page.fill("#search", "script>")
    assert page.inner_text("#rows tbody td:first-child div:first-child") == "</script><script>alert(1)</script>"
    assert page.locator("#rows b").count() == 0 and "<b>bold</b> & 'more'" in page.inner_text("#rows tbody")


@pytest.mark.slow
def test_scripts_from_right_to_left_and_dark(page):
    page.fill("#search", "البيت")
    cell = page.locator("#rows tbody td:first-child div:first-child")
    assert cell.evaluate("e => getComputedStyle(e).direction") == "rtl" and cell.get_attribute("lang") == "ar"
    colours = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(21, 23, 28)"]


@pytest.mark.slow
def test_everything_has_a_name_for_a_screen_reader(page):
    check_page(page)
    assert page.locator("[aria-live=polite]").count() == 2 and page.locator("main h2").count() == 3
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the list"
