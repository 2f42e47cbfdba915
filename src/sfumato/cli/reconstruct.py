"""`sfumato reconstruct`: from reports to the distribution behind them, with its error."""

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
from sfumato.cli.plans import AsJson, Engine, PlanFile, ReportFiles, asked, columns_of, load_plan, naming, reading
from sfumato.counts import Reports
from sfumato.domain import Items, Row
from sfumato.plan import Plan
from sfumato.reconstruction import Difference, Estimate, combine, difference, reconstruct_plan
from sfumato.reconstruction.methods import STOPPED, stop_rule
from sfumato.tables import check_target, write_table
from sfumato.tables.files import write_whole

METHODS = ("smooth", "em", "as00", "as00-records", "inverse")
PLOTS = (".png", ".svg", ".html")
TOGETHER = "together"
MOST_COMPARED = 6  # classes of which every two are held against each other
PART_OF_SHARES = re.compile(r"""(?:^|(?<=,))\s*(?:"(?:[^"]|"")*")?[^,]*""")  # commas in quotes part nothing
QUOTED = re.compile(r"""\s*"((?:[^"]|"")*)"\s*=(.*)""")
Estimates = Mapping[Any, Estimate]
"""By class; the one of everybody is called None."""
EXAMPLES = """Examples:

  sfumato reconstruct plan.toml reports.parquet

  sfumato reconstruct plan.toml reports.parquet -a age --intervals 20 --plot age.png

  sfumato reconstruct plan.toml reports.parquet -o estimates.csv --plot all.html

  sfumato reconstruct plan.toml reports.parquet --method as00 --stop 0.001

  sfumato reconstruct plan.toml reports.parquet --by region --weights w --shares north=0.3,south=0.7"""

Attributes = Annotated[list[str] | None, typer.Option("--attribute", "-a", help="Only this one; may be repeated.")]
Intervals = Annotated[int | None, typer.Option(min=1, help="Number of equal intervals for numeric attributes.")]
Method = Annotated[str, typer.Option(help="One of smooth, em, as00, as00-records, inverse.")]
Stop = Annotated[
    str | None,
    typer.Option(help="Where as00 ends: a share of the χ² threshold (the paper's 0.01), observed or likelihood."),
]
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
class Way:
    """How distributions are reconstructed."""

    intervals: Intervals = None
    method: Method = "smooth"
    stop: Stop = None

    def rule(self) -> Any:
        """The stopping rule that was asked for."""
        if self.method not in METHODS:
            raise ValueError(f"--method {self.method} is unknown; use one of {', '.join(METHODS)}")
        if self.stop is None:
            return None
        if self.method not in STOPPED:
            raise ValueError(f"--stop is for --method {' and '.join(STOPPED)}; leave it out for {self.method}")
        try:
            return stop_rule(float(self.stop) if self.stop[:1] in "0123456789." else self.stop)
        except ValueError:
            how = "give a share of the χ² threshold above 0 and up to 1, observed or likelihood"
            raise ValueError(f"--stop {self.stop} is unknown; {how}") from None


@dataclass(frozen=True)
class Whose:
    """Whose distributions are wanted: everybody's, or by the classes of a clear column, weighted or not."""

    by: By = None
    shares: Shares = None
    weights: Weights = None

    def columns(self, plan: Plan) -> list[str]:
        """The columns that are named, none of them blurred."""
        named = [name for name in (self.by, self.weights) if name is not None]
        for name in named:
            if name in plan.attributes and plan.attributes[name].channel is not None:
                raise ValueError(f"column {name!r} is blurred, so nobody's own is known; name one sent in the clear")
        return named

    def known_shares(self) -> dict[str, float] | None:
        """By class its share of the population."""
        if self.shares is None:
            return None
        if self.by is None:
            raise ValueError("--shares are those of classes; name their column with --by")
        found = {}
        for part in PART_OF_SHARES.findall(self.shares):
            quoted = QUOTED.fullmatch(part)
            name, share = (quoted[1].replace('""', '"'), quoted[2]) if quoted else part.rpartition("=")[::2]
            name = name if quoted else name.strip()
            if name in found or name == TOGETHER:
                why = "is named twice" if name in found else "is what the total is called; rename that class"
                raise ValueError(f"--shares {self.shares!r}: {name!r} {why}")
            try:
                found[name] = float(share)
            except ValueError:
                how = """write such as north=0.3,south=0.7, or '"far, north"=0.3' in quotes"""
                raise ValueError(f"--shares {self.shares!r}: {part!r} is no share; {how}") from None
        return found


@dataclass(frozen=True)
class Results:
    """Where the estimates go."""

    plot: Plot = None
    output: Output = None
    as_json: AsJson = False

    @property
    def on_a_page(self) -> bool:
        """Whether a page is wanted instead of a picture."""
        return self.plot is not None and self.plot.suffix.lower() == ".html"

    def check(self, given: list[Path]) -> None:
        """Refuse to write over what is read."""
        if self.plot is not None:
            check_target(self.plot, PLOTS, apart=given)
        if self.output is not None:
            check_target(self.output, apart=[*given, self.plot])

    def deliver(self, found: dict[str, Estimates], by: str | None) -> None:
        titled = {_title(name, by, each): one for name, part in found.items() for each, one in part.items()}
        if self.output is not None:
            write_table(estimate_table(found, by is not None), self.output)
        if self.plot is not None and not self.on_a_page:
            write_whole(self.plot, figure_of(titled).savefig)
        if self.as_json:
            emit_json({name: _plain(part, by) for name, part in found.items()})
            return
        for title, estimate in titled.items():
            say(f"{title}: {estimate}\n")
        _say_differences(found, by)
        say_written(self.output, self.plot)


def reconstruct(
    plan: PlanFile,
    reports: ReportFiles,
    attribute: Attributes = None,
    *,
    way: Way,
    whose: Whose,
    results: Results,
    engine: Engine = None,
) -> None:
    """Reconstruct how the true values are distributed, attribute by attribute, with standard errors."""
    loaded, by, rule = load_plan(plan), whose.by, way.rule()
    results.check([plan, *reports])
    named, known = whose.columns(loaded), whose.known_shares()
    chosen = {name: one for name, one in asked(loaded, attribute).items() if not isinstance(one.domain, (Items, Row))}
    if not chosen:
        raise ValueError(f"{plan}: no attribute here has a channel to reconstruct through; give one a channel")
    options: dict[str, Any] = {"target": False if by is None else by, "weights": whose.weights}
    with reading(reports, loaded, [*columns_of(chosen), *named], engine, **options) as given:
        held = given if isinstance(given, Reports) else Reports(given, loaded, **options)
        counts = dict(zip(chosen, held.tallies(list(chosen), by_class=by is not None), strict=True))
    found: dict[str, Estimates] = {}
    for name, one in progress(counts.items(), "reconstructing"):
        estimate = reconstruct_plan({name: one}, loaded, way.intervals, way.method, stop=rule)[name]
        found[name] = {None: estimate} if by is None else estimate
        if known is not None:
            with naming("--shares"):
                found[name] = {**estimate, TOGETHER: combine({str(each): estimate[each] for each in estimate}, known)}
    if results.plot is not None and results.on_a_page:
        from sfumato.findings import page_of

        wishes = {"intervals": way.intervals, "method": way.method, "stop": rule, "class_name": by, "shares": known}
        page_of(counts, loaded, **wishes).write(results.plot)
    results.deliver(found, by)


def _say_differences(found: Mapping[str, Estimates], by: str | None) -> None:
    for name, part in found.items():
        held = _differences(part)
        for first, second, one in held:
            say(f"{name}, {by} {first} less {second}: {one if len(held) == 1 else one.verdict}\n")
        if by is not None and not held and len(part) > 1:
            say(f"{name}: more than {MOST_COMPARED} classes are not held against each other; sf.difference does it\n")


def _title(name: str, by: str | None, each: Any) -> str:
    return name if by is None else f"{name}, {each}" if each == TOGETHER else f"{name}, {by} {each}"


def _differences(part: Estimates) -> list[tuple[Any, Any, Difference]]:
    """Every two classes held against each other, where they are few."""
    classes = [each for each in part if each not in (None, TOGETHER)]
    pairs = combinations(classes, 2) if len(classes) <= MOST_COMPARED else ()
    return [(first, second, difference(part[first], part[second])) for first, second in pairs]


def _plain(part: Estimates, by: str | None) -> dict[str, Any]:
    if by is None:
        return part[None].to_dict()
    held = [{"first": first, "second": second, **one.to_dict()} for first, second, one in _differences(part)]
    classes = {each: one.to_dict() for each, one in part.items() if each != TOGETHER}
    together = {TOGETHER: part[TOGETHER].to_dict()} if TOGETHER in part else {}
    return {"by": by, "classes": classes, **together, "differences": held}


def estimate_table(found: Mapping[str, Estimates], by_class: bool = False) -> Any:
    """All estimates as a PyArrow table with fixed column types."""
    import pyarrow as pa

    kinds = {"attribute": pa.string(), **({"class": pa.string()} if by_class else {})}
    kinds |= {"low": pa.float64(), "high": pa.float64(), "category": pa.string()}
    kinds |= {"probability": pa.float64(), "stderr": pa.float64()}
    rows = [
        {**row, "attribute": name, "class": str(each), "category": _text(row["category"])}
        for name, part in found.items()
        for each, estimate in part.items()
        for row in estimate.rows()
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema(list(kinds.items())))


def _text(category: Any) -> str | None:
    return None if category is None else str(category)


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
