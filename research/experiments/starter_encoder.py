r"""The recipe of the starter encoder: sentences with their paraphrases by people, by two translators and of our own.

    python -m research.experiments.starter_encoder --data DIR --novels DIR --output build/starter-encoder.tsv
    parabank train encoder --pairs build/starter-encoder.tsv --output_dir build/starter-encoder

DIR of --data holds bitext/tatoeba/{deu,fra,cmn}-eng.train.tsv.gz, sts/2012 to sts/2015 and sts/benchmark; that of
--novels text files of English novels in the public domain (47 up to 1923, without the words of their distributor). The
pairs are:

- sentences of Tatoeba, of novels and of our own (own_sentences.txt.gz), each with its greedy round trip by Portuguese;
- English sentences of Tatoeba that translate one foreign sentence (`starter_paraphraser.natural`);
- texts of our own with two written paraphrases, and these two (own_paraphrases.tsv.gz).

Pairs with a sentence of the STS sets are left out. The encoder is ParaNMT-50M's WORD + TRIGRAM with the settings of the
script. `parabank package encoder` --dtype float8` then measures it and saves it with its card.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterable, Iterator
from itertools import chain, combinations
from pathlib import Path

import torch

from research.experiments.corpora import write_tsv
from research.experiments.starter_paraphraser import BITEXT, LANGUAGES, LEAST_WORDS, OWN, Pair, natural
from research.experiments.starter_rewriter import PARAPHRASES
from toolkit.bitext.normalize import match_key, normalize
from toolkit.bitext.passages import sentences_of
from toolkit.bitext.read import read_bitext
from toolkit.bitext.text_file import read_text
from toolkit.data.rows import Row
from toolkit.generate.translate import translate_rows
from toolkit.translator.load import Translator, load_translator

THERE, BACK = "starter/en-pt", "starter/pt-en"
TATOEBA, NOVELS = 110_000, 35_000  # sentences of either, at most
OF_A_NOVEL, NOVEL_WORDS = 1500, range(5, 21)  # sentences of each novel, and the words that they have
PLAIN = re.compile(r"[A-Z][A-Za-z0-9 ,.;:'?!-]+[.?!]")  # sentences of novels without quotes, dashes or italics
BATCH_ROWS = 2400


def sentences(data: Path, novels: Path) -> list[str]:
    """Distinct English sentences of Tatoeba, of novels and of our own, in random order."""
    chance = random.Random(0)
    tatoeba: dict[str, None] = {}
    of_novels: list[str] = []
    for language in LANGUAGES:
        pairs = read_bitext([str(data / BITEXT.format(language))])
        tatoeba |= dict.fromkeys(normalize(pair.reference) for pair in pairs)
    for novel in sorted(novels.glob("*.txt")):
        paragraphs = re.split(r"\n\s*\n", read_text(str(novel)).replace("\r", "").replace("’", "'"))
        segmented = [text for paragraph in paragraphs for text in sentences_of(" ".join(paragraph.split()), "en")]
        plain = [text for text in segmented if len(text.split()) in NOVEL_WORDS and PLAIN.fullmatch(text)]
        of_novels += chance.sample(plain, min(OF_A_NOVEL, len(plain)))
    long = [text for text in tatoeba if len(text.split()) >= LEAST_WORDS]
    texts = chance.sample(long, min(TATOEBA, len(long))) + chance.sample(of_novels, min(NOVELS, len(of_novels)))
    texts += read_text(str(OWN)).splitlines()
    chance.shuffle(texts)
    return list(dict.fromkeys(texts))


def translated(texts: list[str], translator: Translator) -> list[str]:
    """The most probable translation of each text, greedily; "" where there is none."""
    rows = [Row(str(number), "", text, "", text, "en", "") for number, text in enumerate(texts)]
    outputs = [row.candidates[0] for row in translate_rows(rows, translator, 1, BATCH_ROWS)]
    return ["" if output.reason else output.text for output in outputs]


def written() -> Iterator[Pair]:
    """Pairs of each text of our own and its two paraphrases."""
    for line in read_text(str(PARAPHRASES)).splitlines():
        yield from combinations(line.split("\t")[1:], 2)


def evaluation_keys(data: Path) -> set[str]:
    """What the sentences of the STS sets are compared by."""
    lines = [
        line.split("\t")[:2] for path in data.glob("sts/201?/STS.input.*") for line in read_text(str(path)).split("\n")
    ]
    for part in ("train", "dev"):
        lines += [line.split("\t")[5:7] for line in read_text(str(data / f"sts/benchmark/sts-{part}.csv")).split("\n")]
    return {match_key(text) for line in lines for text in line} - {""}


def without(pairs: Iterable[Pair], keys: set[str]) -> Iterator[Pair]:
    """Pairs of which no side is empty or among the keys."""
    return (pair for pair in pairs if all(pair) and not {match_key(text) for text in pair} & keys)


def main() -> None:
    """Write the pairs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--novels", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    texts = sentences(options.data, options.novels)
    print(f"{len(texts):,} sentences")
    back = translated(translated(texts, load_translator(THERE)), load_translator(BACK))
    people = [
        (text, paraphrase)
        for text, paraphrases in natural(options.data).items()
        for paraphrase in paraphrases
        if text < paraphrase
    ]
    pairs = chain(zip(texts, back, strict=True), people, written())
    write_tsv(options.output, without(pairs, evaluation_keys(options.data)))


if __name__ == "__main__":
    main()
