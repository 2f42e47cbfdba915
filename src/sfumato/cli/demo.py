"""`sfumato demo`: the whole flow on simulated people, ending with a page to open."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from sfumato import shipping
from sfumato.cli.estimates import as_table
from sfumato.cli.files import write_table, write_text
from sfumato.cli.survey import Finding, Survey
from sfumato.cli.survey_lesson import Lesson, learn
from sfumato.cli.survey_page import survey_page
from sfumato.cli.terminal import console, progress, say
from sfumato.examples import credit

FRESH = 10_000

Folder = Annotated[Path, typer.Option("--output", "-o", help="The folder for the plan, the tables and the page.")]
People = Annotated[int, typer.Option(min=100, help="How many people to simulate.")]
Seed = Annotated[int, typer.Option(min=0, help="The simulation's seed: the same people, the same noise.")]


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: [bold]sfumato demo -o sfumato-demo[/bold]")(demo)


def demo(output: Folder = Path("sfumato-demo"), people: People = 100_000, seed: Seed = 1) -> None:
    """A credit survey end to end: plan, people, reports, reconstruction, a classifier, and a page with the picture."""
    output.mkdir(parents=True, exist_ok=True)
    survey = Survey.simulate(credit.plan(), lambda rng: credit.people(people, rng), np.random.default_rng(seed))
    say(f"{people:,} people answered the plan '{survey.plan.name}'; every answer was blurred before it was sent")
    findings = [survey.find(name) for name in progress(survey.questions(), "reconstructing")]
    lesson = _learn(survey, seed)
    _save(survey, findings, lesson, output)
    _show(findings)
    _show_lesson(lesson)
    say(f"\n{survey.plan.guarantee()}\n")
    say(f"open {output / 'report.html'}")


def _learn(survey: Survey, seed: int) -> Lesson:
    import pyarrow

    fresh = pyarrow.table(credit.people(FRESH, np.random.default_rng([seed, 1])))
    (lesson,) = (learn(survey, fresh, seed) for _ in progress(["learning"], "learning to classify"))
    return lesson


def _save(survey: Survey, findings: list[Finding], lesson: Lesson, output: Path) -> None:
    write_text(credit.PLAN.read_text(encoding="utf-8"), output / "plan.toml")
    write_table(survey.people, output / "people.parquet")
    write_table(survey.reports, output / "reports.parquet")
    write_table(as_table([row for finding in findings for row in finding.rows]), output / "estimates.csv")
    shipping.save(lesson.model, output / "model.json", plan=survey.plan, measured=lesson.measured())
    write_text(survey_page(survey, findings, lesson), output / "report.html")


def _show(findings: list[Finding]) -> None:
    table = Table(box=None, pad_edge=False)
    for title in ("attribute", "channel"):
        table.add_column(title)
    for title in ("error", "reports alone", "90 % bars that hold the truth"):
        table.add_column(title, justify="right")
    for finding in findings:
        errors = f"{100 * finding.error:.2f} %", f"{100 * finding.error_of_reports:.1f} %"
        table.add_row(finding.name, finding.channel.kind, *errors, f"{finding.covered} of {len(finding.rows)}")
    console().print(table)


def _show_lesson(lesson: Lesson) -> None:
    say(f"\nlearning {lesson.target!r}: accuracy on {lesson.tested:,} people who were not asked")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for what, accuracy in lesson.rows():
        table.add_row(what, f"{100 * accuracy:.1f} %")
    console().print(table)
