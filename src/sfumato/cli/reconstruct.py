"""`sfumato reconstruct`: from reports to the distribution behind them, with its error."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import emit_json, progress, say, say_written
from sfumato.cli.plans import AsJson, Engine, PlanFile, ReportFiles, asked, columns_of, load_plan, reading
from sfumato.counts import Reports
from sfumato.domain import Items, Row
from sfumato.prose import sentence
from sfumato.reconstruction import Estimate, reconstruct_plan
from sfumato.tables import check_target, write_table
from sfumato.tables.files import write_whole

METHODS = ("smooth", "em", "as00", "inverse")
PLOTS = (".png", ".svg", ".html")
EXAMPLES = """Examples:

  sfumato reconstruct plan.toml reports.parquet

  sfumato reconstruct plan.toml reports.parquet -a age --intervals 20 --plot age.png

  sfumato reconstruct plan.toml reports.parquet -o estimates.csv --plot all.html"""

Attributes = Annotated[list[str] | None, typer.Option("--attribute", "-a", help="Only this one; may be repeated.")]
Intervals = Annotated[int | None, typer.Option(min=1, help="Number of equal intervals for numeric attributes.")]
Method = Annotated[str, typer.Option(help="One of smooth, em, as00, inverse.")]
Plot = Annotated[Path | None, typer.Option(help="Draw the estimates: .png, .svg or .html (works offline).")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write the estimates: .csv or .parquet.")]


def reconstruct(
    plan: PlanFile,
    reports: ReportFiles,
    attribute: Attributes = None,
    intervals: Intervals = None,
    method: Method = "smooth",
    plot: Plot = None,
    output: Output = None,
    engine: Engine = None,
    as_json: AsJson = False,
) -> None:
    """Reconstruct how the true values are distributed, attribute by attribute, with standard errors."""
    loaded = load_plan(plan)
    _check_wishes(method, plot, output, [plan, *reports])
    chosen = {name: one for name, one in asked(loaded, attribute).items() if not isinstance(one.domain, (Items, Row))}
    if not chosen:
        raise ValueError(f"{plan}: no attribute here has a channel to reconstruct through; give one a channel")
    with reading(reports, loaded, columns_of(chosen), engine, by_class=False) as given:
        held = given if isinstance(given, Reports) else Reports(given, loaded, target=False)
        counts = dict(zip(chosen, held.tallies(list(chosen)), strict=True))
    estimates: dict[str, Estimate] = {}
    for name, one in progress(counts.items(), "reconstructing"):
        estimates |= reconstruct_plan({name: one}, loaded, intervals, method)
    _deliver(estimates, plot, output, as_json)


def _check_wishes(method: str, plot: Path | None, output: Path | None, given: list[Path]) -> None:
    if method not in METHODS:
        raise ValueError(f"--method {method} is unknown; use one of {', '.join(METHODS)}")
    if plot is not None:
        check_target(plot, PLOTS, apart=given)
    if output is not None:
        check_target(output, apart=[*given, plot])


def _deliver(estimates: dict[str, Estimate], plot: Path | None, output: Path | None, as_json: bool) -> None:
    if output is not None:
        write_table(estimate_table(estimates), output)
    if plot is not None and plot.suffix.lower() == ".html":
        page_of(estimates).write(plot)
    elif plot is not None:
        write_whole(plot, figure_of(estimates).savefig)
    if as_json:
        emit_json({name: estimate.to_dict() for name, estimate in estimates.items()})
        return
    for name, estimate in estimates.items():
        say(f"{name}: {estimate}\n")
    say_written(output, plot)


def estimate_table(estimates: dict[str, Estimate]) -> Any:
    """All estimates as a PyArrow table with fixed column types."""
    import pyarrow as pa

    kinds = {"attribute": pa.string(), "low": pa.float64(), "high": pa.float64(), "category": pa.string()}
    kinds |= {"probability": pa.float64(), "stderr": pa.float64()}
    rows = [
        {**row, "attribute": name, "category": None if row["category"] is None else str(row["category"])}
        for name, estimate in estimates.items()
        for row in estimate.rows()
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema(list(kinds.items())))


def page_of(estimates: dict[str, Estimate]) -> Any:
    """A page with one chart an attribute."""
    from sfumato.pages import Card, Page, distribution

    lead = "How the true values are distributed, reconstructed from the reports; with 90 % error bars."
    cards = []
    for name, estimate in estimates.items():
        facts = estimate.diagnostics
        how = f"{facts.reports:,.0f} reports, {facts.missing:,.0f} missing, method {facts.method}"
        cards.append(Card(name, how, distribution(estimate.rows()), " ".join(map(sentence, facts.messages))))
    return Page("Reconstructed distributions", lead).section("Attributes").cards(cards)


def figure_of(estimates: dict[str, Estimate]) -> Any:
    """A matplotlib figure, one panel an attribute."""
    from matplotlib.figure import Figure

    across = min(3, len(estimates))
    down = math.ceil(len(estimates) / across)
    drawing = Figure(figsize=(4.2 * across, 3.0 * down), layout="constrained", dpi=130)
    panels = drawing.subplots(down, across, squeeze=False).ravel()
    for panel, (name, estimate) in zip(panels, estimates.items(), strict=False):
        estimate.plot(panel).set_title(name, loc="left", parse_math=False)
    for panel in panels[len(estimates) :]:
        panel.set_axis_off()
    return drawing
