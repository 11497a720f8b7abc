import re

import numpy as np
import pytest

import toolkit
from builders.paranmt import ParaNMTRun
from tests.tiny import pairs
from toolkit.bitext.words import words_of
from toolkit.encoder.load import load_encoder
from toolkit.score.semantic import semantic_signature
from toolkit.starters import STARTERS, starter

LARGEST = 12e6  # bytes of one starter
ALL = 62e6  # of all together


def size(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_starters_are_small():
    sizes = {path.name: size(path) for path in STARTERS.iterdir() if path.is_dir() and path.name[0] != "_"}
    assert set(sizes) == {"de-en", "en-de", "encoder", "paraphraser", "infiller", "rewriter"}
    assert max(sizes.values()) <= LARGEST and sum(sizes.values()) <= ALL


def test_an_unknown_starter_names_those_there_are():
    message = "wanted a starter model of de-en, en-de, encoder, infiller, paraphraser, rewriter, got 'fr-en'"
    with pytest.raises(ValueError, match=re.escape(message)):
        starter("fr-en")


def test_the_starter_encoder_knows_a_paraphrase():
    encoder = load_encoder(str(toolkit.starter("encoder")))
    vectors = encoder.encode(
        ["He is very happy.", "He's really glad.", "The train leaves at nine.", "", "\N{GRINNING FACE}"],
        normalize_embeddings=True,
    )
    cosines = vectors @ vectors.T
    assert cosines[0, 1] > 0.5 > cosines[0, 2] + 0.2
    assert not vectors[3].any() and np.isfinite(vectors).all()


def test_the_starter_encoder_is_the_paraphrase_score_unless_told_otherwise():
    run = ParaNMTRun(bitext=["x.tsv"], source_lang="de", lang="en", output_dir="y", forward="starter/de-en")
    encoder = load_encoder(run.semantic_model)
    assert semantic_signature(encoder, run.semantic_model).startswith("cosine|encoder:starter/encoder|9.6M|tokens:all")


@pytest.mark.slow
def test_the_starter_paraphraser_says_short_sentences_in_other_words():
    paraphraser = toolkit.Paraphraser("starter/paraphraser", dtype="float32")
    texts = [reference for _, reference in pairs(320) if 5 <= len(reference.split()) <= 9][:30]
    results = paraphraser.candidates(texts, n=3)
    paraphrases = [[candidate for candidate in candidates if candidate.rank is not None] for candidates in results]
    assert sum(map(bool, paraphrases)) >= 0.7 * len(texts) and sum(map(len, paraphrases)) >= 1.2 * len(texts)
    assert np.mean([candidate.scores.semantic for candidates in paraphrases for candidate in candidates]) > 0.7
    assert paraphraser.known_words and all(
        words_of(candidate.text) <= paraphraser.known_words | words_of(text)
        for text, candidates in zip(texts, paraphrases, strict=True)
        for candidate in candidates
    )
