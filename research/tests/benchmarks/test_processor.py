"""--without_bfloat16 hides the instructions from every engine, refuses what needs them, and stands in the report."""

import argparse
import os

import pytest

from research.benchmarks import processor
from research.benchmarks.bench_decoding import ratios
from research.reports import figures, report
from research.reports.child import in_child


def options(*arguments: str) -> argparse.Namespace:
    """The options of a benchmark that has engines."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--engines", nargs="+")
    processor.add_limit(parser)
    return parser.parse_args(arguments)


@pytest.fixture
def environment(monkeypatch):
    """Environment variables that are as before after the test, without limits."""
    variables = {name: value for name, value in os.environ.items() if name not in report.LIMITS}
    monkeypatch.setattr(os, "environ", variables)
    return variables


def test_the_option_limits_what_it_says_and_the_report_names_it(environment):
    processor.apply_option(options())
    whole = report.machine()
    assert whole["limits"] == {}
    processor.apply_option(options("--without_bfloat16"))
    machine = report.machine()
    limits = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI", "MKL_ENABLE_INSTRUCTIONS": "AVX512_E1"}
    assert machine["limits"] == processor.LIMITS["vnni"] == limits
    sentence = figures.measured([("", {"machine": whole}), (", without bfloat16", {"machine": machine})])
    assignments = " and ".join(f"`{name}={value}`" for name, value in limits.items())
    assert sentence.endswith(f" Without bfloat16: all engines ran with {assignments}.")
    assert "Without" not in figures.measured([("", {"machine": whole})])


@pytest.mark.slow
def test_a_child_of_a_limited_benchmark_has_no_bfloat16():
    from toolkit.models.precision import has_bfloat16

    limited = os.environ | processor.LIMITS[processor.WITHOUT_BFLOAT16]
    assert not in_child(has_bfloat16, "cpu", environment=limited)[0]


def with_flags(monkeypatch, *flags):
    monkeypatch.setattr(report, "processor", lambda field: " ".join(flags))


def test_engines_without_instructions_are_left_out_unless_they_are_named(monkeypatch):
    every = ["ours", "ours_int8", "ours_float32", "ctranslate2_int8", "int8_shortlist"]
    with_flags(monkeypatch, "avx2", "avx_vnni")
    assert processor.possible(every, ["ours"]) == ["ours_float32", "ctranslate2_int8"]
    assert processor.chosen_engines(options("--engines", "ours_int8"), every, ["ours"]) == ["ours_int8"]
    with_flags(monkeypatch, "avx2", "avx512f", "avx512_vnni")
    assert processor.possible(every, ["ours"]) == every[1:] and processor.possible(every) == every


def test_engines_of_bfloat16_are_left_out_and_refused(monkeypatch):
    with_flags(monkeypatch, "avx512f", "avx512_vnni", "avx512_bf16")
    engines, bfloat16_engines = ["ours", "ours_int8", "generate_bf16"], ["ours", "generate_bf16"]
    assert processor.chosen_engines(options(), engines, bfloat16_engines) == engines
    assert processor.chosen_engines(options("--without_bfloat16"), engines, bfloat16_engines) == ["ours_int8"]
    assert processor.chosen_engines(options("--engines", "ours"), engines, bfloat16_engines) == ["ours"]
    with pytest.raises(SystemExit, match="wanted engines without bfloat16, got ours: leave out them or"):
        processor.chosen_engines(
            options("--without_bfloat16", "--engines", "ours", "ours_int8"), engines, bfloat16_engines
        )


def test_every_arithmetic_of_ours_has_its_ratios():
    speeds = {"ours": 30.0, "ours_float32": 20.0, "ctranslate2_int8": 10.0}
    results = {name: {"tokens_per_second": speed} for name, speed in speeds.items()}
    for name in ("ours", "ours_float32"):
        results[name]["seconds_per_token"] = 1 / speeds[name]
        results[f"{name}_constrained"] = {"tokens_per_second": 1.0, "seconds_per_token": 2 / speeds[name]}
    assert ratios(results, "_end") == {
        "ctranslate2_int8_end": 3.0,
        "constraint_cost_end": 2.0,
        "ours_float32_ctranslate2_int8_end": 2.0,
        "ours_float32_constraint_cost_end": 2.0,
    }
