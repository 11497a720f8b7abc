r"""Rewrite texts in their own language under ParaBank's constraint systems, with any seq2seq model.

    python scripts/rewrite_text.py --model MODEL --input texts.txt --output rewritten.tsv --systems 28,34

One text a line in; text TAB systems TAB rewriting out, a line for each distinct rewriting. Systems that choose words by
IDF need --idf FILE (scripts/count_idf.py). What cannot be used is counted by reason on stderr.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import torch

from toolkit.bitext.idf import Idf, read_idf
from toolkit.generate.constrain import constrain_rows
from toolkit.generate.recipes import RECIPES, constraint_sets, parse_systems
from toolkit.models.starter import idf_file
from toolkit.models.translator import load_translator
from toolkit.rows import Row
from toolkit.settings import parse_settings
from toolkit.shards import write_whole


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


def rewrite_file(settings: Rewriting) -> Counter[str]:
    """Write the TSV; returns what could not be used, by reason."""
    systems = [RECIPES[number] for number in parse_systems(settings.systems)]
    if not settings.idf and any(system.kind not in ("none", "positional") for system in systems):
        raise ValueError(f"wanted --idf FILE for systems {settings.systems}, got none; or take 28 and 32-34 only")
    idf = read_idf(idf_file(settings.idf)) if settings.idf else Idf(0, {})
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = load_translator(settings.model, settings.dtype, device, settings.lang, settings.lang)
    texts = Path(settings.input).read_text(encoding="utf-8").splitlines()
    rows = [
        Row(f"text-{n}", "text", None, None, text.strip(), settings.lang, "train")
        for n, text in enumerate(texts)
        if text.strip()
    ]
    refused, lines = Counter({"empty_line": len(texts) - len(rows)}), []
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
        lines += [f"{row.reference}\t{','.join(o.recipe or '' for o in c.origins)}\t{c.text}\n" for c in good]
    write_whole(Path(settings.output), "".join(lines))
    return +refused


def main(arguments: list[str]) -> int:
    """Parse the command line, rewrite, and say in one line what went wrong."""
    settings = parse_settings(Rewriting, arguments, __doc__ or "", "rewrite_text.py")
    try:
        refused = rewrite_file(settings)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"rewrite_text.py: {error}", file=sys.stderr)
        return 1
    print(f"{settings.output}; not used: {dict(refused) or 'nothing'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
