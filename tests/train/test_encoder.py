"""Mega-batches against a plain loop over torch's own tables and Adam; kills; processes."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from tests.tiny import ENVIRONMENT, PYTHON
from toolkit.encoder.modules import ParaphrasticEncoder
from toolkit.encoder.vocabulary import UNKNOWN
from toolkit.system.processes import processes
from toolkit.train.encoder import EncoderTraining, Fitting, fit, mega_batch, new_encoder, train
from toolkit.train.encoder_pairs import Pairs, number_pairs, read_pairs

WORDS = ["dog", "cat", "bird", "house", "river", "stone", "cloud", "green", "quick", "seven", "under", "paper", "glass"]
WORDS += ["light", "night", "water"]


def sentences(count: int, seed: int = 0) -> str:
    """Lines of pairs: an even pair's reference is named again by the next; some sentences stand in several pairs."""
    chance, rows = np.random.default_rng(seed), []
    for n in range(count):
        words = list(chance.choice(WORDS, chance.integers(3, 8), replace=False))
        second = [*chance.permutation(words)[1:], str(chance.choice(WORDS)), "rare" + str(n)]
        first = rows[-2][1] if n % 7 == 6 else rows[-3][0] if n and n % 5 == 0 else " ".join(words)
        rows.append((first, " ".join(second), f"r{n // 2}"))
    records = (
        {"sentence1": sentence, "sentence2": paraphrase, "id": reference} for sentence, paraphrase, reference in rows
    )
    return "".join(json.dumps(pair) + "\n" for pair in records)


def synonyms(count: int) -> str:
    """Lines of pairs: each word of the first sentence has one of its own in the second, in another order."""
    chance, rows = np.random.default_rng(1), []
    for _ in range(count):
        words = chance.choice(WORDS, 4, replace=False)
        rows.append((" ".join(words), " ".join(f"my{word}x" for word in chance.permutation(words))))
    return "".join("\t".join(fields) + "\n" for fields in rows)


@pytest.fixture
def base(tmp_path: Path) -> EncoderTraining:
    (tmp_path / "pairs.jsonl").write_text(sentences(47))
    return EncoderTraining(
        pairs=[str(tmp_path / "pairs.jsonl")],
        output_dir=str(tmp_path / "made"),
        parts=["word"],
        dimensions=6,
        batch=8,
        mega_batch=1,
        epochs=3,
        learning_rate=0.02,
        negatives_dtype="float32",
        threads=1,
    )


@pytest.fixture
def learnable(base: EncoderTraining, tmp_path: Path) -> EncoderTraining:
    (tmp_path / "synonyms.tsv").write_text(synonyms(60))
    changed = {"dimensions": 16, "batch": 10, "mega_batch": 3, "epochs": 10}
    return replace(base, pairs=[str(tmp_path / "synonyms.tsv")], **changed)


def begin(settings: EncoderTraining) -> tuple[ParaphrasticEncoder, Pairs]:
    pairs = number_pairs(read_pairs(settings.pairs), settings.max_tokens)
    return new_encoder(settings, pairs.texts), pairs


# The plain loop: all rows of all tables at every step, one sentence at a time, negatives by looking at all.


class Plain(torch.nn.Module):
    """An encoder of torch's own parts, with the first weights of another."""

    def __init__(self, encoder: ParaphrasticEncoder) -> None:
        super().__init__()
        self.parts = encoder.architecture.parts
        self.known = {kind: {e: n for n, e in enumerate(v.entries)} for kind, v in encoder.vocabularies.items()}
        self.tables = torch.nn.ModuleDict(
            {part: torch.nn.EmbeddingBag(*table.shape, mode="mean") for part, table in encoder.tables.items()}
        )
        for part, table in encoder.tables.items():
            self.tables[part].weight.data.copy_(table.detach())
        if "lstm" in self.parts:
            self.lstm = torch.nn.LSTM(encoder.lstm.input_size, encoder.lstm.hidden_size, batch_first=True)
            self.lstm.load_state_dict(encoder.lstm.state_dict())

    def vector(self, text: str) -> torch.Tensor:
        rows = {"word": [self.known.get("word", {}).get(word, 0) for word in text.split()]}
        spaced = f" {text} "
        grams = [spaced[n : n + 3] for n in range(len(spaced) - 2)]
        rows["trigram"] = [self.known["trigram"][g] for g in grams if g in self.known.get("trigram", {})]
        vectors = [self.tables[p](torch.tensor([rows[p]]))[0] for p in self.parts if p != "lstm"]
        if "lstm" in self.parts:
            vectors.append(self.lstm(self.tables["lstm"].weight[rows["word"]][None])[0][0].mean(0))
        return torch.stack(vectors).sum(0)

    def forward(self, texts: list[str]) -> torch.Tensor:
        return torch.stack([self.vector(text) for text in texts])


def unit(vectors: torch.Tensor) -> torch.Tensor:
    return vectors / (vectors**2).sum(1, keepdim=True).sqrt()


def plain_training(encoder: ParaphrasticEncoder, settings: EncoderTraining) -> tuple[Plain, list[float]]:
    lines = [tuple(json.loads(line).values()) for line in Path(settings.pairs[0]).read_text().splitlines()]
    plain, size, log = Plain(encoder), settings.batch * settings.mega_batch, []
    adam = torch.optim.Adam(plain.parameters(), lr=settings.learning_rate)
    for epoch in range(settings.epochs):
        order, total = np.random.default_rng([settings.seed, epoch]).permutation(len(lines)), 0.0
        for begins in range(0, len(order), size):
            mega = [lines[n] for n in order[begins : begins + size]]
            wrong = hardest(plain, mega)
            for at in range(0, len(mega), settings.batch):
                indices = range(at, min(at + settings.batch, len(mega)))
                losses = (
                    ranked(plain, mega, indices) if settings.loss == "ranking" else margins(plain, mega, indices, wrong)
                )
                adam.zero_grad()
                (losses / len(indices)).backward()
                adam.step()
                total += losses.item()
        log.append(total / len(lines))
    return plain, log


@torch.no_grad()
def hardest(plain: Plain, mega: list[list[str]]) -> list[str]:
    """The text nearest to each first, then each second sentence, of another reference and another text."""
    entries = [(fields[side], fields[2]) for side in (0, 1) for fields in mega]
    vectors = unit(plain([text for text, _ in entries]))
    negatives = []
    for n, (text, reference) in enumerate(entries):
        allowed = [m for m, (rival, whose) in enumerate(entries) if rival != text and whose != reference]
        negatives.append(
            entries[max(allowed, key=lambda m, n=n: float(vectors[n] @ vectors[m]))][0] if allowed else entries[0][0]
        )
    return negatives


def margins(plain: Plain, mega: list[list[str]], indices: range, wrong: list[str]) -> torch.Tensor:
    quadruples = [[mega[n][0], mega[n][1], wrong[n], wrong[n + len(mega)]] for n in indices]
    s, second, t, u = (unit(plain(list(texts))) for texts in zip(*quadruples, strict=True))
    positive = (s * second).sum(1)
    return (0.4 - positive + (s * t).sum(1)).clamp(min=0).sum() + (0.4 - positive + (second * u).sum(1)).clamp(
        min=0
    ).sum()


def ranked(plain: Plain, mega: list[list[str]], indices: range) -> torch.Tensor:
    firsts, seconds = (unit(plain([mega[n][side] for n in indices])) for side in (0, 1))
    total = torch.zeros(())
    for a, n in enumerate(indices):
        first, second, reference = mega[n]
        rivals = [
            b
            for b, m in enumerate(indices)
            if m == n or (mega[m][2] != reference and mega[m][1] not in (first, second))
        ]
        total = total + torch.logsumexp(20 * (seconds[rivals] @ firsts[a]), 0) - 20 * firsts[a] @ seconds[a]
    return total


def weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name.replace(".weight", ""): w.detach().clone() for name, w in model.named_parameters()}


def apart(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor], way: dict[str, torch.Tensor]) -> float:
    """How far two trainings ended from each other, beside the way that the weights went."""
    assert first.keys() == second.keys() == way.keys()
    return max(float((first[k] - second[k]).norm() / (second[k] - way[k]).norm()) for k in first)


CASES = [
    (["word"], 1, "margin", 1),
    (["word", "trigram"], 1, "margin", 2),
    (["word", "trigram"], 3, "margin", 2),
    (["word", "lstm"], 3, "margin", 1),
    (["word", "trigram"], 3, "ranking", 2),
]


@pytest.mark.slow
@pytest.mark.parametrize(("parts", "mega", "loss", "min_count"), CASES)
def test_training_is_the_plain_loop(parts, mega, loss, min_count, base):
    settings = replace(base, parts=parts, mega_batch=mega, loss=loss, min_count=min_count, scramble=0.0)
    encoder, pairs = begin(settings)
    assert len(pairs) == 47, "the last mini-batch is smaller, and so is the last mega-batch"
    first = weights(encoder)
    plain, log = plain_training(encoder, settings)
    record = fit(encoder, pairs, settings, processes())
    expected = weights(plain)
    assert all((expected[name] - first[name]).abs().max() > 0.05 for name in first)
    assert apart(weights(encoder), expected, first) < 2e-3
    assert record["loss"] == pytest.approx(log, abs=2e-4) and log[-1] < log[0]


def test_a_mega_batch_chooses_other_negatives_than_a_mini_batch(base):
    results = []
    for mega in (1, 3):
        encoder, pairs = begin(base)
        first = weights(encoder)
        fit(encoder, pairs, replace(base, mega_batch=mega), processes())
        results.append(weights(encoder))
    assert apart(*results, first) > 0.05


def test_negatives_in_bfloat16_hardly_change_what_is_learnt(learnable):
    losses = []
    for dtype in ("float32", "bfloat16"):
        encoder, pairs = begin(learnable)
        losses.append(fit(encoder, pairs, replace(learnable, negatives_dtype=dtype), processes())["loss"])
    assert losses[0] == pytest.approx(losses[1], abs=0.05) and losses[0][-1] < 0.2 * losses[0][0]


@pytest.mark.slow
@pytest.mark.parametrize(("parts", "loss"), [(["lstm"], "ranking"), (["word", "trigram", "lstm"], "margin")])
@pytest.mark.parametrize("direction", ["forward", "average"])
def test_recurrent_parts_learn_with_scrambled_words(parts, loss, direction, learnable):
    settings = replace(learnable, parts=parts, direction=direction, loss=loss, epochs=20)
    results = {}
    for scramble in (0.0, 0.3):
        encoder, pairs = begin(settings)
        record = fit(encoder, pairs, replace(settings, scramble=scramble), processes())
        assert record["loss"][-1] < 0.4 * record["loss"][0]
        results[scramble] = weights(encoder)
    assert not torch.equal(results[0.0]["tables.lstm"], results[0.3]["tables.lstm"])


def test_scrambling_is_for_recurrent_parts_only(base):
    tables = []
    for scramble in (0.0, 1.0):
        encoder, pairs = begin(base)
        fit(encoder, pairs, replace(base, scramble=scramble), processes())
        tables.append(weights(encoder)["tables.word"])
    assert torch.equal(*tables)


def test_the_seed_is_of_the_weights_and_the_order(base):
    tables = []
    for seed in (0, 0, 1):
        encoder, pairs = begin(replace(base, seed=seed))
        fit(encoder, pairs, replace(base, seed=seed), processes())
        tables.append(weights(encoder)["tables.word"])
    assert torch.equal(tables[0], tables[1]) and not torch.equal(tables[0], tables[2])


def test_what_is_saved_is_what_was_trained(learnable):
    folder = train(replace(learnable, parts=["word", "trigram"]))
    names = {path.name for path in folder.iterdir()}
    assert {"settings.json", "training.json", "modules.json"} < names and not any(
        "checkpoint" in name for name in names
    )
    record = json.loads((folder / "training.json").read_text())
    assert (record["pairs"], record["refused"], record["processes"], len(record["loss"])) == (60, {}, 1, 10)
    model = SentenceTransformer(str(folder), trust_remote_code=True, device="cpu")
    assert record["parameters"] == sum(w.numel() for w in model.parameters())
    assert record["rows"] == {part: len(table) for part, table in model[0].tables.items()}
    lines = [line.split("\t") for line in Path(learnable.pairs[0]).read_text().splitlines()]
    first, second = (model.encode(list(side), show_progress_bar=False) for side in zip(*lines, strict=True))
    cosines = model.similarity(first, second)
    assert (cosines.argmax(1) == torch.arange(60)).float().mean() > 0.9, "a sentence finds its paraphrase"


def test_word_vectors_begin_a_training_and_unknown_words_have_a_row(base, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("dog 1 2 3 4 5 6\nZebra 6 5 4 3 2 1\nUUUNKKK 0 0 0 0 0 1\n")
    settings = replace(base, word_vectors=str(vectors))
    encoder, pairs = begin(settings)
    entries = encoder.vocabularies["word"].entries
    assert entries[0] == UNKNOWN and entries[-1] == "zebra" and set(entries[1:-1]) == set(WORDS), "rare words have none"
    table = encoder.tables["word"].detach().clone()
    assert table[0].tolist() == [0, 0, 0, 0, 0, 1]
    assert table[entries.index("dog")].tolist() == [1, 2, 3, 4, 5, 6]
    assert table[-1].tolist() == [6, 5, 4, 3, 2, 1]
    fit(encoder, pairs, settings, processes())
    after = encoder.tables["word"].detach()
    assert (after[0] - table[0]).abs().max() > 0.01, "the row of unknown words learns"
    assert torch.equal(after[-1], table[-1]), "a word that no pair has stays"
    assert begin(replace(settings, max_words=5))[0].vocabularies["word"].entries == entries[:5]


def test_no_trigram_is_frequent_enough(base):
    folder = train(replace(base, parts=["word", "trigram"], min_count=10_000))
    model = SentenceTransformer(str(folder), trust_remote_code=True, device="cpu")
    assert len(model[0].tables["trigram"]) == 0 and len(model[0].tables["word"]) == 1
    assert np.abs(model.encode("dog")).max() > 0


def test_a_training_does_not_go_on_with_other_pairs(base, tmp_path, monkeypatch):
    """The file of pairs has changed since the checkpoint: one word of one text, as many texts as before."""
    settings = replace(base, save_every=1)
    monkeypatch.setattr(Fitting, "finish", lambda self: None)
    encoder, pairs = begin(settings)
    fit(encoder, pairs, settings, processes(), tmp_path / "checkpoint.pt")
    again = fit(*begin(settings), settings, processes(), tmp_path / "checkpoint.pt")
    assert again["pairs"] == len(pairs)
    changed = replace(pairs, texts=[text.replace("rare7", "rare8") for text in pairs.texts])
    with pytest.raises(ValueError, match=r"^wanted the pairs that .*checkpoint.pt was trained on, got others: give"):
        fit(encoder, changed, settings, processes(), tmp_path / "checkpoint.pt")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"batch": 0}, "wanted batch of at least 1, got 0"),
        ({"threads": -1}, "wanted threads from 1 to 1024, got -1"),
        ({"threads": 100_000}, "wanted threads from 1 to 1024, got 100000"),
        ({"processes": 0}, "wanted processes from 1 to 1024, got 0"),
        ({"seed": -1}, "wanted seed from 0 to 4294967295, got -1"),
        ({"margin": 2.5}, "wanted margin in [0, 2], got 2.5"),
        ({"scramble": -1.0}, "wanted scramble in [0, 1], got -1.0"),
        ({"learning_rate": 0.0}, "wanted learning_rate above 0, got 0.0"),
        ({"learning_rate": float("nan")}, "wanted learning_rate above 0, got nan"),
        ({"loss": "triplet"}, "wanted loss of margin, ranking, got 'triplet'"),
        ({"negatives_dtype": "int8"}, "wanted negatives_dtype of auto, float32, bfloat16, got 'int8'"),
        ({"parts": ["gru"]}, "wanted distinct parts of word, trigram, lstm, got gru"),
    ],
)
def test_settings_out_of_range_are_refused(changed, message, base):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        replace(base, **changed)


RANKS = """
import json, sys
from dataclasses import replace
import torch
from tests.train.test_encoder import EncoderTraining, after
from toolkit.train.encoder import train
from toolkit.system.processes import processes

settings = EncoderTraining(**json.loads(sys.argv[1]))
train(settings)
found = [after(one) for one in json.loads(sys.argv[2])]
if processes().is_main_process:
    torch.save(found, sys.argv[3])
"""


def after(settings: dict) -> dict:
    """The state after two epochs, moments of Adam included."""
    training = EncoderTraining(**settings)
    torch.set_num_threads(1)
    encoder, pairs = begin(training)
    fitting, size = Fitting(encoder, pairs, training, processes()), training.batch * training.mega_batch
    order = np.random.default_rng(0).permutation(len(pairs))
    batches = [order[n : n + size] for n in range(0, len(order), size)] * 2
    losses = [mega_batch(fitting, batch, number) for number, batch in enumerate(batches)]
    return {"losses": losses, **fitting.checkpoint()}


@pytest.mark.slow
def test_two_processes_are_one_but_for_rounding(base, tmp_path):
    # 47 pairs: 5 x 9 and 2, and of the ranking 47 = 2 x 23 + 1: a process without a share
    margin = replace(base, parts=["word", "trigram"], batch=3, mega_batch=3, output_dir=str(tmp_path / "two"))
    variants = [
        replace(base, parts=["word", "lstm"], batch=9, mega_batch=1),
        replace(base, parts=["lstm"], batch=23, mega_batch=2),
        replace(base, parts=["word", "trigram"], loss="ranking", batch=23, mega_batch=1),
    ]
    arguments = [
        json.dumps(vars(margin)),
        json.dumps([vars(variant) for variant in variants]),
        str(tmp_path / "found.pt"),
    ]
    (tmp_path / "ranks.py").write_text(RANKS)
    launcher = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    environment = ENVIRONMENT | {"ACCELERATE_USE_CPU": "true"}
    command = [*launcher, str(tmp_path / "ranks.py"), *arguments]
    process = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr[-2000:]

    alone = train(replace(margin, output_dir=str(tmp_path / "one")))
    records = [json.loads((folder / "training.json").read_text()) for folder in (tmp_path / "two", alone)]
    assert [record["processes"] for record in records] == [2, 1]
    assert records[0]["loss"] == pytest.approx(records[1]["loss"], abs=1e-4)
    saved = [SentenceTransformer(str(f), trust_remote_code=True, device="cpu") for f in (tmp_path / "two", alone)]
    for name, weight in saved[1].named_parameters():
        torch.testing.assert_close(saved[0].get_parameter(name), weight, rtol=1e-3, atol=1e-4)
    for state, settings in zip(torch.load(tmp_path / "found.pt", weights_only=True), variants, strict=True):
        torch.testing.assert_close(state, after(vars(settings)), rtol=2e-3, atol=2e-5)
        assert min(float(table["mean"].abs().max()) for table in state["tables"].values()) > 1e-4, "nothing compared"
