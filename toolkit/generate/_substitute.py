"""Other words in place of keywords: what a model would say second, where it is a synonym.

Source: ParaNet (Liu et al. 2022), section 3.1 and appendix B.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolkit.data.progress import at_hand
from toolkit.data.rows import Row
from toolkit.decode.beam import beam_search
from toolkit.decode.choose_engine import engine_of
from toolkit.generate.keywords import _Keyword, whole_words
from toolkit.generate.merge import _even_batches
from toolkit.generate.sentinels import _fills, _sentinel_ids, masked_input
from toolkit.generate.synonyms import Synonyms, bases
from toolkit.system.memory import in_halves, releasing
from toolkit.translator.load import Translator

CHOICES = 2  # section 3.1: "the second prediction of beam search"
MOST_TOKENS = 8  # ours: of one word, with its sentinels


def substituted(
    rows: Sequence[Row],
    keywords_by_row: Sequence[Sequence[_Keyword]],
    infiller: Translator,
    synonyms: Synonyms,
    batch_rows: int,
) -> list[list[str]]:
    """The texts of the keywords of each row, with synonyms in place of their words.

    Each word of a keyword is masked in its sentence and context. If the second most probable word in its place is a
    synonym, it replaces the word, else the word stays.

    Args:
        rows: Rows with a reference and its context.
        keywords_by_row: The keywords of each reference.
        infiller: A T5-type model.
        synonyms: What may replace a word.
        batch_rows: How many hypotheses are decoded at a time.

    Source: ParaNet, section 3.1. Appendix B prevents antonyms ("large" to "small") by WordNet's synonyms.
    """
    engine, marks = engine_of(infiller.model), _sentinel_ids(infiller)
    masked_words = [
        (number, word)
        for number, (row, row_keywords) in enumerate(zip(rows, keywords_by_row, strict=True))
        for word in whole_words(row.reference)
        if word.text.isalpha() and any(keyword.begin <= word.begin < keyword.end for keyword in row_keywords)
        if any(base in synonyms.groups for base in bases(word.text))
    ]
    contexts = [(rows[number].context_before or "", rows[number].context_after or "") for number, _ in masked_words]
    texts = [
        masked_input(rows[n].reference, word, *context)
        for (n, word), context in zip(masked_words, contexts, strict=True)
    ]
    inputs = infiller.source.encode(texts)
    readable = [index for index, ids in enumerate(inputs) if len(ids) <= engine.limit]
    replacements: dict[tuple[int, _Keyword], str] = {}

    def search(batch: Sequence[int]) -> None:
        batch_hypotheses = beam_search(engine, [inputs[i] for i in batch], CHOICES, MOST_TOKENS, n_best=CHOICES)
        for i, hypotheses in zip(batch, batch_hypotheses, strict=True):
            second = _fills(hypotheses[-1].ids, marks, infiller.target)[:1] if len(hypotheses) == CHOICES else []
            number, word = masked_words[i]
            if second and second[0].isalpha() and synonyms.holds(word.text, second[0]):
                replacements[number, word] = second[0]

    for numbers in releasing(_even_batches([len(inputs[i]) for i in readable], batch_rows // CHOICES)):
        batch = [readable[n] for n in numbers]
        with at_hand([rows[masked_words[i][0]] for i in batch], 0):
            in_halves(batch, search)
    return [
        [replaced(keyword, rows[n].reference, replacements, n) for keyword in row_keywords]
        for n, row_keywords in enumerate(keywords_by_row)
    ]


def replaced(keyword: _Keyword, reference: str, replacements: dict[tuple[int, _Keyword], str], number: int) -> str:
    """The text of a keyword with what replaces its words; a capital stays a capital."""
    text, position = "", keyword.begin
    for word in whole_words(reference):
        if (number, word) in replacements and keyword.begin <= word.begin < keyword.end:
            replacement = replacements[number, word]
            replacement = replacement[:1].upper() + replacement[1:] if word.text[:1].isupper() else replacement
            text += reference[position : word.begin] + replacement
            position = word.end
    return text + reference[position : keyword.end]
