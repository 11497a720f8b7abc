"""Draw references and run ParaNMT, ParaBank and ParaBank 2 on them, for `parabank_tables.py`, which measures them."""

from __future__ import annotations

import argparse
import copy
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from builders.parabank import Lexicon, ParaBank, parabank
from builders.parabank2 import ParaBank2, parabank2
from builders.paranmt import ParaNMT
from research.experiments import systems
from research.experiments.systems import Texts
from research.experiments.table_quality import held_out
from toolkit.bitext.idf import read_idf
from toolkit.bitext.read import read_bitext
from toolkit.bitext.words import read_words
from toolkit.data.rows import Row
from toolkit.evaluate.judged import read_judged
from toolkit.generate.systems import parse_systems
from toolkit.generate.translate import translate_rows
from toolkit.score.overlap import PieceSplitter, without_punctuation
from toolkit.starters import idf_file, words_file
from toolkit.translator.load import load_translator

PAPERS, STARTERS = "the papers' settings", "the starters' settings"
# whether only known words are allowed, and ParaBank 2's settings; those for the starters are the README's
SETTINGS: dict[str, tuple[bool, ParaBank2]] = {
    PAPERS: (False, ParaBank2()),
    STARTERS: (True, ParaBank2(constraint_rate=0.3, min_p=0.05, max_dual_nll=3.0)),
}
SHARD = 100  # rows of a shard
EXACT = (5, 10, 20, 40)  # ParaBank, section 5.3: 100 references of each number of tokens

Run = dict[str, Texts]  # the outputs of each system, by its name


def references_of(domain: str, data: Path, split: str, count: int, language: str = "de") -> list[Row]:
    """A sample of a domain's pairs as rows; other domains than Tatoeba are German and English."""
    if domain == "tatoeba":
        return held_out(data, split, count, 0, language)
    if domain == "multi30k":
        path, source, reference = f"bitext/multi30k/en-cs-de-fr.{split}.tsv.gz", 2, 0
    else:
        path, source, reference = "bitext/news/deu-eng.tsv.gz", 0, 1
    pairs = sorted({pair.reference: pair.source for pair in read_bitext([str(data / path)], source, reference)}.items())
    chance = random.Random(0)
    chance.shuffle(pairs)
    sample = pairs[:count] if domain == "multi30k" else balanced(pairs[split == "test" :: 2], count)
    return [Row(f"{domain}-{i}", domain, s, "de", r, "en", split) for i, (r, s) in enumerate(sample)]


def balanced(pairs: Sequence[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """The first pairs whose references have one of the paper's lengths, the same number of each length."""
    words = [len(without_punctuation(reference).split()) for reference, _ in pairs]
    return [
        pair
        for length in EXACT
        for pair in [pair for pair, n in zip(pairs, words, strict=True) if n == length][: count // len(EXACT)]
    ]


def in_shards(rows: Sequence[Row], work: Callable[[list[Row]], Iterable[Row]]) -> list[Row]:
    """Apply a pipeline to copies of the rows, in shards."""
    shards: Iterator[list[Row]] = (copy.deepcopy(list(rows[i : i + SHARD])) for i in range(0, len(rows), SHARD))
    return [row for shard in shards for row in work(shard)]


def runs_of(rows: list[Row], options: argparse.Namespace) -> tuple[dict[str, list[Run]], PieceSplitter]:
    """Run all pipelines: for each setting one run per seed; and the function that splits a text into pieces."""
    forward, backward = (load_translator(name, options.dtype) for name in (options.forward, options.backward))
    words, idf = read_words(words_file(options.lexicon)), read_idf(idf_file(options.lexicon))
    best = in_shards(
        rows, lambda shard: translate_rows(shard, forward, ParaNMT().beam, ParaNMT().batch_sizes["batch_rows"])
    )
    runs: dict[str, list[Run]] = {name: [] for name in SETTINGS}
    for name, (known, settings) in SETTINGS.items():
        lexicon = Lexicon(idf, known_words=words if known else frozenset())
        for seed in options.seeds:
            parabank_settings = ParaBank(systems=options.systems, seed=seed)
            constrained = in_shards(
                rows, partial(parabank, forward=forward, lexicon=lexicon, settings=parabank_settings)
            )
            parabank2_settings = replace(settings, seed=seed)
            parabank2_pipeline = partial(
                parabank2,
                forward=forward,
                backward=backward,
                settings=parabank2_settings,
                known_words=lexicon.known_words,
            )
            runs[name].append(
                run_of(best, constrained, in_shards(rows, parabank2_pipeline), parse_systems(options.systems))
            )
    return runs, forward.target.split


def run_of(best: list[Row], constrained: list[Row], sampled: list[Row], numbers: Sequence[int]) -> Run:
    """The outputs of all systems: ParaNMT, ParaBank's by number, ParaBank 2's by rank."""
    ranks = systems.rank_texts(sampled)
    return {
        "ParaNMT": systems.system_texts(best, None),
        **{f"ParaBank {number}": systems.system_texts(constrained, str(number)) for number in numbers},
        **{f"ParaBank 2, rank {rank}": texts for rank, texts in enumerate(ranks, 1)},
    }


def authors_run(folder: Path) -> tuple[list[Row], Run]:
    """ParaBank's released evaluation set: its references as rows, and the outputs of its systems and of ParaNMT."""
    references, texts = read_judged(folder)
    rows = [Row(id, "czeng", None, "cs", reference, "en", "test") for id, reference in references.items()]
    run: Run = {name: {} for name in systems.PAPER_JUDGED}
    for judged in texts:
        for name in judged.systems & run.keys():
            run[name][judged.id] = judged.text
    return rows, run
