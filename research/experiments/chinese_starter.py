"""Whether the Chinese text that is open is enough for a Chinese starter: two translators of it, and what they write.

    python -m research.experiments.chinese_starter --bitext TEST --zh_en DIR --en_zh DIR --json FILE [--readings FILE]

The translators have the starters' size and were trained on Tatoeba's pairs of Chinese and English (CC BY 2.0 FR), the
only open text that is at hand, with `parabank train translator`; TEST is a bitext of Tatoeba's held-out pairs, cleaned
likewise. Measured are BLEU of both, and paraphrases of the Chinese sides by way of English, one of each. FILE of
--readings has a line for each paraphrase in the JSON, in its order: 1 where a reader calls it usable (the same meaning,
correct Chinese, another wording), else 0.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from research.reports import report
from toolkit.bitext.read import read_bitext
from toolkit.evaluate.translation import bleu
from toolkit.paraphraser.paraphraser import Paraphraser
from toolkit.translator.load import load_translator

TEXTS = 40  # the longest sentences of TEST; most others are of a few characters


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bitext", required=True)
    parser.add_argument("--zh_en", required=True)
    parser.add_argument("--en_zh", required=True)
    parser.add_argument("--json", required=True)
    parser.add_argument("--readings", type=Path)
    options = parser.parse_args()
    pairs = [(pair.source, pair.reference) for pair in read_bitext([options.bitext])]
    chinese, english = (list(side) for side in zip(*pairs, strict=True))
    results: dict[str, Any] = {"test_pairs": len(pairs)}
    for name, folder, sources, references, langs in (
        ("zh-en", options.zh_en, chinese, english, ("zh", "en")),
        ("en-zh", options.en_zh, english, chinese, ("en", "zh")),
    ):
        translator = load_translator(folder, "float32", "cpu", *langs)
        score, signature = bleu(translator, sources, references, langs[1])
        results[name] = {"bleu": round(score, 2), "signature": signature}
    texts = sorted(dict.fromkeys(chinese), key=len, reverse=True)[:TEXTS]
    paraphraser = Paraphraser(pivot=(options.zh_en, options.en_zh), lang="zh", device="cpu")
    outputs = [next(iter(paraphrases), None) for paraphrases in paraphraser.paraphrase(texts, n=1, progress=False)]
    results["paraphrases"] = [{"text": text, "output": output} for text, output in zip(texts, outputs, strict=True)]
    if options.readings:
        usable = [line == "1" for line in options.readings.read_text(encoding="utf-8").split()]
        examples = [example for example in results["paraphrases"] if example["output"]]
        for example, is_usable in zip(examples, usable, strict=True):
            example["usable"] = is_usable
        results["read"] = {"outputs": len(examples), "usable": sum(usable)}
    report.write(options.json, 0, results, {})


if __name__ == "__main__":
    main()
