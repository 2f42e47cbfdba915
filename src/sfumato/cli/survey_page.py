"""The page of a simulated survey: what people said, what they sent, what the crowd looks like, what is promised."""

from __future__ import annotations

from html import escape
from typing import Any

from sfumato.channels import Choice
from sfumato.cli.page import Page, card, numbers, quote, table, unfold
from sfumato.cli.plots import ESTIMATE, REPORTS, TRUTH, chart
from sfumato.cli.survey import Finding, Survey
from sfumato.cli.survey_lesson import Lesson

SHOWN = 5


def survey_page(survey: Survey, findings: list[Finding], lesson: Lesson) -> str:
    people = survey.people.num_rows
    subtitle = f"{people:,} people blurred their own answers; this is what can still be read, and what cannot."
    page = Page(f"A {survey.plan.name} survey, blurred", subtitle)
    page.add(_headline(people, findings, lesson))
    _answers(page, survey)
    _pictures(page, findings)
    _lesson(page, lesson)
    _promises(page, survey)
    page.add(
        "<footer>A simulation: the people are drawn at random, so the truth is known and every estimate can be held "
        "against it. In a real survey only the reports leave the devices. Beside this page lie <code>plan.toml</code>, "
        "<code>reports.parquet</code>, <code>estimates.csv</code>, <code>model.json</code>, and "
        "<code>people.parquet</code>, "
        "which nobody would have.</footer>"
    )
    return page.html()


def _headline(people: int, findings: list[Finding], lesson: Lesson) -> str:
    held, bars = sum(finding.covered for finding in findings), sum(len(finding.rows) for finding in findings)
    worst = max(findings, key=lambda finding: finding.error)
    middle = sorted(finding.error for finding in findings)[len(findings) // 2]
    return numbers(
        [
            (f"{people:,}", "people, one report each"),
            (f"{len(findings)}", "blurred attributes"),
            (f"{100 * middle:.1f} %", "median error: the share of people put in a wrong place"),
            (f"{100 * worst.error:.1f} %", f"largest error ({worst.name})"),
            (f"{100 * held / bars:.0f} %", "of the 90 % error bars hold the truth"),
            (f"{100 * lesson.from_reports:.1f} %", f"of new people's {lesson.target} told by a tree from the reports"),
        ]
    )


def _answers(page: Page, survey: Survey) -> None:
    names = survey.questions()
    people, reports = survey.people.slice(0, SHOWN).to_pydict(), survey.reports.slice(0, SHOWN).to_pydict()
    rows = [
        [f"person {i + 1}", *(_answer(people[name][i], reports[name][i]) for name in names)]
        for i in range(min(SHOWN, survey.people.num_rows))
    ]
    lead = "The first answers. Struck out: the truth, which stays on the device. Below it: the report that was sent."
    page.section("What people sent", lead, table(["", *names], rows))


def _pictures(page: Page, findings: list[Finding]) -> None:
    marks = {ESTIMATE: "estimate, with its 90 % error bar", TRUTH: "truth", REPORTS: "reports taken at face value"}
    legend = "".join(
        f'<span><i style="background:{colour}"></i>{escape(text)}</span>' for colour, text in marks.items()
    )
    cards = [_card(page, finding) for finding in findings]
    lead = "Each distribution is reconstructed from the reports alone. Point at a bar for its numbers."
    body = f'<p class="legend">{legend}</p><div class="grid">{"".join(cards)}</div>'
    page.section("What the crowd looks like", lead, body)


def _card(page: Page, finding: Finding) -> str:
    drawing = chart(finding.rows, truth=finding.truth.tolist(), reports=finding.reported.tolist())
    error = f"Error {100 * finding.error:.2f} % (reports alone: {100 * finding.error_of_reports:.0f} %). "
    error += f"{finding.covered} of {len(finding.rows)} bars hold the truth."
    return card(finding.name, _how(finding), page.chart(drawing), error)


def _how(finding: Finding) -> str:
    if isinstance(finding.channel, Choice):
        return f"people choose how much is hidden: {', '.join(finding.channel.levels)}"
    return finding.channel.describe()


def _lesson(page: Page, lesson: Lesson) -> None:
    lead = (
        f"A decision tree for the {lesson.target}, learned from the reports, classifies people by their true values on "
        f"their own devices. Accuracy on {lesson.tested:,} people who were not asked:"
    )
    scores = table(
        ["classified by", "accuracy"], [[escape(what), f"{100 * share:.1f} %"] for what, share in lesson.rows()]
    )
    rules = "".join(f"<li>{escape(rule)}</li>" for rule in lesson.rules)
    heading = "<p>The rules that most people fall under:</p>"
    page.section("What can be learned", lead, scores, f"{heading}<ul>{rules}</ul>")


def _promises(page: Page, survey: Survey) -> None:
    total = quote(str(survey.plan.guarantee()))
    each = [
        unfold(name, "Sent as it is." if attribute.channel is None else str(attribute.channel.guarantee()))
        for name, attribute in survey.plan.attributes.items()
    ]
    lead = "The promise that holds for every person, whatever else is known about them; then attribute by attribute."
    page.section("What the reports reveal", lead, total, *each)


def _answer(true: Any, reported: Any) -> str:
    return f"<s>{_short(true)}</s><br><b>{_short(reported)}</b>"


def _short(value: Any) -> str:
    return escape(f"{value:,.0f}" if isinstance(value, (int, float)) else str(value))
