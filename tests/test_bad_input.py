"""Bad input to every command: one line says what is wrong, and nothing is written or changed.

A row of `TABLE` is a script, its arguments, a part of the line that it should print, and its exit status: 2 where the
command line itself is wrong, else 1. The arguments are read in the folder that `world` makes.
"""

import gzip
import hashlib
import importlib
import json
import os
import shlex
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from tests import tiny
from tests.conftest import demo_rows, write_run
from toolkit.encoder.modules import sentence_transformer
from toolkit.encoder.settings import EncoderTraining, TransformerTraining
from toolkit.pair_classifier.settings import PairClassifierSettings
from toolkit.system.contents import contents_of, with_contents
from toolkit.system.outputs import LOCK
from toolkit.system.settings import SETTINGS, check_record
from toolkit.train.encoder import new_encoder
from toolkit.train.translator import PREPARED
from toolkit.translator.settings import TrainingSettings

PAIRS = [("the dog sleeps", "the hound rests"), ("rain fell", "it was raining"), ("we go home", "home we go")] * 2
ENCODER = EncoderTraining(pairs=["pairs.tsv"], output_dir="begun", dimensions=3, min_count=1, threads=1)
SIMLEX = "word1\tword2\tPOS\tSimLex999\nold\tnew\tA\t1.58\ndog\thound\tN\t9.1\n"
STS_LINE = "g\tf\ty\t1\t{}\tthe dog sleeps\tthe hound rests\n"

TRAIN = "--pairs {} --output_dir new --dimensions 3 --min_count 1 --threads 1"
FIT = "--pairs pairs.tsv --output_dir new --base_model {}"
TRANSLATE = "--bitext {} --source_lang de --lang en --output_dir new"
TASK = "--base_model words --task task.tsv --output_dir new"
PACKAGE = "--lang en --license cc0-1.0 --text x"
PACKAGED = f"--bitext bitext.tsv --source_lang de {PACKAGE}"
REWRITE = "--model translator --input texts.txt --output new.tsv"
BACK = "--model back --text texts.txt --source_lang de --lang en --output new.tsv --threads 1"
FILTER = "--bitext {} --source_lang de --lang en --forward translator --backward back --output new.tsv --threads 1"
PARAPHRASE = "--pairs {} --size starter --output_dir new"
BEGIN = "--pairs pairs.tsv --base_model {} --output_dir new"
SAVE = "--model {} --test pairs.tsv --license mit --text x --output_dir {}"

BUILD = "--source_lang de --lang en --output_dir new --threads 1 --dtype float32"
BANK2 = f"parabank2 --bitext bitext.tsv --forward translator --backward back {BUILD}"
BANK = f"parabank --bitext bitext.tsv --forward translator --idf idf.tsv --systems 28 {BUILD}"
STARTERS = "--infiller starter/infiller --fluency_model starter/infiller"
NET = f"paranet --lang en --output_dir new --threads 1 {STARTERS}"
INFILL = "--text texts.txt --output_dir new --min_chars 1 --held_out 1"
NMT = f"paranmt --bitext bitext.tsv --forward translator --semantic_model words {BUILD}"

TABLE = [
    # an output that is somebody else's, an input, or no place to write to
    ("train_encoder.py", f"{TRAIN.format('pairs.tsv')} --output_dir theirs", "got theirs, which holds files but no", 1),
    ("train_encoder.py", f"{TRAIN.format('pairs.tsv')} --output_dir notes.txt", "wanted a folder", 1),
    ("train_encoder.py", f"{TRAIN.format('pairs.tsv')} --output_dir notes.txt/new", "got the file", 1),
    ("train_encoder.py", f"{TRAIN.format('pairs.tsv')} --output_dir .", "apart from the input pairs.tsv", 1),
    ("train_encoder.py", f"{TRAIN.format('run')} --output_dir run", "apart from the input run", 1),
    ("train_static_encoder.py", "--pairs pairs.tsv --output_dir theirs", "which holds files but no", 1),
    ("train_static_encoder.py", "--pairs pairs.tsv --output_dir n --teacher words", "wanted dimensions of at most", 1),
    ("train_static_encoder.py", "--pairs pairs.tsv --output_dir n --dtype int8", "wanted dtype of float16, float32", 2),
    ("train_transformer_encoder.py", f"{FIT.format('words')} --output_dir theirs", "which holds files but no", 1),
    ("train_transformer_encoder.py", f"{FIT.format('words')} --output_dir words", "apart from the input words", 1),
    ("train_translator.py", f"{TRANSLATE.format('bitext.tsv')} --output_dir theirs", "which holds files but no", 1),
    ("train_translator.py", f"{TRANSLATE.format('bitext.tsv')} --output_dir notes.txt", "wanted a folder", 1),
    (
        "train_pair_classifier.py",
        f"{TASK} --output_dir theirs",
        "got theirs, which holds files but no settings.json",
        1,
    ),
    ("train_pair_classifier.py", f"{TASK} --output_dir words", "wanted an output folder apart from the input words", 1),
    ("package_encoder.py", f"--model encoder --data data {PACKAGE} --output_dir theirs", "but no measured.json", 1),
    ("package_encoder.py", f"--model encoder --data data {PACKAGE} --output_dir encoder", "apart from the input", 1),
    ("package_encoder.py", f"--model encoder --data data {PACKAGE} --output_dir data", "apart from the input data", 1),
    ("package_translator.py", f"--model translator {PACKAGED} --output_dir theirs", "but no measured.json", 1),
    ("package_translator.py", f"--model translator {PACKAGED} --output_dir translator", "apart from the input", 1),
    ("package_translator.py", f"--model translator {PACKAGED} --output_dir notes.txt", "got the file notes.txt", 1),
    ("count_idf.py", "--bitext bitext.tsv --output bitext.tsv", "wanted an output that is no input, got bitext.tsv", 1),
    ("count_idf.py", "--bitext bitext.tsv --output ./theirs/../bitext.tsv", "wanted an output that is no input", 1),
    ("count_idf.py", "--bitext bitext.tsv --output notes.txt", "got notes.txt, which exists and was not written", 1),
    ("count_idf.py", "--bitext bitext.tsv --output theirs", "wanted a file to write, got the folder theirs", 1),
    ("count_idf.py", "--bitext bitext.tsv --output notes.txt/idf.tsv", "got the file", 1),
    ("rewrite_text.py", f"{REWRITE} --output texts.txt", "wanted an output that is no input, got texts.txt", 1),
    ("rewrite_text.py", f"{REWRITE} --output notes.txt", "got notes.txt, which exists and was not written", 1),
    ("rewrite_text.py", f"{REWRITE} --output theirs", "wanted a file to write, got the folder theirs", 1),
    ("rewrite_text.py", f"{REWRITE} --idf idf.tsv --output idf.tsv", "wanted an output that is no input", 1),
    ("extract_lexicon.py", "--parabank pairs.tsv --output pairs.tsv", "wanted an output that is no input", 1),
    ("extract_lexicon.py", "--parabank pairs.tsv --output notes.txt", "got notes.txt, which exists", 1),
    (
        "extract_lexicon.py",
        "--parabank pairs.tsv --output new.parquet --json notes.txt",
        "got notes.txt, which exists",
        1,
    ),
    ("extract_lexicon.py", "--parabank pairs.tsv --output simlex.txt --simlex simlex.txt", "that is no input", 1),
    ("evaluate_encoder.py", "--encoders words --data data --json notes.txt", "got notes.txt, which exists", 1),
    ("filter_bitext.py", f"{FILTER.format('bitext.tsv')} --output notes.txt/new.tsv", "got the file", 1),
    ("filter_bitext.py", FILTER.format("lost.tsv"), "wanted an existing file, got lost.tsv", 1),
    ("filter_bitext.py", FILTER.format("empty.tsv"), "empty.tsv, which is empty", 1),
    ("filter_bitext.py", FILTER.format("swapped.tsv"), "the columns are swapped", 1),
    ("filter_bitext.py", f"{FILTER.format('bitext.tsv')} --best_share 2", "wanted best_share in [0, 1], got 2.0", 2),
    ("filter_bitext.py", f"{FILTER.format('bitext.tsv')} --backward nan", "wanted finite weights, got NaN", 1),
    ("filter_bitext.py", f"{FILTER.format('bitext.tsv')} --forward other-way", "which reads en and writes de", 1),
    # evaluation sets that a training must not read
    (
        "train_encoder.py",
        f"{TRAIN.format('pairs.tsv')} --decontaminate lost.txt",
        "wanted an existing file, got lost",
        1,
    ),
    ("train_encoder.py", f"{TRAIN.format('pairs.tsv')} --decontaminate empty.tsv", "wanted sentences in empty.tsv", 1),
    ("train_paraphraser.py", f"{PARAPHRASE.format('pairs.tsv')} --decontaminate lost.txt", "got lost.txt: check", 1),
    ("evaluate_encoder.py", "--encoders words --data data --markdown notes.txt", "got notes.txt, which exists", 1),
    ("evaluate_encoder.py", "--encoders words --data data --markdown theirs", "got the folder theirs", 1),
    ("evaluate_encoder.py", "--encoders words --data data --json n --markdown n", "wanted two files to write", 1),
    ("evaluate_encoder.py", "--encoders words --data data --without texts.txt --json texts.txt", "is no input", 1),
    ("train_judgment.py", "--judgments data --output notes.txt", "got notes.txt, which exists and was not written", 1),
    ("train_judgment.py", "--judgments data --output theirs", "wanted a file to write, got the folder theirs", 1),
    # a folder that holds another training, or a damaged one
    ("train_encoder.py", f"{TRAIN.format('pairs.tsv')} --output_dir begun --seed 5", "seed was 0, now 5", 1),
    ("train_encoder.py", f"{TRAIN.format('pairs.tsv')} --output_dir begun", "checkpoint.pt, which is damaged", 1),
    (
        "train_encoder.py",
        f"{TRAIN.format('pairs.tsv')} --output_dir broken",
        "a settings.json that is damaged or not of",
        1,
    ),
    # a text or a model that has changed since a training began
    ("train_encoder.py", f"{TRAIN.format('pairs.tsv')} --output_dir grown", "content of pairs was '1 bytes'", 1),
    ("train_transformer_encoder.py", f"{FIT.format('words')} --output_dir grown-fit", "content of base_model was", 1),
    ("train_translator.py", f"{TRANSLATE.format('bitext.tsv')} --output_dir grown-bitext", "content of bitext was", 1),
    ("train_pair_classifier.py", f"{TASK} --output_dir grown-task", "content of task was '1 bytes'", 1),
    # text to learn from
    ("train_encoder.py", TRAIN.format("lost.tsv"), "got lost.tsv, which does not exist", 1),
    ("train_encoder.py", TRAIN.format("empty.tsv"), "wanted pairs in empty.tsv, got none", 1),
    ("train_encoder.py", TRAIN.format("latin1.tsv"), "latin1.tsv, line 2: wanted UTF-8", 1),
    ("train_encoder.py", TRAIN.format("column.tsv"), "column.tsv, line 1: wanted reference TAB", 1),
    ("train_encoder.py", TRAIN.format("equal.tsv"), "wanted pairs of different texts", 1),
    ("train_encoder.py", TRAIN.format("long.tsv"), "got none (2 over 30 tokens)", 1),
    ("train_encoder.py", TRAIN.format("cut.tsv.gz"), "wanted a whole file, got cut.tsv.gz, broken after line", 1),
    ("train_encoder.py", TRAIN.format("false.tsv.gz"), "got false.tsv.gz, a zip archive: unpack it", 1),
    ("train_encoder.py", TRAIN.format("notes.txt"), "got the file notes.txt: rename it", 1),
    ("train_encoder.py", TRAIN.format("theirs"), "got the folder theirs: check the path", 1),
    ("train_encoder.py", TRAIN.format("lost"), "wanted a parabank, got 'lost': there is no folder", 1),
    ("train_encoder.py", f"{TRAIN.format('pairs.tsv')} --word_vectors lost.txt", "got lost.txt, which is none", 1),
    ("train_encoder.py", f"{TRAIN.format('pairs.tsv')} --word_vectors empty.tsv", "got none in empty.tsv", 1),
    (
        "train_encoder.py",
        f"{TRAIN.format('pairs.tsv')} --word_vectors vectors.txt --dimensions 4",
        "a word and 4",
        1,
    ),
    ("train_encoder.py", f"{TRAIN.format('pairs.tsv')} --word_vectors nan.txt", "3 finite numbers, got 4 fields in", 1),
    (
        "train_transformer_encoder.py",
        FIT.format("lost") + " --batch 2",
        "wanted a model, got 'lost', which is",
        1,
    ),
    ("train_transformer_encoder.py", FIT.format("words") + " --batch 2", "wanted a transformer to begin with", 1),
    ("train_transformer_encoder.py", FIT.format("words"), "wanted pairs of at least 512 references", 1),
    ("train_transformer_encoder.py", f"{FIT.format('words')} --pairs empty.tsv", "in empty.tsv, got none", 1),
    ("train_translator.py", TRANSLATE.format("lost.tsv"), "wanted an existing file, got lost.tsv", 1),
    ("train_translator.py", TRANSLATE.format("empty.tsv"), "got empty.tsv, which is empty", 1),
    ("train_translator.py", TRANSLATE.format("column.tsv"), "wanted at least one usable pair in column.tsv", 1),
    ("train_translator.py", f"{TRANSLATE.format('bitext.tsv')} --validation empty.tsv", "empty.tsv, which is empty", 1),
    ("train_translator.py", TRANSLATE.format("bitext.tsv a.txt b.txt"), "wanted an existing file, got a.txt", 1),
    (
        "train_translator.py",
        f"{TRANSLATE.format('bitext.tsv')} --source_column de",
        "the number of a TSV column",
        1,
    ),
    ("train_translator.py", TRANSLATE.format("swapped.tsv"), "or say --no-check_language", 1),
    (
        "train_translator.py",
        TRANSLATE.format("bitext.tsv") + " --lang fr",
        "wanted the reference side in fr, got en",
        1,
    ),
    ("train_translator.py", f"{TRANSLATE.format('bitext.tsv')} --validation swapped.tsv", "the columns are swapped", 1),
    ("train_translator.py", f"{TRANSLATE.format('bitext.tsv')} --synthetic lost.tsv", "existing file, got lost.tsv", 1),
    (
        "train_translator.py",
        f"{TRANSLATE.format('bitext.tsv')} --synthetic bitext.tsv empty.tsv",
        "empty.tsv, which is empty",
        1,
    ),
    ("train_translator.py", f"{TRANSLATE.format('bitext.tsv')} --synthetic column.tsv", "usable pair in column.tsv", 1),
    ("train_translator.py", f"{TRANSLATE.format('bitext.tsv')} --synthetic swapped.tsv", "the columns are swapped", 1),
    ("train_translator.py", f"{TRANSLATE.format('bitext.tsv')} --base_model lost", "wanted a model, got 'lost',", 1),
    ("train_translator.py", f"{TRANSLATE.format('bitext.tsv')} --base_model words", "wanted a translator, got", 1),
    ("train_translator.py", f"{TRANSLATE.format('bitext.tsv')} --base_model other-way", "give the other direction", 1),
    (
        "train_translator.py",
        f"{TRANSLATE.format('bitext.tsv')} --base_model translator",
        "wanted a translator that parabank train translator made, got 'translator', a Marian model with another",
        1,
    ),
    (
        "train_translator.py",
        f"{TRANSLATE.format('bitext.tsv')} --base_model translator --output_dir translator",
        "apart from the input translator",
        1,
    ),
    ("backtranslate_text.py", f"{BACK} --output notes.txt", "got notes.txt, which exists and was not written", 1),
    ("backtranslate_text.py", f"{BACK} --output texts.txt", "wanted an output that is no input, got texts.txt", 1),
    ("backtranslate_text.py", f"{BACK} --output notes.txt/new.tsv", "got the file", 1),
    ("backtranslate_text.py", f"{BACK} --text lost.txt", "wanted an existing file, got lost.txt", 1),
    ("backtranslate_text.py", f"{BACK} --text texts.txt empty.tsv", "empty.tsv, which is empty", 1),
    ("backtranslate_text.py", f"{BACK} --text cut.tsv.gz", "wanted a whole file, got cut.tsv.gz, broken", 1),
    ("backtranslate_text.py", f"{BACK} --text_column text", "wanted the number of a TSV column", 1),
    (
        "backtranslate_text.py",
        f"{BACK} --min_chars 90",
        "wanted at least one usable sentence in texts.txt, got none",
        1,
    ),
    ("backtranslate_text.py", f"{BACK} --text swapped.tsv --lang de", "wanted text in de, got en", 1),
    ("backtranslate_text.py", f"{BACK} --model lost", "wanted a model, got 'lost'", 1),
    ("backtranslate_text.py", f"{BACK} --model words", "wanted a translator, got 'words'", 1),
    ("backtranslate_text.py", f"{BACK} --model nan", "wanted finite weights, got NaN", 1),
    (
        "backtranslate_text.py",
        f"{BACK} --model other-way --source_lang en --lang de",
        "wanted a translator from de to en, got 'other-way', which reads en and writes de: give the other direction",
        1,
    ),
    ("train_pair_classifier.py", f"{TASK} --task lost.tsv", "got lost.tsv, which does not exist", 1),
    ("train_pair_classifier.py", f"{TASK} --task empty.tsv", "got none in empty.tsv", 1),
    ("train_pair_classifier.py", f"{TASK} --task latin1.tsv", "latin1.tsv, line 2: wanted UTF-8", 1),
    ("train_pair_classifier.py", f"{TASK} --task task.tsv --columns a b c", "wanted columns a, b, c, got sentence1", 1),
    ("train_pair_classifier.py", f"{TASK} --task task.tsv --columns 0 1 2", "a label 0 or 1", 1),
    ("train_pair_classifier.py", f"{TASK} --test lost.tsv", "got lost.tsv, which does not exist", 1),
    (
        "train_pair_classifier.py",
        f"{TASK} --test pairs.tsv",
        "or negatives, got neither in pairs.tsv",
        1,
    ),
    ("train_pair_classifier.py", f"{TASK} --base_model lost", "wanted a model, got 'lost', which is", 1),
    ("train_pair_classifier.py", f"{TASK} --base_model words", "wanted a checkpoint that can have an output layer", 1),
    (
        "train_pair_classifier.py",
        "--base_model words --parabank lost --encoder words --output_dir new",
        "got 'lost'",
        1,
    ),
    (
        "train_pair_classifier.py",
        "--base_model words --parabank theirs --encoder words --output_dir new",
        "got the folder theirs: check the path",
        1,
    ),
    # models, sets and files to measure on
    ("package_encoder.py", f"--model lost --data data {PACKAGE} --output_dir new", "that parabank train encoder", 1),
    ("package_encoder.py", f"--model words --data data {PACKAGE} --output_dir new", "without training.json", 1),
    ("package_encoder.py", f"--model damaged --data data {PACKAGE} --output_dir new", "which is damaged", 1),
    ("package_encoder.py", f"--model encoder --data lost {PACKAGE} --output_dir new", "got lost, which is none", 1),
    ("package_encoder.py", f"--model encoder --data theirs {PACKAGE} --output_dir new", "wanted the files of at", 1),
    (
        "package_encoder.py",
        f"--model encoder --data data {PACKAGE} --output_dir new --tasks sts x",
        "wanted tasks of",
        1,
    ),
    ("package_encoder.py", f"--model encoder --data bad {PACKAGE} --output_dir new", "wanted a score from 0 to 5", 1),
    ("package_translator.py", f"--model lost {PACKAGED} --output_dir new", "that parabank train translator made", 1),
    ("package_translator.py", f"--model words {PACKAGED} --output_dir new", "without training.json", 1),
    ("package_translator.py", f"--model encoder {PACKAGED} --output_dir new", "wanted a translator, got 'encoder'", 1),
    ("package_translator.py", f"--model translator {PACKAGED} --output_dir new --bitext lost.tsv", "got lost.tsv", 1),
    ("package_translator.py", f"--model translator {PACKAGED} --output_dir new --bitext column.tsv", "usable pair", 1),
    ("package_translator.py", f"--model translator {PACKAGED} --output_dir new --bitext swapped.tsv", "are swapped", 1),
    ("package_translator.py", f"--model translator {PACKAGED} --output_dir new --lang fr", "side in fr, got en", 1),
    ("package_translator.py", f"--model other-way {PACKAGED} --output_dir new", "which reads en and writes de", 1),
    ("evaluate_encoder.py", "--encoders nan-words --data data", "got NaN or infinity in 0.embedding.weight", 1),
    ("evaluate_encoder.py", "--encoders lost --data data", "wanted a sentence encoder, got 'lost'", 1),
    ("evaluate_encoder.py", "--encoders words lost --data data", "wanted a sentence encoder, got 'lost'", 1),
    ("evaluate_encoder.py", "--encoders translator --data data", "wanted a sentence encoder, got 'translator'", 1),
    ("evaluate_encoder.py", "--encoders starter/none --data data", "wanted a starter model of", 1),
    ("evaluate_encoder.py", "--encoders words --data lost", "wanted a folder of evaluation sets, got lost", 1),
    ("evaluate_encoder.py", "--encoders words --data theirs", "wanted the files of at least one task in theirs", 1),
    ("evaluate_encoder.py", "--encoders words --data bad --tasks benchmark", "wanted a score from 0 to 5, got '9'", 1),
    ("evaluate_encoder.py", "--encoders words --data data --tasks sts x", "wanted tasks of sts, benchmark", 1),
    ("evaluate_encoder.py", "--encoders words --data data --device tpu9", "wanted a device of this machine", 1),
    ("evaluate_encoder.py", "--encoders words --data data --device cuda:99", "wanted a device of this machine", 1),
    (
        "evaluate_encoder.py",
        "--encoders words --data data --without lost.txt",
        "existing file, got lost.txt",
        1,
    ),
    ("evaluate_encoder.py", "--encoders words --data data --without latin1.tsv", "in line 2 of latin1.tsv", 1),
    ("evaluate_encoder.py", "--encoders words --data data --without empty.tsv", "got none in empty.tsv", 1),
    ("extract_lexicon.py", "--parabank lost --output new.parquet", "a Hub name has the form owner/name", 1),
    ("extract_lexicon.py", "--parabank theirs --output new.parquet", "got the folder theirs: check the path", 1),
    ("extract_lexicon.py", "--parabank empty.tsv --output new.parquet", "none, it is empty", 1),
    ("extract_lexicon.py", "--parabank column.tsv --output new.parquet", "column.tsv, line 1: wanted reference TAB", 1),
    ("extract_lexicon.py", "--parabank long.tsv --output new.parquet", "got none in long.tsv", 1),
    (
        "extract_lexicon.py",
        "--parabank pairs.tsv --output n.parquet --simlex lost.txt",
        "wanted SimLex-999.txt",
        1,
    ),
    ("extract_lexicon.py", "--parabank pairs.tsv --output n.parquet --simlex pairs.tsv", "got none in line 2 of", 1),
    ("extract_lexicon.py", "--parabank pairs.tsv --output n.parquet --simlex empty.tsv", "has no word pair", 1),
    ("count_idf.py", "--bitext lost.tsv --output new.tsv", "wanted an existing file, got lost.tsv", 1),
    ("count_idf.py", "--bitext empty.tsv --output new.tsv", "got empty.tsv, which is empty", 1),
    ("count_idf.py", "--bitext column.tsv --output new.tsv", "wanted usable lines, got none in column.tsv", 1),
    ("count_idf.py", "--bitext cut.tsv.gz --output new.tsv", "wanted a whole file, got cut.tsv.gz", 1),
    ("count_idf.py", "--bitext bitext.tsv --output new.tsv --reference_column en", "the number of a TSV column", 1),
    ("rewrite_text.py", f"{REWRITE} --input lost.txt", "existing file, got lost.txt", 1),
    ("rewrite_text.py", f"{REWRITE} --input empty.tsv", "wanted a text a line, got none in empty.tsv", 1),
    ("rewrite_text.py", f"{REWRITE} --input latin1.tsv", "latin1.tsv, line 2: wanted UTF-8", 1),
    ("rewrite_text.py", f"{REWRITE} --systems 99", "wanted systems 1 to 37", 1),
    ("rewrite_text.py", f"{REWRITE} --systems 1", "wanted --idf FILE for systems 1, got none", 1),
    ("rewrite_text.py", f"{REWRITE} --systems 35", "wanted systems without PPDB, got 35", 1),
    ("rewrite_text.py", f"{REWRITE} --systems 1 --idf notes.txt", "wanted an IDF table", 1),
    ("rewrite_text.py", f"{REWRITE} --systems 1 --idf idf.tsv", "got no word that passes these limits in 2 ref", 1),
    ("rewrite_text.py", f"{REWRITE} --model lost", "wanted a translator, got 'lost'", 1),
    ("rewrite_text.py", f"{REWRITE} --model words", "wanted a translator, got 'words'", 1),
    ("train_judgment.py", "--judgments lost --output new.json", "got lost without ref.tsv.gz", 1),
    ("train_judgment.py", "--judgments judged --output new.json", "got judged/ref.tsv.gz without ref_id", 1),
    # settings
    ("train_encoder.py", TRAIN.format("pairs.tsv") + " --seed -1", "wanted seed from 0 to 4294967295, got -1", 2),
    ("train_encoder.py", TRAIN.format("pairs.tsv") + " --threads 100000", "wanted threads from 1 to 1024", 2),
    ("train_encoder.py", TRAIN.format("pairs.tsv") + " --processes 0", "wanted processes from 1 to 1024, got 0", 2),
    ("train_encoder.py", TRAIN.format("pairs.tsv") + " --margin nan", "wanted margin in [0, 2], got nan", 2),
    ("train_encoder.py", TRAIN.format("pairs.tsv") + " --learning_rate inf", "wanted learning_rate above 0", 2),
    ("train_encoder.py", TRAIN.format("pairs.tsv") + " --negatives_dtype int8", "wanted negatives_dtype of auto", 2),
    ("train_encoder.py", "--pairs pairs.tsv", "wanted --output_dir; give it as a flag", 2),
    ("train_transformer_encoder.py", FIT.format("words") + " --dtype int8", "wanted dtype of auto, float32", 2),
    ("train_transformer_encoder.py", FIT.format("words") + " --seed -1", "wanted seed from 0 to", 2),
    ("train_transformer_encoder.py", FIT.format("words") + " --batch 1", "wanted a batch of at least 2 pairs", 2),
    ("train_translator.py", TRANSLATE.format("bitext.tsv") + " --size huge", "wanted size of parabank2-generation", 2),
    ("train_translator.py", TRANSLATE.format("bitext.tsv") + " --optimizer sgd", "wanted optimizer of muon, adamw", 2),
    ("train_translator.py", TRANSLATE.format("bitext.tsv") + " --max_steps 0", "wanted max_steps of at least 1", 2),
    ("train_translator.py", TRANSLATE.format("bitext.tsv") + " --learning_rate -1", "wanted learning_rate above 0", 2),
    ("train_translator.py", TRANSLATE.format("bitext.tsv") + " --label_smoothing 1", "wanted label_smoothing and", 2),
    ("train_translator.py", TRANSLATE.format("bitext.tsv") + " --dropout nan", "wanted label_smoothing and dropout", 2),
    ("train_translator.py", TRANSLATE.format("bitext.tsv") + " --alpha -1", "wanted alpha of at least 0, got -1.0", 2),
    ("train_translator.py", TRANSLATE.format("bitext.tsv") + " --max_tokens 600", "wanted max_tokens up to 256", 2),
    ("train_translator.py", TRANSLATE.format("bitext.tsv") + " --average 0", "wanted average of at least 1, got 0", 2),
    ("train_translator.py", TRANSLATE.format("bitext.tsv") + " --upsample 0", "wanted upsample of at least 1", 2),
    ("backtranslate_text.py", f"{BACK} --output new.csv", "wanted a file in .tsv, .txt, .parquet", 2),
    ("backtranslate_text.py", f"{BACK} --batch_rows 0", "wanted batch_rows of at least 1, got 0", 2),
    ("backtranslate_text.py", f"{BACK} --lang English", "wanted --lang as a code of ISO", 2),
    ("backtranslate_text.py", f"{BACK} --dtype half", "wanted dtype of auto, bfloat16, float32, int8", 2),
    ("backtranslate_text.py", f"{BACK} --limit 0", "wanted limit of at least 1, got 0", 2),
    ("train_translator.py", TRANSLATE.format("bitext.tsv") + " --seed -3", "wanted seed from 0 to 4294967295", 2),
    ("train_pair_classifier.py", "--base_model words --output_dir new", "wanted either --parabank or --task", 2),
    ("train_pair_classifier.py", f"{TASK} --epochs nan", "wanted epochs above 0, got nan", 2),
    (
        "train_pair_classifier.py",
        f"{TASK} --columns a b",
        "wanted the columns of two sentences and a label, got a, b",
        2,
    ),
    ("train_pair_classifier.py", f"{TASK} --max_cosine 2", "wanted max_cosine in [-1, 1], got 2.0", 2),
    ("train_translator.py", TRANSLATE.format("bitext.tsv") + " --lang English", "wanted --lang as a code of ISO", 2),
    (
        "package_encoder.py",
        f"--model encoder --data data {PACKAGE} --output_dir new --lang englisch",
        "wanted --lang as a",
        2,
    ),
    (
        "package_translator.py",
        f"--model translator {PACKAGED} --output_dir new --source_lang german",
        "--source_lang as",
        2,
    ),
    ("rewrite_text.py", f"{REWRITE} --lang english", "wanted --lang as a code of ISO 639-1", 2),
    ("rewrite_text.py", f"{REWRITE} --beam 0", "wanted beam of at least 1, got 0", 2),
    ("rewrite_text.py", f"{REWRITE} --beam 1000000", "wanted beam of at most 100,000", 2),
    ("rewrite_text.py", f"{REWRITE} --dtype float16", "wanted dtype of auto, bfloat16, float32, int8", 2),
    (
        "extract_lexicon.py",
        "--parabank pairs.tsv --output new.parquet --min_count 0",
        "min_count of at least",
        2,
    ),
    ("count_idf.py", "--bitext bitext.tsv", "wanted --output; give it as a flag", 2),
    ("evaluate_encoder.py", "--encoders words", "wanted --data, --pairs or --suite, got none of them", 2),
    ("package_encoder.py", "--model encoder", "wanted --lang, --license, --text, --output_dir", 2),
    ("package_translator.py", "--model translator --mode x", "unrecognized arguments: --mode x", 2),
    # building: outputs
    ("build_parabank.py", f"{BANK2} --output_dir theirs", "got theirs, which holds files but no parabank.json", 1),
    ("build_parabank.py", f"{BANK2} --output_dir notes.txt", "wanted a folder to write to, got the file notes.txt", 1),
    ("build_parabank.py", f"{BANK2} --output_dir notes.txt/new", "got the file", 1),
    ("build_parabank.py", f"{BANK2} --version one", "wanted a version MAJOR.MINOR.PATCH, got 'one'", 1),
    ("build_parabank.py", f"{BANK2} --output_dir run --output_dir other", "other.shards, which holds files but no", 1),
    ("run_demo.py", "--output_dir theirs", "got theirs, which holds files but no parabank.json", 1),
    ("run_demo.py", "--output_dir other", "other.shards, which holds files but no settings.json", 1),
    ("run_demo.py", "--output_dir notes.txt/new", "got the file", 1),
    # building: the bitext
    ("build_parabank.py", f"{BANK2} --bitext lost.tsv", "wanted an existing file, got lost.tsv", 1),
    ("build_parabank.py", f"{BANK2} --bitext empty.tsv", "got empty.tsv, which is empty", 1),
    ("build_parabank.py", f"{BANK2} --bitext cut.tsv.gz", "wanted a whole file, got cut.tsv.gz", 1),
    ("build_parabank.py", f"{BANK2} --bitext column.tsv", "got none of 2 lines: 2 as columns (too few", 1),
    ("build_parabank.py", f"{BANK2} --bitext a.txt b.txt c.txt", "wanted an existing file, got a.txt", 1),
    ("build_parabank.py", f"{BANK2} --source_column de", "the number of a TSV column, from 0, got 'de'", 1),
    ("build_parabank.py", f"{BANK2} --source_column -1", "the number of a TSV column, from 0, got '-1'", 1),
    ("build_parabank.py", f"{BANK2} --source_column 1 --reference_column 0", "the columns are swapped", 1),
    ("build_parabank.py", f"{BANK2} --lang fr", "wanted the reference side in fr, got en in ", 1),
    ("build_parabank.py", f"{BANK2} --lang English", "wanted --lang as a code of ISO 639-1", 2),
    ("build_parabank.py", f"{BANK2} --source_lang german", "wanted --source_lang as a code of ISO 639-1", 2),
    # building: models and tables
    ("build_parabank.py", f"{BANK2} --forward lost", "wanted a model, got 'lost'", 1),
    ("build_parabank.py", f"{BANK2} --forward words", "got 'words'", 1),
    ("build_parabank.py", f"{BANK2} --backward nan", "nan", 1),
    ("build_parabank.py", f"{BANK2} --backward missing", "missing", 1),
    ("build_parabank.py", f"{BANK2} --forward starter/en-de", "which reads en and writes de", 1),
    ("build_parabank.py", f"{BANK2} --backward starter/xx", "wanted a starter model of de-en, en-de", 1),
    ("build_parabank.py", f"{BANK2} --known_words lost.txt", "one known word a line, got lost.txt, which is none", 1),
    ("build_parabank.py", f"{BANK2} --known_words empty.tsv", "got empty.tsv, which is empty", 1),
    ("build_parabank.py", f"{BANK} --idf lost.tsv", "wanted an IDF table, got lost.tsv, which is no file", 1),
    ("build_parabank.py", f"{BANK} --idf notes.txt", "wanted an IDF table", 1),
    ("build_parabank.py", f"{BANK} --systems 17", "IDF", 1),
    ("build_parabank.py", f"{BANK} --systems 35 --ppdb notes.txt", "notes.txt", 1),
    ("build_parabank.py", f"{NMT} --semantic_model lost", "got 'lost'", 1),
    # building: settings
    ("build_parabank.py", f"{BANK2} --dtype int3", "wanted dtype of auto, bfloat16, float32, int8, got 'int3'", 2),
    ("build_parabank.py", f"{BANK2} --threads 100000", "wanted threads from 1 to", 2),
    ("build_parabank.py", f"{BANK2} --processes 100000", "wanted processes from 1 to", 2),
    ("build_parabank.py", f"{BANK2} --samples_per_set 1000000000000", "wanted constraint_sets x samples_per_set of", 2),
    ("build_parabank.py", f"{BANK2} --constraint_sets 1000000000000", "wanted constraint_sets x samples_per_set of", 2),
    ("build_parabank.py", f"{BANK2} --samples_per_set 1e12", "invalid int value: '1e12'", 2),
    ("build_parabank.py", f"{BANK2} --forbid letters", "wanted forbid of pieces, words, got 'letters'", 2),
    ("build_parabank.py", f"{BANK2} --constraint_rate nan", "wanted constraint_rate in [0, 1]", 2),
    ("build_parabank.py", f"{BANK} --beam 100000", "wanted beam of at most", 2),
    ("build_parabank.py", f"{BANK} --systems 38", "wanted systems 1 to 37", 2),
    ("build_parabank.py", f"{BANK} --systems 35", "wanted PPDB for system 35, got none", 2),
    ("build_parabank.py", f"{NMT} --beam 100000", "wanted beam of at most", 2),
    ("build_parabank.py", f"{NMT} --deciles 8", "--by", 2),
    ("build_parabank.py", f"{NMT} --by semantic --deciles 11", "11", 2),
    ("build_parabank.py", "parabank2 --bitext bitext.tsv", "wanted --lang, --output_dir, --source_lang", 2),
    (
        "build_parabank.py",
        "paranoia",
        "wanted one of parabank2, parabank, paranmt, parazh, paranet, got paranoia",
        2,
    ),
    ("build_parabank.py", f"{BANK2} --config notes.txt", "wanted a mapping of settings", 2),
    ("build_parabank.py", f"{BANK2} --config lost.yaml", "lost.yaml", 2),
    # building from running text
    ("build_parabank.py", f"{NET} --text lost.txt", "wanted an existing file, got lost.txt", 1),
    ("build_parabank.py", f"{NET} --text latin1.tsv", "latin1.tsv, line 2: wanted UTF-8", 1),
    (
        "build_parabank.py",
        f"{NET} --text texts.txt",
        "wanted sentences of 60 to 100 characters with a mark at their end, got none in texts",
        1,
    ),
    ("build_parabank.py", f"{NET} --text cut.tsv.gz", "wanted a whole file, got cut.tsv.gz", 1),
    ("build_parabank.py", f"{NET} --text notes.txt --output_dir theirs", "which holds files but no", 1),
    ("build_parabank.py", f"{NET} --text texts.txt --lang zh", "written with spaces, got zh", 2),
    ("build_parabank.py", f"{NET} --text texts.txt --lang de", "wanted --stop_words for de, got none", 2),
    ("build_parabank.py", f"{NET} --text texts.txt --semantic bleu", "wanted semantic of cosine, bertscore", 2),
    ("build_parabank.py", f"{NET} --text texts.txt --references 0", "wanted references of at least 1, got 0", 2),
    ("build_parabank.py", "paranet --lang en --output_dir new", "wanted --text", 2),
    # training infillers
    ("train_infiller.py", "--text lost.txt --output_dir new", "wanted an existing file, got lost.txt", 1),
    ("train_infiller.py", "--text texts.txt --output_dir new", "wanted more than 1000 sentences of 25 to 170", 1),
    ("train_infiller.py", "--text texts.txt --output_dir theirs", "which holds files but no", 1),
    ("train_infiller.py", "--text texts.txt --output_dir new --any_rate 2", "wanted any_rate in [0, 1], got 2.0", 2),
    ("train_infiller.py", "--text texts.txt --output_dir new --min_chars 200", "wanted max_chars of at least min", 2),
    ("train_infiller.py", f"{INFILL} --base_model translator", "wanted a T5-type model with the tokens", 1),
    ("train_infiller.py", f"{INFILL} --base_model lost", "wanted a model, got 'lost'", 1),
    # training paraphrasers
    ("train_paraphraser.py", PARAPHRASE.format("lost.tsv"), "got lost.tsv, which does not exist", 1),
    ("train_paraphraser.py", PARAPHRASE.format("empty.tsv"), "wanted pairs to train on, got none in empty.tsv", 1),
    ("train_paraphraser.py", PARAPHRASE.format("latin1.tsv"), "latin1.tsv, line 2: wanted UTF-8", 1),
    ("train_paraphraser.py", PARAPHRASE.format("column.tsv"), "column.tsv, line 1: wanted reference TAB", 1),
    ("train_paraphraser.py", PARAPHRASE.format("equal.tsv"), "got none in equal.tsv (refused: 1 equal)", 1),
    ("train_paraphraser.py", PARAPHRASE.format("cut.tsv.gz"), "wanted a whole file, got cut.tsv.gz", 1),
    (
        "train_paraphraser.py",
        PARAPHRASE.format("pairs.tsv --validation equal.tsv"),
        "hold out, got none in equal.tsv",
        1,
    ),
    ("train_paraphraser.py", PARAPHRASE.format("theirs"), "got the folder theirs: check the path", 1),
    ("train_paraphraser.py", PARAPHRASE.format("lost"), "wanted a parabank, got 'lost': there is no folder", 1),
    ("train_paraphraser.py", PARAPHRASE.format("pairs.tsv") + " --output_dir theirs", "which holds files but no", 1),
    ("train_paraphraser.py", PARAPHRASE.format("pairs.tsv") + " --output_dir notes.txt", "wanted a folder", 1),
    ("train_paraphraser.py", PARAPHRASE.format("pairs.tsv") + " --output_dir .", "apart from the input pairs.tsv", 1),
    ("train_paraphraser.py", PARAPHRASE.format("pairs.tsv") + " --weight dual", "wanted pairs with a dual score", 1),
    ("train_paraphraser.py", BEGIN.format("lost"), "wanted a model, got 'lost', which is neither", 1),
    ("train_paraphraser.py", BEGIN.format("starter/none"), "wanted a starter model of de-en, en-de", 2),
    ("train_paraphraser.py", BEGIN.format("back") + " --size starter", "either base_model or size, got both", 2),
    ("train_paraphraser.py", "--pairs pairs.tsv --lang de --output_dir new", "or size, got neither, and lang 'de'", 2),
    ("train_paraphraser.py", "--size starter --output_dir new", "wanted --pairs; give it as a flag", 2),
    ("train_paraphraser.py", PARAPHRASE.format("pairs.tsv") + " --size huge", "wanted size of parabank2-", 2),
    ("train_paraphraser.py", PARAPHRASE.format("pairs.tsv") + " --direction up", "wanted direction of from_ref", 2),
    ("train_paraphraser.py", PARAPHRASE.format("pairs.tsv") + " --lang English", "wanted --lang as a code of", 2),
    ("train_paraphraser.py", PARAPHRASE.format("pairs.tsv") + " --lora_rank 0", "wanted lora_rank of at least 1", 2),
    ("train_paraphraser.py", PARAPHRASE.format("pairs.tsv") + " --held_out -1", "wanted held_out of at least 0", 2),
    ("train_paraphraser.py", PARAPHRASE.format("pairs.tsv") + " --held_out 0 --patience 2", "for patience 2, got", 2),
    ("train_paraphraser.py", PARAPHRASE.format("pairs.tsv") + " --patience -1", "wanted patience of at least 0", 2),
    ("train_paraphraser.py", PARAPHRASE.format("pairs.tsv") + " --label_smoothing 1", "label_smoothing in [0, 1)", 2),
    ("train_paraphraser.py", PARAPHRASE.format("pairs.tsv") + " --config lost.yaml", "lost.yaml", 2),
    # measuring and packaging paraphrasers
    ("evaluate_paraphraser.py", "lost.tsv", "got lost.tsv, which does not exist", 1),
    ("evaluate_paraphraser.py", "empty.tsv", "wanted inputs with 1 human paraphrases each, got none", 1),
    ("evaluate_paraphraser.py", "latin1.tsv", "latin1.tsv, line 2: wanted UTF-8", 1),
    ("evaluate_paraphraser.py", "pairs.tsv --references 3", "wanted inputs with 3 human paraphrases each", 1),
    ("evaluate_paraphraser.py", "pairs.tsv --references 0", "wanted references of at least 1, got 0", 1),
    ("evaluate_paraphraser.py", "pairs.tsv --limit 0", "wanted limit of at least 1, got 0", 1),
    ("evaluate_paraphraser.py", "pairs.tsv --n 0", "wanted n of at least 1, got 0", 1),
    ("evaluate_paraphraser.py", "pairs.tsv --alpha 2", "wanted alpha in [0, 1], got 2.0", 1),
    ("evaluate_paraphraser.py", "pairs.tsv --models lost", "wanted a translator, got 'lost'", 1),
    ("evaluate_paraphraser.py", "pairs.tsv --models translator --lang English", "wanted lang as a code of ISO", 1),
    ("evaluate_paraphraser.py", "pairs.tsv --models translator nan", "nan", 1),
    ("evaluate_paraphraser.py", "pairs.tsv --round_trip translator lost", "wanted a translator, got 'lost'", 1),
    ("evaluate_paraphraser.py", "pairs.tsv --outputs a=lost.txt", "wanted a file of outputs, got lost.txt", 1),
    ("evaluate_paraphraser.py", "pairs.tsv --outputs a=texts.txt", "for each of 6 inputs, got 2 lines in texts", 1),
    ("evaluate_paraphraser.py", "pairs.tsv --encoder lost", "wanted a sentence encoder, got 'lost'", 1),
    ("evaluate_paraphraser.py", "pairs.tsv --json pairs.tsv", "wanted an output that is no input", 1),
    ("evaluate_paraphraser.py", "pairs.tsv --json notes.txt", "got notes.txt, which exists and was not written", 1),
    ("evaluate_paraphraser.py", "pairs.tsv --method magic", "invalid choice: 'magic'", 2),
    ("package_paraphraser.py", SAVE.format("lost", "new"), "parabank train paraphraser made, got lost without", 1),
    ("package_paraphraser.py", SAVE.format("damaged", "new"), "training.json, which is damaged", 1),
    ("package_paraphraser.py", SAVE.format("encoder", "new"), "got encoder, of another training", 1),
    ("package_paraphraser.py", SAVE.format("translator", "theirs"), "which holds files but no measured.json", 1),
    ("package_paraphraser.py", SAVE.format("translator", "translator"), "apart from the input translator", 1),
    ("package_paraphraser.py", SAVE.format("translator", "new") + " --test empty.tsv", "got none in empty.tsv", 1),
    ("package_paraphraser.py", SAVE.format("translator", "new") + " --translators back", "wanted two translators", 2),
    ("package_paraphraser.py", "--model translator", "wanted --test, --output_dir, --license, --text", 2),
    # measuring parabanks
    ("evaluate_parabank.py", "lost", "lost", 1),
    ("evaluate_parabank.py", "theirs", "theirs", 1),
    ("evaluate_parabank.py", "latin1.tsv", "latin1.tsv", 1),
    ("evaluate_parabank.py", "empty.tsv", "empty.tsv", 1),
    ("evaluate_parabank.py", "run --idf notes.txt", "wanted an IDF table", 1),
    ("evaluate_parabank.py", "run --json notes.txt", "got notes.txt, which exists", 1),
    ("evaluate_parabank.py", "run --write_texts notes.txt", "got notes.txt, which exists", 1),
    ("evaluate_parabank.py", "run --parser nonsense", "nonsense", 1),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of good and bad things."""
    folder = tmp_path_factory.mktemp("world")
    write_texts(folder)
    write_models(folder)
    for name, score in (("data", 3), ("bad", 9)):
        (folder / name / "sts" / "benchmark").mkdir(parents=True)
        (folder / name / "sts" / "benchmark" / "sts-dev.csv").write_text(STS_LINE.format(score) + STS_LINE.format(1))
    write_run(folder / "run", demo_rows())
    (folder / "judged").mkdir()
    (folder / "judged" / "ref.tsv.gz").write_bytes(gzip.compress(b"id\tsentence\n1\tWe go.\n"))
    (folder / "other.shards").mkdir()
    (folder / "other.shards" / "notes.txt").write_text("Somebody's own.\n")
    (folder / "theirs").mkdir()
    (folder / "theirs" / "README.md").write_text("Somebody's own.\n")
    return folder


def write_texts(folder: Path) -> None:
    good = "".join(f"{first}\t{second}\n" for first, second in PAIRS)
    labelled = "".join(f"{first}\t{second}\t{n % 2}\n" for n, (first, second) in enumerate(PAIRS))
    long = " ".join(f"word{n}" for n in range(40))
    texts = {
        "pairs.tsv": good,
        "bitext.tsv": "".join(f"{source}\t{reference}\n" for source, reference in tiny.pairs(30)),
        "swapped.tsv": "".join(f"{reference}\t{source}\n" for source, reference in tiny.pairs(30)),
        "task.tsv": f"sentence1\tsentence2\tlabel\n{labelled}",
        "texts.txt": "We go home.\nThe dog sleeps.\n",
        "notes.txt": "Somebody's own notes.\n",
        "empty.tsv": "",
        "column.tsv": "one column\nof text\n",
        "equal.tsv": "the same\tthe same\n",
        "long.tsv": f"{long}\tshort\nbrief\t{long}\n",
        "vectors.txt": "the 0.1 0.2 0.3\ndog 0.4 0.5 0.6\n",
        "nan.txt": "the 0.1 nan 0.3\n",
        "idf.tsv": "# sentences\t4\nthe\t2\n",
        "simlex.txt": SIMLEX,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin1.tsv").write_bytes(b"sentence1\tsentence2\tlabel\ncaf\xe9\tcoffee\t1\n")
    (folder / "cut.tsv.gz").write_bytes(gzip.compress(os.urandom(3000).hex().encode())[:2000])
    (folder / "false.tsv.gz").write_bytes(b"PK\x03\x04" + good.encode())


def write_models(folder: Path) -> None:
    tiny.word_encoder({"[UNK]": [0.0, 0.0], "dog": [1.0, 0.0], "hound": [1.0, 1.0]}).save(str(folder / "words"))
    tiny.word_encoder({"[UNK]": [0.0, 0.0], "dog": [1.0, float("nan")]}).save(str(folder / "nan-words"))
    shutil.copytree(tiny.folder() / "de-en", folder / "translator")
    (folder / "translator" / "words.txt").write_text("dog\n")
    for name in ("back", "nan", "missing"):
        shutil.copytree(tiny.folder() / "en-de", folder / name)
    weights = load_file(folder / "back" / "model.safetensors")
    last = sorted(name for name in weights if "layers" in name)[-1]
    save_file(weights | {last: weights[last] * float("nan")}, folder / "nan" / "model.safetensors")
    save_file({n: w for n, w in weights.items() if n != last}, folder / "missing" / "model.safetensors")
    encoder = sentence_transformer(new_encoder(ENCODER, [text for pair in PAIRS for text in pair]))
    encoder.save(str(folder / "encoder"))
    shutil.copytree(folder / "encoder", folder / "damaged")
    record = {"settings": asdict(ENCODER), "refused": {}, "loss": [], "rows": {}}
    for name in ("encoder", "translator"):
        (folder / name / "training.json").write_text(json.dumps(record))
    (folder / "damaged" / "training.json").write_text('{"settings": ')
    shutil.copytree(folder / "translator", folder / "other-way")
    (folder / "other-way" / "training.json").write_text(
        json.dumps({"settings": {"source_lang": "en", "lang": "de"}, "refused": {}, "loss": [], "rows": {}})
    )
    contents = contents_of({"pairs": [folder / "pairs.tsv"]})
    check_record(folder / "begun" / SETTINGS, with_contents(asdict(ENCODER), contents), set())
    (folder / "begun" / "checkpoint.pt").write_bytes(b"PK\x03\x04 cut short")
    fit = TransformerTraining(pairs=["pairs.tsv"], output_dir="grown-fit", base_model="words")
    translation = TrainingSettings(["bitext.tsv"], "grown-bitext", "de", "en")
    task = PairClassifierSettings(base_model="words", task="task.tsv", output_dir="grown-task")
    changed = {"grown": (ENCODER, "pairs"), "grown-fit": (fit, "base_model"), "grown-task": (task, "task")}
    for name, (settings, grown) in (changed | {"grown-bitext": (translation, "bitext")}).items():
        check_record(folder / name / SETTINGS, with_contents(asdict(settings), {grown: "1 bytes"}), set())
    (folder / "grown-bitext" / PREPARED).write_text("{}")
    (folder / "broken").mkdir()
    (folder / "broken" / SETTINGS).write_text('{"toolkit": ')


def state_of(folder: Path) -> dict[str, str]:
    """Every file and folder, and what is in it; a lock is no content."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in folder.rglob("*")
        if path.name != LOCK
    }


@pytest.mark.parametrize(
    ("script", "arguments", "message", "status"), TABLE, ids=[f"{n}-{row[0]}-{row[2]}" for n, row in enumerate(TABLE)]
)
def test_bad_input_is_one_line_and_changes_nothing(script, arguments, message, status, world, capsys, monkeypatch):
    monkeypatch.chdir(world)
    command = importlib.import_module(f"builders.commands.{script.removesuffix('.py')}")
    before = state_of(world)
    capsys.readouterr()
    try:
        code = command.main(shlex.split(arguments))
    except SystemExit as exit_:
        code = exit_.code
    *usage, line = capsys.readouterr().err.splitlines()
    assert code == status
    assert line.startswith(command.PROGRAM) and message in line, line
    assert not usage or (status == 2 and usage[0].startswith("usage: ") and all(u[0] == " " for u in usage[1:]))
    assert state_of(world) == before
