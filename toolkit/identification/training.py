"""A run that trains a classifier of sentence pairs: on a parabank's paraphrase identification, or on a labelled task.

ParaBank 2's pBERT is BERT after the first; a task's run then starts from it.

Source: ParaBank 2 (Hu et al. 2019b), section 3.8.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from sentence_transformers import CrossEncoder

from toolkit.identification.classifier import LABELS, SCORE, FitSettings, device_name, fit, new_identifier
from toolkit.identification.pairs import LabelledPair, identification_pairs
from toolkit.identification.tasks import NAMED, figures, predict, predict_scores, read_task, score_figures
from toolkit.package.load import load_parabank
from toolkit.parallel import processes, row_seed
from toolkit.score.semantic import load_encoder
from toolkit.settings import check_record
from toolkit.shards import write_whole

FREE = {"save_steps", "test"}  # settings that may change from call to call
RECORD = "training.json"


@dataclass(frozen=True)
class IdentifierSettings(FitSettings):
    """What a classifier starts from, what it learns and where it goes.

    Attributes:
        base_model: A checkpoint: a folder or a Hub id; its output layer is drawn anew.
        output_dir: Folder of the run; the classifier is in its folder model.
        parabank: Learn paraphrase identification from this parabank, a folder or a Hub name.
        encoder: With a parabank: the sentence encoder that finds near sentences, a folder or a Hub id.
        pairs: With a parabank: the most pairs, half of them paraphrases.
        max_cosine: With a parabank: nearer sentences count as paraphrases and are passed over.
        task: Or learn the labelled pairs of this TSV or CSV file.
        columns: Of the task's two sentences and its label: names, or numbers from 0 if it has no header.
        scored: The task's label is a score from 0 to 5 (STS-B), learnt by one output with the squared error.
        test: Labelled files with the same columns to measure the finished classifier on.
    """

    base_model: str = field(kw_only=True)
    output_dir: str = field(kw_only=True)
    parabank: str | None = None
    encoder: str | None = None
    pairs: int | None = None
    max_cosine: float = 1.0
    task: str | None = None
    columns: list[str] = field(default_factory=lambda: list(NAMED))
    scored: bool = False
    test: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.parabank is None) == (self.task is None):
            raise ValueError("wanted either --parabank or --task, got both or neither: give one to learn from")
        if self.parabank is not None and self.encoder is None:
            raise ValueError("wanted --encoder with --parabank, got none: name the encoder that finds near sentences")
        if self.scored and self.task is None:
            raise ValueError("wanted --task with --scored, got --parabank: a parabank's pairs have labels")


def pairs_of(settings: IdentifierSettings) -> list[LabelledPair]:
    """What a run learns; a parabank's pairs are found once and then read from pairs.parquet in the run's folder."""
    if settings.task is not None:
        return read_task(settings.task, settings.columns, settings.scored)
    assert settings.parabank is not None and settings.encoder is not None
    path = Path(settings.output_dir) / "pairs.parquet"
    if not path.exists():
        rows = load_parabank(settings.parabank, split="train").select_columns(["id", "sentence1", "sentence2"])
        encoder = load_encoder(settings.encoder, device_name())
        found = identification_pairs(rows, encoder, settings.pairs, settings.max_cosine, seed=settings.seed)
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist([pair._asdict() for pair in found]), sink, compression="zstd")
        write_whole(path, sink.getvalue().to_pybytes())
    return [LabelledPair(**record) for record in pq.read_table(path).to_pylist()]


def train(settings: IdentifierSettings) -> Path:
    """Train a classifier, go on where a killed run left off, or do nothing where it is finished.

    Returns:
        The folder of the classifier, which is a base model again; training.json in it says how it was made.

    Raises:
        ValueError: There is nothing to learn from; the base model is no checkpoint; the output folder belongs to a run
            with other settings.
    """
    folder, state = Path(settings.output_dir), processes()
    model = folder / "model"
    with state.main_process_first():
        folder.mkdir(parents=True, exist_ok=True)
        check_record(folder / "settings.json", asdict(settings), FREE)
        pairs = [] if (model / RECORD).exists() else pairs_of(settings)
    if pairs:
        outputs = SCORE if settings.scored else LABELS
        identifier = new_identifier(settings.base_model, settings.max_length, output_layer_seed(settings), outputs)
        loss = fit(identifier, pairs, folder, settings)
        if state.is_main_process:
            identifier.save_pretrained(str(model), create_model_card=False)
            learnt = {"pairs": len(pairs), **labels_of(pairs, settings.scored), "loss": round(loss, 4)}
            write_whole(model / RECORD, json.dumps({"settings": published(settings), **learnt}, indent=1))
            for checkpoint in folder.glob("checkpoint-*"):
                shutil.rmtree(checkpoint)
    state.wait_for_everyone()
    return model


def labels_of(pairs: Sequence[LabelledPair], scored: bool) -> dict[str, float]:
    """What the record says of the labels: how many are 1, or the mean score."""
    total = sum(pair.label for pair in pairs)
    return {"mean_score": round(total / len(pairs), 4)} if scored else {"positive": total}


def output_layer_seed(settings: IdentifierSettings) -> int:
    """A seed in [0, 2^32) that differs by what is learnt.

    Were it the same for paraphrase identification and the task after it, the task's output layer would be drawn as the
    one that the weights below have learnt to serve.
    """
    return row_seed(settings.seed, Path(settings.task or settings.parabank or "").name, "output layer") % 2**32


def published(settings: IdentifierSettings) -> dict:
    """The settings that say what a classifier is, with a bare name for whatever lies in a folder here."""
    shown = {name: value for name, value in asdict(settings).items() if name not in (*FREE, "output_dir")}
    for name in ("base_model", "parabank", "encoder", "task"):
        value = shown[name]
        shown[name] = Path(value).name if value and Path(value).exists() else value
    return shown


def measure(model: Path, paths: Sequence[str], columns: Sequence[str], scored: bool = False) -> dict[str, dict]:
    """By file, the figures of a classifier that `train` has saved.

    Args:
        model: Its folder.
        paths: Files of labelled pairs.
        columns: Of their two sentences and the label.
        scored: The label is a score.

    Returns:
        What `toolkit.identification.tasks.figures` returns, or `score_figures` of scores.
    """
    tasks = {path: read_task(path, columns, scored) for path in paths}
    identifier = CrossEncoder(str(model), device=device_name())
    if scored:
        return {
            p: score_figures([x.label for x in task], predict_scores(identifier, task)) for p, task in tasks.items()
        }
    return {p: figures([x.label for x in task], predict(identifier, task)) for p, task in tasks.items()}
