"""The page of a simulated survey: what people said, what they sent, what the crowd looks like, what is promised."""

from __future__ import annotations

from typing import Any

from sfumato.channels import Choice
from sfumato.examples.survey import Comparison, Lesson, Survey
from sfumato.pages import Card, Html, Page, distribution, tag
from sfumato.pages.charts import ESTIMATE, REPORTS, TRUTH
from sfumato.prose import percent

SHOWN = 5
MARKS = {ESTIMATE: "estimate, with its 90 % error bar", TRUTH: "truth", REPORTS: "reports taken at face value"}


def survey_page(survey: Survey, comparisons: list[Comparison], lesson: Lesson) -> Page:
    """The whole survey on a page, with the truth that a real one would not know."""
    people = survey.people.num_rows
    lead = f"{people:,} people blurred their own answers; this is what can still be read, and what cannot."
    page = Page(f"A {survey.plan.name} survey, blurred", lead).facts(_headline(people, comparisons, lesson))
    lead = "The first answers. Struck out: the truth, which stays on the device. Below it: the report that was sent."
    page.section("What people sent", lead).table(_answers(survey), ["person", *survey.asked])
    lead = "Each distribution is reconstructed from the reports alone. Point at a bar for its numbers."
    page.section("What the crowd looks like", lead).legend(MARKS).cards(map(_card, comparisons))
    _lesson(page, lesson)
    _promises(page, survey)
    names = ("plan.toml", "reports.parquet", "estimates.csv", "model.json")
    files = [part for name in names for part in (tag("code", name), ", ")]
    page.footer(
        "A simulation: the people are drawn at random, so the truth is known and every estimate can be held against "
        "it. In a real survey only the reports leave the devices. Beside this page lie ",
        *files,
        "and ",
        tag("code", "people.parquet"),
        ", which nobody would have.",
    )
    return page


def _headline(people: int, comparisons: list[Comparison], lesson: Lesson) -> list[tuple[str, str]]:
    held, bars = sum(one.covered for one in comparisons), sum(one.truth.size for one in comparisons)
    worst = max(comparisons, key=lambda one: one.error)
    middle = sorted(one.error for one in comparisons)[len(comparisons) // 2]
    return [
        (f"{people:,}", "people, one report each"),
        (f"{len(comparisons)}", "blurred attributes"),
        (percent(middle), "median error: the share of people put in a wrong place"),
        (percent(worst.error), f"largest error ({worst.name})"),
        (percent(held / bars, 0), "of the 90 % error bars hold the truth"),
        (percent(lesson.from_reports), f"of new people's {lesson.target} told by a tree from the reports"),
    ]


def _answers(survey: Survey) -> list[list[object]]:
    people, reports = survey.people.slice(0, SHOWN).to_pydict(), survey.reports.slice(0, SHOWN).to_pydict()
    return [
        [f"person {i + 1}", *(_answer(people[name][i], reports[name][i]) for name in survey.asked)]
        for i in range(min(SHOWN, survey.people.num_rows))
    ]


def _answer(true: Any, reported: Any) -> Html:
    return Html(tag("s", _short(true)) + tag("br") + tag("b", _short(reported)))


def _short(value: Any) -> str:
    return f"{value:,.0f}" if isinstance(value, (int, float)) else str(value)


def _card(one: Comparison) -> Card:
    drawing = distribution(one.estimate.rows(), truth=one.truth.tolist(), reports=one.reported.tolist())
    error = f"Error {percent(one.error, 2)} (reports alone: {percent(one.error_of_reports, 0)}). "
    error += f"{one.covered} of {one.truth.size} bars hold the truth."
    return Card(one.name, _how(one), drawing, error)


def _how(one: Comparison) -> str:
    if isinstance(one.channel, Choice):
        return f"people choose how much is hidden: {', '.join(one.channel.levels)}"
    return one.channel.describe()


def _lesson(page: Page, lesson: Lesson) -> None:
    page.section(
        "What can be learned",
        f"A decision tree for the {lesson.target}, learned from the reports, classifies people by their true values on "
        f"their own devices. Accuracy on {lesson.tested:,} people who were not asked:",
    )
    page.table([[what, percent(share)] for what, share in lesson.rows()], ["classified by", "accuracy"])
    page.paragraph("The rules that most people fall under:").items(lesson.rules)


def _promises(page: Page, survey: Survey) -> None:
    lead = "The promise that holds for every person, whatever else is known about them; then attribute by attribute."
    page.section("What the reports reveal", lead).note(str(survey.plan.guarantee()))
    for name, attribute in survey.plan.attributes.items():
        page.unfold(name, "Sent as it is." if attribute.channel is None else str(attribute.channel.guarantee()))
