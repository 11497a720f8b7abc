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
    # of a sentence that is in both, the passage of the running text stays, because it has a context
    passages = {passage.sentence: passage for passage in (*_read_lines(settings), *_passages(settings))}
    if len(passages) <= settings.held_out:
        raise ValueError(
            f"wanted more than {settings.held_out} sentences of {settings.min_chars} to {settings.max_chars} "
            f"characters, got {len(passages)} in {' '.join([*settings.text, *settings.sentences])}: give more text"
        )
    order = sorted(
        passages.values(), key=lambda passage: hashlib.blake2b(passage.sentence.encode(errors="replace")).digest()
    )
    return order[settings.held_out :], order[: settings.held_out]


def _passages(settings: InfillerTraining) -> Iterator[Passage]:
    """The sentences of the running text with their context."""
    books = read_books(settings.text, settings.lang)
    yield from read_passages(books, settings.lang, settings.min_chars, settings.max_chars, settings.context)


def _read_lines(settings: InfillerTraining) -> Iterator[Passage]:
    """The sentences of the files of single sentences, without context; the limits on characters are not theirs."""
    names = book_names([path for text in settings.sentences for path in text_files(text)])
    for path, name in names.items():
        for number, line in enumerate(text_lines(path), 1):
            if sentence := normalize(line, settings.lang not in OWN_PUNCTUATION):
                yield Passage(name, number, sentence, "", "")


def examples(passages: Iterable[Passage], settings: InfillerTraining, epoch: int) -> Iterator[tuple[str, str]]:
    """What the model reads and what it should say for each sentence.

    Args:
        passages: The sentences.
        settings: Give the rates.
        epoch: Every epoch drops other keywords.
    """
    for passage in passages:
        rng = random.Random(f"{settings.seed}\t{epoch}\t{passage.sentence}")
        all_keywords = keywords(passage.sentence)[:MOST_KEYWORDS]
        indices = remaining(len(all_keywords), settings, rng)
        example_keywords = [all_keywords[i] for i in indices]
        context = (passage.before, passage.after) if rng.random() < settings.context_rate else ("", "")
        words = [word for word in whole_words(passage.sentence) if word.text.isalpha()]
        if words and rng.random() < settings.mask_rate:
            masked_word = rng.choice(words)
            yield masked_input(passage.sentence, masked_word, *context), f"{SENTINEL.format(0)} {masked_word.text}"
            continue
        yield (
            infill_input([keyword.text for keyword in example_keywords], *context),
            infill_output(passage.sentence, example_keywords),
        )


def remaining(count: int, settings: InfillerTraining, rng: random.Random) -> Sequence[int]:
    """Which of so many keywords an example keeps, in their order."""
    if rng.random() < settings.any_rate:
        return sorted(rng.sample(range(count), rng.randint(0, count)))
    return [index for index in range(count) if rng.random() >= settings.drop_rate]
