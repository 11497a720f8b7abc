"""The subwords of any tokenizer of `transformers`, with the methods of `subwords.Pieces`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from transformers import PreTrainedTokenizerBase

from toolkit.bitext.subwords import SPACE, Pieces, check_texts

SENTINEL = re.compile(r"<extra_id_\d+>")  # T5's, before what an infiller writes


class HubPieces(Pieces):
    """One side of the subwords of any tokenizer of `transformers`, with the same methods as a Marian translator's.

    Args:
        tokenizer: Of the checkpoint.
        prefix: Ids before those of each text.
        suffix: Ids after those of each text; EOS is among them.
        task: Text that is put before every text, as T5's checkpoints require: "translate English to German: ".
        size: Size of the model's vocabulary, which may exceed that of its tokenizer; None is the tokenizer's.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        prefix: Sequence[int],
        suffix: Sequence[int],
        task: str = "",
        size: int | None = None,
    ):
        self.tokenizer, self.vocabulary = tokenizer, tokenizer.get_vocab()
        self.prefix, self.suffix, self.task = list(prefix), list(suffix), task
        self.eos, self.unk = tokenizer.eos_token_id, tokenizer.unk_token_id
        self.names = {i: piece.replace("Ġ", SPACE) for piece, i in self.vocabulary.items()}
        known = max(self.names) + 1
        self.size = known if size is None else max(size, known)
        # M2M100's language codes are in no vocabulary and no list of special tokens
        self.special = {*tokenizer.all_special_ids, *getattr(tokenizer, "lang_code_to_id", {}).values()}
        special_texts = {token for token in tokenizer.all_special_tokens if not SENTINEL.fullmatch(token)}
        self._special_in_text = re.compile("|".join(map(re.escape, sorted(special_texts, key=len, reverse=True))))

    def encode(self, texts: Sequence[str], alpha: float | None = None) -> list[list[int]]:
        """Ids of each text between the prefix and the suffix; `alpha` must be None.

        A text that spells a special token ("</s>") means its letters: a space parts them, because a tokenizer would
        take it for the token. The sentinels of T5 are read as such.

        Raises:
            ValueError: There is an alpha, or the texts are no list of strings.
        """
        if alpha is not None:
            raise ValueError("wanted alpha None, got a number: only SentencePiece models sample segmentations")
        check_texts(texts)
        if not texts:
            return []
        # verbose would warn of texts that are too long for the model, which the callers refuse
        tokenized = self.tokenizer(
            [self.task + self._special_in_text.sub(_apart, text) for text in texts],
            add_special_tokens=False,
            verbose=False,
        )
        return [[*self.prefix, *ids, *self.suffix] for ids in tokenized["input_ids"]]

    def split_all(self, texts: Sequence[str]) -> list[list[str]]:
        """The pieces of each text as strings; a word's first begins with "▁"."""
        return [[piece.replace("Ġ", SPACE) for piece in self.tokenizer.tokenize(text)] for text in texts]

    def surfaces(self) -> list[str]:
        """The text of each id, with a space where it begins a word; "" for specials."""
        return [self._surface(i) for i in range(self.size)]

    def _surface(self, i: int) -> str:
        """The text of one id."""
        if i in self.special or i not in self.names:
            return ""
        piece = str(self.tokenizer.convert_ids_to_tokens(i))
        if piece.startswith(SPACE):  # a tokenizer leaves out a text's first space
            return " " + self.tokenizer.convert_tokens_to_string([piece]).lstrip(" ")
        return self.tokenizer.convert_tokens_to_string([piece])

    def spell(self, phrase: str) -> list[int] | None:
        """The ids that say a phrase after a space, without EOS; None where the vocabulary cannot."""
        ids = self.tokenizer(f" {phrase}", add_special_tokens=False)["input_ids"]
        return None if self.unk in ids or not ids else ids

    def decode(self, sequences: Iterable[Sequence[int]]) -> list[str]:
        """The text of each sequence of ids, specials left out."""
        text_ids = [[i for i in ids if i not in self.special and i in self.names] for ids in sequences]
        return [str(self.tokenizer.decode(ids, clean_up_tokenization_spaces=False)).strip() for ids in text_ids]


def _apart(special: re.Match[str]) -> str:
    """A special token that a text spells, with a space behind its first letter."""
    return f"{special[0][0]} {special[0][1:]}"


def hub_pieces(
    tokenizer: PreTrainedTokenizerBase, forced_first: int | None = None, task: str = "", size: int | None = None
) -> tuple[HubPieces, HubPieces]:
    """The source side and the target side of a tokenizer of `transformers`, set to its languages if it has any.

    Args:
        tokenizer: Of the checkpoint.
        forced_first: The token that a decoder is given before it chooses any; the target side leaves it out.
        task: Text before every source.
        size: Size of the model's vocabulary.

    Raises:
        ValueError: The tokenizer has no token that ends a text, or puts its specials into the middle of one.
    """
    if tokenizer.eos_token_id is None:
        raise ValueError(
            f"wanted a tokenizer with a token that ends a text, got a {type(tokenizer).__name__} without one: choose "
            "another checkpoint"
        )
    prefix, suffix = _around(tokenizer)
    before, _ = _around(tokenizer, target=True)
    target_prefix = before[1:] if before[:1] == [forced_first] else before
    return HubPieces(tokenizer, prefix, suffix, task, size), HubPieces(
        tokenizer, target_prefix, [tokenizer.eos_token_id], "", size
    )


def _around(tokenizer: PreTrainedTokenizerBase, target: bool = False) -> tuple[list[int], list[int]]:
    """The ids that a tokenizer puts before and behind a text."""
    text = "a"
    body = tokenizer(text, add_special_tokens=False)["input_ids"]
    whole = (tokenizer(text_target=text) if target else tokenizer(text))["input_ids"]
    position = next((i for i in range(len(whole)) if body and whole[i : i + len(body)] == body), None)
    if position is None:
        raise ValueError(f"wanted a tokenizer that puts its specials around a text, got {whole} of {body} for {text!r}")
    return whole[:position], whole[position + len(body) :]
