import pytest
import torch

from toolkit.models.positions import KINDS, fast_positions
from toolkit.translator.load import load_checkpoint


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "dtype"), [((512, 256), torch.float32), ((5, 7), torch.float32), ((40, 16), torch.bfloat16)]
)
def test_the_table_is_that_of_transformers(kind, shape, dtype):
    embedding = kind(*shape).to(dtype)
    expected = embedding.create_weight()
    with fast_positions():
        table = embedding.create_weight()
    assert table.dtype == expected.dtype
    assert torch.equal(table, expected)


def test_the_classes_are_left_as_they_were():
    before = [kind.create_weight for kind in KINDS]
    with pytest.raises(KeyError), fast_positions():
        raise KeyError
    assert [kind.create_weight for kind in KINDS] == before


def test_a_loaded_model_has_it():
    loaded, _ = load_checkpoint("starter/de-en", torch.float32)
    positions = loaded.get_encoder().embed_positions
    assert torch.equal(positions.weight, positions.create_weight())
