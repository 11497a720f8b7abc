"""Token and tag lists (named entities) as a text with spans, and a paraphrase of it as token and tag lists again.

An entity is a run of tokens whose tags are not "O", and a tag "B-...", "S-..." or "U-..." begins a new one. Its tokens
and tags come back as they were, so that any scheme (IOB, BIOES, BILOU, plain classes) stays what it is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sacremoses import MosesDetokenizer

from toolkit.augmentation._spans import Span, find_again, within_word
from toolkit.bitext.words import CHARACTER_WITHOUT_SPACES
from toolkit.bitext.words import token_spans as default_spans

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


def tokens_like(text: str, token_list: Sequence[str]) -> list[str]:
    """The tokens of a text, cut as those of a list where it has the same, and else as `words.tokens` does.

    As many characters as possible are in tokens of the list, whose case does not count, and these are as long as
    possible. No token ends within a word, unless the other rule cuts there.

    >>> tokens_like("Fun with @anna :-) I don't.", ["@anna", "has", "fun", ":-)", "I", "do"])
    ['Fun', 'with', '@anna', ':-)', 'I', 'do', "n't", '.']
    >>> tokens_like("昨天他们到北京", ["他们", "昨天", "到"])
    ['昨天', '他们', '到', '北', '京']
    """
    pieces = dict(default_spans(text))
    cuts = {*pieces, *pieces.values()}
    covered = {
        place for begin, end in pieces.items() for place in range(begin, end)
    }  # all but white space and the like
    lower_text, by_first_letter = _lower(text), defaultdict(set)
    for token in map(_lower, token_list):
        by_first_letter[token[:1]].add(token)
    # by place: characters before it that are in no token of the list, tokens before it, and where the last one begins
    best: list[tuple[int, int, int] | None] = [(0, 0, 0), *len(text) * [None]]

    def reach(end: int, candidate: tuple[int, int, int]) -> None:
        best[end] = min(best[end] or candidate, candidate)

    for begin in range(len(text)):
        if (state := best[begin]) is None:  # within a token
            continue
        character_count, token_count, _ = state
        if begin not in covered:
            reach(begin + 1, (character_count, token_count, begin))
        if begin in pieces:
            reach(pieces[begin], (character_count + pieces[begin] - begin, token_count + 1, begin))
        for token in by_first_letter[lower_text[begin]]:
            end = begin + len(token)
            if lower_text.startswith(token, begin) and (end in cuts or not within_word(text, end)):
                reach(end, (character_count, token_count + 1, begin))
    output: list[str] = []
    end = len(text)
    while end and (state := best[end]):
        begin = state[2]
        output += [text[begin:end]] * (begin in covered)
        end = begin
    return output[::-1]


def _lower(text: str) -> str:
    """A text in lower case, each character in its place."""
    return "".join(character.lower() if len(character.lower()) == 1 else character for character in text)


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
        between = tokens_like(paraphrase[position:begin], token_list)
        if new_tokens and not between and new_tags[-1] != outside and not names[first].startswith(BEGINS):
            return None  # it would go on with the entity before it
        new_tokens += [*between, *token_list[first:last]]
        new_tags += [outside] * len(between) + list(tags[first:last])
        position = end
    rest = tokens_like(paraphrase[position:], token_list)
    return new_tokens + rest, new_tags + [outside] * len(rest)
