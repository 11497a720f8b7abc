r"""Encoders over the number of pairs: ParaNMT-50M's "doubling", mega-batches, combinations and first vectors.

    python -m research.experiments.encoder_pairs --data DIR --json research/experiments/results/encoder_pairs.json

The pairs are people's captions of one image (Multi30k, MSCOCO), Quora's questions and ParaNet's published pairs, in
random order; none has a sentence of an STS task, compared without case and punctuation. DIR holds paraphrase/captions,
paraphrase/quora, paraphrase/paranet/paramac_run311.jsonl.gz, text/english_novels_le1923.tar.zst and sts/. Tested on STS
Benchmark's development set and on STS 2012 to 2015, as `sts_table.py` does; nothing is chosen on them.

- pairs: WORD and TRIGRAM on the first 5,000, 10,000 ... pairs (section 5.4: twice as many pairs, half a point more).
- mega_batch: both on most pairs with negatives of 1, 20 and 40 mini-batches (table 6).
- combined: WORD, TRIGRAM, their sum and their concatenation, on most pairs (tables 8, 9); "vectors": the words begin
  with vectors that word2vec (gensim) learned here from the novels and the pairs, in place of PARAGRAM's.

A part that is finished stays in --json, and the next run goes on after it.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import zstandard

from research.experiments.corpora import bare, sts_sentences
from research.experiments.paraphraser_data import captions, lines, quora_pairs
from research.experiments.paraphraser_runs import paranet
from research.experiments.sts_table import MEGA_BATCHES, PARTS, Judge, line, over_seeds
from research.experiments.work_record import check_work
from research.reports import report
from toolkit.bitext.words import tokens
from toolkit.train.encoder import EncoderTraining
from toolkit.train.encoder_pairs import TextPair

COUNTS = (5_000, 10_000, 20_000, 40_000, 80_000, 160_000)
BASE = ("WORD", "TRIGRAM")
NOVELS = "text/english_novels_le1923.tar.zst"
WINDOW, ROUNDS = 5, 3  # ours: of word2vec
RANDOM = 0.1  # the first vectors of an encoder's words are numbers from [-0.1, 0.1]
TABLES = ("pairs", "mega_batch", "combined")


def all_pairs(data: Path) -> list[TextPair]:
    """The distinct pairs in random order, without sentences of STS."""
    forbidden = sts_sentences(data)
    pairs: list[tuple[str, str]] = quora_pairs(data)
    for image in captions(data, "train"):
        references = image.references
        pairs += [(image.text, references[0]), *zip(references[1::2], references[2::2], strict=False)]
    by_image: dict[str, list[str]] = {}
    for caption in lines(data, "captions/mscoco-val2017.tsv.gz"):
        image_name, _, text = caption.split("\t")
        by_image.setdefault(image_name, []).append(text)
    for texts in by_image.values():
        pairs += zip(texts[::2], texts[1::2], strict=False)
    pairs += paranet(data)
    distinct = sorted({(first, second) for first, second in pairs if {bare(first), bare(second)}.isdisjoint(forbidden)})
    random.Random(0).shuffle(distinct)
    return [TextPair(first, first, second) for first, second in distinct]


def sentences(data: Path, pairs: Sequence[TextPair]) -> Iterator[list[str]]:
    """The words of the novels, paragraph by paragraph, and of the pairs."""
    with (data / NOVELS).open("rb") as file:
        unpacked = io.BytesIO(zstandard.ZstdDecompressor().stream_reader(file).read())
    with tarfile.open(fileobj=unpacked) as archive:
        for member in archive:
            novel = archive.extractfile(member)
            if novel is not None:
                for paragraph in novel.read().decode("utf-8", "replace").split("\n\n"):
                    yield [word.lower() for word in tokens(paragraph)]
    for pair in pairs:
        for text in (pair.anchor, pair.positive):
            yield [word.lower() for word in tokens(text)]


def write_vectors(data: Path, pairs: Sequence[TextPair], path: Path, dimensions: int, threads: int) -> None:
    """Learn word vectors and write them as text, centred, and each as long as the random vectors of an encoder.

    As word2vec leaves them, they have much in common and those of frequent words are many times as long: these words
    are most of every mean, and the steps of the training, which do not depend on the length, change little.
    """
    from gensim.models import Word2Vec

    corpus = list(sentences(data, pairs))
    model = Word2Vec(corpus, vector_size=dimensions, window=WINDOW, min_count=2, workers=threads, epochs=ROUNDS, seed=0)
    vectors = model.wv.vectors - model.wv.vectors.mean(0)
    random_length = RANDOM * (dimensions / 3) ** 0.5  # of vectors of numbers from [-RANDOM, RANDOM]
    model.wv.vectors = vectors * (random_length / np.linalg.norm(vectors, axis=1, keepdims=True))
    model.wv.save_word2vec_format(str(path))


def main() -> None:
    """Train, print the tables, and write the JSON after each line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("build/encoder_pairs"), help="folder for the word vectors")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--counts", nargs="+", type=int, default=COUNTS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    judge, pairs = Judge(options.data), all_pairs(options.data)
    base = EncoderTraining(pairs=[], output_dir="")
    results: dict[str, Any] = {}
    if options.json.exists():
        results = json.loads(options.json.read_text(encoding="utf-8"))["results"]
    conditions = {"all_pairs": len(pairs), "seeds": options.seeds}
    if conflicts := {
        name: results[name] for name in conditions if name in results and results[name] != conditions[name]
    }:
        parser.error(f"wanted a report of {conditions}, got one of {conflicts} in {options.json}: name another --json")
    results |= conditions
    most_pairs = pairs[: max(options.counts)]
    trainings: dict[str, dict] = {}  # several tables have a training in common

    def measure(table: str, name: str, training_pairs: Sequence[TextPair], settings: EncoderTraining) -> None:
        training = json.dumps([len(training_pairs), asdict(settings)], default=str)  # the settings hold no pairs
        if name not in results.setdefault(table, {}):
            if training not in trainings:
                trainings[training] = over_seeds(list(training_pairs), options.seeds, settings, judge)
            results[table][name] = trainings[training]
            report.write(options.json, 0, results, {})
        trainings[training] = results[table][name]
        line(f"{table}: {name}", results[table][name])

    def of_pairs() -> None:
        for count in options.counts:
            for model in BASE:
                measure("pairs", f"{model}, {count}", pairs[:count], replace(base, parts=PARTS[model]))

    def of_mega_batches() -> None:
        for mega_batch in MEGA_BATCHES:
            for model in BASE:
                settings = replace(base, parts=PARTS[model], mega_batch=mega_batch)
                measure("mega_batch", f"{model}, {len(most_pairs)}, M = {mega_batch}", most_pairs, settings)

    def of_combinations() -> None:
        check_work(options.work, "word vectors", {"data": options.data})
        vectors = options.work / f"vectors-{len(most_pairs)}.txt"
        if not vectors.exists():
            write_vectors(options.data, most_pairs, vectors, base.dimensions, options.threads)
        for start, file in (("random", None), ("vectors", str(vectors))):
            for model, combine in (("WORD", "addition"), ("TRIGRAM", "addition"), ("WORD + TRIGRAM", "addition"),
                                   ("WORD + TRIGRAM", "concatenation")):  # fmt: skip
                if file is None or "WORD" in model:
                    settings = replace(base, parts=PARTS[model], combine=combine, word_vectors=file)
                    measure("combined", f"{model}, {len(most_pairs)}, {combine}, {start}", most_pairs, settings)

    work: dict[str, Callable[[], None]] = dict(zip(TABLES, (of_pairs, of_mega_batches, of_combinations), strict=True))
    for table in options.tables:
        work[table]()


if __name__ == "__main__":
    main()
