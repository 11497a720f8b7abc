"""The figures of a GPU, from `gpu_check.json`, and of a build on it, from `gpu_build.json`."""

from __future__ import annotations

from typing import Any

from research.reports.figures import benchmark, number, table

SAMPLER = "sampler, {0}+{0} layers of {1}, {2} sentences"
STEP = "a step of the sampler, {0}+{0} layers of {1}, {2} sentences"
GENERATE = "beside generate, {0}+{0} layers of {1}"
SIZES, SENTENCES = ((6, 512, 58_101), (12, 768, 58_101), (12, 1024, 256_206)), (20, 130)
WAYS = {
    "torch": "torch",
    "torch, graphs": "torch with graphs",
    "kernels": "kernels",
    "all": "kernels and graphs, the default",
}
DECODER_OPERATIONS = 28  # of a layer and row, in squares of the width: two for each weight (attentions 6, rest 8)


def gpu_check() -> str:
    """Sampling on a GPU by ways of computing a step, beside the first run, thousand tokens a second."""
    report, first = benchmark("gpu_check"), benchmark("gpu_check_first")["results"]
    results, lines = report["results"], []
    for layers, width, _ in SIZES:
        for sentences in SENTENCES:
            name = SAMPLER.format(layers, width, sentences)
            ways = results[name]
            before = first.get(name)
            lines.append(
                [
                    f"{layers}+{layers} x {width}, {ways['samples']:,} samples",
                    _thousand(before["tokens_per_second"]) if before else "",
                    *(_thousand(_fastest(ways[way])) if way in ways else "" for way in WAYS),
                ]
            )
    machine, ceilings = results["machine"], results["ceilings"]
    below = (
        f"One {machine['gpu']}, torch {machine['torch']}, bfloat16, random weights, 150 samples of a sentence, the "
        f"faster of two runs, with the making of Python's objects. The card does "
        f"{number(ceilings['product_tflops'], 0)} trillion operations a second in a product of large matrices; a "
        f"launch takes the host "
        f"{number(ceilings['launch_microseconds'])} microseconds."
    )
    return table(["thousand tokens/s", "first run", *WAYS.values()], lines, below)


def _fastest(way: dict[str, Any]) -> float:
    """The tokens a second of the faster of two runs: in either Python may look through all of its objects."""
    return max(way["tokens_per_second"], way["first_tokens_per_second"])


def _thousand(rate: float) -> str:
    return f"{rate / 1000:,.0f}"


def gpu_generate() -> str:
    """Samples and beam search beside `generate` of transformers on the same GPU, thousand tokens a second."""
    results, lines = benchmark("gpu_check")["results"], []
    for layers, width, _ in SIZES:
        part = results[GENERATE.format(layers, width)]
        line = [f"{layers}+{layers} x {width}"]
        for work in ("sampled", "beam"):
            ours, theirs = (part[f"{work}_tokens{by}_per_second"] for by in ("", "_by_generate"))
            line += [number(ours / 1000), number(theirs / 1000), f"{number(ours / theirs)}x"]
        lines.append(line)
    head = ["thousand tokens/s", "3,000 samples", "`generate`", "", "130 searches of beam 5", "`generate`", ""]
    return table(head, lines, "Without constraints, which `generate` has for all sentences alike only.")


def gpu_summary() -> str:
    """What a model of OPUS-MT's size does on a GPU, beside `generate`."""
    results = benchmark("gpu_check")["results"]
    (layers, width, _), sentences = SIZES[0], SENTENCES[-1]
    ways, part = results[SAMPLER.format(layers, width, sentences)], results[GENERATE.format(layers, width)]
    sampled, beam = (
        number(part[f"{work}_tokens_per_second"] / part[f"{work}_tokens_by_generate_per_second"])
        for work in ("sampled", "beam")
    )
    return (
        f"{_thousand(_fastest(ways['all']))} thousand tokens a second with a model of OPUS-MT's size and "
        f"{ways['samples']:,} samples in a batch; with {part['samples']:,} samples it is {sampled} times as fast as "
        f"`generate`, in beam search {beam} times"
    )


def gpu_step() -> str:
    """What a step of the sampler takes: kernels, waits, and the GPU's own time, for 3,000 and 19,500 samples."""
    results, lines = benchmark("gpu_check")["results"], []
    layers, width, _ = SIZES[0]
    for sentences in SENTENCES:
        step = results[STEP.format(layers, width, sentences)]
        ways = results[SAMPLER.format(layers, width, sentences)]
        samples = ways["samples"]
        kernels = sorted(step["largest_kernels_ms_per_step"].items(), key=lambda kernel: -kernel[1])
        ours = [f"{name.strip('_')} {number(ms, 2)}" for name, ms in kernels if name.startswith("_")]
        lines.append(
            [
                f"{samples:,} samples",
                number(min(ways["all"]["step_ms"], ways["all"]["first_step_ms"])),
                number(step["gpu_ms_per_step"]),
                number(step["kernels_per_step"], 0),
                number(step["synchronisations_per_step"]),
                ", ".join(ours),
                number(ways["all"]["memory_gib"]),
            ]
        )
    head = ["6+6 x 512", "ms a step", "of the GPU", "kernels", "waits", "of Triton's kernels, ms", "memory, GiB"]
    return table(head, lines)


def gpu_share() -> str:
    """The shares of the card's products that the sampler reached, from the least to the greatest, per cent."""
    results, shares = benchmark("gpu_check")["results"], []
    for layers, width, vocabulary in SIZES:
        operations = DECODER_OPERATIONS * layers * width**2 + 2 * vocabulary * width
        for sentences in SENTENCES:
            way = results[SAMPLER.format(layers, width, sentences)]["all"]
            rows = way["rows_per_second"] * _fastest(way) / way["tokens_per_second"]
            shares.append(100 * rows * operations / 1e12 / results["ceilings"]["product_tflops"])
    return f"{number(min(shares), 0)} to {number(max(shares), 0)} %"


def gpu_training() -> str:
    """Thousand target tokens a second of a training of 6+6 layers of 512 on a GPU, by size of batch."""
    results = benchmark("gpu_check")["results"]
    rates = [results[f"training, batches of {size:,} tokens, sdpa"]["tokens_per_second"] for size in (4096, 32_768)]
    return " and ".join(number(rate / 1000, 0) for rate in rates)


def gpu_training_busy() -> str:
    """The GPU's own time of such a step and the whole, ms, for both sizes of batch."""
    results = benchmark("gpu_check")["results"]
    parts = [results[f"training, batches of {size:,} tokens, sdpa"] for size in (4096, 32_768)]
    return " and ".join(f"{number(part['gpu_ms_per_step'], 0)} of {number(part['step_ms'], 0)} ms" for part in parts)


def gpu_scoring() -> str:
    """Thousand pairs a second scored by a model of 6+6 layers of 512 in large batches."""
    results = benchmark("gpu_check")["results"]
    return number(results["scoring, batches of 65,536 tokens"]["pairs_per_second"] / 1000, 0)


def gpu_build() -> str:
    """References a second of a build of ParaBank 2 with the starters on one GPU, by processes that share it."""
    processes = benchmark("gpu_build")["results"]["processes"]
    return ", ".join(f"{number(figures['references_per_second'], 0)} with {n}" for n, figures in processes.items())


def gpu_host() -> str:
    """What one core does beside the models, in sampled tokens a second, and its share of the time beside the GPU."""
    candidates = benchmark("host")["results"]["without_models"]["candidates_per_second"]
    tokens = candidates * benchmark("decoding_opus20k")["results"]["opus20k"]["ours"]["mean_tokens"]
    (layers, width, _), sentences = SIZES[0], SENTENCES[-1]
    gpu = _fastest(benchmark("gpu_check")["results"][SAMPLER.format(layers, width, sentences)]["all"])
    share = 100 * gpu / (gpu + tokens)
    return (
        f"{_thousand(tokens)} thousand sampled tokens a second; beside the {_thousand(gpu)} thousand of an H200 that "
        f"is {number(share, 0)} % of the time"
    )


MADE = (
    gpu_check,
    gpu_generate,
    gpu_summary,
    gpu_step,
    gpu_share,
    gpu_training,
    gpu_training_busy,
    gpu_scoring,
    gpu_build,
    gpu_host,
)
