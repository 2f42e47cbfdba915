"""What a value may be: the domains people answer in, and the spaces of integer codes behind them.

A *domain* is what a person knows: an interval of numbers, a set of categories, a set of items. A *space* is what a
channel computes with: every value of it has an integer code 0..size-1, and −1 stands for a missing value.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[np.signedinteger[Any]]
Floats = NDArray[np.float64]
MISSING = -1
CLOSE_TOGETHER = 1 << 16  # whole-number labels that span less than this are looked up in a table
FEW_LABELS = 12  # up to here every label is compared with every text
MOST_CODES = 1 << 20
"""A space has at most so many codes: tables of them, and the programs of devices, stay small enough to hold."""
MOST_ITEMS = 1 << 22
"""A basket is drawn from at most so many items: the seeds' field has no more elements."""
EXACT = 1 << 53  # whole numbers below this are exact as floats


@dataclass(frozen=True)
class Interval:
    """Numbers from ``low`` to ``high``, both included; with ``integer=True`` the whole numbers among them."""

    low: float
    high: float
    integer: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            bound = getattr(self, name)
            if isinstance(bound, bool) or not isinstance(bound, (int, float, np.integer, np.floating)):
                raise TypeError(f"{name}={bound!r} is not a number; give the interval's bounds as numbers")
            if not _is_finite(bound):
                raise ValueError(f"{name} is not finite; give the smallest and the largest value that people may have")
            if self.integer and bound != int(bound):
                raise ValueError(f"{name}={bound} is not a whole number; round it or drop integer=True")
            if isinstance(bound, np.generic):
                object.__setattr__(self, name, bound.item())
        if self.low >= self.high:
            raise ValueError(f"low={self.low} is not below high={self.high}; swap or correct the bounds")
        if not 1e-290 < self.width < 1e290:
            raise ValueError(f"numbers from {self.low:g} to {self.high:g} are too close or too far; use other units")

    @property
    def width(self) -> float:
        return float(self.high) - float(self.low)

    def clean(self, values: ArrayLike, *, clamp: bool = False, first_row: int = 0) -> Floats:
        """Values as floats (missing: NaN), checked against the domain; outside values are clamped only when asked."""
        numbers = as_numbers(values)
        if not clamp:
            _refuse(np.isinf(numbers), numbers, first_row, "is infinite; mark it as missing (NaN) or correct it")
            outside = (numbers < self.low) | (numbers > self.high)
            _refuse(outside, numbers, first_row, f"is outside {self}; correct it or clamp with outside='clamp'")
        elif ((numbers < self.low) | (numbers > self.high)).any():
            numbers = np.clip(numbers, self.low, self.high)
        if self.integer:
            broken = (numbers != np.rint(numbers)) & ~np.isnan(numbers)
            _refuse(broken, numbers, first_row, "is not whole; round it or drop integer=True")
        return numbers

    def clean_one(self, value: Any, *, clamp: bool = False) -> float:
        """``clean`` of a single value that is not missing."""
        if type(value) in (int, float) and self.low <= value <= self.high and (not self.integer or value == int(value)):
            return float(value)
        return float(self.clean(value, clamp=clamp))

    def __str__(self) -> str:
        low, high = (_spelt(float(bound)) for bound in (self.low, self.high))
        return f"{'integers' if self.integer else 'numbers'} from {low} to {high}"


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


@dataclass(frozen=True)
class Row:
    """Several numbers of one person that are blurred together: named Intervals."""

    columns: dict[str, Interval]

    def __init__(self, columns: Mapping[str, Interval]) -> None:
        for name, domain in columns.items():
            if not isinstance(domain, Interval):
                raise TypeError(f"column {name!r} is {domain!r}; numbers blurred together need Intervals")
        object.__setattr__(self, "columns", {str(name): domain for name, domain in columns.items()})

    def __hash__(self) -> int:
        return hash(tuple(self.columns.items()))

    def __str__(self) -> str:
        return f"rows of {', '.join(self.columns)}"


Domain = Interval | Categories | Items | Row
DOMAIN_KEYS = ("low", "high", "integer", "categories", "items", "columns")


def domain_to_spec(domain: Domain) -> dict[str, Any]:
    """A domain as plain data."""
    if isinstance(domain, Interval):
        bounds: dict[str, Any] = {"low": domain.low, "high": domain.high}
        return {**bounds, "integer": True} if domain.integer else bounds
    if isinstance(domain, Row):
        return {"columns": {name: domain_to_spec(each) for name, each in domain.columns.items()}}
    kind = "categories" if isinstance(domain, Categories) else "items"
    return {kind: domain.size if isinstance(domain.labels, range) else list(domain.labels)}


def domain_from_spec(spec: Mapping[str, Any]) -> Domain:
    """The domain that plain data describes: low/high (and integer), categories, items, or columns of numbers."""
    kinds = [kind for kind in ("low", "categories", "items", "columns") if kind in spec]
    kinds += ["low"] if "high" in spec and "low" not in spec else []
    if len(kinds) != 1:
        raise ValueError("a domain is either low and high, or categories, items or columns; give exactly one of them")
    for key in kinds:
        if key in ("categories", "items") and not isinstance(spec[key], (list, tuple, int)):
            raise ValueError(f"{key} is no list and no number; write for example {key} = [\"a\", \"b\"]")
    if kinds == ["categories"]:
        return Categories(spec["categories"])
    if kinds == ["items"]:
        return Items(spec["items"])
    if kinds == ["columns"]:
        if not isinstance(spec["columns"], Mapping):
            raise ValueError("columns is not a table; give low and high for each name")
        if not all(isinstance(each, Mapping) for each in spec["columns"].values()):
            raise ValueError("a column is not a table; give low and high for each name")
        return Row({name: cast(Interval, domain_from_spec(each)) for name, each in spec["columns"].items()})
    for bound in ("low", "high"):
        if bound not in spec:
            raise ValueError(f"{bound} is missing; an interval needs both low and high")
    if not isinstance(spec.get("integer", False), bool):
        raise ValueError("integer is neither true nor false; write integer = true, or leave it out")
    return Interval(spec["low"], spec["high"], spec.get("integer", False))


def _is_finite(number: Any) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number that no float holds
        return False


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


def _spelt(bound: float) -> str:
    """A bound with up to twelve digits, thousands set off where it is whole."""
    return f"{bound:,.0f}" if bound.is_integer() and abs(bound) < 1e15 else f"{bound:.12g}"


@dataclass(frozen=True)
class Grid:
    """Equally spaced numbers: ``value = origin + step · code`` for codes 0..size-1.

    In whole numbers, so that every language computes the same: ``value = (first + stride · code) / per``, and the code
    of a number x is (x · per − first) / stride, rounded half to even, all in double precision.
    """

    origin: float
    step: float
    size: int
    integer: bool = False

    @classmethod
    def over(cls, domain: Interval, step: float, beyond: int = 0, *, integer: bool | None = None) -> Grid:
        """Steps from the domain's lower end to its upper one, and ``beyond`` more to each side."""
        check_codes(domain.width / step + 1 + 2 * beyond)
        points = math.floor(domain.width / step + 1e-9) + 1
        origin = _decimal(float(domain.low)) - beyond * _decimal(step)
        whole = domain.integer and step == int(step) if integer is None else integer
        return cls(float(origin), float(step), points + 2 * beyond, whole)

    @cached_property
    def whole(self) -> tuple[int, int, int]:
        """(first, stride, per): origin and step as the decimals that they print as, over one denominator."""
        for read in (_decimal, Fraction):
            origin, step = read(self.origin), read(self.step)
            per = math.lcm(origin.denominator, step.denominator)
            if all(number < EXACT for number in (abs(origin * per), step * per, per)):
                break
        return int(origin * per), int(step * per), per

    @cached_property
    def floats(self) -> tuple[float, float, float]:
        """``whole`` as the doubles that the arithmetic uses."""
        first, stride, per = self.whole
        return float(first), float(stride), float(per)

    @cached_property
    def values(self) -> Floats:
        return np.asarray(self.number(np.arange(self.size)))

    def number(self, codes: Any) -> Any:
        """(first + stride · code) / per: the nearest float to the decimal number meant."""
        first, stride, per = self.floats
        return (first + stride * codes) / per

    @cached_property
    def edges(self) -> Floats:
        """Half a step around every value: size + 1 edges."""
        return np.asarray(self.number(np.arange(self.size + 1) - 0.5), dtype=np.float64)

    def encode(self, values: ArrayLike) -> Codes:
        """The nearest code; numbers beyond the ends go to the end codes, NaN is −1."""
        numbers = as_numbers(values)
        first, stride, per = self.floats
        missing = np.isnan(numbers)
        with np.errstate(over="ignore"):
            place = np.rint((np.where(missing, self.origin, numbers) * per - first) / stride)
        return np.where(missing, MISSING, np.clip(place, 0, self.size - 1)).astype(np.int64)

    def code_of(self, number: float) -> int:
        """``encode`` of one known number."""
        first, stride, per = self.floats
        return min(max(round((number * per - first) / stride), 0), self.size - 1)

    def value_of(self, code: int) -> float:
        """``decode`` of one code."""
        number = float(self.number(code))
        return round(number) if self.integer else number

    def decode(self, codes: Codes) -> NDArray[Any]:
        missing = codes < 0
        values = np.asarray(self.number(codes), dtype=np.float64)
        if missing.any():
            return with_gaps(values, missing)
        return np.rint(values).astype(np.int64) if self.integer else values


@dataclass(frozen=True)
class Cells:
    """Consecutive intervals between edges; the value of a cell is its midpoint."""

    bounds: tuple[float, ...]

    @property
    def size(self) -> int:
        return len(self.bounds) - 1

    @cached_property
    def edges(self) -> Floats:
        return np.array(self.bounds)

    @cached_property
    def values(self) -> Floats:
        return (self.edges[:-1] + self.edges[1:]) / 2

    @cached_property
    def whole(self) -> tuple[list[int], int]:
        """(edges · per, per): the edges in whole numbers."""
        for read in (_decimal, Fraction):
            edges = [read(bound) for bound in self.bounds]
            per = math.lcm(*(edge.denominator for edge in edges))
            if per < EXACT and all(abs(edge * per) < EXACT for edge in edges):
                break
        return [int(edge * per) for edge in edges], per

    def code_of(self, number: float) -> int:
        """``encode`` of one known number."""
        return min(max(bisect_right(self.bounds, number) - 1, 0), self.size - 1)

    def value_of(self, code: int) -> float:
        """``decode`` of one code."""
        return (self.bounds[code] + self.bounds[code + 1]) / 2

    def encode(self, values: ArrayLike) -> Codes:
        """The cell [e_i, e_{i+1}) that holds a number; numbers beyond the ends go to the end cells, NaN is −1."""
        numbers = as_numbers(values)
        place = np.clip(np.searchsorted(self.edges, numbers, side="right") - 1, 0, self.size - 1)
        return np.where(np.isnan(numbers), MISSING, place).astype(np.int64)

    def decode(self, codes: Codes) -> NDArray[Any]:
        return np.where(codes < 0, np.nan, self.values[codes])


def check_codes(size: float) -> None:
    """Refuse a space of too many codes before memory is taken for it."""
    if not size <= MOST_CODES:
        raise ValueError(
            f"a grid of {size:,.6g} steps is finer than the {MOST_CODES:,} that can be held; use a larger step="
        )


def _decimal(number: float) -> Fraction:
    """The decimal number that a float prints as."""
    return Fraction(repr(float(number)))


# --- how errors speak of values -----------------------------------------------------------------------------------

VALUES_SHOWN: ContextVar[bool] = ContextVar("values are shown", default=False)


@contextmanager
def showing_values(shown: bool = True) -> Iterator[None]:
    """Errors inside may print the value that they are about: reports, or answers that only their owner sees.

    Everywhere else a value may be somebody's true answer, and errors end up in logs: they name its row and the reason.
    """
    before = VALUES_SHOWN.set(shown or VALUES_SHOWN.get())
    try:
        yield
    finally:
        VALUES_SHOWN.reset(before)


def named(value: object) -> str:
    """The value behind the noun that stands for it, where it may be shown."""
    if not VALUES_SHOWN.get():
        return ""
    plain = value.item() if isinstance(value, np.generic) else value
    return f" {plain:.15g}" if isinstance(plain, float) else f" {plain!r}"


def the_value(value: object) -> str:
    """"value 112", or "the value" where it must not be shown."""
    return f"{'value' if VALUES_SHOWN.get() else 'the value'}{named(value)}"


def at_row(row: int | None) -> str:
    """" in row 17", counted from 1; nothing for a single value."""
    return "" if row is None else f" in row {row + 1:,}"


def _refuse(bad: NDArray[np.bool_], numbers: Floats, first_row: int, why: str) -> None:
    """Name the row of the first bad value, where there are rows."""
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        where = at_row(first_row + place if numbers.ndim else None)
        raise ValueError(f"{the_value(numbers.flat[place])}{where} {why}")


def is_missing(value: object) -> bool:
    """None, NaN, NaT and pandas' NA."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def with_gaps(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """The same values with gaps: numbers become float with NaN, anything else objects with None."""
    found = np.asarray(values).astype(float if values.dtype.kind in "iuf" else object)
    found[missing] = np.nan if found.dtype.kind == "f" else None
    return found


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


def is_categorical(values: Any) -> bool:
    """A pandas column (or bare array) of categories."""
    return type(getattr(values, "dtype", None)).__name__ == "CategoricalDtype"


def as_array(values: ArrayLike) -> NDArray[Any]:
    """An array of whatever came: lists, scalars, NumPy, and columns of pandas, Polars or PyArrow."""
    if hasattr(getattr(values, "type", None), "index_type"):
        values = values.cast(values.type.value_type)  # type: ignore[union-attr]  # PyArrow's dictionaries forget which entries are missing
    to_numpy = getattr(values, "to_numpy", None)
    if to_numpy is not None:
        try:
            return np.asarray(to_numpy())
        except ValueError:  # PyArrow copies only when allowed to
            return np.asarray(to_numpy(zero_copy_only=False))
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(float), np.nan)
    array = np.asarray(values)
    if array.dtype.kind == "U" and not isinstance(values, np.ndarray):
        array = np.asarray(values, dtype=object)  # a list that mixes numbers and text must not turn into text
        if all(isinstance(value, str) for value in array.flat):
            array = array.astype(str)
    return array


def as_numbers(values: ArrayLike) -> Floats:
    """Float64 with NaN for missing; text, dates and truth values are refused by name."""
    array = as_array(values)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind == "O":
        return _numbers_of_objects(array)
    if array.size == 0:
        return array.astype(np.float64)
    raise TypeError(f"{the_value(array.flat[0])} is of type {array.dtype}; convert the column to numbers first")


def _numbers_of_objects(array: NDArray[Any]) -> Floats:
    numbers = np.empty(array.shape)
    for place, value in enumerate(array.flat):
        if is_missing(value):
            numbers.flat[place] = np.nan
        elif isinstance(value, (int, float, np.integer, np.floating, Decimal)) and not isinstance(value, bool):
            numbers.flat[place] = float(value)
        else:
            place, value = _no_number(array, place)
            where = at_row(place if array.ndim else None)
            raise TypeError(f"{the_value(value)}{where} is not a number; convert the column to numbers first")
    return numbers


def _no_number(array: NDArray[Any], first: int) -> tuple[int, Any]:
    """The first entry that no number is read from: one alone makes text of a whole column in a file."""
    for place, value in enumerate(array.flat):
        try:
            float(value if isinstance(value, str) else "0")
        except ValueError:
            return place, value
    return first, array.flat[first]
