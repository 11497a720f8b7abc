"""The engines of the benchmark of ParaNet: ours in batches, and the paper's recipe with one text at a time.

This module does not import the toolkit, because that import sets the OpenMP wait policy of every engine.
"""

from __future__ import annotations

import math
import random
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PERMUTATIONS, DROP_RATE = 15, 0.15  # ParaNet, appendix A
WEIGHTS = (4.0, 8.0, 1.2)  # ParaNet, appendix A
MARK = re.compile(r"(<extra_id_\d+>)")


@dataclass(frozen=True)
class Sentence:
    """A reference with what every engine needs to begin.

    Attributes:
        text: The reference.
        before: The text before it.
        after: The text after it.
        keywords: Its keywords.
        asked: For each keyword what a model reads and says, by which the keyword is scored: p(S | k).
    """

    text: str
    before: str
    after: str
    keywords: list[str]
    asked: list[tuple[str, str]]


@dataclass(frozen=True)
class Job:
    """What every engine does.

    Attributes:
        infiller: Folder of a T5-type model, which also says how fluent a text is.
        encoder: Folder of a sentence encoder.
        sentences: The references.
        few: Of these, so many are enough for an engine that takes one at a time.
        beam: Beam size.
        threads: The number of threads.
        rounds: The number of measured rounds; one warm-up round precedes them.
        seed: Of the orders.
    """

    infiller: str
    encoder: str
    sentences: list[Sentence]
    few: int
    beam: int
    threads: int
    rounds: int
    seed: int


def engine_figures(job: Job, work: Callable[[list[Sentence], defaultdict], list[str]], count: int) -> dict[str, Any]:
    """The figures of an engine: pairs per second, the median of the rounds, and the share of each stage."""
    work(job.sentences[: job.few], defaultdict(float))
    stages: defaultdict[str, float] = defaultdict(float)
    seconds, outputs = [], []
    for _ in range(job.rounds):
        begin = time.perf_counter()
        outputs = work(job.sentences[:count], stages)
        seconds.append(time.perf_counter() - begin)
    total = sum(stages.values())
    return {
        "pairs_per_second": round(count / statistics.median(seconds), 4),
        "seconds": [round(second, 3) for second in seconds],
        "sentences": count,
        "shares": {name: round(spent / total, 4) for name, spent in stages.items()},
        "examples": [[sentence.text, text] for sentence, text in zip(job.sentences[:3], outputs, strict=False)],
    }


def ours(job: Job, dtype: str) -> dict[str, Any]:
    """The stages of `builders.paranet.paranet`, one after another, each of them timed."""
    import torch

    import toolkit.generate.infill as infill
    from builders.paranet import ParaNet
    from toolkit.data.rows import Row
    from toolkit.encoder.load import load_encoder
    from toolkit.generate.keywords import STOP_WORDS
    from toolkit.generate.sentinels import load_infiller
    from toolkit.score.comprehensive import comprehensive_rows
    from toolkit.score.diversity import diversity_rows
    from toolkit.score.fluency import fluency_rows
    from toolkit.score.semantic import semantic_rows
    from toolkit.select.filter import refuse_repeats
    from toolkit.select.rank import rank_by_ranking

    torch.set_num_threads(job.threads)
    model, encoder, builder = load_infiller(job.infiller, dtype, "cpu", "en"), load_encoder(job.encoder), ParaNet()
    informative = infill.informative

    def work(sentences: list[Sentence], stages: defaultdict) -> list[str]:
        inside = 0.0

        def timed_informative(*arguments: Any) -> Any:
            nonlocal inside
            begin = time.perf_counter()
            result = informative(*arguments)
            inside += time.perf_counter() - begin
            return result

        vars(infill)["informative"] = timed_informative
        rows = [Row(str(n), "", None, None, sentence.text, "en", "train", sentence.before, sentence.after)
                for n, sentence in enumerate(sentences)]  # fmt: skip
        rows_at_once, tokens_at_once = builder.batch_sizes["batch_rows"], builder.batch_sizes["batch_tokens"]
        settings = (PERMUTATIONS, DROP_RATE, job.beam, rows_at_once, tokens_at_once, job.seed)
        steps: dict[str, Callable] = {
            "infilling": lambda input_rows: infill.infill_rows(input_rows, model, STOP_WORDS, None, *settings),
            "copies": refuse_repeats,
            "semantic score": lambda input_rows: semantic_rows(input_rows, encoder, builder.batch_texts),
            "fluency": lambda input_rows: fluency_rows(input_rows, model, tokens_at_once),
            "diversity": diversity_rows,
            "sum": lambda input_rows: comprehensive_rows(input_rows, builder.weights),
            "choice": lambda input_rows: rank_by_ranking(input_rows, 1),
        }
        for name, step in steps.items():
            begin = time.perf_counter()
            rows = list(step(rows))
            stages[name] += time.perf_counter() - begin
        stages["infilling"] -= inside
        stages["keywords by p(S | k)"] += inside
        return [row.paraphrases[0].text if row.paraphrases else "" for row in rows]

    return engine_figures(job, work, len(job.sentences))


def one_by_one(job: Job, dtype: str) -> dict[str, Any]:
    """The same with `transformers` alone: every keyword, order and candidate is a call of its own, as in the paper."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
    from transformers.utils import logging

    torch.set_num_threads(job.threads)
    logging.disable_progress_bar()
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(job.infiller, dtype=getattr(torch, dtype)).eval()
    model.generation_config.max_length = None  # `max_new_tokens` holds, and a warning would come with every call
    tokenizer = AutoTokenizer.from_pretrained(job.infiller)
    model.generate(**tokenizer("a <extra_id_0>", return_tensors="pt"), max_new_tokens=4)  # OpenMP has begun
    import toolkit.encoder.modules  # noqa: F401 - the starter encoder is of its class

    encoder = SentenceTransformer(job.encoder, device="cpu")

    @torch.inference_mode()
    def log_likelihood(read: str, output: str) -> tuple[float, int]:
        ids = tokenizer(output, return_tensors="pt").input_ids
        loss = model(**tokenizer(read, return_tensors="pt"), labels=ids).loss
        return -float(loss) * ids.shape[1], ids.shape[1]

    @torch.inference_mode()
    def filled(order: list[str], sentence: Sentence) -> str:
        masked = " ".join(f"<extra_id_{n}> {word}" for n, word in enumerate(order)) + f" <extra_id_{len(order)}>"
        read = tokenizer(f"{sentence.before} {masked} {sentence.after}".strip(), return_tensors="pt")
        limit = 2 * len(tokenizer(sentence.text).input_ids) + 10 + len(order) + 2
        ids = model.generate(**read, num_beams=job.beam, max_new_tokens=limit)
        parts = MARK.split(str(tokenizer.decode(ids[0], skip_special_tokens=False)))
        gaps = {mark: gap.replace("</s>", "").strip() for mark, gap in zip(parts[1::2], parts[2::2], strict=False)}
        between = [gaps.get(f"<extra_id_{n}>", "") for n in range(len(order) + 1)]
        return " ".join(part for n, gap in enumerate(between) for part in (gap, *order[n : n + 1]) if part)

    def work(sentences: list[Sentence], stages: defaultdict) -> list[str]:
        chance, best = random.Random(job.seed), []
        for sentence in sentences:
            begin = time.perf_counter()
            dropped = round(len(sentence.keywords) * DROP_RATE)
            scores = [log_likelihood(*pair)[0] for pair in sentence.asked] if dropped else []
            worst = sorted(range(len(scores)), key=scores.__getitem__)[:dropped]
            keywords = [word for n, word in enumerate(sentence.keywords) if n not in worst]
            stages["keywords by p(S | k)"] += time.perf_counter() - begin
            begin = time.perf_counter()
            orders: dict[tuple[str, ...], None] = {}
            while len(orders) < min(PERMUTATIONS, math.factorial(len(keywords))):
                orders[tuple(chance.sample(keywords, len(keywords)))] = None
            texts = list(dict.fromkeys(filled(list(order), sentence) for order in orders))
            stages["infilling"] += time.perf_counter() - begin
            begin = time.perf_counter()
            semantic = []
            for text in texts:
                vectors = encoder.encode([sentence.text, text], show_progress_bar=False)
                semantic.append(float(encoder.similarity(vectors[:1], vectors[1:])))
            stages["semantic score"] += time.perf_counter() - begin
            begin = time.perf_counter()
            fluent = [log_likelihood("<extra_id_0>", f"<extra_id_0> {text}") for text in texts]
            stages["fluency"] += time.perf_counter() - begin
            begin = time.perf_counter()
            sums = [
                WEIGHTS[0] * near + WEIGHTS[1] * math.exp(total / count) + WEIGHTS[2] * diverse(sentence.text, text)
                for near, (total, count), text in zip(semantic, fluent, texts, strict=True)
            ]
            best.append(texts[max(range(len(texts)), key=sums.__getitem__)])
            stages["choice"] += time.perf_counter() - begin
        return best

    return engine_figures(job, work, job.few)


def diverse(reference: str, text: str) -> float:
    """Equation 2 of ParaNet, over words between spaces."""
    reference_words, text_words = reference.lower().split(), text.lower().split()
    common, union = set(reference_words) & set(text_words), set(reference_words) | set(text_words)
    moved = sum(abs(reference_words.index(word) - text_words.index(word)) for word in common)
    longest = max(len(reference_words), len(text_words), 1)
    return 0.5 * (1 - len(common) / max(1, len(union))) + 0.5 * moved / max(1, len(common)) / longest
