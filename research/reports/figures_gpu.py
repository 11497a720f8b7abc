"""The figures of the first run on a GPU, from `gpu_check.json`."""

from __future__ import annotations

from research.reports.figures import benchmark, number, table

SAMPLER = "sampler, {0}+{0} layers of {1}, {2} sentences"
STEP = "a step of the sampler, {0}+{0} layers of {1}"
SIZES, SENTENCES = ((6, 512), (12, 768)), (20, 130)
DECODER_OPERATIONS = 28  # of a layer and row, in squares of the width: two for each weight (attentions 6, rest 8)
VOCABULARY = 58_101


def gpu_check() -> str:
    """Sampling, scoring and training on a GPU, beside what the card can do."""
    report = benchmark("gpu_check")
    results = report["results"]
    lines = []
    for layers, width in SIZES:
        step = results[STEP.format(layers, width)]
        of_step = [
            number(step["kernels_per_step"], 0),
            number(step["synchronisations_per_step"]),
            number(100 * step["busy"], 0),
        ]
        for sentences in SENTENCES:
            found = results[SAMPLER.format(layers, width, sentences)]
            lines.append(
                [
                    f"{layers}+{layers} x {width}, {found['samples']:,} samples",
                    number(found["tokens_per_second"] / 1000, 0),
                    number(found["step_ms"]),
                    *(of_step if sentences == SENTENCES[0] else [""] * len(of_step)),
                    number(found["memory_gib"]),
                ]
            )
    machine, ceilings = results["machine"], results["ceilings"]
    below = (
        f"One {machine['gpu']}, torch {machine['torch']}, bfloat16, random weights of OPUS-MT's sizes, 150 samples of "
        f"a sentence. The card does {number(ceilings['product_tflops'], 0)} trillion operations a second in a product "
        f"of large matrices; a launch takes the host {number(ceilings['launch_microseconds'])} microseconds."
    )
    head = ["sampler", "thousand tokens/s", "ms a step", "kernels a step", "waits a step", "GPU busy, %", "memory, GiB"]
    return table(head, lines, below)


def gpu_share() -> str:
    """The shares of the card's products that the sampler reached, from the least to the greatest, per cent."""
    results, shares = benchmark("gpu_check")["results"], []
    for layers, width in SIZES:
        operations = DECODER_OPERATIONS * layers * width**2 + 2 * VOCABULARY * width
        for sentences in SENTENCES:
            rows = results[SAMPLER.format(layers, width, sentences)]["rows_per_second"]
            shares.append(100 * rows * operations / 1e12 / results["ceilings"]["product_tflops"])
    return f"{number(min(shares))} to {number(max(shares))} %"


def gpu_training() -> str:
    """Thousand target tokens a second of a training of 6+6 layers of 512 on a GPU, by size of batch."""
    results = benchmark("gpu_check")["results"]
    rates = [results[f"training, batches of {size:,} tokens, eager"]["tokens_per_second"] for size in (4096, 32_768)]
    return " and ".join(number(rate / 1000, 0) for rate in rates)


def gpu_host() -> str:
    """What one core does beside the models, in sampled tokens a second, and its share of the time beside the GPU."""
    candidates = benchmark("host")["results"]["without_models"]["candidates_per_second"]
    tokens = candidates * benchmark("decoding_opus20k")["results"]["opus20k"]["ours"]["mean_tokens"]
    (layers, width), sentences = SIZES[0], SENTENCES[-1]
    gpu = benchmark("gpu_check")["results"][SAMPLER.format(layers, width, sentences)]["tokens_per_second"]
    share = 100 * gpu / (gpu + tokens)
    return (
        f"{number(tokens / 1000, 0)} thousand sampled tokens a second; beside the {number(gpu / 1000, 0)} thousand of "
        f"the first measurement that is {number(share, 0)} % of the time"
    )


MADE = (gpu_check, gpu_share, gpu_training, gpu_host)
