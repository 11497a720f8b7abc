"""The pictures of a card: which there are, and that they are pictures; their numbers are those of the statistics."""

import pytest

from toolkit.package import plots
from toolkit.package.plots import ASSETS, _draw_pictures, _funnel
from toolkit.system.whole_files import read_record


def texts_of(figure):
    return [text.get_text() for axes in figure.axes for text in (*axes.texts, *axes.get_yticklabels())]


def test_pictures_beside_the_card(demo_parabank):
    names = sorted(path.name for path in (demo_parabank / ASSETS).iterdir())
    assert names == ["diversity.png", "funnel.png", "lengths.png", "scores.png"]
    card = (demo_parabank / "README.md").read_text()
    for name in names:
        assert (demo_parabank / ASSETS / name).read_bytes().startswith(b"\x89PNG") and f"({ASSETS}/{name})" in card
    sums = (demo_parabank / "SHA256SUMS").read_text()
    assert all(f"  {ASSETS}/{name}\n" in sums for name in names)


def test_the_funnel_says_the_counts(demo_parabank):
    statistics = read_record(demo_parabank / "statistics.json")
    texts = texts_of(_funnel(statistics))
    for text in (
        "lines of the bitext",
        "9",
        "too_long",
        "3",
        "candidates",
        "10",
        "dual",
        "2",
        "became paraphrases",
        "7",
    ):
        assert text in texts, text


def test_without_scores_or_ranks_there_is_no_picture_of_them(demo_parabank, pictures, tmp_path):
    statistics = read_record(demo_parabank / "statistics.json")
    statistics["paraphrases_per_reference"] = {"0": 3, "1": 7}
    assert _draw_pictures(statistics | {"scores": {}}, tmp_path) == ["funnel", "lengths"]
    assert sorted(path.stem for path in (tmp_path / ASSETS).iterdir()) == ["funnel", "lengths"]


def test_numbers_of_pairs_are_marked_at_whole_numbers(demo_parabank):
    """Where the greatest is 5 or 12, matplotlib would else mark halves, which would be rounded."""
    statistics = read_record(demo_parabank / "statistics.json")
    for most in (1, 2, 3, 5, 12):
        bins = {"least": -1.0, "width": 0.02, "pairs": [most] * 50}
        counted = plots._scores(statistics | {"scores": {"dual": bins}}).axes[0].get_yticks()
        funnel = plots._funnel(statistics | {"inputs": {"lines": most, "refused": {}}}).axes[0].get_xticks()
        assert all(tick == round(tick) for tick in (*counted, *funnel))


@pytest.mark.parametrize("name", plots.SHOWN)
def test_every_score_has_a_name_on_its_axis(name):
    from toolkit.package._histograms import SCORES

    assert name in SCORES and len(plots.SHOWN) == len(SCORES)
