"""ParaBank: translate the foreign side under lexical constraints from the reference, a constraint set at a time.

Hu, Rudinger, Post & Van Durme (2019), "ParaBank: Monolingual Bitext Generation and Sentential Paraphrasing via
Lexically-constrained Neural Machine Translation", AAAI. `parabank` below is its section 3.2 with the score of
section 5.1; the 37 systems of its table 3 are `toolkit.generate.systems`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from builders.build import Pipeline, build_parabank, load_forward
from toolkit.bitext.idf import Idf, read_idf
from toolkit.bitext.words import read_words
from toolkit.generate.inflections import part_of_speech, spacy_tagger
from toolkit.generate.ppdb import Ppdb, read_ppdb
from toolkit.rows import Row
from toolkit.run import MAX_BEAM, RunSettings, bitext_rows
from toolkit.settings import check_at_most
from toolkit.starters import idf_file, words_file

if TYPE_CHECKING:
    from accelerate import PartialState

    from toolkit.decode.constraint_set import ConstraintSet
    from toolkit.translator.load import Translator


@dataclass(frozen=True)
class ParaBank:
    """The knobs of the pipeline; what the paper gives is the default.

    Attributes:
        systems: Of table 3: "all", "evaluated" (those in bold), or numbers and ranges like "17,21,28-31".
        beam: Hypotheses that a search follows at a time; the best one becomes a candidate.
        paraphrases: The most that are kept for a reference, by predicted judgment; 0 keeps all.
        batch_rows: Hypotheses that are decoded at a time.
        seed: Of the random words, inflections and paraphrases.
    """

    systems: str = "1-34"  # section 5.3: all without PPDB, as for CzEng
    beam: int = 12  # ours: the paper names none; ParaNMT's
    paraphrases: int = 0  # ours: 0; "on average 4 paraphrases per reference" (section 7) are what its systems left
    batch_rows: int = 1200  # ours: 100 searches
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ValueError: One is out of its range, or a system is none of table 3's.
        """
        from toolkit.generate.systems import parse_systems

        parse_systems(self.systems)
        check_at_most("beam", self.beam, MAX_BEAM)
        if self.beam < 1 or self.batch_rows < 1 or self.paraphrases < 0:
            raise ValueError(
                "wanted beam and batch_rows of at least 1 and paraphrases of at least 0, "
                f"got {self.beam}, {self.batch_rows} and {self.paraphrases}"
            )


@dataclass(frozen=True)
class Lexicon:
    """What words are chosen by: how rare they are, their parts of speech, their paraphrases, and which exist at all."""

    idf: Idf
    tag: Callable[[Sequence[str]], list[str]] = part_of_speech
    ppdb: Ppdb | None = None
    known_words: Set[str] = frozenset()


def parabank(rows: Iterable[Row], forward: Translator, lexicon: Lexicon, settings: ParaBank) -> Iterator[Row]:
    """The pipeline of section 3.2, on the rows of one shard.

    Args:
        rows: Rows with a source and a reference, without candidates.
        forward: Translates the source language to the references' language.
        lexicon: What constraints are chosen by.
        settings: The knobs.

    Yields:
        The same rows with a candidate for every distinct text, which names all systems that reached it.
    """
    # Here and not above: they load torch, which no --help and no mistyped flag should wait for.
    from toolkit.generate.constrain import constrain_rows
    from toolkit.generate.recipes import constraint_sets
    from toolkit.generate.systems import RECIPES, parse_systems
    from toolkit.score.judgment import judgment_rows
    from toolkit.score.overlap import overlap_rows
    from toolkit.select.filter import refuse_copies
    from toolkit.select.rank import rank_by_judgment

    systems = [RECIPES[number] for number in parse_systems(settings.systems)]

    def sets_of(row: Row) -> list[tuple[str | None, ConstraintSet]]:  # 3.2 selection of lexical constraints, table 3
        chosen = lexicon.idf, lexicon.tag, lexicon.ppdb
        return [
            (system.name, one)
            for system in systems
            for one in constraint_sets(system, row.reference, row.id, settings.seed, *chosen)
        ]

    rows = constrain_rows(  # 2.3 lexically constrained decoding; 5.3 identical outputs are merged
        rows, forward, sets_of, settings.beam, settings.batch_rows, known_words=lexicon.known_words
    )
    rows = refuse_copies(rows)  # ours
    rows = judgment_rows(rows)  # 5.1 scoring
    rows = rank_by_judgment(rows, settings.paraphrases)
    return overlap_rows(rows, forward.target)  # for the card, and for ParaBank 2's comparison (section 3.7)


@dataclass(frozen=True, kw_only=True)
class ParaBankRun(ParaBank, RunSettings):
    """A bitext, a translator, an IDF table and the knobs: one run.

    Attributes:
        forward: Source language to the references' language: a Hub id, a local path or "starter/de-en".
        idf: A table by scripts/count_idf.py, counted on the translator's training text; "starter/de-en" has one.
        ppdb: PPDB 2.0's lexical XL pack, for systems 35 to 37.
        spacy_model: A spaCy model that tags parts of speech, by name; without one a lexicon with a few rules does.
        known_words: A file with one word a line, or "starter/de-en" for the words that starter was trained on: no other
            words but the source's and the reference's are said. Not in the paper; a small translator needs it.
    """

    forward: str
    idf: str
    ppdb: str | None = None
    spacy_model: str | None = None
    known_words: str | None = None

    def __post_init__(self) -> None:
        """Check the numbers of both halves, and that PPDB is there where a system needs it.

        Raises:
            ValueError: A system needs PPDB and there is none.
        """
        from toolkit.generate.recipes import check_ppdb
        from toolkit.generate.systems import parse_systems

        RunSettings.__post_init__(self)
        ParaBank.__post_init__(self)
        check_ppdb(parse_systems(self.systems), bool(self.ppdb))


def read_lexicon(run: ParaBankRun) -> Lexicon:
    """The files that a run names.

    Raises:
        ValueError: One of them is not what it should be; the message says which.
    """
    pairs = read_ppdb(Path(run.ppdb)) if run.ppdb else None
    return Lexicon(
        read_idf(idf_file(run.idf)),
        spacy_tagger(run.spacy_model) if run.spacy_model else part_of_speech,
        pairs,
        read_words(words_file(run.known_words)) if run.known_words else frozenset(),
    )


def build(run: ParaBankRun) -> dict:
    """Build the parabank of a bitext and package it.

    Returns:
        What `builders.build.build_parabank` returns, with its errors.
    """
    files: dict[str, list[str | Path]] = {"bitext": [*run.bitext], "idf": [idf_file(run.idf)], "known_words": []}
    if run.ppdb:
        files["ppdb"] = [run.ppdb]
    if run.known_words:
        files["known_words"] = [words_file(run.known_words)]
    return build_parabank(run, "parabank", files, {"forward": run.forward}, lambda state: load(run, state))


def load(run: ParaBankRun, state: PartialState) -> Pipeline:
    """The pipeline of a run, its translator loaded.

    Raises:
        ValueError: A system wants more words of a kind than the references have.
    """
    from toolkit.generate.recipes import check_pools
    from toolkit.generate.systems import parse_systems
    from toolkit.translator.load import described

    lexicon = read_lexicon(run)
    if state.is_main_process:
        references = (row.reference for row in bitext_rows(run) if row.reason is None)
        check_pools(references, parse_systems(run.systems), lexicon.idf)
    forward = load_forward(run.forward, run, state)
    models = [{"role": "forward"} | described(forward.name)]
    return Pipeline(lambda rows: parabank(rows, forward, lexicon, run), forward, models)
