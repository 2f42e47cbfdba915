"""A fixed list of labels, and the items of which a basket holds some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.domain.labels import are_mixed, array_of_labels, places_of
from sfumato.domain.values import (
    MISSING,
    MOST_CODES,
    Codes,
    Floats,
    as_array,
    at_row,
    is_categorical,
    is_missing,
    named,
    with_gaps,
)

CLOSE_TOGETHER = 1 << 16  # whole-number labels that span less than this are looked up in a table
FEW_LABELS = 12  # up to here every label is compared with every text
MOST_ITEMS = 1 << 22
"""A basket is drawn from at most so many items: the seeds' field has no more elements."""


@dataclass(frozen=True)
class Categories:
    """A fixed list of labels (text, numbers or booleans), or ``Categories(1000)`` for the numbers 0..999; the code of a
    label is its place in the list.

    Where the labels are of several kinds, a table whose columns have one type holds their texts ("1", "True"): a text
    that is no label stands for the label whose text it is.
    """

    labels: Sequence[Hashable]

    def __init__(self, labels: int | Iterable[Hashable]) -> None:
        if isinstance(labels, (int, np.integer)) and not isinstance(labels, bool):
            object.__setattr__(self, "labels", _numbered(int(labels), MOST_CODES, "categories"))
            return
        if isinstance(labels, str):
            raise TypeError(f"categories={labels!r} is one text; give a list of labels")
        if not isinstance(labels, Iterable):
            raise TypeError(f"categories={labels!r} is of type {type(labels).__name__}; give a list of labels")
        if isinstance(labels, (set, frozenset, dict)):
            raise TypeError(f"categories is a {type(labels).__name__}, and their order matters; give a list of labels")
        found = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
        if not found:
            raise ValueError("categories is empty; list at least one label")
        if any(is_missing(label) for label in found):
            raise ValueError("a category is missing (None or NaN); leave it out, missing values need no label")
        _check_labels(found)
        object.__setattr__(self, "labels", found)

    @property
    def size(self) -> int:
        return len(self.labels)

    @cached_property
    def mixed(self) -> bool:
        """Whether the labels are of several kinds, so that no column of one type holds them."""
        return not isinstance(self.labels, range) and are_mixed(self.labels)

    @cached_property
    def _code_of(self) -> dict[Hashable, int]:
        return places_of(self.labels)

    @cached_property
    def _numbers(self) -> Floats | None:
        """The labels as numbers, where all are."""
        numeric = all(isinstance(label, (int, float)) for label in self.labels)
        return np.array(self.labels, dtype=float) if numeric else None

    @cached_property
    def _sorted_numbers(self) -> tuple[Floats, Codes]:
        numbers = cast(Floats, self._numbers)
        order = np.argsort(numbers)
        return numbers[order], order.astype(np.int64)

    @cached_property
    def whole_numbers(self) -> tuple[int, Codes] | None:
        """(lowest label, code of every whole number from it on), where labels are whole numbers close together."""
        numbers = self._numbers
        if numbers is None or (numbers != np.rint(numbers)).any() or np.ptp(numbers) > CLOSE_TOGETHER:
            return None
        low = int(numbers.min())
        code_of = np.full(int(np.ptp(numbers)) + 1, MISSING, dtype=np.int64)
        code_of[numbers.astype(np.int64) - low] = np.arange(self.size)
        return low, code_of

    def encode(self, values: ArrayLike, first_row: int = 0) -> Codes:
        """Codes of labels; missing is −1; an unknown label is an error that names its row."""
        if is_categorical(values):
            return self._encode_categorical(values)
        array = as_array(values)
        if array.dtype.kind in "iufb" and self._numbers is not None:
            return self._encode_numbers(array, first_row)
        if array.dtype.kind == "U":
            return self._encode_text(array, first_row)
        return self._encode_objects(array, first_row)

    def code_of(self, label: Any) -> int:
        """``encode`` of one known label."""
        code = self._code_of.get(label) if isinstance(label, Hashable) else None
        return int(self.encode(label)) if code is None else code

    def _encode_categorical(self, values: Any) -> Codes:
        """Every category that pandas knows is looked up once; a category that nobody has need not be known."""
        held = getattr(values, "cat", values)
        place, labels = np.asarray(held.codes), held.categories.tolist()
        used = np.bincount(place + 1, minlength=len(labels) + 1)[1:] > 0
        for one in np.flatnonzero(used).tolist():
            if labels[one] not in self._code_of:
                self._refuse(labels[one], int(np.flatnonzero(place == one)[0]))
        codes = [self._code_of[label] if use else MISSING for label, use in zip(labels, used, strict=True)]
        return np.asarray(np.array([*codes, MISSING], dtype=np.int64)[place])

    def _encode_numbers(self, array: NDArray[Any], first_row: int) -> Codes:
        if array.dtype.kind in "iu" and self.whole_numbers is not None:
            low, code_of = self.whole_numbers
            place = array.astype(np.int64, copy=False) - low
            known = (place >= 0) & (place < code_of.size)
            codes = code_of.take(place, mode="clip")
            known &= codes >= 0
        else:
            numbers, order = self._sorted_numbers
            floats = array.astype(float, copy=False)
            found = np.minimum(np.searchsorted(numbers, floats), numbers.size - 1)
            missing = np.isnan(floats)
            codes = np.where(missing, MISSING, order[found])
            known = (numbers[found] == floats) | missing
        if not known.all():
            self.__refuse(array, ~known, first_row)
        return codes.astype(np.int64, copy=False)

    def _encode_text(self, array: NDArray[Any], first_row: int) -> Codes:
        """Label by label where labels are few, else through the distinct texts."""
        if self.size <= FEW_LABELS and not self.mixed:
            codes = np.full(array.shape, MISSING, dtype=np.int64)
            for code, label in enumerate(self.labels):
                if isinstance(label, str):
                    codes[array == label] = code
        else:
            texts, inverse = np.unique(array, return_inverse=True)
            known = [self._code_of.get(text, MISSING) for text in texts.tolist()]
            codes = np.array(known, dtype=np.int64)[inverse].reshape(array.shape)
        if (codes < 0).any():
            self.__refuse(array, codes < 0, first_row)
        return codes

    def _encode_objects(self, array: NDArray[Any], first_row: int) -> Codes:
        code_of = self._code_of
        labels = array.ravel().tolist()
        codes = np.fromiter((code_of.get(label, MISSING) for label in labels), dtype=np.int64, count=len(labels))
        for place in np.flatnonzero(codes < 0).tolist():
            if not is_missing(labels[place]):
                self._refuse(labels[place], first_row + place if array.ndim else None)
        return codes.reshape(array.shape)

    def __refuse(self, array: NDArray[Any], unknown: NDArray[np.bool_], first_row: int) -> None:
        place = int(np.flatnonzero(unknown)[0])
        self._refuse(array.flat[place].item(), first_row + place if array.ndim else None)

    def _refuse(self, label: object, row: int | None = None) -> None:
        shown = ", ".join(repr(known) for known in self.labels[:6]) + (", …" if self.size > 6 else "")
        raise ValueError(f"unknown category{named(label)}{at_row(row)}; the declared categories are {shown}")

    def value_of(self, code: int) -> Hashable:
        """``decode`` of one code."""
        return self.labels[code]

    @cached_property
    def label_array(self) -> NDArray[Any]:
        return array_of_labels(self.labels)

    def decode(self, codes: Codes) -> NDArray[Any]:
        """Labels of codes; where some are missing, numbers become float with NaN and text becomes object with None."""
        missing, found = codes < 0, self.label_array[codes, ...]  # an array of one code too
        return with_gaps(found, missing) if missing.any() else found

    def __str__(self) -> str:
        return f"{self.size} categories"


@dataclass(frozen=True)
class Items:
    """The items a basket may hold: ``Items(1000)`` for the items 0..999, or a list of labels."""

    labels: Sequence[Hashable] = field(repr=False)

    def __init__(self, items: int | Iterable[Hashable]) -> None:
        if isinstance(items, (int, np.integer)) and not isinstance(items, bool):
            object.__setattr__(self, "labels", _numbered(int(items), MOST_ITEMS, "items"))
        else:
            object.__setattr__(self, "labels", Categories(cast("Iterable[Hashable]", items)).labels)

    @property
    def size(self) -> int:
        return len(self.labels)

    @cached_property
    def code_of(self) -> dict[Hashable, int]:
        """The code of each label."""
        return {label: code for code, label in enumerate(self.labels)}

    def of(self, codes: Iterable[int]) -> Items:
        """Some of the items."""
        return Items([self.labels[code] for code in codes])

    def __str__(self) -> str:
        return f"sets of {self.size} items"


def _numbered(count: int, most: int, what: str) -> range:
    """So many things that are their numbers."""
    if count < 1:
        raise ValueError(f"{what} = {count} holds no item; give a positive number or a list of labels")
    if count > most:
        raise ValueError(f"{float(count):.3g} {what} are more than {most:,}; group some of them")
    return range(count)


def _check_labels(labels: tuple[Hashable, ...]) -> None:
    if not all(isinstance(label, Hashable) for label in labels):
        raise TypeError("a category is a list or a table; give texts, numbers or booleans")
    if len(labels) > MOST_CODES:
        raise ValueError(f"{len(labels):,} categories are more than {MOST_CODES:,}; group some of them")
    if len(set(labels)) < len(labels):
        twice, _ = Counter(labels).most_common(1)[0]
        raise ValueError(f"category {twice!r} is listed twice; keep one of the two")
