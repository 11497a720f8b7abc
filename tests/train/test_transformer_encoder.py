"""Fine-tuning a tiny BERT: the loss against numpy, mini-batches against the whole batch, kills, processes."""

import importlib.util
import json
import re
import shutil
import subprocess
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from tests.tiny import ENVIRONMENT, PYTHON
from toolkit.encoder.settings import TRANSFORMER_LOSSES
from toolkit.system.processes import processes
from toolkit.train._encoder_loss import margin_loss
from toolkit.train._transformer_loss import MegaBatchMargin, loss_for, margin_labels, nearest_margin
from toolkit.train.encoder_pairs import TextPair, number_pairs, read_pairs
from toolkit.train.transformer_encoder import (
    TransformerTraining,
    _distinct,
    _fit,
    _load_base,
    _negatives,
    last_checkpoint,
    train,
)

SCRIPT = Path(__file__).parents[2] / "scripts" / "train_transformer_encoder.py"
SAID = [f"{letter}{number}" for letter in "abcdefgh" for number in range(3)]
ENTRIES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *SAID, *(f"my{word}" for word in SAID)]


def tokenizer() -> Tokenizer:
    word_tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(ENTRIES)}, unk_token="[UNK]"))
    word_tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    word_tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)]
    )
    return word_tokenizer


@pytest.fixture(scope="module")
def start(tmp_path_factory) -> str:
    """A BERT of one layer with random weights and no dropout."""
    folder = tmp_path_factory.mktemp("tiny") / "bert"
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer(), pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(ENTRIES), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, max_position_embeddings=32,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture
def base(start, tmp_path) -> TransformerTraining:
    chance, lines = np.random.default_rng(0), []
    for n in range(40):
        words = chance.choice(SAID, 4, replace=False)
        pair = {"sentence1": " ".join(words), "sentence2": " ".join(f"my{word}" for word in chance.permutation(words))}
        lines.append(json.dumps({"id": f"r{n // 2}", **pair}) + "\n")
    (tmp_path / "pairs.jsonl").write_text("".join(lines))
    return TransformerTraining(
        pairs=[str(tmp_path / "pairs.jsonl")], output_dir=str(tmp_path / "made"), base_model=start, batch=8,
        mini_batch=3, learning_rate=0.003, epochs=2, save_every=3, threads=1,
        dtype="float32",
    )  # fmt: skip


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def weights(folder: str) -> dict[str, torch.Tensor]:
    return load_file(Path(folder, "model.safetensors"))


def differ(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> float:
    assert first.keys() == second.keys() and first
    return max(float((first[name] - second[name]).abs().max()) for name in first)


@pytest.mark.parametrize(("first", "last"), [(0, 7), (2, 5)])
def test_margin_takes_the_nearest_sentence_of_another_reference(first, last):
    chance = np.random.default_rng(3)
    anchors, positives = chance.normal(size=(2, 7, 4))
    references = np.array([0, 1, 0, 2, 3, 2, 4])
    vectors = unit(np.concatenate([anchors, positives]))
    cosines = vectors @ vectors.T
    allowed = np.tile(references, 2)[:, None] != np.tile(references, 2)[None]
    hardest = np.where(allowed, cosines, -np.inf).max(1)
    positive = np.diag(cosines[:7, 7:])
    expected = np.maximum(0, 0.4 - positive + hardest[:7]) + np.maximum(0, 0.4 - positive + hardest[7:])
    losses = nearest_margin(torch.tensor(anchors), torch.tensor(positives), references, first, last, 0.4)
    assert np.where(~allowed, cosines, -np.inf).max() > hardest.max()  # else nothing would be forbidden
    np.testing.assert_allclose(losses.numpy(), expected[first:last], rtol=1e-6)


def test_only_a_pair_with_a_hard_negative_takes_it_for_its_nearest_sentence():
    anchors, positives, hard = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))
    references, has_hard = np.arange(5), torch.tensor([False, True, False, False, True])
    plain = nearest_margin(anchors, positives, references, 0, 5, 0.4)
    mixed = nearest_margin(anchors, positives, references, 0, 5, 0.4, (has_hard, hard))
    full = nearest_margin(anchors, positives, references, 0, 5, 0.4, (torch.ones(5, dtype=torch.bool), hard))
    assert not torch.equal(plain[has_hard], full[has_hard])
    torch.testing.assert_close(mixed, torch.where(has_hard, full, plain))


def test_mini_batches_give_the_loss_and_the_gradient_of_the_whole_batch(start):
    encoder = _load_base(start, 16, 0).cpu()
    texts = [["a0 b0 c0", "a1", "b1 c1 a2 a0", "c2 h0", "d0 e0"], ["mya0 myb0", "mya1", "myb1", "myc2 h0", "myd0"]]
    references = torch.tensor([0, 1, 0, 2, 3])
    gradients, losses = [], []
    for mini_batch in (2, 5, 0):
        encoder.zero_grad()
        columns = [encoder.preprocess(column) for column in texts]
        if mini_batch:
            loss = MegaBatchMargin(encoder, 1.5, mini_batch, False)(columns, 2 * references)
        else:  # without the library's cache, the negatives by hand
            anchors, positives = (encoder(column)["sentence_embedding"] for column in columns)
            vectors = torch.cat([anchors, positives])
            near = torch.cosine_similarity(vectors[:, None], vectors[None], dim=2)
            keys = references.tile(2)
            wrong = near.masked_fill(keys[:, None] == keys[None], -2).argmax(1)
            loss = margin_loss(anchors, positives, vectors[wrong[:5]], vectors[wrong[5:]], 1.5).mean()
        loss.backward()
        losses.append(loss.item())
        gradients.append(
            {name: weight.grad.clone() for name, weight in encoder.named_parameters() if weight.grad is not None}
        )
    assert losses[0] == pytest.approx(losses[2], rel=1e-5) and losses[1] == pytest.approx(losses[2], rel=1e-5)
    assert max(float(gradient.abs().max()) for gradient in gradients[2].values()) > 1e-3
    assert differ(gradients[0], gradients[2]) < 1e-5 and differ(gradients[1], gradients[2]) < 1e-5


def test_no_batch_has_two_pairs_of_a_reference_or_a_text():
    texts = {
        "one": ["x", "y", "x", "z", "u", "v"],
        "other": ["1", "2", "3", "y", "5", "6"],
        "label": [0, 1, 2, 3, 4, 4],
    }
    for seed in range(10):
        batches = list(_distinct(Dataset.from_dict(texts), 3, False, ["label"], torch.Generator(), seed))
        assert sorted(n for batch in batches for n in batch) == list(range(6))
        for batch in batches:
            assert not any(two <= set(batch) for two in ({0, 2}, {1, 3}, {4, 5}))


@pytest.mark.slow
@pytest.mark.parametrize("loss", TRANSFORMER_LOSSES)
def test_training_brings_paraphrases_together(base, loss):
    folder = train(replace(base, loss=loss, epochs=15))
    record = json.loads((folder / "training.json").read_text())
    assert record["pairs"] == 40 and record["processes"] == 1 and not (folder / "checkpoints").exists()
    pairs = list(read_pairs(base.pairs))[::2]

    def right(name: str) -> float:
        encoder = SentenceTransformer(name, device="cpu")
        anchors, positives = (unit(encoder.encode([pair[side] for pair in pairs])) for side in (1, 2))
        return float(np.mean((anchors @ positives.T).argmax(1) == np.arange(len(pairs))))

    assert right(base.base_model) < 0.5 < 0.8 < right(str(folder))


@pytest.mark.slow
def test_both_ranking_losses_are_one(base, tmp_path):
    folders = [
        train(replace(base, loss=loss, output_dir=str(tmp_path / loss))) for loss in ("ranking", "cached-ranking")
    ]
    assert differ(weights(str(folders[0])), weights(str(folders[1]))) < 1e-4
    assert differ(weights(base.base_model), weights(str(folders[0]))) > 1e-3


def test_a_pair_without_a_hard_negative_gets_the_anchor_of_another_reference():
    lines = [
        TextPair("r0", "a0", "a1", ("a2", "b0")),
        TextPair("r1", "b1", "b2"),
        TextPair("r1", "b1", "c0"),
        TextPair("r2", "c1", "c2", ("d0",)),
    ]
    pairs = number_pairs(lines, 16)
    assert [pairs.texts[number] for number in _negatives(pairs)] == ["a2", "c1", "c1", "d0"]
    assert margin_labels(pairs).tolist() == [1, 2, 2, 5]


@pytest.mark.parametrize("loss", TRANSFORMER_LOSSES)
def test_a_hard_negative_counts_in_every_loss(base, loss):
    encoder = _load_base(base.base_model, 16, 0).cpu()
    function = loss_for(encoder, replace(base, loss=loss, margin=0.4), False)
    anchors, positives = ["a0 b0 c0", "a1", "b1 c1 a2 a0"], ["mya0 myb0", "mya1", "myb1"]
    batches = (anchors, positives), (anchors, positives, anchors)  # nothing is nearer than the anchor
    losses = [
        function(
            [encoder.preprocess(column) for column in columns],
            2 * torch.arange(3) + (len(columns) - 2) if loss == "margin" else torch.arange(3),
        ).item()
        for columns in batches
    ]
    assert losses[1] > losses[0] + 0.01


@pytest.mark.slow
def test_triplets_are_trained_on(base, tmp_path):
    pairs = [json.loads(line) for line in Path(base.pairs[0]).read_text().splitlines()]
    triplets = [
        {"anchor": pair["sentence1"], "positive": pair["sentence2"], "negatives": [pair["sentence1"][:-1]][: n % 4]}
        for n, pair in enumerate(pairs)  # not every pair has one
    ]
    (tmp_path / "triplets.jsonl").write_text("".join(json.dumps(triplet) + "\n" for triplet in triplets))
    folder = train(replace(base, loss="margin", pairs=[str(tmp_path / "triplets.jsonl")]))
    record = json.loads((folder / "training.json").read_text())
    assert "negatives are in 'negatives'" in record["columns"][0] and record["pairs"] == 40
    alone = train(replace(base, loss="margin", output_dir=str(tmp_path / "alone")))
    assert differ(weights(str(folder)), weights(str(alone))) > 1e-3


@pytest.mark.slow
def test_a_finished_training_is_left_alone(base):
    folder = train(base)
    before = (folder / "model.safetensors").stat().st_mtime_ns
    assert train(base) == folder and (folder / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.slow
def test_a_killed_training_ends_where_the_whole_one_does(base, tmp_path):
    pairs, checkpoints = number_pairs(read_pairs(base.pairs), base.max_tokens), tmp_path / "checkpoints"

    def run() -> dict[str, torch.Tensor]:
        encoder = _load_base(base.base_model, base.max_tokens, base.seed)
        record = _fit(encoder, pairs, replace(base, loss="margin", save_every=6), processes(), checkpoints)
        assert record["steps"] == 10
        return {name: weight.detach().cpu().clone() for name, weight in encoder.state_dict().items()}

    whole = run()
    shutil.rmtree(checkpoints / "checkpoint-10")  # as if it had been killed after six steps ...
    (checkpoints / "checkpoint-9").mkdir()  # ... while it wrote another
    assert last_checkpoint(checkpoints) == str(checkpoints / "checkpoint-6")
    steps = json.loads((checkpoints / "checkpoint-6" / "trainer_state.json").read_text())["global_step"]
    assert steps == 6 and differ(whole, run()) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["margin", "cached-ranking"])
def test_two_processes_end_where_one_does(base, tmp_path, loss):
    single, double = (replace(base, loss=loss, epochs=1, output_dir=str(tmp_path / name)) for name in ("one", "two"))
    (tmp_path / "two.yaml").write_text(json.dumps(asdict(double)))
    launch = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command = [*launch, str(SCRIPT), "--config", str(tmp_path / "two.yaml")]
    environment = ENVIRONMENT | {"ACCELERATE_USE_CPU": "true"}
    process = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert process.returncode == 0, process.stderr
    assert json.loads((tmp_path / "two" / "training.json").read_text())["processes"] == 2
    alone = weights(str(train(single)))
    assert differ(alone, weights(double.output_dir)) < 1e-4 < 2e-3 < differ(weights(base.base_model), alone)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": "cosine"}, "wanted loss of cached-ranking, ranking, margin, got 'cosine'"),
        ({"dtype": "int8"}, "wanted dtype of auto, float32, bfloat16, got 'int8'"),
        ({"batch": 1}, "wanted a batch of at least 2 pairs"),
        ({"margin": 3.0}, r"wanted margin in \[0, 2\]"),
        ({"epochs": 0}, "wanted epochs of at least 1, got 0"),
    ],
)
def test_settings_out_of_range(base, change, message):
    with pytest.raises(ValueError, match=message):
        replace(base, **change)


def test_too_few_pairs_for_a_batch(base):
    with pytest.raises(ValueError, match=r"wanted pairs of at least 64 references, .* got \d+; give a smaller"):
        train(replace(base, batch=64))


def test_another_training_in_the_folder(base):
    train(replace(base, epochs=1))
    with pytest.raises(ValueError, match="holds a run with other settings: epochs was 1, now 2"):
        train(base)


def test_a_start_that_is_no_transformer(base, tmp_path):
    table = SentenceTransformer(modules=[StaticEmbedding(tokenizer(), embedding_dim=8)], device="cpu")
    table.save(str(tmp_path / "table"))
    for name, expected, why in (
        ("table", "a transformer to begin with", "its first module is StaticEmbedding"),
        ("none", "a model", "neither a starter/NAME, a folder, nor a Hub id"),
    ):
        with pytest.raises(ValueError, match=f"wanted {expected}, got '{tmp_path / name}'.*{why}"):
            train(replace(base, base_model=str(tmp_path / name), output_dir=str(tmp_path / f"{name}-made")))


def test_the_script_says_in_one_line_what_went_wrong(base, capsys):
    spec = importlib.util.spec_from_file_location("train_transformer_encoder", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    flags = ["--pairs", *base.pairs, "--base_model", base.base_model, "--output_dir", base.output_dir]
    assert script.main([*flags, "--batch", "64"]) == 1
    assert re.fullmatch(
        r"parabank train transformer_encoder: wanted pairs of at least 64 references, because a batch has one pair of "
        r"each, got \d+; give a smaller --batch",
        capsys.readouterr().err.splitlines()[-1],
    )
