"""`sfumato reconstruct`: reconstruct the distribution of true values from reports, with standard errors."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import emit_json, progress, say, say_written
from sfumato.cli.plans import AsJson, Engine, PlanFile, ReportFiles, blurred_channels, columns_of, load_plan, reading
from sfumato.counts import Reports
from sfumato.domain import Items, Row
from sfumato.plan import Plan
from sfumato.reconstruction import Difference, Estimate, combine, difference, reconstruct_plan
from sfumato.tables import check_target, naming, write_table
from sfumato.tables.files import write_whole

METHODS = ("smooth", "em", "as00", "inverse")
PLOTS = (".png", ".svg", ".html")
TOGETHER = "together"
"""What the estimate of all classes together is called beside theirs."""
MOST_COMPARED = 6
"""The most classes n of which every two are compared. Judgement: six have 15 pairs, which fit onto a screen; more print
n(n − 1)/2 lines, fewer leave pairs to `sf.difference`."""
PART_OF_SHARES = re.compile(r"""(?:^|(?<=,))\s*(?:"(?:[^"]|"")*")?[^,]*""")
"""One class's part of --shares: up to a comma that is not in quotes."""
QUOTED = re.compile(r"""\s*"((?:[^"]|"")*)"\s*=(.*)""")
"""A part of --shares whose class is in quotes: the class, with quotes in it doubled, and the share."""
Estimates = Mapping[Any, Estimate]
"""The estimates of one attribute by class; without classes, that of everybody under None."""
EXAMPLES = """Examples:

  sfumato reconstruct plan.toml reports.parquet

  sfumato reconstruct plan.toml reports.parquet -a age --intervals 20 --plot age.png

  sfumato reconstruct plan.toml reports.parquet -o estimates.csv --plot all.html

  sfumato reconstruct plan.toml reports.parquet --by region --weights w --shares north=0.3,south=0.7"""

Attributes = Annotated[list[str] | None, typer.Option("--attribute", "-a", help="Only this one; may be repeated.")]
Intervals = Annotated[int | None, typer.Option(min=1, help="Number of equal intervals for numeric attributes.")]
Method = Annotated[str, typer.Option(help="One of smooth, em, as00, inverse.")]
By = Annotated[str | None, typer.Option(help="A clear column: each of its classes apart, and held against others.")]
Shares = Annotated[
    str | None,
    typer.Option(help="""Known parts of the population, north=0.3,"far, south"=0.7: put the classes together too."""),
]
Weights = Annotated[str | None, typer.Option(help="A column that says how many people each report stands for.")]
Plot = Annotated[
    Path | None,
    typer.Option(help="Draw the estimates: .png or .svg; .html: a page of all that the reports tell, offline."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write the estimates: .csv or .parquet.")]


@dataclass(frozen=True)
class MethodOptions:
    """The options that say how distributions are reconstructed: how many intervals, and by which method."""

    intervals: Intervals = None
    method: Method = "smooth"

    def check(self) -> None:
        """Raise a ValueError if the method is not one of METHODS."""
        if self.method not in METHODS:
            raise ValueError(f"--method {self.method} is unknown; use one of {', '.join(METHODS)}")


@dataclass(frozen=True)
class GroupOptions:
    """The options that say whose distribution is estimated: everybody's, or each class's by a column sent in the clear.

    ``shares``: known shares of the classes, by which their estimates are put together; ``weights``: a column that says
    how many people each report stands for.
    """

    by: By = None
    shares: Shares = None
    weights: Weights = None

    def columns(self, plan: Plan) -> list[str]:
        """Return the names of the columns that the options name. ValueError: one of them is blurred."""
        named = [name for name in (self.by, self.weights) if name is not None]
        for name in named:
            if name in plan.attributes and plan.attributes[name].channel is not None:
                raise ValueError(f"column {name!r} is blurred, so nobody's own is known; name one sent in the clear")
        return named

    def population_shares(self) -> dict[str, float] | None:
        """Return each class's share of the population as a dict, read from --shares; None without the option."""
        if self.shares is None:
            return None
        if self.by is None:
            raise ValueError("--shares are those of classes; name their column with --by")
        shares = {}
        for part in PART_OF_SHARES.findall(self.shares):
            quoted = QUOTED.fullmatch(part)
            name, share = (quoted[1].replace('""', '"'), quoted[2]) if quoted else part.rpartition("=")[::2]
            name = name if quoted else name.strip()
            if name in shares or name == TOGETHER:
                problem = "is named twice" if name in shares else "is what the total is called; rename that class"
                raise ValueError(f"--shares {self.shares!r}: {name!r} {problem}")
            try:
                shares[name] = float(share)
            except ValueError:
                fix = """write such as north=0.3,south=0.7, or '"far, north"=0.3' in quotes"""
                raise ValueError(f"--shares {self.shares!r}: {part!r} is no share; {fix}") from None
        return shares


@dataclass(frozen=True)
class EstimateOutput:
    """The options that say where estimates are written: a picture or page, a table, JSON on standard output."""

    plot: Plot = None
    output: Output = None
    as_json: AsJson = False

    @property
    def on_a_page(self) -> bool:
        """Whether the option --plot wants an HTML page instead of a picture."""
        return self.plot is not None and self.plot.suffix.lower() == ".html"

    def check(self, inputs: list[Path]) -> None:
        """Raise a ValueError if a file would be written over one that is read."""
        if self.plot is not None:
            check_target(self.plot, PLOTS, apart=inputs)
        if self.output is not None:
            check_target(self.output, apart=[*inputs, self.plot])

    def write(self, estimates: dict[str, Estimates], by: str | None) -> None:
        """Write the estimates' table and picture where the options say, and print the estimates.

        ``estimates``: by attribute, then by class; ``by``: the column of the classes, None without classes.
        """
        titled = {_title(name, by, key): each for name, part in estimates.items() for key, each in part.items()}
        if self.output is not None:
            write_table(estimate_table(estimates, by is not None), self.output)
        if self.plot is not None and not self.on_a_page:
            write_whole(self.plot, figure_of(titled).savefig)
        if self.as_json:
            emit_json({name: _as_data(by_class, by) for name, by_class in estimates.items()})
            return
        for title, estimate in titled.items():
            say(f"{title}: {estimate}\n")
        _say_differences(estimates, by)
        say_written(self.output, self.plot)


def reconstruct(
    plan: PlanFile,
    reports: ReportFiles,
    attribute: Attributes = None,
    *,
    method_options: MethodOptions,
    groups: GroupOptions,
    results: EstimateOutput,
    engine: Engine = None,
) -> None:
    """Reconstruct how the true values are distributed, attribute by attribute, with standard errors."""
    loaded, by = load_plan(plan), groups.by
    method_options.check()
    results.check([plan, *reports])
    columns, shares = groups.columns(loaded), groups.population_shares()
    blurred = blurred_channels(loaded, attribute)
    channels = {name: each for name, each in blurred.items() if not isinstance(each.domain, (Items, Row))}
    if not channels:
        raise ValueError(f"{plan}: no attribute here has a channel to reconstruct through; give one a channel")
    options: dict[str, Any] = {"target": False if by is None else by, "weights": groups.weights}
    intervals, method = method_options.intervals, method_options.method
    with reading(reports, loaded, [*columns_of(channels), *columns], engine, **options) as source:
        counted = source if isinstance(source, Reports) else Reports(source, loaded, **options)
        counts = dict(zip(channels, counted.tallies(list(channels), by_class=by is not None), strict=True))
    estimates: dict[str, Estimates] = {}
    for name, tally in progress(counts.items(), "reconstructing"):
        estimate = reconstruct_plan({name: tally}, loaded, intervals, method)[name]
        estimates[name] = {None: estimate} if by is None else estimate
        if shares is not None:
            with naming("--shares"):
                together = combine({str(class_): estimate[class_] for class_ in estimate}, shares)
                estimates[name] = {**estimate, TOGETHER: together}
    if results.plot is not None and results.on_a_page:
        from sfumato.findings import page_of

        page = page_of(counts, loaded, intervals=intervals, method=method, class_name=by, shares=shares)
        page.write(results.plot)
    results.write(estimates, by)


def _say_differences(estimates: Mapping[str, Estimates], by: str | None) -> None:
    """Print, attribute by attribute, whether the estimates of every two classes differ.

    ``estimates``: by attribute, then by class; ``by``: the column of the classes, None without classes.
    """
    for name, by_class in estimates.items():
        differences = _differences(by_class)
        for first, second, compared in differences:
            say(f"{name}, {by} {first} less {second}: {compared if len(differences) == 1 else compared.verdict}\n")
        if by is not None and not differences and len(by_class) > 1:
            say(f"{name}: more than {MOST_COMPARED} classes are not held against each other; sf.difference does it\n")


def _title(name: str, by: str | None, class_: Any) -> str:
    """Return the title of an attribute's estimate: for a class, for all classes together, or without classes.

    ``by``: the column of the classes, None without classes; ``class_``: the class.
    """
    return name if by is None else f"{name}, {class_}" if class_ == TOGETHER else f"{name}, {by} {class_}"


def _differences(estimates: Estimates) -> list[tuple[Any, Any, Difference]]:
    """Return a list of (first, second, difference) for every two classes.

    Empty for more than ``MOST_COMPARED`` classes. ``estimates``: by class.
    """
    classes = [class_ for class_ in estimates if class_ not in (None, TOGETHER)]
    pairs = combinations(classes, 2) if len(classes) <= MOST_COMPARED else ()
    return [(first, second, difference(estimates[first], estimates[second])) for first, second in pairs]


def _as_data(estimates: Estimates, by: str | None) -> dict[str, Any]:
    """Return the estimates of one attribute as a dict for JSON, with the differences between classes.

    ``estimates``: by class; ``by``: the column of the classes, None without classes.
    """
    if by is None:
        return estimates[None].to_dict()
    differences = [{"first": a, "second": b, **compared.to_dict()} for a, b, compared in _differences(estimates)]
    classes = {class_: estimate.to_dict() for class_, estimate in estimates.items() if class_ != TOGETHER}
    together = {TOGETHER: estimates[TOGETHER].to_dict()} if TOGETHER in estimates else {}
    return {"by": by, "classes": classes, **together, "differences": differences}


def estimate_table(estimates: Mapping[str, Estimates], by_class: bool = False) -> Any:
    """Return all estimates as a PyArrow table: a row for each interval or category of each attribute (and class)."""
    import pyarrow as pa

    types = {"attribute": pa.string(), **({"class": pa.string()} if by_class else {})}
    types |= {"low": pa.float64(), "high": pa.float64(), "category": pa.string()}
    types |= {"probability": pa.float64(), "stderr": pa.float64()}
    rows = [
        {**row, "attribute": name, "class": str(class_)}
        | {"category": None if row["category"] is None else str(row["category"])}
        for name, classes in estimates.items()
        for class_, estimate in classes.items()
        for row in estimate.rows()
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema(list(types.items())))



def figure_of(estimates: dict[str, Estimate]) -> Any:
    """Return a matplotlib figure of estimates, a panel for each with its title, at most three beside each other."""
    from matplotlib.figure import Figure

    across = min(3, len(estimates))
    down = math.ceil(len(estimates) / across)
    figure = Figure(figsize=(4.2 * across, 3.0 * down), layout="constrained", dpi=130)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel, (name, estimate) in zip(panels, estimates.items(), strict=False):
        estimate.plot(panel).set_title(name, loc="left", parse_math=False)
    for panel in panels[len(estimates) :]:
        panel.set_axis_off()
    return figure
