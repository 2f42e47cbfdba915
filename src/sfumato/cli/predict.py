"""`sfumato predict`: classify people by their true values with a model, on the machine where the values are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato import shipping
from sfumato.cli import say
from sfumato.cli.plans import PeopleFiles, ShowValues, read_answers
from sfumato.tables import check_target, naming, write_table

EXAMPLES = """Examples:

  sfumato predict model.json people.csv -o predictions.csv

  sfumato predict model.json people.csv -o predictions.parquet --probabilities"""

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that train wrote: .json.", show_default=False)
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The predictions: .csv or .parquet.", show_default=False)]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Add a column with the probability of each class.")
]


def predict(
    model: ModelFile,
    people: PeopleFiles,
    output: Output,
    probabilities: Probabilities = False,
    show_values: ShowValues = False,
) -> None:
    """Classify people by their true values; one row a person, in the order of the table."""
    shipped = shipping.load(model)
    check_target(output, apart=[model, *people])
    table = read_answers(people, shipped.plan, shipped.model.attribute_names_)
    with naming(people):
        predictions = shipped.predictions(table, probabilities)
    write_table(predictions, output)
    say(f"{table.num_rows:,} predictions written to {output}")
