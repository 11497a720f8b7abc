"""SentencePiece models, and the ids a translator knows their pieces by.

What it does not do: no normalisation (`normalize.py`), no choice of a language (`translator/languages.py`).
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import sentencepiece
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from transformers import MarianTokenizer

from toolkit.system.errors import check_several
from toolkit.system.whole_files import whole_file

CHARACTER_COVERAGE = 0.9999  # ParaBank 2, section 3.2
VOCABULARY = 20_000  # ParaBank 2, section 3.2, each side
SPACE = "▁"  # SentencePiece's white space symbol
MANY = 16  # ours: a list of texts costs SentencePiece a thread, as much time as so many texts
LANGUAGE_TOKEN = re.compile(r">>(.+)<<")  # before a source, in Marian models of several target languages
EOS, UNK, PAD = 0, 1, 2  # ours: the ids of a Marian vocabulary start with </s> and <unk>


def train_pieces(
    sentences: Iterable[str],
    path: Path,
    vocabulary: int = VOCABULARY,
    coverage: float = CHARACTER_COVERAGE,
    seed: int = 0,
    specials: tuple[int, int, int] = (EOS, UNK, PAD),
) -> None:
    """Train a unigram SentencePiece model (Kudo 2018) and write it to `path`.

    Digits are single pieces (ParaBank, section 3.1). Ids of the model are ids of the vocabulary.

    Args:
        sentences: The training text, one sentence an item.
        path: The file to write, usually `source.spm` or `target.spm`.
        vocabulary: The greatest number of pieces; a small text gives fewer.
        coverage: The share of characters that get a piece of their own, in (0, 1].
        seed: Of the sample of sentences that a large text is reduced to.
        specials: The ids of </s>, <unk> and <pad>; Marian's, unless given.

    Source: ParaBank 2 (Hu et al. 2019b), section 3.2.
    """
    eos, unk, pad = specials
    sentencepiece.set_random_generator_seed(seed)
    with whole_file(path) as temporary, temporary.open("wb") as writer:
        SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=writer,
            model_type="unigram",
            vocab_size=vocabulary,
            character_coverage=coverage,
            hard_vocab_limit=False,
            split_digits=True,
            normalization_rule_name="identity",
            eos_id=eos,
            unk_id=unk,
            pad_id=pad,
            bos_id=-1,
            input_sentence_size=5_000_000,
            shuffle_input_sentence=True,
            num_threads=1,
            minloglevel=2,
        )


def marian_tokenizer(source: Path, target: Path, folder: Path) -> MarianTokenizer:
    """A MarianTokenizer on one joint SentencePiece model (`source` == `target`) or on two, saved in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    joint = source == target
    for spm, name in ((source, "source.spm"), (target, "target.spm")):
        if spm != folder / name:
            shutil.copyfile(spm, folder / name)
    for spm, name in ((source, "vocab.json"), (target, "target_vocab.json"))[: 1 if joint else 2]:
        processor = SentencePieceProcessor(model_file=str(spm))
        vocabulary = {processor.id_to_piece(i): i for i in range(processor.get_piece_size())}
        (folder / name).write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    tokenizer = MarianTokenizer(
        str(folder / "source.spm"),
        str(folder / "target.spm"),
        str(folder / "vocab.json"),
        target_vocab_file=None if joint else str(folder / "target_vocab.json"),
        separate_vocabs=not joint,
    )
    tokenizer.save_pretrained(folder)
    return tokenizer


def check_texts(texts: Collection[str]) -> None:
    """Check that texts are a list or another collection of strings.

    Raises:
        ValueError: They are a single string, or one of them is no string.
    """
    check_several(texts, "a list of texts")
    if not isinstance(texts, Collection):
        raise ValueError(f"wanted a list of texts, got a {type(texts).__name__}: put one text in a list")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"wanted text at index {i}, got {'None' if text is None else type(text).__name__}")


class Pieces:
    """One side of a translator's subwords: text to ids and back, at SentencePiece's own speed.

    A Marian vocabulary numbers pieces in its own order (`vocab.json`), so ids of the SentencePiece model are translated
    by a table. A piece that the vocabulary lacks becomes <unk>. Tokens that were added to the tokenizer are found in
    texts as they are written; language tokens (">>fra<<") are not, and have no text.

    Args:
        processor: The SentencePiece model.
        vocabulary: Piece to id, with the added tokens.
        eos: Id of the token that ends a sentence.
        unk: Id of the unknown token.
        prefix: Ids before those of every text.
        added: Tokens that were added to the tokenizer.
    """

    def __init__(
        self,
        processor: SentencePieceProcessor,
        vocabulary: dict[str, int],
        eos: int,
        unk: int,
        prefix: Sequence[int] = (),
        added: Collection[str] = (),
    ):
        self.processor, self.vocabulary, self.eos, self.unk = processor, vocabulary, eos, unk
        self.prefix, self._added = list(prefix), frozenset(added)
        longest_first = sorted(self._added, key=len, reverse=True)
        self._added_in_text = re.compile(f"({'|'.join(map(re.escape, longest_first))})") if added else None
        self.names = {i: piece for piece, i in vocabulary.items()}
        self._without_text = {eos, unk, *(i for i, name in self.names.items() if LANGUAGE_TOKEN.fullmatch(name))}
        pieces = [processor.id_to_piece(i) for i in range(processor.get_piece_size())]
        self._ids = np.array([vocabulary.get(piece, unk) for piece in pieces])
        self._said = self._texts_of_pieces()
        self._identical = bool((self._ids == np.arange(len(pieces))).all())

    def encode(self, texts: Sequence[str], alpha: float | None = None) -> list[list[int]]:
        """Ids of each text, EOS at the end: its Viterbi segmentation, or with `alpha` a sampled one.

        Args:
            texts: Sentences.
            alpha: Smoothing of the segmentation lattice (Kudo 2018): 0 is uniform, large is Viterbi; None is Viterbi.

        Raises:
            ValueError: The texts are no list of strings.
        """
        check_texts(texts)
        if self._added_in_text and any(map(self._added_in_text.search, texts)):
            return [[*self.prefix, *self._ids_around_added(text, alpha), self.eos] for text in texts]
        encoded = self._segment(texts, int) if alpha is None else self._sample(texts, alpha)
        if self._identical:
            return [[*self.prefix, *ids, self.eos] for ids in encoded]
        return [[*self.prefix, *self._ids[ids].tolist(), self.eos] for ids in encoded]

    def _sample(self, texts: Sequence[str], alpha: float) -> list[list[int]]:
        """A sampled segmentation of each text, in ids of the SentencePiece model."""
        return self.processor.encode(list(texts), enable_sampling=True, alpha=alpha, nbest_size=-1)

    def _ids_around_added(self, text: str, alpha: float | None) -> list[int]:
        """The ids of a text in which added tokens may stand; what is between them is segmented part by part."""
        ids: list[int] = []
        for part in self._around_added(text):
            plain_parts = [] if part in self._added else [part]
            for part_ids in self._segment(plain_parts, int) if alpha is None else self._sample(plain_parts, alpha):
                ids += self._ids[part_ids].tolist()
            ids += [self.vocabulary[part]] if part in self._added else []
        return ids

    def _around_added(self, text: str) -> list[str]:
        """A text cut before and behind every added token."""
        return [part for part in self._added_in_text.split(text) if part] if self._added_in_text else [text]

    def split(self, text: str) -> list[str]:
        """The pieces of a text in its Viterbi segmentation, as strings; a word's first begins with "▁"."""
        return self.split_all([text])[0]

    def split_all(self, texts: Sequence[str]) -> list[list[str]]:
        """The pieces of each text; see `split`."""
        if self._added_in_text is None:
            return self._segment(texts, str)
        parts = [self._around_added(text) for text in texts]
        pieces = [[[part] if part in self._added else self._segment([part], str)[0] for part in row] for row in parts]
        return [[piece for part in row for piece in part] for row in pieces]

    def _segment(self, texts: Sequence[str], out_type: type) -> list[list]:
        """The Viterbi segmentation of each text, as pieces (`str`) or as ids of the SentencePiece model (`int`)."""
        if len(texts) < MANY:
            return [self.processor.encode(text, out_type=out_type) for text in texts]
        return self.processor.encode(list(texts), out_type=out_type, num_threads=1)

    def surfaces(self) -> list[str]:
        """The text of each id: its piece, with a space where it begins a word; "" for specials."""
        return ["" if i in self._without_text else self._id_text(i) for i in range(max(self.names) + 1)]

    def _id_text(self, i: int) -> str:
        """The text of an id that is no special; an added token begins a word."""
        name = self.names.get(i, "")
        return f" {name}" if name in self._added else name.replace(SPACE, " ")

    def spell(self, phrase: str) -> list[int] | None:
        """The ids that say a phrase, without EOS; None where the vocabulary lacks a character of it."""
        ids = self.encode([phrase])[0][len(self.prefix) : -1]
        return None if self.unk in ids or not ids else ids

    def decode(self, sequences: Iterable[Sequence[int]]) -> list[str]:
        """The text of each sequence of ids, specials left out, detokenised."""
        return [self._decode_ids(ids).strip() for ids in sequences]

    def _decode_ids(self, ids: Sequence[int]) -> str:
        """The text of a sequence of ids."""
        try:
            return "".join(map(self._said.__getitem__, ids))
        except KeyError:
            names = [self.names[i] for i in ids if i not in self._without_text]
            return self.processor.decode_pieces([SPACE + name if name in self._added else name for name in names])

    def _texts_of_pieces(self) -> dict[int, str]:
        """What each id adds to a text, without those that SentencePiece must decode together: bytes of a character.

        To join these texts takes a third of the time of SentencePiece. None are given if that would be another text.
        """
        texts, added = {}, {}
        for i, name in self.names.items():
            n = self.processor.piece_to_id(name)
            if i in self._without_text or self.processor.is_byte(n):
                continue
            if name in self._added:
                added[i] = f" {name}"
                continue
            text = name if n == self.processor.unk_id() else name.replace(SPACE, " ")
            texts[i] = "" if self.processor.is_control(n) else text
        decoded = self.processor.decode_pieces([self.names[i] for i in texts])
        if "".join(texts.values()).strip() != decoded.strip():
            return {}
        return texts | added | dict.fromkeys(self._without_text, "")

    def __len__(self) -> int:
        return len(self.vocabulary)


def pieces_of(tokenizer: MarianTokenizer, language_token: int | None = None) -> tuple[Pieces, Pieces]:
    """The source side and the target side of a Marian tokenizer.

    Args:
        tokenizer: Of the checkpoint.
        language_token: Id of the token that selects the target language; it stands before every source.
    """
    eos, unk = tokenizer.eos_token_id, tokenizer.unk_token_id
    added = _added_tokens(tokenizer)
    source = {**dict(tokenizer.encoder), **added}
    prefix = [] if language_token is None else [language_token]
    if tokenizer.separate_vocabs:  # an added token has an id of the source side, which is another piece's on the target
        target, target_added = dict(tokenizer.target_encoder), set[str]()
    else:
        target, target_added = source, set(added)
    return (
        Pieces(tokenizer.spm_source, source, eos, unk, prefix, set(added)),
        Pieces(tokenizer.spm_target, target, eos, unk, (), target_added),
    )


def _added_tokens(tokenizer: MarianTokenizer) -> Mapping[str, int]:
    """The tokens that were added to a Marian tokenizer and stand for themselves in a text, and their ids.

    What ends or fills a text and what selects a language is none of them, because a text that spells it means its
    letters.
    """
    specials = {tokenizer.eos_token_id, tokenizer.unk_token_id, tokenizer.pad_token_id}
    tokens = tokenizer.get_added_vocab().items()
    return {token: i for token, i in tokens if i not in specials and not LANGUAGE_TOKEN.fullmatch(token)}
