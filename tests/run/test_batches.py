"""Batch sizes of a run that its settings leave open: of its record, else by the device; the same in all processes."""

import json
from types import SimpleNamespace

import pytest
import torch

from toolkit.run.batches import settled
from toolkit.score.cross_entropy import BitextFilter

ALONE = SimpleNamespace(is_main_process=True, num_processes=1, device=torch.device("cpu"))
SETTINGS = BitextFilter(bitext=["a.tsv"], source_lang="de", lang="en", forward="f", backward="b", output="o.tsv")


def test_the_record_counts_more_than_the_device(tmp_path):
    def room() -> int:
        calls.append(True)
        return 10**9

    calls: list[bool] = []
    assert settled(SETTINGS, tmp_path, [], ALONE).batch_tokens == 8192
    fresh = settled(SETTINGS, tmp_path, [], ALONE, room)
    assert fresh.batch_tokens not in (8192, None) and calls == [True]
    (tmp_path / "settings.json").write_text(json.dumps({"toolkit": "1", "batch_tokens": 777}))
    assert settled(SETTINGS, tmp_path, [], ALONE, room).batch_tokens == 777 and calls == [True]
    (tmp_path / "settings.json").write_text(json.dumps({"toolkit": "1", "batch_tokens": None}))
    assert settled(SETTINGS, tmp_path, [], ALONE).batch_tokens == 8192, "it records no number"


@pytest.mark.parametrize("main", [True, False])
def test_all_processes_have_that_of_the_main_one(monkeypatch, tmp_path, main):
    def broadcast(values: list) -> None:
        values[0] = messages.setdefault("sizes", values[0]) if main else {"batch_tokens": 55}

    messages: dict[str, dict] = {}
    monkeypatch.setattr(torch.distributed, "broadcast_object_list", broadcast)
    state = SimpleNamespace(is_main_process=main, num_processes=2, device=torch.device("cpu"))
    assert settled(SETTINGS, tmp_path, [], state).batch_tokens == (8192 if main else 55)
    assert messages == ({"sizes": {"batch_tokens": 8192}} if main else {})
