"""Back-translation: sentences translated greedily into the language that a translator is to read (ParaZh, section 2.3).

Each pair of a machine translation and its sentence teaches a translator to write what people wrote. The sentences are
cut into shards; each is translated by one process and written whole, so that a killed run goes on where it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import torch

from toolkit.clean.clean_file import writer
from toolkit.clean.marks import loses_mark
from toolkit.clean.rules import CleanSettings, first_reasons, normal_batch
from toolkit.clean.texts import Texts
from toolkit.data.rows import Row
from toolkit.data.shards import (
    all_made,
    candidates_of,
    input_shards,
    output_of,
    read_inputs,
    read_tables,
)
from toolkit.generate.monolingual import BackTranslation
from toolkit.generate.translate import translate_rows
from toolkit.run.batches import settled
from toolkit.run.shard_runs import make_run
from toolkit.run.workspace import check_folder, in_folder
from toolkit.system.outputs import check_output_file, is_ours
from toolkit.system.processes import processes, tell_idle_gpus
from toolkit.system.settings import SETTINGS
from toolkit.translator.load import Translator, load_translator

GREEDY = 1  # ParaZh, section 2.3: "greedy decoding"; a beam of one
FREE = {"output", "processes", "check_language"}  # may change between the calls of one run


def back_translate(settings: BackTranslation) -> Counter[str]:
    """Translate a text and write the pairs, in all processes of the launch; shards that are finished are kept.

    Returns:
        The numbers of sentences and pairs that were refused by reason, and of written pairs as "kept"; empty on all
        processes but the main one.

    Raises:
        OSError: A text does not exist, or the output cannot be written or is another's.
        ValueError: The text or the model cannot be used, no pair is left, or the shards are of other settings.
        RuntimeError: A shard failed, another launch works on it, or the processes do not see each other.
    """
    state, output = processes(exchange=False), Path(settings.output)
    if state.is_main_process:
        check_output_file(output, settings.text, lambda _: is_ours(settings.shards_dir / SETTINGS))
    files, models = {"text": settings.text}, {"model": settings.model}
    record = check_folder(settings.shards_dir, settings, files, models, FREE, state)
    folder, settings = settings.shards_dir, settled(settings, settings.shards_dir, models.values(), state)
    record |= settings.batch_sizes
    if not (translated_before := all_made(folder)):
        if state.is_main_process:
            settings.check_text()
        tell_idle_gpus()
        torch.set_num_threads(settings.threads)
        translator = load_translator(settings.model, settings.dtype, state.device, settings.lang, settings.source_lang)
        recipe = partial(_back_translated, translator=translator, settings=settings)
    with in_folder(folder, record, FREE, state):
        if not translated_before:
            make_run(folder, settings.input_rows(), settings.shard_rows, recipe, state)
        if not state.is_main_process:
            return Counter()
        return _write_pairs(list(map(output_of, input_shards(folder))), output) + Counter(
            read_inputs(folder)["refused"]
        )


def _back_translated(rows: Iterable[Row], translator: Translator, settings: BackTranslation) -> Iterator[Row]:
    """Give every row the greedy translation of its reference as its only candidate, in normal form.

    Args:
        rows: Rows without a source and without candidates; all of a shard are held at a time.
        translator: From the references' language.
        settings: How pairs are normalised and which are refused.

    Yields:
        The rows in their order. A translation that cannot be used, or that no rule for pairs accepts beside its
        reference, has a reason.

    Source: ParaZh (Hao et al. 2022), section 2.3.
    """
    shard = list(translate_rows(rows, translator, GREEDY, settings.batch_sizes["batch_rows"]))
    _refuse_pairs([row for row in shard if row.candidates[0].reason is None], settings, settings.source_lang)
    yield from shard


def _refuse_pairs(rows: Sequence[Row], settings: CleanSettings, source_lang: str) -> None:
    """Give each row's only candidate its normal form, and a reason if a rule refuses it as the source of its reference.

    Args:
        rows: Of one language, each with one candidate.
        settings: How pairs are normalised and which are refused.
        source_lang: Language of the candidates.
    """
    if not rows:
        return
    candidates = [row.candidates[0] for row in rows]
    sides = Texts.of([candidate.text for candidate in candidates]), Texts.of([row.reference for row in rows])
    batch = normal_batch(*sides, settings, source_lang, rows[0].lang)
    reasons = first_reasons(batch, settings, [None] * len(rows))
    for row, candidate, text, reason in zip(rows, candidates, batch.source.strings, reasons, strict=True):
        mark_reason = "mark" if loses_mark(row.reference, text, source_lang, row.lang) else None
        candidate.text, candidate.reason = text, reason or mark_reason


def _write_pairs(shards: Sequence[Path], output: Path) -> Counter[str]:
    """Write the pairs of finished shards that were not refused to one file, whole or not at all.

    Returns:
        The numbers of refused pairs by reason, and of written ones as "kept".

    Raises:
        ValueError: No pair is left.
    """
    counts: Counter[str] = Counter()
    with writer(output, with_reasons=False) as write:
        for table in (table for shard in shards for table in _pairs_of_shard(shard)):
            counts.update(table["reason"].drop_null().to_pylist())
            usable_pairs = table.filter(pc.is_null(table["reason"])).drop_columns("reason")
            counts["kept"] += len(usable_pairs)
            write(usable_pairs)
        if not counts["kept"]:
            raise ValueError(
                f"wanted at least one usable translation, got none of {counts.total()} ({dict(+counts)}): "
                "give another model or text"
            )
    return counts


def _pairs_of_shard(shard: Path) -> Iterator[pa.Table]:
    """The columns source, reference and reason of the translated rows of a finished shard, in their order."""
    for rows in read_tables(shard):
        translated = rows.filter(pc.is_null(rows["reason"]))
        candidates = candidates_of(translated).flatten()
        source, reason = (pc.struct_field(candidates, name) for name in ("text", "reason"))
        yield pa.table({"source": source, "reference": translated["reference"], "reason": reason})
