"""Back-translation by TextAttack, in an environment of its own: it does not install beside transformers 5.

    PEER_PYTHON research/benchmarks/textattack_peer.py < job.json

`bench_augment.py` starts it. It does not import the toolkit. The job is a JSON object: `there` and `back` (folders of
Marian models), `texts`, `copies`, `threads`, `rounds` and `stop_words` (TextAttack downloads NLTK's when it is
imported; these are in their place). The result is a JSON object on stdout.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

LANGUAGE = "en"  # of another target language, TextAttack writes the name before the text, which one pair does not read


def main() -> None:
    """Augment the job on stdin."""
    job = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder, "corpora", "stopwords")
        words.mkdir(parents=True)
        (words / "english").write_text("\n".join(job["stop_words"]))
        os.environ["NLTK_DATA"] = folder
        print(json.dumps(augmented(job)))


def augmented(job: dict) -> dict:
    """The figures, as those of the other engines, and the versions."""
    import torch
    import transformers
    from textattack.augmentation import Augmenter
    from textattack.transformations import BackTranslation

    torch.set_num_threads(job["threads"])
    transformers.logging.set_verbosity_error()
    translation = BackTranslation(LANGUAGE, LANGUAGE, src_model=job["back"], target_model=job["there"])
    augmenter = Augmenter(translation, transformations_per_example=job["copies"])
    for text in job["texts"][:8]:
        augmenter.augment(text)
    seconds, new_rows = [], []
    for _ in range(job["rounds"]):
        begin = time.perf_counter()
        new_rows = [(number, output) for number, text in enumerate(job["texts"]) for output in augmenter.augment(text)]
        seconds.append(time.perf_counter() - begin)
    return {
        "rows_per_second": round(len(job["texts"]) / statistics.median(seconds), 3),
        "seconds": [round(second, 3) for second in seconds],
        "rows": len(job["texts"]),
        "new_rows_of_a_row": round(len(new_rows) / len(job["texts"]), 3),
        "examples": [output for _, output in new_rows[:4]],
        "made": new_rows,
        "versions": {"textattack": version("textattack"), "transformers": transformers.__version__},
    }


if __name__ == "__main__":
    main()
