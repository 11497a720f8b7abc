r"""Measure paraphrasers on inputs with human paraphrases, side by side with baselines, in Markdown.

    parabank evaluate paraphraser TEST.tsv --models starter/paraphraser build/t5-paraphraser \
        --round_trip starter/en-de starter/de-en

TEST has an input and its human paraphrases on each line: .tsv, .jsonl or .parquet, as `parabank evaluate parabank`
reads them. A copy of the input always stands in the table, and with --round_trip the translation there and back, by
ParaNMT's beam. --outputs NAME=FILE adds the outputs of any other system: a line for each input, outputs between tabs,
best first. Every system is shown twice: by its first output, and by the best of --n, which is chosen by iBLEU with the
references at hand, as the papers do.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path

import toolkit
from toolkit.bitext.languages import SAMPLE, check_code
from toolkit.clean.script import check_script
from toolkit.evaluate.ibleu import ALPHA, ibleu_signature
from toolkit.evaluate.paraphraser import Measure, evaluate_systems, markdown
from toolkit.models.coverage import check_language_of
from toolkit.package.folder import language_of
from toolkit.paraphraser.evaluation import read_outputs, read_test
from toolkit.paraphraser.settings import METHODS
from toolkit.system.command import run_command
from toolkit.system.outputs import check_output_file, is_ours
from toolkit.system.ranges import at_least, between
from toolkit.system.settings import Parser
from toolkit.system.whole_files import write_whole

PROGRAM = "parabank evaluate paraphraser"


def main(arguments: list[str]) -> int:
    """Parse the command line, paraphrase, measure, print; print an error as one line."""
    parser = Parser(prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("test", help="inputs with their human paraphrases")
    parser.add_argument(
        "--models",
        nargs="+",
        default=[],
        help="paraphrasers: best, starter/NAME, Hub ids or folders, or two translators as 'THERE > BACK'",
    )
    parser.add_argument("--outputs", nargs="+", default=[], metavar="NAME=FILE", help="outputs of other systems")
    parser.add_argument("--round_trip", nargs=2, metavar=("THERE", "BACK"), help="two translators, as a baseline")
    parser.add_argument("--n", type=int, default=5, help="outputs of each input (default 5)")
    parser.add_argument("--method", choices=METHODS, help="of the paraphrasers (default auto)")
    parser.add_argument("--lang", help="language of the test (ISO 639-1; default what a parabank states, else en)")
    parser.add_argument("--pivot", help="the other language of --round_trip (default what THERE states)")
    parser.add_argument("--references", type=int, default=1, help="references of each input (default 1)")
    parser.add_argument("--limit", type=int, help="inputs that are read (default all)")
    parser.add_argument("--alpha", type=float, default=ALPHA, help=f"of the references in iBLEU (default {ALPHA})")
    parser.add_argument("--encoder", help="a sentence encoder for the cosine with the input (default none)")
    parser.add_argument("--bertscore", metavar="MODEL", help="a transformer for BERTScore (default none)")
    parser.add_argument("--bertscore_layer", type=int, default=-1, help="its hidden states (default -1, the last)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="file for all figures and outputs")
    options = parser.parse_args(arguments)
    return run_command(PROGRAM, lambda: _measure(options))


def _measure(options: argparse.Namespace) -> None:
    """Read the test, run the systems, measure and print."""
    for name in ("n", "references", *(["limit"] if options.limit is not None else [])):
        at_least(1)(name, getattr(options, name), options)
    between(0, 1)("alpha", options.alpha, options)
    options.lang = language_of(options.test, options.lang and check_code(options.lang, "lang")) or "en"
    if options.json:
        check_output_file(options.json, [options.test], is_ours)
    test = read_test(options.test, options.references, options.limit)
    texts = [example.text for example in test]
    check_script(texts[:SAMPLE], options.lang, "give --lang, the language of the test")
    if options.encoder:
        check_language_of(options.encoder, options.lang, "--encoder")
    systems = {"copy of the input": [[text] for text in texts]}
    for named_file in options.outputs:
        name, _, file = named_file.partition("=")
        systems[name] = [outputs[: options.n] for outputs in read_outputs(Path(file), len(texts))]
    measures: dict[str, Measure] = {}
    signatures = [ibleu_signature(options.alpha, options.references, options.lang)]
    if options.encoder:
        from toolkit.encoder.load import load_embedder
        from toolkit.score.semantic import pair_cosines, semantic_signature

        encoder = load_embedder(options.encoder)
        measures["semantic"] = partial(pair_cosines, encoder=encoder)
        signatures.append(semantic_signature(encoder, options.encoder))
    if options.bertscore:
        from toolkit.score.bertscore import bertscore_signature, load_bertscore

        measures["bertscore"] = load_bertscore(options.bertscore, options.bertscore_layer)
        signatures.append(bertscore_signature(options.bertscore, options.bertscore_layer))
    paraphrasers = {}
    if options.models:
        from toolkit.paraphraser.paraphraser import Paraphraser

        for model in options.models:  # all are loaded before any works
            paraphrasers[model] = Paraphraser(model, lang=options.lang)
    if options.round_trip:
        from toolkit.paraphraser.baselines import round_trip
        from toolkit.translator.load import languages_of, load_translator

        pivot = check_code(options.pivot, "pivot") if options.pivot else languages_of(options.round_trip[0])[1]
        there = load_translator(options.round_trip[0], source_lang=options.lang, lang=pivot)
        back = load_translator(options.round_trip[1], source_lang=pivot, lang=options.lang)
        systems["round trip, beam 12"] = round_trip(texts, there, back, options.n)
    for name, paraphraser in paraphrasers.items():
        systems[name] = paraphraser.paraphrase(texts, options.n, options.method, options.seed)
    figures = evaluate_systems(test, systems, options.alpha, measures, options.lang)
    print(markdown(figures))
    print(f"\n{len(test)} inputs; {'; '.join(signatures)}")
    if options.json:
        record = {
            "toolkit": toolkit.__version__,
            "inputs": len(test),
            "signatures": signatures,
            "n": options.n,
            "method": options.method,
            "seed": options.seed,
            "figures": figures,
            "outputs": systems,
        }
        write_whole(options.json, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
