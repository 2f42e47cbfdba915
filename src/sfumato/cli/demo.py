"""`sfumato demo`: run a survey of simulated people, from the plan to a model on their devices, and write its page."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from sfumato.cli import note, progress, say, say_table
from sfumato.prose import percent, sentence

if TYPE_CHECKING:
    from sfumato.demo.loop import Analyst
    from sfumato.demo.survey import Comparison, Lesson, SimulatedSurvey
    from sfumato.pages import Page

FRESH = 10_000
"""How many people, who are not in the survey, the accuracy of models is measured on. Its standard error is then half a
percentage point at most, √(0.25 / 10,000); more takes longer."""
AT_ONCE = 10_000
"""How many people's reports are sent between two steps of the progress bar. Judgement: more moves it less often, fewer
wait more often for the last batch of a step."""
STORE = "survey.db"
"""The name of the collector's store in the demo's folder."""
NEEDED = ("starlette", "msgspec", "uvicorn", "prometheus_client")
"""The packages without which no collector runs."""
EXAMPLES = "Example: [bold]sfumato demo -o sfumato-demo[/bold]"

Folder = Annotated[Path, typer.Option("--output", "-o", help="The folder for the plan, the tables and the page.")]
People = Annotated[int, typer.Option(min=100, help="How many people to simulate.")]
Seed = Annotated[int, typer.Option(min=0, help="The simulation's seed: the same people, the same noise.")]


def demo(output: Folder = Path("sfumato-demo"), people: People = 100_000, seed: Seed = 1) -> None:
    """Run a credit survey end to end: a collector, people who answer, estimates, a model for their devices, a page."""
    from sfumato.cli.serve.stores import remove_store
    from sfumato.demo import credit
    from sfumato.demo.survey import SimulatedSurvey
    from sfumato.tables import write_text

    output.mkdir(parents=True, exist_ok=True)
    remove_store(output / STORE)
    write_text(credit.PLAN.read_text(encoding="utf-8"), output / "plan.toml")
    rng = np.random.default_rng(seed)
    survey = SimulatedSurvey.simulate(credit.plan(), lambda rng: credit.people(people, rng), rng)
    say(f"{people:,} people answer the plan '{survey.plan.name}'; every answer is blurred before it is sent")
    if any(find_spec(name) is None for name in NEEDED):
        note("no collector is installed (pip install 'sfumato[collector]'); the reports are handed over in memory")
        comparisons, lesson = _compare(survey), _learn(survey, seed)
        _save(survey, survey.reports, comparisons, lesson, output)
    else:
        comparisons, lesson = _run_with_collector(survey, output, seed)
    rows = [
        (c.name, c.channel.kind, percent(c.error, 2), percent(c.error_of_reports), f"{c.covered} of {c.truth.size}")
        for c in comparisons
    ]
    say_table(rows, ["attribute", "channel"], ["error", "reports alone", "90 % bars that hold the truth"])
    say(f"\nlearning {lesson.target!r}: accuracy on {lesson.tested:,} people who were not asked")
    say_table([(what, percent(accuracy)) for what, accuracy in lesson.rows()], [""], [""])
    say(f"\n{survey.plan.guarantee()}\n")
    if (output / STORE).exists():
        say(f"the collector's own dashboard: sfumato serve --store {output / STORE}")
    say(f"open {output / 'report.html'}")


def _compare(survey: SimulatedSurvey) -> list[Comparison]:
    """Reconstruct every blurred attribute of a simulated survey, and return the estimates beside the truth."""
    return [survey.compare(name) for name in progress(survey.channels, "reconstructing")]


def _learn(survey: SimulatedSurvey, seed: int, model: Any = None) -> Lesson:
    """Train trees on a simulated survey, and return them with their accuracy on people who are not in it.

    ``model``: a model that was trained already; None: train one here.
    """
    import pyarrow

    from sfumato.demo import credit
    from sfumato.demo.survey import learn

    fresh = pyarrow.table(credit.people(FRESH, np.random.default_rng([seed, 1])))
    (lesson,) = (learn(survey, fresh, seed, model) for _ in progress(["learning"], "learning to classify"))
    return lesson


# --- with a collector -------------------------------------------------------------------------------------------------


def _run_with_collector(survey: SimulatedSurvey, output: Path, seed: int) -> tuple[list[Comparison], Lesson]:
    """Send the survey's reports to a collector, reconstruct from its export, train there, and write all files.

    Returns the estimates beside the truth, and the trees with their accuracy. ``output``: the demo's folder.
    """
    from sfumato import shipping
    from sfumato.counts import from_codes
    from sfumato.demo.browser import person_at
    from sfumato.demo.loop import Story, look_inside, serving, show_story
    from sfumato.demo.survey import SimulatedSurvey
    from sfumato.tables import write_text

    store, model = output / STORE, output / "model.json"
    with serving(survey.plan, store) as analyst, person_at(analyst.survey) as person:
        sent = _send(survey, analyst, leave_out=int(person is not None))
        *_, answers = survey.people.slice(survey.people.num_rows - 1).to_pylist()
        in_browser = _answer_in_browser(person, answers)
        job = analyst.train(seed)
        collected = SimulatedSurvey(survey.plan, survey.people, from_codes(analyst.reports(), survey.plan))
        comparisons = _compare(collected)
        (learned,) = (analyst.ship(job) for _ in progress(["learning"], "waiting for the model"))
        write_text(analyst.shipped_model(), model)
        verdict = _classify_in_browser(person, answers, survey.plan.target)
    lesson = _learn(collected, seed, shipping.load(model).model)
    story = Story(sent, **look_inside(store, analyst.token), in_browser=in_browser, learned=learned, verdict=verdict)
    _save(survey, collected.reports, comparisons, lesson, output, lambda page: show_story(page, story))
    return comparisons, lesson


def _send(survey: SimulatedSurvey, analyst: Analyst, leave_out: int) -> Any:
    """Send the reports of all people but the last ``leave_out`` to the collector.

    Returns how many it took (`Outcome`).
    """
    from sfumato.collector.simulate import Crowd, as_sent

    crowd = Crowd(survey.plan, analyst.survey)
    number = survey.reports.num_rows - leave_out
    for start in progress(range(0, number, AT_ONCE), "sending reports"):
        reports = survey.reports.slice(start, min(AT_ONCE, number - start))
        crowd.send({name: as_sent(reports.column(name)) for name in reports.column_names})
    say(f"a collector at {analyst.address}: {crowd.outcome}")
    return crowd.outcome


def _answer_in_browser(person: Any, answers: dict[str, Any]) -> str:
    """Have a simulated person answer in a real browser; print and return a sentence on it.

    ``person``: None where no browser can be run; the sentence says so.
    """
    from sfumato.demo.browser import MISSING

    if person is not None:
        person.send(answers)
    message = "one person answered in a real browser, saw what would be sent, and sent it" if person else MISSING
    say(message)
    return sentence(message)


def _classify_in_browser(person: Any, answers: dict[str, Any], target: str | None) -> str:
    """Apply the model to a person's answers in a browser; print and return a sentence on how models are applied.

    ``person``: None where no browser can be run; ``target``: the class that is predicted.
    """
    message = "the model was fetched by devices and applied to the true answers there"
    if person is not None:
        verdict = person.verdict(answers)
        message += f"; in the browser, with the network off: “{verdict}” ({target} {answers[str(target)]} in truth)"
    say(message)
    return sentence(message)


def _save(
    survey: SimulatedSurvey, received: Any, comparisons: list[Comparison], lesson: Lesson, output: Path,
    show_more: Callable[[Page], None] | None = None,
) -> None:  # fmt: skip
    """Write people, received reports, estimates and the page into the demo's folder, and the model if no collector did.

    ``show_more``: adds a section on the collector to the page; None: there was none.
    """
    from sfumato import shipping
    from sfumato.cli.plans import write_reports
    from sfumato.cli.reconstruct import estimate_table
    from sfumato.demo.survey import survey_page
    from sfumato.tables import write_table

    write_table(survey.people, output / "people.parquet")
    write_reports(received, survey.plan, output / "reports.parquet")
    write_table(estimate_table({each.name: {None: each.estimate} for each in comparisons}), output / "estimates.csv")
    if show_more is None:
        shipping.save(lesson.model, output / "model.json", plan=survey.plan, measured=lesson.measured())
    survey_page(survey, comparisons, lesson, *([show_more] if show_more else [])).write(output / "report.html")
