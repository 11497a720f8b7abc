"""No way to a new row loses a placeholder, an address or an emoji of its text, or has no letter."""

import csv

from datasets import Dataset

import toolkit
from tests.augmentation.fake import Rotations
from toolkit.augmentation._augment_file import augment_file
from toolkit.augmentation.adapters import MapAugmenter, TextAugmenter
from toolkit.augmentation.file_settings import AugmentFile
from toolkit.data.rows import Candidate, Scores

TEXTS = ["Hello {name} and Tom", "I love cats 😂", "It is late now"]


class Careless(Rotations):
    """A paraphraser of one's own that loses marks: its first paraphrase has none, and its second all."""

    def candidates(self, texts, **options):
        return [
            [
                Candidate(paraphrase, "beam", rank=rank, scores=Scores(semantic=0.9))
                for rank, paraphrase in enumerate(
                    (text.translate(dict.fromkeys(map(ord, "{}😂"))) + " today", f"So {text}")
                )
            ]
            for text in texts
        ]


def test_new_rows_by_any_paraphraser_keep_the_marks():
    bigger = toolkit.augment(Dataset.from_dict({"text": TEXTS}), "text", paraphraser=Careless(), progress=False)
    assert bigger["text"][3:] == ["So Hello {name} and Tom", "So I love cats 😂", "It is late now today"]


def test_adapters_keep_the_marks():
    batch = MapAugmenter("text", paraphraser=Careless())({"text": TEXTS})
    texts, _ = TextAugmenter(paraphraser=Careless()).fit_resample(TEXTS, [0, 1, 0])
    assert batch["text"] == list(texts)
    assert "So I love cats 😂" in batch["text"]


def test_pairs_that_lost_a_mark_or_all_letters_give_no_row(tmp_path):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("Hello {name}!\tHi there!\nHello {name}!\tHi {name}!\nGo away.\t12.\nWhat's new?\tWhat is new?\n")
    data, output = tmp_path / "data.csv", tmp_path / "out.csv"
    data.write_text("text\nHello {name}!\nGo away.\nWhat's new?\n")
    augment_file(AugmentFile(data=str(data), output=str(output), columns=["text"], pairs=str(pairs), threads=1))
    with output.open(newline="", encoding="utf-8") as file:
        rows = [row["text"] for row in csv.DictReader(file)]
    assert rows == ["Hello {name}!", "Go away.", "What's new?", "Hi {name}!"]
