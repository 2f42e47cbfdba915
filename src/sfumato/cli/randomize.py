"""`sfumato randomize`: people's true values become the reports they would send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from sfumato.cli.files import check_rows, check_target, read_table, write_table
from sfumato.cli.plans import PlanFile, check_columns, load_plan, naming, text_columns
from sfumato.cli.terminal import note, say

EXAMPLES = """Examples:

  sfumato randomize plan.toml people.csv -o reports.parquet

  sfumato randomize plan.toml people.csv -o reports.csv --seed 1   (simulation)"""

People = Annotated[Path, typer.Argument(metavar="PEOPLE", help="True values: .csv or .parquet.", show_default=False)]
Output = Annotated[Path, typer.Option("--output", "-o", help="The reports: .csv or .parquet.", show_default=False)]
Seed = Annotated[int | None, typer.Option(min=0, help="For simulation only: repeatable, and not secure.")]


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES)(randomize)


def randomize(plan: PlanFile, people: People, output: Output, seed: Seed = None) -> None:
    """Blur every attribute by its channel. The randomness is cryptographic unless a seed is given."""
    loaded = load_plan(plan)
    check_target(output)
    table = check_rows(read_table(people, text=text_columns(loaded)), people)
    check_columns(table, list(loaded.attributes), people)
    with naming(people):
        reports = loaded.randomize(table, rng=None if seed is None else np.random.default_rng(seed))
    write_table(reports, output)
    if seed is not None:
        note("these reports are a simulation: whoever knows the seed can undo the noise")
    say(f"{reports.num_rows:,} reports written to {output}")
