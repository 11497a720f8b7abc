"""The one table of speed that a user needs: ours and the fastest other program, by kind of work and of processor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from research.reports.figures import PROCESSORS, by_processor, number, table

NAMES = {  # how keys of other programs begin
    "generate": "`generate`",
    "ctranslate2": "CTranslate2",
    "transformers_force_words": "`force_words_ids`",
    "one_by_one": "`generate`, one text at a time",
    "batched": "`generate`, sorted batches",
    "peer": "sentence-transformers",
    "parrot": "Parrot",
    "nlpaug": "nlpaug",
    "textattack": "TextAttack",
    "opusfilter": "OpusFilter",
    "map": "`datasets`",
}

Rates = Mapping[str, float]  # by engine


@dataclass(frozen=True)
class _Work:
    """A kind of work that a benchmark measures.

    Attributes:
        title: What is done.
        unit: In what its speed is counted.
        benchmark: Of which it is part.
        rates: The speeds of its engines, from the results.
        ours: The engines of ours; all others are other programs.
    """

    title: str
    unit: str
    benchmark: str
    rates: Callable[[dict], Rates]
    ours: tuple[str, ...]


def rates_of(*path: str, rate: str, only: tuple[str, ...] = ()) -> Callable[[dict], Rates]:
    """A function that returns the speeds of engines from the results of a benchmark.

    Args:
        path: The keys that lead to the engines.
        rate: The key of an engine's speed.
        only: The engines; all unless given.
    """

    def rates(results: dict) -> Rates:
        for key in path:
            results = results[key]
        engines = {name: engine for name, engine in results.items() if isinstance(engine, dict) and rate in engine}
        return {name: engine[rate] for name, engine in engines.items() if not only or name in only}

    return rates


TOKENS, SENTENCES = "tokens_per_second", "sentences_per_second"
SAMPLERS = ("ours", "ours_float32", "ours_int8")
BEAMS = ("ours_bfloat16", "ours_float32", "ours_int8")
REQUIRED = tuple(f"{beam}_positive" for beam in BEAMS)
SEARCHES = tuple(
    f"{engine}_{dtype}{patience}"
    for engine in ("generate", "ctranslate2")
    for dtype in ("bfloat16", "float32", "int8")
    for patience in ("", "_patience2")
)
AUGMENTORS = (
    *("parrot", "nlpaug_back_translation", "nlpaug_back_translation_beam", "nlpaug_contextual", "textattack"),
)
WORKS = (
    _Work("150 samples of a sentence, model of OPUS-MT's size", "tokens/s", "decoding_opus20k",
          rates_of("opus20k", rate=TOKENS), SAMPLERS),
    _Work("the same with the starter", "tokens/s", "decoding_starter", rates_of("starter", rate=TOKENS), SAMPLERS),
    _Work("beam search of 12, OPUS-MT's size", "sentences/s", "constraints_opus20k",
          rates_of("opus20k", rate=SENTENCES, only=(*BEAMS, *SEARCHES)), BEAMS),
    _Work("the same with a required word", "sentences/s", "constraints_opus20k",
          rates_of("opus20k", rate=SENTENCES, only=(*REQUIRED, "transformers_force_words")), REQUIRED),
    _Work("five paraphrases of a text, five samples of each, starter", "texts/s", "paraphraser",
          rates_of("starter", rate=SENTENCES, only=("ours_equal", "ours_equal_int8", "one_by_one", "batched",
                                                    "ctranslate2_int8", "ctranslate2_float32")),
          ("ours_equal", "ours_equal_int8")),
    _Work("five paraphrases of a text, ours of 20 samples", "texts/s", "paraphraser",
          rates_of("starter", rate=SENTENCES, only=("ours", "one_by_one", "batched", "ctranslate2_int8",
                                                    "ctranslate2_float32")), ("ours",)),
    _Work("two new rows of a row, usable ones, starter", "rows/s", "augment",
          rates_of("starter", rate="usable_per_second", only=("ours", *AUGMENTORS)), ("ours",)),
    _Work("ParaNet, starter", "pairs/s", "paranet",
          rates_of("engines", rate="pairs_per_second", only=("ours", "ours_int8", "one_by_one")),
          ("ours", "ours_int8")),
    _Work("training WORD, M = 40", "pairs/s", "encoder",
          rates_of("word", rate="median", only=("ours_m40", "peer_100", "peer_4000")), ("ours_m40",)),
    _Work("training WORD + TRIGRAM, M = 40", "pairs/s", "encoder",
          rates_of("trigram", rate="median", only=("ours_m40", "peer_100", "peer_4000")), ("ours_m40",)),
    _Work("encoding by WORD, batches of 32", "sentences/s", "encoder",
          rates_of("encode", rate="median", only=("ours_word_32", "peer_word_32")), ("ours_word_32",)),
    _Work("cleaning a bitext on two cores", "lines/s", "cleaning",
          rates_of(rate="lines_per_second", only=("ours_2", "opusfilter_2", "map_2")), ("ours_2",)),
)  # fmt: skip


def fastest(rates: Rates, work: _Work) -> tuple[float, str, float]:
    """The speed of the fastest engine of ours, the fastest other program, and its speed."""
    speed = max(rate for engine, rate in rates.items() if engine in work.ours)
    peers = {engine: rate for engine, rate in rates.items() if engine not in work.ours and "constrained" not in engine}
    peer = max(peers, key=lambda engine: peers[engine])
    return speed, peer, peers[peer]


def program_name(peer: str) -> str:
    """The name of another program, for a reader."""
    return next(name for key, name in NAMES.items() if peer.startswith(key))


def compared(work: _Work) -> dict[str, tuple[float, str, float]]:
    """What `fastest` returns by kind of processor, of those that the benchmark was run on."""
    speeds = {}
    for ending, record in by_processor(work.benchmark):
        rates = work.rates(record["results"])
        kind = ending or ("" if record["machine"]["bf16"] else PROCESSORS["_avx2"])
        if rates:
            speeds[kind] = fastest(rates, work)
    return speeds


def fastest_programs() -> str:
    """Speed of ours in its fastest arithmetic, and over the fastest other program in its own."""
    lines = []
    for work in WORKS:
        speeds = compared(work)
        cells = []
        for kind in PROCESSORS.values():
            if kind not in speeds:
                cells.append("-")
                continue
            speed, _, peer = speeds[kind]
            cells.append(
                f"{number(speed, 1 if speed < 100 else 0)} ({number(speed / peer, 2 if speed < 2 * peer else 1)})"
            )
        if speeds:
            names = dict.fromkeys(program_name(peer) for _, peer, _ in speeds.values())
            lines.append([work.title, work.unit, " or ".join(names), *cells])
    kinds = ["with bfloat16", *(kind.removeprefix(", ") for kind in PROCESSORS.values() if kind)]
    return table(["work", "unit", "fastest other program", *(f"ours, {kind}" for kind in kinds)], lines)


MADE = (fastest_programs,)
