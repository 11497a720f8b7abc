"""Package a trained paraphraser for publication: float16 weights, a measured table, a card."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from toolkit.evaluate.ibleu import ALPHA, ibleu_signature
from toolkit.evaluate.paraphraser import evaluate_systems, markdown
from toolkit.paraphraser.baselines import round_trip
from toolkit.paraphraser.card import paraphraser_card, stated
from toolkit.paraphraser.evaluation import read_test
from toolkit.paraphraser.paraphraser import Paraphraser
from toolkit.publish._folder import made_beside, read_training
from toolkit.run.workspace import write_record
from toolkit.starters import WORDS, shown_name
from toolkit.system.outputs import MEASURED, check_output_folder
from toolkit.system.whole_files import write_whole
from toolkit.translator.load import load_checkpoint, load_translator

# settings that describe one machine
PRIVATE = ("pairs", "validation", "decontaminate", "output_dir", "threads", "processes")
N = 5  # ours: outputs of each input


def package_paraphraser(
    model: str,
    test: str,
    output_dir: str,
    license_name: str,
    text: str,
    translators: Sequence[str] = (),
    limit: int | None = None,
) -> dict[str, Any]:
    """Save a paraphraser in float16 with `measured.json` and its card; the table is measured on the saved model.

    Args:
        model: Folder of the trained model.
        test: Inputs with human paraphrases, which it was not trained on; `toolkit.package.read.FORMS`.
        output_dir: Folder of the packaged model.
        license_name: Licence of the model, as the Hub names it.
        text: The text it was trained on, with attribution.
        translators: Two, into another language and back, for the line "round trip" of the table; or none.
        limit: The most inputs that are measured.

    Returns:
        The content of `measured.json`.

    Raises:
        ValueError: `model` is no paraphraser of `toolkit.train.paraphraser`, or the test cannot be used.
        OSError: The folder cannot be written, or holds files that the toolkit did not make.
    """
    folder = Path(output_dir)
    check_output_folder(folder, MEASURED, [model, test])
    items = read_test(test, limit=limit)
    training = read_training(model, "parabank train paraphraser", PRIVATE)
    if not {"direction", "lang"} <= training["settings"].keys():
        raise ValueError(f"wanted a folder that parabank train paraphraser made, got {model}, of another training")
    settings = training["settings"]
    lang, base = settings["lang"], settings["base_model"]
    training["settings"] = settings | {"base_model": shown_name(base) if base else None}
    with made_beside(folder) as temporary_folder:
        loaded_model, tokenizer = load_checkpoint(model, torch.float16)
        loaded_model.save_pretrained(temporary_folder)
        tokenizer.save_pretrained(temporary_folder)
        if Path(model, WORDS).exists():
            shutil.copyfile(Path(model, WORDS), temporary_folder / WORDS)
        write_record(temporary_folder, training)
        facts = stated(training["settings"], training.get("marked"))
        write_whole(temporary_folder / MEASURED, json.dumps(facts) + "\n")
        texts = [item.text for item in items]
        systems = {"copy of the input": [[source] for source in texts]}
        if translators:
            forward_translator, backward_translator = (load_translator(name) for name in translators)
            systems["round trip, beam 12"] = round_trip(texts, forward_translator, backward_translator, N)
        systems["this paraphraser"] = Paraphraser(str(temporary_folder), lang).paraphrase(texts, N)
        figures = evaluate_systems(items, systems, lang=lang)
        measurements = facts | {
            "figures": figures,
            "signature": ibleu_signature(ALPHA, 1, lang),
            "inputs": len(items),
            "license": license_name,
            "text": text,
            "parameters": training["parameters"],
            "megabytes": round(sum(file.stat().st_size for file in temporary_folder.iterdir()) / 1e6, 1),
        }
        write_whole(temporary_folder / MEASURED, json.dumps(measurements, indent=1, ensure_ascii=False) + "\n")
        card = paraphraser_card(training, loaded_model.config.model_type, measurements | {"table": markdown(figures)})
        write_whole(temporary_folder / "README.md", card)
    return measurements
