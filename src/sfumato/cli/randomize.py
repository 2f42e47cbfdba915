"""`sfumato randomize`: blur people's true values, and write the reports that they would send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.channels.program.random_words import KeyedWords, check_secret
from sfumato.cli import counting, note, say
from sfumato.cli.plans import (
    PeopleFiles,
    PlanFile,
    ShowValues,
    SimulationSeed,
    is_large,
    load_plan,
    naming_rows,
    read_answers,
    simulation_rng,
    write_reports,
)
from sfumato.counts import as_codes
from sfumato.plan import Plan
from sfumato.tables import check_source, check_target, naming

EXAMPLES = """Examples:

  sfumato randomize plan.toml people.csv -o reports.parquet

  sfumato randomize plan.toml people.csv -o reports.parquet --codes   (small files; every command reads them back)

  sfumato randomize plan.toml people/*.parquet -o reports.parquet   (of any size: block by block)

  zcat answers.csv.gz | sfumato randomize plan.toml - -o reports.parquet

  sfumato randomize plan.toml people/*.parquet -o reports --engine spark://host:7077   (on a cluster)

  sfumato randomize plan.toml people.csv -o reports.csv --key-file key --person id   (asked again, the same)

  sfumato randomize plan.toml people.csv -o reports.csv --seed 1   (simulation)"""

Output = Annotated[Path, typer.Option("--output", "-o", help="The reports: .csv or .parquet.", show_default=False)]

Engine = Annotated[
    str | None,
    typer.Option(help="The Spark cluster that makes them (spark://host:7077), into a new folder of Parquet files."),
]

KeyFile = Annotated[
    Path | None,
    typer.Option(
        help="A secret of 16 bytes or more, never sent: the same person's same answers always give the same reports.",
        show_default=False,
    ),
]

Person = Annotated[
    str | None,
    typer.Option(help="With --key-file: the column that tells people apart; it is not sent.", show_default=False),
]

Codes = Annotated[bool, typer.Option("--codes", help="Write reports as their codes, in columns <name>.code.")]


def randomize(
    plan: PlanFile,
    people: PeopleFiles,
    output: Output,
    seed: SimulationSeed = None,
    codes: Codes = False,
    engine: Engine = None,
    key_file: KeyFile = None,
    person: Person = None,
    show_values: ShowValues = False,
) -> None:
    """Blur every attribute by its channel. The randomness is cryptographic unless a seed is given."""
    loaded = load_plan(plan)
    rng = simulation_rng(seed)
    if engine is None:
        check_target(output, apart=[plan, *people])
    keyed = key_file is not None or person is not None
    if not keyed and engine is not None:
        number = loaded.randomize(people, rng, to=output, codes=codes, engine=engine)
    elif not keyed and _by_blocks(people):
        with naming(people), counting("blurring") as show_progress:
            number = loaded.randomize(people, rng, to=output, codes=codes, progress=show_progress)
    else:
        if keyed:
            secret = _read_key(key_file, person, simulated=seed is not None, in_memory=engine is None)
            reports = _keyed_reports(loaded, people, secret, str(person))
        else:
            table = read_answers(people, loaded, loaded.columns, reports=False)
            with naming_rows(people, loaded, table, reports=False):
                reports = loaded.randomize(table, rng)
        write_reports(as_codes(reports, loaded) if codes else reports, loaded, output)
        number = reports.num_rows
    if seed is not None:
        note("these reports are a simulation: whoever knows the seed can undo the noise")
    say(f"{number:,} reports written to {output}")


def _read_key(key_file: Path | None, person: str | None, *, simulated: bool, in_memory: bool) -> bytes:
    """Read the secret in the key file, by which the same answers get the same reports again.

    ``simulated``: a seed is given; ``in_memory``: no engine is. ValueError: options that go together or exclude each
    other are given wrongly.
    """
    if key_file is None or person is None:
        raise ValueError("--key-file and --person go together: a secret, and the column that tells people apart")
    if simulated or not in_memory:
        raise ValueError("--key-file decides the noise in memory; leave out --seed and --engine")
    check_source(key_file)
    with naming(key_file):
        return check_secret(key_file.read_bytes(), "data set")


def _keyed_reports(plan: Plan, people: list[Path], secret: bytes, person: str) -> Any:
    """Return reports, a table, that are equal whenever they are made anew, because every person has a secret.

        HMAC-SHA-256(secret, "sfumato/1/person" ‖ 0 ‖ person's name in the column ``person``)

    ``people``: files of true values; ``secret``: of the data set.
    """
    table = read_answers(people, plan, [*plan.columns, person], text=[person], reports=False)
    names = [None if name is None else str(name) for name in table.column(person).to_pylist()]
    if None in names or len(set(names)) < len(names):
        raise ValueError(f"column {person!r} leaves somebody out or names somebody twice; give everybody one row")
    keyed = KeyedWords(secret, "")
    secrets = [keyed.digest(b"sfumato/1/person\0" + str(name).encode()) for name in names]
    keyed_table = table.set_column(table.column_names.index(person), person, [secrets])
    with naming_rows(people, plan, table.drop_columns([person]), reports=False):
        return plan.randomize(keyed_table, key=person)


def _by_blocks(files: list[Path]) -> bool:
    """Return whether files are blurred block by block and not in memory: several Parquet files, or large ones."""
    several = len(files) > 1 and all(path.suffix.lower() == ".parquet" for path in files)
    return several or is_large(files)
