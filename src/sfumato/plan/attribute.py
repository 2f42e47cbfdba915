"""One question of a plan, and how its answers stand in files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from sfumato.channels.identity import identity_of
from sfumato.channels.mechanism import Mechanism, Rng, mechanism_from_spec, refuse_unknown
from sfumato.channels.program.random_words import Key
from sfumato.domain import (
    DOMAIN_KEYS,
    Categories,
    Domain,
    Interval,
    Items,
    Row,
    domain_from_spec,
    domain_to_spec,
    the_value,
)
from sfumato.prose import suggest
from sfumato.tables import LEVEL_SUFFIX, PLAN_COLUMN, name_row

if TYPE_CHECKING:
    from sfumato.plan.document import Plan

Role = Literal["attribute", "class", "clear"]
ROLES: tuple[Role, ...] = ("attribute", "class", "clear")
OWN_KEYS = ("role", "question")


@dataclass(frozen=True)
class Attribute:
    """One question: its domain, its mechanism (None: sent as it is), its role, and how it is asked."""

    name: str
    domain: Domain
    channel: Mechanism | None = None
    role: Role = "attribute"
    question: str = ""

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"role = {self.role!r} is unknown{suggest(str(self.role), ROLES)}")
        if self.channel is None and self.role == "attribute":
            raise ValueError('no channel; add one (channel = "gaussian", …) or send it as it is with role = "clear"')
        if self.channel is not None and self.role == "clear":
            raise ValueError('role = "clear" and a channel contradict each other; drop one of the two')

    @classmethod
    def from_dict(cls, name: str, spec: Mapping[str, Any]) -> Attribute:
        """An attribute from its part of the plan; errors name the key and the fix."""
        if not isinstance(spec, Mapping):
            raise ValueError("is not a table; write low, high, channel … as keys below it")
        own = {key: value for key, value in spec.items() if key in OWN_KEYS}
        rest = {key: value for key, value in spec.items() if key not in DOMAIN_KEYS + OWN_KEYS}
        _check_parameters(rest)
        domain = domain_from_spec({key: value for key, value in spec.items() if key in DOMAIN_KEYS})
        return cls(name, domain, mechanism_from_spec(domain, rest) if rest else None, **own)

    def to_dict(self) -> dict[str, Any]:
        spec = {**domain_to_spec(self.domain), **(self.channel.to_spec() if self.channel else {})}
        if self.role != "attribute":
            spec["role"] = self.role
        return {**spec, "question": self.question} if self.question else spec

    def canonical(self) -> dict[str, Any]:
        """What the attribute is, however it is spelt: what the plan's identity is made of."""
        rules = {rule: getattr(self.channel, rule, None) for rule in ("missing", "outside")}
        made = {"domain": self.domain_spec, "channel": self.channel.identity if self.channel else None}
        return {**made, **rules, "role": self.role, "question": self.question}

    @cached_property
    def domain_spec(self) -> dict[str, Any]:
        """The domain as plain data."""
        return domain_to_spec(self.domain)

    @cached_property
    def domain_identity(self) -> str:
        """A hash of the domain, however its numbers are spelt."""
        return identity_of(self.domain_spec)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that hold the answers."""
        return tuple(self.domain.columns) if isinstance(self.domain, Row) else (self.name,)

    @cached_property
    def has_levels(self) -> bool:
        """Whether people choose their own level."""
        return self.channel is not None and self.channel.has_levels

    def randomize(
        self, values: Any, rng: Rng, *, key: Key = None, question: str = "", level: Any = None
    ) -> Any:
        """Reports for a column; a column in the clear is checked against its domain and passed on."""
        self.check_fits_a_column()
        if self.channel is not None:
            return self.channel.randomize(values, rng, level=level, key=key, question=question)
        if isinstance(self.domain, Interval):
            self.domain.clean(values)
        elif hasattr(self.domain, "encode"):
            self.domain.encode(values)
        return values

    def check_fits_a_column(self) -> None:
        if isinstance(self.domain, Items):
            raise ValueError("baskets do not fit in a table's column; use its channel's randomize, or sfumato itemsets")

    @property
    def space(self) -> Any:
        """What knows the attribute's values: its channel, at the first level of several, or its domain."""
        return self.domain if self.channel is None else next(iter(self.channel.levels.values()))

    def check_values(self, values: Any, places: Any = None) -> None:
        """True values are in the domain, by the channel's own rule for those outside; a bad one is named by its row."""
        space = self.space
        name_row(space.encode if hasattr(space, "encode") else space.clean, values, self.name, places)


def _check_parameters(spec: Mapping[str, Any]) -> None:
    """A key that neither the attribute nor its channel knows gets a suggestion."""
    name = str(spec["channel"]) if "channel" in spec else ""
    if name and name not in Mechanism.registry:
        raise ValueError(f"channel = {name!r} is unknown{suggest(name, Mechanism.registry)}")
    refuse_unknown(name, spec, [*DOMAIN_KEYS, *OWN_KEYS, "channel"])


# --- answers and reports in files: read as the plan means them, written with the plan that made them ----------------


def text_columns(plan: Plan) -> list[str]:
    """Columns of text, which must not be read as numbers: categories that are all text, level names, and the
    hexadecimal digits of baskets."""
    labels = [name for name, each in plan.attributes.items() if _is_text(each.domain)]
    baskets = [name for name, each in plan.attributes.items() if isinstance(each.domain, Items)]
    digits = [prefix + form for form in ("bitmap", "seed") for name in baskets for prefix in ("", f"{name}.")]
    return labels + digits + [name + LEVEL_SUFFIX for name, each in plan.attributes.items() if each.has_levels]


def _is_text(domain: Any) -> bool:
    return isinstance(domain, Categories) and all(isinstance(label, str) for label in domain.labels)


def without_origin(table: Any, plan: Plan | None, reports: bool | None) -> Any:
    """The table without what it says about the plan that made it, which is checked.

    ``reports``: whether it must hold reports, which the plan then must have made if they say by which they were, or
    must not hold any; None: either.
    """
    held = PLAN_COLUMN in table.column_names
    said = (table.schema.metadata or {}).get(PLAN_COLUMN.encode())
    if reports is False and (held or said):
        raise ValueError(f"{PLAN_COLUMN!r} says that these are reports; true answers are needed here")
    if plan is not None and reports:
        plan.check_origin(table.column(PLAN_COLUMN) if held else [said and said.decode()])
    return table.drop_columns([PLAN_COLUMN]) if held else table


def with_origin(table: Any, plan: Plan, extension: str) -> Any:
    """The other way round: the plan in Parquet's metadata, in CSV in a column of its own, and bytes there in hex."""
    import pyarrow as pa

    if extension == ".csv":
        table = pa.table({name: _as_hex(table.column(name)) for name in table.column_names})
        table = table.append_column(PLAN_COLUMN, pa.array([plan.origin] * table.num_rows, pa.string()))
    return table.replace_schema_metadata({PLAN_COLUMN: plan.origin})


def _as_hex(column: Any) -> Any:
    import pyarrow as pa

    if not pa.types.is_binary(column.type) and not pa.types.is_fixed_size_binary(column.type):
        return column
    return pa.array([None if cell is None else cell.hex() for cell in column.to_pylist()], pa.string())


def as_meant(table: Any, plan: Plan, first_row: int = 0) -> Any:
    """Columns of a CSV as the plan's domains have them, where some field made them texts or NaN; it is named."""
    for name, attribute in plan.columns.items():
        if name in table.column_names and not isinstance(attribute.domain, Items):
            column = table.column(name)
            if isinstance(attribute.domain, Categories):
                column = _as_labels(column, attribute.domain)
            else:
                column = _as_numbers(column, name, first_row)
            table = table.set_column(table.column_names.index(name), name, column)
    return table


def _as_numbers(column: Any, name: str, first_row: int) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _holds_text(column):
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            _refuse_field("nan", first_row + pc.index(pc.is_nan(column), True).as_py(), name)
        return column
    numbers = []
    for row, field in enumerate(column.to_pylist(), first_row):
        numbers.append(None if field is None else _number(field))
        if field is not None and numbers[-1] is None:
            _refuse_field(field, row, name)
    return pa.chunked_array([pa.array(numbers, pa.float64())])


def _refuse_field(field: str, row: int, name: str) -> None:
    raise ValueError(
        f"row {row + 1:,}, column {name!r}: {the_value(field)} is not a number; correct it, or leave the field empty "
        "where the answer is missing"
    )


def _number(field: str) -> float | None:
    try:
        number = float(field)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _as_labels(column: Any, domain: Categories) -> Any:
    """Labels that are no texts, where some other field made the whole column texts."""
    import pyarrow as pa

    if not _holds_text(column) or any(isinstance(label, str) for label in domain.labels):
        return column
    label_of = {field: _label(field, domain) for field in column.unique().to_pylist()}
    if any(found is None and field is not None for field, found in label_of.items()):
        return column  # whoever encodes it names the row
    return pa.chunked_array([pa.array([label_of[field] for field in column.to_pylist()])])


def _label(field: str | None, domain: Categories) -> Any:
    number = None if field is None else _number(field)
    return next((label for label in domain.labels if field == str(label) or number == label), None)


def _holds_text(column: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def about_attribute(name: Any, make: Callable[..., Any], *arguments: Any) -> Any:
    """Call ``make``; its errors name the attribute."""
    try:
        return make(*arguments)
    except OverflowError:
        raise ValueError(f"attributes.{name}: a number is too large; use other units") from None
    except (ValueError, TypeError) as error:
        raise type(error)(f"attributes.{name}: {error}") from None
