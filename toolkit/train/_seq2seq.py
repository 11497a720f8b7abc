"""`Seq2SeqTrainer` with batches of similar length and with pairs of unequal weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from accelerate.data_loader import prepare_data_loader
from accelerate.utils import extract_model_from_parallel
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, Seq2SeqTrainer, Seq2SeqTrainingArguments

from toolkit.models.padding import pad
from toolkit.models.trainer_arguments import shared_options, trainer_arguments
from toolkit.paraphraser.settings import ParaphraserTraining
from toolkit.train._batches import Batches
from toolkit.train._session import CHECKPOINTS
from toolkit.train.infiller_settings import InfillerTraining
from toolkit.train.translator_loss import _LinearCrossEntropy

if TYPE_CHECKING:
    from peft import PeftModel

IGNORED = -100  # the label of padding, as in all of transformers
EVALUATED = 64  # ours: held-out examples at a time


def training_arguments(
    settings: ParaphraserTraining | InfillerTraining, steps: int, options: Mapping[str, Any]
) -> Seq2SeqTrainingArguments:
    """The trainer's settings; the data loader holds all epochs, so the trainer counts one.

    Args:
        settings: Those of the training.
        steps: Steps of the whole training.
        options: Arguments of this kind of training, by name.
    """
    checkpoints = Path(settings.output_dir, CHECKPOINTS)
    all_options = shared_options(settings, checkpoints) | dict(
        max_steps=steps,
        ddp_find_unused_parameters=False,  # a search in the graph of every step
        per_device_eval_batch_size=EVALUATED,
        remove_unused_columns=False,
        warmup_steps=min(settings.warmup_steps, steps // 10),
        label_names=["labels"],
        eval_strategy="steps",
        eval_steps=settings.save_every,
    )
    return trainer_arguments(Seq2SeqTrainingArguments, settings.dtype, {**all_options, **options})


def same_draws(device: torch.device) -> AbstractContextManager[None]:
    """What the block draws at random changes no later draw, on the processor or on a process's own GPU."""
    return torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])


class Collate:
    """Examples as padded tensors, with what the decoder reads.

    Args:
        model: Says what its decoder reads.
        pad_id: Of the model's pieces.
    """

    def __init__(self, model: PreTrainedModel | PeftModel, pad_id: int) -> None:
        self.decoder_inputs: Any = getattr(model, "prepare_decoder_input_ids_from_labels", None)
        self.start, self.pad_id = model.config.decoder_start_token_id, pad_id

    def __call__(self, examples: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        """Pad `input_ids` and `labels` of each example; `weight` is copied where there is one."""
        inputs = pad([example["input_ids"] for example in examples], self.pad_id)
        attention_mask = pad([[1] * len(example["input_ids"]) for example in examples], 0)
        labels = pad([example["labels"] for example in examples], IGNORED)
        batch = {"input_ids": inputs, "attention_mask": attention_mask, "labels": labels}
        if self.decoder_inputs is not None:
            batch["decoder_input_ids"] = self.decoder_inputs(labels=labels)
        else:  # M2M100 and NLLB
            target_ids = labels.masked_fill(labels == IGNORED, self.pad_id)
            batch["decoder_input_ids"] = torch.cat(
                [target_ids.new_full((len(target_ids), 1), self.start), target_ids[:, :-1]], 1
            )
        if "weight" in examples[0]:
            batch["weight"] = torch.tensor([example["weight"] for example in examples])
        return batch


class ParaphraserTrainer(Seq2SeqTrainer):
    """The library's trainer; its order of batches and its loss are ours.

    Attributes:
        batches: The batches of the whole training.
        smoothing: Label smoothing.
    """

    batches: Batches
    smoothing: float
    _adds_bias: bool | None = None  # whether the model adds one to its logits, as is asked of a device once
    loss_is_scaled_for_ga = False  # the loss is a mean over a batch

    def get_train_dataloader(self) -> DataLoader:
        """The batches of all epochs, shared by the processes."""
        data: Any = self.train_dataset
        pinned = self.args.dataloader_pin_memory
        loader = DataLoader(data, batch_sampler=self.batches, collate_fn=self.data_collator, pin_memory=pinned)
        return prepare_data_loader(
            loader, self.accelerator.device, put_on_device=True, even_batches=False, non_blocking=pinned
        )

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        """No warning: a training's own checkpoints lack only tied weights, which they hold under another name."""

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: dict[str, Tensor],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """The cross-entropy of a token, averaged over all tokens by the weight of their pair."""
        labels, weight = inputs["labels"], inputs.get("weight")
        model_inputs = {name: value for name, value in inputs.items() if name not in ("labels", "weight")}
        smoothing = self.smoothing if model.training else 0.0
        is_token = labels != IGNORED
        token_weights = is_token.float() * (1.0 if weight is None else weight[:, None])
        network: Any = extract_model_from_parallel(model)
        head, bias = network.get_output_embeddings(), getattr(network, "final_logits_bias", None)
        if return_outputs or type(head) is not nn.Linear or head.bias is not None:
            outputs = model(**model_inputs)
            targets, logits = labels.flatten(), outputs.logits.float().flatten(0, 1)
            losses = cross_entropy(logits, targets, ignore_index=IGNORED, reduction="none", label_smoothing=smoothing)
            loss = (losses * token_weights.flatten()).sum() / token_weights.sum()
            return (loss, outputs) if return_outputs else loss
        with _inputs_of(head) as hidden:
            model(**model_inputs)
        if self._adds_bias is None:
            self._adds_bias = bias is not None and bool(bias.any())
        logits_bias = bias[0] if self._adds_bias else None
        places = is_token.flatten().nonzero().flatten()
        vectors, tokens, weights = (tensor.flatten(0, 1)[places] for tensor in (hidden[0], labels, token_weights))
        loss = _LinearCrossEntropy.apply(vectors, head.weight, tokens, smoothing, logits_bias, weights)
        return loss / token_weights.sum()


@contextmanager
def _inputs_of(head: nn.Linear) -> Iterator[list[Tensor]]:
    """A list that gets what the output layer of a model reads, while the layer itself computes no logits.

    What it returns is one number that depends on all weights, because DistributedDataParallel looks at the outputs of a
    model for weights that get no gradient.
    """
    inputs: list[Tensor] = []

    def keep(hidden: Tensor) -> Tensor:
        in_autocast = torch.is_autocast_enabled(hidden.device.type)
        inputs.append(hidden.to(torch.get_autocast_dtype(hidden.device.type)) if in_autocast else hidden)
        return hidden[:1, :1, :1] + head.weight[0, 0]

    vars(head)["forward"] = keep  # for this layer alone: its class keeps its own
    try:
        yield inputs
    finally:
        del vars(head)["forward"]
