"""Plain data from files that nobody vouches for: shapes and ranges are checked before it is used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int | None, ...]


def given(data: Any, key: str) -> Any:
    """What stands under a key."""
    if not isinstance(data, Mapping) or key not in data:
        raise ValueError(f"{key} is missing")
    return data[key]


def given_table(data: Any, key: str) -> Mapping[str, Any]:
    found = given(data, key)
    if not isinstance(found, Mapping):
        raise ValueError(f"{key} is not a table")
    return found


def given_rows(data: Any, key: str, size: int | None = None) -> list[Any]:
    """A list, of this size where one is given."""
    found = given(data, key)
    if not isinstance(found, (list, tuple)):
        raise ValueError(f"{key} is not a list")
    if size is not None and len(found) != size:
        raise ValueError(f"{key} has {len(found)} entries where {size} are needed")
    return list(found)


def given_whole(data: Any, key: str, low: int, high: int) -> int:
    """One whole number from ``low`` to ``high``."""
    found = given(data, key)
    if isinstance(found, bool) or not isinstance(found, (int, np.integer)) or not low <= found <= high:
        raise ValueError(f"{key} is not a whole number from {low} to {high}")
    return int(found)


def given_wholes(data: Any, key: str, low: int, high: int, size: int | None = None) -> NDArray[np.int64]:
    """A list of whole numbers from ``low`` to ``high``."""
    found = given_rows(data, key, size)
    for place, number in enumerate(found):
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or not low <= number <= high:
            raise ValueError(f"entry {place} of {key} is not a whole number from {low} to {high}")
    return np.array(found, dtype=np.int64)


def given_numbers(data: Any, key: str, shape: Shape, low: float = -math.inf) -> NDArray[np.float64]:
    """Finite numbers from ``low`` up, in this shape (None: however many)."""
    try:
        found = np.array(given_rows(data, key))
        kept = found.astype(np.float64) if found.size == 0 or found.dtype.kind in "iuf" else None
    except (ValueError, TypeError, OverflowError):
        kept = None
    if kept is not None and not kept.size and 0 in shape and None not in shape:
        return np.zeros(shape)  # type: ignore[arg-type]  # lists do not say what lies beyond a length of 0
    if kept is None or kept.ndim != len(shape):
        raise ValueError(f"{key} is not a table of numbers with {len(shape)} dimensions")
    if any(size not in (None, found) for size, found in zip(shape, kept.shape, strict=True)):
        wanted = " × ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"{key} has shape {kept.shape} where {wanted} is needed")
    if not (np.isfinite(kept).all() and (kept >= low).all()):
        least = "finite" if low == -math.inf else f"from {low:g} up"
        raise ValueError(f"{key} holds a number that is not {least}")
    return kept


def given_labels(data: Any, key: str) -> tuple[Any, ...]:
    """Texts, numbers or truth values, each once."""
    found = tuple(given_rows(data, key))
    if not found or not all(isinstance(label, (str, int, float, bool, np.generic)) for label in found):
        raise ValueError(f"{key} is not a list of labels")
    if len(set(found)) < len(found):
        raise ValueError(f"{key} holds a label twice")
    return found


def given_names(data: Any, key: str) -> list[str]:
    found = given_labels(data, key)
    if not all(isinstance(name, str) for name in found):
        raise ValueError(f"{key} is not a list of names")
    return list(found)


def check_increasing(found: NDArray[Any], key: str) -> NDArray[Any]:
    if found.size < 2 or (np.diff(found) < 0).any():
        raise ValueError(f"{key} are not at least two numbers in increasing order")
    return found


def given_one_of(data: Any, key: str, known: Any) -> Any:
    """One of the known words."""
    found = given(data, key)
    if not isinstance(found, str) or found not in known:
        raise ValueError(f"{key} is not one of {', '.join(map(str, known))}")
    return found


def given_flag(data: Any, key: str) -> bool:
    found = given(data, key)
    if not isinstance(found, (bool, np.bool_)):
        raise ValueError(f"{key} is neither true nor false")
    return bool(found)


def given_flags(data: Any, key: str, size: int) -> NDArray[np.bool_]:
    return np.array([given_flag({key: each}, key) for each in given_rows(data, key, size)], dtype=bool)
