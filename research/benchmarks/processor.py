"""Behave as a processor with fewer instructions than this one: limits that torch and CTranslate2 obey.

All bfloat16 and int8 matrix products of torch are oneDNN's, and those of the toolkit in float32; torch's own float32
products and its other kernels use no instructions of bfloat16. CTranslate2 has a oneDNN of its own, which obeys the
same variable; on Intel's processors it uses MKL for float32 and int8, which has a variable of its own. A limit must be
set before torch is loaded.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from research.reports import report

LIMITS = {  # environment variables of each limit
    "native": {},
    "vnni": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI", "MKL_ENABLE_INSTRUCTIONS": "AVX512_E1"},
    "avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
}
WITHOUT_BFLOAT16 = "vnni"


def add_options(parser: argparse.ArgumentParser, rounds: int) -> None:
    """Add the options that say how a benchmark measures: data, report, threads, rounds, seed and limits.

    Args:
        parser: Of the benchmark.
        rounds: The default of --rounds.
    """
    parser.add_argument("--data", type=Path, required=True, help="folder with the texts")
    parser.add_argument("--json", help="file for the report")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=rounds, help="measured rounds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--busy", action="store_true", help="measure even if the machine is busy with other work")
    add_limit(parser)


def add_limit(parser: argparse.ArgumentParser) -> None:
    """Add --without_bfloat16 to a benchmark's options."""
    limits = " ".join(f"{name}={value}" for name, value in LIMITS[WITHOUT_BFLOAT16].items())
    parser.add_argument(
        "--without_bfloat16",
        action="store_true",
        help=f"as on a processor with VNNI but without bfloat16, for all engines alike ({limits})",
    )


def apply_option(arguments: argparse.Namespace) -> None:
    """Limit the processes that this one starts, if --without_bfloat16 is given."""
    if arguments.without_bfloat16:
        os.environ.update(LIMITS[WITHOUT_BFLOAT16])


def chosen_engines(arguments: argparse.Namespace, default: Sequence[str], of_bfloat16: Collection[str]) -> list[str]:
    """The engines of --engines, or else those of the default ones that this processor has instructions for.

    Those of bfloat16 are also left out if --without_bfloat16 is given.

    Raises:
        SystemExit: An engine of bfloat16 is asked for with --without_bfloat16.
    """
    limited = arguments.without_bfloat16
    engines = arguments.engines or [e for e in possible(default, of_bfloat16) if not (limited and e in of_bfloat16)]
    if refused := [engine for engine in engines if limited and engine in of_bfloat16]:
        raise SystemExit(
            f"wanted engines without bfloat16, got {', '.join(refused)}: leave out them or --without_bfloat16"
        )
    return engines


def possible(engines: Sequence[str], of_bfloat16: Collection[str] = ()) -> list[str]:
    """The engines without those of bfloat16 or of the toolkit's int8 that this processor has no instructions for.

    The toolkit's int8 needs AVX512-VNNI; CTranslate2's runs on every processor. An engine's name says its dtype.

    Args:
        engines: The names.
        of_bfloat16: Those of them that compute in bfloat16.
    """
    whole = report.machine()
    int8 = whole["vnni"] and "avx512f" in report.processor("flags").split()
    names = [engine for engine in engines if int8 or "int8" not in engine or engine.startswith("ctranslate2")]
    return [engine for engine in names if whole["bf16"] or engine not in of_bfloat16]
