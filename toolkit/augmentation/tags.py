"""Token and tag lists (named entities) as a text with spans, and a paraphrase of it as token and tag lists again.

An entity is a run of tokens whose tags are not "O", and a tag "B-...", "S-..." or "U-..." begins a new one. Its tokens
and tags come back as they were, so that any scheme (IOB, BIOES, BILOU, plain classes) stays what it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sacremoses import MosesDetokenizer

from toolkit.augmentation.spans import Span, find_again
from toolkit.bitext.words import CHARACTER_WITHOUT_SPACES, tokens

OUTSIDE = "O"
BEGINS = ("B-", "S-", "U-")
NOT = re.compile(r" (n['’]t)\b", re.IGNORECASE)  # Moses leaves the space that treebanks put before it


def join_tokens(said: Sequence[str], lang: str) -> tuple[str, list[Span]]:
    """The running text of some tokens, and where each of them stands in it.

    >>> join_tokens(["Tom", "'s", "car", "is", "red", "."], "en")
    ("Tom's car is red.", [(0, 3), (3, 5), (6, 9), (10, 12), (13, 16), (16, 17)])
    >>> join_tokens(["他", "在", "北京"], "zh")
    ('他在北京', [(0, 1), (1, 2), (2, 4)])

    Args:
        said: The tokens.
        lang: Their language (ISO 639-1).
    """
    text = NOT.sub(r"\1", MosesDetokenizer(lang=lang).detokenize(said, unescape=False))
    if all(CHARACTER_WITHOUT_SPACES.match(one) for one in said[:1]) or lang in ("zh", "ja"):
        text = "".join(said)
    found = _stand(text, said)
    if found is None:  # a token with a space in it, or one that Moses writes otherwise
        text = " ".join(said)
        found = _stand(text, said)
    assert found is not None
    return text, found


def _stand(text: str, said: Sequence[str]) -> list[Span] | None:
    """Where tokens stand in a text, one after another; None if they are not all of its visible characters."""
    found, at = [], 0
    for token in said:
        begin = text.find(token, at)
        if begin < 0 or text[at:begin].strip():
            return None
        at = begin + len(token)
        found.append((begin, at))
    return None if text[at:].strip() else found


def entities(tags: Sequence[str]) -> list[Span]:
    """The first token of each entity, and the token after it.

    >>> entities(["O", "B-PER", "I-PER", "B-LOC", "O", "ORG", "ORG"])
    [(1, 3), (3, 4), (5, 7)]
    """
    found: list[Span] = []
    for n, tag in enumerate(tags):
        if tag == OUTSIDE:
            continue
        if found and found[-1][1] == n and not tag.startswith(BEGINS):
            found[-1] = found[-1][0], n + 1
        else:
            found.append((n, n + 1))
    return found


def retagged(
    said: Sequence[str], tags: Sequence[Any], names: Sequence[str], lang: str, outside: Any, paraphrase: str
) -> tuple[list[str], list[Any]] | None:
    """The tokens and tags of a paraphrase; None where an entity is not in it, or two can no longer be told apart.

    >>> retagged(["Tom", "left", "."], [1, 0, 0], ["B-PER", "O", "O"], "en", 0, "Away went Tom!")
    (['Away', 'went', 'Tom', '!'], [0, 0, 1, 0])

    Args:
        said: The tokens of the text.
        tags: Their tags, as the column has them.
        names: The names of the tags.
        lang: The language of the text.
        outside: The tag of a token that is in no entity.
        paraphrase: What the text is replaced with.
    """
    (text, where), spans = join_tokens(said, lang), entities(names)
    found = find_again(text, [(where[begin][0], where[end - 1][1]) for begin, end in spans], paraphrase)
    if found is None:
        return None
    words: list[str] = []
    marks: list[Any] = []
    at = 0
    for (begin, end), (first, last) in sorted(zip(found, spans, strict=True)):
        between = tokens(paraphrase[at:begin])
        if words and not between and marks[-1] != outside and not names[first].startswith(BEGINS):
            return None  # it would go on with the entity before it
        words += [*between, *said[first:last]]
        marks += [outside] * len(between) + list(tags[first:last])
        at = end
    rest = tokens(paraphrase[at:])
    return words + rest, marks + [outside] * len(rest)
