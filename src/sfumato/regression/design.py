"""Columns of reports become what a regression computes with.

Of a blurred column nobody's value is known, but numbers u(report) with E[u | x] = x are, and so are squares: the table
of a channel gives both. A category t enters as its indicator 1[x = t], whose unbiased numbers are a row of the table's
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
BENT = 1e-4
"""E[u² | x] is a parabola if it is nowhere further from one than this share of half the range, squared."""


@dataclass(frozen=True, eq=False)
class Term:
    """One column: a name and a number for each of its features and each person; NaN where it is missing.

    ``excess[person, feature]`` of a blurred column: the unbiased number of the feature's square less the square of its
    number. Two features of one column are two categories, which nobody is in at once (``apart``).
    """

    names: tuple[str, ...]
    numbers: Floats
    excess: Floats | None = None
    apart: bool = False


@dataclass(frozen=True, eq=False)
class Answer:
    """A column of categories as an outcome: P[report of each person, category], of ``laws`` those of every level.

    ``level``: the place of each person's law. Rows of what is missing are NaN.
    """

    labels: tuple[Hashable, ...]
    chances: Floats
    laws: tuple[Floats, ...]
    level: NDArray[np.int64]


def term_of(name: str, reports: Reports, domain: Any, reference: Any) -> Term:
    """A column as it enters a regression."""
    if reports.channels[name] is not None:
        column = reports.column(name)
        return _blurred_categories(column, reference) if _of_categories(column) else _blurred_numbers(column)
    values = reports.values(name)
    if not is_labels(values, domain):
        return Term((name,), as_numbers(values.astype(np.int8) if values.dtype.kind == "b" else values)[:, None])
    labels = _clear_labels(name, values, domain)
    codes, others = encode_known(labels, values), _others(name, labels, reference)
    found = np.where(codes[:, None] < 0, np.nan, codes[:, None] == others)
    return Term(_names(name, labels, others), found)


def is_labels(values: NDArray[Any], domain: Any) -> bool:
    """Whether a clear column is of categories: as the plan says, or because it holds anything but numbers."""
    if isinstance(domain, Categories) or values.dtype.kind in "biuf":
        return isinstance(domain, Categories)
    return any(isinstance(each, bool) or not isinstance(each, (Number, type(None))) for each in values.tolist())


def _clear_labels(name: str, values: NDArray[Any], domain: Any) -> tuple[Hashable, ...]:
    """The categories of a clear column, those of the plan where it says them."""
    return _few(name, tuple(domain.labels) if isinstance(domain, Categories) else known_labels(values))


def _blurred_labels(column: Column) -> tuple[Hashable, ...]:
    return _few(column.name, tuple(next(iter(column.levels.values())).domain.labels))  # type: ignore[union-attr]


def _few(name: str, labels: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    if len(labels) > MOST_CATEGORIES:
        raise ValueError(f"column {name!r} has {len(labels)} categories; a regression takes {MOST_CATEGORIES} at most")
    return labels


def _of_categories(column: Column) -> bool:
    return isinstance(next(iter(column.levels.values())).domain, Categories)


def _names(name: str, labels: tuple[Hashable, ...], places: NDArray[np.int64]) -> tuple[str, ...]:
    """What the coefficients of these categories are called; labels that are the same text are told apart."""
    texts = [str(label) for label in labels]
    texts = texts if len(set(texts)) == len(texts) else list(map(repr, labels))
    return tuple(f"{name} = {texts[place]}" for place in places)


def _check_several(name: str, labels: tuple[Hashable, ...]) -> None:
    if len(labels) < 2:
        raise ValueError(f"column {name!r} has {'one category only' if labels else 'no value'}; leave it out")


def _others(name: str, labels: tuple[Hashable, ...], reference: Any) -> NDArray[np.int64]:
    """The places of all categories but the one that they are held against: the last unless another is named."""
    _check_several(name, labels)
    place_of: dict[Hashable, int] = {**{str(label): place for place, label in enumerate(labels)}, **places_of(labels)}
    if reference is not None and reference not in place_of and str(reference) not in place_of:
        texts = ", ".join(map(str, labels))
        raise ValueError(f"reference {reference!r} is no category of {name!r}; they are {texts}")
    against = len(labels) - 1 if reference is None else place_of.get(reference, place_of.get(str(reference), 0))
    return np.array([place for place in range(len(labels)) if place != against], np.int64)


def _blurred_categories(column: Column, reference: Any) -> Term:
    labels = _blurred_labels(column)
    others = _others(column.name, labels, reference)
    numbers = _by_level(column, [_inverse(column.name, each)[others].T for each in column.levels.values()])
    return Term(_names(column.name, labels, others), numbers, numbers - numbers**2, True)


def _blurred_numbers(column: Column) -> Term:
    channels = list(column.levels.values())
    numbers = _by_level(column, [_numbers(column.name, each)[:, None] for each in channels])
    squares = _by_level(column, [_squares(column.name, each)[:, None] for each in channels])
    return Term((column.name,), numbers, squares - numbers**2)


def numbers_of(name: str, reports: Reports) -> Floats:
    """The numbers of a column as an outcome, without bias where they are blurred."""
    if reports.channels[name] is None:
        return term_of(name, reports, None, None).numbers[:, 0]
    column = reports.column(name)
    return _by_level(column, [_numbers(name, each)[:, None] for each in column.levels.values()])[:, 0]


def _by_level(column: Column, tables: list[Floats]) -> Floats:
    """The row of each person's report in the table of its level; NaN where it is missing."""
    found = np.full((column.present.size, tables[0].shape[1]), np.nan)
    for place, table in enumerate(tables):
        own = (column.present >= 0) & (True if column.level is None else column.level == place)
        found[own] = table[column.ranks[own]]
    return found


def _inverse(name: str, channel: Channel) -> Floats:
    try:
        return left_inverse(channel.matrix())
    except ValueError:
        raise ValueError(f"the channel of {name!r} gives some categories the same reports; leave it out") from None


def _numbers(name: str, channel: Channel) -> Floats:
    """u of each report code with E[u | x] = x."""
    numbers = unbiased_numbers(channel)
    if numbers is None:
        raise ValueError(f"reports of {name!r} do not follow the value on average; blur it by sf.Gaussian or such")
    return numbers


@lru_cache(maxsize=64)
def _squares(name: str, channel: Channel) -> Floats:
    """v of each report code with E[v | x] = x²: (u² − a − b·u)/c, where E[u² | x] = a + b·x + c·x²."""
    true, numbers = np.asarray(channel.inputs.values, dtype=float), _numbers(name, channel)  # type: ignore[union-attr]
    middle, reach = (true[0] + true[-1]) / 2, (true[-1] - true[0]) / 2
    x, u = (true - middle) / reach, (numbers - middle) / reach
    expected = u**2 @ channel.matrix()
    c, b, a = np.polyfit(x, expected, 2) if x.size > 2 else (0.0, 0.0, 0.0)
    if c < BENT or np.abs(a + b * x + c * x**2 - expected).max() > BENT:
        raise ValueError(f"reports of {name!r} tell no squares without bias; blur it by sf.Gaussian or such")
    return np.asarray((u**2 - a - b * u) / c * reach**2 + 2 * middle * reach * u + middle**2)


def answer_of(name: str, reports: Reports, domain: Any, reference: Any) -> Answer:
    """A column of categories as an outcome; the category that others are held against comes first."""
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
    return Answer(
        tuple(labels[place] for place in order), chances[:, order], tuple(law[:, order] for law in laws), level
    )


def domains_in(channels: Any) -> Mapping[str, Any]:
    """What a plan says of its columns."""
    return {name: each.domain for name, each in getattr(channels, "attributes", {}).items()}
