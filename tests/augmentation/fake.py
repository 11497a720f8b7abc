"""A paraphraser that turns the words of a text around: fast, and the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from toolkit.data.rows import Candidate, Scores
from toolkit.paraphraser.settings import Paraphrasing


class Rotations:
    """Paraphrases of a text are its words in other orders, after as many marks as the paraphrase is far from the first.

    It has what `augment` reads of a `Paraphraser`.
    """

    name, lang, encoder, forward, settings = "rotations", "en", None, None, Paraphrasing()
    critic, prompted, rewriters, meaning, measures = None, None, (), None, None

    def __init__(self) -> None:
        self.calls: list[int] = []

    def record(self) -> dict[str, object]:
        return {"paraphraser": self.name, "settings": asdict(self.settings)}

    def candidates(
        self,
        texts: Sequence[str],
        n: int = 1,
        seed: int = 0,
        avoid: Sequence[str] = (),
        require: Sequence[Sequence[str]] = (),
        min_semantic: float | None = None,
        min_forward: float | None = None,
        min_usable: float | None = None,
        allow_trivial: bool | None = None,
        protect: Sequence[str] | None = None,
        protect_patterns: Sequence[str] | None = None,
        progress: bool = True,
    ) -> list[list[Candidate]]:
        assert all(isinstance(text, str) and text.strip() for text in texts)
        self.calls.append(len(texts))
        return [
            [
                Candidate(rotation, "sample", rank=k, scores=Scores(semantic=0.9 - k / 100))
                for k, rotation in enumerate(rotations)
            ]
            for rotations in (self.rotated(text, n, seed) for text in texts)
        ]

    def rotated(self, text: str, n: int, seed: int) -> list[str]:
        words = text.split()
        turns = [words[k:] + words[:k] for k in range(1, len(words))]
        rotations = list(dict.fromkeys(" ".join(turn) for turn in turns))
        rotations = [rotation for rotation in rotations if rotation != " ".join(words)]
        return (rotations[seed % 2 :] + rotations[: seed % 2])[:n]
