"""`sfumato demo`: the whole flow on simulated people, ending with a page to open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from sfumato.cli import progress, say, say_table
from sfumato.prose import percent

if TYPE_CHECKING:
    from sfumato.examples.survey import Comparison, Lesson, Survey

FRESH = 10_000
EXAMPLES = "Example: [bold]sfumato demo -o sfumato-demo[/bold]"

Folder = Annotated[Path, typer.Option("--output", "-o", help="The folder for the plan, the tables and the page.")]
People = Annotated[int, typer.Option(min=100, help="How many people to simulate.")]
Seed = Annotated[int, typer.Option(min=0, help="The simulation's seed: the same people, the same noise.")]


def demo(output: Folder = Path("sfumato-demo"), people: People = 100_000, seed: Seed = 1) -> None:
    """A credit survey end to end: plan, people, reports, reconstruction, a classifier, and a page with the picture."""
    from sfumato.examples import credit
    from sfumato.examples.survey import Survey

    output.mkdir(parents=True, exist_ok=True)
    survey = Survey.simulate(credit.plan(), lambda rng: credit.people(people, rng), np.random.default_rng(seed))
    say(f"{people:,} people answered the plan '{survey.plan.name}'; every answer was blurred before it was sent")
    comparisons = [survey.compare(name) for name in progress(survey.asked, "reconstructing")]
    lesson = _learn(survey, seed)
    _save(survey, comparisons, lesson, output)
    rows = [
        (c.name, c.channel.kind, percent(c.error, 2), percent(c.error_of_reports), f"{c.covered} of {c.truth.size}")
        for c in comparisons
    ]
    say_table(rows, ["attribute", "channel"], ["error", "reports alone", "90 % bars that hold the truth"])
    say(f"\nlearning {lesson.target!r}: accuracy on {lesson.tested:,} people who were not asked")
    say_table([(what, percent(accuracy)) for what, accuracy in lesson.rows()], [""], [""])
    say(f"\n{survey.plan.guarantee()}\n")
    say(f"open {output / 'report.html'}")


def _learn(survey: Survey, seed: int) -> Lesson:
    import pyarrow

    from sfumato.examples import credit
    from sfumato.examples.survey import learn

    fresh = pyarrow.table(credit.people(FRESH, np.random.default_rng([seed, 1])))
    (lesson,) = (learn(survey, fresh, seed) for _ in progress(["learning"], "learning to classify"))
    return lesson


def _save(survey: Survey, comparisons: list[Comparison], lesson: Lesson, output: Path) -> None:
    from sfumato import shipping
    from sfumato.cli.plans import write_reports
    from sfumato.cli.reconstruct import estimate_table
    from sfumato.examples import credit
    from sfumato.examples.survey import survey_page
    from sfumato.tables import write_table, write_text

    write_text(credit.PLAN.read_text(encoding="utf-8"), output / "plan.toml")
    write_table(survey.people, output / "people.parquet")
    write_reports(survey.reports, survey.plan, output / "reports.parquet")
    write_table(estimate_table({one.name: one.estimate for one in comparisons}), output / "estimates.csv")
    shipping.save(lesson.model, output / "model.json", plan=survey.plan, measured=lesson.measured())
    survey_page(survey, comparisons, lesson).write(output / "report.html")
