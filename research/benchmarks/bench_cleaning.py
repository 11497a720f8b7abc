r"""Cleaning of a bitext, from file to file: lines per second against OpusFilter and `datasets`, and memory.

    python -m research.benchmarks.bench_cleaning --data DIR --json research/benchmarks/results/cleaning.json

DIR holds bitext/tvsub. All engines read the same two line-aligned files, normalise them (spaces, typographic marks,
invisible characters, HTML references) and apply the same five rules: characters of a side, words of a side, ratio of
the lengths, share of the letters in the script of the language, duplicates. They must keep the same pairs, up to
--differing of the lines.

- `ours`: `parabank clean` with these rules.
- `opusfilter`: `preprocess`, `remove_duplicates` and `filter` of OpusFilter, in an environment of its own, which is
  installed once.
- `map`: what a user would write with `datasets`: a function that normalises and one of these rules, on batches, and a
  set of the pairs that were seen.
- `ours_all`: ours with all rules of `CleanSettings` and the settings of ParaZh.
- `ours_normal` and `opusfilter_normal`: the first two on text that is in normal form already, where OpusFilter has no
  `preprocess` to do and ours looks for what it would normalise.
- `ours_language` and `opusfilter_language`: the identification of the language of every side by heliport, and no rule.

Each is run on one core, and on two (`..._2`). The ratios `opusfilter` and `map` are lines per second of ours over
theirs on one core, `opusfilter_2` and `map_2` on two. `memory_growth` is the peak memory of ours with --memory lines
over that with a twentieth of them, in the process that does all the work. The machine must be idle.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import chain, count, islice, repeat
from pathlib import Path
from typing import Any

from research.benchmarks import processor
from research.reports import report
from research.reports.child import in_child, interpreter, peer_answer
from research.reports.figures import number, table

BITEXT, BITEXT_LINES = "bitext/tvsub/zho-eng.train.episode-zho-eng.tsv.zst", 2_150_945
OPUSFILTER_PACKAGES = ("opusfilter==3.3.1", "heliport==1.0.1")
# thresholds at which every rule refuses some lines
MIN_CHARS, MAX_CHARS, MAX_WORDS, RATIO, SCRIPT = 2, 60, 12, 6.0, 0.5
ONE, TWO = [0], [0, 1]
RULES: dict[str, Any] = {
    "min_chars": MIN_CHARS, "max_chars": MAX_CHARS, "max_words": MAX_WORDS, "max_length_ratio": RATIO,
    "length_grace": 0, "wide_letter": 1.0, "min_script_share": SCRIPT, "refuse_misread": False, "drop_same_text": False,
}  # fmt: skip
OFF: dict[str, Any] = RULES | {
    "min_chars": 1, "max_chars": 2**18, "max_words": 10**6, "max_length_ratio": 10.0**6, "min_script_share": 0.0,
    "deduplicate": False,
}  # fmt: skip
PARAZH = {"half_width": True, "simplified": True, "max_english": 0.6, "most_frequent": True, "max_rare_share": 0.5}
FILTERS = [
    {"LengthFilter": {"unit": "char", "min_length": MIN_CHARS, "max_length": MAX_CHARS}},
    {"LengthFilter": {"unit": "word", "min_length": 1, "max_length": MAX_WORDS}},
    {"LengthRatioFilter": {"unit": "char", "threshold": RATIO + 1e-9}},  # it refuses what has the threshold
    {"CharacterScoreFilter": {"scripts": ["Han", "Latin"], "thresholds": [SCRIPT, SCRIPT]}},
]
# what the normal form of ours replaces in these languages, as the patterns of OpusFilter and of a user
INVISIBLE = [
    "[\\x00-\\x08\\x0e-\\x1b\\x7f-\\x84\\x86-\\x9f\\xad\\u200b\\u2060\\ufeff\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]",
    "",
]
REFERENCES = [["&lt;", "<"], ["&gt;", ">"], ["&quot;", '"'], ["&#39;", "'"], ["&nbsp;", " "], ["&amp;", "&"]]
MARKS = [
    ["[‘’‚‛′‵‹›ʼ`´]", "'"], ["«[\\u00a0\\u202f]|[\\u00a0\\u202f]»|[“”„‟″‶«»]", '"'],
    ["[‐‑‒–−]", "-"], ["[—―]", " - "], ["…", "..."],
]  # fmt: skip
CHINESE, ENGLISH = [*REFERENCES, INVISIBLE], [*REFERENCES, *MARKS, INVISIBLE]
PREPROCESS = [
    {"RegExpSub": {"lang_patterns": [[[*pair, 0, []] for pair in side] for side in (CHINESE, ENGLISH)]}},
    {"WhitespaceNormalizer": {}},
]
HELIPORT = [{"HeliportSimpleFilter": {"languages": ["", "en"]}}]  # "" is what it makes of heliport's "cmn"


def write_sides(data: str, lines: int, folder: str, normalised: bool = False) -> None:
    """Write two line-aligned files, with the lines of the bitext again and again if it has too few."""
    from toolkit.bitext.read import read_bitext
    from toolkit.clean.normal_form import form_of, normal

    bitext = str(Path(data, BITEXT))
    forms = [form_of(lang, True, True, False, False) for lang in ("zh", "en")]
    rounds = (read_bitext([bitext], 1, 2) for _ in count())
    with open(f"{folder}/source.txt", "w") as sources, open(f"{folder}/reference.txt", "w") as references:
        for number, pair in enumerate(islice(chain.from_iterable(rounds), lines)):
            again = f" {number // BITEXT_LINES}" if number >= BITEXT_LINES else ""
            source, reference = pair.source.replace("\r", " "), pair.reference.replace("\r", " ")
            if normalised:
                source, reference = normal(source, forms[0]), normal(reference, forms[1])
            sources.write(source + again + "\n")
            references.write(reference + again + "\n")


def ours(folder: str, cores: list[int], settings: dict[str, Any]) -> dict[str, Any]:
    """Clean with the toolkit; runs in a child process."""
    os.sched_setaffinity(0, cores)
    Path(folder, "ours.tsv").unlink(missing_ok=True)
    begin = time.perf_counter()
    from toolkit.clean.clean_file import CleanFile, clean_file

    files = [f"{folder}/source.txt", f"{folder}/reference.txt"]
    flags: dict[str, Any] = {"source_lang": "zh", "lang": "en", "check_language": False, "workers": len(cores)}
    counts = clean_file(CleanFile(bitext=files, output=f"{folder}/ours.tsv", **flags, **settings))
    return {"seconds": time.perf_counter() - begin, "refused": dict(sorted(counts.items()))}


def by_map(folder: str, cores: list[int]) -> dict[str, Any]:
    """Clean with `datasets`; runs in a child process."""
    os.sched_setaffinity(0, cores)
    begin = time.perf_counter()
    import re

    import datasets

    datasets.disable_progress_bars()
    patterns = [[(re.compile(pattern), replacement) for pattern, replacement in side] for side in (CHINESE, ENGLISH)]
    letter, han, latin = re.compile(r"[^\W\d_]"), re.compile("[\u3005-\u3007\u3400-\u9fff]"), re.compile("[a-zA-ZÀ-ʯ]")

    def normal(batch: dict[str, list[str]]) -> dict[str, list[str]]:
        columns: dict[str, list[str]] = {}
        for name, replacements in zip(("source", "reference"), patterns, strict=True):
            columns[name] = texts = []
            for text in batch[name]:
                for pattern, replacement in replacements:
                    text = pattern.sub(replacement, text)
                texts.append(" ".join(text.split()))
        return columns

    def good(sources: list[str], references: list[str]) -> list[bool]:
        return [keep(source, reference) for source, reference in zip(sources, references, strict=True)]

    def keep(source: str, reference: str) -> bool:
        lengths = sorted((len(source), len(reference)))
        if not (lengths[0] >= MIN_CHARS and lengths[1] <= MAX_CHARS and lengths[1] <= RATIO * lengths[0]):
            return False
        if max(len(source.split()), len(reference.split())) > MAX_WORDS:
            return False
        for text, script in ((source, han), (reference, latin)):
            letters = len(letter.findall(text))
            if letters and len(script.findall(text)) < SCRIPT * letters:
                return False
        return True

    with tempfile.TemporaryDirectory() as cache:
        sides = [
            datasets.load_dataset(
                "text", data_files=f"{folder}/{name}.txt", split="train", cache_dir=cache
            ).rename_column("text", name)
            for name in ("source", "reference")
        ]
        pairs = datasets.concatenate_datasets(sides, axis=1)
        processes = len(cores) if len(cores) > 1 else None
        pairs = pairs.map(normal, batched=True, num_proc=processes)
        pairs = pairs.filter(good, batched=True, input_columns=["source", "reference"], num_proc=processes)
        earlier: set[tuple[str, str]] = set()

        def new(source: str, reference: str) -> bool:
            before = len(earlier)
            earlier.add((source, reference))
            return len(earlier) > before

        pairs = pairs.filter(new, input_columns=["source", "reference"], load_from_cache_file=False)
        with open(f"{folder}/map.tsv", "w") as out:
            for chunk in pairs.iter(10_000):
                out.writelines(f"{s}\t{r}\n" for s, r in zip(chunk["source"], chunk["reference"], strict=True))
    return {"seconds": time.perf_counter() - begin}


def opusfilter(
    arguments: argparse.Namespace,
    folder: str,
    cores: list[int],
    filters: list,
    normalise: bool,
    deduplicate: bool = True,
) -> dict:
    """Clean with OpusFilter (`opusfilter_peer.py`)."""
    outputs = [f"{folder}/opusfilter.source", f"{folder}/opusfilter.reference"]
    for path in outputs:
        Path(path).unlink(missing_ok=True)
    job: dict[str, Any] = {
        "source": f"{folder}/source.txt",
        "reference": f"{folder}/reference.txt",
        "kept": outputs,
        "cores": cores,
    }
    job |= {"filters": filters, "deduplicate": deduplicate, "preprocess": PREPROCESS if normalise else []}
    python = interpreter(arguments.opusfilter_env, OPUSFILTER_PACKAGES)
    script = Path(__file__).with_name("opusfilter_peer.py")
    answer = peer_answer(python, script, job)
    with open(f"{folder}/opusfilter.tsv", "w") as out:
        sides = (Path(path).read_text(encoding="utf-8").split("\n")[:-1] for path in outputs)
        out.writelines(f"{source}\t{reference}\n" for source, reference in zip(*sides, strict=True))
    return answer


def engine_figures(work: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """The figures of an engine that runs in a child process."""
    return in_child(work, *arguments)[0]


def kept_pairs(folder: str, engine: str) -> set[str]:
    """The pairs that an engine kept."""
    return set(Path(folder, f"{engine}.tsv").read_text(encoding="utf-8").split("\n")[:-1])


def compare(arguments: argparse.Namespace, folder: str) -> tuple[dict[str, Any], dict[str, float]]:
    """Lines per second of every engine, and the ratios."""
    normal = f"{folder}/normal"
    Path(normal).mkdir()
    in_child(write_sides, str(arguments.data), arguments.lines, folder)
    in_child(write_sides, str(arguments.data), arguments.lines, normal, True)
    all_rules: dict[str, Any] = {"refuse_misread": True, "drop_same_text": True} | PARAZH
    no_rules = OFF | {"identify_from": 1}  # it normalises, too
    engines: dict[str, Callable[[], dict[str, Any]]] = {}
    for suffix, cores in (("", ONE), ("_2", TWO)):
        engines |= {
            f"ours{suffix}": partial(engine_figures, ours, folder, cores, RULES),
            f"opusfilter{suffix}": partial(opusfilter, arguments, folder, cores, FILTERS, True),
            f"map{suffix}": partial(engine_figures, by_map, folder, cores),
            f"ours_all{suffix}": partial(engine_figures, ours, folder, cores, all_rules),
        }
    engines |= {
        "ours_normal": partial(engine_figures, ours, normal, ONE, RULES),
        "opusfilter_normal": partial(opusfilter, arguments, normal, ONE, FILTERS, False),
        "ours_language": partial(engine_figures, ours, folder, ONE, no_rules),
        "opusfilter_language": partial(opusfilter, arguments, folder, ONE, HELIPORT, False, False),
    }
    results: dict[str, Any] = {}
    for name, work in chain.from_iterable(repeat(list(engines.items()), arguments.rounds)):
        figures = work()
        seconds = [*results.get(name, {}).get("seconds", []), round(figures["seconds"], 3)]
        results[name] = figures | {"seconds": seconds, "lines_per_second": round(arguments.lines / min(seconds))}
        print(f"{name}: {results[name]['lines_per_second']:,} lines/s", file=sys.stderr)
    return results, ratios_of(results)


def differences(arguments: argparse.Namespace, folder: str) -> dict[str, float]:
    """The share of the lines that each peer keeps and ours does not, or the other way.

    Raises:
        SystemExit: It is above --differing.
    """
    in_child(ours, folder, TWO, RULES)
    opusfilter(arguments, folder, TWO, FILTERS, True)
    in_child(by_map, folder, TWO)
    pairs, shares = kept_pairs(folder, "ours"), {}
    for peer in ("opusfilter", "map"):
        different = pairs ^ kept_pairs(folder, peer)
        shares[peer] = len(different) / arguments.lines
        print(f"{peer}: {len(different)} pairs differ, such as {sorted(different)[:5]}", file=sys.stderr)
        if shares[peer] > arguments.differing:
            sys.exit(f"bench_cleaning.py: wanted the same pairs of {peer}, got {shares[peer]:.4%} other ones")
    return shares


def ratios_of(results: dict[str, Any]) -> dict[str, float]:
    """Lines per second of ours over those of each peer."""
    rate = {name: figures["lines_per_second"] for name, figures in results.items()}
    ratios = {
        f"{peer}{suffix}": rate[f"ours{suffix}"] / rate[f"{peer}{suffix}"]
        for peer in ("opusfilter", "map")
        for suffix in ("", "_2")
    }
    ratios["opusfilter_normal"] = rate["ours_normal"] / rate["opusfilter_normal"]
    ratios["language"] = rate["ours_language"] / rate["opusfilter_language"]
    return {name: round(ratio, 3) for name, ratio in ratios.items()}


def memory(data: Path, lines: int) -> tuple[dict[str, Any], float]:
    """Peak memory of ours, all rules in one process, with a twentieth of the lines and with all."""
    results: dict[str, Any] = {}
    for size in (lines // 20, lines):
        with tempfile.TemporaryDirectory() as folder:
            in_child(write_sides, str(data), size, folder)
            figures, peak = in_child(ours, folder, ONE, PARAZH)
            results[str(size)] = figures | {"peak_megabytes": peak}
            print(f"{size} lines: {figures['seconds']:.1f} s, peak {peak:.0f} MB", file=sys.stderr)
    peaks = [entry["peak_megabytes"] for entry in results.values()]
    return results, round(peaks[1] / peaks[0], 3)


def main() -> None:
    """Measure, print the table and the ratios, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=500_000)
    parser.add_argument("--memory", type=int, default=2_000_000, metavar="LINES", help="0 leaves memory out")
    parser.add_argument("--differing", type=float, default=1e-4, help="most lines of which the decisions may differ")
    parser.add_argument("--opusfilter_env", type=Path, default=Path("build/opusfilter"))
    processor.add_options(parser, rounds=2)
    arguments = parser.parse_args()
    processor.apply_option(arguments)
    report.refuse_unfair(arguments.busy)
    with tempfile.TemporaryDirectory() as folder:
        results, ratios = compare(arguments, folder)
        results["differing"] = differences(arguments, folder)
    if arguments.memory:
        results["memory"], ratios["memory_growth"] = memory(arguments.data, arguments.memory)
    lines = [
        [name, number(figures["lines_per_second"], 0)]
        for name, figures in results.items()
        if "lines_per_second" in figures
    ]
    print(table(["engine", "lines/s"], lines))
    report.write(arguments.json, arguments.seed, results | {"lines": arguments.lines}, ratios)


if __name__ == "__main__":
    main()
