"""`sfumato synthesize`: clean-looking records drawn from a model of the reports, for any other tool to learn from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sfumato.cli.closeness import distances
from sfumato.cli.files import check_target, write_table, write_text
from sfumato.cli.learning import check_learnable, classes, features, label_channel, read_records
from sfumato.cli.plans import AsJson, PlanFile, load_plan, naming
from sfumato.cli.synthesis_page import synthesis_page
from sfumato.cli.terminal import console, emit_json, finite, progress, say
from sfumato.plan import Plan

REPORTS = (".html", ".json")
SHOWN = 5
EXAMPLES = """Examples:

  sfumato synthesize plan.toml reports.parquet -n 100000 -o synthetic.parquet

  sfumato synthesize plan.toml reports.parquet -o synthetic.csv --report closeness.html"""

ReportFile = Annotated[Path, typer.Argument(metavar="REPORTS", help="Reports: .csv or .parquet.", show_default=False)]
Output = Annotated[Path, typer.Option("--output", "-o", help="The records: .csv or .parquet.", show_default=False)]
Count = Annotated[int, typer.Option("-n", "--records", min=1, help="How many records to draw.")]
Report = Annotated[Path | None, typer.Option(help="Write how close the records are: .html or .json.")]
Seed = Annotated[int, typer.Option(min=0, help="For the fit and the draws: the same seed, the same records.")]


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES)(synthesize)


def synthesize(
    plan: PlanFile,
    reports: ReportFile,
    output: Output,
    records: Count = 100_000,
    report: Report = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Draw synthetic records from a joint model of the reports, and say how far they lie from what the reports say."""
    loaded = load_plan(plan)
    check_learnable(loaded, plan, with_class=False)
    check_target(output)
    if report is not None:
        check_target(report, REPORTS)
    table = read_records(loaded, reports, reports=True)
    with naming(reports):
        synthetic = draw(loaded, table, reports, records, seed)
    found = {"records": records, "reports": table.num_rows, **distances(loaded, table, synthetic, progress)}
    write_table(synthetic, output)
    if report is not None:
        as_text = json.dumps(finite(found), indent=2) + "\n" if report.suffix.lower() == ".json" else None
        write_text(as_text or synthesis_page(loaded, found), report)
    if as_json:
        emit_json({"synthetic": str(output), **found})
    else:
        _tell(found, [output] if report is None else [output, report])


def draw(plan: Plan, table: Any, path: Path, count: int, seed: int) -> Any:
    """A PyArrow table of synthetic records, its columns in the plan's order."""
    import pyarrow

    from sfumato.mining.joint import JointModel

    model = JointModel(plan.channels, label_channel=label_channel(plan), random_state=seed)
    labels = None if plan.target is None else classes(plan, table, path)
    for _ in progress(["fitting"], f"fitting {table.num_rows:,} reports"):
        model.fit(features(plan, table), labels)
    if plan.target is None:
        return model.sample(count, random_state=seed)
    records, group = model.sample(count, random_state=seed)
    return records.append_column(plan.target, pyarrow.array(group)).select(list(plan.attributes))


def _tell(found: dict[str, Any], written: list[Path]) -> None:
    shown = Table(box=None, pad_edge=False)
    shown.add_column("attribute")
    for title in ("distance", "by chance alone"):
        shown.add_column(title, justify="right")
    for row in found["attributes"]:
        shown.add_row(row["attribute"], f"{100 * row['distance']:.2f} %", f"{100 * row['by_chance']:.2f} %")
    console().print(shown)
    if found["pairs"]:
        say(f"\n{pair_summary(found)}")
    say("\nA distance is the share of synthetic records that would have to move to agree with the reconstruction.")
    say("The records are computed from the reports alone: they reveal no more about anyone than the reports do.")
    for path in written:
        say(f"written to {path}")


def pair_summary(found: dict[str, Any]) -> str:
    ordered = sorted(found["pairs"], key=lambda row: -row["distance"])
    middle = ordered[len(ordered) // 2]["distance"]
    worst = ", ".join(f"{' × '.join(row['pair'])} {100 * row['distance']:.1f} %" for row in ordered[:SHOWN])
    left = found["left_out_of_pairs"]
    without = f" Without {', '.join(left)}, where people chose their level." if left else ""
    return f"{len(ordered)} pairs: median distance {100 * middle:.1f} %; the largest: {worst}.{without}"
