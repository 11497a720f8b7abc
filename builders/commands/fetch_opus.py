r"""Fetch a corpus of OPUS: the bitext from which a parabank is built.

    parabank fetch opus Tatoeba de en --output corpora
    parabank build parabank2 --bitext corpora/Tatoeba.de-en.v2023-04-12.zip --source_lang de --lang en ...

The archive is read as it is, without unpacking. Beside it a JSON file says where it is from, its SHA-256 and its
licence. After an interruption run the same command again: it goes on from there. The environment variable PARABANK_OPUS
names another address of the API, such as a mirror's.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from toolkit.system.command import run_command
from toolkit.system.settings import Parser

PROGRAM = "parabank fetch opus"
SHOWN = 300  # ours: characters of a licence that are printed; the record has more


def main(arguments: list[str]) -> int:
    """Parse the command line, fetch; print an error as one line."""
    parser = Parser(prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", metavar="CORPUS", help="name of the corpus, such as Tatoeba or OpenSubtitles")
    parser.add_argument("source_lang", metavar="SOURCE", help="language of the source, such as de, deu or pt_BR")
    parser.add_argument("lang", metavar="LANG", help="language of the references, which will be paraphrased")
    parser.add_argument("--version", default="latest", help="version of the corpus (default latest)")
    parser.add_argument("--output", metavar="DIR", type=Path, default=Path(), help="folder for it (default .)")
    options = parser.parse_args(arguments)
    return run_command(PROGRAM, lambda: _work(options), resumes=True)


def _work(options: argparse.Namespace) -> None:
    """Fetch, and print the licence and the command that builds from it."""
    from toolkit.bitext.languages import check_code
    from toolkit.bitext.opus import fetch_opus

    path, corpus = fetch_opus(options.corpus, options.source_lang, options.lang, options.output, options.version)
    languages = (check_code(lang, "a language") for lang in (options.source_lang, options.lang))
    print(
        f"{path}: {corpus.corpus} {corpus.version}, {corpus.bytes / 1e6:,.1f} MB",
        f"licence: {corpus.license[:SHOWN]}",
        "next: parabank build parabank2 --bitext {} --source_lang {} --lang {} ...".format(path, *languages),
        sep="\n",
    )
