"""The rows of FewCLUE, and the arm that adds the paraphrases of the rows that it is given."""

import json

from research.experiments.chinese_augmentation import paraphrased, rows
from tests.augmentation.fake import Rotations


def write(path, records):
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return rows(path)


def test_rows_have_numbers_and_keywords_as_a_text(tmp_path):
    records = [{"id": 7, "abst": "用 新 方法", "keyword": ["方法", "新"], "label": "1"}]
    assert write(tmp_path / "csl.json", records)[0] == {
        "abst": "用 新 方法", "keyword": ["方法", "新"], "keywords": "方法 新", "label": "1", "number": 0
    }  # fmt: skip


def test_the_arm_adds_paraphrases_of_its_rows_only(tmp_path):
    texts = ["one two three", "four five", "six", "seven eight nine"]
    train = write(tmp_path / "t.json", [{"sentence": text, "label": n % 2} for n, text in enumerate(texts)])
    arm, counts = paraphrased(train, {"varied": ["sentence"]}, Rotations())
    assert counts == {"rows": 4, "with_paraphrases": 3, "new_rows": 3}, "one word has no other order"
    grown = arm(train.select([3, 2]), 0)
    assert grown["sentence"][:2] == ["seven eight nine", "six"] and grown["label"][:] == ["1", "0", "1"]
    assert sorted(grown["sentence"][2].split()) == ["eight", "nine", "seven"] and len(grown) == 3
    assert grown.features == train.features
