"""A Hub on loopback, and the way to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import HfApi, constants

from tests.hub import WRITER, Hub, serving


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A Hub without repositories; this process may reach it, and does not sleep but notes for how long it would."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    with serving() as hub:
        monkeypatch.setattr("time.sleep", hub.slept.append)
        yield hub


@pytest.fixture
def api(hub: Hub) -> HfApi:
    """The Hub's interface for a user who may write."""
    return HfApi(endpoint=hub.url, token=WRITER)
