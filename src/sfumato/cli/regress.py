"""`sfumato regress`: regress an outcome on columns, of which any may be blurred."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import emit_json, say, say_written
from sfumato.cli.plans import (
    AsJson,
    PlanFile,
    ReportFiles,
    blurred_channels,
    columns_of,
    load_plan,
    naming_rows,
    read_answers,
)
from sfumato.tables import check_target, write_table

EXAMPLES = """Examples:

  sfumato regress plan.toml reports.parquet --outcome visits --on smokes --on age --weights w

  sfumato regress plan.toml reports.parquet --outcome smokes --on age --reference smokes=no -o coefficients.csv"""

Outcome = Annotated[str, typer.Option(help="What to explain: numbers, or categories by log odds.", show_default=False)]
On = Annotated[list[str], typer.Option(help="A column to regress on; may be repeated.", show_default=False)]
Weights = Annotated[str | None, typer.Option(help="A column that says how many people each report stands for.")]
Kind = Annotated[str | None, typer.Option(help="linear or logistic, where the outcome does not say it (0 and 1).")]
Reference = Annotated[
    list[str] | None, typer.Option(help="The category that others are held against, smokes=no; may be repeated.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write the coefficients: .csv or .parquet.")]


def regress(
    plan: PlanFile,
    reports: ReportFiles,
    outcome: Outcome,
    on: On,
    weights: Weights = None,
    kind: Kind = None,
    reference: Reference = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Regress an outcome on columns, of which any may be blurred; coefficients with standard errors."""
    import pyarrow as pa

    from sfumato.regression import regress as fit

    loaded = load_plan(plan)
    if output is not None:
        check_target(output, apart=[plan, *reports])
    references = dict(map(_read_reference, reference or []))
    channels = {name: channel for name, channel in blurred_channels(loaded).items() if name in (outcome, *on)}
    columns = dict.fromkeys([outcome, *on, *columns_of(channels), *filter(None, [weights])])
    table = read_answers(reports, loaded, columns, reports=True)
    with naming_rows(reports, loaded, table, reports=True):
        regression = fit(table, loaded, outcome, on, weights=weights, kind=kind, reference=references)
    if output is not None:
        write_table(pa.Table.from_pylist(regression.rows()), output)
    if as_json:
        emit_json(regression.to_dict())
        return
    say(regression.summary())
    say_written(output)


def _read_reference(text: str) -> tuple[str, str]:
    """Return (column, category that others are compared with), read from a text such as smokes=no."""
    name, equals, label = text.partition("=")
    if not equals:
        raise ValueError(f"--reference {text!r} names no category; write such as smokes=no")
    return name.strip(), label.strip()
