"""The domains of labels: categories, of which an answer is one, and items, of which a basket holds some."""

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

CLOSE_TOGETHER = 1 << 16
"""Labels that are whole numbers are looked up in a table if they span no more than this. By judgement: the table then
takes 512 kB and stays in a processor's cache; labels further apart are found by bisection."""
FEW_LABELS = 12
"""Labels up to which every text is compared with every label. By judgement: with more of them, sorting the texts once
is faster than comparing again and again."""
MOST_ITEMS = 1 << 22
"""Items that a basket is drawn from, at most: the largest field of seeds has no more elements, GF(2^22) in
channels/baskets/seeds.py."""


@dataclass(frozen=True)
class Categories:
    """The possible answers to a question with categories: labels, of which an answer is one.

    Computations use codes: the code of a label is its index in the list.

    ``labels``: a list of texts, numbers or truth values in their order, each once; or how many numbers 0, 1, 2, … there
    are: ``Categories(1000)``.

    Where the labels are of several kinds, a table whose columns have one type holds their texts ("1", "True"): a text
    that is no label stands for the label whose text it is (docs/decisions/0029).

    >>> import sfumato as sf
    >>> answers = sf.Categories(["never", "often"])
    >>> answers.size, answers.encode(["often", None, "never"]).tolist()
    (2, [1, -1, 0])
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
        plain = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
        if not plain:
            raise ValueError("categories is empty; list at least one label")
        if any(is_missing(label) for label in plain):
            raise ValueError("a category is missing (None or NaN); leave it out, missing values need no label")
        _check_labels(plain)
        object.__setattr__(self, "labels", plain)

    @property
    def size(self) -> int:
        """How many labels (categories) there are."""
        return len(self.labels)

    @cached_property
    def mixed(self) -> bool:
        """Whether the labels are of more than one kind of texts, numbers and truth values."""
        return not isinstance(self.labels, range) and are_mixed(self.labels)

    @cached_property
    def _code_of(self) -> dict[Hashable, int]:
        """The code (index in the list) of every label, as a dict.

        Labels of several kinds are in it by their texts too.
        """
        return places_of(self.labels)

    @cached_property
    def _numbers(self) -> Floats | None:
        """The labels as an array of floats, to look numbers up quickly; None unless all labels are numbers."""
        numeric = all(isinstance(label, (int, float)) for label in self.labels)
        return np.array(self.labels, dtype=float) if numeric else None

    @cached_property
    def _sorted_numbers(self) -> tuple[Floats, Codes]:
        """(the labels as numbers in rising order, their codes): two arrays, for bisection.

        They exist only where all labels are numbers; the code of a label is its index in the list.
        """
        numbers = cast(Floats, self._numbers)
        order = np.argsort(numbers)
        return numbers[order], order.astype(np.int64)

    @cached_property
    def whole_numbers(self) -> tuple[int, Codes] | None:
        """A table to look up whole numbers: (lowest label, code of every whole number from it to the highest label).

        The code is the label's index in the list, −1 for a number that is no label.

        None unless all labels are whole numbers that span at most 65,536.
        """
        numbers = self._numbers
        if numbers is None or (numbers != np.rint(numbers)).any() or np.ptp(numbers) > CLOSE_TOGETHER:
            return None
        low = int(numbers.min())
        code_of = np.full(int(np.ptp(numbers)) + 1, MISSING, dtype=np.int64)
        code_of[numbers.astype(np.int64) - low] = np.arange(self.size)
        return low, code_of

    def encode(self, values: ArrayLike, first_row: int = 0) -> Codes:
        """Return the code (index in the list) of every label in ``values``, as an array; −1 where missing.

        A value that is no label raises ValueError with its row. ``first_row``: the number of the first value's row in
        the whole table, from 0.
        """
        if is_categorical(values):
            return self._encode_categorical(values)
        array = as_array(values)
        if array.dtype.kind in "iufb" and self._numbers is not None:
            return self._encode_numbers(array, first_row)
        if array.dtype.kind == "U":
            return self._encode_text(array, first_row)
        return self._encode_objects(array, first_row)

    def code_of(self, label: Any) -> int:
        """Return the code (index in the list) of one label; a value that is no label raises ValueError.

        ``label``: not missing.
        """
        code = self._code_of.get(label) if isinstance(label, Hashable) else None
        return int(self.encode(label)) if code is None else code

    def _encode_categorical(self, values: Any) -> Codes:
        """Return the codes of a pandas column of categories, −1 where missing, by looking up each category once.

        Categories that no row has need not be labels.
        """
        column = getattr(values, "cat", values)
        pandas_codes, labels = np.asarray(column.codes), column.categories.tolist()
        used = np.bincount(pandas_codes + 1, minlength=len(labels) + 1)[1:] > 0
        for index in np.flatnonzero(used).tolist():
            if labels[index] not in self._code_of:
                self._refuse(labels[index], int(np.flatnonzero(pandas_codes == index)[0]))
        codes = [self._code_of[label] if use else MISSING for label, use in zip(labels, used, strict=True)]
        return np.asarray(np.array([*codes, MISSING], dtype=np.int64)[pandas_codes])

    def _encode_numbers(self, array: NDArray[Any], first_row: int) -> Codes:
        """Return the codes of an array of numbers or truth values, −1 where missing, by a table or by bisection.

        ``first_row``: the number of its first row in the whole table, for the error about a value that is no label.
        """
        if array.dtype.kind in "iu" and self.whole_numbers is not None:
            low, code_of = self.whole_numbers
            index = array.astype(np.int64, copy=False) - low
            valid = (index >= 0) & (index < code_of.size)
            codes = code_of.take(index, mode="clip")
            valid &= codes >= 0
        else:
            numbers, order = self._sorted_numbers
            floats = array.astype(float, copy=False)
            index = np.minimum(np.searchsorted(numbers, floats), numbers.size - 1)
            missing = np.isnan(floats)
            codes = np.where(missing, MISSING, order[index])
            valid = (numbers[index] == floats) | missing
        if not valid.all():
            self._refuse_first(array, ~valid, first_row)
        return codes.astype(np.int64, copy=False)

    def _encode_text(self, array: NDArray[Any], first_row: int) -> Codes:
        """Return the codes of an array of texts; where there are many labels each different text is looked up once.

        ``first_row``: the number of its first row in the whole table, for the error about a value that is no label.
        """
        if self.size <= FEW_LABELS and not self.mixed:
            codes = np.full(array.shape, MISSING, dtype=np.int64)
            for code, label in enumerate(self.labels):
                if isinstance(label, str):
                    codes[array == label] = code
        else:
            texts, inverse = np.unique(array, return_inverse=True)
            codes_of_texts = [self._code_of.get(text, MISSING) for text in texts.tolist()]
            codes = np.array(codes_of_texts, dtype=np.int64)[inverse].reshape(array.shape)
        if (codes < 0).any():
            self._refuse_first(array, codes < 0, first_row)
        return codes

    def _encode_objects(self, array: NDArray[Any], first_row: int) -> Codes:
        """Return the codes of an array of Python objects, −1 where missing.

        ``first_row``: the number of its first row in the whole table, for the error about a value that is no label.
        """
        code_of = self._code_of
        labels = array.ravel().tolist()
        codes = np.fromiter((code_of.get(label, MISSING) for label in labels), dtype=np.int64, count=len(labels))
        for row in np.flatnonzero(codes < 0).tolist():
            if not is_missing(labels[row]):
                self._refuse(labels[row], first_row + row if array.ndim else None)
        return codes.reshape(array.shape)

    def _refuse_first(self, array: NDArray[Any], unknown: NDArray[np.bool_], first_row: int) -> None:
        """Raise ValueError for the first value of an array that is no label.

        ``unknown``: a mask of these values; ``first_row``: the number of the array's first row in the whole table.
        """
        row = int(np.flatnonzero(unknown)[0])
        self._refuse(array.flat[row].item(), first_row + row if array.ndim else None)

    def _refuse(self, label: object, row: int | None = None) -> None:
        """Raise ValueError for a value that is no label, with its row counted from 0 (None: there are no rows)."""
        shown = ", ".join(repr(label) for label in self.labels[:6]) + (", …" if self.size > 6 else "")
        raise ValueError(f"unknown category{named(label)}{at_row(row)}; the declared categories are {shown}")

    def value_of(self, code: int) -> Hashable:
        """Return the label that has this code, its index in the list."""
        return self.labels[code]

    @cached_property
    def label_array(self) -> NDArray[Any]:
        """The labels as a NumPy array, in the order of the list."""
        return array_of_labels(self.labels)

    def decode(self, codes: Codes) -> NDArray[Any]:
        """Return the labels of an array of codes (indices in the list), as an array.

        Where some codes are −1 (missing), numbers become floats with NaN there, other labels objects with None.
        """
        missing, labels = codes < 0, self.label_array[codes, ...]  # an array of one code too
        return with_gaps(labels, missing) if missing.any() else labels

    def __str__(self) -> str:
        return f"{self.size} categories"


@dataclass(frozen=True)
class Items:
    """The possible answers to a question about baskets: the items of which a basket holds some.

    Computations use codes: the code of an item is its index in the list.

    ``items``: a list of labels, each once; or how many items 0, 1, 2, … there are: ``Items(1000)``.

    >>> import sfumato as sf
    >>> sf.Items(["bread", "milk", "salt"]).size, sf.Items(1000).labels
    (3, range(0, 1000))
    """

    labels: Sequence[Hashable] = field(repr=False)

    def __init__(self, items: int | Iterable[Hashable]) -> None:
        if isinstance(items, (int, np.integer)) and not isinstance(items, bool):
            object.__setattr__(self, "labels", _numbered(int(items), MOST_ITEMS, "items"))
        else:
            object.__setattr__(self, "labels", Categories(cast("Iterable[Hashable]", items)).labels)

    @property
    def size(self) -> int:
        """How many items there are to choose from."""
        return len(self.labels)

    @cached_property
    def code_of(self) -> dict[Hashable, int]:
        """A dict from each item to its code, which is its index in the list."""
        return {label: code for code, label in enumerate(self.labels)}

    def of(self, codes: Iterable[int]) -> Items:
        """Return a smaller domain of baskets: only the items with these codes (indices in the list), in their order."""
        return Items([self.labels[code] for code in codes])

    def __str__(self) -> str:
        return f"sets of {self.size} items"


def _numbered(count: int, most: int, what: str) -> range:
    """Return the labels 0, 1, …, count − 1 as a range, for a domain that is given by a number.

    A count below 1 or above ``most`` is an error; ``what`` is what it calls the labels.
    """
    if count < 1:
        raise ValueError(f"{what} = {count} holds no item; give a positive number or a list of labels")
    if count > most:
        raise ValueError(f"{float(count):.3g} {what} are more than {most:,}; group some of them")
    return range(count)


def _check_labels(labels: tuple[Hashable, ...]) -> None:
    """Raise an error for labels that are tables or lists, too many, or not all different."""
    if not all(isinstance(label, Hashable) for label in labels):
        raise TypeError("a category is a list or a table; give texts, numbers or booleans")
    if len(labels) > MOST_CODES:
        raise ValueError(f"{len(labels):,} categories are more than {MOST_CODES:,}; group some of them")
    if len(set(labels)) < len(labels):
        twice, _ = Counter(labels).most_common(1)[0]
        raise ValueError(f"category {twice!r} is listed twice; keep one of the two")
