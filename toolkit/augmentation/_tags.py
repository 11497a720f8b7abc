"""Token and tag lists (named entities) as a text with spans, and a paraphrase of it as token and tag lists again.

An entity is a run of tokens whose tags are not "O", and a tag "B-...", "S-..." or "U-..." begins a new one. Its tokens
and tags come back as they were, so that any scheme (IOB, BIOES, BILOU, plain classes) stays what it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sacremoses import MosesDetokenizer

from toolkit.augmentation._spans import Span, find_again
from toolkit.bitext.words import CHARACTER_WITHOUT_SPACES, tokens

OUTSIDE = "O"
BEGINS = ("B-", "S-", "U-")
NOT = re.compile(r" (n['’]t)\b", re.IGNORECASE)  # Moses leaves the space that treebanks put before it


def join_tokens(token_list: Sequence[str], lang: str) -> tuple[str, list[Span]]:
    """The running text of some tokens, and where each of them stands in it.

    >>> join_tokens(["Tom", "'s", "car", "is", "red", "."], "en")
    ("Tom's car is red.", [(0, 3), (3, 5), (6, 9), (10, 12), (13, 16), (16, 17)])
    >>> join_tokens(["他", "在", "北京"], "zh")
    ('他在北京', [(0, 1), (1, 2), (2, 4)])

    Args:
        token_list: The tokens.
        lang: Their language (ISO 639-1).
    """
    text = NOT.sub(r"\1", MosesDetokenizer(lang=lang).detokenize(token_list, unescape=False))
    if all(CHARACTER_WITHOUT_SPACES.match(token) for token in token_list[:1]) or lang in ("zh", "ja"):
        text = "".join(token_list)
    token_spans = _locate_tokens(text, token_list)
    if token_spans is None:  # a token with a space in it, or one that Moses writes otherwise
        text = " ".join(token_list)
        token_spans = _locate_tokens(text, token_list)
    assert token_spans is not None
    return text, token_spans


def _locate_tokens(text: str, token_list: Sequence[str]) -> list[Span] | None:
    """Where tokens stand in a text, one after another; None if they are not all of its visible characters."""
    token_spans, position = [], 0
    for token in token_list:
        begin = text.find(token, position)
        if begin < 0 or text[position:begin].strip():
            return None
        position = begin + len(token)
        token_spans.append((begin, position))
    return None if text[position:].strip() else token_spans


def entities(tags: Sequence[str]) -> list[Span]:
    """The first token of each entity, and the token after it.

    >>> entities(["O", "B-PER", "I-PER", "B-LOC", "O", "ORG", "ORG"])
    [(1, 3), (3, 4), (5, 7)]
    """
    entity_spans: list[Span] = []
    for index, tag in enumerate(tags):
        if tag == OUTSIDE:
            continue
        if entity_spans and entity_spans[-1][1] == index and not tag.startswith(BEGINS):
            entity_spans[-1] = entity_spans[-1][0], index + 1
        else:
            entity_spans.append((index, index + 1))
    return entity_spans


def retagged(
    token_list: Sequence[str], tags: Sequence[Any], names: Sequence[str], lang: str, outside: Any, paraphrase: str
) -> tuple[list[str], list[Any]] | None:
    """The tokens and tags of a paraphrase; None where an entity is not in it, or two can no longer be told apart.

    >>> retagged(["Tom", "left", "."], [1, 0, 0], ["B-PER", "O", "O"], "en", 0, "Away went Tom!")
    (['Away', 'went', 'Tom', '!'], [0, 0, 1, 0])

    Args:
        token_list: The tokens of the text.
        tags: Their tags, as the column has them.
        names: The names of the tags.
        lang: The language of the text.
        outside: The tag of a token that is in no entity.
        paraphrase: What the text is replaced with.
    """
    (text, token_spans), entity_spans = join_tokens(token_list, lang), entities(names)
    new_spans = find_again(
        text, [(token_spans[begin][0], token_spans[end - 1][1]) for begin, end in entity_spans], paraphrase
    )
    if new_spans is None:
        return None
    new_tokens: list[str] = []
    new_tags: list[Any] = []
    position = 0
    for (begin, end), (first, last) in sorted(zip(new_spans, entity_spans, strict=True)):
        between = tokens(paraphrase[position:begin])
        if new_tokens and not between and new_tags[-1] != outside and not names[first].startswith(BEGINS):
            return None  # it would go on with the entity before it
        new_tokens += [*between, *token_list[first:last]]
        new_tags += [outside] * len(between) + list(tags[first:last])
        position = end
    rest = tokens(paraphrase[position:])
    return new_tokens + rest, new_tags + [outside] * len(rest)
