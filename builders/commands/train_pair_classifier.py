r"""Train a classifier of sentence pairs on paraphrase identification, and then on a labelled or scored task.

    parabank train pair_classifier --base_model google-bert/bert-base-uncased \
        --parabank build/parabank2 --encoder build/word --epochs 1 --output_dir build/pbert
    parabank train pair_classifier --base_model build/pbert/model --output_dir build/pbert-mrpc \
        --task msr-para-train.tsv --columns "#1 String" "#2 String" Quality --test msr-para-val.tsv
    parabank train pair_classifier --base_model build/pbert/model --output_dir build/pbert-stsb \
        --task sts-train.csv --columns 5 6 4 --scored --test sts-dev.csv

The first command trains ParaBank 2's pBERT (section 3.8): the positive example of a sentence is a paraphrase, and the
negative one the most similar sentence that is no paraphrase. The second command continues from it with a new random
output layer, and so does the third, whose labels are scores from 0 to 5. `--processes N` starts N processes on this
machine, one for each GPU. Run the same command again after an interruption: it continues from the last checkpoint.
--test prints accuracy and F1 of the finished classifier, or Pearson's and Spearman's correlation if the labels are
scores.
"""

from __future__ import annotations

from toolkit.pair_classifier.settings import PairClassifierSettings
from toolkit.system.command import run_script

PROGRAM = "parabank train pair_classifier"


def main(arguments: list[str]) -> int:
    """Parse the command line, train, measure; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", PairClassifierSettings, _work, arguments, resumes=True)


def _work(settings: PairClassifierSettings) -> None:
    """Train, and print the measures of the finished classifier on labelled files."""
    from toolkit.pair_classifier.tasks import SCORES_SIGNATURE, SIGNATURE
    from toolkit.system.processes import processes
    from toolkit.train.pair_classifier import measure, train

    model = train(settings)
    if processes().is_main_process:
        print(f"{model}: start a task from it, or load it with sentence_transformers.CrossEncoder")
        signature = SCORES_SIGNATURE if settings.scored else SIGNATURE
        for path, measures in measure(model, settings.test, settings.columns, settings.scored).items():
            print(f"{path}: {measures}  {signature}")
