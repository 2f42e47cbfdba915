"""`sfumato train`: learn a classifier for true values from reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato import shipping
from sfumato.cli import emit_json, progress, say, say_written
from sfumato.cli.plans import (
    AsJson,
    Engine,
    PlanFile,
    ReportFiles,
    ShowValues,
    files_option,
    load_plan,
    read_answers,
    reading,
)
from sfumato.shipping.forms import save
from sfumato.shipping.training import check_learnable, feature_columns, learned_from, measured_in_words, on_people
from sfumato.shipping.training import train as train_model
from sfumato.tables import check_target, naming

DEFAULT_HOLDOUT = 0.2
"""The share of reports kept out of training to measure with, unless --holdout or --test says it. Judgement: a fifth, as
in five folds; more leaves less to learn from, less measures with a larger error."""
MOST_RULES = 8
"""The most rules of a tree that are printed: those for most people. Judgement: more fill the screen, fewer say less."""
EXAMPLES = """Examples:

  sfumato train plan.toml reports.parquet -o model.json

  sfumato train plan.toml reports.parquet -o model.json --method byclass --test volunteers.csv

  sfumato train plan.toml reports.parquet -o model.onnx

  sfumato train plan.toml 'reports/*.parquet' -o model.json --engine duckdb   (of any size)"""

Output = Annotated[
    Path, typer.Option("--output", "-o", help="The model: .json, or a tree as .onnx.", show_default=False)
]
Method = Annotated[
    str | None, typer.Option(help=f"One of {', '.join(shipping.METHODS)}.", show_default="chooser; likelihood for ONNX")
]
Holdout = Annotated[
    float | None,
    typer.Option(
        min=0, max=0.9, help="Share of reports kept out of training to measure with.  \\[default: 0.2, 0 with --test]"
    ),
]
Test = Annotated[list[Path] | None, files_option("People with known true values")]
Seed = Annotated[int, typer.Option(min=0, help="For the split and the fit: the same seed, the same model.")]


def train(
    plan: PlanFile,
    reports: ReportFiles,
    output: Output,
    method: Method = None,
    holdout: Holdout = None,
    test: Test = None,
    seed: Seed = 0,
    engine: Engine = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Learn to classify people by their true values, from their reports; say how well, as far as that can be known."""
    loaded = load_plan(plan)
    to_onnx = output.suffix.lower() == ".onnx"
    method = method or ("likelihood" if to_onnx else "chooser")
    if method not in shipping.METHODS:
        raise ValueError(f"--method {method} is unknown; use one of {', '.join(shipping.METHODS)}")
    check_target(output, (".json", ".onnx"), apart=[plan, *reports, *(test or [])])
    if to_onnx:
        shipping.check_exchangeable(method)
    with naming(plan):
        check_learnable(loaded, with_class=True)
    target = str(loaded.target)
    people = None if test is None else read_answers(test, loaded, [*learned_from(loaded), target], reports=False)
    share = holdout if holdout is not None else (DEFAULT_HOLDOUT if test is None else 0.0)
    with reading(reports, loaded, [*feature_columns(loaded), target], engine, seed) as source:
        trained = train_model(loaded, source, method, holdout=share, seed=seed, progress=progress)
    if people is not None and test is not None:
        with naming(test):
            trained.measured["test"] = on_people(trained.model, loaded, people)
    if to_onnx:
        shipping.save_onnx(trained.model, output, plan=loaded)
    else:
        save(trained.model, output, plan=loaded, measured=trained.measured)
    if as_json:
        emit_json({"model": output, **trained.measured, "guarantee": shipping.promise_of(loaded)})
    else:
        _say_model(trained.model, trained.measured, output)


def _say_model(model: Any, measured: dict[str, Any], output: Path) -> None:
    """Print what a trained model is (verdict on methods, rules or a formula), its accuracy, and where it is saved."""
    if hasattr(model, "verdict"):
        is_measured = any(measured.get(which, {}).get("accuracy") is not None for which in ("test", "held_out"))
        say(f"{model.verdict(accuracy=not is_measured)}\n")
        model = model.members_[0] if len(model.members_) == 1 else model
    if hasattr(model, "rules"):
        rules = model.rules()
        leaves = "1 leaf" if len(rules) == 1 else f"{len(rules)} leaves"
        say(f"a tree with {leaves}; the rules for most people:")
        for rule in rules[:MOST_RULES]:
            say(f"  {rule}")
        say()
    elif hasattr(model, "formula"):
        say(f"{model.formula()}\n")
    for line in measured_in_words(measured):
        say(line)
    say()
    say_written(output)
