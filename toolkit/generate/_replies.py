"""From what a language model replies to the sentence that was asked for."""

from __future__ import annotations

import re

REFUSAL = re.compile(
    r"\b(as an? (ai|language model)|i('m| am) (sorry|unable|not able)|i (can't|cannot|can not|won't) (help|assist|"
    r"fulfil|provide|paraphrase|rewrite|comply|do that)|i apologi[sz]e)\b",
    re.IGNORECASE,
)
# What models say before a sentence: "Sure! Here is a paraphrase:", "Paraphrase:", "1. "
OPENING = re.compile(
    r"^(?:(?:sure|certainly|of course|okay|ok|absolutely)(?: thing)?(?:[!.]\s+|[,:]?\s*(?=here\b|this is\b)))?"
    r"(?:(?:here(?:'s| is| are)|this is|one (?:way|option)|a possible)\b[^:\n]{0,80}:\s*|"
    r"(?:the )?(?:new sentence|paraphrase[sd]?(?: sentence| version)?|in other words|rewritten(?: sentence)?|"
    r"answer|output|sentence|rephrased(?: sentence)?)\s*(?:\d+\s*)?:\s*)?"
    r"(?:(?:\d{1,2}[.)]|[-*•])\s+)?",
    re.IGNORECASE,
)
# What they say after it: notes in brackets or on lines of their own
CLOSING = re.compile(r"\s*[(\[](?:note|explanation|\d+ words)\b.*$", re.IGNORECASE | re.DOTALL)
QUOTES = (('"', '"'), ("“", "”"), ("'", "'"), ("**", "**"), ("[[", "]]"), ("`", "`"))


def is_refusal(reply: str, reference: str) -> bool:
    """Whether a model says that it will not answer; what the reference says itself is none.

    >>> is_refusal("I'm sorry, but I can't help with that.", "He left."), is_refusal("I am sorry.", "I'm sorry!")
    (True, False)
    """
    return REFUSAL.search(reply.replace("’", "'")) is not None and REFUSAL.search(reference.replace("’", "'")) is None


def sentence_in(reply: str, reference: str) -> tuple[str, bool]:
    r"""The sentence of a reply, and whether there was something else in it.

    The sentence is what follows the usual openings ("Sure! Here is a paraphrase:"), on the first line that has text,
    without quotation marks around it and without a note after it. What the reference begins or ends with itself stays.

    >>> sentence_in('Sure! Here is a paraphrase:\n\n"He went away."\n\n(Note: informal)', "He left.")
    ('He went away.', True)
    >>> sentence_in("He went away.", "He left.")
    ('He went away.', False)
    """
    whole = reply.strip()
    text = _without_opening(whole, reference)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    first = _without_opening(first, reference) if first != whole else first
    if not CLOSING.search(reference):
        first = CLOSING.sub("", first).strip()
    for begin, end in QUOTES:
        inside = first[len(begin) : len(first) - len(end)]
        if first.startswith(begin) and first.endswith(end) and len(first) > len(begin + end) and end not in inside:
            first = first if reference.startswith(begin) and reference.endswith(end) else inside.strip()
    return first, first != whole


def _without_opening(text: str, reference: str) -> str:
    """A text without what models say first, unless the reference begins so, too."""
    opening = OPENING.match(text)
    reference_opening = OPENING.match(reference)
    return (
        text[opening.end() :].lstrip()
        if opening and opening.end() and not (reference_opening and reference_opening.end())
        else text
    )
