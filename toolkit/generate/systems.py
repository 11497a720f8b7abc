"""The 37 systems of ParaBank (Hu et al. 2019a), table 3, as data: what each constrains, and how a run names them.

What it does not do: choose words of a reference (`recipes.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from toolkit.generate.ppdb import RELATIONS

Kind = Literal["idf_high", "idf_low", "random", "none", "verb_form", "positional", "ppdb"]
Sign = Literal["⊖", "⊕", "⊕⊖", ""]
Lex = Literal["None", "All", "Verb"]
Ranks = tuple[int, ...]


@dataclass(frozen=True)
class Recipe:
    """One system of table 3.

    Attributes:
        number: Of the system.
        sign: ⊖: words that must not be said; ⊕: words that must be said; "" without constraints.
        kind: How the words are sorted before some are chosen: by falling IDF ("idf_high", "verb_form"), by rising IDF
            ("idf_low"), at random ("random"), or by place in the reference ("positional"). "ppdb" chooses every word
            that has a paraphrase, each for a decoding of its own.
        ranks: Which of the sorted words are chosen, from 1.
        description: In the words of table 3.
        variants: Whether all inflections of a chosen word are forbidden with it.
        relation: The relation of the paraphrases that are looked up in PPDB.
    """

    number: int
    sign: Sign
    kind: Kind
    ranks: Ranks
    description: str
    variants: bool = False
    relation: str | None = None

    @property
    def name(self) -> str:
        """The name of the system in origins and cards: its number."""
        return str(self.number)


EACH: tuple[Ranks, ...] = ((1,), (2,), (3,))
PAIRS: tuple[Ranks, ...] = ((1, 2), (2, 3), (1, 3))
ALL: tuple[Ranks, ...] = ((1, 2, 3),)
COUNTS: tuple[Ranks, ...] = ((1,), (1, 2), (1, 2, 3))

# ParaBank, table 3, line by line: No., ⊕/⊖, kind, ranks of each system, Token(s) Selected, Lex.
TABLE_3: tuple[tuple[Ranks, Sign, Kind, tuple[Ranks, ...], str, Lex], ...] = (
    ((1, 2, 3), "⊖", "idf_high", EACH, "{ranks} highest IDF", "None"),
    ((4, 5, 6), "⊖", "idf_high", PAIRS, "({ranks}) highest IDF", "None"),
    ((7,), "⊖", "idf_high", ALL, "({ranks}) highest IDF", "None"),
    ((8, 9, 10), "⊖", "idf_high", EACH, "{ranks} highest IDF", "All"),
    ((11, 12, 13), "⊖", "idf_high", PAIRS, "({ranks}) highest IDF", "All"),
    ((14,), "⊖", "idf_high", ALL, "({ranks}) highest IDF", "All"),
    ((15, 16, 17), "⊖", "idf_low", EACH, "{ranks} lowest IDF", "None"),
    ((18, 19, 20), "⊖", "idf_low", PAIRS, "({ranks}) lowest IDF", "None"),
    ((21,), "⊖", "idf_low", ALL, "({ranks}) lowest IDF", "None"),
    ((22, 23, 24), "⊖", "random", COUNTS, "{count} at random", "None"),
    ((25, 26, 27), "⊖", "random", COUNTS, "{count} at random", "All"),
    ((28,), "", "none", ((),), "no constraints", "None"),
    ((29, 30, 31), "⊕", "verb_form", EACH, "{ranks} highest IDF", "Verb"),
    ((32, 33, 34), "⊖", "positional", COUNTS, "positional ⟨BOS⟩: first {count}", "None"),
    ((35, 36, 37), "⊕⊖", "ppdb", ((), (), ()), "PPDB {relation}", "None"),
)
PPDB_RELATIONS = dict(zip((35, 36, 37), RELATIONS, strict=True))  # "equ, fwd, rev entailment"
EVALUATED = (17, 21, 28, 31, 34)  # in bold in table 3


def _recipe(number: int, sign: Sign, kind: Kind, ranks: Ranks, template: str, lex: Lex) -> Recipe:
    """One system from its line of table 3."""
    relation, ordinals = PPDB_RELATIONS.get(number), ", ".join(("1st", "2nd", "3rd")[rank - 1] for rank in ranks)
    count = "1 token" if len(ranks) == 1 else f"{len(ranks)} tokens"
    words = template.format(ranks=ordinals, count=count, relation=relation)
    words += {"None": "", "All": ", all variants", "Verb": ", a form of a verb"}[lex]
    return Recipe(number, sign, kind, ranks, f"{sign} {words}".strip(), lex == "All", relation)


RECIPES = {
    number: _recipe(number, sign, kind, ranks, template, lex)
    for numbers, sign, kind, all_ranks, template, lex in TABLE_3
    for number, ranks in zip(numbers, all_ranks, strict=True)
}
assert list(RECIPES) == list(range(1, 38))


def parse_systems(text: str) -> tuple[int, ...]:
    """The systems that a setting names, ascending, each once.

    >>> parse_systems("17,28-30"), parse_systems("evaluated"), len(parse_systems("all"))
    ((17, 28, 29, 30), (17, 21, 28, 31, 34), 37)

    Args:
        text: Numbers and ranges of them between commas, "evaluated" (those in bold in table 3) or "all".

    Raises:
        ValueError: It is neither, or names a system that table 3 does not have.
    """
    if text.strip() in ("all", "evaluated"):
        return tuple(RECIPES) if text.strip() == "all" else EVALUATED
    numbers: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]+)(?:\s*-\s*([0-9]+))?\s*", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not match or not {first, last} <= RECIPES.keys() or first > last:
            raise ValueError(
                f'wanted systems 1 to {len(RECIPES)} like "17,21,28-31", "evaluated" or "all", got {part.strip()!r} '
                f"in {text!r}: name systems of ParaBank's table 3"
            )
        numbers |= set(range(first, last + 1))
    return tuple(sorted(numbers))
