"""Every encoder of ParaNMT-50M in miniature, against sums over single words; saved, and loaded by another process."""

import json
import re
import subprocess
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from tests.tiny import ENVIRONMENT, PYTHON
from toolkit.encoder.load import load_embedder
from toolkit.encoder.modules import ParaphrasticEncoder, sentence_transformer
from toolkit.encoder.network import LONGEST_RUN, ParaphrasticNetwork, _averages, kind_of
from toolkit.encoder.settings import Architecture
from toolkit.encoder.vocabulary import UNKNOWN, character_trigrams, count_trigrams, count_words, words
from toolkit.train.encoder_pairs import _transposed

SAID = ["The dog sleeps, doesn't it?", "A dog and the cat.", "\u4f60\u597d dog"]
ASKED = [
    "The cat sleeps.",
    "",
    "\U0001f600\U0001f600",
    "Zebras xyzzy!",
    "dog",
    " ",
    "\u4f60\u597d cat, it doesn't " * 3,
]
BOTH, ALL = ("word", "trigram"), ("word", "trigram", "lstm")
# ParaNMT-50M, tables 8, 9 and 14, with 3 dimensions for 300 and 5 for 2048
ROWS = {
    "WORD 300": (("word",), {}, 3),
    "TRIGRAM 300": (("trigram",), {}, 3),
    "LSTM 300": (("lstm",), {}, 3),
    "LSTM 900": (("lstm",), {"hidden": 9}, 9),
    "BLSTM 900": (("lstm",), {"hidden": 9, "direction": "average"}, 9),
    "WORD + TRIGRAM (addition) 300": (BOTH, {}, 3),
    "WORD + TRIGRAM + LSTM (addition) 300": (ALL, {}, 3),
    "WORD, TRIGRAM (concatenation) 600": (BOTH, {"combine": "concatenation"}, 6),
    "WORD, TRIGRAM, LSTM (concatenation) 900": (ALL, {"combine": "concatenation"}, 9),
    "BLSTM (Avg., concatenation) 4096": (("lstm",), {"hidden": 5, "direction": "concatenation"}, 10),
    "BLSTM (Max, concatenation) 4096": (("lstm",), {"hidden": 5, "direction": "concatenation", "pooling": "max"}, 10),
}


def encoder(parts: tuple[str, ...], texts: list[str], seed: int = 0, **architecture: object) -> ParaphrasticEncoder:
    """An encoder that knows the words and trigrams of some texts, of 4 dimensions unless told."""
    torch.manual_seed(seed)
    kinds = {kind_of(part) for part in parts}
    vocabularies = {}
    if "word" in kinds:
        vocabularies["word"] = words([UNKNOWN, *count_words(texts, 1, 999)])
    if "trigram" in kinds:
        vocabularies["trigram"] = character_trigrams(count_trigrams(texts, 1, 999))
    return ParaphrasticEncoder(Architecture(parts, **{"dimensions": 4, **architecture}), vocabularies).eval()


def row_of_table(name: str) -> ParaphrasticEncoder:
    parts, architecture, _ = ROWS[name]
    return encoder(parts, SAID, **{"dimensions": 3, **architecture})


def split(text: str) -> list[str]:
    return re.findall(r"[a-z]+|(?<=[a-z])'[a-z]*|\S", text.lower())


def mean(table: torch.Tensor, rows: list[int]) -> torch.Tensor:
    return torch.stack([table[row] for row in rows]).mean(0) if rows else torch.zeros(table.shape[1])


def oracle(module: ParaphrasticEncoder, text: str) -> torch.Tensor:
    """The vector of one text, part by part and word by word."""
    tokens, vectors = split(text), []
    known = {kind: {entry: n for n, entry in enumerate(v.entries)} for kind, v in module.vocabularies.items()}
    for part in module.architecture.parts:
        table = module.tables[part]
        if part == "trigram":
            spaced = " ".join(["", *tokens, ""]) if tokens else ""
            grams = [spaced[n : n + 3] for n in range(len(spaced) - 2)]
            vectors.append(mean(table, [known["trigram"][gram] for gram in grams if gram in known["trigram"]]))
            continue
        rows = [known["word"].get(word, 0) for word in tokens]
        vectors.append(mean(table, rows) if part == "word" else recurrent(module, table, rows))
    return torch.cat(vectors) if module.architecture.combine == "concatenation" else sum(vectors)


def recurrent(module: ParaphrasticEncoder, table: torch.Tensor, rows: list[int]) -> torch.Tensor:
    if not rows:
        return torch.zeros(module.architecture.size_of("lstm"))
    states = module.lstm(table[rows][None])[0][0]
    if module.architecture.direction == "average":
        half = states.shape[1] // 2
        states = (states[:, :half] + states[:, half:]) / 2
    return states.max(0).values if module.architecture.pooling == "max" else states.mean(0)


@pytest.mark.parametrize("name", ROWS)
@torch.no_grad()
def test_a_row_of_the_tables(name):
    module, size = row_of_table(name), ROWS[name][2]
    model = sentence_transformer(module)
    vectors = model.encode(ASKED, batch_size=3, show_progress_bar=False, convert_to_tensor=True)
    assert vectors.shape == (len(ASKED), size) and model.get_embedding_dimension() == module.architecture.size == size
    expected = torch.stack([oracle(module, text) for text in ASKED])
    torch.testing.assert_close(vectors, expected, rtol=1e-5, atol=1e-6)
    assert vectors[1].tolist() == vectors[5].tolist() == [0] * size, "empty"
    assert expected[[0, 4, 6]].abs().amax(1).min() > 1e-3
    assert (vectors[2].abs().max() > 0) == (name != "TRIGRAM 300"), "unknown words have a row"
    alone = torch.stack([model.encode(text, convert_to_tensor=True) for text in ASKED])
    torch.testing.assert_close(vectors, alone, rtol=1e-5, atol=1e-6)
    assert module(module.preprocess([]))["sentence_embedding"].shape == (0, size), "a process without a share"


@pytest.mark.parametrize("name", ["WORD + TRIGRAM + LSTM (addition) 300", "BLSTM (Max, concatenation) 4096"])
@torch.no_grad()
def test_ten_thousand_words(name):
    module = row_of_table(name)
    short = "the dog " * (LONGEST_RUN // 2)
    long = short + "cat sleeps " * 5000
    vectors = sentence_transformer(module).encode([long, "dog", short], show_progress_bar=False)
    assert np.isfinite(vectors).all()
    if name.startswith("BLSTM"):
        assert np.allclose(vectors[0], vectors[2], atol=1e-6), "the recurrent part reads the first words only"
    alone = sentence_transformer(module).encode(["dog"])
    np.testing.assert_allclose(vectors[1], alone[0], rtol=1e-5, atol=1e-6)


def test_the_averaging_parts_read_all_of_a_text():
    module = encoder(("word",), SAID)
    vector = sentence_transformer(module).encode("dog " * 9000 + "cat " * 1000)
    known = {entry: n for n, entry in enumerate(module.vocabularies["word"].entries)}
    table = module.tables["word"].detach().numpy()
    np.testing.assert_allclose(vector, 0.9 * table[known["dog"]] + 0.1 * table[known["cat"]], atol=1e-5)


def test_a_prompt_stands_before_every_text():
    module = encoder(("word", "lstm"), SAID)
    features, whole = module.preprocess(["dog", ""], prompt="the cat "), module.preprocess(["the cat dog", "the cat "])
    assert {name: ids.tolist() for name, ids in features.items()} == {name: ids.tolist() for name, ids in whole.items()}


@pytest.mark.parametrize("inputs", [None, 3, ["dog", None], ["dog", 2.5], [["dog", "cat"]], [b"dog"], {"dog": "cat"}])
def test_what_is_no_text_is_one_error(inputs):
    model = sentence_transformer(encoder(("word",), SAID))
    with pytest.raises(ValueError, match=r"^wanted a text or a list of texts, got .* among them: leave it out"):
        model.encode(inputs)
    assert model.encode([]).shape[0] == 0 and model.encode("dog").shape == (4,)


def test_the_fast_gradient_is_torchs():
    chance = np.random.default_rng(0)
    rows, lengths = chance.integers(0, 7, 40), [9, 0, 1, 20, 0, 10]
    offsets = np.append(0, np.cumsum(lengths))
    texts, ends = _transposed(rows, offsets, 8)  # nobody reads row 7
    weights, table = chance.normal(size=(6, 3)), chance.normal(size=(8, 3))
    tensors = [torch.from_numpy(a) for a in (rows, offsets, texts, ends)]
    results = []
    for arguments in (tensors[:2], tensors):
        leaf = torch.tensor(table, requires_grad=True)
        means = _averages(leaf, *arguments)
        (means * torch.from_numpy(weights)).sum().backward()
        results.append((means.detach(), leaf.grad))
    assert torch.equal(results[0][0], results[1][0])
    torch.testing.assert_close(results[0][1], results[1][1], rtol=1e-12, atol=1e-12)
    by_hand = np.zeros((8, 3))
    for text, (a, b) in enumerate(pairwise(offsets)):
        for row in rows[a:b]:
            by_hand[row] += weights[text] / (b - a)
    np.testing.assert_allclose(results[1][1].numpy(), by_hand, rtol=1e-12, atol=1e-12)
    assert np.abs(by_hand[:7]).min() > 1e-3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parts": ()}, "wanted distinct parts of word, trigram, lstm, got none"),
        ({"parts": ("word", "word")}, "wanted distinct parts of word, trigram, lstm, got word, word"),
        ({"parts": ("word", "gru")}, "wanted distinct parts of word, trigram, lstm, got word, gru"),
        ({"combine": "sum"}, "wanted combine of addition or concatenation, got 'sum'"),
        ({"direction": "back"}, "wanted direction of forward or average or concatenation, got 'back'"),
        ({"pooling": "min"}, "wanted pooling of average or max, got 'min'"),
        ({"dimensions": 0}, "wanted dimensions and hidden of at least 1, got 0 and None"),
        ({"hidden": 0}, "wanted dimensions and hidden of at least 1, got 300 and 0"),
        (
            {"parts": ("word", "lstm"), "hidden": 900},
            "wanted parts of one size to add, got word 300, lstm 900; change hidden, or concatenate them",
        ),
        (
            {"parts": ("word", "lstm"), "direction": "concatenation"},
            "wanted parts of one size to add, got word 300, lstm 600; change hidden, or concatenate them",
        ),
    ],
)
def test_what_cannot_be_built_is_refused(options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Architecture(**options)


def test_unequal_sizes_can_be_concatenated():
    assert Architecture(("word", "lstm"), "concatenation", 300, 2048, "concatenation").size == 4396
    assert Architecture(("word", "lstm"), "addition", 300, 150, "concatenation").size == 300
    assert Architecture().size == 300


LOADS = """
import json, sys
from sentence_transformers import SentenceTransformer
said = {}
for folder in json.loads(sys.argv[1]):
    model = SentenceTransformer(folder, trust_remote_code=True, device="cpu")
    said[folder] = [[vector.tobytes().hex() for vector in model.encode(json.loads(sys.argv[2]))]]
from toolkit.encoder.load import load_encoder
for folder in said:
    said[folder].append([v.tobytes().hex() for v in load_encoder(folder).encode(json.loads(sys.argv[2]))])
print(json.dumps(said))
"""


@pytest.mark.slow
def test_a_fresh_process_loads_what_was_saved_and_says_the_same(tmp_path):
    expected = {}
    for n, name in enumerate(ROWS):
        model = sentence_transformer(row_of_table(name))
        model.save(str(tmp_path / str(n)))
        expected[str(tmp_path / str(n))] = [vector.tobytes().hex() for vector in model.encode(ASKED)]
    command = [PYTHON, "-c", LOADS, json.dumps(list(expected)), json.dumps(ASKED)]
    process = subprocess.run(command, env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    results = json.loads(process.stdout.splitlines()[-1])
    for (folder, vectors), name in zip(expected.items(), ROWS, strict=True):
        assert results[folder][0] == vectors, name
        assert results[folder][1] == vectors, f"{name} by load_encoder"


def test_the_folder_says_what_it_is(tmp_path):
    module = encoder(("word", "trigram"), SAID)
    sentence_transformer(module).save(str(tmp_path / "saved"))
    config = json.loads((tmp_path / "saved" / "paraphrastic_config.json").read_text())
    assert config == asdict(module.architecture) | {"parts": ["word", "trigram"]}
    again = SentenceTransformer(str(tmp_path / "saved"), trust_remote_code=True, device="cpu")
    assert again.similarity_fn_name == "cosine"
    assert {kind: v.entries for kind, v in again[0].vocabularies.items()} == {
        kind: v.entries for kind, v in module.vocabularies.items()
    }
    (tmp_path / "saved" / "words.txt").unlink()
    with pytest.raises(ValueError, match=r"^wanted words\.txt beside paraphrastic_config\.json, got none in .*saved$"):
        ParaphrasticEncoder.load(str(tmp_path / "saved"))


def test_a_table_without_a_trigram_is_saved_and_loaded(tmp_path):
    module = ParaphrasticEncoder(Architecture(("trigram",), dimensions=3), {"trigram": character_trigrams([])})
    sentence_transformer(module).save(str(tmp_path / "saved"))
    again = SentenceTransformer(str(tmp_path / "saved"), trust_remote_code=True, device="cpu")
    assert again.encode(["dog", ""]).tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("name", ROWS)
def test_the_vectors_without_the_library_are_the_same(name, tmp_path):
    model = sentence_transformer(row_of_table(name))
    model.save(str(tmp_path))
    embedder = load_embedder(str(tmp_path))
    assert type(embedder) is ParaphrasticNetwork and embedder.max_seq_length == model.max_seq_length
    for batch_size in (2, 3, 256):
        vectors = embedder.encode(ASKED, batch_size=batch_size, show_progress_bar=False)
        assert vectors.tobytes() == model.encode(ASKED, batch_size=batch_size, show_progress_bar=False).tobytes()


def test_what_the_library_would_add_or_is_not_ours_is_loaded_by_it(tmp_path):
    model = sentence_transformer(encoder(("word",), SAID))
    model.prompts, model.default_prompt_name = {"query": "the cat "}, "query"
    model.save(str(tmp_path))
    assert isinstance(load_embedder(str(tmp_path)), SentenceTransformer)
    (tmp_path / "modules.json").write_text("[]")
    with pytest.raises(ValueError, match="wanted a sentence encoder, got"):
        load_embedder(str(tmp_path))


def test_a_damaged_folder_is_one_error_without_the_library(tmp_path):
    sentence_transformer(encoder(("word",), SAID)).save(str(tmp_path))
    (tmp_path / "words.txt").unlink()
    with pytest.raises(ValueError, match=r"wanted a sentence encoder, got .*words.txt"):
        load_embedder(str(tmp_path))
