"""`Attribute`, one question of a plan, and how its answers and reports are written in files."""

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
ROLES: tuple[Role, ...] = ("attribute", "class", "clear")  # what a question of a plan may be, see `Attribute`
OWN_KEYS = ("role", "question")
"""Keys of a question in a plan file that describe neither its domain nor its channel."""


@dataclass(frozen=True)
class Attribute:
    """One question of a plan: what answers it may have and how they are blurred.

    ``name``: the column of the answers in tables. ``domain``: the values that an answer may take. ``channel``: the
    mechanism that blurs an answer; None: it is sent as it is. ``role``: "attribute" for a blurred question, "class" for
    the column that learners predict, "clear" for one that is sent as it is. ``question``: the text that people read
    (empty: the name).

    >>> import sfumato as sf
    >>> answers = sf.Categories(["yes", "no"])
    >>> smokes = Attribute("smokes", answers, sf.RandomizedResponse(answers, gamma=19), question="Do you smoke?")
    >>> smokes.columns, smokes.has_levels
    (('smokes',), False)
    """

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
        """Make an attribute from its part of a plan file; errors name the key and how to mend it.

        ``name``: the attribute's name. ``spec``: its keys and values (``low``, ``high``, ``channel``, …).
        """
        if not isinstance(spec, Mapping):
            raise ValueError("is not a table; write low, high, channel … as keys below it")
        own = {key: value for key, value in spec.items() if key in OWN_KEYS}
        channel_spec = {key: value for key, value in spec.items() if key not in DOMAIN_KEYS + OWN_KEYS}
        _check_parameters(channel_spec)
        domain = domain_from_spec({key: value for key, value in spec.items() if key in DOMAIN_KEYS})
        return cls(name, domain, mechanism_from_spec(domain, channel_spec) if channel_spec else None, **own)

    def to_dict(self) -> dict[str, Any]:
        """Return the attribute's part of a plan file, from which `from_dict` makes the same attribute."""
        spec = {**domain_to_spec(self.domain), **(self.channel.to_spec() if self.channel else {})}
        if self.role != "attribute":
            spec["role"] = self.role
        return {**spec, "question": self.question} if self.question else spec

    def canonical(self) -> dict[str, Any]:
        """Return the question as plain data that is equal for equal questions, however a plan file spells them.

        The identity of a plan is a hash of it.
        """
        rules = {rule: getattr(self.channel, rule, None) for rule in ("missing", "outside")}
        made = {"domain": self.domain_spec, "channel": self.channel.identity if self.channel else None}
        return {**made, **rules, "role": self.role, "question": self.question}

    @cached_property
    def domain_spec(self) -> dict[str, Any]:
        """The answers that are allowed (the domain) as plain data, as plan files hold them."""
        return domain_to_spec(self.domain)

    @cached_property
    def domain_identity(self) -> str:
        """A hash, as text, of the answers that are allowed (the domain), however its numbers are spelt."""
        return identity_of(self.domain_spec)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of a table that hold the answers: one, or several for numbers blurred together."""
        return tuple(self.domain.columns) if isinstance(self.domain, Row) else (self.name,)

    @cached_property
    def has_levels(self) -> bool:
        """Whether people choose how strongly their answer is blurred."""
        return self.channel is not None and self.channel.has_levels

    def randomize(
        self, values: Any, rng: Rng, *, key: Key = None, question: str = "", level: Any = None
    ) -> Any:
        """Return the reports for a column of answers; answers that are not blurred are checked and returned.

        ``values``: the answers (a mapping of columns where several numbers are blurred together). ``rng``: a NumPy
        generator or a seed for simulations; None: secure random numbers. ``key``: a device's secret, with which the
        same answer always gives the same report (None: fresh noise). ``question``: the text that the device's secret is
        combined with, so that different questions have independent noise. ``level``: the level of every person, or one
        for all (None: the channel's default).
        """
        self.check_fits_a_column()
        if self.channel is not None:
            return self.channel.randomize(values, rng, level=level, key=key, question=question)
        if isinstance(self.domain, Interval):
            self.domain.clean(values)
        elif hasattr(self.domain, "encode"):
            self.domain.encode(values)
        return values

    def check_fits_a_column(self) -> None:
        """Raise ValueError for baskets, whose reports do not fit in a column of a table."""
        if isinstance(self.domain, Items):
            raise ValueError("baskets do not fit in a table's column; use its channel's randomize, or sfumato itemsets")

    @property
    def space(self) -> Any:
        """The object that checks whether answers are allowed: the channel, or the domain where nothing is blurred.

        Of several channels to choose among the first.
        """
        return self.domain if self.channel is None else next(iter(self.channel.levels.values()))

    def check_values(self, values: Any, places: Any = None) -> None:
        """Raise an error that names the row if a true value is not allowed, by the channel's rule for values outside.

        ``values``: the true answers. ``places``: their row numbers in the whole table (None: from 0).
        """
        space = self.space
        name_row(space.encode if hasattr(space, "encode") else space.clean, values, self.name, places)


def _check_parameters(spec: Mapping[str, Any]) -> None:
    """Raise ValueError for a channel that does not exist and for keys that neither attribute nor channel knows."""
    name = str(spec["channel"]) if "channel" in spec else ""
    if name and name not in Mechanism.registry:
        raise ValueError(f"channel = {name!r} is unknown{suggest(name, Mechanism.registry)}")
    refuse_unknown(name, spec, [*DOMAIN_KEYS, *OWN_KEYS, "channel"])


# --- answers and reports in files: read as the plan means them, written with the plan that made them ----------------


def text_columns(plan: Plan) -> list[str]:
    """Return the columns of a plan's files that must be read as texts and not as numbers.

    These are categories whose labels are all texts, names of levels, and the hexadecimal digits of baskets.
    """
    attributes = plan.attributes.items()
    labels = [name for name, attribute in attributes if _is_text(attribute.domain)]
    baskets = [name for name, attribute in attributes if isinstance(attribute.domain, Items)]
    digits = [prefix + form for form in ("bitmap", "seed") for name in baskets for prefix in ("", f"{name}.")]
    return labels + digits + [name + LEVEL_SUFFIX for name, attribute in attributes if attribute.has_levels]


def _is_text(domain: Any) -> bool:
    """Return whether a domain consists of categories whose labels are all texts."""
    return isinstance(domain, Categories) and all(isinstance(label, str) for label in domain.labels)


def without_origin(table: Any, plan: Plan | None, reports: bool | None) -> Any:
    """Return an Arrow table without the column that names the plan which made its reports, after checking the name.

    ``reports=True``: the table must hold reports; if it names a plan, that must be ``plan``. ``reports=False``: a table
    that names a plan is refused, for it holds reports where true answers are needed. None: nothing is checked.
    """
    has_column = PLAN_COLUMN in table.column_names
    metadata_origin = (table.schema.metadata or {}).get(PLAN_COLUMN.encode())
    if reports is False and (has_column or metadata_origin):
        raise ValueError(f"{PLAN_COLUMN!r} says that these are reports; true answers are needed here")
    if plan is not None and reports:
        plan.check_origin(table.column(PLAN_COLUMN) if has_column else [metadata_origin and metadata_origin.decode()])
    return table.drop_columns([PLAN_COLUMN]) if has_column else table


def with_origin(table: Any, plan: Plan, extension: str) -> Any:
    """Return an Arrow table of reports that names the plan which made it.

    For ``extension`` ".csv" in a column of its own, with bytes written in hexadecimal; otherwise in the metadata, which
    Parquet files keep.
    """
    import pyarrow as pa

    if extension == ".csv":
        table = pa.table({name: _as_hex(table.column(name)) for name in table.column_names})
        table = table.append_column(PLAN_COLUMN, pa.array([plan.origin] * table.num_rows, pa.string()))
    return table.replace_schema_metadata({PLAN_COLUMN: plan.origin})


def _as_hex(column: Any) -> Any:
    """Return a column of bytes as texts of hexadecimal digits, any other column as it is."""
    import pyarrow as pa

    if not pa.types.is_binary(column.type) and not pa.types.is_fixed_size_binary(column.type):
        return column
    return pa.array([None if cell is None else cell.hex() for cell in column.to_pylist()], pa.string())


def as_meant(table: Any, plan: Plan, first_row: int = 0) -> Any:
    """Return an Arrow table read from CSV with columns of the types of a plan's answers: numbers, or its categories.

    A column of numbers is read as text where one field is no number; that field raises an error with its row
    (``first_row``: the row number of the block's first row).
    """
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
    """Return a column as numbers; a field that is none raises ValueError with its row."""
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
    """Raise ValueError for a field that is not a number."""
    raise ValueError(
        f"row {row + 1:,}, column {name!r}: {the_value(field)} is not a number; correct it, or leave the field empty "
        "where the answer is missing"
    )


def _number(field: str) -> float | None:
    """Return the number that a text stands for, None where it stands for none (NaN too)."""
    try:
        number = float(field)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _as_labels(column: Any, domain: Categories) -> Any:
    """Turn a column that a file gave as texts into categories that are no texts, such as the numbers 1 and 2.

    ``column``: an Arrow column; so is the result. Returned as it is: a column of other types, one for categories that
    are texts, and one with a text that is no category (whoever encodes it then names the row).
    """
    import pyarrow as pa

    if not _holds_text(column) or any(isinstance(label, str) for label in domain.labels):
        return column
    label_of = {field: _label(field, domain) for field in column.unique().to_pylist()}
    if any(label is None and field is not None for field, label in label_of.items()):
        return column
    return pa.chunked_array([pa.array([label_of[field] for field in column.to_pylist()])])


def _label(field: str | None, domain: Categories) -> Any:
    """Return the category that a text stands for, as "1" for the number 1; None where there is none."""
    number = None if field is None else _number(field)
    return next((label for label in domain.labels if field == str(label) or number == label), None)


def _holds_text(column: Any) -> bool:
    """Return whether an Arrow column holds texts."""
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def about_attribute(name: Any, make: Callable[..., Any], *arguments: Any) -> Any:
    """Call ``make(*arguments)`` for one question of a plan and return its result; errors begin with its ``name``."""
    try:
        return make(*arguments)
    except OverflowError:
        raise ValueError(f"attributes.{name}: a number is too large; use other units") from None
    except (ValueError, TypeError) as error:
        raise type(error)(f"attributes.{name}: {error}") from None
