"""A simulated survey, whose estimates and models are compared with the truth, and the page that shows both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Mechanism
from sfumato.domain import Floats
from sfumato.findings import chart_of, rows_of
from sfumato.pages import Card, Html, Page, tag
from sfumato.pages.charts import Mark
from sfumato.plan import Plan
from sfumato.prose import percent, voice
from sfumato.reconstruction import Estimate, estimate_of, intervals_for, shares
from sfumato.shipping.training import classes, estimator, features

SHOWN_ANSWERS = 5
"""How many people's answers the page shows beside their reports. Judgement: more makes the page longer, fewer show less
of how reports differ from answers."""
SHOWN_RULES = 8
"""How many of the tree's rules the page shows. Judgement: those for most people come first; more makes it longer."""
LEGEND = {"seen": "estimate, with its 90 % error bar", "truth": "truth", "bare": "reports taken at face value"}
"""What the marks of a chart mean, by the mark's kind."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The estimate of one attribute beside the truth and the reports as they came, as shares over its cells.

    A cell is one interval of numbers or one category.
    """

    name: str
    channel: Mechanism
    estimate: Estimate
    truth: Floats
    """The share of people in each cell."""
    reported: Floats
    """The share of reports in each cell."""

    @property
    def error(self) -> float:
        """The error of the estimate, ½ Σ |estimated share − true share| over the cells (intervals or categories).

        It is the least share of people who would have to move to other cells to turn one distribution into the other.
        """
        return float(np.abs(self.estimate.probabilities - self.truth).sum() / 2)

    @property
    def error_of_reports(self) -> float:
        """The error of reports taken at face value, ½ Σ |share of reports − true share| over cells.

        A cell is an interval or a category. It is a lower bound on the share of people whose report lies in another
        cell than their answer.
        """
        return float(np.abs(self.reported - self.truth).sum() / 2)

    @property
    def covered(self) -> int:
        """The number of cells (intervals or categories) whose 90 % error bar contains the true share."""
        low, high = self.estimate.interval(0.9)
        return int(((low <= self.truth) & (self.truth <= high)).sum())


@dataclass(frozen=True)
class SimulatedSurvey:
    """A plan with the true answers of simulated people and their reports, both as PyArrow tables."""

    plan: Plan
    people: Any
    reports: Any

    @classmethod
    def simulate(
        cls, plan: Plan, draw: Callable[[np.random.Generator], dict[str, NDArray[Any]]], rng: np.random.Generator
    ) -> SimulatedSurvey:
        """Draw simulated people and blur their answers by the plan; return the survey with both.

        ``draw``: a function that returns the true answers by column, drawn with ``rng``.
        """
        import pyarrow

        people = pyarrow.table(draw(rng))
        return cls(plan, people, plan.randomize(people, rng=rng))

    @property
    def channels(self) -> dict[str, Mechanism]:
        """The channel (the chances of reports given answers) of every blurred attribute, by the attribute's name."""
        return {name: each.channel for name, each in self.plan.attributes.items() if each.channel is not None}

    def compare(self, name: str) -> Comparison:
        """Reconstruct one attribute's distribution from the reports; return the estimate beside the truth.

        ``name``: the attribute's.
        """
        channel = self.channels[name]
        estimate = estimate_of(name, channel, self.reports, intervals_for(channel.domain))
        truth = shares(self.people.column(name).to_numpy(), channel.domain, estimate.edges)
        reported = shares(self.reports.column(name).to_numpy(), channel.domain, estimate.edges)
        return Comparison(name, channel, estimate, truth, reported)


@dataclass(frozen=True, eq=False)
class Lesson:
    """A decision tree learned from the reports, and accuracies of it and its rivals on people outside the survey."""

    target: str
    """The class that is predicted."""
    tested: int
    """The number of people on whom accuracies are measured."""
    model: Any
    from_reports: float
    """Accuracy of ``model``, as a share of the people tested; so are the next three."""
    uncorrected: float
    """Accuracy of a tree that takes the reports at face value."""
    from_truth: float
    """Accuracy of a tree learned from the true answers."""
    largest_class: float
    """Accuracy of predicting the largest class for everybody."""

    @property
    def rules(self) -> list[str]:
        """The rules of the tree learned from reports that most people fall under, as sentences.

        ``SHOWN_RULES`` at most.
        """
        return list(self.model.rules()[:SHOWN_RULES])

    def measured(self) -> dict[str, Any]:
        """Return the tree's accuracy on people outside the survey, with its standard error, as a dict for its file.

            {"method": …, "test": {"records": n, "accuracy": a, "stderr": √(a(1 − a)/n)}}
        """
        stderr = float(np.sqrt(self.from_reports * (1 - self.from_reports) / self.tested))
        return {"method": "joint", "test": {"records": self.tested, "accuracy": self.from_reports, "stderr": stderr}}

    def rows(self) -> list[tuple[str, float]]:
        """Return (what predicts, its accuracy) for four predictors of the class, the one expected to be worst first.

        They are the largest class, a tree from reports at face value, a tree from reports, and one from true answers.
        """
        return [
            ("the largest class for everybody", self.largest_class),
            ("a tree from the reports, taken at face value", self.uncorrected),
            ("a tree from the reports", self.from_reports),
            ("a tree from the true values, which nobody has", self.from_truth),
        ]


def learn(survey: SimulatedSurvey, fresh: Any, seed: int, model: Any = None) -> Lesson:
    """Train trees on a survey's reports and, to compare, on its true answers; return them with their accuracy.

    ``fresh``: a table of true answers of people who are not in the survey, on whom accuracy is measured. ``seed``: of
    the training. ``model``: a model that was learned from the reports already, None to train it here.
    """
    plan = survey.plan
    truth = classes(plan, fresh)

    def fitted(method: str, table: Any) -> Any:
        return estimator(method, plan, seed).fit(features(plan, table), classes(plan, table))

    def accuracy(tree: Any) -> float:
        return float(np.mean(tree.predict(features(plan, fresh)) == truth))

    model = model or fitted("joint", survey.reports)
    return Lesson(
        target=str(plan.target), tested=len(truth), model=model, from_reports=accuracy(model),
        uncorrected=accuracy(fitted("none", survey.reports)), from_truth=accuracy(fitted("none", survey.people)),
        largest_class=float(np.unique(truth, return_counts=True)[1].max() / len(truth)),
    )  # fmt: skip


# --- the page ---------------------------------------------------------------------------------------------------------


def survey_page(
    survey: SimulatedSurvey, comparisons: list[Comparison], lesson: Lesson,
    show_more: Callable[[Page], None] = lambda page: None,
) -> Page:  # fmt: skip
    """Return the page of a simulated survey: answers and reports, estimates beside the truth, the tree, the guarantee.

    ``comparisons``: the estimates with the truth; ``lesson``: the tree; ``show_more``: a function that adds a section
    to the page.
    """
    people = survey.people.num_rows
    lead = f"{people:,} people blurred their own answers; this is what can still be read, and what cannot."
    page = Page(f"A {survey.plan.name} survey, blurred", lead).facts(_headline(people, comparisons, lesson))
    lead = "The first answers. Struck out: the truth, which stays on the device. Below it: the report that was sent."
    page.section("What people sent", lead).table(_answers(survey), ["person", *survey.channels])
    lead = "Each distribution is reconstructed from the reports alone. Point at a bar for its numbers."
    page.section("What the crowd looks like", lead).legend(LEGEND).cards(map(_card, comparisons))
    _show_lesson(page, lesson)
    show_more(page)
    _show_promises(page, survey)
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
    """Return the figures at the top of the page as pairs of texts (figure, what it counts)."""
    covered, bars = sum(each.covered for each in comparisons), sum(each.truth.size for each in comparisons)
    worst = max(comparisons, key=lambda each: each.error)
    median = sorted(each.error for each in comparisons)[len(comparisons) // 2]
    return [
        (f"{people:,}", "people, one report each"),
        (f"{len(comparisons)}", "blurred attributes"),
        (percent(median), "median error: the share of people put in a wrong place"),
        (percent(worst.error), f"largest error ({worst.name})"),
        (percent(covered / bars, 0), "of the 90 % error bars hold the truth"),
        (percent(lesson.from_reports), f"of new people's {lesson.target} told by a tree from the reports"),
    ]


def _answers(survey: SimulatedSurvey) -> list[list[object]]:
    """Return the rows of a table of the first people: a number, and answer above report for every blurred question."""
    people, reports = (table.slice(0, SHOWN_ANSWERS).to_pylist() for table in (survey.people, survey.reports))
    return [
        [f"person {i}", *(_answer(person[name], report[name]) for name in survey.channels)]
        for i, (person, report) in enumerate(zip(people, reports, strict=True), 1)
    ]


def _answer(*both: Any) -> Html:
    """Return HTML with a person's true answer, struck out because it is not sent, above the report that is sent.

    ``both``: the answer and the report.
    """
    true, reported = (f"{value:,.0f}" if isinstance(value, (int, float)) else str(value) for value in both)
    return Html(tag("s", true) + tag("br") + tag("b", reported))


def _card(comparison: Comparison) -> Card:
    """Return a page's card on one attribute: a chart of estimate, truth and reports, its channel, its error."""
    name, truth, reported = comparison.name, comparison.truth, comparison.reported
    marks = [Mark("bare", "reports", reported.tolist()), Mark("truth", "truth", truth.tolist())]
    # the truth beside a bar says how near it is, in place of a mark for what lies within noise
    rows = [{**row, "within_noise": False} for row in rows_of(comparison.estimate)]
    error = f"Error {percent(comparison.error, 2)} (reports alone: {percent(comparison.error_of_reports, 0)}). "
    error += f"{comparison.covered} of {truth.size} bars hold the truth."
    return Card(name, comparison.channel.describe(voice("en")), chart_of(name, rows, marks), error)


def _show_lesson(page: Page, lesson: Lesson) -> None:
    """Add the section on the decision tree learned from the reports to the page: accuracies and rules."""
    page.section(
        "What can be learned",
        f"A decision tree for the {lesson.target}, learned from the reports, classifies people by their true values on "
        f"their own devices. Accuracy on {lesson.tested:,} people who were not asked:",
    )
    page.table([[what, percent(share)] for what, share in lesson.rows()], ["classified by", "accuracy"])
    page.paragraph("The rules that most people fall under:").items(lesson.rules)


def _show_promises(page: Page, survey: SimulatedSurvey) -> None:
    """Add the section on what reports reveal to the page: the guarantee of all together, then of each attribute."""
    lead = "The promise that holds for every person, whatever else is known about them; then attribute by attribute."
    page.section("What the reports reveal", lead).note(str(survey.plan.guarantee()))
    for name, attribute in survey.plan.attributes.items():
        page.unfold(name, "Sent as it is." if attribute.channel is None else str(attribute.channel.guarantee()))
