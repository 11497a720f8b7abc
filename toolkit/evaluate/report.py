"""All measures of a parabank (`evaluate`), and Markdown tables that compare several parabanks (`markdown`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from sentencepiece import SentencePieceProcessor

from toolkit.bitext.idf import Idf
from toolkit.data.rows import Row
from toolkit.evaluate import corpus, trees
from toolkit.evaluate.lengths import PAPER_BY_LENGTH, by_length
from toolkit.evaluate.profile import (
    LENGTH_SIGNATURE,
    PAPER_CZENG,
    SEMANTIC_SIGNATURE,
    VOCABULARY_SIGNATURE,
    _idf_signature,
    _parse_entropy_signature,
    _spread,
    profile,
)
from toolkit.evaluate.tables import cell, table
from toolkit.evaluate.trees import Parses
from toolkit.score.overlap import PieceSplitter

MEASURES = {
    "one_minus_bleu": "(1-BLEU) x 100",
    "intersection_over_union": "intersection/union x 100",
    "tree_edit_distance": "tree edit distance",
    "length_ratio": "length ratio",
}
PROFILE = {
    "sentences": "sentences",
    "words": "distinct words",
    "length_mean": "length, mean (tokens)",
    "length_sd": "length, sd (tokens)",
    "idf_mean": "IDF, mean (bits)",
    "idf_sd": "IDF, sd (bits)",
    "idf_unknown": "words without IDF (share)",
    "vocabulary_entropy": "vocabulary entropy (nats)",
    "parse_entropy": "parse entropy (nats)",
    "unparsed": "without parse",
    "semantic_mean": "paraphrase score, mean",
    "semantic_sd": "paraphrase score, sd",
}
WHOLE = {
    PROFILE["sentences"],
    PROFILE["words"],
    PROFILE["unparsed"],
}  # rows that are counts, besides those that begin with COUNT
COUNT = "references"

AGAINST, BETWEEN, LENGTHS = "Against the reference", "Between ranks", "BLEU by length of the reference"
REFERENCES, PARAPHRASES = "References", "Paraphrases"
PAPER_OF = {
    AGAINST: "ParaBank 2, table 1",
    BETWEEN: "ParaBank 2, table 2",
    LENGTHS: "ParaBank, table 4, ParaNMT",
    REFERENCES: "ParaNMT, table 1, CzEng",
    PARAPHRASES: "ParaNMT, table 1, CzEng",
}

Cells = dict[str, dict[str, float]]


def read_pieces(model: Path) -> PieceSplitter:
    """A function that splits a text into the pieces of a SentencePiece model.

    Raises:
        ValueError: The file does not exist, or is no SentencePiece model.
    """
    try:
        processor = SentencePieceProcessor(model_file=str(model))
    except (OSError, RuntimeError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"wanted a SentencePiece model, got {model} ({reason}): give a .spm or .model file") from error
    return lambda text: processor.encode(text, out_type=str)


def texts_of(rows: Iterable[Row]) -> list[str]:
    """All texts of rows whose trees `evaluate` needs: references and chosen paraphrases."""
    return [text for row in rows for text in (row.reference, *(c.text for c in row.paraphrases))]


def evaluate(
    rows: Sequence[Row],
    pieces: PieceSplitter | None = None,
    idf: Idf | None = None,
    parses: Parses | None = None,
) -> dict:
    """All figures of one parabank, as JSON can represent them.

    Args:
        rows: Rows with chosen paraphrases.
        pieces: Splits a text into subword pieces, for intersection/union; None splits at white space.
        idf: An IDF table; None leaves the mean IDF out.
        parses: The trees of `texts_of(rows)`; None leaves tree edit distance and parse entropy out.

    Returns:
        `ranks` (`toolkit.evaluate.corpus.rank_table`, of the ranks that some reference has), `by_length`
        (`toolkit.evaluate.lengths`), `references` and `paraphrases` (`toolkit.evaluate.profile`), the latter with the
        mean of `Scores.semantic` if all have it, and `signatures`.

    Raises:
        ValueError: No row has a paraphrase; a text was not parsed.
    """
    paraphrases = [c for row in rows for c in row.paraphrases]
    ranks = _without_missing_ranks(
        corpus.rank_table(rows, pieces, parses), max((len(row.paraphrases) for row in rows), default=0)
    )
    semantic = [c.scores.semantic for c in paraphrases if c.scores.semantic is not None]
    lengths, references = by_length(rows), [row.reference for row in rows if row.paraphrases]
    scores = _spread("semantic", semantic if len(semantic) == len(paraphrases) else [])
    return {
        "ranks": ranks,
        "by_length": lengths,
        "references": profile(references, idf, parses),
        "paraphrases": profile([c.text for c in paraphrases], idf, parses) | scores,
        "signatures": [
            *ranks["signatures"].values(),
            lengths["signature"],
            *(LENGTH_SIGNATURE, VOCABULARY_SIGNATURE),
            *([_idf_signature(idf)] if idf else []),
            *([_parse_entropy_signature(parses.parser)] if parses else []),
            *([SEMANTIC_SIGNATURE] if scores else []),
        ],
    }


def _without_missing_ranks(table: dict, paraphrases: int) -> dict:
    """A result of `rank_table` without the ranks that no reference has, which hold only copies of better ranks.

    Args:
        table: The result of `rank_table`.
        paraphrases: The most paraphrases of a reference.
    """
    by_rank = [line for line in table["by_rank"] if line["rank"] <= paraphrases]
    between = [line for line in table["between_ranks"] if max(line["ranks"]) <= paraphrases]
    return table | {"by_rank": by_rank, "between_ranks": between}


def _cells(figures: dict) -> Cells:
    """The figures of `evaluate`, by table and line."""
    ranks, lengths = figures["ranks"], figures["by_length"]
    by_rank = {f"rank {line['rank']}": line for line in ranks["by_rank"]}
    between = {"rank {} / rank {}".format(*line["ranks"]): line for line in ranks["between_ranks"]}
    bleus = {f"{line['length']} words": line["bleu"] for line in lengths["lengths"] if "bleu" in line}
    average = {"average": lengths["average"]} if "average" in lengths else {}
    counts = {f"{COUNT}, {line['length']} words": line["references"] for line in lengths["lengths"]}
    return {
        AGAINST: {COUNT: ranks["references"]} | _measures_by_line(by_rank, MEASURES),
        BETWEEN: _measures_by_line(between, {key: name for key, name in MEASURES.items() if key != "length_ratio"}),
        LENGTHS: bleus | average | counts | {f"{COUNT}, shorter": lengths["shorter"]},
        **{
            table: {name: figures[table.lower()][key] for key, name in PROFILE.items() if key in figures[table.lower()]}
            for table in (REFERENCES, PARAPHRASES)
        },
    }


def _measures_by_line(lines: Mapping[str, Mapping[str, float]], names: Mapping[str, str]) -> dict[str, float]:
    """Measures by line of the table, "MEASURE, RANK", ordered by measure."""
    return {
        f"{name}, {line_name}": line[key]
        for key, name in names.items()
        for line_name, line in lines.items()
        if key in line
    }


def _paper_cells() -> Cells:
    """The figures of the papers, by table and line as in `_cells`."""
    bleu, shared, length = ({f"rank {rank}": line[i] for rank, line in corpus.PAPER_BY_RANK.items()} for i in range(3))
    edits = {f"rank {rank}": mean for rank, (mean, _) in trees.PAPER_BY_RANK.items()}
    against = dict(zip(MEASURES, (bleu, shared, edits, length), strict=True))
    between = {
        "one_minus_bleu": {pair: line[0] for pair, line in corpus.PAPER_BETWEEN_RANKS.items()},
        "intersection_over_union": {pair: line[1] for pair, line in corpus.PAPER_BETWEEN_RANKS.items()},
        "tree_edit_distance": {pair: line[0] for pair, line in trees.PAPER_BETWEEN_RANKS.items()},
    }
    lengths = PAPER_BY_LENGTH["ParaNMT"]
    semantic = {PROFILE[key]: PAPER_CZENG[key] for key in ("semantic_mean", "semantic_sd")}
    return {
        AGAINST: {f"{MEASURES[key]}, {rank}": v for key, line in against.items() for rank, v in line.items()},
        BETWEEN: {
            f"{MEASURES[key]}, rank {a} / rank {b}": v for key, line in between.items() for (a, b), v in line.items()
        },
        LENGTHS: {f"{length} words": v for length, v in lengths.items()} | {"average": fmean(lengths.values())},
        REFERENCES: {PROFILE[key]: v for key, v in PAPER_CZENG.items() if PROFILE[key] not in semantic},
        PARAPHRASES: semantic,
    }


def markdown(parabanks: Mapping[str, Sequence[dict]]) -> str:
    """Markdown tables with a column for each parabank, the papers' figures in the last column, and the signatures.

    Args:
        parabanks: By name of the parabank, the results of `evaluate` for its runs or samples; of several the mean and
            standard deviation are shown.
    """
    columns = {name: [_cells(figures) for figures in runs] for name, runs in parabanks.items()}
    paper = _paper_cells()
    parts = [
        _measures_table(title, {name: [run[title] for run in runs] for name, runs in columns.items()}, paper[title])
        for title in paper
        if any(run[title] for runs in columns.values() for run in runs)
    ]
    parts.append("The papers measured other texts, and trees of Stanford's parsers; the lines name the same measures.")
    if any(len(runs) > 1 for runs in columns.values()):
        parts.append("±: the sample's standard deviation (n - 1) over the runs or samples of a column.")
    signatures = dict.fromkeys(s for runs in parabanks.values() for figures in runs for s in figures["signatures"])
    return "\n\n".join([*parts, "\n".join(f"- `{signature}`" for signature in signatures)])


def _measures_table(
    title: str, columns: Mapping[str, Sequence[Mapping[str, float]]], paper: Mapping[str, float]
) -> str:
    """One table, with a line for every measure that at least one parabank has."""
    names = dict.fromkeys(name for runs in columns.values() for run in runs for name in run)
    lines = []
    for name in names:
        values = [[run[name] for run in runs if name in run] for runs in columns.values()]
        whole = name in WHOLE or name.startswith(COUNT)
        lines.append(
            [name, *(cell(cell_values, whole) for cell_values in [*values, [paper[name]] if name in paper else []])]
        )
    return f"## {title}\n\n{table(['', *columns, PAPER_OF[title]], lines)}"
