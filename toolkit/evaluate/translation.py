"""The quality of a translator: BLEU with its signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from sacrebleu.metrics import BLEU

from toolkit.evaluate.ibleu import bleu_tokenizer
from toolkit.models.padding import pad
from toolkit.system.memory import in_halves
from toolkit.translator.load import Translator

BEAM = 5  # ours: the usual beam of a BLEU table


@torch.inference_mode()
def translate(translator: Translator, sources: Sequence[str], beam: int = BEAM, batch_rows: int = 64) -> list[str]:
    """The best translation of each source by beam search with `transformers`.

    Args:
        translator: A model of `transformers` with its subwords.
        sources: Sentences in its source language.
        beam: Hypotheses that a search follows at a time, >= 1.
        batch_rows: Sentences that are translated at a time.

    Returns:
        A translation for each source, in order.
    """
    model, pad_id = translator.model, translator.model.config.pad_token_id
    ids = translator.source.encode(sources)
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    translations = [""] * len(ids)

    def decode(batch: Sequence[int]) -> None:
        rows = pad([ids[i] for i in batch], pad_id).to(model.device)
        generated = cast(Any, model).generate(
            input_ids=rows,
            attention_mask=(rows != pad_id).long(),
            num_beams=beam,
            max_new_tokens=2 * rows.shape[1] + 10,  # ours: a translation of more than 2 x source + 10 tokens is cut
        )
        texts = translator.target.decode([[t for t in row if t != pad_id] for row in generated.tolist()])
        for i, text in zip(batch, texts, strict=True):
            translations[i] = text

    for begin in range(0, len(order), batch_rows):
        in_halves(order[begin : begin + batch_rows], decode)
    return translations


def bleu(
    translator: Translator, sources: Sequence[str], references: Sequence[str], lang: str = "en"
) -> tuple[float, str]:
    """BLEU of the best translations, in [0, 100], and its signature (sacreBLEU's, with the beam).

    Args:
        translator: A model of `transformers` with its subwords.
        sources: Sentences in its source language.
        references: One for each.
        lang: Their language (ISO 639-1), for the tokenizer: characters where words have no spaces.
    """
    metric = BLEU(tokenize=bleu_tokenizer(lang))
    score = metric.corpus_score(translate(translator, sources), [list(references)]).score
    return score, f"{metric.get_signature()}|beam:{BEAM}"
