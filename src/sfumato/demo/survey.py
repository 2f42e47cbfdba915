"""A simulated survey: because the truth is known, every estimate and every model can be held against it. And its page:
what people said, what they sent, what the crowd looks like, what is promised."""

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

SHOWN_ANSWERS, SHOWN_RULES = 5, 8
LEGEND = {"seen": "estimate, with its 90 % error bar", "truth": "truth", "bare": "reports taken at face value"}


@dataclass(frozen=True, eq=False)
class Comparison:
    """One attribute: the estimate, and in its cells the truth and the bare reports."""

    name: str
    channel: Mechanism
    estimate: Estimate
    truth: Floats
    reported: Floats

    @property
    def error(self) -> float:
        """Total variation distance ½ Σ |estimate − truth|: the share of people put in a wrong place."""
        return float(np.abs(self.estimate.probabilities - self.truth).sum() / 2)

    @property
    def error_of_reports(self) -> float:
        """The same for someone who takes the reports at face value."""
        return float(np.abs(self.reported - self.truth).sum() / 2)

    @property
    def covered(self) -> int:
        """How many 90 % error bars hold the truth."""
        low, high = self.estimate.interval(0.9)
        return int(((low <= self.truth) & (self.truth <= high)).sum())


@dataclass(frozen=True)
class Survey:
    """A plan, the people who answered it (as a PyArrow table), and the reports they sent."""

    plan: Plan
    people: Any
    reports: Any

    @classmethod
    def simulate(
        cls, plan: Plan, draw: Callable[[np.random.Generator], dict[str, NDArray[Any]]], rng: np.random.Generator
    ) -> Survey:
        import pyarrow

        people = pyarrow.table(draw(rng))
        return cls(plan, people, plan.randomize(people, rng=rng))

    @property
    def asked(self) -> dict[str, Mechanism]:
        """The channels of the attributes that have one."""
        return {name: each.channel for name, each in self.plan.attributes.items() if each.channel is not None}

    def compare(self, name: str) -> Comparison:
        """Reconstruct one attribute and hold it against the truth."""
        channel = self.asked[name]
        estimate = estimate_of(name, channel, self.reports, intervals_for(channel.domain))
        truth = shares(self.people.column(name).to_numpy(), channel.domain, estimate.edges)
        reported = shares(self.reports.column(name).to_numpy(), channel.domain, estimate.edges)
        return Comparison(name, channel, estimate, truth, reported)


@dataclass(frozen=True, eq=False)
class Lesson:
    """Accuracies on fresh people whose true values are known, and the tree learned from the reports."""

    target: str
    tested: int
    model: Any
    from_reports: float
    uncorrected: float
    from_truth: float
    largest_class: float

    @property
    def rules(self) -> list[str]:
        return list(self.model.rules()[:SHOWN_RULES])

    def measured(self) -> dict[str, Any]:
        """What goes home with a model that was learned here."""
        spread = float(np.sqrt(self.from_reports * (1 - self.from_reports) / self.tested))
        return {"method": "joint", "test": {"records": self.tested, "accuracy": self.from_reports, "stderr": spread}}

    def rows(self) -> list[tuple[str, float]]:
        return [
            ("the largest class for everybody", self.largest_class),
            ("a tree from the reports, taken at face value", self.uncorrected),
            ("a tree from the reports", self.from_reports),
            ("a tree from the true values, which nobody has", self.from_truth),
        ]


def learn(survey: Survey, fresh: Any, seed: int, model: Any = None) -> Lesson:
    """Train on the survey's reports (and, to compare, on its people), test on people who were not asked; ``model``: one
    that was learned from the reports already."""
    plan = survey.plan
    truth = classes(plan, fresh)

    def tree(how: str, table: Any) -> Any:
        return estimator(how, plan, seed).fit(features(plan, table), classes(plan, table))

    trees = [model or tree("joint", survey.reports), tree("none", survey.reports), tree("none", survey.people)]
    ours, uncorrected, clean = (float(np.mean(tree.predict(features(plan, fresh)) == truth)) for tree in trees)
    largest = float(np.unique(truth, return_counts=True)[1].max() / len(truth))
    return Lesson(str(plan.target), len(truth), trees[0], ours, uncorrected, clean, largest)


# --- the page ---------------------------------------------------------------------------------------------------------


def survey_page(
    survey: Survey, comparisons: list[Comparison], lesson: Lesson, show_more: Callable[[Page], None] = lambda page: None
) -> Page:
    """The whole survey on a page, with the truth that a real one would not know; ``show_more`` adds a section."""
    people = survey.people.num_rows
    lead = f"{people:,} people blurred their own answers; this is what can still be read, and what cannot."
    page = Page(f"A {survey.plan.name} survey, blurred", lead).facts(_headline(people, comparisons, lesson))
    lead = "The first answers. Struck out: the truth, which stays on the device. Below it: the report that was sent."
    page.section("What people sent", lead).table(_answers(survey), ["person", *survey.asked])
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
    people, reports = (table.slice(0, SHOWN_ANSWERS).to_pylist() for table in (survey.people, survey.reports))
    return [
        [f"person {i}", *(_answer(person[name], report[name]) for name in survey.asked)]
        for i, (person, report) in enumerate(zip(people, reports, strict=True), 1)
    ]


def _answer(*both: Any) -> Html:
    true, reported = (f"{value:,.0f}" if isinstance(value, (int, float)) else str(value) for value in both)
    return Html(tag("s", true) + tag("br") + tag("b", reported))


def _card(one: Comparison) -> Card:
    marks = [Mark("bare", "reports", one.reported.tolist()), Mark("truth", "truth", one.truth.tolist())]
    rows = [{**row, "within_noise": False} for row in rows_of(one.estimate)]  # the truth beside it says how near it is
    drawing = chart_of(one.name, rows, marks)
    error = f"Error {percent(one.error, 2)} (reports alone: {percent(one.error_of_reports, 0)}). "
    error += f"{one.covered} of {one.truth.size} bars hold the truth."
    return Card(one.name, one.channel.describe(voice("en")), drawing, error)


def _show_lesson(page: Page, lesson: Lesson) -> None:
    page.section(
        "What can be learned",
        f"A decision tree for the {lesson.target}, learned from the reports, classifies people by their true values on "
        f"their own devices. Accuracy on {lesson.tested:,} people who were not asked:",
    )
    page.table([[what, percent(share)] for what, share in lesson.rows()], ["classified by", "accuracy"])
    page.paragraph("The rules that most people fall under:").items(lesson.rules)


def _show_promises(page: Page, survey: Survey) -> None:
    lead = "The promise that holds for every person, whatever else is known about them; then attribute by attribute."
    page.section("What the reports reveal", lead).note(str(survey.plan.guarantee()))
    for name, attribute in survey.plan.attributes.items():
        page.unfold(name, "Sent as it is." if attribute.channel is None else str(attribute.channel.guarantee()))
