r"""Estimate what the papers' corpora cost at full size: GPU-hours, disk and memory, by arithmetic from measured rates.

    python -m research.experiments.scale_estimates --json research/experiments/results/scale_estimates.json

What a decoder multiplies is counted from the shapes of the models and the numbers of the papers;
the rest is taken from committed results:

- rows of the sampler per token, because samples share their beginnings (`decoding_opus20k.json`),
- sentences per second of two CPU cores, with 6+6 layers of width 512 (the same, and `constraints_opus20k.json`),
- bytes of a reference in the shards (`keep.json` for ParaBank 2, `subtitle_parabanks.json` for the others).

A GPU's share of its peak is assumed, and the table shows two assumptions: LOW and HIGH. Two thirds of the time of our
decoder on a CPU are matrix products at the peak of the cores; a GPU has other limits (launches, memory), and engines of
others reach such shares with models of this size.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass

from research.reports import report
from research.reports.figures import benchmark, experiment
from toolkit.generate.merge import LONG, max_output_tokens
from toolkit.translator.settings import SIZES, Size

GPU, PEAK = "NVIDIA H100 SXM", 989e12  # dense bfloat16 operations a second, NVIDIA's data sheet
LOW, HIGH = 0.05, 0.20  # ours: assumed shares of that
GPUS = (1, 8)
SAMPLES = 150  # ParaBank 2, section 3.3
KEPT_OF_SAMPLES = 90.4  # distinct candidates: research/benchmarks/results/keep.json
GIGA, BFLOAT16 = 1e9, 2  # bytes of a number


@dataclass(frozen=True)
class Corpus:
    """A corpus at its full size.

    Attributes:
        references: Lines that are translated.
        source_tokens: Pieces of a source.
        tokens: Pieces of a translation.
        rows_per_reference: Rows of the decoder that a token of a reference takes: hypotheses or distinct prefixes.
        scored: Candidates of a reference that the backward model scores.
        batch_rows: Rows of a decoding batch, the builder's default.
        forward: Size of the translator.
        backward: Size of the model that scores; None if there is none.
    """

    references: float
    source_tokens: float
    tokens: float
    rows_per_reference: float
    scored: float
    batch_rows: int
    forward: Size
    backward: Size | None


def corpora() -> dict[str, Corpus]:
    """The corpora of the papers."""
    sampled = benchmark("decoding_opus20k")["results"]["opus20k"]["ours_constrained"]
    opus = Size(58_000, True, 512, 6, 6, 8, 2048)  # an OPUS-MT model
    pieces = 1.4  # ours: pieces of a word
    return {
        # section 3.1: 51.4 million lines of 13.3 words, beam 12; the paper's own model was a recurrent network
        "ParaNMT-50M": Corpus(51.4e6, 13.3 * pieces, 13.3 * pieces, 12, 0, 1200, opus, None),
        # section 3.1: 19.7 million references; CzEng's length as in ParaNMT; 150 samples
        "ParaBank 2": Corpus(
            19.7e6, 13.3 * pieces, 13.3 * pieces, SAMPLES / sampled["tokens_per_row"], KEPT_OF_SAMPLES, 2400,
            SIZES["parabank2-generation"], SIZES["parabank2-scoring"],
        ),
        # sections 2.2, 2.4, 3.1: 26.4 million lines of 22.16 words, beam 15, both models alike
        "ParaZh-22M": Corpus(26.4e6, 22.16 * pieces, 22.16 * pieces, 15, 15, 1200, SIZES["parazh"], SIZES["parazh"]),
    }  # fmt: skip


def encoder_flops(size: Size) -> float:
    """Operations of the encoder for a token: two for each weight of its layers."""
    return 2 * size.encoder_layers * (4 * size.width**2 + 2 * size.width * size.feed_forward)


def decoder_flops(size: Size) -> float:
    """Operations of the decoder for a row: self-attention, the two cross-attention products of a query, output."""
    layer = 4 * size.width**2 + 2 * size.width**2 + 2 * size.width * size.feed_forward
    return 2 * (size.decoder_layers * layer + size.width * size.vocabulary)


def cross_flops(size: Size) -> float:
    """Operations that make the cross-attention keys and values of a source token, once for all rows."""
    return 2 * size.decoder_layers * 2 * size.width**2


def gpu_gigabytes(corpus: Corpus) -> float:
    """Memory of a GPU in bfloat16: both models, and the self-attention cache of a batch at its longest."""
    sizes = [size for size in (corpus.forward, corpus.backward) if size]
    weights = sum(
        (encoder_flops(size) + decoder_flops(size) + cross_flops(size)) / 2 + size.vocabulary * size.width
        for size in sizes
    )
    cache = corpus.batch_rows * max_output_tokens(LONG) * corpus.forward.decoder_layers * 2 * corpus.forward.width
    return BFLOAT16 * (weights + cache) / GIGA


def estimate(corpus: Corpus, bytes_per_reference: float) -> dict:
    """The operations, GPU-hours and gigabytes of a corpus."""
    forward, backward = corpus.forward, corpus.backward
    source = corpus.source_tokens * (encoder_flops(forward) + cross_flops(forward))
    generated = source + corpus.tokens * corpus.rows_per_reference * decoder_flops(forward)
    scored = 0.0
    if backward:
        read = corpus.tokens * (encoder_flops(backward) + cross_flops(backward))
        scored = corpus.scored * (read + corpus.source_tokens * decoder_flops(backward))
    operations = corpus.references * (generated + scored)
    hours = {f"{count} GPU": [operations / (PEAK * share * count) / 3600 for share in (HIGH, LOW)] for count in GPUS}
    return {
        "corpus": {name: value for name, value in asdict(corpus).items() if name not in ("forward", "backward")},
        "rows": corpus.references * corpus.tokens * corpus.rows_per_reference,
        "share_of_scoring": scored / (generated + scored),
        "operations": operations,
        "hours": hours,
        "gpu_gigabytes": gpu_gigabytes(corpus),
        "gigabytes": corpus.references * bytes_per_reference / GIGA,
        "bytes_per_reference": bytes_per_reference,
    }


def main() -> None:
    """Estimate, print, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    options = parser.parse_args()
    storage, subtitles = benchmark("keep")["results"]["kept"], experiment("subtitle_parabanks")["results"]
    sizes = {
        "ParaNMT-50M": subtitles["paranmt"]["bytes_per_reference"],
        "ParaBank 2": storage["all"]["shards"],
        "ParaZh-22M": subtitles["parazh"]["bytes_per_reference"],
    }
    corpora_by_name = corpora()
    results = {name: estimate(corpus, sizes[name]) for name, corpus in corpora_by_name.items()}
    beams = benchmark("constraints_opus20k")["results"]["opus20k"]["ours_bfloat16"]["sentences_per_second"]
    samples = benchmark("decoding_opus20k")["results"]["opus20k"]["ours_constrained"]["sentences_per_second"]
    rates = {"ParaNMT-50M": beams, "ParaBank 2": samples}
    for name, rate in rates.items():
        results[name]["two_cores"] = {
            "sentences_per_second": rate,
            "hours": corpora_by_name[name].references / rate / 3600,
        }
    print(json.dumps(results, indent=1))
    report.write(options.json, 0, {"gpu": GPU, "peak": PEAK, "shares": [HIGH, LOW], "corpora": results}, {})


if __name__ == "__main__":
    main()
