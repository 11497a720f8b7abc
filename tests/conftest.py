"""No test reaches a network or a cache outside its temporary folder; and one small finished run for all."""

import atexit
import copy
import gc
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REFUSED = ("too_long", "empty", "too_long", "too_long")  # of lines of the demo run
CACHE = tempfile.mkdtemp(prefix="parabank-tests-")
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)
# Read when the libraries are imported, so before any of them is.
os.environ.update(
    HF_HOME=CACHE,
    HF_HUB_OFFLINE="1",
    HF_DATASETS_OFFLINE="1",
    HF_DATASETS_DISABLE_PROGRESS_BARS="1",
    TOKENIZERS_PARALLELISM="false",
)
for name in ("HF_DATASETS_CACHE", "HF_HUB_CACHE"):
    os.environ.pop(name, None)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script; processes would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest  # noqa: E402

from toolkit.data.rows import Candidate, Origin, Row, Scores  # noqa: E402
from toolkit.data.shards import output_of, split_rows, write_inputs, write_shard  # noqa: E402
from toolkit.package import plots  # noqa: E402
from toolkit.paraphraser import names  # noqa: E402


def pytest_collection_finish() -> None:
    """What the imports made is never garbage, so the collections of each small build need not look at it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def no_search_among_what_stays() -> Iterator[None]:
    """What a module of tests leaves, such as further imports, is not searched for garbage again."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def templates_are_compiled_once() -> Iterator[None]:
    """The libraries compile the template of a card again for each card, which takes longer than a small training."""
    from jinja2 import Environment

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Environment, "compile", cache(Environment.compile))
        yield


def pytest_sessionfinish() -> None:
    """Python may remove at its end what the imports made."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def starter_is_the_best(monkeypatch):
    """The paraphraser "best" is the starter, whatever translators this machine has."""
    monkeypatch.setattr(names, "packaged", lambda name: None)


def candidate(
    text: str,
    rank: int | None,
    forward: float,
    backward: float,
    cluster: int | None,
    reason: str | None = None,
    negative: tuple[str, ...] = (),
) -> Candidate:
    """A sampled candidate with scores over 4 forward and 2 backward tokens."""
    scores = Scores(forward, 4, backward, 2, 0.5)
    origins = [Origin("random", [], list(negative)), Origin("random", [], [*negative, "extra"])]
    return Candidate(text, "sample", origins, 2, rank, "tiny|top_k:10", scores, cluster, reason)


def row(number: int, split: str, reference: str, candidates: list[Candidate]) -> Row:
    """A row of the corpus "demo"."""
    return Row(f"demo-{number}", "demo", f"Satz {number}.", "de", reference, "en", split, candidates=candidates)


def demo_rows() -> list[Row]:
    """Five references: four kept 2 + 1 + 1 + 3 paraphrases, one none."""
    return [
        row(0, "train", "We will go home now, he said.", [
            candidate("We go home at once, he said.", 1, -4.0, -2.0, 2, negative=("will",)),
            candidate("Now we will be going home, he said.", 0, -2.0, -1.0, 1, negative=("will", "go")),
            candidate("We will go home now he said.", None, -1.0, -1.0, 0, negative=("home",)),
            candidate("Nonsense.", None, -16.0, -9.0, None, "dual", negative=("Will",)),
        ]),
        row(1, "train", "Nothing is left of this.", [candidate("Cheese!", None, -40.0, -9.0, None, "dual")]),
        row(2, "validation", "The dog sleeps.", [candidate("The hound is asleep.", 0, -3.0, -3.0, 1)]),
        row(3, "test", "She can't swim.", [candidate("She is unable to swim.", 0, -2.0, -2.0, 1)]),
        row(4, "train", "It is raining again.", [
            candidate("It rains again.", 0, -1.0, -1.0, 3),
            candidate("Rain falls once more.", 1, -2.0, -2.0, 4),
            candidate("Once again there is rain.", 2, -3.0, -3.0, 5),
        ]),
    ]  # fmt: skip


def write_run(folder: Path, rows: list[Row], shard_rows: int = 2, refused: Sequence[str] = ()) -> Path:
    """A finished run of these rows, as the builder leaves it, and at its end lines that cleaning refused."""
    rows = [*rows, *(replace(row(100 + n, "train", "", []), reason=reason) for n, reason in enumerate(refused))]
    inputs = [replace(entry, candidates=[]) for entry in rows]
    paths = write_inputs(folder, inputs, shard_rows)
    for path, shard in zip(paths, split_rows(rows, shard_rows), strict=False):
        write_shard(output_of(path), shard)
    settings = {
        "max_dual_nll": 3.5,
        "samples_per_set": 30,
        "seed": 0,
        "forward": "/somewhere/de-en",
        "lang": "en",
        "limit": None,
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Chromium, one for all tests of a session."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("no Chromium here (apt install chromium)")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """A test that computes with more threads leaves one to the next: on busy cores they would wait for each other."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@pytest.fixture
def demo_run(tmp_path: Path) -> Path:
    """The folder of a finished run of `demo_rows` in three shards."""
    return write_run(tmp_path / "demo.shards", demo_rows(), refused=REFUSED)


@pytest.fixture
def empty_run(tmp_path: Path) -> Path:
    """A finished run in which no reference kept a paraphrase."""
    return write_run(tmp_path / "empty.shards", demo_rows()[1:2])


DEMO_MODELS: list[dict] = [
    {
        "role": "forward",
        "name": "starter/de-en",
        "bleu": 44.1,
        "signature": "nrefs:1|case:mixed",
        "license": "cc-by-2.0",
    },
    {"role": "backward", "name": "starter/en-de", "bleu": None, "signature": None, "license": "cc-by-2.0"},
]


@pytest.fixture
def demo_models() -> list[dict]:
    """The models of the demo run, as a card wants them."""
    return copy.deepcopy(DEMO_MODELS)


@contextmanager
def drawing() -> Iterator[None]:
    """Cards have pictures in the block, in spite of `no_pictures`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "find_spec", find_spec)
        yield


@pytest.fixture(scope="session")
def packaged_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo run, packaged as "demo" with its pictures, once for all tests."""
    from toolkit.package.build import package_parabank

    folder = tmp_path_factory.mktemp("packaged")
    run = write_run(folder / "demo.shards", demo_rows(), refused=REFUSED)
    with drawing():
        package_parabank(run, folder / "demo", "demo", "1.2.0", "cc-by-2.0", DEMO_MODELS)
    return folder / "demo"


@pytest.fixture
def demo_parabank(demo_run: Path, packaged_demo: Path) -> Path:
    """A copy of the packaged demo beside its run."""
    return shutil.copytree(packaged_demo, demo_run.parent / "demo")


@pytest.fixture(scope="session", autouse=True)
def no_pictures() -> Iterator[None]:
    """Cards have no pictures, as where matplotlib is not installed: they take longer than a small build."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "find_spec", lambda name: None)
        yield


@pytest.fixture
def pictures() -> Iterator[None]:
    """Cards have pictures."""
    with drawing():
        yield


@pytest.fixture(scope="module")
def on_a_cpu():
    """Accelerate computes on the CPU, wherever the tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACCELERATE_USE_CPU", "true")
        yield
