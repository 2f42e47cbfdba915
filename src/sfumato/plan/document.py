"""The plan as a whole: read, checked, applied, and what it guarantees."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.base import Mechanism, identity_of
from sfumato.channels.words import noise_generator
from sfumato.domain import as_array
from sfumato.guarantee import CombinedGuarantee
from sfumato.plan.attribute import Attribute
from sfumato.plan.schema import plan_schema
from sfumato.prose import suggest
from sfumato.tables import LEVEL_SUFFIX, map_table

PLAN_KEYS = ("name", "description", "attributes")


@dataclass(frozen=True)
class Plan:
    """The attributes of a survey, by name, in order."""

    name: str
    attributes: dict[str, Attribute]
    description: str = ""

    def __post_init__(self) -> None:
        if not self.attributes:
            raise ValueError("the plan has no attributes; add a table [attributes.<name>] for each question")
        classes = [name for name, attribute in self.attributes.items() if attribute.role == "class"]
        if len(classes) > 1:
            raise ValueError(f'attributes {", ".join(classes)} all have role = "class"; keep one')

    # --- reading and writing ------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan from a .toml or .json file."""
        place = Path(path)
        if not place.is_file():
            raise FileNotFoundError(f"plan {str(path)!r} is not a file; check the path")
        if place.suffix not in (".toml", ".json"):
            raise ValueError(f"plan {place.name!r} is neither .toml nor .json; rename it to what it is")
        try:
            text = place.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{place.name} is not a text file in UTF-8; save it as one") from None
        try:
            return cls.loads(text, place.suffix[1:])
        except (ValueError, TypeError) as error:
            raise type(error)(f"{place.name}: {error}") from None

    @classmethod
    def loads(cls, text: str, form: str = "toml") -> Plan:
        """Read a plan from text in TOML or JSON."""
        try:
            spec = tomllib.loads(text) if form == "toml" else json.loads(text)
        except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
            raise ValueError(f"not valid {form.upper()}: {error}; is the file complete?") from None
        return cls.from_dict(spec)

    @classmethod
    def from_dict(cls, spec: Mapping[str, Any]) -> Plan:
        """A plan from plain data; every error names the key and says how to mend it."""
        if not isinstance(spec, Mapping):
            raise ValueError("a plan is a table with the keys name and attributes")
        for key in spec:
            if key not in PLAN_KEYS:
                raise ValueError(f"key {key!r} is unknown{suggest(str(key), PLAN_KEYS)}")
        found = spec.get("attributes", {})
        if not isinstance(found, Mapping):
            raise ValueError("attributes is not a table; write [attributes.<name>] for each question")
        attributes = {}
        for name, part in found.items():
            try:
                attributes[str(name)] = Attribute.from_dict(str(name), part)
            except (ValueError, TypeError) as error:
                raise type(error)(f"attributes.{name}: {error}") from None
        return cls(str(spec.get("name", "plan")), attributes, str(spec.get("description", "")))

    def to_dict(self) -> dict[str, Any]:
        head = {"name": self.name, **({"description": self.description} if self.description else {})}
        return {**head, "attributes": {name: attribute.to_dict() for name, attribute in self.attributes.items()}}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @staticmethod
    def schema() -> dict[str, Any]:
        """The published JSON Schema of plans."""
        return plan_schema()

    @cached_property
    def identity(self) -> str:
        """A hash of what is asked and how each answer is blurred; it travels with reports. However the plan's numbers
        are spelt, the same plan has the same identity."""
        attributes = [{"name": name, **each.canonical()} for name, each in self.attributes.items()]
        return identity_of({"name": self.name, "attributes": attributes})

    # --- use ----------------------------------------------------------------------------------------------------

    @property
    def channels(self) -> dict[str, Mechanism | None]:
        """The channel (None: clear) of every attribute that is not the class."""
        return {name: each.channel for name, each in self.attributes.items() if each.role != "class"}

    @property
    def columns(self) -> dict[str, Attribute]:
        """The columns of a table of answers, each with its attribute."""
        return {column: each for each in self.attributes.values() for column in each.columns}

    @property
    def target(self) -> str | None:
        """The name of the class attribute."""
        return next((name for name, each in self.attributes.items() if each.role == "class"), None)

    def randomize(
        self, table: Any, rng: np.random.Generator | int | None = None, *, key: bytes | None = None,
        levels: Mapping[str, Any] | None = None,
    ) -> Any:
        """Reports for a table of people, in the same kind of table (pandas, Polars, PyArrow, DuckDB, or a mapping).

        A mapping with one person's answers gives a mapping with their reports; with ``key``, the device's secret, the
        same answers always give the same reports. Columns that the plan does not name are refused. Where people choose
        a level, it is read from the column ``<name>.level`` or from ``levels`` (a level's name, or shares of the levels
        to draw from in a simulation), else it is the default; the reports carry it in ``<name>.level``.
        """
        generator = None if rng is None else noise_generator(rng)

        def convert(columns: Mapping[str, Any]) -> dict[str, Any]:
            return self._reports(columns, generator, key, levels or {})

        return map_table(table, convert)

    def _reports(
        self, columns: Mapping[str, Any], rng: np.random.Generator | None, key: bytes | None, levels: Mapping[str, Any]
    ) -> dict[str, Any]:
        self.check_columns(list(columns))
        asked, reports = self.columns, dict[str, Any]()
        for column in columns:
            each = asked.get(column)
            if each is None or column in reports:
                continue
            several = each.columns != (each.name,)
            values = {name: columns[name] for name in each.columns} if several else columns[column]
            try:
                level = self._level(each, columns, levels, rng)
                found = each.randomize(values, rng, key=key, question=f"{self.name}/{each.name}", level=level)
            except (ValueError, TypeError) as error:
                raise type(error)(f"column {column!r}: {error}") from None
            reports |= found if several else {column: found}
            if level is not None:
                reports[column + LEVEL_SUFFIX] = level if level.ndim else level.item()
        return reports

    def _level(
        self, each: Attribute, columns: Mapping[str, Any], levels: Mapping[str, Any], rng: np.random.Generator | None
    ) -> NDArray[Any] | None:
        """The level of every person for an attribute with a choice; None where there is nothing to choose."""
        if each.channel is None or not each.channel.has_levels:
            return None
        wanted = columns.get(each.name + LEVEL_SUFFIX, levels.get(each.name))
        shape = as_array(columns[each.name]).shape
        if isinstance(wanted, Mapping):
            return each.channel.draw_levels(wanted, math.prod(shape), rng).reshape(shape)
        return each.channel.levels_of(wanted, shape)

    def check_columns(self, columns: list[str]) -> None:
        """Every column is in the plan (or the level of one that is) and every attribute is in the table."""
        asked = self.columns
        for column in columns:
            chooser = asked.get(str(column).removesuffix(LEVEL_SUFFIX))
            if column not in asked and not (chooser and chooser.has_levels):
                hint = suggest(str(column), asked)
                close = hint if hint.startswith("; did you mean") else ""
                raise ValueError(f'column {column!r} has no channel{close}; drop it or declare it with role = "clear"')
        for name in asked:
            if name not in columns:
                raise ValueError(f"column {name!r} of the plan is not in the table; add it, or drop it from the plan")

    def counts(self, table: Any, *, by: str | None = None, weights: Any = None) -> Any:
        """The counts of every blurred attribute, by name; ``by``: apart by the class in this column."""
        return _above("counts").counts_of_plan(table, self, by=by, weights=weights)

    def reconstruct(
        self, table: Any, intervals: Any = None, method: str = "smooth", *, by: str | None = None, weights: Any = None
    ) -> Any:
        """The distribution of every blurred attribute, by name, from reports (or from ``plan.counts`` of them)."""
        return _above("reconstruction").reconstruct_plan(table, self, intervals, method, by=by, weights=weights)

    def guarantee(self, prior: Mapping[str, Any] | None = None) -> CombinedGuarantee:
        """What all reports of one person reveal together, and what is not protected at all."""
        believed = prior or {}
        parts = {
            name: each.channel.guarantee(prior=believed.get(name))
            for name, each in self.attributes.items()
            if each.channel is not None
        }
        if not parts:
            raise ValueError("the plan blurs nothing, so there is no guarantee; give an attribute a channel")
        clear = [name for name, each in self.attributes.items() if each.channel is None]
        notes = [f"Sent as it is, without protection: {', '.join(clear)}."] if clear else []
        return CombinedGuarantee(parts, (*notes, "That you take part at all is visible to the collector."))


def _above(floor: str) -> Any:
    """A floor above this one, by its name: a plan offers what is done with its reports without being built on it."""
    return import_module(f"sfumato.{floor}")
