"""`toolkit.augment`: a data set with paraphrases of its rows.

>>> import toolkit
>>> from datasets import Dataset
>>> train = Dataset.from_dict({"text": ["It is late, so we will go home."], "label": [1]})
>>> bigger = toolkit.augment(train, columns="text", copies=2, progress=False)
>>> bigger["label"][:], bigger["augmented_from"][:]
([1, 1, 1], [None, 0, 0])
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from datasets import Dataset, DatasetDict, Features, IterableDataset, IterableDatasetDict

from toolkit.augmentation._copied_columns import check_copied
from toolkit.augmentation._known_rows import known_rows
from toolkit.augmentation._work import Work
from toolkit.augmentation.containers import (
    _check_classes,
    _check_new_names,
    _columns_read,
    _features_of,
    _first_values,
    _frame_columns,
    _new_dataset,
    _stream_of,
    _tags_of,
    _with_new_frame,
    _with_new_rows,
    _with_nulls,
    check_columns,
)
from toolkit.augmentation.label_check import Classifier, LabelCheck, _by_classifier, cross_validated
from toolkit.augmentation.parts import _joined
from toolkit.augmentation.settings import CROSS_VALIDATED, PROVENANCE, Augmentation, _column_names
from toolkit.augmentation.sources import _Model, _Pairs, _Source
from toolkit.augmentation.summary import Summary
from toolkit.bitext.languages import SAMPLE, check_code
from toolkit.clean.script import check_script
from toolkit.paraphraser.names import BEST, pivot_name
from toolkit.system.errors import check_several
from toolkit.system.lock import check_free
from toolkit.system.outputs import check_output_folder
from toolkit.system.processes import processes
from toolkit.system.settings import SETTINGS

if TYPE_CHECKING:
    from toolkit.paraphraser.paraphraser import Paraphraser

TRAIN = "train"
Data = TypeVar("Data")


def augment(
    data: Data,
    columns: str | Sequence[str],
    copies: int = 1,
    vary: str = "separately",
    keep: str | Sequence[str] | None = None,
    keep_by: str = "select",
    spans: Mapping[str, str] | None = None,
    paraphraser: str | Paraphraser = BEST,
    pairs: str | Path | None = None,
    label: str | None = None,
    balance: bool = False,
    stratify: bool = False,
    check: str | Classifier | None = None,
    max_new_rows: int | None = None,
    minutes: float | None = None,
    min_semantic: float | None = None,
    provenance: Sequence[str] = PROVENANCE,
    seed: int = 0,
    output_dir: str | Path | None = None,
    progress: bool | None = None,
    with_summary: bool = False,
    min_forward: float | None = None,
    allow_trivial: bool = False,
    pivot: Sequence[str] | None = None,
    min_usable: float | None = None,
    avoid: Sequence[str] = (),
    protect: Sequence[str] | None = None,
    protect_patterns: Sequence[str] = (),
    lang: str | None = None,
    encoder: str | None = None,
) -> Any:
    """A data set with all its rows, untouched and first, and after them new rows with paraphrases.

    No new row has the texts of another row, or of another split; this is not looked at in a stream.
    A row that gives no new row is counted by reason (`parts.REASONS`), and the summary names the first one.

    Args:
        data: A `Dataset`, a `DatasetDict` (only its split "train" grows), a stream of either kind, or a pandas
            `DataFrame`.
        columns: The columns whose texts are paraphrased.
        copies: New rows for each row, and with vary "separately" for each of its columns, at most.
        vary: "separately": a new row has one paraphrased column (S1 + S2 of ParaZh, table 7); "together": all of them
            (S12).
        keep: The name of a column of words or phrases, or a list of them: what every paraphrase must contain.
        keep_by: "select": of several paraphrases those that contain it are taken (ParaZh, section 4.4); "constrain":
            the decoder is made to generate it.
        spans: By text column the column of its spans (`_spans.py` has the forms), such as {"context": "answers"} or
            {"tokens": "ner_tags"}. They are kept letter for letter and found again.
        paraphraser: A model as `toolkit.Paraphraser` takes it, or one that is loaded; its settings hold guards and
            thresholds.
        pairs: A parabank in which the texts are looked up; then no model is used.
        label: The column of the classes, for balance, stratify and check.
        balance: Whether a class gets only as many new rows as it lacks to the size of the largest.
        stratify: Whether all classes grow by the same share, that of the class with the fewest new rows. Otherwise a
            class of which more paraphrases are refused becomes rarer.
        check: A classifier that refuses new rows with another label: a function from texts (or, of several columns,
            tuples of texts) to labels, or "cross_validated" for one that is trained on the data, which also takes those
            first that are most probably of their label.
        max_new_rows: New rows at most.
        minutes: No shard of 1,000 rows is begun after so many minutes; the result then depends on the machine.
        min_semantic: The least cosine of text and paraphrase, in [-1, 1]; None is what the paraphraser's settings say.
        provenance: Names of three columns of the result: the number of the row that a new row is made of (null in other
            rows), the paraphraser, and the cosine of text and paraphrase; () adds none.
        seed: Of all that is random. A row has the same copies for any number of processes, apart from ties that
            rounding decides.
        output_dir: A folder for finished shards: a call that was ended goes on from there, and the new rows are mapped
            from there instead of held in memory. Needed where a launcher started several processes.
        progress: Whether a bar and the summary are shown; None shows them.
        with_summary: Return the `Summary`, too.
        min_forward: The least forward log-likelihood per token of a paraphrase, in nats, at most 0; None is what the
            paraphraser's settings say. Not for pairs.
        allow_trivial: Whether a text that only contracts or expands ("What's", "What is") is new.
        pivot: Instead of a paraphraser two translators, there and back, see `toolkit.Paraphraser`.
        min_usable: The least probability that a reader would call a paraphrase usable, in [0, 1], in English; None is
            what the paraphraser's settings say. Not for pairs.
        avoid: Words or phrases that no paraphrase contains.
        protect: What of a text stays letter for letter: classes of `toolkit.paraphraser.protect.CLASSES`, () for none;
            None is what the paraphraser's settings say, by default all. Of pairs only those are taken that keep it.
        protect_patterns: Regular expressions of what else does.
        lang: Language of the texts (ISO 639-1); None is what the paraphraser or the pairs state, or else English. A
            paraphraser that is loaded has its own, and an encoder of its own.
        encoder: A sentence encoder for the cosine of text and paraphrase, and for check "cross_validated"; None takes
            the starter's in English, and none in other languages.

    Returns:
        The same type as `data`, a stream without its format (`with_format`); with `with_summary` a pair of it and the
        summary, which of a stream is filled when the stream has been read.

    Raises:
        TypeError: The data is of another type.
        ValueError: A column is missing or holds no texts, a column that is copied would no longer fit a paraphrase
            (`_copied_columns.py`), a row has no class where classes count, most texts are in another script than the
            paraphraser's language, or a setting is out of its range.
    """
    check_several(provenance, "three names as provenance")
    check_several(avoid, "a list of phrases to avoid")
    check_several(protect or (), "a list of classes to protect")
    check_several(protect_patterns, "a list of patterns to protect")
    if not isinstance(spans, Mapping | None):
        raise ValueError(f"wanted spans as a mapping from a column of texts to that of its spans, got {spans!r:.60}")
    if not isinstance(keep, str | Sequence | None):
        raise ValueError(f"wanted keep as the name of a column or a list of phrases, got {keep!r:.60}")
    settings = Augmentation(
        columns=_column_names(columns),
        copies=copies,
        vary=vary,
        keep=keep if keep is None or isinstance(keep, str) else tuple(keep),
        keep_by=keep_by,
        avoid=tuple(avoid),
        spans=dict(spans or {}),
        label=label,
        balance=balance,
        stratify=stratify,
        max_new_rows=max_new_rows,
        minutes=minutes,
        min_semantic=min_semantic,
        min_forward=min_forward,
        min_usable=min_usable,
        allow_trivial=allow_trivial,
        protect=None if protect is None else tuple(protect),
        protect_patterns=tuple(protect_patterns),
        provenance=tuple(provenance),
        seed=seed,
    )
    if check is not None and label is None:
        raise ValueError("wanted label, the column of the classes, for check, got None")
    if isinstance(check, str) and check != CROSS_VALIDATED:
        raise ValueError(f"wanted check {CROSS_VALIDATED!r} or a function from texts to labels, got {check!r}")
    rows, features = _train_rows(data, settings)
    check_columns(features, settings)
    check_copied(*_first_values(data, rows, features, settings))
    if balance or stratify or check is not None:
        _check_classes(rows, features, settings, may_lack=callable(check) and not balance and not stratify)
    stream = isinstance(rows, IterableDataset)
    if stream and (balance or stratify or max_new_rows is not None or isinstance(check, str)):
        raise ValueError(
            "wanted a Dataset for balance, stratify, max_new_rows and check 'cross_validated', got a stream"
        )
    folder = None if output_dir is None else Path(output_dir)
    if folder is not None:
        check_output_folder(folder, SETTINGS)
    state = processes(exchange=False)
    if folder is not None and state.is_main_process:
        check_free(folder)
    if state.num_processes > 1 and folder is None:
        raise ValueError(f"wanted output_dir, the folder that {state.num_processes} processes share, got None")
    if pivot is not None:
        if paraphraser != BEST:
            raise ValueError(f"wanted a paraphraser or a pivot, got both, {tuple(pivot)}: give one of them")
        paraphraser = pivot_name(pivot)
    source = _load_source(paraphraser, pairs, settings, lang, encoder)
    if not stream:
        _check_script(rows, source, settings)
    label_check = None if check is None else _label_check(check, rows, source, settings)
    record = {} if folder is None else _make_record(settings, source, check)
    known = None
    if not stream:
        splits = [split for name, split in data.items() if name != TRAIN] if isinstance(data, DatasetDict) else []
        known = known_rows(rows.select_columns(_columns_read(settings)), splits, settings.text_columns)
    work = Work(
        settings, source, _tags_of(features, settings), label_check, known, repr(features), folder, state, record
    )
    show_progress = progress is not False and state.is_main_process
    if stream:
        summary = Summary()
        return _combine_rows(
            data, _stream_of(rows, features, work, show_progress, summary), None, settings, summary, with_summary
        )
    new, summary = _new_dataset(rows, work, show_progress)
    if show_progress:
        print(summary, file=sys.stderr)
    return _combine_rows(data, rows, new, settings, summary, with_summary)


def _make_record(settings: Augmentation, source: _Source, check: str | Classifier | None) -> dict[str, Any]:
    """What must be equal in every call that goes on in a folder; of a function its name stands for what it does."""
    check_name = (
        check if check is None or isinstance(check, str) else getattr(check, "__qualname__", type(check).__qualname__)
    )
    return {**asdict(settings), **source.record(), "check": check_name, "lang": source.lang}


def _train_rows(data: Any, settings: Augmentation) -> tuple[Dataset | IterableDataset, Features]:
    """The rows that are augmented, and their features.

    Raises:
        TypeError: The data is of another type.
        ValueError: There is no split "train", or no row.
    """
    if isinstance(data, DatasetDict | IterableDatasetDict):
        if TRAIN not in data:
            raise ValueError(f"wanted a split {TRAIN!r}, which is augmented, got {', '.join(data)}: give one split")
        for split in data.values():
            _check_new_names(split.column_names or (), settings)
        data = data[TRAIN]
    if isinstance(data, IterableDataset):
        return data, _features_of(data)
    if not isinstance(data, Dataset):
        if "pandas" not in sys.modules or not isinstance(data, sys.modules["pandas"].DataFrame):
            kind, library = type(data).__name__, type(data).__module__.partition(".")[0]
            actual = f"{kind} of {library}: give data.to_pandas()" if hasattr(data, "to_pandas") else kind
            raise TypeError(f"wanted a Dataset, DatasetDict, IterableDataset or DataFrame, got {actual}")
        data = _frame_columns(data, settings)
    return data, data.features


def _load_source(
    paraphraser: str | Paraphraser,
    pairs: str | Path | None,
    settings: Augmentation,
    lang: str | None,
    encoder: str | None,
) -> _Source:
    """Where paraphrases come from; for the arguments see `augment`.

    Raises:
        ValueError: See `toolkit.Paraphraser`; or a loaded paraphraser is given another language or encoder.
    """
    lang = lang and check_code(lang, "lang")
    if pairs is not None:
        if settings.min_forward is not None:
            raise ValueError(f"wanted no min_forward with pairs, which have no such score, got {settings.min_forward}")
        if settings.min_usable is not None:
            raise ValueError(f"wanted no min_usable with pairs, which nobody judges here, got {settings.min_usable}")
        return _Pairs(
            pairs,
            settings.min_semantic,
            settings.allow_trivial,
            settings.avoid,
            settings.protect,
            settings.protect_patterns,
            lang,
            encoder,
        )
    from toolkit.paraphraser.paraphraser import Paraphraser

    if isinstance(paraphraser, str):
        return _Model(Paraphraser(paraphraser, lang, encoder), settings)
    if encoder is not None or lang not in (None, paraphraser.lang):
        raise ValueError(
            f"wanted the language and the encoder of the Paraphraser, which is loaded ({paraphraser.lang}), got lang "
            f"{lang!r} and encoder {encoder!r}: give them to toolkit.Paraphraser"
        )
    return _Model(paraphraser, settings)


def _check_script(rows: Dataset, source: _Source, settings: Augmentation) -> None:
    """Refuse rows whose texts are in another script than the language of their paraphraser.

    Raises:
        ValueError: See `check_script`.
    """
    first_rows = rows.with_format(None).select_columns(list(settings.columns)).select(range(min(SAMPLE, len(rows))))
    values = (value for column in settings.columns for value in first_rows[column] if value)
    texts = (value if isinstance(value, str) else " ".join(value) for value in values)
    check_script(texts, source.lang, f"{source.name} is for {source.lang}; give lang and a paraphraser of the texts")


def _label_check(
    check: str | Classifier, rows: Dataset | IterableDataset, source: _Source, settings: Augmentation
) -> LabelCheck:
    """The classifier that refuses new rows: the user's, or one that is trained on the rows.

    Raises:
        ValueError: There is no encoder for a classifier to be trained on, or there are too few labels.
    """
    assert settings.label is not None
    if callable(check):
        judge = _by_classifier(check)
    else:
        if source.encoder is None:
            raise ValueError(f"wanted an encoder for check {check!r} in {source.lang!r}, got none: give one of it")
        plain = rows.with_format(None)
        texts = [[_joined(value, column, source.lang)[0] for value in plain[column]] for column in settings.columns]
        inputs = texts[0] if len(texts) == 1 else list(zip(*texts, strict=True))
        judge = cross_validated(inputs, list(plain[settings.label]), source.encoder, settings.seed)
    return LabelCheck(judge, settings.columns, settings.label, source.lang)


def _combine_rows(
    data: Any, rows: Any, new: Dataset | None, settings: Augmentation, summary: Summary, with_summary: bool
) -> Any:
    """The data with its new rows, in its own type."""
    if isinstance(data, Dataset | DatasetDict) and new is not None:
        augmented: Any = _with_new_rows(rows, new, settings)
    elif new is not None:
        augmented = _with_new_frame(data, new, settings)
    else:
        augmented = rows
    if isinstance(data, DatasetDict | IterableDatasetDict):
        names = [name for name in data if name != TRAIN]
        other_splits = {
            name: _with_nulls(data[name], settings) if settings.provenance else data[name] for name in names
        }
        augmented = type(data)({name: other_splits.get(name, augmented) for name in data})
    return (augmented, summary) if with_summary else augmented
