r"""A first run on a GPU: does it agree with the CPU, how fast is it, and what does it wait for?

    python -m research.benchmarks.gpu_check --json research/benchmarks/results/gpu_check.json
    python -m research.benchmarks.gpu_check --tiny --device cpu

The models are random and have the sizes of OPUS-MT's, so that the command needs no network, no starter and no data.
Agreement is tested first: samples, hypotheses and scores in float32 are compared with the CPU's, in each of `WAYS`:
with and without Triton's kernels of attention, with plain steps and with steps of fixed shapes, which a GPU replays as
graphs. Then come what the device can do at most, the sampler at three sizes of model in each way, its kernels and its
synchronisations with the host, sampling and beam search beside `generate` of transformers, forced scoring, and steps of
training. A part that fails is reported and leaves the others; the exit status is 1 if a part failed or disagrees.
--tiny tries the command itself, on any device.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, cast

import torch
import transformers
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from research.reports import report
from toolkit.decode.beam import beam_search
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.engine import Engine
from toolkit.decode.likelihood import log_likelihood
from toolkit.decode.sampling import Sample, sample
from toolkit.decode.shared import SharedEngine
from toolkit.train.optimizer import optimizers
from toolkit.train.translator_loss import TranslationLoss
from toolkit.translator.inference import prepare_for_gpu

SOURCE_TOKENS, TOP_K = 14, 10
SAMPLES, SETS = 150, 5  # of each sentence: samples, and lists of forbidden phrases
AGREE = 0.98  # ours: share of the samples and hypotheses that must be equal; rounding turns some near ties
SCORE_GAP = 1e-3  # ours: nats between the scores of two devices in float32
SIZES = ((6, 512, 58_101), (12, 768, 58_101), (12, 1024, 256_206))  # layers of each side, width, vocabulary: OPUS-MT's,
# that of larger models of Marian, NLLB-200's of 600 million weights
SENTENCES = (20, 130)  # in a batch
# whether there are graphs, and Triton's kernels
WAYS = {"torch": (False, False), "torch, graphs": (True, False), "kernels": (False, True), "all": (True, True)}
DEFAULT = "all"  # the way that a GPU takes by itself
FEW_WAYS = ("torch", DEFAULT)  # of the larger models
BEAM, STEPS = 5, 38
SCORING_TOKENS = (8192, 65_536)  # of a batch
TRAINING_TOKENS = (4096, 32_768)  # of a batch
TRAINING_VOCABULARY, TRAINING_LENGTH = 32_000, 32
SHOWN_KERNELS = 12

Job = tuple[list[list[int]], list[list[list[int]]], list[int]]
Figures = dict[str, Any]


def random_model(
    layers: int,
    width: int,
    vocabulary: int,
    dtype: torch.dtype,
    device: torch.device,
    eos_bias: float,
    for_training: bool = False,
) -> MarianMTModel:
    """A Marian model with random weights; the greater `eos_bias`, the shorter are its outputs.

    On a GPU a model that is not trained is prepared as `load_translator` does.
    """
    torch.manual_seed(0)
    heads = max(1, width // 64)
    config = MarianConfig(
        vocab_size=vocabulary,
        d_model=width,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width,
        max_position_embeddings=128,
        pad_token_id=vocabulary - 1,
        eos_token_id=0,
        decoder_start_token_id=vocabulary - 1,
        forced_eos_token_id=None,
        scale_embedding=True,
        init_std=0.08,
    )
    model = MarianMTModel(config).eval()
    model.generation_config = GenerationConfig.from_model_config(config)
    model.final_logits_bias[0, 0] = eos_bias
    model.to(device, dtype)
    if device.type == "cuda" and not for_training:
        prepare_for_gpu(model)
    return model


def random_job(sentences: int, samples: int, vocabulary: int) -> Job:
    """Ids of sentences, five lists of four forbidden words for each, and the keys of the samples."""
    rng = random.Random(0)
    sources = [[*(rng.randrange(2, vocabulary - 1) for _ in range(SOURCE_TOKENS - 1)), 0] for _ in range(sentences)]
    forbidden = [[[rng.randrange(2, vocabulary - 1)] for _ in range(4)] for _ in range(SETS * sentences)]
    return sources, forbidden, [rng.getrandbits(62) for _ in range(sentences * samples)]


def shared_engine(model: MarianMTModel, way: str) -> SharedEngine:
    """The engine of a model that computes in one of `WAYS`."""
    engine = SharedEngine(model)
    engine.graphs, engine.kernels = WAYS[way]
    return engine


class Counted:
    """An engine that counts its steps and their rows."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.steps, self.rows = engine, 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def step(self, state: Any, ids: Tensor) -> Any:
        """The engine's step."""
        self.steps, self.rows = self.steps + 1, self.rows + len(ids)
        return self.engine.step(state, ids)


class Check:
    """The device, and the sizes of the work."""

    def __init__(self, device: torch.device, tiny: bool) -> None:
        self.device, self.tiny = device, tiny
        self.dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        self.sizes = ((1, 64, 501),) if tiny else SIZES
        self.samples = 15 if tiny else SAMPLES

    def synchronize(self) -> None:
        """Wait for the device."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def milliseconds(self, work: Callable[[], object], times: int = 5) -> float:
        """The median time of a piece of work; its first run is not counted."""
        durations = []
        for _ in range(times + 1):
            self.synchronize()
            began = time.perf_counter()
            work()
            self.synchronize()
            durations.append(1e3 * (time.perf_counter() - began))
        return statistics.median(durations[1:])

    def machine(self) -> Figures:
        """The card and the libraries."""
        figures: Figures = {
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "threads": torch.get_num_threads(),
        }
        if self.device.type == "cuda":
            free, total = torch.cuda.mem_get_info()
            figures |= {"gpu": torch.cuda.get_device_name(), "cuda": torch.version.cuda}
            figures |= {"memory_gib": total / 2**30, "free_gib": free / 2**30}
        return figures

    def agreement(self) -> Figures:
        """Samples, hypotheses and scores in float32 against the CPU's; bfloat16 against float64.

        Raises:
            ArithmeticError: The device disagrees with the CPU.
        """
        sentences, samples, steps = (3, 10, 6) if self.tiny else (6, 50, 20)
        sources, forbidden, keys = random_job(sentences, samples, 1001)
        outputs = [[*source[::-1][1:], 0] for source in sources]

        def on(device: torch.device, dtype: torch.dtype, eos_bias: float, way: str) -> tuple[list, list, list[float]]:
            engine = shared_engine(random_model(2, 128, 1001, dtype, device, eos_bias), way)
            hypotheses = beam_search(engine, sources, BEAM, steps, 2)
            return (
                [output.ids for output in sample(engine, sources, forbidden, keys, TOP_K, steps)],
                [hypothesis.ids for beam in hypotheses for hypothesis in beam],
                log_likelihood(engine, sources, outputs, 200),
            )

        here = on(torch.device("cpu"), torch.float32, 1.0, "torch")
        there = {way: on(self.device, torch.float32, 1.0, way) for way in WAYS}
        equal = {
            way: [sum(map(list.__eq__, a, b)) / len(a) for a, b in zip(here[:2], results[:2], strict=True)]
            for way, results in there.items()
        }
        gap = max(abs(a - b) for results in there.values() for a, b in zip(here[2], results[2], strict=True))
        exact, low, again = (
            on(self.device, d, -20.0, DEFAULT) for d in (torch.float64, torch.bfloat16, torch.bfloat16)
        )
        if min(map(min, equal.values())) < AGREE or gap > SCORE_GAP or low != again:
            raise ArithmeticError(
                f"wanted the CPU's samples, hypotheses and scores, and the same twice; got {equal} of them equal, "
                f"scores {gap:.1e} nats apart, and {'the same' if low == again else 'something else'} the second time"
            )
        return {
            "samples_equal": {way: samples for way, (samples, _) in equal.items()},
            "hypotheses_equal": {way: hypotheses for way, (_, hypotheses) in equal.items()},
            "scores_differ_nats": gap,
            "bfloat16_scores_differ_nats": max(abs(a - b) for a, b in zip(exact[2], low[2], strict=True)),
        }

    def ceilings(self) -> Figures:
        """What the device does at most: products of matrices, copies, and launches of kernels."""
        side, many = (512, 1 << 20) if self.tiny else (8192, 1 << 31)
        left, right = (torch.randn(side, side, device=self.device, dtype=torch.bfloat16) for _ in range(2))
        product = self.milliseconds(lambda: left @ right)
        memory = torch.empty(many, dtype=torch.uint8, device=self.device)
        copy = self.milliseconds(lambda: memory.clone())
        vector = torch.zeros(16, device=self.device)
        count = 10 if self.tiny else 1000
        launches = self.milliseconds(lambda: [vector.add_(1) for _ in range(count)])
        return {
            "product_tflops": 2 * side**3 / product / 1e9,
            "copy_gb_per_second": 2 * many / copy / 1e6,
            "launch_microseconds": 1e3 * launches / count,
        }

    def logits(self, vocabulary: int) -> Figures:
        """The output layer and the tokens to draw from, for the rows of a batch."""
        rows, width = (64, 64) if self.tiny else (2400, 512)
        hidden = torch.randn(rows, width, device=self.device, dtype=self.dtype)
        weight = torch.randn(vocabulary, width, device=self.device, dtype=self.dtype)
        logits = hidden @ weight.T

        def in_float32() -> object:
            wide = logits.float()
            return torch.log_softmax(wide, -1, out=wide).topk(TOP_K)

        return {
            "product_ms": self.milliseconds(lambda: hidden @ weight.T),
            "log_softmax_and_top_k_of_float32_ms": self.milliseconds(in_float32),
            "logsumexp_and_top_k_as_they_are_ms": self.milliseconds(
                lambda: (logits.topk(TOP_K), torch.logsumexp(logits, -1))
            ),
        }

    def model(self, layers: int, width: int, vocabulary: int) -> MarianMTModel:
        """A model whose outputs are long."""
        return random_model(layers, width, vocabulary, self.dtype, self.device, 3.0)

    def sampler(self, layers: int, width: int, vocabulary: int, sentences: int, ways: Iterable[str]) -> Figures:
        """Samples under lists of forbidden phrases, in some ways; the first run of two makes kernels and graphs."""
        model = self.model(layers, width, vocabulary)
        job = random_job(sentences, self.samples, vocabulary)
        figures: Figures = {"samples": len(job[2])}
        outputs: dict[str, list[Sample]] = {}
        for way in ways:
            engine = Counted(shared_engine(model, way))
            of_way: Figures = {}
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            for run in ("first_", ""):
                engine.steps = engine.rows = 0
                self.synchronize()
                began = time.perf_counter()
                outputs[way] = sample(cast(Engine, engine), *job, TOP_K, STEPS)
                self.synchronize()
                seconds = time.perf_counter() - began
                of_way |= {
                    f"{run}tokens_per_second": sum(len(output.ids) for output in outputs[way]) / seconds,
                    f"{run}step_ms": 1e3 * seconds / engine.steps,
                }
            of_way |= {"rows_per_second": engine.rows / seconds, "steps": engine.steps}
            if self.device.type == "cuda":
                of_way["memory_gib"] = torch.cuda.max_memory_reserved() / 2**30
            equal = [base.ids == output.ids for base, output in zip(outputs["torch"], outputs[way], strict=True)]
            figures[way] = of_way | {"samples_equal": sum(equal) / len(equal)}
        return figures

    def beside_generate(self, layers: int, width: int, vocabulary: int) -> Figures:
        """Samples and beam search without constraints, by the engine and by `generate` of transformers."""
        model, samples = self.model(layers, width, vocabulary), self.samples
        sentences, of_beam = (2, 2) if self.tiny else SENTENCES
        engine = engine_of(model)
        sources, _, keys = random_job(max(sentences, of_beam), samples, vocabulary)
        used_keys = keys[: sentences * samples]
        ids = torch.tensor(sources, device=self.device)
        pad = vocabulary - 1
        common: dict[str, Any] = {"max_new_tokens": STEPS, "suppress_tokens": [pad]}

        def generated(ids: Tensor, **how: Any) -> int:
            output: Tensor = cast(Any, model).generate(ids, **common | {"attention_mask": torch.ones_like(ids)} | how)
            return int(output[:, 1:].ne(pad).sum())

        def sampled() -> int:
            return sum(len(output.ids) for output in sample(engine, sources[:sentences], None, used_keys, TOP_K, STEPS))

        work: dict[str, Callable[[], int]] = {
            "sampled_tokens": sampled,
            "sampled_tokens_by_generate": lambda: generated(
                ids[:sentences], do_sample=True, top_k=TOP_K, num_return_sequences=samples
            ),
            "beam_tokens": lambda: sum(
                len(hypothesis.ids)
                for beam in beam_search(engine, sources[:of_beam], BEAM, STEPS)
                for hypothesis in beam
            ),
            "beam_tokens_by_generate": lambda: generated(ids[:of_beam], do_sample=False, num_beams=BEAM),
        }
        figures: Figures = {"samples": len(used_keys), "beam": BEAM, "beam_sentences": of_beam}
        for name, produce in work.items():
            produce()
            self.synchronize()
            began = time.perf_counter()
            tokens = produce()
            self.synchronize()
            figures[f"{name}_per_second"] = tokens / (time.perf_counter() - began)
        return figures

    def sampler_profile(self, layers: int, width: int, vocabulary: int, sentences: int) -> Figures:
        """Kernels, synchronisations and the busy share of the GPU in a step of the sampler."""
        if self.device.type != "cuda":
            return {}
        engine = Counted(engine_of(self.model(layers, width, vocabulary)))
        job = random_job(sentences, self.samples, vocabulary)
        sample(cast(Engine, engine), *job, TOP_K, STEPS)
        torch.cuda.set_sync_debug_mode("warn")
        engine.steps = 0
        with warnings.catch_warnings(record=True) as waits:
            warnings.simplefilter("always")
            sample(cast(Engine, engine), *job, TOP_K, STEPS)
        torch.cuda.set_sync_debug_mode("default")
        steps = engine.steps
        return {"synchronisations_per_step": len(waits) / steps} | self.kernels(
            lambda: sample(cast(Engine, engine), *job, TOP_K, STEPS), steps
        )

    def kernels(self, work: Callable[[], object], steps: int) -> Figures:
        """Kernels of a step, the busy share of the GPU, and the largest kernels; nothing where none can be watched."""
        if self.device.type != "cuda" or torch.version.cuda is None:
            return {}
        self.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            began = time.perf_counter()
            work()
            self.synchronize()
            wall = time.perf_counter() - began
        kernels = sorted(profiler.key_averages(), key=lambda kernel: -kernel.self_device_time_total)
        return {
            "kernels_per_step": sum(kernel.count for kernel in kernels) / steps,
            "gpu_ms_per_step": sum(kernel.self_device_time_total for kernel in kernels) / steps / 1e3,
            "busy": sum(kernel.self_device_time_total for kernel in kernels) / 1e6 / wall,
            "largest_kernels_ms_per_step": {
                kernel.key[:80]: kernel.self_device_time_total / steps / 1e3 for kernel in kernels[:SHOWN_KERNELS]
            },
        }

    def scoring(self, layers: int, width: int, vocabulary: int, batch_tokens: int) -> Figures:
        """Pairs of equal lengths scored by forced decoding; the kernels are those of all pairs."""
        engine = engine_of(random_model(layers, width, vocabulary, self.dtype, self.device, 0.0))
        sources = random_job(50 if self.tiny else 20_000, 1, vocabulary)[0]
        log_likelihood(engine, sources, sources, batch_tokens)
        began = time.perf_counter()
        log_likelihood(engine, sources, sources, batch_tokens)
        seconds = time.perf_counter() - began
        return {"pairs_per_second": len(sources) / seconds} | self.kernels(
            lambda: log_likelihood(engine, sources, sources, batch_tokens), 1
        )

    def training(self, layers: int, width: int, batch_tokens: int, attention: str) -> Figures:
        """Steps of a translator's training, Muon and AdamW, without reading and segmenting text."""
        vocabulary = 501 if self.tiny else TRAINING_VOCABULARY
        model = random_model(layers, width, vocabulary, torch.float32, self.device, 0.0, for_training=True).train()
        model.set_attn_implementation(attention)
        loss_of, optimizer_list = TranslationLoss(model, 0.1), optimizers(model, 1e-4, "muon")
        ids = torch.randint(1, vocabulary - 1, (batch_tokens // TRAINING_LENGTH, TRAINING_LENGTH), device=self.device)

        def step() -> None:
            with torch.autocast(self.device.type, torch.bfloat16):
                loss = loss_of(ids, ids)
            (loss / ids.numel()).backward()
            for optimizer in optimizer_list:
                optimizer.step()
                optimizer.zero_grad()

        duration = self.milliseconds(step, 8)
        return {"step_ms": duration, "tokens_per_second": 1e3 * batch_tokens / duration} | self.kernels(step, 1)

    def parts(self) -> Iterator[tuple[str, Callable[[], Figures]]]:
        """The parts by name, in order."""
        yield "machine", self.machine
        yield "agreement with the CPU", self.agreement
        yield "ceilings", self.ceilings
        _, _, vocabulary = self.sizes[0]
        for pieces in (vocabulary, -(-vocabulary // 64) * 64):
            yield f"logits, {pieces:,} pieces", partial(self.logits, pieces)
        for number, (layers, width, vocabulary) in enumerate(self.sizes):
            size, counts = f"{layers}+{layers} layers of {width}", (2,) if self.tiny else SENTENCES
            for sentences in counts:
                yield (
                    f"sampler, {size}, {sentences} sentences",
                    partial(self.sampler, layers, width, vocabulary, sentences, FEW_WAYS if number else WAYS),
                )
            for sentences in counts if not number else ():
                yield (
                    f"a step of the sampler, {size}, {sentences} sentences",
                    partial(self.sampler_profile, layers, width, vocabulary, sentences),
                )
            yield f"beside generate, {size}", partial(self.beside_generate, layers, width, vocabulary)
        layers, width, vocabulary = self.sizes[0]
        for tokens in (200,) if self.tiny else SCORING_TOKENS:
            yield f"scoring, batches of {tokens:,} tokens", partial(self.scoring, layers, width, vocabulary, tokens)
        for tokens in (256,) if self.tiny else TRAINING_TOKENS:
            for attention in ("eager", "sdpa"):
                yield (
                    f"training, batches of {tokens:,} tokens, {attention}",
                    partial(self.training, layers, width, tokens, attention),
                )


def as_text(figures: Figures) -> str:
    """The figures on one line.

    >>> as_text({"steps": 3, "step_ms": 1.23456, "kernels": {"copy": 0.5}})
    'steps 3, step_ms 1.235, kernels (copy 0.5)'
    """
    texts = {
        name: f"{value:.4g}"
        if isinstance(value, float)
        else f"({as_text(value)})"
        if isinstance(value, dict)
        else value
        for name, value in figures.items()
    }
    return ", ".join(f"{name} {text}" for name, text in texts.items())


def run(check: Check, seconds: float) -> tuple[dict[str, Figures], list[str]]:
    """Run all parts, print their figures, and return them with the names of those that failed.

    Args:
        check: The device and the sizes.
        seconds: After so many no further part is begun.
    """
    began, results, failed = time.monotonic(), {}, []
    for name, part in check.parts():
        if time.monotonic() - began > seconds:
            results[name] = {"skipped": f"{seconds:g} seconds had passed"}
            continue
        try:
            results[name] = part()
        except Exception as error:  # whatever it is, the other parts are still worth their time
            places = traceback.extract_tb(error.__traceback__)[-3:]
            where = " > ".join(f"{place.filename.rsplit('/')[-1]}:{place.lineno}" for place in places)
            results[name] = {"failed": f"{type(error).__name__}: {str(error)[:300]} ({where})"}
            failed.append(name)
        print(f"{time.monotonic() - began:6.1f} s  {name}: {as_text(results[name])}", flush=True)
        if check.device.type == "cuda":
            torch.cuda.empty_cache()
    return results, failed


def main() -> None:
    """Check the device, print the figures, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="small models: the command itself is tried")
    parser.add_argument("--seconds", type=float, default=420.0, help="after so many no further part is begun")
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    results, failed = run(Check(torch.device(options.device), options.tiny), options.seconds)
    report.write(options.json, 0, results, {})
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
