"""What all of a plan's answers reveal, and what those in the clear tell about the blurred ones."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.domain import Categories, Cells, Domain, Interval, as_array, as_numbers
from sfumato.guarantee import ClearAnswerCounts, CombinedGuarantee
from sfumato.plan.attribute import Attribute
from sfumato.prose import in_words
from sfumato.tables import read_columns

RANGES = 20
CLEAR_RANGES = 10


def guarantee_of(
    attributes: Mapping[str, Attribute], prior: Mapping[str, Any], truth: Any, language: str,
    drawn: tuple[str, ...] = (), each: int | None = None,
) -> CombinedGuarantee:
    """The guarantee of all attributes together."""
    blurred = {name: each.channel for name, each in attributes.items() if each.channel is not None}
    if not blurred:
        raise ValueError("the plan blurs nothing, so there is no guarantee; give an attribute a channel")
    parts = {name: each.guarantee(prior=prior.get(name), language=language) for name, each in blurred.items()}
    clear = {name: each.domain for name, each in attributes.items() if each.channel is None}
    tells = None if truth is None or not clear else what_clear_tells(attributes, clear, truth)
    return CombinedGuarantee(parts, (), tuple(clear), tells, True, language, drawn, each)


def what_clear_tells(
    attributes: Mapping[str, Attribute], clear: Mapping[str, Domain], truth: Any
) -> tuple[ClearAnswerCounts, ...]:
    """For every blurred number or category, how often each combination of clear answers goes with each of its values;
    numbers in ranges."""
    asked = {
        column: getattr(each.domain, "columns", {column: each.domain})[column]
        for each in attributes.values()
        if each.channel is not None
        for column in each.columns
    }
    known = {column: domain for column, domain in asked.items() if isinstance(domain, (Interval, Categories))}
    table = read_columns(truth, [*clear, *known])
    labels = [_clear_labels(domain, table[name]) for name, domain in clear.items()]
    joined = np.array([", ".join(row) for row in zip(*labels, strict=True)])
    combinations, place = np.unique(joined, return_inverse=True)
    found = []
    for column, domain in known.items():
        space = _space(domain)
        codes = space.encode(table[column])
        seen = codes >= 0
        counts = np.zeros((combinations.size, space.size))
        np.add.at(counts, (place[seen], codes[seen]), 1.0)
        possible = counts.sum(axis=1) > 0
        outputs = Categories(combinations[possible].tolist())
        found.append(ClearAnswerCounts(column, counts[possible], space, outputs))
    return tuple(found)


def _space(domain: Interval | Categories) -> Categories | Cells:
    """What a blurred answer is counted in: its categories, or ranges of its numbers."""
    if isinstance(domain, Categories):
        return domain
    return Cells(tuple(np.linspace(float(domain.low), float(domain.high), RANGES + 1).tolist()))


def _clear_labels(domain: Domain, values: Any) -> list[str]:
    """A clear answer as text; a number as the range of a tenth of the people that it lies in."""
    if not isinstance(domain, Interval):
        return [str(value) for value in as_array(values).tolist()]
    numbers = as_numbers(as_array(values))
    edges = np.unique(np.nanquantile(numbers, np.linspace(0, 1, CLEAR_RANGES + 1)))
    if edges.size <= 2:
        return [in_words(float(number)) for number in numbers]
    named = [*(f"{in_words(low)}–{in_words(high)}" for low, high in pairwise(edges.tolist())), ""]
    return [named[code] for code in Cells(tuple(edges.tolist())).encode(numbers)]
