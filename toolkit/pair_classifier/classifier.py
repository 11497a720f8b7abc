"""A classifier of sentence pairs on any checkpoint, with a randomly initialised output layer, and its training.

The model is a `CrossEncoder` with two outputs and cross-entropy, or for scores with one output and the squared error;
the trainer and its checkpoints are the library's.

Source: ParaBank 2 (Hu et al. 2019b), section 3.8; Devlin et al. (2018), sections 4.1 and A.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from logging import ERROR, getLogger
from pathlib import Path

from datasets import Dataset
from torch.nn import Identity
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertConfig, PreTrainedModel, set_seed
from transformers.utils import logging

from toolkit.models.checkpoint import last_checkpoint, reading_model
from toolkit.models.precision import default_device
from toolkit.models.trainer_arguments import ResumeCallback, shared_options, trainer_arguments
from toolkit.models.weights import load_whole
from toolkit.pair_classifier.pairs import LabelledPair
from toolkit.pair_classifier.settings import _FitSettings
from toolkit.system.extras import naming_extra

with naming_extra():
    from sentence_transformers import CrossEncoder
    from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
    from sentence_transformers.cross_encoder.losses import CrossEntropyLoss, MSELoss

LABELS = 2
SCORE = 1  # outputs for a scored task: GLUE's STS-B is a regression (ParaBank 2, table 4)
HEAD_WIDTH = 64  # Devlin et al. (2018), section 3: 768 / 12
WARMUP, WEIGHT_DECAY = 0.1, 0.01  # Devlin et al. (2018), section A.2 and the released fine-tuning


def write_fresh(base_model: str, folder: str | Path, layers: int, width: int, seed: int) -> Path:
    """Write a BERT with random weights and the tokenizer of another checkpoint, which can be a base model.

    Args:
        base_model: A checkpoint with a tokenizer: a folder or a Hub id.
        folder: Folder of the new checkpoint.
        layers: Number of its layers.
        width: Width of its layers, a multiple of 64.
        seed: Seed of the weights.

    Returns:
        The folder.

    Raises:
        ValueError: The base model has no tokenizer, or the width is no multiple of 64.
    """
    if width % HEAD_WIDTH or width <= 0 or layers <= 0:
        raise ValueError(f"wanted layers, and a width that is a multiple of {HEAD_WIDTH}, got {layers} and {width}")
    with reading_model(base_model, "a checkpoint with a tokenizer", ""):
        tokenizer = AutoTokenizer.from_pretrained(base_model)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=width, num_hidden_layers=layers, num_attention_heads=width // HEAD_WIDTH,
        intermediate_size=4 * width, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    set_seed(seed)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Path(folder)


def new_classifier(base_model: str, max_length: int, seed: int, outputs: int = LABELS) -> CrossEncoder:
    """A classifier on a checkpoint; all layers above the checkpoint's base model are initialised anew.

    Args:
        base_model: A folder or a Hub id of a model that `transformers` can give an output layer: a language model, a
            sentence encoder, an earlier classifier.
        max_length: The most tokens it reads of a pair.
        seed: Seed of the output layer.
        outputs: `LABELS`, or `SCORE` for a scored task; the checkpoint may have another number of outputs.

    Raises:
        ValueError: The base model is no such checkpoint, or a tensor of it is missing or not finite.

    Source: ParaBank 2, section 3.8: "a single task-specific, randomly initialized output layer".
    """
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # it reports the missing output layer, which is expected
    getLogger("sentence_transformers").setLevel(ERROR)  # it reports a sentence encoder without output layer, likewise
    set_seed(seed)

    def load() -> CrossEncoder:
        classifier = CrossEncoder(
            base_model, num_labels=outputs, max_length=max_length, device=str(default_device()),
            model_kwargs={"ignore_mismatched_sizes": True},  # of the output layer, which is initialised anew
            activation_fn=Identity(),  # both losses are of what the layer gives; of one output the default is a sigmoid
        )  # fmt: skip
        _initialise_output_layer(_inner_model(classifier), seed)
        return classifier

    expected, alternatives = "a checkpoint that can have an output layer", "no folder or Hub id of one"
    return load_whole(load, base_model, expected, alternatives, pretrained_of=_inner_model)


def _inner_model(classifier: CrossEncoder) -> PreTrainedModel:
    """The model of transformers in a cross-encoder.

    Raises:
        TypeError: It has none.
    """
    if classifier.model is None:
        raise TypeError("it holds no model of transformers")
    return classifier.model


def _initialise_output_layer(model: PreTrainedModel, seed: int) -> None:
    """Give the layers above a model's base model random weights, which depend on the seed alone."""
    set_seed(seed)
    fresh_model = AutoModelForSequenceClassification.from_config(model.config)
    for name, module in model.named_children():
        if module is not model.base_model:
            module.load_state_dict(fresh_model.get_submodule(name).state_dict())


def fit(classifier: CrossEncoder, pairs: Sequence[LabelledPair], folder: str | Path, settings: _FitSettings) -> float:
    """Train a classifier in place, or resume from the last checkpoint in the folder.

    Args:
        classifier: Return value of `new_classifier`; its weights change.
        pairs: Training pairs.
        folder: Folder of the checkpoints.
        settings: Settings of the training.

    Returns:
        The mean loss of the steps of this call, in nats per pair; for scores, the mean squared error.

    Raises:
        ValueError: There are no pairs, or too few for a step of all processes.
    """
    options = shared_options(settings, Path(folder)) | dict(
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch,
        warmup_steps=WARMUP,
        weight_decay=WEIGHT_DECAY,
        ddp_find_unused_parameters=False,  # it looks into dicts only, and a cross-encoder returns a BatchEncoding
    )
    arguments = trainer_arguments(CrossEncoderTrainingArguments, "auto", options)
    _check_enough(len(pairs), settings.batch, arguments.world_size)
    table = Dataset.from_list([pair._asdict() for pair in pairs])
    loss = CrossEntropyLoss(classifier) if classifier.num_labels == LABELS else MSELoss(classifier)
    trainer = CrossEncoderTrainer(classifier, arguments, table, loss=loss, callbacks=[ResumeCallback()])
    return float(trainer.train(resume_from_checkpoint=last_checkpoint(Path(folder))).training_loss)


def _check_enough(pairs: int, batch: int, processes: int) -> None:
    """Refuse too few pairs; the trainer of several processes drops pairs that do not fill a batch for each process.

    Raises:
        ValueError: There are too few for one step.
    """
    minimum = batch * processes if processes > 1 else 1
    if pairs < minimum:
        raise ValueError(
            f"wanted at least {minimum} labelled pairs for a step of {processes} processes, got {pairs}: "
            "give more, or lower --batch"
        )
