"""The commands of the guide for Chinese run as the page has them, with tiny translators of random weights."""

import csv
import itertools
import json
import re
import shlex

import datasets
import pytest

from builders.command_line import main
from tests.tiny import ROOT, model
from toolkit.bitext.subwords import marian_tokenizer, train_pieces
from toolkit.firefox.published import sides

PAGE = (ROOT / "docs" / "guides" / "languages.md").read_text(encoding="utf-8")
SECTION = re.search(r"^## Chinese\n(.*?)^## ", PAGE, re.M | re.S)[1]
COMMANDS = [
    shlex.split(command)[1:]
    for block in re.findall(r"^```bash\n(.*?)^```", SECTION, re.M | re.S)
    for command in block.replace("\\\n", " ").splitlines()
]
WHO = {
    "我": "I",
    "我的老师": "My teacher",
    "那个孩子": "That child",
    "邻居": "The neighbour",
    "他的哥哥": "His brother",
}
WHEN = {"今天早上": "this morning", "昨天晚上": "last night", "上个星期": "last week", "刚才": "just now"}
WHAT = {"在图书馆看了一本旧书": "read an old book in the library", "给妈妈打了一个电话": "called his mother"}
PAIRS = [
    (f"{subject}{when}{predicate}。", f"{english} {does} {at}.")
    for (subject, english), (when, at), (predicate, does) in itertools.product(WHO.items(), WHEN.items(), WHAT.items())
]
# What makes a run of random weights short, and lets its candidates pass; the flags of the page stay as they are.
BRIEF = {
    "build parabank2": "--max_dual_nll 1000 --batch_rows 200 --threads 1 --dtype float32",
    "build parazh": "--best_share 1 --threads 1 --dtype float32",
    "train encoder": "--epochs 1 --threads 1",
    "train paraphraser": "--max_steps 2 --save_every 1 --threads 1 --held_out 2",
    "augment": "--threads 1",
    "study": "--sizes 4 --seeds 2 --threads 1",
}


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A folder with translators, a bitext, sentences and rows with labels."""
    folder = tmp_path_factory.mktemp("chinese")
    texts = [text for pair in PAIRS for text in pair] + ["，。？！、"]
    train_pieces(texts, folder / "joint.spm", vocabulary=200, coverage=1.0)
    for seed, name in ((17, "zh-en"), (3, "en-zh")):
        tokenizer = marian_tokenizer(folder / "joint.spm", folder / "joint.spm", folder / name)
        model(len(tokenizer), seed).save_pretrained(folder / name)
        source_lang, lang = name.split("-")
        (folder / name / "measured.json").write_text(json.dumps({"source_lang": source_lang, "lang": lang}))
    (folder / "my.zh-en.tsv").write_text("".join(f"{zh}\t{en}\n" for zh, en in PAIRS), encoding="utf-8")
    (folder / "sentences.txt").write_text("".join(f"{zh}\n" for zh, _ in PAIRS), encoding="utf-8")
    for name, rows in (("train.csv", PAIRS[:24]), ("test.csv", PAIRS[24:])):
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *((zh, "书" if "书" in zh else "话") for zh, _ in rows)])
    return folder


@pytest.mark.slow
def test_every_command_of_the_page_runs(workplace, monkeypatch, capsys):
    monkeypatch.chdir(workplace)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert len(COMMANDS) == 7 and all({*words} & {"--lang", "--pairs"} for words in COMMANDS)
    for words in COMMANDS:
        brief = next(flags for name, flags in BRIEF.items() if " ".join(words).startswith(name))
        assert main([*words, *brief.split()]) == 0, (words, capsys.readouterr().err)
    for name in ("my_zh_parabank", "my_parazh"):
        (split, *_) = datasets.load_dataset(str(workplace / name), cache_dir=str(workplace / "cache")).values()
        assert len(split) and {"sentence1", "sentence2"} <= {*split.column_names}
        assert {*split["sentence1"]} <= {zh for zh, _ in PAIRS}
    for name in ("bigger.csv", "bigger2.csv"):
        with (workplace / name).open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert [row["text"] for row in rows[:24]] == [zh for zh, _ in PAIRS[:24]]
    assert "paraphrased" in (workplace / "my_zh_study" / "study.txt").read_text(encoding="utf-8")


def test_the_names_of_the_page_are_pairs_of_firefox():
    names = re.findall(r"`firefox/([\w-]+)`", SECTION)
    assert [sides(name) for name in names] == [("zh-Hans", "en"), ("en", "zh-Hans")]
