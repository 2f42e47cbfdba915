"""`sfumato randomize`: people's true values become the reports they would send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import counting, note, say
from sfumato.cli.plans import (
    PeopleFiles,
    PlanFile,
    ShowValues,
    SimulationSeed,
    is_large,
    load_plan,
    naming,
    naming_rows,
    read_answers,
    simulation,
    write_reports,
)
from sfumato.counts import as_codes
from sfumato.tables import check_target

EXAMPLES = """Examples:

  sfumato randomize plan.toml people.csv -o reports.parquet

  sfumato randomize plan.toml people.csv -o reports.parquet --codes   (small files; every command reads them back)

  sfumato randomize plan.toml people/*.parquet -o reports.parquet   (of any size: block by block)

  zcat answers.csv.gz | sfumato randomize plan.toml - -o reports.parquet

  sfumato randomize plan.toml people/*.parquet -o reports --engine spark://host:7077   (on a cluster)

  sfumato randomize plan.toml people.csv -o reports.csv --seed 1   (simulation)"""

Output = Annotated[Path, typer.Option("--output", "-o", help="The reports: .csv or .parquet.", show_default=False)]

Engine = Annotated[
    str | None,
    typer.Option(help="The Spark cluster that makes them (spark://host:7077), into a new folder of Parquet files."),
]

Codes = Annotated[bool, typer.Option("--codes", help="Write reports as their codes, in columns <name>.code.")]


def randomize(
    plan: PlanFile,
    people: PeopleFiles,
    output: Output,
    seed: SimulationSeed = None,
    codes: Codes = False,
    engine: Engine = None,
    show_values: ShowValues = False,
) -> None:
    """Blur every attribute by its channel. The randomness is cryptographic unless a seed is given."""
    loaded = load_plan(plan)
    rng = simulation(seed)
    if engine is None:
        check_target(output, apart=[plan, *people])
    if engine is not None:
        number = loaded.randomize(people, rng, to=output, codes=codes, engine=engine)
    elif _by_blocks(people):
        with naming(people), counting("blurring") as told:
            number = loaded.randomize(people, rng, to=output, codes=codes, progress=told)
    else:
        table = read_answers(people, loaded, loaded.columns, reports=False)
        with naming_rows(people, loaded, table, reports=False):
            reports = loaded.randomize(table, rng)
        write_reports(as_codes(reports, loaded) if codes else reports, loaded, output)
        number = reports.num_rows
    if seed is not None:
        note("these reports are a simulation: whoever knows the seed can undo the noise")
    say(f"{number:,} reports written to {output}")


def _by_blocks(files: list[Path]) -> bool:
    several = len(files) > 1 and all(path.suffix.lower() == ".parquet" for path in files)
    return several or is_large(files)
