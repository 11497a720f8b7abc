"""Model files of Marian: both forms are read exactly, and every damage is one line that names the file."""

import gzip
import shutil
import struct
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.lib import format as npy

from tests import firefox_folders as firefox
from toolkit import load_translator
from toolkit.models.marian_file import read_marian
from toolkit.translator.firefox import firefox_files

FORMS = ["alphas.bin", "bin", "npz"]
QUICK = 5  # seconds in which any bad file is refused, though it may claim to be endless


@pytest.fixture
def model(tmp_path) -> Path:
    """A folder with an 8-bit model."""
    return firefox.write_folder(tmp_path / "model").folder


def file_of(folder: Path) -> Path:
    return firefox_files(folder).model


def refused(call, *words: str) -> str:
    began = time.monotonic()
    with pytest.raises(ValueError) as error:
        call()
    message = str(error.value)
    assert "\n" not in message and message.startswith("wanted ") and len(message) < 600, message
    assert ": " in message and all(word in message for word in words), message
    assert time.monotonic() - began < QUICK
    return message


def refused_folder(folder: Path, *words: str) -> None:
    refused(lambda: load_translator(str(folder), "float32"), str(folder), *words)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "two_vocabularies"])
def test_what_is_written_is_read(form, shared):
    tiny = firefox.tiny(form, shared)
    content = read_marian(file_of(tiny.folder))
    assert content.settings == tiny.settings and set(content.tensors) == set(tiny.arrays)
    for name, array in tiny.arrays.items():
        assert content.tensors[name].dtype == np.float32
        np.testing.assert_array_equal(content.tensors[name], array, err_msg=name)
    in_8_bits = {name for name in tiny.arrays if firefox.is_matrix(name)} if form == "alphas.bin" else set()
    assert set(content.multipliers) == in_8_bits
    outputs = {name for name in in_8_bits if "Wemb" in name and not name.startswith("encoder")}
    assert set(content.input_multipliers) == (in_8_bits - outputs) | ({"none"} if outputs else set())
    assert set(content.input_multipliers.values()) <= {127 / 8.0}


def test_numbers_of_16_bits_and_of_other_widths(tmp_path):
    integers = np.arange(-6, 6, dtype="<i2").reshape(3, 4) * 1000
    items = [
        ("W", 0x4102, (4, 3), integers.tobytes() + struct.pack("<f", 8.0)),
        ("half", 0x0402, (2, 2), np.array([1, 2, 3, 4], "<f2").tobytes()),
        ("double", 0x0408, (1, 2), np.array([0.1, -7], "<f8").tobytes()),
    ]
    path = tmp_path / "model.bin"
    path.write_bytes(firefox.binary(items))
    tensors = read_marian(path).tensors
    np.testing.assert_array_equal(tensors["W"], integers.T.astype(np.float32) / 8)
    np.testing.assert_array_equal(tensors["half"], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(tensors["double"], np.float32([[0.1, -7]]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("twentieth", range(20))
def test_a_cut_file(tmp_path, form, twentieth):
    whole = file_of(firefox.tiny(form).folder).read_bytes()
    path = tmp_path / f"model.deen.{form}"
    for size in {len(whole) * twentieth // 20, max(len(whole) - 1 - twentieth, 0)}:
        path.write_bytes(whole[:size])
        refused(lambda: read_marian(path), str(path), "fetch it again")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Reading .*npz")
@pytest.mark.parametrize("form", ["alphas.bin", "npz"])
@pytest.mark.parametrize("file", ["model", "vocab"])
def test_a_file_with_other_bytes_is_loaded_or_refused_in_one_line(tmp_path, form, file):
    folder = firefox.write_folder(tmp_path / "model", form).folder
    (path,) = folder.glob(f"{file}*")
    whole, refusals = path.read_bytes(), 0
    for seed in range(80):
        data, chance = bytearray(whole), np.random.default_rng(seed)
        for at in chance.integers(0, (len(data), 7000, 200)[seed % 3], chance.integers(1, 12)):
            data[min(at, len(data) - 1)] = chance.integers(0, 256)
        path.write_bytes(data)
        with np.errstate(all="ignore"):
            try:
                load_translator(str(folder), "float32")
            except ValueError as error:
                refusals += 1
                message = str(error)
                assert message.startswith("wanted ") and str(folder) in message and "\n" not in message, (seed, message)
    assert refusals > 20


def head(count=1, length=2, kind=firefox.FLOAT32, dimensions=1, size=256, name=b"W\0", shape=(1,), gap=0) -> bytes:
    """A file of one tensor of which any number may be wrong."""
    shape_bytes = struct.pack(f"<{len(shape)}i", *shape)
    return b"".join([
        struct.pack("<6Q", 1, count, length, kind, dimensions, size), name, shape_bytes, struct.pack("<Q", gap),
        bytes(256),
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "ends after 0 bytes: fetch it again"),
        (b"not a model at all, only text" * 20, "first bytes are not those"),
        (struct.pack("<QQ", 2, 1) + bytes(500), "first bytes are not those"),
        (head(count=2**60), "first bytes are not those"),
        (head(count=100_000), "fetch it again"),
        (head(length=2**60), "ends after"),
        (head(length=2**64 - 1), "ends after"),
        (head(length=0), "list of tensors is damaged"),
        (head(name=b"\xff\0"), "list of tensors is damaged"),
        (head(dimensions=2**60), "list of tensors is damaged"),
        (head(dimensions=0), "fetch it again"),
        (head(size=2**60), "ends after"),
        (head(shape=(2**30,)), "W has other numbers than its shape (1073741824,) says; fetch it again"),
        (head(shape=(-1,)), "W has other numbers than its shape"),
        (head(shape=(0,)), "W has other numbers than its shape"),
        (head(gap=2**60), "ends after"),
        (head(kind=firefox.INTGEMM8), "W is divided by 0.0; fetch it again"),
        (head(kind=firefox.INTGEMM8, shape=(256,)), "fetch it again"),
        (head(kind=0x0801), "W is of type 0x0801, a layout for one kind of processor; take its .npz"),
        (head(kind=0x7777), "W is of type 0x7777"),
    ],
)
def test_a_head_that_claims_what_is_not_there(tmp_path, data, words):
    path = tmp_path / "model.bin"
    path.write_bytes(data)
    refused(lambda: read_marian(path), str(path), words)


@pytest.mark.parametrize(
    ("begin", "command"), [(b"\x1f\x8b", "gzip -d"), (b"\x28\xb5\x2f\xfd", "zstd -d"), (b"\xfd7zXZ", "xz -d")]
)
def test_a_compressed_file_says_how_it_is_unpacked(tmp_path, begin, command):
    path = tmp_path / "model.bin"
    path.write_bytes(begin + bytes(900))
    refused(lambda: read_marian(path), "which is compressed", f"mv {path.name} {path.name}.", f"{command} {path.name}.")


def test_a_folder_in_place_of_a_file(model):
    path = file_of(model)
    path.unlink()
    path.mkdir()
    refused_folder(model, "which is no file")


def test_an_archive_that_claims_2_to_the_60_numbers(tmp_path):
    import zipfile

    path = tmp_path / "model.npz"
    with zipfile.ZipFile(path, "w") as archive, archive.open("Wemb.npy", "w") as file:
        npy.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (2**30, 2**30)})
    refused(lambda: read_marian(path), str(path), "damaged: fetch it again")


def test_an_archive_of_objects_or_texts(tmp_path):
    for array in (np.array([{}, None], object), np.array(["a", "b"])):
        np.savez(tmp_path / "model.npz", Wemb=array)
        refused(lambda: read_marian(tmp_path / "model.npz"), "damaged: fetch it again")


# What a whole file must hold


def write(model: Path, arrays: firefox.Arrays, settings: dict | None) -> None:
    firefox.write_model(file_of(model), arrays, settings)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"transformer-decoder-autoreg": "self-attention"}, "wanted a model with transformer-decoder-autoreg 'rnn'"),
        ({"dec-cell": "gru"}, "dec-cell 'ssru'"),
        ({"type": "amun"}, "type 'transformer'"),
        ({"transformer-preprocess": "n"}, "transformer-preprocess ''"),
        ({"right-left": True}, "right-left False"),
        ({"enc-depth": 3}, "without 'encoder_l3_self_Wq'"),
        ({"enc-depth": 2**60}, "without 'encoder_l3_self_Wq'"),
        ({"enc-depth": 1}, "of the layers that are read here, got encoder_l2_"),
        ({"dec-depth": 1}, "of the layers that are read here, got decoder_l2_"),
        ({"enc-depth": "many"}, "say enc-depth, got 'many'"),
        ({"enc-depth": True}, "say enc-depth, got True"),
        ({"dec-depth": 0}, "say dec-depth, got 0"),
        ({"dec-depth": None}, "say dec-depth, got None"),
        ({"transformer-heads": 7}, "for each of 7 heads"),
        ({"transformer-heads": -4}, "got -4"),
        ({"transformer-tied-layers": [1]}, "transformer-tied-layers for 2 layers, got [1]"),
        ({"transformer-tied-layers": [1, 9]}, "without 'decoder_l9_rnn_W'"),
        ({"transformer-tied-layers": "all"}, "got 'all'"),
        ({"transformer-tied-layers": [1, [2]]}, "got [1, [2]]"),
    ],
)
def test_settings_of_another_model(model, change, words):
    write(model, firefox.tiny().arrays, firefox.SETTINGS | change)
    refused_folder(model, words)


def test_a_model_without_settings(model):
    write(model, firefox.tiny().arrays, None)
    refused_folder(model, "wanted a model with its settings (special:model.yml)", "which has none")


@pytest.mark.parametrize("text", [b"a: [1, 2\0", b"a: \xff\0", b"just words\0", b"- 1\n- 2\0", b"[" * 20_000, b"\0"])
def test_damaged_settings(model, text):
    items = firefox.items_of(firefox.tiny().arrays, None, True)
    file_of(model).write_bytes(firefox.binary([*items, ("special:model.yml", firefox.INT8, (len(text),), text)]))
    refused_folder(model, "settings (special:model.yml) are damaged; fetch it again")


@pytest.mark.parametrize("name", [*sorted(firefox.random_arrays(9, 9, 0))[::4], "Wemb", "decoder_ff_logit_out_b"])
def test_a_missing_tensor(model, name):
    arrays = {key: array for key, array in firefox.tiny().arrays.items() if key != name}
    write(model, arrays, firefox.SETTINGS)
    refused_folder(model, "wanted a whole model", "without", "fetch it again")


@pytest.mark.parametrize("name", ["decoder_ff_logit_out_W", "encoder_l3_self_Wq", "decoder_l1_rnn_Wo", "Wpos"])
def test_a_tensor_that_has_no_place_in_the_model(model, name):
    """An output layer of its own, a projection after the unit: ignored, they would make another translation."""
    write(model, firefox.tiny().arrays | {name: np.ones((2, 2), np.float32)}, firefox.SETTINGS)
    refused_folder(model, f"of the layers that are read here, got {name}", "convert it")


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("Wemb", (5,)), ("Wemb", (170, 33)), ("encoder_l1_ffn_W1", (64,)), ("encoder_l2_ffn_W1", (32, 63)),
        ("decoder_l1_rnn_W", (32, 31)), ("decoder_l1_rnn_Wf", (32,)), ("decoder_l1_rnn_bf", (1, 31)),
        ("encoder_l1_self_Wo_ln_scale", (1, 1)), ("decoder_ff_logit_out_b", (1, 3)),
        ("decoder_l2_context_Wq", (2, 2, 2)),
    ],
)  # fmt: skip
def test_a_tensor_of_another_shape(model, name, shape):
    write(model, firefox.tiny().arrays | {name: np.ones(shape, np.float32)}, firefox.SETTINGS)
    refused_folder(model, "fetch it again" if name != "Wemb" or shape == (5,) else "")


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_number_that_is_none(model, number):
    arrays = firefox.tiny().arrays
    bias = arrays["encoder_l1_ffn_b1"].copy()
    bias[0, 3] = number
    write(model, arrays | {"encoder_l1_ffn_b1": bias}, firefox.SETTINGS)
    refused_folder(model, "NaN or infinity in encoder.layers.0.fc1.bias")


# The files of a folder


def test_two_models_or_two_vocabularies_in_a_folder(model):
    for name in ("model.ende.alphas.bin", "vocab.ende.spm", "lex.ende.s2t.bin"):
        (path,) = model.glob(name.replace("ende", "deen"))
        shutil.copyfile(path, model / name)
        refused_folder(model, "wanted one ", name, path.name, "keep one")
        (model / name).unlink()


@pytest.mark.parametrize("pattern", ["*", "model*", "vocab*"])
def test_files_that_are_compressed_by_gzip_are_read_all_the_same(model, pattern):
    for path in list(model.glob(pattern)):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    content = read_marian(file_of(model))
    for name, array in firefox.tiny().arrays.items():
        np.testing.assert_array_equal(content.tensors[name], array, err_msg=name)


@pytest.mark.parametrize("pattern", ["*", "model*", "vocab*"])
def test_files_that_are_still_compressed_otherwise(model, pattern):
    for path in list(model.glob(pattern)):
        path.rename(path.with_name(path.name + ".zst"))
    refused_folder(model, "wanted unpacked files of a model", "zstd -d")


@pytest.mark.parametrize("twentieth", range(1, 20, 3))
def test_a_cut_file_of_gzip(model, twentieth):
    path = file_of(model)
    data = gzip.compress(path.read_bytes())
    path.with_name(path.name + ".gz").write_bytes(data[: len(data) * twentieth // 20])
    path.unlink()
    refused_folder(model)


def test_a_compressed_file_under_the_name_of_a_model(model):
    path = file_of(model)
    path.write_bytes(gzip.compress(path.read_bytes()))
    refused_folder(model, "gzip -d")


def test_no_vocabulary(model):
    (model / "vocab.deen.spm").unlink()
    refused_folder(model, "wanted a vocabulary (vocab*.spm")


def test_the_vocabulary_of_another_model(model):
    _, german, _ = firefox.vocabularies()
    shutil.copyfile(german, model / "vocab.deen.spm")
    refused_folder(model, "wanted a vocabulary of", "vocab.deen.spm", "take the files of one model")


def test_two_vocabularies_the_wrong_way_round(tmp_path):
    folder = firefox.write_folder(tmp_path / "model", shared=False).folder
    source, target = folder / "srcvocab.deen.spm", folder / "trgvocab.deen.spm"
    content = source.read_bytes()
    source.write_bytes(target.read_bytes())
    target.write_bytes(content)
    refused_folder(folder, "srcvocab.deen.spm", "take the files of one model")


def test_a_vocabulary_with_other_first_pieces(model):
    from toolkit.bitext.subwords import train_pieces

    sentences = [text for pair in firefox.pairs(320) for text in pair] + ["- \" ' ( ) : ! ?"]
    train_pieces(sentences, model / "vocab.deen.spm", 200, coverage=1.0, specials=(1, 0, -1))
    refused_folder(model, "take the files of one model")


@pytest.mark.parametrize("twentieth", range(20))
def test_a_cut_vocabulary(model, twentieth):
    path = model / "vocab.deen.spm"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * twentieth // 20])
    refused_folder(model, "vocab.deen.spm")


def test_a_vocabulary_that_is_none(model):
    path = model / "vocab.deen.spm"
    path.write_bytes(b"\xff\x00{" * 50)
    refused_folder(model, "wanted a SentencePiece model", "damaged: fetch it again")
    path.unlink()
    path.mkdir()
    refused_folder(model, "vocab.deen.spm")


def test_settings_are_yaml_that_is_not_run(model):
    text = b"!!python/object/apply:os.mkdir ['" + str(model / "made").encode() + b"']\0"
    items = firefox.items_of(firefox.tiny().arrays, None, True)
    file_of(model).write_bytes(firefox.binary([*items, ("special:model.yml", firefox.INT8, (len(text),), text)]))
    refused_folder(model, "are damaged")
    assert not (model / "made").exists() and yaml.safe_load("a: 1") == {"a": 1}
