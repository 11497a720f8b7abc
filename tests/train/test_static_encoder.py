"""Training vectors of pieces: what the folder is, kills, processes, hard negatives, a teacher, short beginnings."""

import importlib.util
import json
import subprocess
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.tiny import ENVIRONMENT, PYTHON
from toolkit.encoder.load import load_encoder
from toolkit.encoder.settings import StaticTraining
from toolkit.system.processes import processes
from toolkit.train import static_encoder
from toolkit.train._negatives import no_negatives
from toolkit.train.encoder import CHECKPOINT
from toolkit.train.encoder_pairs import TextPair, number_pairs, read_pairs
from toolkit.train.static_encoder import UNKNOWN, _piece_counts, _trained_tokenizer, fit, train

SCRIPT = Path(__file__).parents[2] / "scripts" / "train_static_encoder.py"
NOUNS = ["dog", "cat", "horse", "bird", "fish", "cow", "goat", "duck", "mouse", "wolf", "bear", "fox"]
VERBS = ["runs", "sleeps", "eats", "jumps", "sings", "waits"]
SAID = {
    "dog": "hound",
    "cat": "kitten",
    "horse": "pony",
    "bird": "sparrow",
    "fish": "salmon",
    "cow": "calf",
    "goat": "kid",
    "duck": "drake",
    "mouse": "rodent",
    "wolf": "beast",
    "bear": "grizzly",
    "fox": "vixen",
    "runs": "races",
    "sleeps": "dozes",
    "eats": "dines",
    "jumps": "leaps",
    "sings": "chants",
    "waits": "stays",
}
SENTENCES = [f"the {noun} {verb}" for noun in NOUNS for verb in VERBS]
PARAPHRASES = [" ".join(SAID.get(word, word) for word in text.split()) for text in SENTENCES]


@pytest.fixture
def base(tmp_path) -> StaticTraining:
    lines = [f"{text}\t{paraphrase}\n" for text, paraphrase in zip(SENTENCES, PARAPHRASES, strict=True)]
    (tmp_path / "pairs.tsv").write_text("".join(lines))
    return StaticTraining(
        pairs=[str(tmp_path / "pairs.tsv")], output_dir=str(tmp_path / "made"), vocabulary=400, dimensions=32,
        shortest=8, batch=24, epochs=20, learning_rate=0.01, save_every=7, threads=1, dtype="float32",
    )  # fmt: skip


def weights(folder: str | Path) -> torch.Tensor:
    return load_file(Path(folder, "model.safetensors"))["embedding.weight"]


def cosines(encoder: SentenceTransformer, size: int | None = None) -> np.ndarray:
    sides = (
        encoder.encode(texts, truncate_dim=size, normalize_embeddings=True).astype(np.float32)
        for texts in (SENTENCES, PARAPHRASES)
    )
    first, second = sides
    return first @ second.T


def accuracy(encoder: SentenceTransformer, size: int | None = None) -> float:
    return float(np.mean(cosines(encoder, size).argmax(1) == np.arange(len(SENTENCES))))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_the_library_alone_loads_the_folder(base, tmp_path, dtype):
    folder = train(replace(base, dtype=dtype))
    program = (
        "import sys, json\n"
        "from sentence_transformers import SentenceTransformer\n"
        "model = SentenceTransformer(sys.argv[1], device='cpu')\n"
        "assert not [name for name in sys.modules if name.split('.')[0] == 'toolkit']\n"
        "print(json.dumps(model.encode(sys.argv[2:]).astype(float).tolist()))\n"
    )
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "PYTHONPATH"} | {"HF_HUB_OFFLINE": "1"}
    command = [PYTHON, "-I", "-c", program, str(folder), *SENTENCES[:3]]
    process = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert process.returncode == 0, process.stderr
    vectors = load_encoder(str(folder)).encode(SENTENCES[:3])
    np.testing.assert_allclose(json.loads(process.stdout.splitlines()[-1]), vectors, rtol=2e-2, atol=1e-3)
    assert weights(folder).dtype == getattr(torch, dtype)


def test_paraphrases_are_found_and_beginnings_stand_for_the_whole(base):
    folder = train(base)
    record = json.loads((folder / "training.json").read_text())
    assert (
        record["pairs"] == len(SENTENCES)
        and record["prefixes"] == [32, 16, 8]
        and record["loss"][-1] < 0.6 * (record["loss"][0])
    )
    encoder = SentenceTransformer(str(folder), device="cpu")
    assert accuracy(encoder) > 0.9
    whole, beginning = (cosines(encoder, size).ravel() for size in (None, 8))
    assert np.corrcoef(whole, beginning)[0, 1] > 0.5
    alone = train(replace(base, shortest=32, output_dir=base.output_dir + "-whole"))
    assert accuracy(encoder, 8) > accuracy(SentenceTransformer(str(alone), device="cpu"), 8)


def test_frequent_pieces_count_less_and_unknown_ones_nothing(base):
    tokenizer = _trained_tokenizer(SENTENCES, 400)
    rows = np.array([tokenizer.token_to_id(piece) for piece in ["the", "the", "the", "dog"]])
    counts = _piece_counts(tokenizer, rows, 0.25)
    assert counts[rows[[0, 3]]] == pytest.approx([0.25 / (0.25 + 0.75), 0.25 / (0.25 + 0.25)])
    assert counts[tokenizer.token_to_id(UNKNOWN)] == 0
    encoder = SentenceTransformer(str(train(replace(base, epochs=1))), device="cpu")
    assert not encoder.encode(["\u0416\u0416"]).any() and encoder.encode(["dog"]).any()


def test_a_killed_training_ends_where_the_whole_one_does(base, tmp_path, monkeypatch):
    whole = weights(train(base))
    steps, loss = [], static_encoder._loss

    def killed(*arguments):
        steps.append(arguments)
        if len(steps) == 11:
            raise KeyboardInterrupt
        return loss(*arguments)

    again = replace(base, output_dir=str(tmp_path / "again"))
    monkeypatch.setattr(static_encoder, "_loss", killed)
    with pytest.raises(KeyboardInterrupt):
        train(again)
    monkeypatch.setattr(static_encoder, "_loss", loss)
    assert torch.load(tmp_path / "again" / CHECKPOINT)["done"] == 7
    monkeypatch.setattr(static_encoder, "_trained_tokenizer", None)  # the checkpoint has it
    assert torch.equal(whole, weights(train(again))) and not (tmp_path / "again" / CHECKPOINT).exists()
    before = (tmp_path / "again" / "model.safetensors").stat().st_mtime_ns
    assert train(again) and (tmp_path / "again" / "model.safetensors").stat().st_mtime_ns == before


def test_a_checkpoint_of_other_pairs(base, tmp_path):
    pairs = number_pairs(read_pairs(base.pairs), 64)
    fit(pairs, base, processes(), None, tmp_path / CHECKPOINT)
    new_pairs = number_pairs([TextPair("r", "the dog runs", "the hound races")], 64)
    with pytest.raises(ValueError, match=r"wanted the pairs that .*checkpoint\.pt was trained on, got others"):
        fit(new_pairs, base, processes(), None, tmp_path / CHECKPOINT)


@pytest.mark.slow
def test_two_processes_end_where_one_does(base, tmp_path):
    single, double = (replace(base, epochs=3, output_dir=str(tmp_path / name)) for name in ("one", "two"))
    (tmp_path / "two.yaml").write_text(json.dumps(asdict(double)))
    launch = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command = [*launch, str(SCRIPT), "--config", str(tmp_path / "two.yaml")]
    environment = ENVIRONMENT | {"ACCELERATE_USE_CPU": "true"}
    process = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert process.returncode == 0, process.stderr
    assert json.loads((tmp_path / "two" / "training.json").read_text())["processes"] == 2
    alone = weights(train(single))
    start_weights = weights(train(replace(single, epochs=1, learning_rate=1e-9, output_dir=str(tmp_path / "start"))))
    assert (alone - weights(double.output_dir)).abs().max() < 1e-4 < 2e-3 < (alone - start_weights).abs().max()


def test_what_is_no_negative():
    references, anchors, positives = np.array([0, 0, 1, 2]), np.array([0, 0, 3, 5]), np.array([1, 2, 4, 1])
    forbidden = no_negatives(references, anchors, positives, np.array([2, 4, 9, 1]))
    texts_of = {0: {0, 1, 2}, 1: {3, 4}, 2: {5, 1}}
    for pair in range(4):
        for rival in range(4):
            related = references[pair] == references[rival] or positives[rival] in (anchors[pair], positives[pair])
            assert forbidden[pair, rival] == related
        for place, text in enumerate([2, 4, 9, 1]):
            assert forbidden[pair, 4 + place] == (text in texts_of[int(references[pair])])


def test_a_hard_negative_is_pushed_away(base):
    pairs = list(read_pairs(base.pairs))
    hard = [pair._replace(negatives=(pair.anchor.replace("the ", "no "),)) for pair in pairs]

    def near(text_pairs: list[TextPair]) -> float:
        encoder, record = fit(number_pairs(text_pairs, 64), base, processes())
        assert record["pairs"] == len(pairs)
        left, right = (encoder.encode(texts, normalize_embeddings=True) for texts in (SENTENCES, PLAIN_NO))
        return float((left * right).sum(1).mean())

    # the texts with "no" are read in both trainings, as positives of themselves in the first
    plain = [*pairs, *(TextPair(f"n{n}", text, f"{text} {text}") for n, text in enumerate(PLAIN_NO))]
    encoder, _ = fit(number_pairs(plain, 64), base, processes())
    first, second = (encoder.encode(texts, normalize_embeddings=True) for texts in (SENTENCES, PLAIN_NO))
    assert near(hard) < float((first * second).sum(1).mean()) - 0.05


PLAIN_NO = [text.replace("the ", "no ") for text in SENTENCES]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory) -> str:
    """Vectors in which an animal's sentences are alike, whatever it does."""
    words = sorted({UNKNOWN, "the", *SAID, *SAID.values()})
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    table = torch.from_numpy(np.random.default_rng(0).normal(size=(len(words), 40)).astype(np.float32)) * 0.02
    for n, noun in enumerate(NOUNS):
        for word in (noun, SAID[noun]):
            table[words.index(word), n] += 1
    folder = tmp_path_factory.mktemp("teacher") / "encoder"
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=table)], device="cpu").save(str(folder))
    return str(folder)


@pytest.mark.slow
def test_a_teacher_is_followed_against_the_pairs(base, teacher, tmp_path):
    lines = [f"{text}\t{PARAPHRASES[-1 - n]}\n" for n, text in enumerate(SENTENCES)]  # these say nothing alike
    (tmp_path / "wrong.tsv").write_text("".join(lines))
    wrong_settings = replace(base, pairs=[str(tmp_path / "wrong.tsv")], smoothing=100.0)
    expected = cosines(load_encoder(teacher)).ravel()

    def agreement(settings: StaticTraining) -> float:
        folder = train(settings)
        return float(np.corrcoef(cosines(SentenceTransformer(str(folder), device="cpu")).ravel(), expected)[0, 1])

    assert agreement(wrong_settings) < 0.3
    taught = replace(wrong_settings, teacher=teacher, output_dir=base.output_dir + "-taught")
    assert agreement(taught) > 0.9
    assert "encoder" in json.loads(Path(taught.output_dir, "training.json").read_text())["settings"]["teacher"]
    ranked = replace(taught, ranking=5.0, output_dir=base.output_dir + "-ranked")
    assert agreement(ranked) < agreement(taught)


def test_the_first_vectors_are_the_teachers(base, teacher):
    taught = replace(base, teacher=teacher, epochs=1, learning_rate=1e-9, smoothing=100.0)
    encoder = SentenceTransformer(str(train(taught)), device="cpu")
    assert np.corrcoef(cosines(encoder).ravel(), cosines(load_encoder(teacher)).ravel())[0, 1] > 0.99


def test_a_teacher_with_short_vectors(base, teacher):
    with pytest.raises(ValueError, match=r"wanted dimensions of at most 40, as the vectors of .* have, got 48; give a"):
        train(replace(base, teacher=teacher, dimensions=48))
    assert not Path(base.output_dir).exists()


def test_evaluation_texts_are_not_trained_on(base, tmp_path):
    long = [text for text in SENTENCES if len(text) > 14][:6]  # shorter ones are said by everybody
    (tmp_path / "set.txt").write_text("".join(f"{text.capitalize()}.\n" for text in long))
    folder = train(replace(base, decontaminate=[str(tmp_path / "set.txt")]))
    record = json.loads((folder / "training.json").read_text())
    assert record["refused"]["contaminated"] == 6 and record["pairs"] == len(SENTENCES) - 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocabulary": 0}, "wanted vocabulary of at least 1, got 0"),
        ({"dimensions": 0}, "wanted dimensions of at least 1, got 0"),
        ({"shortest": 0}, "wanted shortest of at least 1, got 0"),
        ({"smoothing": 0.0}, "wanted smoothing above 0, got 0.0"),
        ({"ranking": -1.0}, "wanted ranking of at least 0, got -1.0"),
        ({"batch": 1}, "wanted a batch of at least 2 pairs"),
        ({"dtype": "int8"}, "wanted dtype of float16, float32, got 'int8'"),
        ({"epochs": 0}, "wanted epochs of at least 1, got 0"),
    ],
)
def test_settings_out_of_range(base, change, message):
    with pytest.raises(ValueError, match=message):
        replace(base, **change)


@pytest.mark.parametrize(
    ("dimensions", "shortest", "expected"),
    [(256, 32, [256, 128, 64, 32]), (300, 64, [300, 150, 75]), (64, 64, [64]), (64, 100, [64])],
)
def test_beginnings(base, dimensions, shortest, expected):
    assert replace(base, dimensions=dimensions, shortest=shortest).prefixes == expected


def test_the_script_says_in_one_line_what_went_wrong(base, capsys):
    spec = importlib.util.spec_from_file_location("train_static_encoder", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    flags = ["--pairs", *base.pairs, "--output_dir", base.output_dir, "--teacher", "nowhere/none"]
    assert script.main(flags) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("parabank train static_encoder: wanted a model, got 'nowhere/none'")
