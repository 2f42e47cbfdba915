"""`sfumato train`: a classifier for true values, learned from reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sfumato import shipping
from sfumato.cli import measuring
from sfumato.cli.files import check_target
from sfumato.cli.learning import METHODS, check_learnable, check_method, classes, estimator, features, read_records
from sfumato.cli.plans import AsJson, PlanFile, load_plan, naming
from sfumato.cli.terminal import emit_json, progress, say
from sfumato.plan import Plan

DEFAULT_HOLDOUT = 0.2
MOST_RULES = 8
EXAMPLES = """Examples:

  sfumato train plan.toml reports.parquet -o model.json

  sfumato train plan.toml reports.parquet -o model.json --method byclass --test volunteers.csv"""

Reports = Annotated[Path, typer.Argument(metavar="REPORTS", help="Reports: .csv or .parquet.", show_default=False)]
Output = Annotated[Path, typer.Option("--output", "-o", help="The model: .json.", show_default=False)]
Method = Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")]
Holdout = Annotated[
    float | None,
    typer.Option(
        min=0, max=0.9, help="Share of reports kept out of training to measure with.  [default: 0.2, 0 with --test]"
    ),
]
Test = Annotated[Path | None, typer.Option(help="People with known true values: .csv or .parquet.")]
Seed = Annotated[int, typer.Option(min=0, help="For the split and the fit: the same seed, the same model.")]


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES)(train)


def train(
    plan: PlanFile,
    reports: Reports,
    output: Output,
    method: Method = "joint",
    holdout: Holdout = None,
    test: Test = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Learn to classify people by their true values, from their reports; say how well, as far as that can be known."""
    loaded = load_plan(plan)
    check_method(method)
    check_target(output, (".json",))
    check_learnable(loaded, plan, with_class=True)
    table = read_records(loaded, reports, reports=True)
    labels = classes(loaded, table, reports)
    people = None if test is None else read_records(loaded, test, reports=False)
    share = holdout if holdout is not None else (DEFAULT_HOLDOUT if test is None else 0.0)
    held = np.random.default_rng(seed).random(len(labels)) < share
    model = estimator(method, loaded, seed)
    for _ in progress([method], f"training on {int((~held).sum()):,} reports"):
        with naming(reports):
            model.fit(features(loaded, table.filter(~held)), labels[~held])
    measured: dict[str, Any] = {"method": method, "trained_on": int((~held).sum())}
    if held.any():
        for _ in progress(["measuring"], f"measuring on {int(held.sum()):,} reports"):
            measured["held_out"] = measuring.on_reports(model, loaded, table.filter(held), labels[held], seed)
    if people is not None and test is not None:
        shipped = shipping.Shipped(type(model).from_dict(model.to_dict()), loaded)  # as it will arrive
        with naming(test):
            measured["test"] = measuring.on_people(shipped, people, classes(loaded, people, test))
    shipping.save(model, output, plan=loaded, measured=measured)
    _tell(model, loaded, measured, output, as_json)


def _tell(model: Any, plan: Plan, measured: dict[str, Any], output: Path, as_json: bool) -> None:
    if as_json:
        emit_json({"model": str(output), **measured, "guarantee": shipping.promise_of(plan)})
        return
    if hasattr(model, "rules"):
        rules = model.rules()
        leaves = "1 leaf" if len(rules) == 1 else f"{len(rules)} leaves"
        say(f"a tree with {leaves}; the rules for most people:")
        for rule in rules[:MOST_RULES]:
            say(f"  {rule}")
        say()
    for line in measuring.in_words(measured):
        say(line)
    say(f"\nwritten to {output}")
