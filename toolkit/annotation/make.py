"""Sample paraphrases for people to judge, and write them as pages that do not say which parabank they are from."""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path

from toolkit.annotation._answers import ANSWERS, ITEMS, KEY, RECORD, SHEET, table_text
from toolkit.annotation.sheets import Sheet
from toolkit.data.rows import Row
from toolkit.evaluate.judged import COPIES
from toolkit.evaluate.lengths import LENGTHS, length_class
from toolkit.package.read import read_pairs, read_references
from toolkit.package.samples import draw
from toolkit.score.overlap import trigram_overlap
from toolkit.system.outputs import check_output_folder
from toolkit.system.whole_files import write_whole
from toolkit.version import VERSION

EMPTY = "empty"  # in `sampled`: pairs with an empty text
GROWTH = 4  # ours: how much further the next sample reaches where parabanks share too few references


@dataclass
class _Text:
    """A paraphrase to be judged.

    Attributes:
        id: The id of the reference.
        reference: The reference.
        text: The paraphrase.
        systems: The parabanks that it is from, with the rank if several were asked for.
        length: The length of the reference, 5, 10, 20 or 40, if references are sampled by length.
        range: The range of the paraphrase score that it was sampled from.
    """

    id: str
    reference: str
    text: str
    systems: list[str] = field(default_factory=list)
    length: int | None = None
    range: str | None = None


def make_sheet(
    parabanks: Sequence[str],
    sheet: Sheet,
    output: Path,
    size: int | None = None,
    ranks: tuple[int, int] = (1, 1),
    by_length: bool = False,
    judgments: int | None = None,
    seed: int = 0,
) -> dict:
    """Sample paraphrases and write the folder of a sheet.

    Args:
        parabanks: `toolkit.package.read.FORMS`, each under its file name.
        sheet: One of `toolkit.annotation.sheets.SHEETS`.
        output: A new folder.
        size: Sheet "parabank": references, of each length if `by_length`; all parabanks have them. Sheet "paranmt":
            pairs of each range of the score and parabank. Sheet "parazh": pairs of each parabank. None for the
            paper's number.
        ranks: Sheet "parabank": the first and last rank that is judged, counted from 1.
        by_length: Sheet "parabank": sample references of 5, 10, 20 and 40 words apart (`LENGTHS`).
        judgments: Annotators of each page; None for the paper's number.
        seed: The seed of the sample, of the order and of the places of the controls.

    Returns:
        The record of the sheet: its `pages`, `texts` and `controls`, and what was sampled.

    Raises:
        FileNotFoundError: A parabank does not exist.
        OSError: The folder cannot be written, or holds a sheet.
        ValueError: A number is out of its range, a parabank cannot be read, or has nothing to sample.
    """
    size = sheet.size if size is None else size
    judgments = sheet.judgments if judgments is None else judgments
    if min(size, judgments, ranks[0]) < 1 or ranks[1] < ranks[0]:
        raise ValueError(
            f"wanted numbers of at least 1, got size {size}, judgments {judgments}, ranks {ranks}: give greater ones"
        )
    check_output_folder(output, RECORD, parabanks)
    if (output / RECORD).exists():
        raise FileExistsError(f"wanted a new folder for the sheet, got {output}, which holds one: choose another")
    names = _paths_by_name(parabanks)
    sampled: dict = {}
    if sheet.controls:
        texts = list(_merged_texts(names, size, ranks, by_length, seed, sampled))
    else:
        texts = list(
            chain.from_iterable(_apart(name, path, sheet, size, seed, sampled) for name, path in names.items())
        )
    if not texts:
        condition = " that all of them have, letter by letter" if len(names) > 1 and sheet.controls else ""
        raise ValueError(
            f"wanted references with paraphrases{condition}, got none in {', '.join(names)}: check the paths"
        )
    pages = list(_arrange(texts, sheet, seed))
    random.Random(seed).shuffle(pages)
    record = {
        "toolkit": VERSION,
        "sheet": sheet.name,
        "id": hashlib.blake2b(repr(pages).encode(errors="replace"), digest_size=8).hexdigest(),
        "parabanks": names,
        "size": size,
        "ranks": list(ranks),
        "by_length": by_length,
        "judgments": judgments,
        "seed": seed,
        "sampled": sampled,
        "pages": len(pages),
        "texts": len(texts),
        "controls": sum(COPIES in text.systems for page in pages for text in page),
    }
    _write_sheet(output, sheet, pages, record)
    return record


def _paths_by_name(parabanks: Sequence[str]) -> dict[str, str]:
    """The parabanks by their names.

    Raises:
        ValueError: Two have the same name.
    """
    names = {Path(path).name.removesuffix(".shards"): str(path) for path in parabanks}
    if len(names) < len(parabanks):
        raise ValueError(f"wanted parabanks with different names, got {', '.join(parabanks)}: rename a folder")
    return names


def _merged_texts(
    names: dict[str, str], size: int, ranks: tuple[int, int], by_length: bool, seed: int, sampled: dict
) -> Iterator[_Text]:
    """The distinct paraphrases of references that all parabanks have; equal ones are merged (ParaBank, section 5.3).

    A missing rank is filled with the last paraphrase (ParaBank 2, section 3.4). The number of references goes to
    `sampled`, by length.
    """
    first, last = ranks
    for length in LENGTHS if by_length else (None,):
        references = _shared_references(list(names.values()), size, length, seed)
        sampled[str(length or "all")] = len(references)
        for rows in references:
            texts: dict[str, _Text] = {}
            for name, row in zip(names, rows, strict=True):
                for rank in range(first, last + 1):
                    paraphrase = row.paraphrases[:rank][-1].text
                    text = texts.setdefault(paraphrase, _Text(rows[0].id, row.reference, paraphrase, length=length))
                    text.systems.append(name if first == last else f"{name}, rank {rank}")
            yield from texts.values()


def _shared_references(parabanks: Sequence[str], size: int, length: int | None, seed: int) -> list[tuple[Row, ...]]:
    """The rows of a sample of references that all parabanks have, as `toolkit.package.samples.draw` draws it.

    Args:
        parabanks: The parabanks.
        size: References at most.
        length: Their length by `length_class`; None takes all.
        seed: The seed of the sample.
    """

    def usable_rows(path: str) -> Iterator[Row]:
        return (row for row in read_references(path) if _is_wanted(row, length))

    reach = size
    while True:
        samples = [draw(usable_rows(path), reach, seed) for path in parabanks]
        rows = [{row.reference: row for row in reversed(sample)} for sample in samples]
        shared_references = [
            reference
            for reference in dict.fromkeys(row.reference for row in samples[0])
            if all(reference in bank_rows for bank_rows in rows)
        ]
        exhausted_numbers = [number for number, sample in enumerate(samples) if len(sample) < reach]
        if len(shared_references) >= size or len(exhausted_numbers) == len(samples):
            return [tuple(bank_rows[reference] for bank_rows in rows) for reference in shared_references[:size]]
        if exhausted_numbers:  # all that can be shared is known: the others are read once more, and only that is kept
            known = rows[exhausted_numbers[0]]
            for number, path in enumerate(parabanks):
                if number not in exhausted_numbers:
                    rows[number] = {row.reference: row for row in usable_rows(path) if row.reference in known}
            shared_references = [reference for reference in known if all(reference in bank_rows for bank_rows in rows)]
            return [
                tuple(bank_rows[reference] for bank_rows in rows)
                for reference in _sort_references(shared_references, seed)[:size]
            ]
        reach *= GROWTH


def _sort_references(references: Iterable[str], seed: int) -> list[str]:
    """References in the order in which `draw` draws them."""
    return [
        row.reference
        for row in draw((Row("", "", None, None, reference, "", "") for reference in references), sys.maxsize, seed)
    ]


def _is_wanted(row: Row, length: int | None) -> bool:
    """Whether a row has a length, and nothing but texts that can be judged."""
    has_length = length is None or length_class(row.reference) == length
    return has_length and all(
        text.strip() for text in (row.reference, *(paraphrase.text for paraphrase in row.paraphrases))
    )


def _apart(name: str, path: str, sheet: Sheet, size: int, seed: int, sampled: dict) -> Iterator[_Text]:
    """Pairs of one parabank, `size` of each range of the paraphrase score if the sheet has ranges.

    The number of pairs of each range in the whole parabank goes to `sampled`, and that of pairs with an empty text,
    which cannot be judged.

    Raises:
        ValueError: The sheet has ranges, but no pair has a score.
    """
    edges: list[tuple[float, float] | None] = [*pairwise(sheet.ranges)] or [None]
    counts, samples = [0] * len(edges), [_Smallest(size) for _ in edges]
    for pair in chain.from_iterable(table.to_pylist() for table in read_pairs(path)):
        if not (pair["sentence1"].strip() and pair["sentence2"].strip()):
            sampled.setdefault(name, {}).setdefault(EMPTY, 0)
            sampled[name][EMPTY] += 1
            continue
        for number, edge in enumerate(edges):
            score = pair["semantic"]
            if edge is None or (score is not None and edge[0] < min(score, sheet.ranges[-1]) <= edge[1]):
                counts[number] += 1
                key = f"{seed}\t{pair['sentence1']}\t{pair['sentence2']}"
                samples[number].add(hashlib.blake2b(key.encode(errors="replace"), digest_size=8).digest(), pair)
    if sheet.ranges and not any(counts):
        raise ValueError(
            f"wanted pairs with a score (semantic), got none in {path}: measure them, or take another sheet"
        )
    for edge, count, sample in zip(edges, counts, samples, strict=True):
        label = "({:g}, {:g}]".format(*edge) if edge else None
        sampled.setdefault(name, {})[label or "all"] = count
        for pair in sample.values():
            yield _Text(pair["id"], pair["sentence1"], pair["sentence2"], [name], range=label)


class _Smallest:
    """The pairs with the smallest keys of all that were added."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.pairs: dict[bytes, dict] = {}

    def add(self, key: bytes, pair: dict) -> None:
        """Keep a pair if its key is among the smallest so far."""
        self.pairs[key] = pair
        if len(self.pairs) > 2 * self.size:
            self.pairs = {key: self.pairs[key] for key in sorted(self.pairs)[: self.size]}

    def values(self) -> list[dict]:
        """The pairs in the order of their keys."""
        return [self.pairs[key] for key in sorted(self.pairs)[: self.size]]


def _arrange(texts: Iterable[_Text], sheet: Sheet, seed: int) -> Iterator[list[_Text]]:
    """Pages of the texts of one reference in random order, with a control now and then."""
    rng = random.Random(seed)
    if sheet.texts == 1:
        yield from ([text] for text in texts)
        return
    texts_by_reference: dict[str, list[_Text]] = {}
    for text in texts:
        texts_by_reference.setdefault(text.reference, []).append(text)
    for reference, reference_texts in texts_by_reference.items():
        if rng.random() < sheet.controls * len(reference_texts) / (1 - sheet.controls):
            copy = next((text for text in reference_texts if text.text == reference), None)
            if copy is None:
                reference_texts.append(
                    copy := _Text(reference_texts[0].id, reference, reference, length=reference_texts[0].length)
                )
            copy.systems.append(COPIES)
        rng.shuffle(reference_texts)
        pages = -(-len(reference_texts) // sheet.texts)
        yield from (reference_texts[number::pages] for number in range(pages))


def _write_sheet(output: Path, sheet: Sheet, pages: Sequence[Sequence[_Text]], record: dict) -> None:
    """Write what annotators see, the key that they must not see, and the record, last."""
    items: list[dict] = []
    key: list[dict] = []
    for number, page in enumerate(pages, 1):
        for text in page:
            item = len(items) + 1
            texts = {"reference": text.reference, "paraphrase": text.text}
            items.append({"item": item, "page": number, **texts, SHEET: record["id"]})
            overlap = round(trigram_overlap(text.reference, text.text), 6)
            facts = {"id": text.id, "length": text.length, "range": text.range, "trigram_overlap": overlap}
            key += [{"item": item, "system": system, **facts} for system in text.systems]
    columns = ["item", "page", "reference", "paraphrase", *(question.name for question in sheet.questions), SHEET]
    (output / ANSWERS).mkdir(parents=True, exist_ok=True)
    write_whole(output / ITEMS, table_text(columns, items))
    write_whole(output / KEY, table_text(list(key[0]), key))
    write_whole(output / RECORD, json.dumps(record, ensure_ascii=False, indent=1) + "\n")
