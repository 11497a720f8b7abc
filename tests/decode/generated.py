"""Beam search of `transformers.generate`, as n-best lists to compare with."""

from collections.abc import Sequence

from transformers import PreTrainedModel

from toolkit.models.padding import pad


def generated_beams(
    model: PreTrainedModel, sources: Sequence[list[int]], beam: int, limit: int
) -> list[list[tuple[float, list[int]]]]:
    """For each source the scores and ids of all hypotheses of a beam; the model fills with 0, which is not said."""
    ids = pad(sources, 0)
    output = model.generate(
        input_ids=ids,
        attention_mask=(ids != 0).long(),
        num_beams=beam,
        num_return_sequences=beam,
        max_new_tokens=limit,
        bad_words_ids=[[0]],
        return_dict_in_generate=True,
        output_scores=True,
    )
    sequences = [[i for i in ids if i != 0] for ids in output.sequences[:, 1:].tolist()]
    hypotheses = list(zip(output.sequences_scores.tolist(), sequences, strict=True))
    return [hypotheses[n : n + beam] for n in range(0, len(hypotheses), beam)]
