"""Examples for an infiller: sentences with all but their keywords masked, in their context."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence

from toolkit.bitext.books import book_names, read_books, text_files
from toolkit.bitext.normalize import OWN_PUNCTUATION, normalize
from toolkit.bitext.passages import Passage, read_passages
from toolkit.bitext.text_file import text_lines
from toolkit.generate.keywords import keywords, whole_words
from toolkit.generate.sentinels import MOST_KEYWORDS, SENTINEL, infill_input, infill_output, masked_input
from toolkit.train.infiller_settings import InfillerTraining


def read_training(settings: InfillerTraining) -> tuple[list[Passage], list[Passage]]:
    """The sentences to learn from, and those that are held out: `held_out` of them by a hash of the sentence.

    Raises:
        FileNotFoundError: There is no such text.
        ValueError: A file cannot be read, or there are no more sentences than are to be held out.
    """
    found = {one.sentence: one for one in (*_passages(settings), *_lines_of(settings))}
    if len(found) <= settings.held_out:
        raise ValueError(
            f"wanted more than {settings.held_out} sentences of {settings.min_chars} to {settings.max_chars} "
            f"characters, got {len(found)} in {' '.join([*settings.text, *settings.sentences])}: give more text"
        )
    order = sorted(found.values(), key=lambda one: hashlib.blake2b(one.sentence.encode(errors="replace")).digest())
    return order[settings.held_out :], order[: settings.held_out]


def _passages(settings: InfillerTraining) -> Iterator[Passage]:
    """The sentences of the running text with their context."""
    books = read_books(settings.text, settings.lang)
    yield from read_passages(books, settings.lang, settings.min_chars, settings.max_chars, settings.context)


def _lines_of(settings: InfillerTraining) -> Iterator[Passage]:
    """The sentences of the files of single sentences, without context; the limits on characters are not theirs."""
    names = book_names([path for text in settings.sentences for path in text_files(text)])
    for path, name in names.items():
        for number, line in enumerate(text_lines(path), 1):
            if sentence := normalize(line, settings.lang not in OWN_PUNCTUATION):
                yield Passage(name, number, sentence, "", "")


def examples(found: Iterable[Passage], settings: InfillerTraining, epoch: int) -> Iterator[tuple[str, str]]:
    """What the model reads and what it should say for each sentence.

    Args:
        found: The sentences.
        settings: Give the rates.
        epoch: Every epoch drops other keywords.
    """
    for one in found:
        chance = random.Random(f"{settings.seed}\t{epoch}\t{one.sentence}")
        own = keywords(one.sentence)[:MOST_KEYWORDS]
        kept = remaining(len(own), settings, chance)
        chosen = [own[i] for i in kept]
        context = (one.before, one.after) if chance.random() < settings.context_rate else ("", "")
        words = [word for word in whole_words(one.sentence) if word.text.isalpha()]
        if words and chance.random() < settings.mask_rate:
            masked = chance.choice(words)
            yield masked_input(one.sentence, masked, *context), f"{SENTINEL.format(0)} {masked.text}"
            continue
        yield infill_input([keyword.text for keyword in chosen], *context), infill_output(one.sentence, chosen)


def remaining(count: int, settings: InfillerTraining, chance: random.Random) -> Sequence[int]:
    """Which of so many keywords an example keeps, in their order."""
    if chance.random() < settings.any_rate:
        return sorted(chance.sample(range(count), chance.randint(0, count)))
    return [number for number in range(count) if chance.random() >= settings.drop_rate]
