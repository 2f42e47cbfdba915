"""What the commands take: a plan, tables that answer it, a seed; and errors that say where in them to look."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sfumato.channels import Mechanism
from sfumato.counts import Reports
from sfumato.domain import Categories, Interval, as_array
from sfumato.plan import Plan
from sfumato.tables import CODE_SUFFIX, LEVEL_SUFFIX, check_source, name_row, read_table, to_arrow

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


def read_answers(path: Path, plan: Plan | None, columns: Iterable[str], text: Iterable[str] = ()) -> Any:
    """A PyArrow table with at least one row, these columns, and numbers where the plan asks for numbers."""
    table = read_table(path, text=text if plan is None else text_columns(plan))
    if table.num_rows == 0:
        raise ValueError(f"{path}: no rows; the table needs at least one person")
    if plan is not None:
        with naming(path):
            table = from_codes(table, plan)
    for name in columns:
        if name not in table.column_names:
            raise ValueError(f"{path}: column {name!r} is missing; the file has {', '.join(table.column_names)}")
    with naming(path):
        for name, attribute in ({} if plan is None else plan.attributes).items():
            if isinstance(attribute.domain, Interval) and name in table.column_names:
                _check_numbers(table.column(name), name)
    return table


def as_codes(table: Any, plan: Plan) -> Any:
    """Reports with the columns of single channels as codes, ``<name>.code``."""
    return to_arrow(Reports(table, _by_column(plan)).to_codes())


def from_codes(table: Any, plan: Plan) -> Any:
    """Reports with the columns that came as codes turned into values."""
    channels = {name: one for name, one in _by_column(plan).items() if name + CODE_SUFFIX in table.column_names}
    if not channels:
        return table
    reports = Reports(table, channels)
    columns = {name: table.column(name) for name in table.column_names if not name.endswith(CODE_SUFFIX)}
    return to_arrow({**columns, **{name: reports.values(name) for name in channels}})


def _by_column(plan: Plan) -> dict[str, Mechanism | None]:
    """The channel of every column; None where several numbers were blurred together."""
    return {column: each.channel if column == each.name else None for column, each in plan.columns.items()}


def _check_numbers(column: Any, name: str) -> None:
    """A column that was read as text because of some cell: the cell is named."""
    import pyarrow as pa

    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return
    for row, text in enumerate(column.to_pylist(), start=1):
        try:
            float(text or 0)
        except ValueError:
            raise ValueError(f"row {row:,}, column {name!r}: {text!r} is not a number; correct it") from None


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
