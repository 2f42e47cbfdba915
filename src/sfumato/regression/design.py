"""Columns of reports as the numbers that a regression computes with.

For a blurred number x a report gives an unbiased number u(report), E[u | x] = x, and an unbiased square; both follow
from the channel's table. A category t enters as its indicator 1[x = t], whose unbiased numbers are a row of the table's
inverse and whose square is itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Channel
from sfumato.counts import Column, Reports, encode_known, known_labels
from sfumato.domain import Categories, Floats, as_numbers, places_of
from sfumato.reconstruction import left_inverse, unbiased_numbers

MOST_CATEGORIES = 50
"""The most categories of a column in a regression. Chosen by judgement: each is a coefficient, and a column with more
is more often a name or a code than a category."""

BENT = 1e-4
"""How far E[u² | x] may be from a parabola in x, in units of half the range squared, and how much x² must weigh in it.
Chosen by judgement: far above rounding (1e−12), far below the variance of any noise that people would choose."""


@dataclass(frozen=True, eq=False)
class RegressionTerm:
    """A column to explain by, as it enters a regression: one feature for numbers, one for each category but one.

    ``names``: the features' names. ``numbers[person, feature]``: the values, for a blurred column unbiased numbers; NaN
    where missing. ``excess[person, feature]``: for a blurred column the unbiased square less the square of the unbiased
    number; None for a clear one. ``apart``: the features are categories, of which nobody has two.
    """

    names: tuple[str, ...]
    numbers: Floats
    excess: Floats | None = None
    apart: bool = False


@dataclass(frozen=True, eq=False)
class CategoricalOutcome:
    """A column of categories as the outcome of a logistic regression.

    ``labels``: the categories, the reference first. ``chances[person, category]``: P[the person's report | category],
    NaN where it is missing. ``laws``: the table P[report, category] of every level. ``level``: the index of each
    person's table.
    """

    labels: tuple[Hashable, ...]
    chances: Floats
    laws: tuple[Floats, ...]
    level: NDArray[np.int64]


def term_of(name: str, reports: Reports, domain: Any, reference: Any) -> RegressionTerm:
    """Turn a column of a table into the numbers by which it enters a regression.

    ``domain``: the column's domain in the plan (None: not known). ``reference``: the category that others are compared
    with (None: the last).
    """
    if reports.channels[name] is not None:
        column = reports.column(name)
        return _blurred_categories(column, reference) if _of_categories(column) else _blurred_numbers(column)
    values = reports.values(name)
    if not is_labels(values, domain):
        values = values.astype(np.int8) if values.dtype.kind == "b" else values
        return RegressionTerm((name,), as_numbers(values)[:, None])
    labels = _clear_labels(name, values, domain)
    codes, others = encode_known(labels, values), _others(name, labels, reference)
    indicators = np.where(codes[:, None] < 0, np.nan, codes[:, None] == others)
    return RegressionTerm(_names(name, labels, others), indicators)


def is_labels(values: NDArray[Any], domain: Any) -> bool:
    """Return whether a column that is not blurred holds categories and not numbers.

    It does if the plan's ``domain`` says so, or a value is not a number. ``domain``: None: not known.
    """
    if isinstance(domain, Categories) or values.dtype.kind in "biuf":
        return isinstance(domain, Categories)
    return any(isinstance(value, bool) or not isinstance(value, (Number, type(None))) for value in values.tolist())


def _clear_labels(name: str, values: NDArray[Any], domain: Any) -> tuple[Hashable, ...]:
    """Return the different categories of a column that is not blurred, one label each.

    Those of the plan's ``domain``; where that is None, those that occur among ``values``.
    """
    return _few(name, tuple(domain.labels) if isinstance(domain, Categories) else known_labels(values))


def _blurred_labels(column: Column) -> tuple[Hashable, ...]:
    """Return the categories that people may answer in a blurred column: its channel's, one label each."""
    return _few(column.name, tuple(next(iter(column.levels.values())).domain.labels))  # type: ignore[union-attr]


def _few(name: str, labels: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    """Return the labels of a column unchanged; raise ValueError if they are more than MOST_CATEGORIES."""
    if len(labels) > MOST_CATEGORIES:
        raise ValueError(f"column {name!r} has {len(labels)} categories; a regression takes {MOST_CATEGORIES} at most")
    return labels


def _of_categories(column: Column) -> bool:
    """Return whether the true answers of a blurred column are categories, and not numbers."""
    return isinstance(next(iter(column.levels.values())).domain, Categories)


def _names(name: str, labels: tuple[Hashable, ...], indices: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the names of coefficients, "column = label", one for each category whose index is among ``indices``.

    Where two labels are the same text (1 and "1"), they are written as Python writes them.
    """
    texts = [str(label) for label in labels]
    texts = texts if len(set(texts)) == len(texts) else list(map(repr, labels))
    return tuple(f"{name} = {texts[index]}" for index in indices)


def _check_several(name: str, labels: tuple[Hashable, ...]) -> None:
    """Raise ValueError if a column has fewer than two categories. ``name``: the column's, for the error."""
    if len(labels) < 2:
        raise ValueError(f"column {name!r} has {'one category only' if labels else 'no value'}; leave it out")


def _others(name: str, labels: tuple[Hashable, ...], reference: Any) -> NDArray[np.int64]:
    """Return the indices of all categories but the one that others are compared with (the reference).

    ``labels``: the categories. ``reference``: its label; None: the last.
    """
    _check_several(name, labels)
    index_of: dict[Hashable, int] = {**{str(label): index for index, label in enumerate(labels)}, **places_of(labels)}
    if reference is not None and reference not in index_of and str(reference) not in index_of:
        texts = ", ".join(map(str, labels))
        raise ValueError(f"reference {reference!r} is no category of {name!r}; they are {texts}")
    against = len(labels) - 1 if reference is None else index_of.get(reference, index_of.get(str(reference), 0))
    return np.array([index for index in range(len(labels)) if index != against], np.int64)


def _blurred_categories(column: Column, reference: Any) -> RegressionTerm:
    """Turn a blurred column of categories into the numbers by which it enters a regression.

    One feature for each category but the ``reference`` (None: the last): a number that on average is 1 or 0.
    """
    labels = _blurred_labels(column)
    others = _others(column.name, labels, reference)
    numbers = _by_level(column, [_inverse(column.name, level)[others].T for level in column.levels.values()])
    return RegressionTerm(_names(column.name, labels, others), numbers, numbers - numbers**2, True)


def _blurred_numbers(column: Column) -> RegressionTerm:
    """Turn a blurred column of numbers into the numbers, right on average, by which it enters a regression."""
    channels = list(column.levels.values())
    numbers = _by_level(column, [_numbers(column.name, level)[:, None] for level in channels])
    squares = _by_level(column, [_squares(column.name, level)[:, None] for level in channels])
    return RegressionTerm((column.name,), numbers, squares - numbers**2)


def numbers_of(name: str, reports: Reports) -> Floats:
    """Return the numbers of a column that a linear regression explains, one a person, NaN where missing.

    Where the column is blurred they are right on average.
    """
    if reports.channels[name] is None:
        return term_of(name, reports, None, None).numbers[:, 0]
    column = reports.column(name)
    return _by_level(column, [_numbers(name, level)[:, None] for level in column.levels.values()])[:, 0]


def _by_level(column: Column, tables: list[Floats]) -> Floats:
    """Look up each person's report: return a row of numbers for each, tables[level][report code].

    NaN where the report is missing. ``tables``: for each level (strength of blurring that people chose) one row of
    numbers a report code.
    """
    rows = np.full((column.present.size, tables[0].shape[1]), np.nan)
    for index, table in enumerate(tables):
        own = (column.present >= 0) & (True if column.level is None else column.level == index)
        rows[own] = table[column.ranks[own]]
    return rows


def _inverse(name: str, channel: Channel) -> Floats:
    """Return the matrix [category, report] that undoes a channel on average: the left inverse of its table of chances.

    ``name``: the column's, for the error where some categories have the same reports.
    """
    try:
        return left_inverse(channel.matrix())
    except ValueError:
        raise ValueError(f"the channel of {name!r} gives some categories the same reports; leave it out") from None


def _numbers(name: str, channel: Channel) -> Floats:
    """Return for each report code a number u that is the true value on average, E[u | x] = x.

    ``name``: the column's, for the error where the channel has no such numbers.
    """
    numbers = unbiased_numbers(channel)
    if numbers is None:
        raise ValueError(f"reports of {name!r} do not follow the value on average; blur it by sf.Gaussian or such")
    return numbers


@lru_cache(maxsize=64)
def _squares(name: str, channel: Channel) -> Floats:
    """Return for each report code a number v that is the true value's square on average, E[v | x] = x².

    ``name``: the column's, for the error where the channel has no such numbers.

    v = (u² − a − b·u)/c, where E[u² | x] = a + b·x + c·x²
    """
    true, numbers = np.asarray(channel.inputs.values, dtype=float), _numbers(name, channel)  # type: ignore[union-attr]
    middle, reach = (true[0] + true[-1]) / 2, (true[-1] - true[0]) / 2
    x, u = (true - middle) / reach, (numbers - middle) / reach
    expected = u**2 @ channel.matrix()
    c, b, a = np.polyfit(x, expected, 2) if x.size > 2 else (0.0, 0.0, 0.0)
    if c < BENT or np.abs(a + b * x + c * x**2 - expected).max() > BENT:
        raise ValueError(f"reports of {name!r} tell no squares without bias; blur it by sf.Gaussian or such")
    return np.asarray((u**2 - a - b * u) / c * reach**2 + 2 * middle * reach * u + middle**2)


def answer_of(name: str, reports: Reports, domain: Any, reference: Any) -> CategoricalOutcome:
    """Turn a column of categories into the outcome of a logistic regression; the reference category comes first.

    ``domain``: what the plan allows (None: not known). ``reference``: the category that the log odds are against (None:
    the last).
    """
    if reports.channels[name] is None:
        values = reports.values(name)
        labels = _clear_labels(name, values, domain)
        _check_several(name, labels)
        laws = [np.eye(len(labels))]
        codes, level = encode_known(labels, values), np.zeros(len(values), np.int64)
        chances = np.where(codes[:, None] < 0, np.nan, laws[0][codes])
    else:
        column = reports.column(name)
        labels = _blurred_labels(column)
        laws = [each.matrix() for each in column.levels.values()]
        if np.linalg.matrix_rank(np.vstack(laws)) < len(labels):
            raise ValueError(f"the channel of {name!r} gives some categories the same reports; leave it out")
        chances = _by_level(column, laws)
        level = np.zeros(len(chances), np.int64) if column.level is None else column.level.astype(np.int64)
    others = _others(name, labels, reference)
    order = [*(set(range(len(labels))) - set(others.tolist())), *others.tolist()]
    return CategoricalOutcome(
        tuple(labels[index] for index in order), chances[:, order], tuple(law[:, order] for law in laws), level
    )


def domains_in(channels: Any) -> Mapping[str, Any]:
    """Return what may be answered to each question of a plan, its domain, by name; {} if ``channels`` is no plan."""
    return {name: attribute.domain for name, attribute in getattr(channels, "attributes", {}).items()}
