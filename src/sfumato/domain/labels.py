"""Functions on labels (texts, numbers, truth values, or a mixture of these kinds): order, codes, texts and arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.domain.values import Codes, is_missing


def are_mixed(labels: Iterable[Any]) -> bool:
    """Return whether labels are of several kinds: texts, numbers, truth values; missing ones do not count."""
    return len({_kind_of(label) for label in labels if not is_missing(label)}) > 1


def _kind_of(label: Any) -> str:
    """Return "number" for a number, or the name of the label's type ("str", "bool")."""
    number = isinstance(label, (int, float, np.integer, np.floating, Decimal)) and not isinstance(label, bool)
    return "number" if number else type(label).__name__


def places_of(labels: Sequence[Hashable]) -> dict[Hashable, int]:
    """Return a dict from each label to its index in the list.

    Where labels are of several kinds, their texts are in it too, unless a label is that text itself.
    """
    mixed = not isinstance(labels, range) and are_mixed(labels)
    texts: dict[Hashable, int] = {str(label): index for index, label in enumerate(labels)} if mixed else {}
    return {**texts, **{label: index for index, label in enumerate(labels)}}


def texts_of(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as an array of their texts, None where missing; two labels with the same text are an error.

    It is for tables whose columns have one type.
    """
    label_of: dict[str, Hashable] = {}
    for label in set(labels.tolist()):
        if not is_missing(label) and (other := label_of.setdefault(str(label), label)) != label:
            pair = " and ".join(sorted((repr(label), repr(other)), reverse=True))
            raise ValueError(f"labels {pair} are the same text; a column here has one type: change one, or use pandas")
    return np.array([*(None if is_missing(one) else str(one) for one in labels.tolist()), None], dtype=object)[:-1]


def array_of_labels(labels: Iterable[Any]) -> NDArray[Any]:
    """Return labels as a NumPy array that keeps the type of each label: of objects where types differ."""
    listed = list(labels)
    types = set(map(type, listed))
    plain = len(types) == 1 and types <= {int, float, bool, str}
    return np.array(listed) if plain else np.array([*listed, None], dtype=object)[:-1]


def sorted_labels(labels: Iterable[Any]) -> tuple[Any, ...]:
    """Return the different labels in order, as a tuple; kinds that do not compare (numbers, texts) follow each other.
    """
    different = set(labels)
    try:
        return tuple(sorted(different))
    except TypeError:
        return tuple(sorted(different, key=lambda x: (_kind_of(x), x if isinstance(x, (int, float)) else str(x))))


def codes_of_labels(labels: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    """Return (array of the different labels in order, for every given label its index in that array)."""
    if labels.dtype.kind != "O":
        different, codes = np.unique(labels, return_inverse=True)
        return different, codes.astype(np.int64)
    order = sorted_labels(labels.tolist())
    code_of = {label: code for code, label in enumerate(order)}
    return array_of_labels(order), np.array([code_of[label] for label in labels.tolist()], np.int64)
