"""A file of texts rewritten under ParaBank's constraint systems, as a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from toolkit.bitext.idf import Idf
from toolkit.bitext.text_file import text_lines
from toolkit.data.rows import Row
from toolkit.generate.constrain import constrain_rows
from toolkit.generate.recipes import check_pools, constraint_sets
from toolkit.generate.systems import RECIPES, parse_systems
from toolkit.translator.load import Translator

LINE = re.compile(r"[^\t]*\t[0-9]+(,[0-9]+)*\t[^\t]*")  # of the output


def check_systems(systems: str, has_idf: bool) -> None:
    """Refuse systems that rewriting cannot use.

    Raises:
        ValueError: One needs PPDB, or an IDF table that is not there.
    """
    kinds = {RECIPES[number].kind for number in parse_systems(systems)}
    if "ppdb" in kinds:
        raise ValueError(f"wanted systems without PPDB, got {systems}: leave 35 to 37 out")
    if not has_idf and kinds - {"none", "positional"}:
        raise ValueError(f"wanted --idf FILE for systems {systems}, got none; or take 28 and 32-34 only")


def rewrite_lines(
    texts: Sequence[str], rewriter: Translator, systems: str, idf: Idf, lang: str, beam: int, batch_rows: int, seed: int
) -> tuple[list[str], Counter[str]]:
    """The best rewriting of each text under each constraint set of some systems.

    Args:
        texts: What is to be rewritten; empty ones are counted.
        rewriter: A model that rewrites their language.
        systems: Of table 3, as `parse_systems` reads them.
        idf: By which some systems choose words.
        lang: Language of the texts (ISO 639-1).
        beam: Hypotheses that a search follows at a time.
        batch_rows: Hypotheses that are decoded at a time.
        seed: Of random words and inflections.

    Returns:
        A line for each distinct rewriting: text TAB systems, joined by commas, TAB rewriting; and how many texts or
        rewritings could not be used, by reason.

    Raises:
        ValueError: A system wants more words of a kind than the texts have.

    Source: ParaBank (Hu et al. 2019a), section 6.
    """
    recipes = [RECIPES[number] for number in parse_systems(systems)]
    check_pools(filter(None, texts), parse_systems(systems), idf)
    rows = [Row(f"text-{n}", "text", None, None, text, lang, "train") for n, text in enumerate(texts) if text]
    refused, lines = Counter({"empty_line": len(texts) - len(rows)}), []

    def list_sets(row: Row) -> list:
        return [
            (recipe.name, constraint_set)
            for recipe in recipes
            for constraint_set in constraint_sets(recipe, row.reference, row.id, seed, idf)
        ]

    for row in constrain_rows(rows, rewriter, list_sets, beam, batch_rows):
        for candidate in row.candidates:
            if candidate.reason:
                refused[candidate.reason] += 1
            else:
                names = ",".join(origin.recipe or "" for origin in candidate.origins)
                lines.append(f"{row.reference}\t{names}\t{candidate.text}\n")
    return lines, +refused


def read_texts(path: Path) -> list[str]:
    """The texts of a file, one a line; a tab in a text becomes a space, because tabs part the columns of the output.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is not UTF-8, or has no text.
    """
    texts = [" ".join(text.split("\t")).strip() for text in text_lines(str(path))]
    if not any(texts):
        raise ValueError(f"wanted a text a line, got none in {path}: give another file")
    return texts


def is_rewritten(path: Path) -> bool:
    """Whether a file is a table of `rewrite_lines`; an empty one may be."""
    try:
        return all(LINE.fullmatch(line) for line in path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))
    except (OSError, ValueError):
        return False
