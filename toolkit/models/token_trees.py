"""The log-probabilities of several texts that begin alike, by a causal language model that reads equal beginnings once.

All texts of a batch stand in one sequence of tokens, and one that several texts have after the same beginning stands
there once. The attention mask lets a token see what comes before it in its own text, and its position is that in its
text. So no token is padding and none is computed twice. Candidates of one text, which share it and many first words,
take a quarter of the time of texts that are read apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from toolkit.models.checkpoint import reading_model
from toolkit.models.language_model import LOGITS, LanguageModel

TOKENS = {
    "cpu": 256,
    "cuda": 1024,
}  # ours: after which a batch is full; attention, which is quadratic, costs little there
LONG_SHARED, SHARED_ROOM = 32, 5  # ours: an instruction with examples, which is then a sixth of a batch at most
CLOSE = {torch.float32: 0.01, torch.bfloat16: 0.2}  # ours: of the logits' spread; those of another context differ by 1
TRIAL = ("She closed the door.", "She shut the door.", "She shut a window.")  # ours: a beginning and two texts


@dataclass
class _TokenTrees:
    """Texts as paths of trees: a token is a node below the token that it follows.

    Attributes:
        ids: The token of each node.
        parents: The number of the node that it follows, which is smaller; -1 for a first token.
        paths: Of each text the nodes whose probabilities count.
        below: The node of each token below another one (-1: below none).
    """

    ids: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    paths: list[list[int]] = field(default_factory=list)
    below: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, beginning: Sequence[int], texts: Iterable[Sequence[int]]) -> None:
        """Add texts after a common beginning, of which only the texts are scored; equal beginnings stand there once.

        Args:
            beginning: Tokens; without any, the first token of a text has no probability.
            texts: The tokens of each text.
        """
        last = -1
        for token in beginning:
            last = self._node(token, last)
        for text in texts:
            node, path = last, []
            for token in text:
                node = self._node(token, node)
                path.append(node)
            self.paths.append([node for node in path if self.parents[node] >= 0])

    def _node(self, token: int, parent: int) -> int:
        """The node of a token below another one, a new one unless it is there."""
        if (parent, token) not in self.below:
            self.below[parent, token] = len(self.ids)
            self.ids.append(token)
            self.parents.append(parent)
        return self.below[parent, token]

    def mask(self) -> Tensor:
        """(nodes, nodes) True where the node of the column is, or comes before, that of the row in a text."""
        sees = torch.eye(len(self.ids), dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                sees[node] |= sees[parent]
        return sees


@torch.inference_mode()
def _tree_log_probabilities(trees: _TokenTrees, model: LanguageModel) -> list[list[float]]:
    """The log-probabilities of the tokens of each text after its beginning.

    Args:
        trees: The texts.
        model: A model that `check_reads_trees` accepts.

    Returns:
        For each path those of its nodes, in nats, <= 0.
    """
    network = model.model
    scored = sorted({node for path in trees.paths for node in path})
    if not scored:
        return [[] for _ in trees.paths]
    followed = sorted({trees.parents[node] for node in scored})
    row_by_node = {node: row for row, node in enumerate(followed)}
    rows = [row_by_node[trees.parents[node]] for node in scored]
    logits = _tree_logits(trees, network, followed)
    logs = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(-1)
    log_probabilities = dict(zip(scored, logs[rows, [trees.ids[node] for node in scored]].tolist(), strict=True))
    return [[log_probabilities[node] for node in path] for path in trees.paths]


def _tree_logits(trees: _TokenTrees, network: Any, nodes: Sequence[int]) -> Tensor:
    """(nodes, vocabulary) logits of the tokens that follow some nodes; the output layer computes no others."""
    sees = trees.mask()
    blocked = torch.zeros(sees.shape, dtype=network.dtype).masked_fill_(~sees, torch.finfo(network.dtype).min)
    return network(
        input_ids=torch.tensor([trees.ids], device=network.device),
        position_ids=(sees.sum(1) - 1)[None].to(network.device),
        attention_mask=blocked[None, None].to(network.device),
        use_cache=False,
        logits_to_keep=torch.tensor(nodes, device=network.device),
    ).logits[0]


def log_probabilities_after(
    queries: Sequence[tuple[Sequence[int], Sequence[Sequence[int]]]],
    model: LanguageModel,
    batch_tokens: int,
    working: Callable[[Sequence[int]], AbstractContextManager[object]] = nullcontext,
) -> list[list[list[float]]]:
    """The log-probabilities of the tokens of texts after beginnings.

    What a model has no positions for is cut: the end of a text, and the first tokens of a beginning that has more than
    half of the positions.

    Args:
        queries: Beginnings, each with the texts that may follow it, as tokens.
        model: A model that `check_reads_trees` accepts.
        batch_tokens: Tokens with which a batch takes no further beginning; `TOKENS` at most.
        working: Called with the number of the beginning of each text of a batch, which is read inside the context that
            it returns.

    Returns:
        For each beginning and each of its texts those of its tokens, in nats, without a first token that has nothing
        before it, and without what was cut.
    """
    config, device = model.model.config, model.model.device.type
    max_positions = _positions(model)
    most_tokens = max(1, LOGITS // config.vocab_size)
    full = min(batch_tokens, TOKENS.get(device, TOKENS["cuda"])) + _shared_room([beginning for beginning, _ in queries])
    full = min(full, most_tokens)
    log_probabilities: list[list[list[float]]] = [[] for _ in queries]
    for trees, numbers in _batches(queries, full, max_positions, most_tokens):
        with working(numbers):
            scores = _tree_log_probabilities(trees, model)
        for number, score in zip(numbers, scores, strict=True):
            log_probabilities[number].append(score)
    return log_probabilities


def _shared_room(beginnings: Sequence[Sequence[int]]) -> int:
    """How many tokens more a batch takes because all beginnings have the same first tokens, which it reads once.

    >>> _shared_room([[1] * 100 + [2, 3], [1] * 100 + [3]]), _shared_room([[1, 2], [1, 3]])
    (500, 0)
    """
    if not beginnings:
        return 0
    in_order = sorted(map(list, beginnings))
    first, last = in_order[0], in_order[-1]  # what these share, all others share, too
    shared = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return SHARED_ROOM * shared if shared >= LONG_SHARED else 0


def longest_beginning(model: LanguageModel) -> int:
    """The most tokens of a beginning that `log_probabilities_after` does not cut."""
    return _positions(model) // 2


def _positions(model: LanguageModel) -> int:
    """The most tokens of a text that a model has positions for."""
    return getattr(model.model.config, "max_position_embeddings", None) or 1 << 30


def _batches(
    queries: Sequence[tuple[Sequence[int], Sequence[Sequence[int]]]], full: int, max_positions: int, most_tokens: int
) -> Iterator[tuple[_TokenTrees, list[int]]]:
    """The trees of each batch, and the number of the beginning of each of their texts.

    Args:
        queries: Beginnings, each with the texts that may follow it, as tokens.
        full: Tokens with which a batch takes no further beginning.
        max_positions: Positions of the model.
        most_tokens: Tokens of a batch at most, unless a single text has more.
    """
    trees, numbers = _TokenTrees(), list[int]()
    for number, (beginning, texts) in enumerate(queries):
        beginning = beginning[-(max_positions // 2) :]
        for part in _parts([text[: max_positions - len(beginning)] for text in texts], most_tokens - len(beginning)):
            trees.add(beginning, part)
            numbers += [number] * len(part)
            if len(trees.ids) >= full:
                yield trees, numbers
                trees, numbers = _TokenTrees(), []
    if numbers:
        yield trees, numbers


def _parts(texts: Sequence[Sequence[int]], max_tokens: int) -> Iterator[Sequence[Sequence[int]]]:
    """Cut texts into groups of at most so many tokens, or of one text.

    >>> list(_parts(["abc", "de", "f", "ghijkl", ""], 3))
    [['abc'], ['de', 'f'], ['ghijkl', '']]
    """
    group: list[Sequence[int]] = []
    for text in texts:
        if group and sum(map(len, group)) + len(text) > max(max_tokens, len(group[0])):
            yield group
            group = []
        group.append(text)
    if group:
        yield group


def check_reads_trees(model: LanguageModel) -> None:
    """Refuse a model that does not follow an attention mask and positions of its own choice.

    Two texts of a tree are compared with each of them alone. Recurrent models would read both as one text, and models
    with positions by distance would take them for farther from their beginning.

    Raises:
        ValueError: It does not read trees.
    """
    network: Any = model.model
    beginning, *texts = model.tokenizer(list(TRIAL), add_special_tokens=False)["input_ids"]
    actual, required = "which does not follow a given attention mask", "a model of the kind of Llama, GPT-2 or Qwen"
    with reading_model(model.name, required, actual), torch.inference_mode():
        trees = _TokenTrees()
        trees.add(beginning, texts)
        for text, path in zip(texts, trees.paths, strict=True):
            alone = network(torch.tensor([[*beginning, *text]], device=network.device), use_cache=False).logits[0]
            together = _tree_logits(trees, network, path)
            expected = alone[len(beginning) :].float()
            error = (together.float() - expected).square().mean().sqrt() / expected.std()
            if not error <= CLOSE.get(network.dtype, CLOSE[torch.float32]):
                raise TypeError(f"its numbers are {error:.2f} of their spread away from those of a text alone")
