"""Figures from reports, as plain data: counts, estimates with errors by class and by level, two questions together.

Reports come as a table of any kind, or as counts of them by question; numbers are finite or None. Nothing here fails
for want of reports: what cannot be estimated yet is a sentence among ``messages``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.channels import Mechanism
from sfumato.counts import Counts, Reports
from sfumato.domain import Categories, Domain, Floats, Interval, Items
from sfumato.findings.answers import (
    Answers,
    BasketCounts,
    ClearCounts,
    answers_of,
    channels_of,
    clear_edges,
    columns_of,
    in_codes,
)
from sfumato.findings.bars import bar, half_widths, reports_needed, rows_of
from sfumato.findings.fakes import (
    heaps,
    scale_to_fakes,
    table_and_inverse,
    variance_of_one,
    worst_of_mean,
    worst_of_shares,
)
from sfumato.findings.groups import GroupEstimates, compare
from sfumato.findings.means import mean_of
from sfumato.itemsets.supports import MemoryHolder, SupportCounter
from sfumato.plan import Plan
from sfumato.prose import counted, plain, sentence
from sfumato.reconstruction import (
    Diagnostics,
    Estimate,
    combine,
    difference,
    intervals_told,
    reconstruct,
    reconstruct_joint,
)
from sfumato.reconstruction.diagnosis import FEW_REPORTS
from sfumato.reconstruction.estimate import WithError
from sfumato.reconstruction.misfit import misfit_in_words
from sfumato.reconstruction.reconstruct import with_unasked

MOST_GROUPS = 6
"""The most classes, or levels, that are compared: the colours of the page that can be told apart (``pages``)."""
MOST_ITEMS = 1_000
"""The most items of a question that are estimated, those with the largest support. By judgement: a page shows 100."""
MOST_ROWS = 20_000
"""The most categories of a question that are estimated. By judgement: JSON of a few megabytes; a page shows 100."""
JOINT_INTERVALS = 5
"""The intervals of a number beside another question. By judgement: 25 pairs of two numbers fit a table, and more pairs
have too few people each to be told from noise."""
KINDS = {Interval: "numbers", Categories: "categories", Items: "items"}


@dataclass(frozen=True)
class Wishes:
    """The options of a reconstruction in one value: intervals of numbers, method, known shares of the classes."""

    intervals: int | None = None  # of numbers; None: as many as the reports decide
    method: str = "smooth"
    shares: Mapping[str, float] | None = None  # the known share of each class in the population


# --- the views --------------------------------------------------------------------------------------------------------


def counts(reports: Any, plan: Plan) -> dict[str, Any]:
    """Count the reports of every question: how many people answered it and how many left it out.

    Returns a dict with ``reports`` (the number of people), ``class`` (the question by whose answer people are grouped,
    or None) and ``questions``: for each ``answered`` and ``missing``, and lists of both by class and by privacy level
    (how strongly people chose to blur).

    ``reports``: a table of reports, or counts of them by question; ``plan``: the plan that they answer.
    """

    def count(tally: Any) -> dict[str, int]:
        return {"answered": int(tally.total), "missing": int(tally.missing)}

    def count_groups(groups: Mapping[Any, Any]) -> list[dict[str, Any]]:
        return [{"label": plain(label), **count(group)} for label, group in groups.items()]

    answers = answers_of(reports, plan)
    questions = {
        each.name: {
            **count(each.whole), "by_class": count_groups(each.by_class), "by_level": count_groups(each.by_level),
        }
        for each in answers.questions
    }  # fmt: skip
    return {"reports": answers.people, "class": plan.target, "questions": questions}


def estimates(
    reports: Any, plan: Plan, question: str = "", intervals: int | None = None, *, method: str = "smooth",
    class_name: str | None = None, shares: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Estimate the shares of every answer from reports, in all, by class and by level; return the figures as a dict.

    Its key ``questions`` has, for every question, ``rows`` (one for each interval of numbers, category or item), the
    mean, the comparisons ``by_class`` and ``by_level`` (how strongly people chose to blur), the precision, and how far
    made-up reports could move a share. Every row has ``value``, ``stderr``, the ends ``from`` and ``to`` of its 90 %
    bar, and ``within_noise`` (the share cannot be told from zero).

    ``reports``: a table of reports (pandas, Polars, PyArrow, a mapping, …), or the counts of them by question, as
    ``plan.counts`` gives them. ``plan``: the plan that they answer. ``question``: estimate this one only ("": all).
    ``intervals``: how many for blurred numbers, instead of as many as the reports can tell apart. ``method``: how to
    reconstruct, as in `sf.reconstruct`. ``class_name``: the name of the classes that counts are grouped by. ``shares``:
    the known share of each class in the population; the estimates of the classes are then combined by it.
    """
    if question and question not in plan.columns:
        raise ValueError(f"there is no question {question!r}; there are {', '.join(plan.columns)}")
    answers, wishes = answers_of(reports, plan, class_name), Wishes(intervals, method, shares)
    questions = {
        each.name: _estimate_question(each, plan, answers.class_blur, wishes)
        for each in answers.questions
        if each.name == (question or each.name)
    }
    figures = {"reports": answers.people, "class": answers.class_name, "questions": questions}
    return plain(figures)  # type: ignore[no-any-return]


def joint(reports: Any, plan: Plan, first: str, second: str) -> dict[str, Any]:
    """Estimate two questions together, the share of people in every pair of answers; return the figures as a dict.

    Its keys: ``questions`` (the two names), ``labels`` (the answers of each), ``shares`` and ``stderr`` (tables with a
    row for each answer to ``first`` and a column for each to ``second``; ``stderr`` is None where a question is a
    number), ``reports``, ``missing`` and ``messages`` (sentences to be read before trusting it).

    ``reports``: a table of reports; ``plan``: the plan that they answer; ``first`` and ``second``: names of two
    questions.
    """
    both, channels = (first, second), seen_together(plan)
    for name in both:
        if name not in channels:
            raise ValueError(f"{name!r} cannot be seen together with another; choose two of {', '.join(channels)}")
    if first == second:
        raise ValueError(f"{first!r} is given twice; choose two questions")
    table = in_codes(reports, plan)
    columns = [column for name in both for column in columns_of(name) if column in table.column_names]
    chosen = Reports(table.select(columns), {name: channels[name] for name in both})
    head: dict[str, Any] = {"questions": list(both), "labels": [], "shares": [], "stderr": None}
    try:
        estimate = reconstruct_joint(chosen, intervals=JOINT_INTERVALS, columns=both)
    except ValueError as error:
        return {**head, "reports": 0, "missing": table.num_rows, "messages": [sentence(str(error))]}
    facts = estimate.diagnostics
    head |= {"labels": [each.labels() for each in estimate.marginals], "shares": estimate.probabilities}
    head |= {"stderr": estimate.stderr, "reports": facts.reports, "missing": facts.missing}
    unsure = [] if estimate.stderr is not None else ["How sure this is can be said of pairs of categories only."]
    return plain({**head, "messages": [*map(sentence, facts.messages), *unsure]})  # type: ignore[no-any-return]


def seen_together(plan: Plan) -> dict[str, Mechanism | None]:
    """Return the columns that `joint` takes, as a dict from name to channel (the chances of reports given answers).

    The channel is None for categories that are sent as they are. Baskets, and numbers that are sent as they are, are
    left out.
    """
    blurred = channels_of(plan)
    clear = {name for name, each in plan.attributes.items() if each.channel is None}
    labels = {name for name in clear if isinstance(plan.attributes[name].domain, Categories)}
    return {name: blurred.get(name) for name in plan.columns if name in blurred or name in labels}


# --- measures ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Measure:
    """The estimates of one question for one group of people: all, a class, or those who chose one level of blur."""

    reports: float
    missing: float
    estimate: Estimate | None = None  # of the shares; None: nobody answered, or there are too many answers to show
    mean: WithError | None = None  # of numbers that have an unbiased mean

    @property
    def vector(self) -> tuple[Floats, Floats]:
        """Return two arrays, (values, variances): of the shares and, as the last number, of the mean if there is one.
        """
        assert self.estimate is not None
        values, variances = self.estimate.probabilities, self.estimate.stderr**2
        if self.mean is None:
            return values, variances
        return np.append(values, float(self.mean)), np.append(variances, self.mean.stderr**2)


def measure(answers: Answers, tally: Any, cells: Any, wishes: Wishes) -> Measure:
    """Estimate the shares of a question's answers for one group of people, whose reports are counted in ``tally``.

    ``tally``: Counts of blurred reports, ClearCounts of answers sent as they are, or BasketCounts; ``cells``: the
    intervals of numbers (their edges or how many), or the codes of the items to estimate; None: those that the reports
    suggest; ``wishes``: the options. The estimate is None where nobody answered or there are too many categories.
    """
    if not tally.total or _has_too_many_rows(answers.domain):
        return Measure(tally.total, tally.missing)
    if isinstance(tally, Counts):
        intervals = cells if isinstance(answers.domain, Interval) else None
        estimate = reconstruct(tally, intervals=intervals, method=wishes.method)
        return Measure(tally.total, tally.missing, estimate, mean_of(tally.effective()))
    if isinstance(tally, ClearCounts):
        return Measure(tally.total, tally.missing, _clear_estimate(answers.domain, tally), tally.mean)
    return Measure(tally.total, tally.missing, _item_estimate(answers.channel, tally, cells))


def _combine_classes(whole: Measure, classes: Mapping[Hashable, Measure], shares: Mapping[str, float]) -> Measure:
    """Combine the estimates of all classes into one of the population, weighted by the classes' known shares of it.

    ``whole``: the estimates for everybody, of which shares and mean are replaced; ``classes``: the estimates by class.
    """
    estimates_by_class = {str(label): each.estimate for label, each in classes.items()}
    means = {str(label): each.mean for label, each in classes.items()}
    mean = None if None in means.values() else combine(means, shares)
    return replace(whole, estimate=combine(estimates_by_class, shares), mean=mean)


def _clear_estimate(domain: Domain, tally: ClearCounts) -> Estimate:
    """Estimate the shares of answers that were sent as they are, with the errors of a sample of n people in k cells.

    Cells are categories, or intervals of numbers.

        p = N/n,   covariance (diag h − hhᵀ)/n,   h = (N + ½)/(n + k/2), so that a share of nobody is no certain zero.
    """
    n = tally.total
    h = (tally.histogram + 0.5) / (n + tally.histogram.size / 2)
    spread = (np.diag(h) - np.outer(h, h)) / n
    facts = Diagnostics("clear", n, tally.missing, 0, 0, 0.0, h.size - 1.0)
    if isinstance(domain, Interval):
        return Estimate(clear_edges(domain), None, tally.histogram / n, spread, facts, domain.integer)
    return Estimate(None, tuple(getattr(domain, "labels", ())), tally.histogram / n, spread, facts)


def _item_estimate(channel: Any, tally: BasketCounts, items: Any) -> Estimate:
    """Estimate the share s of people who have each item of a basket question, with standard errors.

    The variance is that of the blur and s(1 − s)/n, the sample's, together. ``tally``: the reported baskets;
    ``channel``: theirs; ``items``: codes of items; None: the MOST_ITEMS with the largest shares.
    """
    holder = MemoryHolder.of_reports([(tally.reports, channel)])
    level = SupportCounter(holder).count(np.arange(channel.items.size)[:, None])
    if items is None:
        items = np.sort(np.argsort(-level.support, kind="stable")[:MOST_ITEMS])
    shares = level.support[items]
    variance = level.stderr[items] ** 2 + np.clip(shares * (1 - shares), 0.0, None) / tally.total
    labels = tuple(channel.items.labels[code] for code in items.tolist())
    return Estimate(None, labels, shares, np.diag(variance), Diagnostics("supports", tally.total, 0, 0, 0, 0.0, 0.0))


# --- one question -----------------------------------------------------------------------------------------------------


def _estimate_question(answers: Answers, plan: Plan, class_blur: Floats | None, wishes: Wishes) -> dict[str, Any]:
    """Estimate one question, and return its entry of ``questions`` in what `estimates` returns, a dict.

    The entry has shares with errors, the mean, comparisons by class and by level, precision, the effect of made-up
    reports, and messages. ``class_blur``: the inverse of the table that blurs the class itself; None where the class is
    not blurred.
    """
    blurred_counts = answers.whole if isinstance(answers.whole, Counts) else None
    cells = None if blurred_counts is None else wishes.intervals or intervals_told(blurred_counts)
    whole = measure(answers, answers.whole, cells, wishes)
    figures: dict[str, Any] = {"question": answers.question, "kind": KINDS[type(answers.domain)]}
    figures |= {"blurred": answers.channel is not None, "reports": whole.reports, "missing": whole.missing}
    figures |= {"rows": [], "mean": None, "by_class": None, "by_level": None, "fit": None, "heaps": [], "fakes": None}
    if whole.estimate is None:
        message = "There are no reports yet."
        if whole.missing:
            message = f"Nobody has answered this question yet; {whole.missing:,.0f} left it out."
        if whole.reports:
            message = f"More than {MOST_ROWS:,} categories are too many to show; count them with plan.counts(reports)."
        return {**figures, "precision": _measure_precision(answers, whole, None), "messages": [message]}
    same = _item_codes(answers, whole.estimate) if whole.estimate.edges is None else whole.estimate.edges
    if wishes.shares is not None:
        classes = {label: measure(answers, part, same, wishes) for label, part in answers.by_class.items()}
        whole = _combine_classes(whole, classes, wishes.shares)
    assert whole.estimate is not None
    figures["rows"] = rows_of(whole.estimate)
    figures["mean"] = None if whole.mean is None else bar(float(whole.mean), whole.mean.stderr**2)
    if blurred_counts is not None:
        figures |= {"fit": whole.estimate.diagnostics.fit, "heaps": heaps(blurred_counts)}
    messages = _messages(replace(whole, estimate=with_unasked(whole.estimate, answers.name, plan)))
    for view, parts, undo in (("by_class", answers.by_class, class_blur), ("by_level", answers.by_level, None)):
        if len(parts) > MOST_GROUPS:
            messages.append(f"{len(parts)} groups are too many to compare; up to {MOST_GROUPS} are.")
        elif parts and whole.reports >= FEW_REPORTS:
            groups = {label: measure(answers, part, same, wishes) for label, part in parts.items()}
            figures[view] = _compare_groups(groups, undo)
    precision = _measure_precision(answers, whole, figures["by_class"])
    return {**figures, "precision": precision, "fakes": _measure_fakes(answers, whole), "messages": messages}


def _has_too_many_rows(domain: Domain) -> bool:
    """Return whether a question has more than MOST_ROWS categories, which are not estimated."""
    return isinstance(domain, Categories) and domain.size > MOST_ROWS


def _item_codes(answers: Answers, estimate: Estimate) -> Any:
    """Return an array of the codes of an estimate's items, so that every group is estimated for these items.

    None where the question does not ask for items.
    """
    if not isinstance(answers.domain, Items):
        return None
    code_of = {label: code for code, label in enumerate(answers.domain.labels)}
    return np.array([code_of[label] for label in estimate.categories or ()])


def _messages(measured: Measure) -> list[str]:
    """Write the sentences to be read before trusting an estimate, as a list.

    Of fewer than FEW_REPORTS answers that they are too few, and whether they fit their channel.
    """
    assert measured.estimate is not None
    facts = measured.estimate.diagnostics
    if measured.reports >= FEW_REPORTS:
        return [sentence(message) for message in facts.messages]
    verb = "is" if measured.reports == 1 else "are"
    few = f"{counted(int(measured.reports), 'answer')} {verb} too few to trust this."
    return [*map(sentence, filter(None, [misfit_in_words(facts.fit)])), few]


def _compare_groups(measures: Mapping[Hashable, Measure], undo: Floats | None) -> dict[str, Any]:
    """Compare groups of people by their estimates; return a dict with groups, differences, and counts of both.

    ``measures``: the estimates by group; ``undo``: the inverse of the table that blurs the group itself, None where the
    group is sent as it is. A group without answers is left out, unless that blur may have put its people into others.
    ``verdict`` of the result: a sentence whether two groups differ at all; None for more groups, or where ``undo`` is
    given.
    """
    answered = {label: each for label, each in measures.items() if each.estimate is not None}
    reports = [{"label": label, "reports": each.reports} for label, each in measures.items()]
    if not answered:
        empty: dict[str, Any] = {"groups": [], "differences": [], "compared": 0, "stand_out": 0}
        return {"reports": reports, "verdict": None, "smallest": None, **empty}
    first = next(iter(answered.values()))
    with_mean = all(each.mean is not None for each in answered.values())
    size = first.estimate.probabilities.size  # type: ignore[union-attr]
    nothing = np.zeros(size + 1), np.zeros(size + 1)
    taken = answered if undo is None else measures
    vectors = [each.vector if label in answered else nothing for label, each in taken.items()]
    values, variances = (np.array([pair[part][: size + with_mean] for pair in vectors]) for part in (0, 1))
    people = np.array([float(each.reports) for each in taken.values()])
    blur = np.eye(len(taken)) if undo is None else undo
    groups = GroupEstimates(list(taken), values, variances, people, blur)
    comparison = {"reports": reports, "verdict": None, **compare(groups, size)}
    if undo is None and len(answered) == 2:
        comparison["verdict"] = difference(*(each.estimate for each in answered.values())).verdict
    return comparison


def _measure_precision(answers: Answers, whole: Measure, by_class: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a dict: half the widths of a question's 90 % bars, and how many reports would make them ±5, ±2, ±1 points.

    ``rough``: whether the errors do not follow 1/√n, as of shares of ranges of blurred numbers: what is smooth is found
    sooner, and what the noise hides later.
    """
    answered = whole.reports / max(whole.reports + whole.missing, 1) or 1.0
    precision: dict[str, Any] = {"half_width": None, "needed": None, "rough": False, "mean": None}
    precision["smallest_difference"] = by_class["smallest"] if by_class else None
    variance = _variance_of_one(answers, whole)
    if variance is not None:
        precision["needed"] = reports_needed(variance / answered)
    if whole.estimate is not None:
        precision["half_width"] = half_widths(whole.estimate.stderr**2)
        precision["rough"] = isinstance(answers.whole, Counts) and isinstance(answers.domain, Interval)
    if whole.mean is not None and isinstance(answers.domain, Interval):
        width, spread = float(answers.domain.width), whole.mean.stderr**2
        precision["mean"] = {"half_width": half_widths(np.array([spread]))["worst"] / width}
        precision["mean"]["needed"] = reports_needed(whole.reports * spread / answered, width)
    return precision


def _variance_of_one(answers: Answers, whole: Measure) -> float | None:
    """Return the variance v that one report adds to the least certain share (n reports leave v/n); None: not known.

    Of categories the channel's table gives it before any report comes; of others it is taken from the present errors.
    """
    tables = table_and_inverse(answers.whole) if isinstance(answers.whole, Counts) else None
    if tables is None or not isinstance(answers.domain, Categories):
        return None if whole.estimate is None else whole.reports * float((whole.estimate.stderr**2).max())
    p = np.zeros(answers.domain.size) if whole.estimate is None else whole.estimate.probabilities
    return variance_of_one(*tables, (whole.reports * p + 0.5) / (whole.reports + p.size / 2))


def _measure_fakes(answers: Answers, whole: Measure) -> dict[str, Any] | None:
    """Return a dict: how far 1 % and 5 % of made-up reports move an estimate at worst; None where that is not known.

    ``of``: "mean" for numbers, else "share"; ``moved``: what `scale_to_fakes` returns.
    """
    assert whole.estimate is not None
    p, counts_of_blur = whole.estimate.probabilities, answers.whole if isinstance(answers.whole, Counts) else None
    if isinstance(answers.domain, Interval):
        if whole.mean is None:
            return None
        return {"of": "mean", "moved": scale_to_fakes(worst_of_mean(counts_of_blur, float(whole.mean), answers.domain))}
    if counts_of_blur is not None:
        tables = table_and_inverse(counts_of_blur)
        return None if tables is None else {"of": "share", "moved": scale_to_fakes(worst_of_shares(tables[1], p))}
    if isinstance(answers.whole, BasketCounts):
        laws = answers.channel.laws.values()  # type: ignore[union-attr]
        estimators = np.concatenate([law.estimator(1) for law in laws])
        return {"of": "share", "moved": scale_to_fakes(worst_of_shares(np.tile(estimators, (p.size, 1)), p))}
    return {"of": "share", "moved": scale_to_fakes(worst_of_shares(np.eye(p.size), p))}
