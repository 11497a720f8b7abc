"""The settings of a command that augments a file, without imports that take seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from toolkit.augmentation.settings import CROSS_VALIDATED, Augmentation
from toolkit.bitext.languages import Language
from toolkit.chat.settings import LM, PromptedModel
from toolkit.paraphraser.names import BEST
from toolkit.paraphraser.protect import Protection
from toolkit.score.meaning import MODELS, MeaningModels
from toolkit.system.ranges import Machine, Range, Seed

Spans = Annotated[
    list[str],
    Range(
        "--{} once for each column of texts",
        lambda pairs: len({pair.split("=")[0] for pair in pairs}) == len(pairs),
        show=" ".join,
        note="",
    ),
]
Check = Annotated[str, Range(f"--{{}} {CROSS_VALIDATED}", lambda name: name == CROSS_VALIDATED, note=CROSS_VALIDATED)]


@dataclass(frozen=True, kw_only=True)
class AugmentFile(PromptedModel, Protection, MeaningModels, Machine):
    """A data set, what new rows are made of, and where they go.

    Attributes:
        data: A .csv, .tsv, .jsonl, .json or .parquet file (the texts may be compressed), or a data set: a folder or a
            Hub name.
        output: The file of all rows, the new ones at its end: .csv, .tsv, .jsonl or .parquet. Finished shards are in
            the folder of the same name with ".shards".
        columns: Columns whose texts are paraphrased.
        data_split: Split to read, if the data is a data set.
        data_config: Configuration to read, if the data set has several.
        copies: New rows for each row, and with --vary separately for each of its columns, at most.
        vary: "separately": a new row has one paraphrased column; "together": all of them.
        keep: A column of words or phrases that every paraphrase must contain.
        keep_phrases: Words or phrases that every paraphrase must contain.
        keep_by: "select": of several paraphrases those that contain them are taken; "constrain": the decoder is made to
            generate them.
        avoid: Words or phrases that no paraphrase contains: --avoid "on hold" awful.
        spans: Columns of spans or tags, each as TEXT=SPANS: "context=answers", "tokens=ner_tags".
        paraphraser: "best" (what is installed), a model (starter/NAME, a Hub id or a folder), two translators with
            " > " between, there and back, or "lm", the language model of --model.
        lang: Language of the texts (ISO 639-1); unless given, what the paraphraser or the pairs state, or English.
        encoder: A sentence encoder for the cosine of text and paraphrase, and for --check; unless given, the starter's
            in English, and none in other languages.
        pivot: Two translators instead of a paraphraser, there and back: --pivot starter/en-pt starter/pt-en.
        pairs: A parabank in which the texts are looked up, instead of a model.
        label: Column of the classes, for --balance, --stratify and --check.
        balance: A class gets only as many new rows as it lacks to the size of the largest.
        stratify: All classes grow by the same share, that of the class with the fewest new rows.
        check: "cross_validated": a classifier, trained on the other rows, refuses new rows with another label; the most
            probable are taken first.
        max_new_rows: New rows at most; by default no limit.
        minutes: No shard of 1,000 rows is begun after so many minutes.
        min_semantic: The least cosine of text and paraphrase; by default what the paraphraser's settings say.
        min_forward: The least forward log-likelihood per token of a paraphrase, in nats, at most 0; likewise.
        min_usable: The least probability that a reader would call a paraphrase usable, in [0, 1]; likewise.
        allow_trivial: A text that only contracts or expands ("What's", "What is") is new.
        provenance: Add columns: the row that a new row is made of, the paraphraser, and the cosine.
        preview: A page of HTML that shows new rows beside their sources.
        seed: Of all that is random.
    """

    data: str
    output: str
    columns: list[str]
    data_split: str = "train"
    data_config: str | None = None
    copies: int = 1
    vary: str = "separately"
    keep: str | None = None
    keep_phrases: list[str] = field(default_factory=list)
    keep_by: str = "select"
    avoid: list[str] = field(default_factory=list)
    spans: Spans = field(default_factory=list)
    paraphraser: str = BEST
    lang: Language | None = None
    encoder: str | None = None
    pivot: list[str] = field(default_factory=list)
    pairs: str | None = None
    label: str | None = None
    balance: bool = False
    stratify: bool = False
    check: Check | None = None
    max_new_rows: int | None = None
    minutes: float | None = None
    min_semantic: float | None = None
    min_forward: float | None = None
    min_usable: float | None = None
    allow_trivial: bool = False
    provenance: bool = True
    preview: str | None = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Refuse spans of another form, and settings that do not go together or that `Augmentation` refuses."""
        super().__post_init__()
        self.check_model(self.paraphraser == LM, f"--paraphraser {LM}", self.rubric is not None)
        self.check_used()
        if self.pairs is not None and self.scores:
            raise ValueError(
                f"wanted --{MODELS[self.scores[0]]} with a paraphraser, got it with --pairs: filter that parabank by it"
            )
        if self.keep is not None and self.keep_phrases:
            raise ValueError("wanted either --keep or --keep_phrases, got both")
        if self.check is not None and self.label is None:
            raise ValueError("wanted --label, the column of the classes, for --check, got none")
        for pair in self.spans:
            if pair.count("=") != 1 or not all(pair.split("=")):
                raise ValueError(f"wanted --spans as TEXT=SPANS, two columns, got {pair!r}")
        if self.preview is not None and not self.provenance:
            raise ValueError("wanted provenance for --preview, which shows of what a row is made, got --no-provenance")
        _ = self.augmentation

    @property
    def augmentation(self) -> Augmentation:
        """The settings that are not of files, checked."""
        return Augmentation(
            columns=tuple(self.columns),
            copies=self.copies,
            vary=self.vary,
            keep=self.keep or tuple(self.keep_phrases) or None,
            keep_by=self.keep_by,
            avoid=tuple(self.avoid),
            protect=tuple(self.protect),
            protect_patterns=tuple(self.protect_patterns),
            spans=dict(pair.split("=") for pair in self.spans),
            label=self.label,
            balance=self.balance,
            stratify=self.stratify,
            max_new_rows=self.max_new_rows,
            minutes=self.minutes,
            min_semantic=self.min_semantic,
            min_forward=self.min_forward,
            min_usable=self.min_usable,
            allow_trivial=self.allow_trivial,
            seed=self.seed,
        )
