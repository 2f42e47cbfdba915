"""What the commands take: a plan, tables that answer it, a seed; and errors that say where in them to look."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sfumato.channels import Mechanism
from sfumato.cli import note
from sfumato.counts import Reports, from_codes
from sfumato.domain import VALUES_SHOWN, as_array, showing_values
from sfumato.plan import Plan
from sfumato.plan.attribute import as_meant, text_columns, with_origin, without_origin
from sfumato.plan.batches import check_answers
from sfumato.tables import (
    CODE_SUFFIX,
    LEVEL_SUFFIX,
    Files,
    check_source,
    check_twice,
    joined,
    name_of,
    name_row,
    table_file,
    to_arrow,
    write_table,
)
from sfumato.tables import naming as naming

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="The plan: a .toml or .json file.", show_default=False)]
FORMS = ".csv, .jsonl (both also .gz) or .parquet"


def found_files(names: list[Path] | None) -> list[Path] | None:
    """The files that arguments name: paths, patterns, folders, or - for standard input."""
    return Files.named(names) if names else None


def files_argument(metavar: str, what: str) -> Any:
    """One file or several, before the options."""
    told = f"{what}: {FORMS}; several, a pattern in quotes, a folder, or - for standard input."
    return typer.Argument(metavar=metavar, help=told, show_default=False, callback=found_files)


def files_option(what: str, *names: str) -> Any:
    return typer.Option(*names, help=f"{what}: {FORMS}; a pattern, or repeated.", callback=found_files)


PeopleFiles = Annotated[list[Path], files_argument("PEOPLE...", "True values")]
ReportFiles = Annotated[list[Path], files_argument("REPORTS...", "Reports")]
Engine = Annotated[
    str | None,
    typer.Option(
        help="Who counts the reports: memory, arrow, duckdb, polars, or a Spark cluster (spark://host:7077, local[2])."
        "  \\[default: memory, arrow for large files]",
        show_default=False,
    ),
]
LARGE = 200_000_000
"""Bytes of files beyond which they are read part by part."""
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
    paths: Path | Sequence[Path], plan: Plan | None, columns: Iterable[str], text: Iterable[str] | None = (), *,
    reports: bool | None = None,
) -> Any:
    """A PyArrow table with at least one row, these columns, and numbers where the plan asks for numbers; of several
    files, one after the other. Columns named in ``text`` stay texts, with None all of a CSV.

    ``reports``: whether it must hold reports, which the plan then must have made if they say by which they were, or
    must not hold any; None: either.
    """
    files, wanted = Files.named(paths), list(columns)
    texts = None if text is None else [*text, *(text_columns(plan) if plan else ())]
    table = joined({path: _read_file(path, plan, wanted, texts, reports) for path in files})
    if table.num_rows == 0:
        raise ValueError(f"{files}: no rows; the table needs at least one person")
    return table


def _read_file(path: Path, plan: Plan | None, columns: list[str], text: list[str] | None, reports: bool | None) -> Any:
    file = table_file(path, text=text, empty=plan.empty if plan else ())
    with file.refusing():
        table = file.read()
        check_twice(table.column_names)
        table = without_origin(table, plan, reports)
        if plan is not None:
            table = from_codes(table, plan)
        for name in columns:
            if name not in table.column_names:
                raise ValueError(f"column {name!r} is missing; the file has {', '.join(table.column_names)}")
        with showing_values(bool(reports)):
            return table if plan is None or file.typed else as_meant(table, plan)


def is_large(files: Sequence[Path]) -> bool:
    """Whether files are too large to be read at once."""
    return sum(path.stat().st_size for path in files if path.is_file()) > LARGE


def chosen_engine(paths: Sequence[Path], engine: str | None) -> str | None:
    """The engine that counts the reports in files; None: they are read into memory."""
    return {None: "arrow" if is_large(paths) else None, "memory": None}.get(engine, engine)


@contextmanager
def reading(
    paths: Sequence[Path], plan: Plan, columns: Iterable[str], engine: str | None, seed: int = 0, **options: Any
) -> Iterator[Any]:
    """The reports in files: a table in memory or, where an engine counts them, `Reports` with these options; errors
    inside name the file and, in memory, the row."""
    engine = chosen_engine(paths, engine)
    if engine is None:
        table = read_answers(paths, plan, columns, reports=True)
        with naming_rows(paths, plan, table, reports=True):
            yield table
        return
    with naming(list(paths)):
        reports = counted_by(engine, paths, plan, seed=seed, **options)
        held = reports.source.names  # type: ignore[attr-defined]
        for name in columns:
            if name not in held and name + CODE_SUFFIX not in held:
                raise ValueError(f"column {name!r} is missing; the files have {', '.join(held)}")
        yield reports


def counted_by(engine: str, paths: Sequence[Path], plan: Plan, **options: Any) -> Reports:
    """The reports in files under an engine; on a terminal every pass over them is told."""
    reports = Reports(list(paths), plan, engine=engine, **options)
    if sys.stderr.isatty():
        reports.on_pass = _tell_pass  # type: ignore[attr-defined]
    return reports


def _tell_pass(number: int, seconds: float) -> None:
    note(f"pass {number} over the reports took {seconds:.1f} s")


def write_reports(reports: Any, plan: Plan, output: Path) -> None:
    """Reports with the plan that made them."""
    write_table(with_origin(to_arrow(reports), plan, output.suffix.lower()), output)


@contextmanager
def naming_rows(paths: Path | Sequence[Path], plan: Plan, table: Any, *, reports: bool) -> Iterator[None]:
    """Errors inside name the file and, where one value of true answers or of reports is at fault, its row in it."""
    try:
        yield
    except (ValueError, TypeError) as error:
        files = Files.named(paths)
        for path in files:
            part = table if len(files) == 1 else read_answers(path, plan, (), reports=reports)
            with naming(name_of(path)):
                _check_reports(plan, part) if reports else check_answers(plan, part)
        with naming(files):
            raise type(error)(str(error)) from None


def _check_reports(plan: Plan, table: Any) -> None:
    for name in (name for name in plan.attributes if name in table.column_names):
        _check_report(plan, name, table)


def _check_report(plan: Plan, name: str, table: Any) -> None:
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
