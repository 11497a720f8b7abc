"""Pieces: texts that are joined from the texts of pieces are SentencePiece's own, and lists are cut as single texts."""

import pytest
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from tests.tiny import DEMO, pairs, translator
from toolkit.bitext.subwords import EOS, MANY, UNK, Pieces

TEXTS = [english for _, english in pairs(3 * MANY)]


def train(path, **options) -> SentencePieceProcessor:
    """A small model of the demo's text."""
    SentencePieceTrainer.train(
        input=str(DEMO), model_prefix=str(path), vocab_size=600, eos_id=EOS, unk_id=UNK, bos_id=-1, pad_id=2,
        minloglevel=2, **options,
    )  # fmt: skip
    return SentencePieceProcessor(model_file=f"{path}.model")


def vocabulary(processor: SentencePieceProcessor) -> dict[str, int]:
    return {processor.id_to_piece(i): i for i in range(processor.get_piece_size())}


def sentencepieces_own(pieces: Pieces, ids: list[int]) -> str:
    names = [pieces.names[i] for i in ids if i not in (EOS, UNK)]
    return str(pieces.processor.decode_pieces(names)).strip()


def test_decoded_texts_are_sentencepieces_own():
    pieces = translator("de-en").target
    assert pieces._said, "no text of a piece is used"
    sequences = [*pieces.encode(TEXTS), [EOS], [], [UNK, 5, 2, 6, UNK, 7], [8, EOS, 9], list(pieces.names)]
    assert pieces.decode(sequences) == [sentencepieces_own(pieces, ids) for ids in sequences]
    assert pieces.decode(pieces.encode(TEXTS))[:5] == TEXTS[:5]


def test_bytes_of_a_character_are_decoded_together(tmp_path):
    processor = train(tmp_path / "bytes", byte_fallback=True)
    pieces = Pieces(processor, vocabulary(processor), EOS, UNK)
    texts = ["Good morning, 京都!", "😀", *TEXTS[:3]]
    assert any(processor.is_byte(i) for i in pieces.encode(texts)[0])
    assert pieces._said and pieces.decode(pieces.encode(texts)) == texts


def test_a_piece_that_the_model_does_not_know_is_written_as_it_is(tmp_path):
    processor = train(tmp_path / "joint")
    pieces = Pieces(processor, vocabulary(processor) | {"▁fremd": 600, "<fra>": 601}, EOS, UNK)
    ids = [pieces.encode(["We go"])[0][0], 600, 601, EOS]
    assert pieces._said and pieces.decode([ids]) == [sentencepieces_own(pieces, ids)]


def test_a_model_that_changes_texts_decodes_them_itself(tmp_path):
    rules = tmp_path / "rules.tsv"
    rules.write_text("41\t42\n", encoding="utf-8")  # code points: A becomes B when a text is decoded
    processor = train(tmp_path / "changed", denormalization_rule_tsv=str(rules))
    pieces = Pieces(processor, vocabulary(processor), EOS, UNK)
    (ids,) = pieces.encode(["A dog"])
    assert pieces.decode([ids]) == [sentencepieces_own(pieces, ids)] == ["B dog"]


@pytest.mark.parametrize("count", [0, 1, MANY - 1, MANY, 3 * MANY])
def test_a_list_is_cut_as_its_texts_alone(count):
    pieces = translator("de-en").target
    assert pieces.encode(TEXTS[:count]) == [ids for text in TEXTS[:count] for ids in pieces.encode([text])]
    assert pieces.split_all(TEXTS[:count]) == [pieces.processor.encode(text, out_type=str) for text in TEXTS[:count]]
    assert all(pieces.split(text) == pieces.split_all([text])[0] for text in TEXTS[:count])
