"""Candidates from a tiny causal model, and every builder with them: the plumbing, not the sentences."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from builders import parabank, parabank2, paranet, paranmt
from tests.gpus import pretend_gpus
from tests.tiny import DEMO, folder
from toolkit.data.rows import Row
from toolkit.data.shards import read_shard
from toolkit.generate.language_model import Asking, _merged, ask_rows
from toolkit.generate.prompt import read_prompt
from toolkit.models.language_model import load_language_model
from toolkit.models.served import connect

SENTENCES = [line.split("\t")[1] for line in DEMO.read_text(encoding="utf-8").splitlines()]
CHAT_BEGIN, CHAT_END = "<user> ", " <model>"
CHAT = f"{CHAT_BEGIN}{{{{ messages[0]['content'] }}}}{{% if add_generation_prompt %}}{CHAT_END}{{% endif %}}"


pytestmark = pytest.mark.usefixtures("on_a_cpu")


@pytest.fixture(scope="module", params=["plain", "chat"])
def gpt2(request, tmp_path_factory):
    """A tiny GPT-2 of words with random weights, which ends a reply now and then."""
    words = sorted({word for text in SENTENCES for word in text.split()})[:300]
    vocabulary = {piece: n for n, piece in enumerate(["<end>", "?", "<user>", "<model>", *words])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="?", eos_token="<end>", bos_token="<end>")
    if request.param == "chat":
        tokenizer.chat_template = CHAT
    path = tmp_path_factory.mktemp("lm") / request.param
    torch.manual_seed(1)
    config = GPT2Config(vocab_size=len(vocabulary), n_positions=512, n_embd=16, n_layer=1, n_head=2,
                        bos_token_id=0, eos_token_id=0)  # fmt: skip
    model = GPT2LMHeadModel(config)
    with torch.no_grad():  # the end is as probable as a tenth of all words
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.clone())
        model.config.tie_word_embeddings = False
        model.transformer.ln_f.bias.fill_(0.3)
        model.lm_head.weight[0].fill_(0.7)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def rows(count):
    return [Row(f"a-{n}", "a", None, None, text, "en", "train", "Before.", "After.")
            for n, text in enumerate(SENTENCES[:count])]  # fmt: skip


def asking(**changed):
    settings = {"samples": 4, "temperature": 1.0, "top_p": 0.95, "batch_rows": 16, "seed": 0, "name": "paraphrase"}
    settings |= changed
    return Asking(read_prompt(settings.pop("name")), **settings)


def test_every_row_has_its_replies_with_their_provenance(gpt2):
    model = load_language_model(str(gpt2), "float32")
    done = list(ask_rows(rows(10), model, asking()))
    assert [row.id for row in done] == [row.id for row in rows(10)]
    reasons = set()
    for row in done:
        assert sum(c.draws for c in row.candidates) == 4 and len({c.text for c in row.candidates}) == len(
            row.candidates
        )
        for one in row.candidates:
            assert one.method == "lm" and one.generator.endswith(
                "|prompt:paraphrase|samples:4|temperature:1|top_p:0.95"
            )
            assert {o.recipe for o in one.origins} <= {"paraphrase", "paraphrase, stripped"}
            reasons.add(one.reason)
    assert None in reasons


def test_the_same_seed_says_the_same_and_another_does_not(gpt2):
    model = load_language_model(str(gpt2), "float32")

    def said(**changed):
        return [[c.text for c in row.candidates] for row in ask_rows(rows(6), model, asking(**changed))]

    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    assert said() == said() != said(seed=1)
    assert torch.equal(before, torch.random.get_rng_state()), "the run's own chance is untouched"
    assert said(temperature=0.0, samples=1) == said(temperature=0.0, samples=1, seed=1, batch_rows=1)


def test_replies_become_candidates_refusals_and_counts():
    replies = [
        ("He went.", True), ("Here is a paraphrase: He went.", True), ("I'm sorry, I can't help with that.", True),
        ("", True), ("He went and", False), ('"He went."', True),
    ]  # fmt: skip
    found = {c.text: c for c in _merged(replies, "He left.", "mine", "s")}
    assert (found["He went."].draws, found["He went."].reason) == (3, None)
    assert [o.recipe for o in found["He went."].origins] == ["mine", "mine, stripped"]
    assert found["I'm sorry, I can't help with that."].reason == "refusal" and found[""].reason == "empty"
    assert found["He went and"].reason == "unfinished"


def runs(tmp_path, gpt2):
    """A run of each builder."""
    own = {"generator": "lm", "model": str(gpt2), "samples": 3, "threads": 1, "dtype": "float32"}
    two = {"bitext": [str(DEMO)], "source_lang": "de", "lang": "en", "limit": 6, "forward": str(folder() / "de-en")}
    (tmp_path / "book.txt").write_text("\n".join(SENTENCES[:12]))
    text = {"text": [str(tmp_path / "book.txt")], "lang": "en", "min_chars": 20, "fluency_model": str(gpt2)}
    yield (
        parabank2,
        parabank2.ParaBank2Run(
            **two, **own, backward=str(folder() / "en-de"), max_dual_nll=1000.0, output_dir=str(tmp_path / "parabank2")
        ),
    )
    yield paranmt, paranmt.ParaNMTRun(**two, **own, output_dir=str(tmp_path / "paranmt"))
    yield (
        parabank,
        parabank.ParaBankRun(**two, **own, idf="starter/de-en", systems="1", output_dir=str(tmp_path / "parabank")),
    )
    yield paranet, paranet.ParaNetRun(**text, **own, prompt="context", output_dir=str(tmp_path / "paranet"))


def test_every_builder_takes_its_candidates(gpt2, tmp_path):
    for builder, run in runs(tmp_path, gpt2):
        figures = builder.build(run)
        name = builder.__name__.rpartition(".")[2]
        assert figures["total"]["pairs"] > 0, name
        shards = sorted(run.shards_dir.glob("rows-*"))
        candidates = [c for shard in shards for row in read_shard(shard) for c in row.candidates]
        assert {c.method for c in candidates} == {"lm"}
        chosen = [c.scores for c in candidates if c.rank is not None]
        assert all((s.forward_logprob is None) == (name == "paranet") for s in chosen)
        card = (tmp_path / name / "README.md").read_text()
        assert "**The candidates are not the paper's**" in card and f"| `model` | {gpt2.name} |" in card
        assert "| generator |" in card and "| prompt |" in card and "Answer with the new sentence alone" in card
        models = json.loads((tmp_path / name / "parabank.json").read_text())["models"]
        assert [m["role"] for m in models][:2] == ["generator", "prompt"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"generator": "lm"}, "wanted --generator lm and --model together, got lm and no model"),
        ({"model": "x"}, "wanted --generator lm and --model together, got paper and x"),
        ({"generator": "llm", "model": "x"}, "wanted generator of paper, lm, got 'llm'"),
        ({"generator": "lm", "model": "x", "temperature": 0.0}, "wanted one of --samples with temperature 0, got 8"),
        ({"generator": "lm", "model": "x", "top_p": 2.0}, r"wanted top_p in \[0, 1\], got 2.0"),
        ({"generator": "lm", "model": "x", "samples": 0}, "wanted samples of at least 1, got 0"),
    ],
)
def test_settings_out_of_range(tmp_path, changed, message):
    with pytest.raises(ValueError, match=message):
        paranet.ParaNetRun(text=["t"], lang="en", output_dir=str(tmp_path), **changed)


def test_what_cannot_be_used_is_one_line(gpt2, tmp_path):
    (tmp_path / "book.txt").write_text("\n".join(SENTENCES[:12]))
    run = {"text": [str(tmp_path / "book.txt")], "lang": "en", "min_chars": 20, "output_dir": str(tmp_path / "new"),
           "generator": "lm", "fluency_model": "starter/infiller"}  # fmt: skip
    with pytest.raises(
        ValueError, match=r"wanted a prompt of context, examples, paraphrase, or a text file, got 'lost'"
    ):
        paranet.build(paranet.ParaNetRun(**run, model=str(gpt2), prompt="lost"))
    with pytest.raises(ValueError, match=r"wanted a causal language model, got .* marian model, which has an encoder"):
        paranet.build(paranet.ParaNetRun(**run, model="starter/de-en"))


class Api(BaseHTTPRequestHandler):
    """What vLLM answers, as far as it is asked here: the models, and replies that come from the ids of the prompt."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200, {"object": "list", "data": [{"id": self.server.model, "object": "model", "created": 0,
                                                      "owned_by": "vllm"}]})  # fmt: skip

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        if len(self.server.asked) > self.server.failing_after:
            self.answer(400, {"error": {"message": "the prompt is too long", "code": 400}})
            return
        texts = [f"Here is a paraphrase: Words {sum(asked['prompt'])} and {n % 2}." for n in range(asked["n"])]
        choices = [{"index": n, "text": text, "finish_reason": "length" if n == 3 else "stop", "logprobs": None}
                   for n, text in enumerate(texts)]  # fmt: skip
        self.answer(200, {"id": "1", "object": "text_completion", "created": 0, "model": asked["model"],
                          "choices": choices})  # fmt: skip

    def answer(self, code, body):
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(gpt2):
    """A server of the tiny model's name; `asked` are the requests."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Api) as one:
        one.model, one.asked, one.failing_after = str(gpt2), [], 1000
        thread = threading.Thread(target=one.serve_forever)
        thread.start()
        yield one
        one.shutdown()
        thread.join()


def address(server):
    return f"http://127.0.0.1:{server.server_port}/v1"


def test_a_server_is_asked_what_the_model_would_read(gpt2, server):
    model = connect(str(gpt2), address(server))
    first, again = (list(ask_rows(rows(5), model, asking())) for _ in range(2))
    assert first == again
    one = next(c for c in first[0].candidates if c.text.endswith("0."))
    assert one.text.startswith("Words ") and one.draws == 2 and one.origins[0].recipe == "paraphrase, stripped"
    assert {c.reason for row in first for c in row.candidates} == {None}  # the cut reply is equal to a whole one
    assert one.generator == f"{gpt2.name}|served by vllm|prompt:paraphrase|samples:4|temperature:1|top_p:0.95"
    sent = sorted(server.asked, key=lambda asked: asked["seed"])
    assert len(sent) == 10 and [one["seed"] for one in sent[::2]] == [one["seed"] for one in sent[1::2]]
    assert len({one["seed"] for one in sent}) == 5 and {(one["n"], one["top_p"]) for one in sent} == {(4, 0.95)}
    text = asking().prompt.asked(rows(1)[0])
    text = CHAT_BEGIN + text + CHAT_END if gpt2.name == "chat" else text
    assert model.tokenizer(text)["input_ids"] in [one["prompt"] for one in sent]


def test_a_run_with_a_server(gpt2, server, tmp_path):
    (tmp_path / "book.txt").write_text("\n".join(SENTENCES[:12]))
    own = {"text": [str(tmp_path / "book.txt")], "lang": "en", "min_chars": 20, "fluency_model": str(gpt2),
           "generator": "lm", "model": str(gpt2), "samples": 3, "threads": 1, "dtype": "float32"}  # fmt: skip
    run = paranet.ParaNetRun(**own, server=address(server), output_dir=str(tmp_path / "paranet"))
    assert paranet.build(run)["total"]["pairs"] > 0
    card = (tmp_path / "paranet" / "README.md").read_text()
    assert "served by vllm" in (tmp_path / "paranet" / "parabank.json").read_text() + card
    assert str(server.server_port) not in card and "127.0.0.1" not in card
    server.failing_after = len(server.asked) + 2
    with pytest.raises(RuntimeError, match=r"input-00000.parquet: row \S+: the server at http\S+ gave no reply .*long"):
        paranet.build(paranet.ParaNetRun(**own, server=address(server), output_dir=str(tmp_path / "failing")))


def test_a_server_that_cannot_be_used_is_one_line(gpt2, server, tmp_path):
    with pytest.raises(ValueError, match=rf"wanted the model 'other' at \S+, got a server of {gpt2}: give --model its"):
        connect("other", address(server))
    with pytest.raises(ValueError, match=r"wanted a server with OpenAI's API as --server, got 'http://127.0.0.1:9/v1'"):
        connect(str(gpt2), "http://127.0.0.1:9/v1")
    server.model = str(tmp_path)
    with pytest.raises(
        ValueError, match=r"wanted a tokenizer, got .*, which is neither a folder with one nor a Hub id"
    ):
        connect(str(tmp_path), address(server))
    with pytest.raises(ValueError, match="wanted --server with --generator lm, got paper: leave --server out"):
        paranet.ParaNetRun(text=["t"], lang="en", output_dir=str(tmp_path), server="http://x/v1")


def test_beside_a_gpu_a_model_on_the_processor_is_in_its_numbers(gpt2, monkeypatch):
    pretend_gpus(monkeypatch, 1)
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(torch.cpu, name, lambda: False)
    assert load_language_model(str(gpt2), "auto", "cpu").signature.endswith("|float32")
