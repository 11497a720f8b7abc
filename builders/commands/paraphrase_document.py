r"""Paraphrase the sentences of a document, and leave all else of it as it is.

    parabank paraphrase --input README.md --output paraphrased.md

The kind of the document is told by the end of its name: .md and .markdown are Markdown, .html, .htm and .xhtml are
HTML, any other is plain text. Headings, list marks, tables, code, tags, addresses and front matter stay byte for byte,
and so do sentences without a paraphrase, which are counted by reason on stderr.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from toolkit.bitext.languages import Language
from toolkit.chat.settings import LM, PromptedModel
from toolkit.package.reasons import OF_CANDIDATES
from toolkit.paraphraser.names import BEST
from toolkit.paraphraser.protect import Protection
from toolkit.system.command import run_script
from toolkit.system.outputs import check_output_file
from toolkit.system.ranges import Threads, one_of
from toolkit.system.whole_files import write_whole

PROGRAM = "parabank paraphrase"
AUTO = "auto"
Kind = Annotated[str, one_of((AUTO, "plain", "markdown", "html"))]


@dataclass(frozen=True, kw_only=True)
class ParaphraseDocument(PromptedModel, Protection):
    """A document, and what paraphrases it.

    Attributes:
        input: The document, in UTF-8.
        output: The document in other words.
        kind: "plain", "markdown", "html", or "auto": by the end of the input's name.
        unchanged: A file for the sentences that stay as they are: the reason, a tab and the sentence in each line.
        paraphraser: "best" (what is installed), a model (starter/NAME, a Hub id or a folder), two translators with
            " > " between, there and back, or "lm", the language model of --model, which reads the sentence before, too.
        lang: Language of the document (ISO 639-1).
        threads: Threads on a CPU.
        seed: Of the samples.
    """

    input: str
    output: str
    kind: Kind = AUTO
    unchanged: str | None = None
    paraphraser: str = BEST
    lang: Language = "en"
    threads: Threads = 2
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse a language model that is not asked."""
        super().__post_init__()
        self.check_model(self.paraphraser == LM, f"--paraphraser {LM}")


def main(arguments: list[str]) -> int:
    """Parse the command line, paraphrase; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", ParaphraseDocument, _work, arguments)


def _work(settings: ParaphraseDocument) -> None:
    """Write the document, and print what stays as it is.

    Raises:
        OSError: The input does not exist, or an output cannot be written.
        ValueError: The input is not UTF-8 or has no sentence, or the models cannot be used.
    """
    import torch

    from toolkit.paraphraser.document import REASONS, document_sentences, kind_of
    from toolkit.paraphraser.paraphraser import Paraphraser, prompted_paraphraser

    output = Path(settings.output)
    check_output_file(output, [settings.input])
    if settings.unchanged is not None:
        check_output_file(Path(settings.unchanged), [settings.input, settings.output], _is_list)
    try:
        text = Path(settings.input).read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"wanted a document in UTF-8, got {settings.input}: {error}") from None
    if "\0" in text:
        raise ValueError(f"wanted a document, got {settings.input}, which has a NUL character: it is no text")
    kind = kind_of(settings.input) if settings.kind == AUTO else settings.kind
    if not document_sentences(text, kind, settings.lang):
        raise ValueError(f"wanted a document with a sentence, got none in {settings.input}")
    torch.set_num_threads(settings.threads)
    if settings.paraphraser == LM:
        paraphraser = prompted_paraphraser(settings, settings.lang, output.parent)
    else:
        paraphraser = Paraphraser(settings.paraphraser, settings.lang)
    document = paraphraser.paraphrase_document(
        text,
        kind,
        protect=settings.protect,
        protect_patterns=settings.protect_patterns,
        seed=settings.seed,
    )
    write_whole(output, document.texts[0])
    if settings.unchanged is not None:
        lines = [f"{reason}\t{' '.join(sentence.split())}\n" for sentence, reason in document.unchanged]
        write_whole(Path(settings.unchanged), "".join(lines))
    counts = Counter(reason for _, reason in document.unchanged)
    print(f"{output}: {document.sentences - counts.total():,} of {document.sentences:,} sentences in other words",
          file=sys.stderr)  # fmt: skip
    for reason, count in counts.most_common():
        print(f"{count:,} unchanged: {REASONS.get(reason) or OF_CANDIDATES[reason]}", file=sys.stderr)


def _is_list(path: Path) -> bool:
    """Whether a file is a list of unchanged sentences."""
    from toolkit.paraphraser.document import REASONS

    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, ValueError):
        return False
    fields = [line.split("\t") for line in lines if line]
    return all(len(columns) == 2 and columns[0] in REASONS | OF_CANDIDATES for columns in fields)
