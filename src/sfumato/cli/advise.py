"""`sfumato advise`: propose channels that meet a target, with what they cost in accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import emit_json, say, say_written
from sfumato.cli.audit import Reports, Times, Truth, people_tables
from sfumato.cli.plans import AsJson, PlanFile, ShowValues, load_plan
from sfumato.privacy import advise as advise_plan
from sfumato.tables import check_target, naming, write_text

EXAMPLES = """Examples:

  sfumato advise plan.toml --target "5% to 50%"

  sfumato advise plan.toml --target "age: 20 at 95%" --reports reports.parquet -o better.json

  sfumato advise plan.toml --target "5% to 50%" --mean income"""

Targets = Annotated[
    list[str], typer.Option("--target", "-t", help='"5% to 50%", "age: 5% to 50%", "age: 20 at 95%"; may be repeated.')
]
Means = Annotated[
    list[str] | None, typer.Option("--mean", help="An attribute of which only the mean is wanted; may be repeated.")
]
People = Annotated[int, typer.Option(min=100, help="The size of the survey whose accuracy is told.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write the proposed plan: .json.")]


def advise(
    plan: PlanFile,
    target: Targets,
    reports: Reports = None,
    truth: Truth = None,
    mean: Means = None,
    times: Times = 1,
    people: People = 10_000,
    output: Output = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Propose channel parameters that meet a target, and tell what they cost in accuracy."""
    loaded = load_plan(plan)
    if output is not None:
        check_target(output, (".json",), apart=[plan, *(reports or []), *(truth or [])])
    tables = people_tables(loaded, reports, truth)
    with naming(plan):
        advice = advise_plan(loaded, target, **tables, means=mean or (), times=times, people=people)
    if output is not None:
        write_text(advice.plan.to_json(), output)
    if as_json:
        emit_json(advice.to_dict())
        return
    say(str(advice))
    if output is not None:
        say()
    say_written(output)
