"""The guard of persons."""

import pytest

from toolkit.score._persons import changes_person
from toolkit.score.guards import broken_guard


@pytest.mark.parametrize(
    ("reference", "candidate", "changed"),
    [
        ("He usually gets up early.", "It usually gets up early.", True),
        ("Our neighbors sell their house.", "Our neighbors sell her house.", True),
        ("I told him.", "I told her.", True),
        ("We'll call you.", "I'll call you.", True),
        ("She’s lost hers.", "She has lost her own.", False),
        ("Let's go.", "We go.", False),
        ("He told us.", "We were told by him.", False),
        ("It is raining.", "There is rain.", False),
        ("The thesis is his.", "The thesis belongs to him.", False),
        ("Yourself and me", "You and I", False),
    ],
)
def test_other_persons(reference, candidate, changed):
    assert changes_person(reference, candidate, "en") is changed
    assert (broken_guard(reference, candidate, "en", ("person",)) == "person") is changed


def test_languages_without_pronouns_here_are_not_asked():
    assert not changes_person("Er kommt.", "Sie kommt.", "de")
