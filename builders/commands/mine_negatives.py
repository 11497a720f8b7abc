r"""Mine hard negatives of a parabank: triplets of an anchor, its paraphrase and a near sentence that is none.

    parabank mine negatives --parabank my_parabank --encoder starter/encoder --output build/triplets

The negative is the nearest reference, by the cosine of the encoder, that is of another set of paraphrases and is not so
near, or so alike in words, that it may be a paraphrase. The search is exact, and all references are searched. The
output is a folder that `datasets.load_dataset` reads, with its card, or a .parquet or .jsonl file. Its columns anchor,
positive, negative go into the losses of sentence-transformers as they are, and into `parabank train encoder --pairs`.
"""

from __future__ import annotations

import json
from pathlib import Path

import toolkit
from toolkit.models.coverage import check_language_of
from toolkit.system.command import run_script
from toolkit.system.outputs import check_output_file, check_output_folder
from toolkit.system.whole_files import write_whole
from toolkit.train.hard_negatives_settings import NegativesSettings

PROGRAM = "parabank mine negatives"
RECORD, DATA = "negatives.json", "train.parquet"
CARD = """---
configs:
- config_name: default
  data_files: {data}
---

Triplets of {parabank}: an anchor, its paraphrase and a hard negative. {triplets:,} triplets of {pairs:,} pairs, mined
by `{program}` among {references:,} references with the encoder {encoder}; {record} has the settings and what was passed
over.
"""


def main(arguments: list[str]) -> int:
    """Parse the command line, search, write; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", NegativesSettings, _work, arguments)


def _work(settings: NegativesSettings) -> None:
    """Search and write, and print what was found."""
    output = Path(settings.output)
    is_file = output.suffix in (".parquet", ".jsonl")
    if is_file:
        check_output_file(output, [settings.parabank, settings.encoder])
    else:
        check_output_folder(output, RECORD, [settings.parabank, settings.encoder])
    record = _mined(settings, output if is_file else output / DATA)
    if not is_file:
        write_whole(output / RECORD, json.dumps({"toolkit": toolkit.__version__, **record}, indent=1) + "\n")
        shown = record["settings"] | record | {"data": DATA, "program": PROGRAM, "record": RECORD}
        write_whole(output / "README.md", CARD.format(**shown))
    refused = ", ".join(f"{number:,} {reason}" for reason, number in record["refused"].items()) or "none"
    print(
        f"{output}: {record['triplets']:,} triplets of {record['pairs']:,} pairs, {record['without']:,} pairs with "
        f"fewer than {settings.negatives}; {record['references']:,} references searched; passed over: {refused}"
    )


def _mined(settings: NegativesSettings, file: Path) -> dict:
    """Search and write the file; the settings and the counts."""
    from toolkit.encoder.load import load_encoder
    from toolkit.train.hard_negatives import mine_negatives, public_record, with_language

    settings = with_language(settings)
    check_language_of(settings.encoder, settings.lang or "", "--encoder")
    file.absolute().parent.mkdir(parents=True, exist_ok=True)
    return public_record(settings, mine_negatives(settings, load_encoder(settings.encoder, settings.device), file))
