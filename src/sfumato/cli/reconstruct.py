"""`sfumato reconstruct`: from reports to the distribution behind them, with its error."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.estimates import as_table, estimate_of, rows_of
from sfumato.cli.files import check_rows, check_target, read_table, write_table
from sfumato.cli.plans import AsJson, PlanFile, asked, check_columns, columns_of, load_plan, naming, text_columns
from sfumato.cli.terminal import emit_json, progress, say
from sfumato.domain import Interval, Items
from sfumato.reconstruction import Estimate

METHODS = ("smooth", "em", "as00", "inverse")
PLOTS = (".png", ".svg", ".html")
EXAMPLES = """Examples:

  sfumato reconstruct plan.toml reports.parquet

  sfumato reconstruct plan.toml reports.parquet -a age --intervals 20 --plot age.png

  sfumato reconstruct plan.toml reports.parquet -o estimates.csv --plot all.html"""

Reports = Annotated[Path, typer.Argument(metavar="REPORTS", help="Reports: .csv or .parquet.", show_default=False)]
Attributes = Annotated[list[str] | None, typer.Option("--attribute", "-a", help="Only this one; may be repeated.")]
Intervals = Annotated[int | None, typer.Option(min=1, help="Number of equal intervals for numeric attributes.")]
Method = Annotated[str, typer.Option(help="One of smooth, em, as00, inverse.")]
Plot = Annotated[Path | None, typer.Option(help="Draw the estimates: .png, .svg or .html (works offline).")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write the estimates: .csv or .parquet.")]


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES)(reconstruct)


def reconstruct(
    plan: PlanFile,
    reports: Reports,
    attribute: Attributes = None,
    intervals: Intervals = None,
    method: Method = "smooth",
    plot: Plot = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Reconstruct how the true values are distributed, attribute by attribute, with standard errors."""
    loaded = load_plan(plan)
    _check_wishes(method, plot, output)
    chosen = {name: one for name, one in asked(loaded, attribute).items() if not isinstance(one.domain, Items)}
    if not chosen:
        raise ValueError(f"{plan}: no attribute here has a channel to reconstruct through; give one a channel")
    table = check_rows(read_table(reports, text=text_columns(loaded)), reports)
    check_columns(table, columns_of(chosen), reports)
    steps = progress(chosen.items(), "reconstructing")
    estimates = {}
    for name, channel in steps:
        cells = intervals if isinstance(channel.domain, Interval) else None
        with naming(f"attribute {name!r}"):
            estimates[name] = estimate_of(name, channel, table, cells, method)
    _deliver(estimates, plot, output, as_json)


def _check_wishes(method: str, plot: Path | None, output: Path | None) -> None:
    if method not in METHODS:
        raise ValueError(f"--method {method} is unknown; use one of {', '.join(METHODS)}")
    if plot is not None:
        check_target(plot, PLOTS)
    if output is not None:
        check_target(output)


def _deliver(estimates: dict[str, Estimate], plot: Path | None, output: Path | None, as_json: bool) -> None:
    if output is not None:
        write_table(as_table([row for name, estimate in estimates.items() for row in rows_of(name, estimate)]), output)
    if plot is not None:
        from sfumato.cli.plots import save

        save(estimates, plot)
    if as_json:
        emit_json({name: estimate.to_dict() for name, estimate in estimates.items()})
        return
    for name, estimate in estimates.items():
        say(f"{name}: {estimate}\n")
    for path in (output, plot):
        if path is not None:
            say(f"written to {path}")
