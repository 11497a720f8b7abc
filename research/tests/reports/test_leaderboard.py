"""The lines of the leaderboard are in the order that its page says."""

from itertools import groupby
from statistics import fmean

from research.reports import figures_leaderboard


def cells_of(table):
    """The cells of the lines of a table, without its head."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:] if line]


def test_every_table_has_its_best_line_first():
    similarity = [float(line[8]) for line in cells_of(figures_leaderboard.leaderboard_similarity())]
    pairs = [fmean((float(line[1]), float(line[3]))) for line in cells_of(figures_leaderboard.leaderboard_pairs())]
    errors = [float(line[-1]) for line in cells_of(figures_leaderboard.leaderboard_paraphrasus())]
    assert similarity == sorted(similarity, reverse=True) and errors == sorted(errors)
    assert pairs == sorted(pairs, reverse=True) and len(pairs) == len(errors) > 3
    lines = cells_of(figures_leaderboard.leaderboard_paraphrasers())
    for texts, of_set in groupby(lines, key=lambda line: line[1]):
        shares = [float(line[3]) for line in of_set]
        assert shares == sorted(shares, reverse=True) and len(shares) > 1, texts
