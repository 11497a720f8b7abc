"""Figures of the cleaning of a bitext."""

from __future__ import annotations

from research.reports.figures import benchmark, machine, number, table

ENGINES = {  # of `research/benchmarks/bench_cleaning.py`
    "ours": "ours",
    "opusfilter": "OpusFilter",
    "map": "`datasets`, a function of the user",
    "ours_all": "ours, all rules and the settings of ParaZh",
}
LANGUAGE = {"ours_language": "ours", "opusfilter_language": "OpusFilter"}


def cleaning_speed() -> str:
    """Lines per second of every engine on one core and on two, and how many times as fast ours is."""
    record = benchmark("cleaning")
    results, ratios = record["results"], record["ratios"]
    lines = []
    for key, name in ENGINES.items():
        rates = [number(results[key + suffix]["lines_per_second"], 0) for suffix in ("", "_2")]
        over = [number(ratios[key + suffix]) if key + suffix in ratios else "" for suffix in ("", "_2")]
        lines.append([name, rates[0], over[0], rates[1], over[1]])
    head = ["lines/s", "one core", "ours over it", "two cores", "ours over it"]
    return table(head, lines, machine(record))


def cleaning_language() -> str:
    """Lines per second of the identification of languages on one core."""
    results = benchmark("cleaning")["results"]
    return " and ".join(f"{number(results[key]['lines_per_second'], 0)} ({name})" for key, name in LANGUAGE.items())


def cleaning_memory() -> str:
    """The peak memory by the number of lines."""
    results = benchmark("cleaning")["results"]["memory"]
    peaks = [
        f"{number(figures['peak_megabytes'], 0)} MB for {number(int(lines), 0)}" for lines, figures in results.items()
    ]
    return " and ".join(peaks)


def cleaning_normal() -> str:
    """Lines per second and the ratio on text that is in normal form already."""
    record = benchmark("cleaning")
    ours, peer = (record["results"][f"{name}_normal"]["lines_per_second"] for name in ("ours", "opusfilter"))
    return f"{number(ours, 0)} against {number(peer, 0)} lines/s, {number(record['ratios']['opusfilter_normal'])} times"


MADE = (cleaning_speed, cleaning_normal, cleaning_language, cleaning_memory)
