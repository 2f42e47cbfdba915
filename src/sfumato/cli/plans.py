"""What the commands take: a plan, tables that answer it, a seed; and errors that say where in them to look."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sfumato.channels import Mechanism
from sfumato.counts import from_codes
from sfumato.domain import VALUES_SHOWN, Categories, Items, as_array, showing_values, the_value
from sfumato.plan import Plan
from sfumato.tables import (
    LEVEL_SUFFIX,
    PLAN_COLUMN,
    check_source,
    name_row,
    read_table,
    to_arrow,
    write_table,
)

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="The plan: a .toml or .json file.", show_default=False)]
PeopleFile = Annotated[
    Path, typer.Argument(metavar="PEOPLE", help="True values: .csv or .parquet.", show_default=False)
]
ReportFile = Annotated[Path, typer.Argument(metavar="REPORTS", help="Reports: .csv or .parquet.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
SimulationSeed = Annotated[int | None, typer.Option(min=0, help="For simulation only: repeatable, and not secure.")]


def load_plan(path: Path) -> Plan:
    """The plan in a file; every error starts with the file's name."""
    if path.is_dir() or not path.exists():
        check_source(path)
    with naming(path):
        return Plan.load(path)


def show_values(wanted: bool) -> bool:
    """From here on errors print the answers that they are about; a command runs in a context of its own."""
    VALUES_SHOWN.set(wanted)
    return wanted


ShowValues = Annotated[
    bool,
    typer.Option(
        "--show-values", callback=show_values, help="Print the answer that is at fault too, not only its row."
    ),
]


def read_answers(
    path: Path, plan: Plan | None, columns: Iterable[str], text: Iterable[str] = (), *, reports: bool | None = None
) -> Any:
    """A PyArrow table with at least one row, these columns, and numbers where the plan asks for numbers.

    ``reports``: whether it must hold reports, which the plan then must have made if they say by which they were, or
    must not hold any; None: either.
    """
    table = read_table(path, text=[*text, *(text_columns(plan) if plan else ())], empty=plan.empty if plan else ())
    if table.num_rows == 0:
        raise ValueError(f"{path}: no rows; the table needs at least one person")
    with naming(path):
        table = _without_origin(table, plan, reports)
        if plan is not None:
            table = from_codes(table, plan)
    for name in columns:
        if name not in table.column_names:
            raise ValueError(f"{path}: column {name!r} is missing; the file has {', '.join(table.column_names)}")
    with naming(path), showing_values(bool(reports)):
        return table if plan is None or path.suffix.lower() != ".csv" else _read_as_meant(table, plan)


def _without_origin(table: Any, plan: Plan | None, reports: bool | None) -> Any:
    """The table without what it says about the plan that made it, which is checked."""
    held = PLAN_COLUMN in table.column_names
    said = (table.schema.metadata or {}).get(PLAN_COLUMN.encode())
    if reports is False and (held or said):
        raise ValueError(f"{PLAN_COLUMN!r} says that these are reports; true answers are needed here")
    if plan is not None and reports:
        plan.check_origin(table.column(PLAN_COLUMN) if held else [said and said.decode()])
    return table.drop_columns([PLAN_COLUMN]) if held else table


def write_reports(reports: Any, plan: Plan, output: Path) -> None:
    """Reports with the plan that made them: in Parquet's metadata, in CSV in a column of its own, and bytes in hex."""
    import pyarrow as pa

    table = to_arrow(reports)
    if output.suffix.lower() == ".csv":
        table = pa.table({name: _as_text(table.column(name)) for name in table.column_names})
        table = table.append_column(PLAN_COLUMN, pa.array([plan.origin] * table.num_rows, pa.string()))
    write_table(table.replace_schema_metadata({PLAN_COLUMN: plan.origin}), output)


def _as_text(column: Any) -> Any:
    import pyarrow as pa

    if not pa.types.is_binary(column.type) and not pa.types.is_fixed_size_binary(column.type):
        return column
    return pa.array([None if cell is None else cell.hex() for cell in column.to_pylist()], pa.string())


def _read_as_meant(table: Any, plan: Plan) -> Any:
    """Columns of a CSV as the plan's domains have them, where some field made them texts or NaN; it is named."""
    for name, attribute in plan.columns.items():
        if name in table.column_names and not isinstance(attribute.domain, Items):
            column = table.column(name)
            if isinstance(attribute.domain, Categories):
                column = _as_labels(column, attribute.domain)
            else:
                column = _as_numbers(column, name)
            table = table.set_column(table.column_names.index(name), name, column)
    return table


def _as_numbers(column: Any, name: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _holds_text(column):
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            _refuse_field("nan", pc.index(pc.is_nan(column), True).as_py(), name)
        return column
    numbers = []
    for row, field in enumerate(column.to_pylist()):
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


@contextmanager
def naming(subject: object) -> Iterator[None]:
    """Errors about bad input inside are prefixed with what they are about."""
    try:
        yield
    except (ValueError, TypeError) as error:
        text = str(error)
        raise type(error)(text if text.startswith(str(subject)) else f"{subject}: {text}") from None


@contextmanager
def naming_rows(path: Path, plan: Plan, table: Any, *, reports: bool) -> Iterator[None]:
    """Errors inside name the file and, where one value of true answers or of reports is at fault, its row."""
    try:
        yield
    except (ValueError, TypeError) as error:
        with naming(path):
            for name in (name for name in plan.attributes if name in table.column_names):
                _check_reports(plan, name, table) if reports else _check_people(plan, name, table)
            raise type(error)(str(error)) from None


def _check_people(plan: Plan, name: str, table: Any) -> None:
    from sfumato.shipping import check_values

    if not isinstance(plan.attributes[name].domain, Items):
        check_values(plan.attributes[name], table.column(name))


def _check_reports(plan: Plan, name: str, table: Any) -> None:
    channel, values = plan.attributes[name].channel, as_array(table.column(name))
    if channel is not None and channel.has_levels:
        level = as_array(table.column(name + LEVEL_SUFFIX))
        name_row(_by_level(channel, values, level), np.arange(len(values)), name)
    elif channel is not None:
        name_row(channel.level(None).encode_reports, values, name)


def _by_level(choice: Mechanism, values: Any, level: Any) -> Callable[[Any], None]:
    def check(rows: Any) -> None:
        for name in dict.fromkeys(level[rows].tolist()):
            choice.level(name).encode_reports(values[rows][level[rows] == name])

    return check


def text_columns(plan: Plan) -> list[str]:
    """Columns of text, which must not be read as numbers from CSV: categories that are all text, and level names."""
    labels = [name for name, attribute in plan.attributes.items() if _is_text(attribute.domain)]
    return labels + [column for column in columns_of(asked(plan)) if column not in plan.attributes]


def _is_text(domain: Any) -> bool:
    return isinstance(domain, Categories) and all(isinstance(label, str) for label in domain.labels)


def asked(plan: Plan, names: list[str] | None = None) -> dict[str, Mechanism]:
    """The channels of the attributes that have one: all of them, or those named."""
    randomized = {name: one.channel for name, one in plan.attributes.items() if one.channel is not None}
    if not names:
        return randomized
    for name in names:
        if name not in plan.attributes:
            raise ValueError(f"attribute {name!r} is not in the plan; it has {', '.join(plan.attributes)}")
        if name not in randomized:
            raise ValueError(f"attribute {name!r} is sent in the clear; there is nothing to reconstruct")
    return {name: randomized[name] for name in names}


def columns_of(channels: dict[str, Mechanism]) -> list[str]:
    """The columns that reports of these attributes need: their own, and the level where people chose one."""
    levels = [name + LEVEL_SUFFIX for name, channel in channels.items() if channel.has_levels]
    return [*channels, *levels]


def simulation(seed: int | None) -> np.random.Generator | None:
    """Noise for a simulation: apart from whatever people were drawn by the same seed; None is secure noise."""
    return None if seed is None else np.random.default_rng([seed, 0x6E6F697365])
