r"""Rewrite texts in their own language under ParaBank's constraint systems, with any seq2seq model.

    parabank rewrite --model MODEL --input texts.txt --output rewritten.tsv --systems 28,34

The input has one text per line; the output has the line text TAB systems TAB rewriting for each distinct rewriting.
Systems that choose words by IDF need --idf FILE (parabank count idf). Unusable texts and rewritings are counted by
reason on stderr.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from toolkit.bitext.languages import Language
from toolkit.models.coverage import of_language
from toolkit.starters import idf_file
from toolkit.system.command import run_script
from toolkit.system.outputs import check_output_file
from toolkit.system.ranges import Dtype, Settings, at_least, at_most
from toolkit.system.whole_files import write_whole

PROGRAM = "parabank rewrite"
MAX_ROWS = 100_000  # ours: hypotheses in a batch; even with the smallest model their caches fill a large machine
Rows = Annotated[int, at_least(1), at_most(MAX_ROWS)]


@dataclass(frozen=True, kw_only=True)
class Rewriting(Settings):
    """The settings of a rewriting.

    Attributes:
        model: Seq2seq model whose input and output are in the language of the texts: a Hub id or a local path.
        input: File with one text per line.
        output: TSV file of the rewritings.
        systems: Systems of ParaBank's table 3, without 35 to 37: "28,34", "1-34", "evaluated".
        idf: IDF table of parabank count idf, or "starter/de-en" for that of the starter's English training text.
        lang: Language of the texts (ISO 639-1).
        beam: Beam size.
        batch_rows: Hypotheses in a decoding batch. None is 1,200 on a CPU, and by its memory on a GPU.
        dtype: Arithmetic of the model: auto, bfloat16, float32 or int8.
        seed: Seed of the random choice of words and inflections.
    """

    CPU_BATCHES: ClassVar = {"batch_rows": 1200}

    model: str
    input: str
    output: str
    systems: str = "28"
    idf: Annotated[str, of_language] | None = None
    lang: Language = "en"
    beam: Rows = 12
    batch_rows: Rows | None = None
    dtype: Dtype = "auto"
    seed: int = 0


def main(arguments: list[str]) -> int:
    """Parse the command line, rewrite; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", Rewriting, _work, arguments)


def _work(s: Rewriting) -> None:
    """Write the rewritings, and print the counts of unusable texts.

    Raises:
        OSError: The input does not exist, or the output cannot be written.
        ValueError: The input is empty or not UTF-8, or the systems, the table or the model cannot be used.
    """
    from toolkit.bitext.idf import Idf, read_idf
    from toolkit.generate.rewrite_file import check_systems, is_rewritten, read_texts, rewrite_lines
    from toolkit.models.batch_sizes import batches_of
    from toolkit.translator.load import load_translator

    check_output_file(Path(s.output), [s.input, *([s.idf] if s.idf else [])], is_rewritten)
    check_systems(s.systems, bool(s.idf))
    texts = read_texts(Path(s.input))
    idf = read_idf(idf_file(s.idf)) if s.idf else Idf(0, {})
    model = load_translator(s.model, s.dtype, None, s.lang, s.lang)
    rows_at_once = batches_of(s, model).batch_sizes["batch_rows"]
    lines, refused = rewrite_lines(texts, model, s.systems, idf, s.lang, s.beam, rows_at_once, s.seed)
    write_whole(Path(s.output), "".join(lines))
    print(f"{s.output}; not used: {dict(refused) or 'nothing'}", file=sys.stderr)
