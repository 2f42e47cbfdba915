"""Labels of one kind or of several (texts, numbers, truth values): their order, codes, texts and arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.domain.values import Codes, is_missing


def are_mixed(labels: Iterable[Any]) -> bool:
    """Whether labels are of several kinds: texts, numbers, truth values; a missing one is of none."""
    return len({_kind_of(label) for label in labels if not is_missing(label)}) > 1


def _kind_of(label: Any) -> str:
    number = isinstance(label, (int, float, np.integer, np.floating, Decimal)) and not isinstance(label, bool)
    return "number" if number else type(label).__name__


def places_of(labels: Sequence[Hashable]) -> dict[Hashable, int]:
    """The place of each label; of labels of several kinds also by its text, where no label is that text itself."""
    mixed = not isinstance(labels, range) and are_mixed(labels)
    texts: dict[Hashable, int] = {str(label): place for place, label in enumerate(labels)} if mixed else {}
    return {**texts, **{label: place for place, label in enumerate(labels)}}


def texts_of(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels of several kinds as texts, for a column of one type; two that are the same text are refused."""
    label_of: dict[str, Hashable] = {}
    for label in set(labels.tolist()):
        if not is_missing(label) and (other := label_of.setdefault(str(label), label)) != label:
            pair = " and ".join(sorted((repr(label), repr(other)), reverse=True))
            raise ValueError(f"labels {pair} are the same text; a column here has one type: change one, or use pandas")
    return np.array([*(None if is_missing(one) else str(one) for one in labels.tolist()), None], dtype=object)[:-1]


def array_of_labels(labels: Iterable[Any]) -> NDArray[Any]:
    """Labels as an array, in which each stays of its own type."""
    found = list(labels)
    types = set(map(type, found))
    plain = len(types) == 1 and types <= {int, float, bool, str}
    return np.array(found) if plain else np.array([*found, None], dtype=object)[:-1]


def sorted_labels(labels: Iterable[Any]) -> tuple[Any, ...]:
    """Different labels in order; of several kinds, those of one kind after those of another."""
    found = set(labels)
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(sorted(found, key=lambda one: (_kind_of(one), one if isinstance(one, (int, float)) else str(one))))


def codes_of_labels(labels: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    """The different labels in order, and the place of every one among them."""
    if labels.dtype.kind != "O":
        found, codes = np.unique(labels, return_inverse=True)
        return found, codes.astype(np.int64)
    order = sorted_labels(labels.tolist())
    place = {label: code for code, label in enumerate(order)}
    return array_of_labels(order), np.array([place[label] for label in labels.tolist()], np.int64)
