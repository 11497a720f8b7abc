"""BERTScore against the authors' own program, with a small encoder of random weights."""

import bert_score
import pytest
import torch
from tokenizers import BertWordPieceTokenizer
from transformers import BertConfig, BertModel, BertTokenizerFast

from tests import families
from tests.tiny import pairs
from toolkit.score.bertscore import bertscore, bertscore_signature, load_bertscore

REFERENCES = [reference for _, reference in pairs(40)]
CANDIDATES = [*(f"{text} {REFERENCES[n - 1]}" for n, text in enumerate(REFERENCES[:20])), *REFERENCES[21:], "So."]
LAYER = 2


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    save_encoder(folder, REFERENCES)
    return folder


def save_encoder(folder, texts):
    """Write a small BERT of random weights, whose pieces are those of the texts."""
    folder.mkdir(exist_ok=True)
    tokenizer = BertWordPieceTokenizer()
    tokenizer.train_from_iterator(texts, vocab_size=300, show_progress=False)
    tokenizer.save_model(str(folder))
    BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=128).save_pretrained(folder)
    torch.manual_seed(5)
    sizes = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64}
    config = BertConfig(vocab_size=tokenizer.get_vocab_size(), initializer_range=0.3, **sizes)
    BertModel(config).eval().save_pretrained(folder)


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_the_encoder_of_a_seq2seq_model(family):
    measure = load_bertscore(str(families.checkpoint(family)), 1)
    copies = measure([(text, text) for text in REFERENCES[:5]])
    assert copies == pytest.approx([1.0] * 5, abs=1e-5)
    assert max(measure(list(zip(REFERENCES[:5], REFERENCES[5:10], strict=True)))) < 0.999


def test_it_is_that_of_the_authors_program(encoder):
    model, tokenizer = BertModel.from_pretrained(encoder).eval(), BertTokenizerFast.from_pretrained(encoder)
    scores = bertscore(REFERENCES, CANDIDATES, model, tokenizer, LAYER, batch_size=7)
    _, _, expected = bert_score.score(
        CANDIDATES, REFERENCES, model_type=str(encoder), num_layers=LAYER, idf=False, verbose=False
    )
    assert scores == pytest.approx(expected.tolist(), abs=1e-5)
    assert max(scores) - min(scores) > 0.05, "a test of equal scores would say little"
    copies = bertscore(REFERENCES, REFERENCES, model, tokenizer, LAYER)
    assert copies == pytest.approx([1.0] * len(copies), abs=1e-5)
    assert bertscore_signature(str(encoder), LAYER).startswith(f"BERTScore|encoder:{encoder.name}|layer:2|")
