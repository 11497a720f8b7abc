"""Augment a file, or a data set of the Hub, with paraphrases of its rows (also `python -m toolkit.augmentation`)."""

from toolkit.augmentation.__main__ import PROGRAM as PROGRAM
from toolkit.augmentation.__main__ import main as main
