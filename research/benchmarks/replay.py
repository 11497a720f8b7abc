"""Record what the models of a ParaBank 2 build say, and build again from that recording, without the models.

`record` builds a parabank with the models, and keeps every sample and every backward score. `replay` builds a larger
one: it reads the recorded sentences several times, each time with another number behind the reference, so that rows,
constraints and pairs are new. Only `sample` and the scoring engine's `likelihoods` are replaced, by look-ups in the
recording, and their time is not counted; everything else is the toolkit's own code.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

from research.benchmarks.stages import ALL_ELSE, HOST_WATCHED, WARMING, Clock, cpu_clock, timed_build

if TYPE_CHECKING:
    from torch import Tensor

    from builders.parabank2 import ParaBank2Run
    from toolkit.decode.sampling import Sample

SAMPLE, SCORING_ENGINE = "toolkit.generate.sample.sample", "toolkit.score.dual.engine_of"
LIKELIHOOD = "toolkit.score.dual.log_likelihood"
MODELS, OBJECTS = "look-ups in place of models", "objects of samples"
NOT_COUNTED = (MODELS, "loading models", ALL_ELSE, WARMING)  # spent once in a run, or in place of the models

Ids = tuple[int, ...]


@dataclass
class Recording:
    """What the models said.

    Attributes:
        samples: By the ids of a source the ids of its samples, (samples, steps), and their log-probabilities.
        scores: By the ids of a candidate and those of its source, the log-likelihood of the source, in nats.
    """

    samples: dict[Ids, tuple[Tensor, Tensor]] = field(default_factory=dict)
    scores: dict[tuple[Ids, Ids], float] = field(default_factory=dict)


def record(settings: ParaBank2Run) -> Recording:
    """Build a parabank with the models, and keep what they said."""
    import torch

    from builders.parabank2 import build
    from toolkit.decode.constraints import NONE
    from toolkit.decode.likelihood import log_likelihood
    from toolkit.decode.sampling import sample
    from toolkit.models.padding import pad

    recording = Recording()

    def sampled(engine: Any, sources: Sequence[list[int]], *rest: Any) -> list[Sample]:
        samples = sample(engine, sources, *rest)
        each = len(samples) // len(sources)
        for n, source in enumerate(sources):
            part = samples[n * each : (n + 1) * each]
            scores = torch.tensor([output.logprob for output in part], dtype=torch.float64)
            recording.samples[tuple(source)] = pad([output.ids for output in part], NONE), scores
        return samples

    def scored(engine: Any, inputs: Sequence[list[int]], outputs: Sequence[list[int]], *rest: Any) -> list[float]:
        scores = log_likelihood(engine, inputs, outputs, *rest)
        pairs = zip(map(tuple, inputs), map(tuple, outputs), strict=True)
        recording.scores.update(zip(pairs, scores, strict=True))
        return scores

    with mock.patch(SAMPLE, sampled), mock.patch(LIKELIHOOD, scored):
        build(settings)
    return recording


def replay(settings: ParaBank2Run, recording: Recording) -> dict[str, float]:
    """Build a parabank of sentences that were recorded with the same settings of sampling.

    Returns:
        CPU seconds of all threads by stage; `MODELS` are the look-ups.
    """
    import torch

    from toolkit.decode.choose_engine import engine_of
    from toolkit.decode.constraints import NONE
    from toolkit.decode.sampling import samples_of

    clock = Clock(cpu_clock)

    def sampled(engine: Any, sources: Sequence[list[int]], *rest: Any) -> list[Sample]:
        with clock.span(MODELS):
            tensors, scores = zip(*(recording.samples[tuple(source)] for source in sources), strict=True)
            steps = max(ids.shape[1] for ids in tensors)
            batch = torch.cat([torch.nn.functional.pad(ids, (0, steps - ids.shape[1]), value=NONE) for ids in tensors])
        with clock.span(OBJECTS):
            return samples_of(batch, torch.cat(scores), len(tensors[0]), engine.eos)

    def likelihoods(inputs: Sequence[list[int]], outputs: Sequence[list[int]]) -> Tensor:
        with clock.span(MODELS):
            pairs = zip(map(tuple, inputs), map(tuple, outputs), strict=True)
            return torch.tensor([[recording.scores[pair]] for pair in pairs], dtype=torch.float64)

    def scoring_engine(model: Any) -> SimpleNamespace:
        engine = engine_of(model)
        return SimpleNamespace(limit=engine.limit, given=engine.given, likelihoods=likelihoods)

    with ExitStack() as patches:
        patches.enter_context(mock.patch(SAMPLE, sampled))
        patches.enter_context(mock.patch(SCORING_ENGINE, scoring_engine))
        return timed_build(settings, HOST_WATCHED, clock)


def write_repeated(lines: Sequence[Sequence[str]], times: int, path: Path) -> None:
    """Write a bitext that has each line several times, each time with another number behind the reference."""
    with path.open("w", encoding="utf-8") as out:
        for number in range(times):
            out.writelines(f"{source}\t{reference} {number}\n" for source, reference in lines)
