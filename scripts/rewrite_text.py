r"""Rewrite texts in their own language under ParaBank's constraint systems, with any seq2seq model.

    python scripts/rewrite_text.py --model MODEL --input texts.txt --output rewritten.tsv --systems 28,34

One text a line in; text TAB systems TAB rewriting out, a line for each distinct rewriting. Systems that choose words by
IDF need --idf FILE (scripts/count_idf.py). What cannot be used is counted by reason on stderr.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from toolkit.bitext.languages import check_code
from toolkit.bitext.read import decode, lines
from toolkit.command import run_command
from toolkit.outputs import check_output_file
from toolkit.settings import DTYPES, check_among, check_at_least_one, check_at_most, parse_settings
from toolkit.shards import write_whole

PROGRAM = "rewrite_text.py"
MOST_ROWS = 100_000  # ours: hypotheses at a time; their caches of the smallest model fill a large machine
LINE = re.compile(r"[^\t]*\t[0-9]+(,[0-9]+)*\t[^\t]*")  # of the output


@dataclass(frozen=True, kw_only=True)
class Rewriting:
    """What is rewritten, by what, and how.

    Attributes:
        model: A seq2seq model that rewrites the texts' language: a Hub id or a local path.
        input: A file with one text a line.
        output: The TSV to write.
        systems: Of ParaBank's table 3, without 35 to 37: "28,34", "1-34", "evaluated".
        idf: A table by scripts/count_idf.py, or "starter/de-en" for the one of its English text.
        lang: Language of the texts (ISO 639-1).
        beam: Hypotheses that a search follows at a time.
        batch_rows: Hypotheses that are decoded at a time.
        dtype: Arithmetic of the model: auto, bfloat16, float32 or int8.
        seed: Of random words and inflections.
    """

    model: str
    input: str
    output: str
    systems: str = "28"
    idf: str | None = None
    lang: str = "en"
    beam: int = 12
    batch_rows: int = 1200
    dtype: str = "auto"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ValueError: One is out of its range, or the dtype or the language is none.
        """
        check_at_least_one(self, "beam", "batch_rows")
        check_at_most("beam", self.beam, MOST_ROWS)
        check_at_most("batch_rows", self.batch_rows, MOST_ROWS)
        check_among(self, "dtype", DTYPES)
        check_code(self.lang, "--lang")


def main(arguments: list[str]) -> int:
    """Parse the command line, rewrite, and say in one line what went wrong."""
    settings = parse_settings(Rewriting, arguments, __doc__ or "", PROGRAM)
    return run_command(PROGRAM, lambda: work(settings))


def work(settings: Rewriting) -> None:
    """Write the TSV, and say what could not be used.

    Raises:
        OSError: The input is not there, or the output cannot be written.
        ValueError: The input is not UTF-8 or empty, or the systems, the table or the model cannot be used.
    """
    import torch

    from toolkit.bitext.idf import Idf, read_idf
    from toolkit.generate.constrain import constrain_rows
    from toolkit.generate.recipes import check_pools, constraint_sets
    from toolkit.generate.systems import RECIPES, parse_systems
    from toolkit.rows import Row
    from toolkit.starters import idf_file
    from toolkit.translator.load import load_translator

    check_output_file(Path(settings.output), [settings.input, *([settings.idf] if settings.idf else [])], is_rewritten)
    systems = [RECIPES[number] for number in parse_systems(settings.systems)]
    if any(system.kind == "ppdb" for system in systems):
        raise ValueError(f"wanted systems without PPDB, got {settings.systems}: leave 35 to 37 out")
    if not settings.idf and any(system.kind not in ("none", "positional") for system in systems):
        raise ValueError(f"wanted --idf FILE for systems {settings.systems}, got none; or take 28 and 32-34 only")
    texts = read_texts(Path(settings.input))
    idf = read_idf(idf_file(settings.idf)) if settings.idf else Idf(0, {})
    check_pools(filter(None, texts), parse_systems(settings.systems), idf)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = load_translator(settings.model, settings.dtype, device, settings.lang, settings.lang)
    rows = [Row(f"text-{n}", "text", None, None, text, settings.lang, "train") for n, text in enumerate(texts) if text]
    refused, written = Counter({"empty_line": len(texts) - len(rows)}), []
    found = constrain_rows(
        rows,
        model,
        lambda row: [
            (s.name, one) for s in systems for one in constraint_sets(s, row.reference, row.id, settings.seed, idf)
        ],
        settings.beam,
        settings.batch_rows,
    )
    for row in found:
        refused.update(c.reason for c in row.candidates if c.reason)
        good = [c for c in row.candidates if c.reason is None]
        written += [f"{row.reference}\t{','.join(o.recipe or '' for o in c.origins)}\t{c.text}\n" for c in good]
    write_whole(Path(settings.output), "".join(written))
    print(f"{settings.output}; not used: {dict(+refused) or 'nothing'}", file=sys.stderr)


def read_texts(path: Path) -> list[str]:
    """The texts of a file, one a line; a tab in a text becomes a space, because tabs part the columns of the output.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is not UTF-8, or has no text.
    """
    texts = []
    for number, raw in enumerate(lines(str(path)), 1):
        text, fault = decode(raw)
        if fault:
            raise ValueError(f"wanted texts in UTF-8, got other bytes in line {number} of {path}: convert the file")
        texts.append(" ".join(text.split("\t")).strip())
    if not any(texts):
        raise ValueError(f"wanted a text a line, got none in {path}: give another file")
    return texts


def is_rewritten(path: Path) -> bool:
    """Whether a file is an output of this command; an empty one may be."""
    try:
        return all(LINE.fullmatch(line) for line in path.read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError):
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
