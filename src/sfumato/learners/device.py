"""The forms in which devices evaluate fitted models; all need +, −, ·, /, √, exp, log and comparisons only.

    tree    tests down to a leaf: a number below a cut, or a label among some, goes left; the leaf counts classes
    sum     start_y + Σ terms_y(x), in order, each of one column or a product of factors; P(y | x) is their softmax
    joint   Σ over members of P(y, x) / Σ_y P(y, x): grids, or mixtures of products or normals
    pool    Σ weight · P(y | x) of several models in these forms, each P rounded to 2⁻³⁰

A term of a sum adds for every class

    scores[label or cell],  or  peak − curve · (x − mean)² + slope · x, but no less than ``least``,

and ``missing`` where the value is missing or the label unknown; or slope · Π ``factors``, each such a term of a single
class.
`client/static/model.js` reads these forms, and trees go to ONNX from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.domain import Floats

Term = dict[str, Any]
Classes = list[Any] | None


@dataclass(frozen=True)
class DeviceForm:
    """A fitted model as a device evaluates it.

    data: the form as plain data, for JSON. numbers: indices of the columns whose values are read as numbers; values of
    the others are looked up among labels.
    """

    data: dict[str, Any]
    numbers: frozenset[int]

    @classmethod
    def tree(cls, classes: Classes, columns: Sequence[Mapping[str, Any]], nodes: list[dict[str, Any]]) -> DeviceForm:
        """Return the form in which devices evaluate a tree.

        classes: what the leaves count; None: the model was fitted without classes. columns: one mapping a column of
        the records, with its ``labels`` unless it holds numbers. nodes: the root first.
        """
        numbers = (j for j, column in enumerate(columns) if "labels" not in column)
        return cls({"form": "tree", "classes": classes, "columns": columns, "nodes": nodes}, frozenset(numbers))

    @classmethod
    def sum(cls, classes: Classes, start: Floats, terms: Iterable[Term]) -> DeviceForm:
        """Return the form in which devices evaluate a sum; ``start``: the score of each class before any term."""
        added = list(terms)
        single = [factor for term in added for factor in term.get("factors", [term])]
        numbers = frozenset(factor["column"] for factor in single if "labels" not in factor)
        return cls({"form": "sum", "classes": classes, "start": start.tolist(), "terms": added}, numbers)

    @classmethod
    def joint(cls, classes: Classes, numbers: Iterable[int]) -> DeviceForm:
        """Return the form in which devices evaluate a joint model; the document holds its members elsewhere.

        numbers: indices of the columns whose values are read as numbers.
        """
        return cls({"form": "joint", "classes": classes}, frozenset(numbers))

    @classmethod
    def pool(cls, classes: Classes, weights: Iterable[float], parts: Iterable[DeviceForm]) -> DeviceForm:
        """Return the form in which devices average the class probabilities of several models with these weights."""
        members = list(parts)
        weighed = [{"weight": weight, **part.data} for weight, part in zip(weights, members, strict=True)]
        numbers = frozenset[int]().union(*(part.numbers for part in members))
        return cls({"form": "pool", "classes": classes, "parts": weighed}, numbers)


def linear_term(column: int, labels: Sequence[Any] | None, rows: Floats, missing: Floats) -> Term:
    """Return a term of a device's sum: a slope times a number for each class, or the scores of each label.

    labels: of the column; None: it holds numbers. rows: scores[label, class], or the slope of each class.
    missing: what a missing value, or an unknown label, adds for each class.
    """
    if labels is not None:
        return {"column": column, "missing": missing.tolist(), "labels": list(labels), "scores": rows.tolist()}
    flat = dict.fromkeys(("peak", "curve", "mean"), [0.0] * rows.size)
    return {"column": column, "missing": missing.tolist(), **flat, "slope": rows.tolist()}
