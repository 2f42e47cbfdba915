"""Write domains as plain data, as plans and channels hold them, and read them back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from sfumato.domain.categories import Categories, Items
from sfumato.domain.interval import Interval, Row

Domain = Interval | Categories | Items | Row
DOMAIN_KEYS = ("low", "high", "integer", "categories", "items", "columns")  # the keys of plans that state a domain


def domain_to_spec(domain: Domain) -> dict[str, Any]:
    """Return a domain (the possible answers) as a dict of plain data, as plans hold it, under keys of DOMAIN_KEYS."""
    if isinstance(domain, Interval):
        bounds: dict[str, Any] = {"low": domain.low, "high": domain.high}
        return {**bounds, "integer": True} if domain.integer else bounds
    if isinstance(domain, Row):
        return {"columns": {name: domain_to_spec(column) for name, column in domain.columns.items()}}
    kind = "categories" if isinstance(domain, Categories) else "items"
    return {kind: domain.size if isinstance(domain.labels, range) else list(domain.labels)}


def domain_from_spec(spec: Mapping[str, Any]) -> Domain:
    """Build the domain (the possible answers) that a plan's dict describes; one that describes none is an error.

    It has low and high (and integer), or categories, or items, or columns of numbers.
    """
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
        if not all(isinstance(column, Mapping) for column in spec["columns"].values()):
            raise ValueError("a column is not a table; give low and high for each name")
        return Row({name: cast(Interval, domain_from_spec(column)) for name, column in spec["columns"].items()})
    for bound in ("low", "high"):
        if bound not in spec:
            raise ValueError(f"{bound} is missing; an interval needs both low and high")
    if not isinstance(spec.get("integer", False), bool):
        raise ValueError("integer is neither true nor false; write integer = true, or leave it out")
    return Interval(spec["low"], spec["high"], spec.get("integer", False))
