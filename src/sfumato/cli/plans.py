"""What commands read: a plan, tables of answers or reports, a seed; errors in them name the file and the row."""

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
    naming,
    table_file,
    to_arrow,
    write_table,
)

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="The plan: a .toml or .json file.", show_default=False)]
FORMS = ".csv, .jsonl (both also .gz) or .parquet"
"""The kinds of files that tables are read from, for help texts."""


def named_files(names: list[Path] | None) -> list[Path] | None:
    """Return the files that arguments name: paths, patterns, folders, or - for standard input.

    ``names``: None for no argument, which is returned.
    """
    return Files.named(names) if names else None


def files_argument(metavar: str, what: str) -> Any:
    """Return typer's argument for one file or several.

    ``metavar``: its name in help texts; ``what``: what the files hold, for the help text.
    """
    help_text = f"{what}: {FORMS}; several, a pattern in quotes, a folder, or - for standard input."
    return typer.Argument(metavar=metavar, help=help_text, show_default=False, callback=named_files)


def files_option(what: str, *names: str) -> Any:
    """Return typer's option for one file or several. ``what``: what they hold; ``names``: the option's own names."""
    return typer.Option(*names, help=f"{what}: {FORMS}; a pattern, or repeated.", callback=named_files)


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
"""Bytes of files above which they are read part by part and not at once. Judgement: more can fill the memory of small
machines; less gives up naming the row of a bad value in smaller files."""
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
SimulationSeed = Annotated[int | None, typer.Option(min=0, help="For simulation only: repeatable, and not secure.")]


def load_plan(path: Path) -> Plan:
    """Read the plan in a file; every error begins with the file's name."""
    if path.is_dir() or not path.exists():
        check_source(path)
    with naming(path):
        return Plan.load(path)


def show_values(wanted: bool) -> bool:
    """Set whether errors print the answers that they are about, until the end of the command; return ``wanted``.

    It is the callback of the option --show-values.
    """
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
    """Read files as one PyArrow table, with numbers where the plan asks for numbers. ValueError: it has no rows.

    ``columns``: those that every file must have. ``text``: columns that are read as texts; None: all columns of a CSV.
    ``reports``: True if the files must hold reports, of this plan if they name theirs; False if they must hold none;
    None if either will do.
    """
    files, columns = Files.named(paths), list(columns)
    texts = None if text is None else [*text, *(text_columns(plan) if plan else ())]
    table = joined({path: _read_file(path, plan, columns, texts, reports) for path in files})
    if table.num_rows == 0:
        raise ValueError(f"{files}: no rows; the table needs at least one person")
    return table


def _read_file(path: Path, plan: Plan | None, columns: list[str], text: list[str] | None, reports: bool | None) -> Any:
    """Read one file as a table; the arguments are those of `read_answers`."""
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
    """Return whether files are larger together than LARGE, so that they are read part by part and not at once."""
    return sum(path.stat().st_size for path in files if path.is_file()) > LARGE


def chosen_engine(paths: Sequence[Path], engine: str | None) -> str | None:
    """Return the engine that counts the reports in files: the one named, else the usual one for files of their size.

    None: the files are read into memory.
    """
    return {None: "arrow" if is_large(paths) else None, "memory": None}.get(engine, engine)


@contextmanager
def reading(
    paths: Sequence[Path], plan: Plan, columns: Iterable[str], engine: str | None, seed: int = 0, **options: Any
) -> Iterator[Any]:
    """Yield the reports in files, for a with block: a table in memory or, where an engine counts them, `Reports`.

    ``columns``: those that the files must have; ``engine``: its name, None: as suits their size; ``seed`` and
    ``options``: of `Reports`. Errors in the block name the file and, for a table in memory, the row.
    """
    engine = chosen_engine(paths, engine)
    if engine is None:
        table = read_answers(paths, plan, columns, reports=True)
        with naming_rows(paths, plan, table, reports=True):
            yield table
        return
    with naming(list(paths)):
        reports = reports_in(paths, plan, engine, seed=seed, **options)
        present = reports.source.names  # type: ignore[attr-defined]
        for name in columns:
            if name not in present and name + CODE_SUFFIX not in present:
                raise ValueError(f"column {name!r} is missing; the files have {', '.join(present)}")
        yield reports


def reports_in(paths: Sequence[Path], plan: Plan, engine: str, **options: Any) -> Reports:
    """Return the reports in files as `Reports`, which the named engine counts where they are.

    On a terminal, every pass over them is noted on stderr.
    """
    reports = Reports(list(paths), plan, engine=engine, **options)
    if sys.stderr.isatty():
        reports.on_pass = lambda number, seconds: note(  # type: ignore[attr-defined]
            f"pass {number} over the reports took {seconds:.1f} s"
        )
    return reports


def write_reports(reports: Any, plan: Plan, output: Path) -> None:
    """Write a table of reports to a file, with the name and the identity of the plan that made them."""
    write_table(with_origin(to_arrow(reports), plan, output.suffix.lower()), output)


@contextmanager
def naming_rows(paths: Path | Sequence[Path], plan: Plan, table: Any, *, reports: bool) -> Iterator[None]:
    """Make errors in a with block name the file and, if one value is at fault, its row.

    ``table``: what was read from the files. ``reports``: whether it holds reports, else true answers.
    """
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
    """Raise an error that names the row and column of the first value that no device reports under the plan.

    ``table``: of reports.
    """
    for name in (name for name in plan.attributes if name in table.column_names):
        channel, values = plan.attributes[name].channel, as_array(table.column(name))
        if channel is not None and channel.has_levels:
            level = as_array(table.column(name + LEVEL_SUFFIX))
            name_row(_level_checker(channel, values, level), np.arange(len(values)), name)
        elif channel is not None:
            name_row(channel.level(None).encode_reports, values, name)


def _level_checker(choice: Mechanism, values: Any, level: Any) -> Callable[[Any], None]:
    """Return a function of row numbers that raises an error if one of these rows has a value that no device reports.

    ``choice``: the channel with its levels; ``values`` and ``level``: the columns of reports, and of how strongly each
    person chose to blur, by which the channel's part is picked.
    """

    def check(rows: Any) -> None:
        for name in dict.fromkeys(level[rows].tolist()):
            choice.level(name).encode_reports(values[rows][level[rows] == name])

    return check


def blurred_channels(plan: Plan, names: list[str] | None = None) -> dict[str, Mechanism]:
    """Return the channels of a plan's blurred attributes by name: of all (None), or of those named.

    ValueError: a name is no attribute, or is sent in the clear.
    """
    randomized = {name: each.channel for name, each in plan.attributes.items() if each.channel is not None}
    if not names:
        return randomized
    for name in names:
        if name not in plan.attributes:
            raise ValueError(f"attribute {name!r} is not in the plan; it has {', '.join(plan.attributes)}")
        if name not in randomized:
            raise ValueError(f"attribute {name!r} is sent in the clear; there is nothing to reconstruct")
    return {name: randomized[name] for name in names}


def columns_of(channels: dict[str, Mechanism]) -> list[str]:
    """Return the names of the columns that reports of these attributes have in a table.

    They are the reports and, where people choose how strongly to blur, the chosen levels.
    """
    levels = [name + LEVEL_SUFFIX for name, channel in channels.items() if channel.has_levels]
    return [*channels, *levels]


def simulation_rng(seed: int | None) -> np.random.Generator | None:
    """Return the random generator of a simulation's noise, made of a seed; None without one, for secure noise.

    It is independent of people drawn by that seed: to the seed it adds the letters "noise" in ASCII.
    """
    return None if seed is None else np.random.default_rng([seed, 0x6E6F697365])
