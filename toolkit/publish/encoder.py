"""Package a trained encoder for publication: small weights, measured tables, a card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import torch
from huggingface_hub import ModelCard, ModelCardData
from safetensors.torch import load_file, save_file
from torch.nn import Module

from toolkit.encoder.load import load_encoder
from toolkit.encoder.modules import ParaphrasticEncoder
from toolkit.encoder.network import WEIGHTS
from toolkit.evaluate.embeddings import as_json, check_tasks, evaluate_encoder, markdown
from toolkit.package.templates import TEMPLATES
from toolkit.publish._folder import made_beside, read_training
from toolkit.run.workspace import write_record
from toolkit.system.outputs import MEASURED, check_output_folder
from toolkit.system.whole_files import write_whole
from toolkit.version import VERSION

TEMPLATE = TEMPLATES / "encoder.md"
AVERAGED = ("tables.word", "tables.trigram")  # weights of whose rows a sentence averages many
STORED = ("float16", "float8")
NOT_MEASURED = "It was measured on no evaluation set. parabank evaluate encoder measures it."
SHOWN = (  # the settings that the card shows
    "dimensions",
    "hidden",
    "direction",
    "pooling",
    "chinese",
    "min_count",
    "max_tokens",
    "loss",
    "margin",
    "batch",
    "mega_batch",
    "learning_rate",
    "scramble",
    "negatives_dtype",
    "seed",
)
PRIVATE = (
    "pairs",
    "output_dir",
    "decontaminate",
    "word_vectors",
    "processes",
)  # settings that describe the machine of the training


def package_encoder(
    model: str,
    data: str | None,
    tasks: list[str],
    output_dir: str,
    lang: str,
    license_name: str,
    text: str,
    dtype: str = "float16",
) -> dict:
    """Save an encoder in few bytes with `measured.json` and its card; the saved model is measured.

    Args:
        model: Folder of a trained encoder.
        data: Folder of evaluation sets, see `toolkit.evaluate.embeddings.evaluate_encoder`; None measures nothing, and
            the card says so.
        tasks: Which of them.
        output_dir: Folder of the packaged encoder.
        lang: Language of its sentences (ISO 639-1).
        license_name: Licence of the model, as the Hub names it.
        text: The text it was trained on, with attribution.
        dtype: What the tables of words and trigrams are stored in: "float16", or "float8" (e4m3), which takes half the
            bytes; a sentence averages many of their rows. A recurrent part is in float16.

    Returns:
        The content of `measured.json`, and the size of the folder as "megabytes".

    Raises:
        ValueError: `model` is no encoder of `toolkit.train.encoder`, the evaluation sets cannot be used, or
            `dtype` is unknown.
        OSError: The folder cannot be written, or holds files that the toolkit did not make.
    """
    if dtype not in STORED:
        raise ValueError(f"wanted --dtype {' or '.join(STORED)}, got {dtype!r}")
    folder = Path(output_dir)
    check_output_folder(folder, MEASURED, [model, *([data] if data else [])])
    checked_tasks = check_tasks(tasks)
    if data is not None and not Path(data).is_dir():
        raise FileNotFoundError(f"wanted a folder of evaluation sets, got {data}, which is none: check the path")
    training = read_training(model, "parabank train encoder", PRIVATE)
    encoder = load_encoder(model)
    if not isinstance(encoder[0], ParaphrasticEncoder):
        raise ValueError(f"wanted a folder that parabank train encoder made, got {model} with another encoder")
    with made_beside(folder) as temporary_folder:
        encoder.save(str(temporary_folder))
        weights = {
            name: weight.to(_stored_dtype(name, dtype))
            for name, weight in load_file(temporary_folder / WEIGHTS).items()
        }
        save_file(weights, temporary_folder / WEIGHTS)
        saved_encoder = load_encoder(str(temporary_folder))
        figures = evaluate_encoder(saved_encoder, Path(data), checked_tasks) if data else None
        measurements: dict[str, Any] = {
            "toolkit": VERSION,
            "language": lang,
            "license": license_name,
            "text": text,
            "stored_in": dtype,
            "parameters": sum(weight.numel() for weight in weights.values()),
            "evaluation": as_json({folder.name: figures})[folder.name] if figures else {"figures": {}},
        }
        write_record(temporary_folder, training)
        write_whole(temporary_folder / MEASURED, json.dumps(measurements, indent=1, ensure_ascii=False) + "\n")
        measurements["megabytes"] = round(sum(f.stat().st_size for f in temporary_folder.iterdir()) / 1e6, 1)
        report = markdown({folder.name: figures}, checked_tasks) if figures else NOT_MEASURED
        tables = report.replace("\n## ", "\n### ").replace("## ", "### ", 1)
        write_whole(
            temporary_folder / "README.md", _encoder_card(saved_encoder[0], folder.name, measurements, training, tables)
        )
    return measurements


def _stored_dtype(name: str, dtype: str) -> torch.dtype:
    """What a weight is stored in (`package_encoder`)."""
    return torch.float8_e4m3fn if dtype == "float8" and name in AVERAGED else torch.float16


def _encoder_card(
    encoder: Module, name: str, measurements: dict[str, Any], training: dict[str, Any], tables: str
) -> str:
    """The card of a packaged encoder.

    Args:
        encoder: Its first module.
        name: Name of its folder.
        measurements: What `package_encoder` returns.
        training: Record of its training.
        tables: The measured tables, in Markdown.
    """
    data = ModelCardData(
        language=measurements["language"],
        license=measurements["license"],
        library_name="sentence-transformers",
        pipeline_tag="sentence-similarity",
        tags=["sentence-transformers", "paraphrase", "parabank-toolkit"],
    )
    refusals = ", ".join(f"{count:,} {reason}" for reason, count in training["refused"].items())
    content = _card_content(encoder, name) | measurements | {"training": training, "tables": tables}
    content["refused"] = f"Left out were {refusals}" if refusals else "None was left out"
    return str(ModelCard.from_template(data, template_path=str(TEMPLATE), **content))


def _card_content(encoder: Module, name: str) -> dict[str, Any]:
    """The values that the card's template shows of the architecture."""
    architecture = cast(ParaphrasticEncoder, encoder).architecture
    return {
        "name": name,
        "title": f"{name}, a paraphrastic sentence encoder",
        "parts": " + ".join(part.upper() for part in architecture.parts),
        "parts_count": len(architecture.parts),
        "combine": architecture.combine,
        "size": architecture.size,
        "recurrent": "lstm" in architecture.parts,
        "settings": SHOWN,
    }
