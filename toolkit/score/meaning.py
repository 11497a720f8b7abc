"""The stronger scores of meaning, by models of the user's choice: which are wanted, and one stage that fills them.

Entailment both ways (`entailment.py`), ParaPLUIE (`parapluie.py`) and a language model as a judge (`rubric.py`). They
cost far more than a cosine, so they are measured last, of the candidates that all else left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from toolkit.chat.settings import REPLIES, ServerSettings
from toolkit.system.ranges import Finite, Share, between

if TYPE_CHECKING:
    import torch

    from toolkit.data.rows import Row

BATCH_PAIRS = 64  # ours: pairs that a model of entailment reads at a time
BATCH_TOKENS = 8192  # ours: tokens that a language model reads at a time, at most
MODELS = {"entailment": "nli", "parapluie": "parapluie", "rubric": "rubric"}  # the setting of the model of each score
FLOOR = "min_{}"  # the setting of the least score
Stage = Callable[["Iterable[Row]"], "Iterator[Row]"]


@dataclass(frozen=True, kw_only=True)
class MeaningModels(ServerSettings):
    """Models that measure whether a candidate means what its reference does, and the least scores that they may give.

    Attributes:
        nli: A cross-encoder for natural language inference, a Hub id or a folder: how probably text and paraphrase
            follow from each other (the scores entailed, entails and entailment, the lesser of both).
        min_entailment: The least probability, in [0, 1], of the less probable direction.
        parapluie: A chat language model, a Hub id or a folder: by how many nats it rather says "Yes" than "No", asked
            whether both are paraphrases (the score parapluie).
        min_parapluie: The least of that; at 0 "Yes" and "No" are equally probable.
        rubric: A chat language model that grades how much of the meaning is kept, from 1 to 5 (the score rubric): a Hub
            id or a folder, or with --server the name by which that has it.
        min_rubric: The least grade, in [1, 5].
    """

    GROUP = "scores of meaning"

    nli: str | None = None
    min_entailment: Share | None = None
    parapluie: str | None = None
    min_parapluie: Finite | None = None
    rubric: str | None = None
    min_rubric: Annotated[float, between(1, 5)] | None = None

    def __post_init__(self) -> None:
        """Refuse a least score without the model that measures it."""
        super().__post_init__()
        for score, model in MODELS.items():
            if getattr(self, FLOOR.format(score)) is not None and getattr(self, model) is None:
                raise ValueError(
                    f"wanted --{model} with --{FLOOR.format(score)}, got none: give the model that measures it"
                )

    @property
    def scores(self) -> list[str]:
        """The scores that there are models for."""
        return [score for score, model in MODELS.items() if getattr(self, model) is not None]

    @property
    def floors(self) -> dict[str, float]:
        """The least scores that are wanted."""
        floors = {score: getattr(self, FLOOR.format(score)) for score in MODELS}
        return {score: floor for score, floor in floors.items() if floor is not None}

    @property
    def local_models(self) -> list[str]:
        """The names of the models that are loaded here; that of a server is not."""
        models = [self.nli, self.parapluie, None if self.server else self.rubric]
        return [model for model in models if model is not None]

    def alone(self, folder: Path) -> MeaningModels | None:
        """These settings without the others that a command has; None where no model is given.

        Args:
            folder: Where a server's replies are kept, unless the settings name a file.
        """
        if not self.scores:
            return None
        of_server = {field.name for field in fields(ServerSettings)} if self.rubric is None else set()
        names = [field.name for field in fields(MeaningModels) if field.name not in of_server]
        values = {name: getattr(self, name) for name in names}
        if self.rubric is not None and self.server is not None:
            values["reply_cache"] = self.reply_cache or str(folder / REPLIES)
        return MeaningModels(**values)

    def check_used(self) -> None:
        """Refuse a model whose score nothing compares, for commands that keep no scores.

        Raises:
            ValueError: There is such a model.
        """
        for score in self.scores:
            if score not in self.floors:
                floor = FLOOR.format(score)
                raise ValueError(f"wanted --{floor} with --{MODELS[score]}, got none: without it nothing is refused")


@dataclass(frozen=True)
class MeaningScorer:
    """What fills the scores.

    Attributes:
        fill: The stage.
        signatures: Of the scores, by the names of their models' settings.
    """

    fill: Stage
    signatures: dict[str, str]


def load_meaning(settings: MeaningModels, dtype: str, device: torch.device | str) -> MeaningScorer:
    """Load the models of the scores that are wanted.

    Args:
        settings: Which.
        dtype: Of the language models; see `load_language_model`.
        device: Device on which the models compute.

    Raises:
        ValueError: A model cannot be loaded; see `load_nli` and `load_critic`.
    """
    stages, signatures = list[Stage](), dict[str, str]()
    if settings.nli is not None:
        from toolkit.score.entailment import entailment_rows, load_nli

        nli = load_nli(settings.nli, device)
        stages.append(lambda rows: entailment_rows(rows, nli, BATCH_PAIRS))
        signatures["nli"] = nli.signature
    if settings.parapluie is not None:
        from toolkit.score.critic import load_critic
        from toolkit.score.parapluie import parapluie_rows, parapluie_signature

        asked_model = load_critic(settings.parapluie, dtype, device)
        stages.append(lambda rows: parapluie_rows(rows, asked_model, BATCH_TOKENS))
        signatures["parapluie"] = parapluie_signature(asked_model)
    if settings.rubric is not None:
        from toolkit.chat.client import ChatClient
        from toolkit.score.critic import load_critic
        from toolkit.score.rubric import PARALLEL, rubric_rows, rubric_signature

        judge = (
            load_critic(settings.rubric, dtype, device)
            if settings.server is None
            else ChatClient(settings.rubric, settings, PARALLEL)
        )
        stages.append(lambda rows: rubric_rows(rows, judge, BATCH_TOKENS))
        signatures["rubric"] = rubric_signature(judge)

    def fill(rows: Iterable[Row]) -> Iterator[Row]:
        for stage in stages:
            rows = stage(rows)
        return iter(rows)

    return MeaningScorer(fill, signatures)
