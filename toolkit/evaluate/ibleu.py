"""iBLEU: BLEU against the references, less BLEU against the input (Sun & Zhou 2012)."""

from __future__ import annotations

from collections.abc import Sequence

from sacrebleu.metrics import BLEU

ALPHA = 0.8  # Meng et al. 2021 (ConRPG), whose weight ParaMac takes (section 5.1.1)
VERSION = "1.0.0"
TOKENIZERS = {"zh": "zh", "ja": "char", "th": "char"}  # sacreBLEU's, of languages without spaces; "13a" of all others


def bleu_tokenizer(lang: str) -> str:
    """The name of sacreBLEU's tokenizer for a language (ISO 639-1)."""
    return TOKENIZERS.get(lang, "13a")


def ibleu_signature(alpha: float, references: int, lang: str = "en") -> str:
    """The settings of iBLEU.

    >>> ibleu_signature(0.8, 1)
    'iBLEU|alpha:0.8|nrefs:1|case:mixed|tok:13a|smooth:exp|v:1.0.0'
    """
    return f"iBLEU|alpha:{alpha}|nrefs:{references}|case:mixed|tok:{bleu_tokenizer(lang)}|smooth:exp|v:{VERSION}"


def corpus_ibleu(
    outputs: Sequence[str], references: Sequence[Sequence[str]], texts: Sequence[str], alpha: float, lang: str = "en"
) -> tuple[float, float, float]:
    """The iBLEU of a corpus, alpha BLEU(outputs, references) - (1 - alpha) BLEU(outputs, texts), and both BLEUs.

    Args:
        outputs: One for each input.
        references: The first reference of each input, then the second of each, ...
        texts: The inputs.
        alpha: Weight of the references, in [0, 1].
        lang: Language of the texts (ISO 639-1), for the tokenizer.

    Source: Sun and Zhou (2012), equation 1; ParaMac (Liu et al. 2022), section 5.1.1.
    """
    metric = BLEU(tokenize=bleu_tokenizer(lang))
    reference_bleu = metric.corpus_score(list(outputs), [list(reference_texts) for reference_texts in references]).score
    input_bleu = metric.corpus_score(list(outputs), [list(texts)]).score
    return alpha * reference_bleu - (1 - alpha) * input_bleu, reference_bleu, input_bleu


def _sentence_ibleu(output: str, references: Sequence[str], text: str, alpha: float, metric: BLEU) -> float:
    """The iBLEU of one output.

    >>> metric = BLEU(effective_order=True)
    >>> round(_sentence_ibleu("He is ill today.", ["He is ill today."], "Today he is sick.", 0.8, metric), 1)
    77.5

    Args:
        output: Of a system.
        references: Of its input.
        text: The input.
        alpha: Weight of the references, in [0, 1].
        metric: BLEU of single sentences.
    """
    reference_bleu = metric.sentence_score(output, list(references)).score
    input_bleu = metric.sentence_score(output, [text]).score
    return alpha * reference_bleu - (1 - alpha) * input_bleu
