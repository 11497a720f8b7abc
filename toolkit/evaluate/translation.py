"""How well a translator translates: BLEU with its signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from sacrebleu.metrics import BLEU

from toolkit.translator.load import Translator

BEAM = 5  # ours: the usual beam of a BLEU table


@torch.inference_mode()
def translate(translator: Translator, sources: Sequence[str], beam: int = BEAM, batch_rows: int = 64) -> list[str]:
    """The best translation of each source by beam search with `transformers`.

    Args:
        translator: Any.
        sources: Sentences.
        beam: Its width, >= 1.
        batch_rows: Sentences at a time.
    """
    model, pad = translator.model, translator.model.config.pad_token_id
    ids = translator.source.encode(sources)
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    found = [""] * len(ids)
    for begin in range(0, len(order), batch_rows):
        batch = order[begin : begin + batch_rows]
        longest = max(len(ids[i]) for i in batch)
        rows = torch.tensor([[*ids[i], *[pad] * (longest - len(ids[i]))] for i in batch], device=model.device)
        said = cast(Any, model).generate(
            input_ids=rows, attention_mask=(rows != pad).long(), num_beams=beam, max_new_tokens=2 * longest + 10
        )
        texts = translator.target.decode([[t for t in row if t != pad] for row in said.tolist()])
        for i, text in zip(batch, texts, strict=True):
            found[i] = text
    return found


def bleu(translator: Translator, sources: Sequence[str], references: Sequence[str]) -> tuple[float, str]:
    """BLEU of the best translations, in [0, 100], and its signature (sacreBLEU's, with the beam)."""
    metric = BLEU()
    score = metric.corpus_score(translate(translator, sources), [list(references)]).score
    return score, f"{metric.get_signature()}|beam:{BEAM}"
