"""`sfumato device page`: write the page that asks a plan's questions in a browser, as a folder of static files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import say, say_written
from sfumato.cli.plans import PlanFile, load_plan
from sfumato.client.page import write_page

EXAMPLES = """Examples:

  sfumato device page plan.toml -o town/ --submit https://town.example/reports

  sfumato device page plan.toml -o town/ --model model.json       [dim]reports are saved as files[/dim]"""

Folder = Annotated[Path, typer.Option("--output", "-o", help="The folder to write.", show_default=False)]
Submit = Annotated[
    str | None, typer.Option(help="Where reports go: https://… or a path.  \\[default: nowhere, people save them]")
]
Collector = Annotated[
    str | None, typer.Option(help="Who receives reports, https://…: sent elsewhere, the page refuses the survey.")
]
Model = Annotated[Path | None, typer.Option(help="A model that people apply to their own answers: .json.")]


def page(
    plan: PlanFile, output: Folder, submit: Submit = None, collector: Collector = None, model: Model = None
) -> None:
    """Write the page on which people answer: blurred in their browser, sent when they have seen what is sent."""
    loaded = load_plan(plan)
    write_page(loaded, output, submit=submit, collector=collector, model=model)
    say_written(output)
    say(f"look at it with: python -m http.server --bind 127.0.0.1 --directory {output}")
