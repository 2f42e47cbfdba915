"""`sfumato predict`: a model applied to true values, where they are: on the person's side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato import shipping
from sfumato.cli.files import check_rows, check_target, read_table, write_table
from sfumato.cli.plans import check_columns, naming, text_columns
from sfumato.cli.terminal import say

EXAMPLES = """Examples:

  sfumato predict model.json people.csv -o predictions.csv

  sfumato predict model.json people.csv -o predictions.parquet --probabilities"""

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that train wrote: .json.", show_default=False)
]
People = Annotated[Path, typer.Argument(metavar="PEOPLE", help="True values: .csv or .parquet.", show_default=False)]
Output = Annotated[Path, typer.Option("--output", "-o", help="The predictions: .csv or .parquet.", show_default=False)]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Add a column with the probability of each class.")
]


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES)(predict)


def predict(model: ModelFile, people: People, output: Output, probabilities: Probabilities = False) -> None:
    """Classify people by their true values; one row a person, in the order of the table."""
    if model.is_dir():
        raise ValueError(f"{model}: is a folder; name a file")
    shipped = shipping.load(model)
    check_target(output)
    table = check_rows(read_table(people, text=[] if shipped.plan is None else text_columns(shipped.plan)), people)
    check_columns(table, list(shipped.model.attribute_names_), people)
    with naming(people):
        found = predictions(shipped, table, probabilities)
    write_table(found, output)
    say(f"{found.num_rows:,} predictions written to {output}")


def predictions(shipped: shipping.Shipped, table: Any, probabilities: bool) -> Any:
    """The predicted class under the class attribute's own name, and P(class) under ``<name>=<class>`` on request."""
    import pyarrow

    name = (shipped.plan and shipped.plan.target) or "class"
    columns = {name: shipped.predict(table)}
    if probabilities:
        shares = shipped.predict_proba(table)
        columns |= {f"{name}={label}": shares[:, place] for place, label in enumerate(shipped.model.classes_)}
    return pyarrow.table(columns)
