"""The texts in what other libraries hand over: lists, arrays, series and tables of one column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from datasets import Dataset

from toolkit.system.errors import check_several


def texts_of(data: Any, may_lack: bool = True) -> list[Any]:
    """The texts of a list, an array, a series, or a table of one column; those that are missing are None.

    >>> texts_of(np.array([["It is late."], ["Go home."]]))
    ['It is late.', 'Go home.']

    Args:
        data: A list of texts or another iterable, an array of shape [n] or [n, 1], a `Dataset`, a series or a data
            frame of pandas or polars.
        may_lack: Whether a text may be None or NaN.

    Raises:
        ValueError: It is one text, has several columns, or holds something else than texts.
    """
    check_several(data, "a list of texts")
    texts = [None if value is None or value != value else value for value in _values(data)]
    for row, text in enumerate(texts):
        if not isinstance(text, str) and not (text is None and may_lack):
            raise ValueError(f"row {row}: wanted a text, got {text!r:.60} ({type(text).__name__})")
    return texts


def _values(data: Any) -> list[Any]:
    """The values of what has one column.

    Raises:
        ValueError: It has several, or none.
    """
    shape = getattr(data, "shape", None)
    names = getattr(data, "column_names", getattr(data, "columns", None))
    if isinstance(shape, tuple) and len(shape) > 1:
        if len(shape) > 2 or shape[1] != 1:
            columns = f"the columns {', '.join(map(str, names))}" if names is not None else f"an array of shape {shape}"
            raise ValueError(f"wanted one column of texts, got {columns}: give one of them")
        if isinstance(data, Dataset):
            return list(data.with_format(None)[data.column_names[0]])
        data = np.asarray(data, dtype=object).reshape(-1)
    if isinstance(data, Mapping) or not isinstance(data, Iterable) or shape == ():
        raise ValueError(f"wanted a list of texts, got {data!r:.60} ({type(data).__name__})")
    return list(data)
