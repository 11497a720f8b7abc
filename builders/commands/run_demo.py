"""Build a small parabank from the bitext that ships with the package, show it, and paraphrase five sentences."""

from builders.demo import PROGRAM as PROGRAM
from builders.demo import main as main
