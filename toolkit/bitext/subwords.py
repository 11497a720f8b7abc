"""SentencePiece models, and the ids a translator knows their pieces by.

What it does not do: no normalisation (`normalize.py`), no language codes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import numpy as np
import sentencepiece
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from transformers import MarianTokenizer

CHARACTER_COVERAGE = 0.9999  # ParaBank 2, section 3.2
VOCABULARY = 20_000  # ParaBank 2, section 3.2, each side
SPACE = "▁"  # SentencePiece's white space symbol
MANY = 16  # ours: a list of texts costs SentencePiece a thread, as much time as so many texts
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
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as writer:
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
    temporary.rename(path)


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
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Collection):
        raise ValueError(f"wanted a list of texts, got a {type(texts).__name__}: put one text in a list")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"wanted text at index {i}, got {'None' if text is None else type(text).__name__}")


class Pieces:
    """One side of a translator's subwords: text to ids and back, at SentencePiece's own speed.

    A Marian vocabulary numbers pieces in its own order (`vocab.json`), so ids of the SentencePiece model are translated
    by a table. A piece that the vocabulary lacks becomes <unk>.

    Args:
        processor: The SentencePiece model.
        vocabulary: Piece to id.
        eos: Id of the token that ends a sentence.
        unk: Id of the unknown token.
    """

    def __init__(self, processor: SentencePieceProcessor, vocabulary: dict[str, int], eos: int, unk: int):
        self.processor, self.vocabulary, self.eos, self.unk = processor, vocabulary, eos, unk
        self.names = {i: piece for piece, i in vocabulary.items()}
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
        if alpha is None:
            encoded = self._segmented(texts, int)
        else:
            encoded = self.processor.encode(list(texts), enable_sampling=True, alpha=alpha, nbest_size=-1)
        if self._identical:
            return [[*ids, self.eos] for ids in encoded]
        return [[*self._ids[ids].tolist(), self.eos] for ids in encoded]

    def split(self, text: str) -> list[str]:
        """The pieces of a text in its Viterbi segmentation, as strings; a word's first begins with "▁"."""
        return self.split_all([text])[0]

    def split_all(self, texts: Sequence[str]) -> list[list[str]]:
        """The pieces of each text, as of `split`."""
        return self._segmented(texts, str)

    def _segmented(self, texts: Sequence[str], out_type: type) -> list[list]:
        """The Viterbi segmentation of each text, as pieces (`str`) or as ids of the SentencePiece model (`int`)."""
        if len(texts) < MANY:
            return [self.processor.encode(text, out_type=out_type) for text in texts]
        return self.processor.encode(list(texts), out_type=out_type, num_threads=1)

    def surfaces(self) -> list[str]:
        """The text of each id: its piece, with a space where it begins a word; "" for specials."""
        return [
            "" if name is None or i in (self.eos, self.unk) else name.replace(SPACE, " ")
            for i, name in ((i, self.names.get(i)) for i in range(max(self.names) + 1))
        ]

    def spell(self, phrase: str) -> list[int] | None:
        """The ids that say a phrase, without EOS; None where the vocabulary lacks a character of it."""
        ids = self.encode([phrase])[0][:-1]
        return None if self.unk in ids or not ids else ids

    def decode(self, sequences: Iterable[Sequence[int]]) -> list[str]:
        """The text of each sequence of ids, specials left out, detokenised."""
        return [self._decoded(ids).strip() for ids in sequences]

    def _decoded(self, ids: Sequence[int]) -> str:
        """The text of a sequence of ids."""
        try:
            return "".join(map(self._said.__getitem__, ids))
        except KeyError:
            return self.processor.decode_pieces([self.names[i] for i in ids if i not in (self.eos, self.unk)])

    def _texts_of_pieces(self) -> dict[int, str]:
        """What each id adds to a text, without those that SentencePiece must decode together: bytes of a character.

        To join these texts takes a third of the time of SentencePiece. None are given if that would be another text.
        """
        texts = {}
        for i, name in self.names.items():
            n = self.processor.piece_to_id(name)
            if i in (self.eos, self.unk) or self.processor.is_byte(n):
                continue
            said = name if n == self.processor.unk_id() else name.replace(SPACE, " ")
            texts[i] = "" if self.processor.is_control(n) else said
        decoded = self.processor.decode_pieces([self.names[i] for i in texts])
        return texts | {self.eos: "", self.unk: ""} if "".join(texts.values()).strip() == decoded.strip() else {}

    def __len__(self) -> int:
        return len(self.vocabulary)


def pieces_of(tokenizer: MarianTokenizer) -> tuple[Pieces, Pieces]:
    """The source side and the target side of a Marian tokenizer."""
    eos, unk = tokenizer.eos_token_id, tokenizer.unk_token_id
    source: dict[str, int] = dict(tokenizer.encoder)
    target = dict(tokenizer.target_encoder) if tokenizer.separate_vocabs else source
    return (
        Pieces(tokenizer.spm_source, source, eos, unk),
        Pieces(tokenizer.spm_target, target, eos, unk),
    )
