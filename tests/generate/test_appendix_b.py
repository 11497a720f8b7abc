"""The four errors of ParaNet's appendix B, on the sentences of its table 8."""

import pytest

from toolkit.data.rows import Row
from toolkit.generate.infill import infill_rows
from toolkit.generate.keywords import STOP_WORDS, keywords
from toolkit.generate.sentinels import load_infiller
from toolkit.score.guards import broken_guard

NEGATION = "Such a possibility hadn't even been discussed during the planning stages."
ANTONYM = "A large sofa was shoved against the wall, covered in a thin blanket."
MISSING = '"As you command, controller," grudy said, and returned to his station.'
HYPHEN = '"Does the semi-fluidic nature of the crystals present a weakness in that regard?"'


@pytest.fixture(scope="module")
def candidates():
    """What the starter writes for each sentence, with no keyword dropped."""
    infiller = load_infiller("starter/infiller", "float32", "cpu", "en")
    rows = [Row(text, "a", None, None, text, "en", "train", "", "") for text in (NEGATION, ANTONYM, MISSING, HYPHEN)]
    done = infill_rows(rows, infiller, STOP_WORDS, None, 6, 0.0, 2, 48, 2048, 0)
    return {row.reference: [one.text for one in row.candidates if one.reason is None] for row in done}


def test_a_lost_negation(candidates):
    """ "n't" is a keyword, so that every candidate has it; and the guard finds the output of table 8."""
    assert "n't" in [one.text for one in keywords(NEGATION)]
    assert candidates[NEGATION] and all("n't" in text for text in candidates[NEGATION])
    lost = "This was discussed during the planning stages as a possibility."
    assert broken_guard(NEGATION, lost, "en", ("negation",)) == "negation"


def test_an_antonym(candidates):
    """No keyword is replaced without a synonym; that "large" is not replaced by "small" is in test_substitute.py."""
    assert candidates[ANTONYM] and all("large" in text.lower() and "sofa" in text for text in candidates[ANTONYM])


def test_a_missing_noun(candidates):
    assert {"station", "grudy said", "returned", "command", "controller"} == {one.text for one in keywords(MISSING)}
    assert candidates[MISSING] and all("station" in text.lower() for text in candidates[MISSING])


def test_a_split_hyphen_and_marks_in_keywords(candidates):
    found = [one.text for one in keywords(HYPHEN)]
    assert "semi-fluidic nature" in found and not any(set(text) & set(",.?\"'") for text in found)
    assert candidates[HYPHEN] and all("semi-fluidic nature" in text.lower() for text in candidates[HYPHEN])
