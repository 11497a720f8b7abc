"""Files of the STS sets in their official forms, with three pairs of four words; and an encoder of these words."""

from pathlib import Path

from tests.tiny import word_encoder
from toolkit.evaluate.sts import SETS

WORDS = {"[UNK]": [0, 0], "dog": [1, 0], "hound": [3, 4], "cat": [0, 2]}
PAIRS, SCORES = ["dog\thound", "dog\tcat", "dog\tdog"], ["3", "1", "5"]


def four_word_encoder():
    return word_encoder(WORDS)


def write(path: Path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def write_year(data: Path, year: int, scores=SCORES):
    prefix = "STS2016" if year == 2016 else "STS"
    for name in SETS[year]:
        write(data / f"sts/{year}/{prefix}.input.{name}.txt", PAIRS)
        write(data / f"sts/{year}/{prefix}.gs.{name}.txt", scores)
