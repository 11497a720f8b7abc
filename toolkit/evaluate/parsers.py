"""Parsers: functions that return a bracketed constituency tree for each text, or None if there is no parse.

This package depends on no parser. Supported are link-grammar, a Debian package; Stanza, a Python package with models to
download; and files with the trees of any other parser.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from toolkit.bitext.text_file import text_lines
from toolkit.evaluate.trees import LEVELS, Parses, Tree, _read_tree, _top

Parser = Callable[[Sequence[str]], list[str | None]]

LINK_PARSER = "link-parser"
LINK_TEXTS = 200  # ours: texts that one process parses
LINK_SECONDS = 10  # ours: the program's time limit for one text; on a busy machine it may therefore give other trees
# ours: words may stay unlinked, else a quarter of our demo's texts have no tree; unknown words are not corrected
LINK_OPTIONS = ("-constituents=3", "-graphics=0", "-verbosity=0", "-null=1", "-panic=0", "-spell=0")
LINK_MARK = (
    20_000  # ours: the program prints "width set to N" for "!width=N", which marks the end of its output for a text
)

FORMS = "link-grammar, stanza:LANGUAGE or file:PATH"


def parse(texts: Iterable[str], parser: Parser, signature: str, levels: int = LEVELS) -> Parses:
    """Parse each distinct text once and keep the upper levels of its tree.

    >>> parses = parse(["We go.", "Hm", "We go."], lambda texts: ["(S (NP We) (VP go) .)", None], "by hand")
    >>> parses.trees["We go."], parses.trees["Hm"]
    (Tree(name='S', children=(Tree(name='NP', children=()), Tree(name='VP', children=()))), None)

    Args:
        texts: The texts; `parser` gets the distinct ones in order of appearance.
        parser: A parser of this module.
        signature: The name of the parser and its settings, for `Parses.parser`.
        levels: The number of levels of each tree that are kept.

    Raises:
        ValueError: The parser returned another number of trees, or malformed brackets.
    """
    distinct = list(dict.fromkeys(texts))
    bracketed = parser(distinct)
    if len(bracketed) != len(distinct):
        raise ValueError(
            f"wanted a tree or None for each of {len(distinct)} texts, got {len(bracketed)} from {signature}: "
            "give the parser the same texts"
        )
    trees = [None if brackets is None else _top(_parse_brackets(brackets, signature), levels) for brackets in bracketed]
    return Parses(signature, dict(zip(distinct, trees, strict=True)))


def _parse_brackets(bracketed: str, origin: str) -> Tree:
    """Parse a bracketed tree; the error message for malformed brackets names their origin."""
    try:
        return _read_tree(bracketed)
    except ValueError as error:
        raise ValueError(f"{origin}: {error}") from None


def open_parser(form: str) -> tuple[Parser, str]:
    """The parser and the signature of a name on the command line.

    Args:
        form: "link-grammar" (English), "stanza:LANGUAGE" or "file:PATH".

    Raises:
        ValueError: The name is unknown, or the parser's program, model or file is missing.
    """
    name, _, rest = form.partition(":")
    if form == "link-grammar":
        return _link_grammar, _link_grammar_signature()
    if name == "stanza" and rest:
        return _stanza_parser(rest), f"stanza:{rest}"
    if name == "file" and rest:
        return _from_file(Path(rest)), f"file:{Path(rest).name}"
    raise ValueError(f"wanted a parser ({FORMS}), got {form!r}: give one of these")


def one_line(text: str) -> str:
    r"""A text on one line, without tabs and NUL.

    >>> one_line("We go.\tThey\nstay.")
    'We go. They stay.'
    """
    return " ".join(text.replace("\0", " ").split())


def _link_grammar(texts: Sequence[str]) -> list[str | None]:
    """Trees of English texts by link-grammar's `link-parser`, a Debian package.

    The trees have no part-of-speech level, so they are flatter than those of a treebank parser, and distances are not
    comparable with those of another parser. Words that it cannot link stay in the tree as terminals.

    Args:
        texts: English sentences, any number.

    Returns:
        For each text a bracketed tree, or None if the text is empty or too long, exceeds `LINK_SECONDS`, or has no
        linkage.

    Raises:
        ValueError: The program or its dictionary is not installed.
    """
    _link_grammar_signature()
    trees: list[str | None] = []
    for begin in range(0, len(texts), LINK_TEXTS):
        trees += _link_trees(texts[begin : begin + LINK_TEXTS])
    return trees


def _link_grammar_signature() -> str:
    """The version of the installed link-grammar and its settings.

    Raises:
        ValueError: The program or its dictionary is not installed.
    """
    remedy = "apt-get install link-grammar link-grammar-dictionaries-en, or choose another parser"
    if shutil.which(LINK_PARSER) is None:
        raise ValueError(f"wanted the program {LINK_PARSER}, got none on the path: {remedy}")
    if _link_trees(["Yes."]) == [None]:
        raise ValueError(f"wanted a tree from {LINK_PARSER}, got none, its dictionary may be missing: {remedy}")
    output = subprocess.run([LINK_PARSER, "--version"], capture_output=True, check=False)
    version = re.search(rb"link-grammar-([\w.]+)", output.stdout + output.stderr)
    return f"link-grammar:{version[1].decode() if version else 'unknown'}|null:yes|spell:no|seconds:{LINK_SECONDS}"


def _link_trees(texts: Sequence[str]) -> list[str | None]:
    """Parse texts in one process; if it crashes or hangs, parse each half alone, so that only faulty texts fail."""
    commands = "".join(f" {one_line(text)}\n!width={LINK_MARK + i}\n" for i, text in enumerate(texts))
    command = [LINK_PARSER, "en", *LINK_OPTIONS, f"-timeout={LINK_SECONDS}"]
    seconds = 60 + 2 * LINK_SECONDS * len(texts)
    try:
        process = subprocess.run(
            command, input=commands.encode(errors="replace"), capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        answers = []
    else:
        answers = re.split(r"^width set to \d+\n", process.stdout.decode(errors="replace"), flags=re.MULTILINE)[:-1]
    if len(answers) == len(texts):
        return [next((line for line in answer.split("\n") if line.startswith("(")), None) for answer in answers]
    half = len(texts) // 2
    return _link_trees(texts[:half]) + _link_trees(texts[half:]) if half else [None]


def _stanza_parser(language: str) -> Parser:
    """A parser that uses Stanza's constituency model of a language, which must have been downloaded.

    Args:
        language: ISO 639-1 code, as Stanza names its models.

    Raises:
        ValueError: The package or the model is missing.
    """
    remedy = f'pip install stanza, python -c "import stanza; stanza.download({language!r})", or choose another parser'
    try:
        import stanza

        pipeline = stanza.Pipeline(
            language,
            processors="tokenize,pos,constituency",
            tokenize_no_ssplit=True,
            download_method=None,
            verbose=False,
        )
    except Exception as error:
        reason = one_line(str(error)) or type(error).__name__
        raise ValueError(f"wanted Stanza with a constituency model for {language!r}, got {reason}: {remedy}") from error

    def trees(texts: Sequence[str]) -> list[str | None]:
        documents = pipeline.bulk_process([one_line(text) for text in texts])
        sentences = [document.sentences for document in documents]
        return [
            str(text_sentences[0].constituency) if len(text_sentences) == 1 else None for text_sentences in sentences
        ]

    return trees


def _from_file(path: Path) -> Parser:
    """A parser that looks up trees in a file, which any other parser may have written.

    Args:
        path: Lines of text, TAB, bracketed tree; or lines with trees only, in the order of the texts that the parser
            is called with (`parse` passes the distinct ones). An empty tree means that the text has none.

    Raises:
        ValueError: The file does not exist, or a line has malformed brackets. The returned parser raises it if a text
            is not in the file, or if the numbers of trees and of texts differ.
    """
    if not path.is_file():
        raise ValueError(f"wanted a file of trees in brackets, got {path}, which is no file: check the path")
    lines = list(text_lines(str(path)))
    pairs = [(one_line(text), tree.strip()) for text, _, tree in (line.rpartition("\t") for line in lines)]
    for number, (_, tree) in enumerate(pairs, 1):
        if tree:
            _parse_brackets(tree, f"{path}, line {number}")
    trees = [tree or None for _, tree in pairs]
    aligned = not any("\t" in line for line in lines)
    trees_by_text = {text: tree for (text, _), tree in zip(pairs, trees, strict=True)}

    def by_line(texts: Sequence[str]) -> list[str | None]:
        if len(texts) != len(trees):
            raise ValueError(
                f"wanted {len(texts)} lines in {path}, one for each text, got {len(trees)}: parse them all"
            )
        return trees

    def by_text(texts: Sequence[str]) -> list[str | None]:
        missing_texts = [text for text in texts if one_line(text) not in trees_by_text]
        if missing_texts:
            raise ValueError(
                f"wanted a line for each of {len(texts)} texts in {path}, got none for {len(missing_texts)} of them, "
                f"such as {missing_texts[0][:60]!r}: parse them too"
            )
        return [trees_by_text[one_line(text)] for text in texts]

    return by_line if aligned else by_text
