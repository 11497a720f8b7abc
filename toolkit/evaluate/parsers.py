"""Parsers: functions that give a constituency tree in brackets for each text, None where they find none.

None is a dependency of this package. One is a Debian program, one a Python package with models to download, and one
reads the trees that any other parser has written to a file.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from toolkit.evaluate.trees import LEVELS, Parses, Tree, read_tree, top

Parser = Callable[[Sequence[str]], list[str | None]]

LINK_PARSER = "link-parser"
LINK_TEXTS = 200  # ours: texts of one process
LINK_SECONDS = 10  # ours: for one text, the program's own limit; its trees may differ on a machine that is too busy
# ours: words may stay without link, else a quarter of our demo's texts have no tree; unknown words are not respelt
LINK_OPTIONS = ("-constituents=3", "-graphics=0", "-verbosity=0", "-null=1", "-panic=0", "-spell=0")
LINK_MARK = 20_000  # ours: the program answers "!width=N" with "width set to N", which ends the answer to a text

FORMS = "link-grammar, stanza:LANGUAGE or file:PATH"


def parse(texts: Iterable[str], parser: Parser, signature: str, levels: int = LEVELS) -> Parses:
    """Parse each distinct text once and keep the top of its tree.

    >>> parses = parse(["We go.", "Hm", "We go."], lambda texts: ["(S (NP We) (VP go) .)", None], "by hand")
    >>> parses.trees["We go."], parses.trees["Hm"]
    (Tree(name='S', children=(Tree(name='NP', children=()), Tree(name='VP', children=()))), None)

    Args:
        texts: Any; `parser` gets the distinct ones in order of appearance.
        parser: One of this module.
        signature: What identifies the parser, for `Parses.parser`.
        levels: Levels of each tree that are kept.

    Raises:
        ValueError: The parser gave another number of trees, or brackets that are no tree.
    """
    distinct = list(dict.fromkeys(texts))
    found = parser(distinct)
    if len(found) != len(distinct):
        raise ValueError(
            f"wanted a tree or None for each of {len(distinct)} texts, got {len(found)} from {signature}: "
            "give the parser the same texts"
        )
    trees = [None if brackets is None else top(tree_of(brackets, signature), levels) for brackets in found]
    return Parses(signature, dict(zip(distinct, trees, strict=True)))


def tree_of(bracketed: str, origin: str) -> Tree:
    """The tree that brackets say; the message of what is none names where they come from."""
    try:
        return read_tree(bracketed)
    except ValueError as error:
        raise ValueError(f"{origin}: {error}") from None


def open_parser(form: str) -> tuple[Parser, str]:
    """A parser and its signature by its name on a command line.

    Args:
        form: "link-grammar" (English), "stanza:LANGUAGE" or "file:PATH".

    Raises:
        ValueError: It is none of these, or what it needs is not there.
    """
    name, _, rest = form.partition(":")
    if form == "link-grammar":
        return link_grammar, link_grammar_signature()
    if name == "stanza" and rest:
        return stanza_parser(rest), f"stanza:{rest}"
    if name == "file" and rest:
        return from_file(Path(rest)), f"file:{Path(rest).name}"
    raise ValueError(f"wanted a parser ({FORMS}), got {form!r}: give one of these")


def one_line(text: str) -> str:
    r"""A text without line ends, tabs and NUL.

    >>> one_line("We go.\tThey\nstay.")
    'We go. They stay.'
    """
    return " ".join(text.replace("\0", " ").split())


def link_grammar(texts: Sequence[str]) -> list[str | None]:
    """Trees of English texts by link-grammar's `link-parser`, a Debian package.

    Its constituents have no parts of speech below them, so trees are flatter than a treebank parser's, and distances
    are not comparable with those of another parser. Words that it cannot link stay in the tree as terminals.

    Args:
        texts: English sentences, any number.

    Returns:
        A tree in brackets, or None: empty or too long a text, `LINK_SECONDS` exceeded, or no linkage.

    Raises:
        ValueError: The program or its dictionary is not installed.
    """
    link_grammar_signature()
    trees: list[str | None] = []
    for begin in range(0, len(texts), LINK_TEXTS):
        trees += linked(texts[begin : begin + LINK_TEXTS])
    return trees


def link_grammar_signature() -> str:
    """What identifies the installed link-grammar and its settings.

    Raises:
        ValueError: The program or its dictionary is not installed.
    """
    remedy = "apt-get install link-grammar link-grammar-dictionaries-en, or choose another parser"
    if shutil.which(LINK_PARSER) is None:
        raise ValueError(f"wanted the program {LINK_PARSER}, got none on the path: {remedy}")
    if linked(["Yes."]) == [None]:
        raise ValueError(f"wanted a tree from {LINK_PARSER}, got none, its dictionary may be missing: {remedy}")
    said = subprocess.run([LINK_PARSER, "--version"], capture_output=True, check=False)
    version = re.search(rb"link-grammar-([\w.]+)", said.stdout + said.stderr)
    return f"link-grammar:{version[1].decode() if version else 'unknown'}|null:yes|spell:no|seconds:{LINK_SECONDS}"


def linked(texts: Sequence[str]) -> list[str | None]:
    """Trees by one process; if it dies or hangs, by one for each half, so that only the text to blame has none."""
    asked = "".join(f" {one_line(text)}\n!width={LINK_MARK + i}\n" for i, text in enumerate(texts))
    command = [LINK_PARSER, "en", *LINK_OPTIONS, f"-timeout={LINK_SECONDS}"]
    seconds = 60 + 2 * LINK_SECONDS * len(texts)
    try:
        ran = subprocess.run(
            command, input=asked.encode(errors="replace"), capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        answers = []
    else:
        answers = re.split(r"^width set to \d+\n", ran.stdout.decode(errors="replace"), flags=re.MULTILINE)[:-1]
    if len(answers) == len(texts):
        return [next((line for line in answer.split("\n") if line.startswith("(")), None) for answer in answers]
    half = len(texts) // 2
    return linked(texts[:half]) + linked(texts[half:]) if half else [None]


def stanza_parser(language: str) -> Parser:
    """A parser by Stanza's constituency model of a language; its models must lie in its folder of resources.

    Args:
        language: ISO 639-1, as Stanza names its models.

    Raises:
        ValueError: The package or the model is not there.
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
        return [str(found[0].constituency) if len(found) == 1 else None for found in sentences]

    return trees


def from_file(path: Path) -> Parser:
    """A parser that looks trees up in a file, made by whatever parser one likes.

    Args:
        path: Lines of text, TAB, tree in brackets; or trees alone, one a line in the order of the texts it will be
            given (`parse` gives the distinct ones). A line without a tree says that there is none.

    Raises:
        ValueError: There is no such file, or a line has no tree in its place. The parser itself raises it where a text
            is not in the file, or the number of lines is not that of the texts.
    """
    if not path.is_file():
        raise ValueError(f"wanted a file of trees in brackets, got {path}, which is no file: check the path")
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    pairs = [(one_line(text), tree.strip()) for text, _, tree in (line.rpartition("\t") for line in lines)]
    for number, (_, tree) in enumerate(pairs, 1):
        if tree:
            tree_of(tree, f"{path}, line {number}")
    trees = [tree or None for _, tree in pairs]
    aligned = not any("\t" in line for line in lines)
    known = {text: tree for (text, _), tree in zip(pairs, trees, strict=True)}

    def by_line(texts: Sequence[str]) -> list[str | None]:
        if len(texts) != len(trees):
            raise ValueError(
                f"wanted {len(texts)} lines in {path}, one for each text, got {len(trees)}: parse them all"
            )
        return trees

    def by_text(texts: Sequence[str]) -> list[str | None]:
        missing = [text for text in texts if one_line(text) not in known]
        if missing:
            raise ValueError(
                f"wanted a line for each of {len(texts)} texts in {path}, got none for {len(missing)} of them, such as "
                f"{missing[0][:60]!r}: parse them too"
            )
        return [known[one_line(text)] for text in texts]

    return by_line if aligned else by_text
