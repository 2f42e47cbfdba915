"""What a survey's reports say so far, as plain data: counts, estimates with their errors by class and by level, two
questions together.

All functions read a plan and a PyArrow table of its reports (`ReportForm.table`); numbers are finite or None. Nothing
here fails for want of reports: what cannot be said yet is a sentence among ``messages``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.channels import Mechanism
from sfumato.collector.picture.people import (
    Asked,
    BasketCounts,
    ClearCounts,
    People,
    channels_of,
    clear_edges,
    columns_of,
)
from sfumato.collector.picture.telling import (
    Groups,
    bar,
    compare,
    half_widths,
    heaps,
    mean_of,
    moved,
    needed,
    share,
    turned_around,
    variance_of_one,
    worst_of_mean,
    worst_of_shares,
)
from sfumato.counts import Counts, Reports
from sfumato.domain import Categories, Domain, Floats, Interval, Items
from sfumato.itemsets.supports import MemoryHolder, SupportCounter
from sfumato.plan import Plan
from sfumato.prose import counted, plain, sentence
from sfumato.reconstruction import Diagnostics, Estimate, intervals_told, reconstruct, reconstruct_joint
from sfumato.reconstruction.diagnosis import FEW_REPORTS
from sfumato.reconstruction.estimate import WithError
from sfumato.reconstruction.methods import misfit_in_words

MOST_GROUPS, MOST_ITEMS = 6, 1_000
MOST_ROWS = 20_000
"""Of a question with more categories the picture shows none."""
JOINT_INTERVALS = 5
KINDS = {Interval: "numbers", Categories: "categories", Items: "items"}


@dataclass(frozen=True)
class Standing:
    """All that the dashboard shows of a survey besides what its reports say."""

    name: str
    plan: Plan
    state: str = "open"
    days: Sequence[tuple[Any, int, int]] = ()
    """(date, accepted, withdrawn), oldest first."""
    rejections: Mapping[str, int] = field(default_factory=dict)
    invitations: tuple[int, int] | None = None
    """How many were issued and used; None: none are needed."""
    model: Mapping[str, Any] | None = None
    """The shipped model's document."""
    itemsets: Mapping[str, Any] | None = None
    """What `sfumato itemsets mine --json` writes: ``itemsets`` and ``rules``."""
    jobs: Sequence[Mapping[str, Any]] = ()


# --- the views --------------------------------------------------------------------------------------------------------


def counts(plan: Plan, table: Any) -> dict[str, Any]:
    """How many reports there are, question by question: answered and missing, in all, by class and by level."""

    def some(tally: Any) -> dict[str, int]:
        return {"answered": int(tally.total), "missing": int(tally.missing)}

    def several(parts: Mapping[Any, Any]) -> list[dict[str, Any]]:
        return [{"label": plain(label), **some(part)} for label, part in parts.items()]

    questions = {
        each.name: {**some(each.whole), "by_class": several(each.by_class), "by_level": several(each.by_level)}
        for each in People(plan, table).questions()
    }
    return {"reports": table.num_rows, "class": plan.target, "questions": questions}


def estimates(plan: Plan, table: Any, question: str = "", intervals: int | None = None) -> dict[str, Any]:
    """What the reports say of every question, with errors; by class and by level; what that can tell; what fakes do.

    Every row has ``value``, ``stderr``, the ends ``from`` and ``to`` of its 90 % bar, and ``within_noise``.
    ``question``: this one only. ``intervals``: of blurred numbers, instead of as many as the reports can tell apart.
    """
    if question and question not in plan.columns:
        raise ValueError(f"there is no question {question!r}; there are {', '.join(plan.columns)}")
    people = People(plan, table)
    questions = [asked for asked in people.questions() if asked.name == (question or asked.name)]
    found = {asked.name: _question(asked, people.class_blur, intervals) for asked in questions}
    return plain({"reports": table.num_rows, "class": plan.target, "questions": found})  # type: ignore[no-any-return]


def joint(plan: Plan, table: Any, first: str, second: str) -> dict[str, Any]:
    """Two questions together: the share of people in every pair of answers, with its error where there is one."""
    both, known = (first, second), seen_together(plan)
    for name in both:
        if name not in known:
            raise ValueError(f"{name!r} cannot be seen together with another; choose two of {', '.join(known)}")
    if first == second:
        raise ValueError(f"{first!r} is given twice; choose two questions")
    columns = [column for name in both for column in columns_of(name) if column in table.column_names]
    reports = Reports(table.select(columns), {name: known[name] for name in both})
    head: dict[str, Any] = {"questions": list(both), "labels": [], "shares": [], "stderr": None}
    try:
        found = reconstruct_joint(reports, intervals=JOINT_INTERVALS, columns=both)
    except ValueError as error:
        return {**head, "reports": 0, "missing": table.num_rows, "messages": [sentence(str(error))]}
    facts = found.diagnostics
    head |= {"labels": [each.labels() for each in found.marginals], "shares": found.probabilities}
    head |= {"stderr": found.stderr, "reports": facts.reports, "missing": facts.missing}
    unsure = [] if found.stderr is not None else ["How sure this is can be said of pairs of categories only."]
    return plain({**head, "messages": [*map(sentence, facts.messages), *unsure]})  # type: ignore[no-any-return]


def seen_together(plan: Plan) -> dict[str, Mechanism | None]:
    """The columns that `joint` takes, with their channels: all but baskets and numbers in the clear."""
    blurred = channels_of(plan)
    clear = {name for name, each in plan.attributes.items() if each.channel is None}
    labels = {name for name in clear if isinstance(plan.attributes[name].domain, Categories)}
    return {name: blurred.get(name) for name in plan.columns if name in blurred or name in labels}


# --- measures ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Measure:
    """An estimate of the shares, and the mean where answers are numbers; None where nobody answered, or where the list
    of answers is too long to show."""

    reports: float
    missing: float
    estimate: Estimate | None = None
    mean: WithError | None = None

    @property
    def vector(self) -> tuple[Floats, Floats]:
        """All that was estimated in a row, with variances; shares first."""
        assert self.estimate is not None
        values, variances = self.estimate.probabilities, self.estimate.stderr**2
        if self.mean is None:
            return values, variances
        return np.append(values, float(self.mean)), np.append(variances, self.mean.stderr**2)


def measure(asked: Asked, tally: Any, cells: Any) -> Measure:
    """The shares behind some of the answers to a question: of intervals, of categories, or of the people who hold
    each of the items ``cells``."""
    if not tally.total or _is_too_long(asked.domain):
        return Measure(tally.total, tally.missing)
    if isinstance(tally, Counts):
        wish = cells if isinstance(asked.domain, Interval) else None
        return Measure(tally.total, tally.missing, reconstruct(tally, intervals=wish), mean_of(tally))
    if isinstance(tally, ClearCounts):
        return Measure(tally.total, tally.missing, _clear_estimate(asked.domain, tally), tally.mean)
    return Measure(tally.total, tally.missing, _item_estimate(asked.channel, tally, cells))


def _clear_estimate(domain: Domain, tally: ClearCounts) -> Estimate:
    """p = N/n with the covariance (diag h − hhᵀ)/n of people drawn from a crowd; h = (N + ½)/(n + k/2), because a
    share of nobody is not a certain zero."""
    n = tally.total
    held = (tally.histogram + 0.5) / (n + tally.histogram.size / 2)
    spread = (np.diag(held) - np.outer(held, held)) / n
    facts = Diagnostics("clear", n, tally.missing, 0, 0, 0.0, held.size - 1.0)
    if isinstance(domain, Interval):
        return Estimate(clear_edges(domain), None, tally.histogram / n, spread, facts, domain.integer)
    return Estimate(None, tuple(getattr(domain, "labels", ())), tally.histogram / n, spread, facts)


def _item_estimate(channel: Any, tally: BasketCounts, items: Any) -> Estimate:
    """The share of people who hold each item. To the error of the blur comes s(1−s)/n of people drawn from a crowd."""
    holder = MemoryHolder.of_reports([(tally.reports, channel)])
    level = SupportCounter(holder).count(np.arange(channel.items.size)[:, None])
    if items is None:
        items = np.sort(np.argsort(-level.support, kind="stable")[:MOST_ITEMS])
    shares = level.support[items]
    variance = level.stderr[items] ** 2 + np.clip(shares * (1 - shares), 0.0, None) / tally.total
    labels = tuple(channel.items.labels[code] for code in items.tolist())
    return Estimate(None, labels, shares, np.diag(variance), Diagnostics("supports", tally.total, 0, 0, 0, 0.0, 0.0))


# --- one question -----------------------------------------------------------------------------------------------------


def _question(asked: Asked, class_blur: Floats | None, intervals: int | None) -> dict[str, Any]:
    cells = (intervals or intervals_told(asked.whole)) if isinstance(asked.whole, Counts) else None
    found = measure(asked, asked.whole, cells)
    told: dict[str, Any] = {"question": asked.question, "kind": KINDS[type(asked.domain)]}
    told |= {"blurred": asked.channel is not None, "reports": found.reports, "missing": found.missing}
    told |= {"rows": [], "mean": None, "by_class": None, "by_level": None, "fit": None, "heaps": [], "fakes": None}
    if found.estimate is None:
        lost = f"Nobody has answered this question yet; {found.missing:,.0f} left it out."
        said = lost if found.missing else "There are no reports yet."
        if found.reports:
            said = f"More than {MOST_ROWS:,} categories are too many to show; count them with plan.counts(reports)."
        return {**told, "telling": _telling(asked, found, None), "messages": [said]}
    told["rows"] = _rows(found.estimate)
    told["mean"] = None if found.mean is None else bar(float(found.mean), found.mean.stderr**2)
    if isinstance(asked.whole, Counts):
        told |= {"fit": found.estimate.diagnostics.fit, "heaps": heaps(asked.whole)}
    messages, edges = _messages(found), found.estimate.edges
    for view, parts, undo in (("by_class", asked.by_class, class_blur), ("by_level", asked.by_level, None)):
        if len(parts) > MOST_GROUPS:
            messages.append(f"{len(parts)} groups are too many to compare; up to {MOST_GROUPS} are.")
        elif parts and found.reports >= FEW_REPORTS:
            same = _items(asked, found.estimate) if edges is None else edges
            told[view] = _groups({label: measure(asked, part, same) for label, part in parts.items()}, undo)
    telling = _telling(asked, found, told["by_class"])
    return {**told, "telling": telling, "fakes": _fakes(asked, found), "messages": messages}


def _is_too_long(domain: Domain) -> bool:
    return isinstance(domain, Categories) and domain.size > MOST_ROWS


def _rows(estimate: Estimate) -> list[dict[str, Any]]:
    """A row an interval, category or item: where it is, its share and the bar of that."""
    pairs = zip(estimate.rows(), estimate.probabilities.tolist(), (estimate.stderr**2).tolist(), strict=True)
    where = ("label", "low", "high", "category")
    return [{**{key: row[key] for key in where}, **share(p, variance)} for row, p, variance in pairs]


def _items(asked: Asked, estimate: Estimate) -> Any:
    """The codes of the items that were estimated, so that groups are asked for the same ones."""
    if not isinstance(asked.domain, Items):
        return None
    code_of = {label: code for code, label in enumerate(asked.domain.labels)}
    return np.array([code_of[label] for label in estimate.categories or ()])


def _messages(found: Measure) -> list[str]:
    """What must be known before trusting an estimate; of very few answers one sentence says it all."""
    assert found.estimate is not None
    facts = found.estimate.diagnostics
    if found.reports >= FEW_REPORTS:
        return [sentence(said) for said in facts.messages]
    few = f"{counted(int(found.reports), 'answer')} {'is' if found.reports == 1 else 'are'} too few to trust this."
    return [*map(sentence, filter(None, [misfit_in_words(facts.fit)])), few]


def _groups(measures: Mapping[Hashable, Measure], undo: Floats | None) -> dict[str, Any]:
    """Groups side by side. A group without answers is left out, unless a blur may have hidden its people in others."""
    there = {label: each for label, each in measures.items() if each.estimate is not None}
    reports = [{"label": label, "reports": each.reports} for label, each in measures.items()]
    if not there:
        return {"reports": reports, "groups": [], "differences": [], "compared": 0, "stand_out": 0, "smallest": None}
    some = next(iter(there.values()))
    with_mean = all(each.mean is not None for each in there.values())
    size = some.estimate.probabilities.size  # type: ignore[union-attr]
    nothing = np.zeros(size + 1), np.zeros(size + 1)
    taken = there if undo is None else measures
    vectors = [each.vector if label in there else nothing for label, each in taken.items()]
    values, variances = (np.array([pair[part][: size + with_mean] for pair in vectors]) for part in (0, 1))
    people = np.array([float(each.reports) for each in taken.values()])
    blur = np.eye(len(taken)) if undo is None else undo
    return {"reports": reports, **compare(Groups(list(taken), values, variances, people, blur), size)}


def _telling(asked: Asked, found: Measure, by_class: Mapping[str, Any] | None) -> dict[str, Any]:
    """The bars as they are, and how many reports in all would make them ±5, ±2 and ±1 points.

    ``rough``: shares of ranges of blurred numbers, whose errors do not follow 1/√n: what is smooth is found sooner, and
    what the noise hides later.
    """
    answered = found.reports / max(found.reports + found.missing, 1) or 1.0
    told: dict[str, Any] = {"half_width": None, "needed": None, "rough": False, "mean": None}
    told["smallest_difference"] = by_class["smallest"] if by_class else None
    variance = _variance_of_one(asked, found)
    if variance is not None:
        told["needed"] = needed(variance / answered)
    if found.estimate is not None:
        told["half_width"] = half_widths(found.estimate.stderr**2)
        told["rough"] = isinstance(asked.whole, Counts) and isinstance(asked.domain, Interval)
    if found.mean is not None and isinstance(asked.domain, Interval):
        width, spread = float(asked.domain.width), found.mean.stderr**2
        told["mean"] = {"half_width": half_widths(np.array([spread]))["worst"] / width}
        told["mean"]["needed"] = needed(found.reports * spread / answered, width)
    return told


def _variance_of_one(asked: Asked, found: Measure) -> float | None:
    """What one report adds to the variance of the least certain share; of categories it is known before any comes."""
    tables = turned_around(asked.whole) if isinstance(asked.whole, Counts) else None
    if tables is None or not isinstance(asked.domain, Categories):
        return None if found.estimate is None else found.reports * float((found.estimate.stderr**2).max())
    p = np.zeros(asked.domain.size) if found.estimate is None else found.estimate.probabilities
    held = (found.reports * p + 0.5) / (found.reports + p.size / 2)
    return variance_of_one(*tables, held)


def _fakes(asked: Asked, found: Measure) -> dict[str, Any] | None:
    """What 1 % and 5 % of made-up reports do at worst: to a share, or to the mean of numbers."""
    assert found.estimate is not None
    p = found.estimate.probabilities
    if isinstance(asked.domain, Interval):
        counted_codes = asked.whole if isinstance(asked.whole, Counts) else None
        return None if found.mean is None else {
            "of": "mean", "moved": moved(worst_of_mean(counted_codes, float(found.mean), asked.domain))
        }  # fmt: skip
    if isinstance(asked.whole, Counts):
        tables = turned_around(asked.whole)
        return None if tables is None else {"of": "share", "moved": moved(worst_of_shares(tables[1], p))}
    if isinstance(asked.whole, BasketCounts):
        laws = asked.channel.laws.values()  # type: ignore[union-attr]
        shown = np.concatenate([law.estimator(1) for law in laws])
        return {"of": "share", "moved": moved(worst_of_shares(np.tile(shown, (p.size, 1)), p))}
    return {"of": "share", "moved": moved(worst_of_shares(np.eye(p.size), p))}
