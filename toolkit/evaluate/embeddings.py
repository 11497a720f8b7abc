"""Evaluate sentence encoders on all tasks whose files exist, and print them beside the papers' results."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.evaluate import sts, transfer
from toolkit.evaluate.sts import _Pairs
from toolkit.evaluate.tables import table

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

TASKS = ("sts", "benchmark", "sick", "chinese", "transfer")
VERSION = "v:1.0.0"
MRPC = Path("sts", "sick-msrp", "para", "msr")
SICK = Path("sts", "sick-msrp", "sts", "sick2014")
CHINESE = Path("sts", "chinese", "Chinese-STS-B")
IDENTIFICATION = {  # Chinese, labels 0 and 1; AFQMC has no labels of its test part
    "LCQMC test": Path("sts", "chinese", "LCQMC", "test.txt"),
    "AFQMC dev": Path("sts", "chinese", "AFQMC", "dev.txt"),
    "PAWS-X zh test": Path("sts", "chinese", "PAWS-X", "test_2k.tsv"),
}

# ParaNMT, table 8, "Our Work": Pearson x 100 by year, 2012 to 2016
PAPER_STS = {
    "WORD, 300": (66.2, 61.8, 76.2, 79.3, 77.5),
    "TRIGRAM, 300": (67.2, 60.3, 76.1, 79.7, 78.3),
    "LSTM, 300": (67.0, 62.3, 76.3, 78.5, 76.0),
    "LSTM, 900": (68.0, 60.4, 76.3, 78.8, 75.9),
    "BLSTM, 900": (67.4, 60.2, 76.1, 79.5, 76.5),
    "WORD + TRIGRAM, 300": (67.3, 62.8, 77.5, 80.1, 78.2),
    "WORD + TRIGRAM + LSTM, 300": (67.1, 62.8, 76.8, 79.2, 77.0),
    "WORD, TRIGRAM, 600": (67.8, 62.7, 77.4, 80.3, 78.1),
    "WORD, TRIGRAM, LSTM, 900": (67.7, 62.8, 76.9, 79.8, 76.8),
}
# ParaNMT, table 9, "Our Work": Pearson x 100 on the test part of the STS Benchmark
PAPER_BENCHMARK = {
    "WORD, 300": (79.2,),
    "TRIGRAM, 300": (79.1,),
    "LSTM, 300": (78.4,),
    "WORD + TRIGRAM, 300": (79.9,),
    "WORD + TRIGRAM + LSTM, 300": (79.6,),
    "WORD, TRIGRAM, 600": (79.9,),
    "WORD, TRIGRAM, LSTM, 900": (79.2,),
}
# ParaBank 2, table 3: Pearson and Spearman x 100 of WORD on STS 2016; the paper does not say how it averages over sets
PAPER_2016 = {
    "ParaNMT": (75.378, 76.322),
    "ParaBank": (76.006, 76.961),
    "ParaBank 2, rank 1": (76.546, 77.528),
    "ParaBank 2, rank 2": (76.143, 77.240),
    "ParaBank 2, rank 3": (76.397, 77.500),
    "ParaBank 2, rank 4": (76.414, 77.612),
    "ParaBank 2, rank 5": (75.882, 77.075),
    "ParaBank 2, rank 1 / rank 5": (75.680, 76.882),
}


@dataclass(frozen=True)
class _Figure:
    """A number, and a signature with all settings that it depends on."""

    value: float
    signature: str


Figures = dict[str, _Figure]


@dataclass(frozen=True)
class _Table:
    """The content of one table.

    Args:
        task: One of `TASKS`; the table is printed if the task was asked for.
        title: The heading of the table.
        columns: The headings of the columns by name of the figure.
        paper: The rows of a paper; a row may have fewer values than there are columns.
        place: The paper and its table, for the rows of the paper.
    """

    task: str
    title: str
    columns: Mapping[str, str]
    paper: Mapping[str, Sequence[float]]
    place: str


TABLES = (
    _Table(
        "sts",
        "STS, Pearson x 100, mean over sets",
        {f"STS {y}": str(y) for y in sts.SETS},
        PAPER_STS,
        "ParaNMT, table 8",
    ),
    _Table("sts", "STS, Spearman x 100, mean over sets", {f"STS {y} Spearman": str(y) for y in sts.SETS}, {}, ""),
    _Table(
        "sts",
        "STS 2016",
        {
            "STS 2016": "Pearson, mean over sets",
            "STS 2016 Spearman": "Spearman, mean over sets",
            "STS 2016 pooled": "Pearson, all pairs at once",
            "STS 2016 pooled Spearman": "Spearman, all pairs at once",
        },
        PAPER_2016,
        "ParaBank 2, table 3",
    ),
    _Table(
        "benchmark",
        "STS Benchmark",
        {
            "STS Benchmark test": "test, Pearson",
            "STS Benchmark test Spearman": "test, Spearman",
            "STS Benchmark dev": "dev, Pearson",
            "STS Benchmark dev Spearman": "dev, Spearman",
        },
        PAPER_BENCHMARK,
        "ParaNMT, table 9",
    ),
    _Table(
        "sick", "SICK relatedness by cosine", {"SICK cosine": "Pearson", "SICK cosine Spearman": "Spearman"}, {}, ""
    ),
    _Table(
        "chinese",
        "Chinese STS-B, and paraphrase identification by cosine",
        {
            f"Chinese STS-B {part}{kind}": f"{part}, {kind.strip() or 'Pearson'}"
            for part in ("test", "dev")
            for kind in ("", " Spearman")
        }
        | {f"{name} Spearman": f"{name}, Spearman" for name in IDENTIFICATION},
        {},
        "",
    ),
    _Table(
        "transfer",
        "Frozen embeddings",
        {
            name: name
            for name in (
                *("MR", "CR", "SUBJ", "MPQA", "SST", "TREC", "MRPC", "MRPC F1", "SICK-R", "SICK-E"),
                *("SST (dev)", "TREC (10 folds)"),
            )
        },
        transfer.PAPER_TRANSFER,
        "ParaNMT, table 14",
    ),
)


def evaluate_encoder(
    encoder: SentenceTransformer, data: Path, tasks: Iterable[str] = TASKS, without: Collection[str] = ()
) -> tuple[Figures, list[str]]:
    """All figures of one encoder.

    Args:
        encoder: The encoder, from `toolkit.encoder.load.load_encoder`.
        data: The folder of the official files; parabank evaluate encoder describes its layout.
        tasks: Tasks of `TASKS`.
        without: Sentences from `toolkit.evaluate.sts.read_sentences`: pairs with one of them are left out of every
            similarity task. Transfer tasks use all texts.

    Returns:
        Figures by name, multiplied by 100; and a line for every figure whose files are missing, which names them.

    Raises:
        ValueError: A task is unknown, no task has its files, or a file is damaged.
    """
    task_names = check_tasks(tasks)
    missing: list[str] = []
    figures: Figures = {}
    if "sts" in task_names:
        figures |= _sts_figures(encoder, data, without, missing)
    if similar := [task for task in task_names if task in ("benchmark", "sick", "chinese")]:
        figures |= _similarity_figures(encoder, data, similar, without, missing)
    if "transfer" in task_names:
        figures |= _transfer_figures(encoder, data, missing)
    if not figures:
        first = missing[0].partition(",")[0]
        raise ValueError(f"wanted the files of at least one task in {data}, got none ({first} and so on): see --help")
    return figures, missing


def check_tasks(tasks: Iterable[str]) -> list[str]:
    """The tasks without repetitions.

    Raises:
        ValueError: A task is unknown.
    """
    task_names = list(dict.fromkeys(tasks))
    if unknown := [task for task in task_names if task not in TASKS]:
        raise ValueError(f"wanted tasks of {', '.join(TASKS)}, got {', '.join(unknown)}: name others")
    return task_names


def _files_exist(name: str, data: Path, paths: Iterable[Path], missing: list[str]) -> bool:
    """Whether all files of a figure exist; if not, append a line that names the missing files to `missing`."""
    missing_paths = [path.relative_to(data).as_posix() for path in paths if not path.is_file()]
    if missing_paths:
        missing.append(f"{name}: wanted {', '.join(missing_paths)}")
    return not missing_paths


def _pearson_and_spearman(name: str, values: tuple[float, float], settings: str) -> Figures:
    """Two figures: Pearson's correlation under `name`, and Spearman's under `name` with " Spearman"."""
    pearson, spearman = (
        _Figure(value, f"{kind} x100|{settings}") for kind, value in zip(("pearson", "spearman"), values, strict=True)
    )
    return {name: pearson, f"{name} Spearman": spearman}


def _correlation_settings(key: str, sets: Sequence[_Pairs]) -> str:
    """The signature of a correlation over sets, without the kind of correlation."""
    pairs, left_out = (
        sum(len(pairs_of_set.scores) for pairs_of_set in sets),
        sum(pairs_of_set.left_out for pairs_of_set in sets),
    )
    return f"{key}|cosine|pairs:{pairs}|left out:{left_out}|{VERSION}"


def _sts_figures(encoder: SentenceTransformer, data: Path, without: Collection[str], missing: list[str]) -> Figures:
    """For every year of SemEval whose files all exist: the mean over its sets, all its pairs pooled, and each set."""
    figures: Figures = {}
    for year in sts.SETS:
        folder, name = data / "sts" / str(year), f"STS {year}"
        if not _files_exist(name, data, sts._set_files(folder, year), missing):
            continue
        sets = [sts._leave_out(pairs, without) for pairs in sts.read_year(folder)]
        correlations, names = sts._year_correlations(encoder, sets), ",".join(pairs.name for pairs in sets)
        names += "|without SMT, which is not public" if year == 2013 and "SMT" not in names else ""
        figures |= _pearson_and_spearman(
            name, correlations["mean"], _correlation_settings(f"sts{year}|mean over sets:{names}", sets)
        )
        figures |= _pearson_and_spearman(
            f"{name} pooled", correlations["pooled"], _correlation_settings(f"sts{year}|pooled sets:{names}", sets)
        )
        for pairs in sets:
            figures |= _pearson_and_spearman(
                f"{name} {pairs.name}",
                correlations[pairs.name],
                _correlation_settings(f"sts{year}:{pairs.name}", [pairs]),
            )
    return figures


def _similarity_figures(
    encoder: SentenceTransformer, data: Path, tasks: Sequence[str], without: Collection[str], missing: list[str]
) -> Figures:
    """The figures of the similarity tasks other than the years of SemEval; each has one file."""
    benchmark, sick = data / "sts" / "benchmark", data / SICK / transfer.SICK[-1]
    files = [
        ("benchmark", "STS Benchmark test", benchmark / "sts-test.csv", sts.read_benchmark),
        ("benchmark", "STS Benchmark dev", benchmark / "sts-dev.csv", sts.read_benchmark),
        ("sick", "SICK cosine", sick, sts._read_sick),
        ("chinese", "Chinese STS-B test", data / CHINESE / "sts-b-test.txt", sts.read_chinese),
        ("chinese", "Chinese STS-B dev", data / CHINESE / "sts-b-dev.txt", sts.read_chinese),
        *(("chinese", name, data / path, sts.read_chinese_identification) for name, path in IDENTIFICATION.items()),
    ]
    figures: Figures = {}
    for task, name, path, reader in files:
        if task in tasks and _files_exist(name, data, [path], missing):
            pairs = sts._leave_out(reader(path), without)
            figures |= _pearson_and_spearman(
                name, sts.correlations(encoder, pairs), _correlation_settings(pairs.name, [pairs])
            )
    return figures


def _transfer_figures(encoder: SentenceTransformer, data: Path, missing: list[str]) -> Figures:
    """The figures of ParaNMT's table 14 whose files exist."""
    figures = _classification_figures(encoder, data, missing)
    folder = data / MRPC
    if _files_exist("MRPC", data, [folder / name for name in (*transfer.MRPC_TRAIN, transfer.MRPC_TEST)], missing):
        for name, kind, value in zip(
            ("MRPC", "MRPC F1"), ("accuracy", "F1"), transfer._mrpc(encoder, folder), strict=True
        ):
            figures[name] = _protocol(f"MRPC|{kind}", f"abs(u-v),u*v|test|{transfer.CHOSEN_BY_FOLDS}", value)
    folder = data / SICK
    if _files_exist("SICK-R, SICK-E", data, [folder / name for name in transfer.SICK], missing):
        relatedness, entailment = transfer._sick(encoder, folder)
        figures["SICK-R"] = _protocol("SICK-R|pearson", "abs(u-v),u*v|test|penalty by the trial part", relatedness)
        figures["SICK-E"] = _protocol("SICK-E|accuracy", "abs(u-v),u*v|test|penalty by the trial part", entailment)
    return figures


def _classification_figures(encoder: SentenceTransformer, data: Path, missing: list[str]) -> Figures:
    """The figures of files with "label text" lines; where the test part is missing, a substitute under another name."""
    by_folds, folded, figures = transfer.CHOSEN_BY_FOLDS, f"mean of {transfer.FOLDS} folds", Figures()
    for name, file in transfer.FOLDED.items():
        if paths := _classification_paths(name, data, [file], missing):
            value = transfer._accuracy_over_folds(encoder, *paths)
            figures[name] = _protocol(f"{name}|accuracy", f"{folded}|{by_folds}", value)
    if paths := _classification_paths("SST", data, transfer.SST, missing):
        value = transfer._accuracy_with_dev(encoder, *paths)
        figures["SST"] = _protocol("SST|accuracy", "test|penalty by dev", value)
    elif paths := _classification_paths("SST (dev)", data, transfer.SST[:2], missing):
        value = transfer._accuracy_on_test(encoder, *paths)
        figures["SST (dev)"] = _protocol("SST|accuracy", f"dev|{by_folds}", value)
    if paths := _classification_paths("TREC", data, transfer.TREC, missing):
        value = transfer._accuracy_on_test(encoder, *paths)
        figures["TREC"] = _protocol("TREC|accuracy", f"test|{by_folds}", value)
    elif paths := _classification_paths("TREC (10 folds)", data, transfer.TREC[:1], missing):
        value = transfer._accuracy_over_folds(encoder, *paths)
        figures["TREC (10 folds)"] = _protocol("TREC|accuracy", f"{folded} of train|{by_folds}", value)
    return figures


def _classification_paths(name: str, data: Path, files: Sequence[str], missing: list[str]) -> list[Path]:
    """Paths in the folder `classification`, plain or .gz; if one is missing, an empty list and a line in `missing`."""
    folder = data / "classification"
    paths = [transfer.classification_file(folder, file) or folder / file for file in files]
    return paths if _files_exist(name, data, paths, missing) else []


def _protocol(measure: str, settings: str, value: float) -> _Figure:
    """A figure of a transfer task."""
    return _Figure(value, f"{measure} x100|{settings}|{transfer.PROTOCOL}|{VERSION}")


def as_json(encoders: Mapping[str, tuple[Figures, list[str]]]) -> dict:
    """The results of `evaluate_encoder` by name of the encoder, as JSON can represent them."""
    return {
        name: {"figures": {key: asdict(figure) for key, figure in figures.items()}, "missing": missing}
        for name, (figures, missing) in encoders.items()
    }


def markdown(encoders: Mapping[str, tuple[Figures, list[str]]], tasks: Collection[str] = TASKS) -> str:
    """Markdown tables with a row for each encoder and the papers' rows below; then missing files and signatures.

    A table is left out if no encoder has a figure in it.

    Args:
        encoders: The results of `evaluate_encoder`, by name of the encoder.
        tasks: The tasks whose tables are printed.
    """
    figure_names = {name for figures, _ in encoders.values() for name in figures}
    printed_tables = [
        shown_table for shown_table in TABLES if shown_table.task in tasks and figure_names & set(shown_table.columns)
    ]
    parts = [
        _encoders_table(shown_table, {name: figures for name, (figures, _) in encoders.items()})
        for shown_table in printed_tables
    ]
    missing = dict.fromkeys(line for _, absent in encoders.values() for line in absent)
    signatures = dict.fromkeys(
        f"{column}: {figures[column].signature}"
        for shown_table in printed_tables
        for column in shown_table.columns
        for figures, _ in encoders.values()
        if column in figures
    )
    if missing:
        parts.append("\n".join(["Without their files:", "", *(f"- {line}" for line in missing)]))
    return "\n\n".join([*parts, "\n".join(f"- `{signature}`" for signature in signatures)])


def is_markdown(path: Path) -> bool:
    """Whether a file holds tables from `markdown`: it begins with a heading and ends with a signature."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    return text.startswith("## ") and text.endswith(f"{VERSION}`\n")


def _encoders_table(layout: _Table, encoders: Mapping[str, Figures]) -> str:
    """One table as Markdown; a missing figure is a dash."""
    lines = []
    for name, figures in encoders.items():
        lines.append(
            [name, *(_cell(figures[column].value if column in figures else None) for column in layout.columns)]
        )
    for name, values in layout.paper.items():
        padding = [None] * (len(layout.columns) - len(values))
        lines.append([f"{layout.place}: {name}", *map(_cell, [*values, *padding])])
    return f"## {layout.title}\n\n{table(['', *layout.columns.values()], lines)}"


def _cell(value: float | None) -> str:
    """A figure with one decimal, as the papers print it.

    >>> _cell(66.25), _cell(None)
    ('66.2', '-')
    """
    return "-" if value is None else f"{value:.1f}"
