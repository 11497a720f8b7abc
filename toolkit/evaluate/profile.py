"""Statistics of a corpus: length of its sentences, rarity of its words, entropy of its vocabulary and of its syntax.

Source: ParaNMT-50M (Wieting and Gimpel 2018), section 3.1, table 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import fmean

import sacrebleu
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from toolkit.bitext.idf import MIN_DF, Idf
from toolkit.bitext.words import lower_words, spaced
from toolkit.evaluate.tables import mean_and_deviation
from toolkit.evaluate.trees import Parses, _top, shape

PARSE_LEVELS = 2  # ParaNMT, section 3.1, footnote 2

# ParaNMT, table 1, CzEng 1.6: means and standard deviations, entropies
PAPER_CZENG = {
    "length_mean": 13.3,
    "length_sd": 19.3,
    "idf_mean": 7.4,
    "idf_sd": 1.2,
    "vocabulary_entropy": 6.8,
    "parse_entropy": 4.1,
    "semantic_mean": 0.84,
    "semantic_sd": 0.16,
}

LENGTH_SIGNATURE = f"Length|tok:13a|sd:n-1|sacrebleu:{sacrebleu.__version__}|v:1.1.0"
# The paper does not name the base of its logarithm. Its table has 7.0 for news commentary, of which 51,790 sentences
# measure 10.2 bits or 7.1 nats.
VOCABULARY_SIGNATURE = f"VocabEntropy|base:e|tok:13a|case:lc|sacrebleu:{sacrebleu.__version__}|v:1.0.0"
SEMANTIC_SIGNATURE = "ParaScore|score:semantic|over:all paraphrases|sd:n-1|v:1.1.0"


def _idf_signature(idf: Idf) -> str:
    """The signature of the mean IDF."""
    return (
        f"IDF|base:2|case:lc|words:letters and digits|df<{MIN_DF}:left out|avg:sentence|sd:n-1|"
        f"sentences:{idf.sentences}|v:1.1.0"
    )


def _parse_entropy_signature(parser: str) -> str:
    """The signature of the parse entropy."""
    return f"ParseEntropy|base:e|levels:{PARSE_LEVELS}|wrapper:no|terminals:no|parser:{parser}|v:1.0.0"


@cache
def _tokenizer() -> Tokenizer13a:
    """mteval-v13a's tokenizer, sacreBLEU's own default."""
    return Tokenizer13a()


def _tokens(text: str) -> list[str]:
    """The lower-cased words and punctuation marks of a text; of Chinese those that jieba cuts.

    >>> _tokens("So, what's half an hour?")
    ['so', ',', "what's", 'half', 'an', 'hour', '?']
    """
    return _tokenizer()(spaced(text.lower())).split()


def _entropy(counts: Iterable[int]) -> float:
    """The entropy of the distribution that is given by counts.

    >>> round(_entropy([1, 1, 2]) / math.log(2), 2)
    1.5

    Args:
        counts: The number of occurrences of each outcome, > 0.

    Returns:
        Nats, >= 0. The estimate is too low where many outcomes have few counts, so compare samples of equal size.
    """
    values = list(counts)
    total = sum(values)
    return math.log(total) - sum(n * math.log(n) for n in values) / total if total else 0.0


def _mean_idf(text: str, idf: Idf) -> float | None:
    """The mean IDF in bits over the words of a text, with repetitions; None if the table has none of them.

    >>> _mean_idf("Go, go home!", Idf(8, {"go": 4, "home": 2}))
    1.3333333333333333
    """
    idf_values = [value for value in map(idf.idf, lower_words(text)) if value is not None]
    return fmean(idf_values) if idf_values else None


def _spread(name: str, values: Sequence[float]) -> dict[str, float]:
    """The mean of numbers and, if there are several, their sample standard deviation; empty without numbers."""
    if not values:
        return {}
    mean, deviation = mean_and_deviation(values)
    return {f"{name}_mean": mean} | ({} if deviation is None else {f"{name}_sd": deviation})


def profile(texts: Sequence[str], idf: Idf | None = None, parses: Parses | None = None) -> dict[str, float]:
    """Statistics of sentences; figures that need `idf` or `parses` are left out without them.

    >>> measured = profile(["We go.", "Go on, go on."])
    >>> measured["length_mean"], measured["words"]
    (4.5, 5)

    Args:
        texts: Sentences of one language, at least one.
        idf: The IDF table of a large corpus of that language; the paper counted Wikipedia's sentences.
        parses: The trees of all texts.

    Returns:
        `sentences` and `words`, the numbers of texts and of distinct tokens; `length_mean` and, of several texts,
        `length_sd` in tokens; `vocabulary_entropy` in nats; with `idf`, `idf_mean` and `idf_sd` over sentences in bits,
        and `idf_unknown`, the share in [0, 1] of word occurrences that the table lacks; with `parses`, `parse_entropy`
        in nats and `unparsed`, the number of texts without tree.

    Raises:
        ValueError: There is no text, or one was not parsed.

    Source: ParaNMT, section 3.1. The tokenizer, the bases of logarithms and the treatment of unknown words are ours.
    """
    if not texts:
        raise ValueError("wanted at least one sentence, got none: choose a corpus that has some")
    tokenized = [_tokens(text) for text in texts]
    vocabulary = Counter(token for sentence in tokenized for token in sentence)
    return {
        "sentences": len(texts),
        "words": len(vocabulary),
        **_spread("length", [len(sentence) for sentence in tokenized]),
        **(_idf_figures(texts, idf) if idf else {}),
        "vocabulary_entropy": _entropy(vocabulary.values()),
        **(_parse_figures(texts, parses) if parses else {}),
    }


def _idf_figures(texts: Sequence[str], idf: Idf) -> dict[str, float]:
    """The mean IDF over sentences with a known word, and the share of unknown words."""
    means = [mean for mean in (_mean_idf(text, idf) for text in texts) if mean is not None]
    words = [word for text in texts for word in lower_words(text)]
    unknown = sum(idf.idf(word) is None for word in words)
    return {**_spread("idf", means), "idf_unknown": unknown / len(words) if words else 0.0}


def _parse_figures(texts: Sequence[str], parses: Parses) -> dict[str, float]:
    """The entropy of the upper levels of the trees, and the number of texts without tree."""
    trees = [tree for tree in map(parses.tree, texts) if tree is not None]
    entropies = {"parse_entropy": _entropy(Counter(shape(_top(tree, PARSE_LEVELS)) for tree in trees).values())}
    return {**(entropies if trees else {}), "unparsed": len(texts) - len(trees)}
