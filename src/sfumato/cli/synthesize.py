"""`sfumato synthesize`: draw synthetic records from a model of the reports, for any other tool to learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import emit_json, progress, say, say_table, say_written
from sfumato.cli.plans import AsJson, Engine, PlanFile, ReportFiles, load_plan, reading
from sfumato.prose import json_text, percent
from sfumato.shipping.training import check_learnable, feature_columns
from sfumato.tables import check_target, naming, write_table, write_text

EXAMPLES = """Examples:

  sfumato synthesize plan.toml reports.parquet -n 100000 -o synthetic.parquet

  sfumato synthesize plan.toml reports.parquet -o synthetic.csv --report closeness.html"""

Output = Annotated[Path, typer.Option("--output", "-o", help="The records: .csv or .parquet.", show_default=False)]
Count = Annotated[int, typer.Option("-n", "--records", min=1, help="How many records to draw.")]
Report = Annotated[Path | None, typer.Option(help="Write how close the records are: .html or .json.")]
Seed = Annotated[int, typer.Option(min=0, help="For the fit and the draws: the same seed, the same records.")]


def synthesize(
    plan: PlanFile,
    reports: ReportFiles,
    output: Output,
    records: Count = 100_000,
    report: Report = None,
    seed: Seed = 0,
    engine: Engine = None,
    as_json: AsJson = False,
) -> None:
    """Draw synthetic records from a joint model of the reports, and say how far they lie from what the reports say."""
    from sfumato.shipping import synthesis

    loaded = load_plan(plan)
    with naming(plan):
        check_learnable(loaded, with_class=False)
    check_target(output, apart=[plan, *reports])
    if report is not None:
        check_target(report, (".html", ".json"), apart=[plan, *reports])
    columns = [*feature_columns(loaded), *([loaded.target] if loaded.target else [])]
    with reading(reports, loaded, columns, engine, seed) as source:
        synthetic = synthesis.synthesize(loaded, source, records, seed=seed, progress=progress)
        closeness = synthesis.closeness(loaded, source, synthetic, progress)
    write_table(synthetic, output)
    if report is not None and report.suffix.lower() == ".json":
        write_text(json_text(closeness, indent=2) + "\n", report)
    elif report is not None:
        synthesis.closeness_page(loaded, closeness).write(report)
    if as_json:
        emit_json({"synthetic": output, **closeness})
        return
    _say_closeness(closeness, synthesis.pairs_in_words(closeness) if closeness["pairs"] else "")
    say_written(output, report)


def _say_closeness(closeness: dict[str, Any], pairs: str) -> None:
    """Print how far synthetic records lie from what the reports say, attribute by attribute.

    ``closeness``: what `sfumato.shipping.synthesis.closeness` returns; ``pairs``: a sentence on pairs of attributes, or
    "".
    """
    rows = [(r["attribute"], percent(r["distance"], 2), percent(r["by_chance"], 2)) for r in closeness["attributes"]]
    say_table(rows, words=["attribute"], numbers=["distance", "by chance alone"])
    if pairs:
        say(f"\n{pairs}")
    say("\nA distance is the share of synthetic records that would have to move to agree with the reconstruction.")
    say("The records are computed from the reports alone: they reveal no more about anyone than the reports do.")
