"""Read plain data that may come from anybody: every function checks kind, shape and range before it returns a part."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int | None, ...]  # the length of each axis; None: any


def given(data: Any, key: str) -> Any:
    """Return the value under a key of a mapping; a missing key is an error that names it.

    ``data``: data from outside, of which nothing is sure yet; what is no mapping is an error too.
    """
    if not isinstance(data, Mapping) or key not in data:
        raise ValueError(f"{key} is missing")
    return data[key]


def given_table(data: Any, key: str) -> Mapping[str, Any]:
    """Return the value under a key of data from outside, which must be a mapping; anything else is an error."""
    value = given(data, key)
    if not isinstance(value, Mapping):
        raise ValueError(f"{key} is not a table")
    return value


def given_rows(data: Any, key: str, size: int | None = None) -> list[Any]:
    """Return the value under a key of data from outside, which must be a list; ``size``: its length (None: any).

    Anything else is an error that names the key.
    """
    value = given(data, key)
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{key} is not a list")
    if size is not None and len(value) != size:
        raise ValueError(f"{key} has {len(value)} entries where {size} are needed")
    return list(value)


def given_whole(data: Any, key: str, low: int, high: int) -> int:
    """Return the whole number under a key of data from outside; one not from ``low`` to ``high`` is an error."""
    value = given(data, key)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise ValueError(f"{key} is not a whole number from {low} to {high}")
    return int(value)


def given_wholes(data: Any, key: str, low: int, high: int, size: int | None = None) -> NDArray[np.int64]:
    """Return the list of whole numbers under a key of data from outside, as an array; other values raise ValueError.

    ``low`` and ``high``: the smallest and the largest number; ``size``: how many there must be (None: any).
    """
    entries = given_rows(data, key, size)
    for index, number in enumerate(entries):
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or not low <= number <= high:
            raise ValueError(f"entry {index} of {key} is not a whole number from {low} to {high}")
    return np.array(entries, dtype=np.int64)


def given_numbers(data: Any, key: str, shape: Shape, low: float = -math.inf) -> NDArray[np.float64]:
    """Return the nested list of numbers under a key of data from outside, as an array of floats.

    Errors are another ``shape`` (the length of each axis; None: any), numbers that are not finite, and numbers below
    ``low``.
    """
    try:
        array = np.array(given_rows(data, key))
        floats = array.astype(np.float64) if array.size == 0 or array.dtype.kind in "iuf" else None
    except (ValueError, TypeError, OverflowError):
        floats = None
    if floats is not None and not floats.size and 0 in shape and None not in shape:
        return np.zeros(shape)  # type: ignore[arg-type]  # lists do not say what lies beyond a length of 0
    if floats is None or floats.ndim != len(shape):
        raise ValueError(f"{key} is not a table of numbers with {len(shape)} dimensions")
    if any(wanted not in (None, length) for wanted, length in zip(shape, floats.shape, strict=True)):
        spelt = " × ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"{key} has shape {floats.shape} where {spelt} is needed")
    if not (np.isfinite(floats).all() and (floats >= low).all()):
        least = "finite" if low == -math.inf else f"from {low:g} up"
        raise ValueError(f"{key} holds a number that is not {least}")
    return floats


def given_labels(data: Any, key: str) -> tuple[Any, ...]:
    """Return the list of labels (texts, numbers or truth values) under a key of data from outside, as a tuple.

    An empty list, or a label that stands in it twice, is an error.
    """
    labels = tuple(given_rows(data, key))
    if not labels or not all(isinstance(label, (str, int, float, bool, np.generic)) for label in labels):
        raise ValueError(f"{key} is not a list of labels")
    if len(set(labels)) < len(labels):
        raise ValueError(f"{key} holds a label twice")
    return labels


def given_names(data: Any, key: str) -> list[str]:
    """Return the list of texts under a key of data from outside; an empty list, or a text in it twice, is an error."""
    names = given_labels(data, key)
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"{key} is not a list of names")
    return list(names)


def check_increasing(numbers: NDArray[Any], key: str) -> NDArray[Any]:
    """Return numbers unchanged; fewer than two, or one below its predecessor, is an error that calls them ``key``."""
    if numbers.size < 2 or (np.diff(numbers) < 0).any():
        raise ValueError(f"{key} are not at least two numbers in increasing order")
    return numbers


def given_one_of(data: Any, key: str, known: Any) -> Any:
    """Return the word under a key of data from outside; an error lists the ``known`` words if it is none of them."""
    word = given(data, key)
    if not isinstance(word, str) or word not in known:
        raise ValueError(f"{key} is not one of {', '.join(map(str, known))}")
    return word


def given_flag(data: Any, key: str) -> bool:
    """Return the truth value under a key of data from outside; anything else is an error."""
    value = given(data, key)
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{key} is neither true nor false")
    return bool(value)


def given_flags(data: Any, key: str, size: int) -> NDArray[np.bool_]:
    """Return the list of ``size`` truth values under a key of data from outside as an array; else raise ValueError."""
    return np.array([given_flag({key: flag}, key) for flag in given_rows(data, key, size)], dtype=bool)
