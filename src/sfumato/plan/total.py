"""The guarantee of all answers to a plan together, and what clear answers reveal about blurred ones."""

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
"""Equal ranges into which a blurred number is cut where it is counted beside clear answers. Chosen by judgement: more
ranges show finer connections and need more records in the data owner's table."""

CLEAR_RANGES = 10
"""Ranges of about equally many people into which a clear number is cut there: tenths of the people, by judgement."""


def guarantee_of(
    attributes: Mapping[str, Attribute], prior: Mapping[str, Any], truth: Any, language: str,
    drawn: tuple[str, ...] = (), questions_each: int | None = None,
) -> CombinedGuarantee:
    """Return what all answers of one person reveal together.

    ``prior``: beliefs about the answer, by attribute. ``truth``: a table of true records, from which it is counted what
    clear answers reveal about blurred ones (None: not counted). ``drawn``: the questions of which a device draws
    ``questions_each``; () and None where each person answers all.
    """
    blurred = {name: attribute.channel for name, attribute in attributes.items() if attribute.channel is not None}
    if not blurred:
        raise ValueError("the plan blurs nothing, so there is no guarantee; give an attribute a channel")
    parts = {name: attribute.guarantee(prior=prior.get(name), language=language) for name, attribute in blurred.items()}
    clear = {name: attribute.domain for name, attribute in attributes.items() if attribute.channel is None}
    tells = None if truth is None or not clear else what_clear_tells(attributes, clear, truth)
    return CombinedGuarantee(parts, (), tuple(clear), tells, True, language, drawn, questions_each)


def what_clear_tells(
    attributes: Mapping[str, Attribute], clear: Mapping[str, Domain], truth: Any
) -> tuple[ClearAnswerCounts, ...]:
    """Count what answers that are sent as they are tell about blurred ones, in a table of true records.

    For every blurred number or category: how often each combination of clear answers goes with each value. ``clear``:
    the domains of the clear attributes. ``truth``: the true records. Numbers are counted in ranges.
    """
    domain_of = {
        column: getattr(attribute.domain, "columns", {column: attribute.domain})[column]
        for attribute in attributes.values()
        if attribute.channel is not None
        for column in attribute.columns
    }
    countable = {column: domain for column, domain in domain_of.items() if isinstance(domain, (Interval, Categories))}
    table = read_columns(truth, [*clear, *countable])
    labels = [_clear_labels(domain, table[name]) for name, domain in clear.items()]
    joined = np.array([", ".join(row) for row in zip(*labels, strict=True)])
    combinations, combination_of = np.unique(joined, return_inverse=True)
    tells = []
    for column, domain in countable.items():
        space = _space(domain)
        codes = space.encode(table[column])
        answered = codes >= 0
        counts = np.zeros((combinations.size, space.size))
        np.add.at(counts, (combination_of[answered], codes[answered]), 1.0)
        possible = counts.sum(axis=1) > 0
        outputs = Categories(combinations[possible].tolist())
        tells.append(ClearAnswerCounts(column, counts[possible], space, outputs))
    return tuple(tells)


def _space(domain: Interval | Categories) -> Categories | Cells:
    """Return the cells in which a blurred answer is counted: its categories, or RANGES equal ranges of its numbers."""
    if isinstance(domain, Categories):
        return domain
    return Cells(tuple(np.linspace(float(domain.low), float(domain.high), RANGES + 1).tolist()))


def _clear_labels(domain: Domain, values: Any) -> list[str]:
    """Return clear answers as texts; a number becomes the range of a tenth of the people that it lies in."""
    if not isinstance(domain, Interval):
        return [str(value) for value in as_array(values).tolist()]
    numbers = as_numbers(as_array(values))
    edges = np.unique(np.nanquantile(numbers, np.linspace(0, 1, CLEAR_RANGES + 1)))
    if edges.size <= 2:
        return [in_words(float(number)) for number in numbers]
    named = [*(f"{in_words(low)}–{in_words(high)}" for low, high in pairwise(edges.tolist())), ""]
    return [named[code] for code in Cells(tuple(edges.tolist())).encode(numbers)]
