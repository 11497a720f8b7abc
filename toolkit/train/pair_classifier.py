"""Train a classifier of sentence pairs, on a parabank's paraphrase identification or on a labelled task.

ParaBank 2's pBERT is a BERT trained on paraphrase identification; the training of a task then starts from it.

Source: ParaBank 2 (Hu et al. 2019b), section 3.8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from toolkit.encoder.load import load_encoder
from toolkit.models.precision import default_device
from toolkit.package import read
from toolkit.pair_classifier.classifier import LABELS, SCORE, fit, new_classifier
from toolkit.pair_classifier.pairs import LabelledPair, identification_pairs
from toolkit.pair_classifier.settings import PairClassifierSettings
from toolkit.pair_classifier.tasks import figures, predict, predict_scores, read_task, score_figures
from toolkit.system.errors import named_line
from toolkit.system.extras import naming_extra
from toolkit.system.processes import processes, row_seed
from toolkit.system.whole_files import write_whole
from toolkit.train._session import CHECKPOINTS, begin

with naming_extra():
    from sentence_transformers import CrossEncoder

# may change when a training resumes; with another number of processes it would skip other pairs than it has read
FREE = {"save_every", "test"}


def train(settings: PairClassifierSettings) -> Path:
    """Train a classifier, or resume a killed training, and save it; a finished training is left as it is.

    Returns:
        The folder of the classifier, which can be a base model again; training.json in it says how it was trained.

    Raises:
        ValueError: There is nothing to learn from; the base model is no checkpoint; a file to measure on is bad; the
            output folder belongs to a training with other settings.
        OSError: The folder is not one to write to (`toolkit.run.workspace.check_folder`), or the disk is full.
        RuntimeError: Another launch works in the folder.
    """
    settings = replace(settings, processes=processes().num_processes)  # as `accelerate launch` started them
    session = begin(settings, ("parabank", "task", "test"), ("base_model", "encoder"), FREE, "model")
    for path in settings.test:
        read_task(path, settings.columns, settings.scored)
    if session.is_finished():
        return session.model
    find_pairs = _pair_finder(settings)
    outputs = SCORE if settings.scored else LABELS
    classifier = new_classifier(settings.base_model, settings.max_length, _output_layer_seed(settings), outputs)
    with session.in_folder():
        with session.state.main_process_first():
            pairs = find_pairs()
        loss = fit(classifier, pairs, session.folder / CHECKPOINTS, settings)
        if session.state.is_main_process:
            classifier.save_pretrained(str(session.model), create_model_card=False)
            figures = {"pairs": len(pairs), **_label_figures(pairs, settings.scored), "loss": round(loss, 4)}
            session.finish({"settings": _public_settings(settings), **figures}, None, CHECKPOINTS)
    return session.model


def _label_figures(pairs: Sequence[LabelledPair], scored: bool) -> dict[str, float]:
    """Figures of the labels for the record: how many are 1, or the mean score."""
    total = sum(pair.label for pair in pairs)
    return {"mean_score": round(total / len(pairs), 4)} if scored else {"positive": total}


def _pair_finder(settings: PairClassifierSettings) -> Callable[[], list[LabelledPair]]:
    """A function that returns the training pairs; its inputs are read or loaded now, so that bad ones are refused now.

    The pairs of a parabank are computed once and then read from pairs.parquet in the output folder.

    Raises:
        ValueError: The task or the encoder cannot be used.
        FileNotFoundError: There is no such task or parabank.
    """
    if settings.task is not None:
        task = read_task(settings.task, settings.columns, settings.scored)
        return lambda: task
    assert settings.parabank is not None and settings.encoder is not None
    path = Path(settings.output_dir) / "pairs.parquet"
    if path.exists():
        return lambda: _read_pairs(path)
    tables = read.read_pairs(settings.parabank, "train")
    encoder = load_encoder(settings.encoder)

    def find() -> list[LabelledPair]:
        if not path.exists():  # the main process may have been here first
            rows = (row for table in tables for row in table.to_pylist())
            pairs = identification_pairs(rows, encoder, settings.max_pairs, settings.max_cosine, seed=settings.seed)
            _write_pairs(path, pairs)
        return _read_pairs(path)

    return find


def _write_pairs(path: Path, pairs: Sequence[LabelledPair]) -> None:
    """Write pairs to a Parquet file, whole or not at all."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([pair._asdict() for pair in pairs]), sink, compression="zstd")
    write_whole(path, sink.getvalue().to_pybytes())


def _read_pairs(path: Path) -> list[LabelledPair]:
    """Read the pairs of a file of `_write_pairs`.

    Raises:
        ValueError: The file is damaged.
    """
    try:
        return [LabelledPair(**record) for record in pq.read_table(path).to_pylist()]
    except (pa.ArrowInvalid, OSError, TypeError) as error:
        raise ValueError(
            f"wanted the pairs of this run, got {path}, which is damaged ({named_line(error)}): delete it, and they "
            "are found again"
        ) from error


def _output_layer_seed(settings: PairClassifierSettings) -> int:
    """A seed of the output layer in [0, 2^32), different for every parabank and task.

    With one seed for paraphrase identification and the task after it, the output layer of the task would start equal to
    the one that the weights below were trained with.
    """
    return row_seed(settings.seed, Path(settings.task or settings.parabank or "").name, "output layer") % 2**32


def _public_settings(settings: PairClassifierSettings) -> dict:
    """The settings for the record, without those of the machine, and with only the names of local files."""
    record = {name: value for name, value in asdict(settings).items() if name not in (*FREE, "processes", "output_dir")}
    for name in ("base_model", "parabank", "encoder", "task"):
        value = record[name]
        record[name] = Path(value).name if value and Path(value).exists() else value
    return record


def measure(model: Path, paths: Sequence[str], columns: Sequence[str], scored: bool = False) -> dict[str, dict]:
    """Measure a classifier that `train` has saved on labelled files.

    Args:
        model: Folder of the classifier.
        paths: Files of labelled pairs.
        columns: Columns of the two sentences and the label.
        scored: Whether the label is a score.

    Returns:
        By file, the return value of `toolkit.pair_classifier.tasks.figures`, or of `score_figures` for scores.
    """
    tasks = {path: read_task(path, columns, scored) for path in paths}
    classifier = CrossEncoder(str(model), device=str(default_device()))
    if scored:
        return {
            p: score_figures([x.label for x in task], predict_scores(classifier, task)) for p, task in tasks.items()
        }
    return {p: figures([x.label for x in task], predict(classifier, task)) for p, task in tasks.items()}
