"""What the tokens of a model cost, by a file of prices."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

MILLION = 1_000_000
PER_MILLION = ("input", "output")  # dollars for a million tokens
PER_TOKEN = ("input_cost_per_token", "output_cost_per_token")  # dollars for one, as litellm's list of models has them


def read_prices(file: str, model: str) -> tuple[float, float]:
    """Dollars for a million tokens of prompts and of replies.

    Args:
        file: JSON with an entry for each model: {"MODEL": {"input": 0.15, "output": 0.6}}, dollars for a million
            tokens; or with dollars for a token, as litellm publishes them.
        model: The name of the model.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no such file, or has no such model.
    """
    form = f'wanted prices as {{"{model}": {{"input": 0.15, "output": 0.6}}}}'
    try:
        prices = json.loads(Path(file).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{form}, got {file}, which is no JSON ({error})") from None
    if not isinstance(prices, dict):
        raise ValueError(f"{form}, got a {type(prices).__name__} in {file}")
    if model not in prices:
        shown_names = ", ".join(list(prices)[:10]) + (" ..." if len(prices) > 10 else "")
        raise ValueError(f"{form}, got {file}, which has prices of {shown_names or 'no model'}")
    for names, tokens in ((PER_MILLION, 1), (PER_TOKEN, MILLION)):
        input_price, output_price = (_price(prices[model], name) for name in names)
        if input_price is not None and output_price is not None:
            return input_price * tokens, output_price * tokens
    raise ValueError(f"{form}, got {json.dumps(prices[model])[:120]} in {file}")


def _price(entry: Any, name: str) -> float | None:
    """A price of an entry; None where it has none that is a number of at least 0."""
    value = entry.get(name) if isinstance(entry, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        return None
    return float(value)
