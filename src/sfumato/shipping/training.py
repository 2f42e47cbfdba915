"""Training a model on a plan's reports, and measuring its accuracy without people's true values.

On reports held out of training: the share of reported classes that it predicts from blurred values, and an estimate of
the share of true classes that it predicts from true values (`learners.choose`). On people whose true values are known:
the accuracy a, with its standard error √(a(1 − a)/n).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Channel, Mechanism
from sfumato.counts import Fold, Reports
from sfumato.domain import Categories, Items, Row, array_of_labels, as_array
from sfumato.learners.choose import estimated_accuracy
from sfumato.learners.classes import class_codes_in
from sfumato.learners.estimator import learner_named
from sfumato.plan import Plan
from sfumato.prose import percent
from sfumato.reconstruction.misfit import FALSE_ALARM, misfit_in_words
from sfumato.reconstruction.request import request_of
from sfumato.shipping.shipped import METHODS, Shipped
from sfumato.tables import LEVEL_SUFFIX, name_row, to_arrow

LEAST_TO_JUDGE = 200
"""The fewest held-out reports from which an accuracy on true values is estimated. Chosen by judgement: with 200 clear
classes the standard error is 3.5 points at most, and blur makes it larger."""

HOLD_OUT = 6
"""The salt of the split: any number that no learner uses for its folds, so that the split is independent of them."""

Progress = Callable[[Iterable[Any], str], Iterator[Any]]


def silently(steps: Iterable[Any], what: str) -> Iterator[Any]:
    """Return an iterator over the steps; the progress function that shows nothing."""
    return iter(steps)


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted model with its measured accuracies, a dict for its file."""

    model: Any
    measured: dict[str, Any]


def train(
    plan: Plan, reports: Any, method: str = "chooser", *, holdout: float = 0.2, people: Any = None, seed: int = 0,
    progress: Progress = silently,
) -> Trained:
    """Fit a model to a plan's reports and measure its accuracy; return both.

    ``reports``: a table or `sf.Reports`. ``method``: a key of METHODS. ``holdout``: the share of reports that is held
    out of training and measured on. ``people``: a table of people whose true values are known (None: there are none).
    ``progress``: a function that wraps the steps of work, to show them. The same ``seed`` gives the same split and the
    same model; both are independent of anything that is simulated from that seed.
    """
    all_reports = reports_of(plan, reports, seed)
    share = held_out(holdout)
    train_fold, model = all_reports.within(~share), estimator(method, plan, seed)
    for _ in progress([method], f"training on {len(train_fold):,} reports"):
        model.fit(train_fold)
    measured: dict[str, Any] = {"method": method, "trained_on": len(train_fold)}
    if strange := misfits(plan, all_reports):
        measured["misfit"] = strange
    if len(train_fold) < len(all_reports):
        test_fold = all_reports.within(share).sampled()
        for _ in progress(["measuring"], f"measuring on {len(test_fold):,} reports"):
            measured["held_out"] = on_reports(model, train_fold, test_fold, seed)
    if people is not None:
        measured["test"] = on_people(model, plan, people)
    return Trained(model, measured)


def stream(seed: int, purpose: str) -> np.random.Generator:
    """Return a random generator for one purpose, named by a text such as "fit": purposes share no random numbers.

    It depends on ``seed`` and the name, and is independent of ``default_rng(seed)``.
    """
    return np.random.default_rng([seed, zlib.crc32(purpose.encode())])


def held_out(share: float) -> Fold:
    """Return the `Fold` (a rule that picks people by a hash of their row) that is kept out of training, to measure on.

    ``share``: its part of all reports, rounded to thousandths.
    """
    return Fold(range(round(1000 * share)), 1000, HOLD_OUT)


def reports_of(plan: Plan, given: Any, seed: int = 0) -> Reports:
    """Return the reports as `Reports` with only the columns that a model reads, and the class of each.

    ``given``: a table or `Reports`. ``seed``: decides the folds (parts of the people held out) of a table.
    """
    if isinstance(given, Reports):
        reports = given
        domain = plan.attributes[plan.target].domain if plan.target is not None else None
        for label in reports.classes or ():
            if isinstance(domain, Categories) and label not in domain.labels:
                raise ValueError(f"class {label!r} in {plan.target!r} is not in the plan; use the plan that asked it")
    else:
        table = to_arrow(given)
        if plan.target is not None:
            classes(plan, table)
        reports = Reports(table, plan, seed=seed)
    return reports.selected(learned_from(plan))


def estimator(method: str, plan: Plan, seed: int) -> Any:
    """Return an unfitted learner for a plan's channels by its method, a key of METHODS; ``seed`` decides its draws."""
    if method not in METHODS:
        raise ValueError(f"method {method} is unknown; use one of {', '.join(METHODS)}")
    kind, options = METHODS[method]
    cls = learner_named(kind)
    taken = cls().get_params(deep=False)
    wishes = {"label_channel": label_channel(plan), "random_state": int(stream(seed, "fit").integers(2**31 - 1))}
    if wishes["label_channel"] is not None and "label_channel" not in taken:
        raise ValueError(f"method {method} takes classes as they are, but theirs are blurred; use joint")
    return cls(channels=learned_from(plan), **{key: wish for key, wish in wishes.items() if key in taken}, **options)


# --- the records ----------------------------------------------------------------------------------------------------


def check_learnable(plan: Plan, *, with_class: bool) -> None:
    """Raise ValueError unless a model can be learned from reports of a plan.

    ``with_class``: whether the model predicts a class, so that the plan must have one.
    """
    if with_class and plan.target is None:
        raise ValueError('no attribute is the class; give the one to predict role = "class"')
    if not learned_from(plan):
        unread = "; no model here reads sets of items, or numbers blurred together" if plan.channels else ""
        raise ValueError(f"there is no attribute beside the class to learn from; add one{unread}")
    for name, attribute in plan.attributes.items():
        if attribute.role == "class" and attribute.has_levels:
            raise ValueError(f"the class {name!r} has levels to choose from; give it one channel or none")


def learned_from(plan: Plan) -> dict[str, Mechanism | None]:
    """Return the channel of every attribute that a model reads, by name; None for one sent as it is.

    Left out are the class, baskets of items, and numbers blurred together.
    """
    unread = {name for name, attribute in plan.attributes.items() if isinstance(attribute.domain, (Items, Row))}
    return {name: channel for name, channel in plan.channels.items() if name not in unread}


def feature_columns(plan: Plan) -> list[str]:
    """Return the names of the columns of reports that a model reads.

    They are the attributes, and how strongly people chose to blur each (its level) where the plan leaves a choice.
    """
    read = learned_from(plan)
    return [*read, *(name + LEVEL_SUFFIX for name, each in read.items() if each is not None and each.has_levels)]


def features(plan: Plan, table: Any) -> Any:
    """Return the columns that a model reads of a PyArrow table of reports, or of true values (which have no levels)."""
    read = learned_from(plan)
    return table.select([name for name in feature_columns(plan) if name in read or name in table.column_names])


def classes(plan: Plan, table: Any) -> NDArray[Any]:
    """Return an array with the class label of each record of a PyArrow table.

    ValueError: one is missing or not in the plan.
    """
    target = plan.target
    if target is None:
        raise ValueError('no attribute is the class; give the one to predict role = "class"')
    labels, domain = as_array(table.column(target)), plan.attributes[target].domain
    name_row(domain.encode, labels, target)  # type: ignore[union-attr]
    unknown = np.flatnonzero(domain.encode(labels) < 0)  # type: ignore[union-attr]
    if unknown.size:
        raise ValueError(f"row {unknown[0] + 1:,} has no class in {target!r}; drop rows without a class")
    return labels


def label_channel(plan: Plan) -> Channel | None:
    """Return the channel that blurred the plan's class labels; None if labels are sent as they are."""
    channel = None if plan.target is None else plan.attributes[plan.target].channel
    return None if channel is None else channel.level(None)


def misfits(plan: Plan, reports: Any) -> dict[str, float]:
    """Return a dict of the attributes whose reports do not fit their channel, each with its p-value, below FALSE_ALARM.

    The p-value is the chance that reports made by the channel fit as badly.
    """
    answered = {
        name: counts
        for name, counts in plan.counts(reports).items()
        if any(tally.histogram.any() for tally in counts.levels.values())
    }
    requests = {name: request_of(counts, None) for name, counts in answered.items()}
    fits = {name: each.fit(0, each.evidence.table.dense().mean(axis=1)) for name, each in requests.items()}
    return {name: fit for name, fit in fits.items() if fit < FALSE_ALARM}


# --- measuring ------------------------------------------------------------------------------------------------------


def table_of(reports: Any) -> Any:
    """Return reports as a PyArrow table; of `Reports`, which may be too many for memory, those of a sample at most."""
    if not isinstance(reports, Reports):
        return to_arrow(reports)
    some = reports.sampled()
    columns: dict[str, Any] = {name: some.values(name) for name in some.names}
    for name in some.names:
        column = some.column(name)
        if column.level is not None:
            columns[name + LEVEL_SUFFIX] = np.array(list(column.levels), dtype=object)[column.level]
    if reports.target is not None:
        columns[reports.target] = array_of_labels(some.classes or ())[class_codes_in(some)]
    return to_arrow(columns)


def on_reports(model: Any, train_fold: Reports, test_fold: Reports, seed: int) -> dict[str, Any]:
    """Measure a model on held-out reports; return a dict with its accuracy on reported and, estimated, on true classes.

    ``model``: was fitted to ``train_fold``, whose reports the estimate reads too; ``test_fold``: the reports held out,
    in memory. Keys: ``records`` (how many), ``largest_class`` (its share), ``accuracy_on_reports``, ``accuracy`` and
    its ``stderr``, both None where fewer than LEAST_TO_JUDGE are held out.
    """
    codes = class_codes_in(test_fold)
    labels = array_of_labels(test_fold.classes or ())[codes]
    predicted = np.asarray(model.predict({name: test_fold.values(name) for name in test_fold.names}))
    largest = float(np.bincount(codes).max() / len(labels))
    accuracy, spread = None, None
    if len(test_fold) >= LEAST_TO_JUDGE and np.count_nonzero(test_fold.counts()) > 1:
        accuracy, spread = estimated_accuracy(model, train_fold, test_fold, stream(seed, "judge"))
    return {
        "records": len(labels), "largest_class": largest, "accuracy_on_reports": float(np.mean(predicted == labels)),
        "accuracy": accuracy, "stderr": spread,
    }


def on_people(model: Any, plan: Plan, people: Any) -> dict[str, Any]:
    """Measure the accuracy of a model, after writing and reading it, on people's true values; return a dict.

    ``people``: a table of true values with their class. Keys: ``records`` (how many), ``accuracy`` and ``stderr``.
    """
    labels = classes(plan, to_arrow(people))
    shipped = Shipped(type(model).from_dict(model.to_dict()), plan)
    accuracy = float(np.mean(np.asarray(shipped.predict(people)) == labels))
    spread = float(np.sqrt(accuracy * (1 - accuracy) / len(labels)))
    return {"records": len(labels), "accuracy": accuracy, "stderr": spread}


def measured_in_words(measured: dict[str, Any]) -> list[str]:
    """Return a model's measured accuracies as a list of sentences.

    ``measured``: the dict that `train` returns.
    """
    lines = [f"{name}: {misfit_in_words(fit)}." for name, fit in measured.get("misfit", {}).items()]
    if test := measured.get("test"):
        share = f"{percent(test['accuracy'])} ± {100 * test['stderr']:.1f}"
        lines.append(f"Accuracy on {test['records']:,} people whose true values are known: {share}.")
    if held_out := measured.get("held_out"):
        lines += _held_out_words(held_out)
    if "test" not in measured and "held_out" not in measured:
        lines.append("Nothing was measured; hold reports back with --holdout, or give people you know with --test.")
    return lines


def _held_out_words(held_out: dict[str, Any]) -> list[str]:
    """Return sentences about a model's accuracy on held-out reports, from the dict of `on_reports`."""
    base = f"the largest class alone is {percent(held_out['largest_class'])}"
    share = f"{percent(held_out['accuracy_on_reports'])} of the reported classes ({base})"
    lines = [f"Applied to {held_out['records']:,} blurred records held out of training it guesses {share}; "
             f"{_what_it_shows(held_out)}."]
    if held_out["accuracy"] is None:
        return [*lines, f"Fewer than {LEAST_TO_JUDGE} were held out, too few to tell how it does on true values."]
    spread = f"{percent(held_out['accuracy'])} ± {100 * held_out['stderr']:.1f}"
    return [
        f"Estimated accuracy on true values: {spread}, from held-out reports alone, because true values stay with the "
        "people; --test measures it on people whose values you know.",
        *lines,
    ]


def _what_it_shows(held_out: dict[str, Any]) -> str:
    """Return a clause on whether the model has learned anything, from the dict of `on_reports`.

    It has if its accuracy is two standard errors above the share of the largest class.
    """
    chance = 2 * np.sqrt(held_out["largest_class"] * (1 - held_out["largest_class"]) / held_out["records"])
    if held_out["accuracy_on_reports"] > held_out["largest_class"] + chance:
        return "so it has learned something, and true values, which are not blurred, should serve it better"
    return "that alone does not show that it has learned anything"
