r"""Syntactic control as by SCPN (ParaNMT-50M, section 6): does a paraphraser write the form that it is asked for?

    python -m research.experiments.syntax_table --data DIR --write_pairs build/syntax
    for name in tatoeba captions; do
        parabank train paraphraser --pairs build/syntax/$name.tsv --base_model starter/paraphraser \
            --direction to_reference --syntax link-grammar --learning_rate 1e-3 --warmup_steps 50 \
            --epochs 7 --max_steps 300 --output_dir build/syntax/$name
    done
    python -m research.experiments.syntax_table --data DIR \
        --models tatoeba=build/syntax/tatoeba captions=build/syntax/captions \
        --json research/experiments/results/syntax_table.json

The pairs are people's paraphrases of Tatoeba, which the starter has read, too, and captions of one image.
DIR holds bitext/tatoeba/deu-eng.test.tsv.gz (German TAB English) and paraphrase/captions/. Tested are held-out
sentences of Tatoeba, and captions of images that no training caption is of. Each is paraphrased once without a
template, once with each frequent one, and captions once with the form of another caption of the same image. The best
output of a beam counts, without guards and thresholds. Measured are how many outputs have the form by link-grammar,
which also parsed the training text, and their cosine with the sentence.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from research.benchmarks.data import TATOEBA, fields
from research.experiments.corpora import write_tsv
from research.experiments.paraphraser_data import captions
from research.experiments.starter_paraphraser import natural
from research.reports import report
from research.reports.figures_paraphrasers import obeyed_table
from toolkit.evaluate.parsers import open_parser
from toolkit.paraphraser.paraphraser import Paraphraser
from toolkit.paraphraser.syntax import templates
from toolkit.score.semantic import pair_cosines

PARSER = "link-grammar"
ANOTHER = "of another caption"  # the name of a form that differs from caption to caption
TEMPLATES = {  # frequent ones of the training texts; link-grammar's trees are flat
    "tatoeba": ("(S (NP) (VP))", "(S (VP))", "(S (S))", "(S (PP) (S))", "(S (SBAR) (S))", "(S (S) (S))"),
    "captions": ("(S (NP) (VP))", "(S (VP))", "(S (NP))", "(S (PP))", "(S (NP) (PP))", "(S (NP) (VP) (SBAR))"),
}
FEWEST = 6  # words of a sentence; shorter ones have one form
IMAGES = 14_000  # whose captions are trained on, two pairs of each
SHOWN = 12  # sentences in the report

Texts = list[tuple[str, str | None]]  # a text, and another of the same meaning if there is one


def caption_pairs(data: Path, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Pairs of captions of one image."""
    images = captions(data, "train")
    for image in chance.sample(images, min(IMAGES, len(images))):
        first, second, third = chance.sample([image.text, *image.references], 3)
        yield from ((first, second), (second, third))


def tatoeba_pairs(data: Path, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Pairs of people's translations of one foreign sentence."""
    for text, paraphrases in natural(data).items():
        if len(text.split()) >= FEWEST:
            yield text, chance.choice(list(paraphrases))


def tested(data: Path, name: str, count: int, seed: int) -> Texts:
    """Sentences of Tatoeba, or captions, each with another of the same image.

    Raises:
        ValueError: There is none.
    """
    chance = random.Random(seed)
    if name == "captions":
        images = captions(data, "validation")
        sample = chance.sample(images, min(count, len(images)))
        texts: Texts = [(image.text, chance.choice(image.references)) for image in sample]
    else:
        sentences = {english for _, english in fields(data / TATOEBA.format("test")) if len(english.split()) >= FEWEST}
        sentences -= natural(data).keys()
        texts = [(text, None) for text in chance.sample(sorted(sentences), min(count, len(sentences)))]
    if not texts:
        raise ValueError(
            f"wanted held-out texts of {name}, got none in {data}: give all its files, and --texts above 0"
        )
    return texts


def forms(texts: Iterable[str]) -> list[str]:
    """The form of each text, "" where the parser finds none."""
    return [form or "" for form in templates(list(texts), *open_parser(PARSER))]


def best_outputs(paraphraser: Paraphraser, texts: Sequence[str], text_templates: Sequence[str | None]) -> list[str]:
    """The best output for each text and template, "" where there is none."""
    best = [""] * len(texts)
    for template in dict.fromkeys(text_templates):
        places = [i for i, name in enumerate(text_templates) if name == template]
        output_lists = paraphraser.paraphrase(
            [texts[i] for i in places], method="beam", template=template, progress=False
        )
        for i, outputs in zip(places, output_lists, strict=True):
            best[i] = outputs[0] if outputs else ""
    return best


def obeyed(paraphraser: Paraphraser, test: Texts, names: Sequence[str]) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """For each template the share of outputs that have it, asked for and not, and the outputs; None without outputs."""
    texts = [text for text, _ in test]
    templates_by_name: dict[str, list[str]] = {name: [name] * len(texts) for name in names}
    if all(exemplar for _, exemplar in test):
        templates_by_name[ANOTHER] = forms(exemplar or "" for _, exemplar in test)
    assert paraphraser.encoder is not None
    outputs = {"none": best_outputs(paraphraser, texts, [None] * len(texts))}
    free = forms(outputs["none"])
    figures: dict[str, Any] = {}
    for name, text_templates in templates_by_name.items():
        outputs[name] = best_outputs(paraphraser, texts, [template or None for template in text_templates])
        pairs = [(text, output) for text, output in zip(texts, outputs[name], strict=True) if output]
        figures[name] = {
            "not_asked": having(free, text_templates),
            "asked": having(forms(outputs[name]), text_templates),
            "answered": 100 * len(pairs) / len(texts),
            "cosine": fmean(pair_cosines(pairs, paraphraser.encoder)) if pairs else None,
        }
    return figures, outputs


def having(output_forms: Sequence[str], wanted_forms: Sequence[str]) -> float | None:
    """The percentage of sentences whose output has the form asked for; "" is none, and those are left out.

    >>> having(["(S (NP))", ""], ["(S (NP))", "(S (VP))"]), having([""], [""])
    (50.0, None)
    """
    asked = [pair for pair in zip(output_forms, wanted_forms, strict=True) if pair[1]]
    return 100 * fmean(form == wanted_form for form, wanted_form in asked) if asked else None


def main() -> None:
    """Write the pairs, or paraphrase, measure, print the table and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write_pairs", type=Path, help="a folder: write the pairs, and nothing else")
    parser.add_argument("--models", nargs="+", default=[], metavar="TEST=MODEL", help=f"TEST: {', '.join(TEMPLATES)}")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.write_pairs:
        chance = random.Random(options.seed)
        write_tsv(options.write_pairs / "captions.tsv", caption_pairs(options.data, chance))
        write_tsv(options.write_pairs / "tatoeba.tsv", tatoeba_pairs(options.data, chance))
        return
    results: dict[str, Any] = {"texts": options.texts, "asked_for": {}, "examples": {}}
    for test, model in (argument.split("=", 1) for argument in options.models):
        paraphraser = Paraphraser(model)
        paraphraser.settings = replace(paraphraser.settings, guards=(), min_semantic=None)
        texts = tested(options.data, test, options.texts, options.seed)
        figures, outputs = obeyed(paraphraser, texts, TEMPLATES[test])
        results["asked_for"][test] = figures
        results["examples"][test] = {
            text: {name: test_outputs[n] for name, test_outputs in outputs.items()}
            for n, (text, _) in enumerate(texts[:SHOWN])
        }
    print(obeyed_table(results["asked_for"]))
    report.write(options.json, options.seed, results, {})


if __name__ == "__main__":
    main()
