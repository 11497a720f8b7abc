"""What the papers asked people about paraphrases."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Question:
    """A question about a text.

    Attributes:
        name: The column of its answers.
        asks: The question as an annotator reads it.
        kind: "slider" for a number from 0 to 100, "levels" for one of `levels`, "flag" for yes or no.
        levels: What an answer means, the best first; of a slider its two ends.
    """

    name: str
    asks: str
    kind: Literal["slider", "levels", "flag"]
    levels: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Sheet:
    """How a paper asked.

    Attributes:
        name: The name of the sheet.
        questions: The questions about each text.
        texts: Paraphrases that are judged beside each other, on one page.
        judgments: Annotators who judge each page.
        size: References, or pairs, that the paper sampled of each group.
        seconds: What a text takes, about.
        example: A reference, and paraphrases of it, each with how it could be judged.
        controls: The share of pages' places that hold a copy of the reference.
        ranges: Edges of ranges of the paraphrase score, from each of which `size` pairs are sampled.
    """

    name: str
    questions: tuple[Question, ...]
    texts: int
    judgments: int
    size: int
    seconds: int
    example: tuple[str, tuple[tuple[str, str], ...]]
    controls: float = 0.0
    ranges: tuple[float, ...] = ()

    @property
    def required(self) -> list[str]:
        """The names of the questions without an answer by default."""
        return [question.name for question in self.questions if question.kind != "flag"]


# ParaBank (Hu et al. 2019a), sections 5.3 and 5.5; ParaBank 2 (Hu et al. 2019b), section 3.5
PARABANK = Sheet(
    "parabank",
    (
        Question(
            "similarity",
            "How similar is the meaning?",
            "slider",
            {0: "opposite, or nothing to do with it", 100: "identical"},
        ),
        Question("ungrammatical", "certainly ungrammatical", "flag"),
        Question("nonsensical", "makes no sense at all", "flag"),
    ),
    texts=5,  # section 5.3: "five attempted paraphrases at the same time"
    judgments=3,  # section 5.3: "at least 3 different workers"
    size=100,  # section 5.3: of "each of the four English token lengths"
    seconds=10,  # ours: a guess
    example=(
        "He didn't come because he was ill.",
        (
            ("He stayed away since he was sick.", "about 95: the same, in other words"),
            ("He was ill.", "about 50: half of the meaning is missing"),
            ("He came because of he was ill.", "about 5, and ungrammatical: it says the opposite, with an error"),
        ),
    ),
    controls=0.05,  # the share of copies among the judgments that the authors released; the paper: "occasionally"
)
# ParaNMT-50M (Wieting & Gimpel 2018), section 3.2 and table 3
PARANMT = Sheet(
    "paranmt",
    (
        Question(
            "strength",
            "How near is the meaning?",
            "levels",
            {
                3: "the same meaning; unimportant details may differ",
                2: "roughly the same; something important is missing or a little different",
                1: "not the same, even if details are shared",
            },
        ),
        Question(
            "fluency",
            "How fluent is the paraphrase?",
            "levels",
            {3: "no grammatical error", 2: "one or two errors", 1: "more errors, or no natural sentence"},
        ),
    ),
    texts=1,
    judgments=2,  # section 3.2: "two domain experts"
    size=100,  # section 3.2: "100 examples from each of five ranges"
    seconds=15,  # ours: a guess
    example=(
        "He didn't come because he was ill.",
        (
            ("He stayed away since he was sick.", "meaning 3, fluency 3"),
            ("He didn't came.", "meaning 2, because the reason is missing; fluency 2, with one error"),
        ),
    ),
    ranges=(-0.1, 0.2, 0.4, 0.6, 0.8, 1.0),  # table 3; open below, closed above
)
# ParaZh-22M (Hao et al. 2022), section 3.2 and tables 4 and 5
PARAZH = Sheet(
    "parazh",
    (
        Question(
            "consistency",
            "Do both sentences have the same meaning?",
            "levels",
            {
                5: "exactly, in all details",
                4: "mostly; unimportant details differ",
                3: "roughly; something important is missing or a little different",
                2: "no, though a few details are shared",
                1: "no, they are totally different",
            },
        ),
        Question(
            "fluency",
            "How many grammatical errors does the pair have?",
            "levels",
            {5: "none", 4: "one", 3: "two", 2: "three", 1: "more"},
        ),
        Question(
            "diversity",
            "How much does the wording differ?",
            "levels",
            {
                5: "more than one change of grammar, or more than two of words",
                4: "a slight change of grammar",
                3: "the same grammar, two changes of words",
                2: "the same grammar, one change of words",
                1: "nearly not at all",
            },
        ),
    ),
    texts=1,
    judgments=2,  # section 3.2: "Each sample is rated by 2 experts"
    size=800,  # section 3.2: "800 sentence pairs from each dataset"
    seconds=20,  # ours: a guess
    example=(
        "He didn't come because he was ill.",
        (
            ("He stayed away since he was sick.", "meaning 5, errors 5 (none), wording 5: three changes of words"),
            ("He didn't came.", "meaning 3, because the reason is missing; errors 4 (one); wording 1"),
        ),
    ),
)
SHEETS = {sheet.name: sheet for sheet in (PARABANK, PARANMT, PARAZH)}
