"""`regress`: linear and logistic regression of a clear or blurred outcome on clear and blurred columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.counts import Reports
from sfumato.domain import Categories, Floats, as_numbers
from sfumato.plan import Plan
from sfumato.prose import listed, suggest
from sfumato.regression.design import RegressionTerm, answer_of, domains_in, is_labels, numbers_of, term_of
from sfumato.regression.linear import fit_linear
from sfumato.regression.logistic import fit_logistic
from sfumato.regression.result import Regression

CONSTANT = "(constant)"  # the name of the coefficient that every person has
KINDS = ("linear", "logistic")
UNBOUNDED = (  # the message where the likelihood has no maximum
    "the reports do not bound these coefficients: a category holds hardly anybody, or a column decides it; leave "
    "columns out or collect more"
)
MAGNITUDES = (1e-60, 1e60)
"""The smallest and largest absolute number of a column. Products of four such numbers, as covariances have, are within
the range of floats (1e−308 to 1e308)."""

FEW = 3.0
"""Standard errors above zero below which a blurred category's share brings a message: one category in 740 that nobody
has passes by chance. Larger warns of more categories that people do have."""


def regress(
    table: Any, channels: Any, outcome: str, on: Sequence[str] | str, *, weights: Any = None, kind: str | None = None,
    reference: Mapping[str, Any] | None = None,
) -> Regression:
    """Fit a linear or logistic regression with blurred columns; coefficients come with standard errors.

    ``table``: reports, in any form that `Reports` takes, or `Reports`. ``channels``: a plan, a mapping from column name
    to channel, or one entry a column (None where ``table`` is `Reports`, or nothing is blurred). ``outcome``: the
    column to explain: numbers for a linear regression, clear or blurred by noise whose reports are right on average;
    categories for a logistic one, clear or blurred. ``on``: the columns to explain it by, numbers or categories; a
    linear regression takes blurred ones too, a logistic one clear ones only. ``weights``: how many people each report
    stands for, an array or the name of a column (None: one). ``kind``: "linear" or "logistic" (None: as the outcome's
    type says; 0 and 1 need it). ``reference``: by column the category that others are compared with (the last where
    none is named).

    Linear regressions are fitted by unbiased moments, with errors that assume nothing about the outcome's spread;
    logistic ones by maximum likelihood.

    >>> import numpy as np, sfumato as sf
    >>> coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.8)
    >>> rng = np.random.default_rng(1)
    >>> smokes, age = rng.random(5000) < 0.3, rng.uniform(20, 80, 5000)
    >>> doctor = 1 + 2 * smokes + 0.05 * age + rng.normal(size=5000)  # visits
    >>> table = {"smokes": coin.randomize(np.where(smokes, "yes", "no"), rng), "age": age, "doctor": doctor}
    >>> found = sf.regress(table, {"smokes": coin}, "doctor", ["smokes", "age"])
    >>> print(found["smokes = yes"])
    1.962 ± 0.075
    """
    reports, names = _selected(table, channels, outcome, on, weights)
    domains, against = domains_in(channels), dict(reference or {})
    for name in against:
        if name not in (outcome, *names):
            raise ValueError(f"reference names {name!r}, which is neither the outcome nor among on=")
    if _kind(kind, outcome, reports, domains) == "logistic":
        return _logistic(reports, outcome, names, domains, against)
    return _linear(reports, outcome, names, domains, against)


def _selected(table: Any, channels: Any, outcome: str, on: Any, weights: Any) -> tuple[Reports, list[str]]:
    """Return (the reports of the columns of a regression, in memory; the names of the columns to explain by).

    The reports are those of the column to explain, ``outcome``, and the columns ``on``, with their weights. The
    parameters are those of `regress`; a column that is missing or named twice is an error.
    """
    names = [on] if isinstance(on, str) else list(on)
    if not names:
        raise ValueError("on= names no column; give those to regress on")
    if outcome in names or len(set(names)) < len(names):
        twice = outcome if outcome in names else next(name for name in names if names.count(name) > 1)
        raise ValueError(f"column {twice!r} is asked for twice; name the outcome and each column once")
    if isinstance(table, Reports):
        if channels is not None or weights is not None:
            raise ValueError("these reports know their channels and weights; give channels=None and no weights")
        reports = table
    else:
        with_channels = _channels_in(table, channels) if isinstance(channels, Plan) else channels
        if isinstance(weights, str) and weights in (outcome, *names):
            weights = _weights_beside(table, with_channels, weights)
        reports = Reports(table, with_channels, target=False, weights=weights)
    for name in (outcome, *names):
        if name not in reports.names:
            raise ValueError(f"column {name!r} is not in the table{suggest(str(name), reports.names)}")
    reports = reports.selected([outcome, *names])
    return reports if reports.in_memory else reports.sampled(len(reports)), names


def _channels_in(table: Any, plan: Plan) -> dict[str, Any]:
    """Return the channels of a plan for the blurred columns that a table has, by name.

    An error where the table names another plan as the one that made its reports.
    """
    plain = Reports(table, plan, target=False)
    plain.check_origin()
    return {name: plan.attributes[name].channel for name in plain.names if plan.attributes[name].channel}


def _weights_beside(table: Any, channels: Any, name: str) -> Floats:
    """Return how many people each report stands for, from a column that is itself part of the regression.

    ``name``: the column's, which must not be blurred.
    """
    reports = Reports(table, channels, target=False)
    if name not in reports.names or reports.channels[name] is not None:
        raise ValueError(f"weights={name!r} is no clear column of the table; name one that is")
    return as_numbers(reports.values(name))


def _kind(kind: str | None, outcome: str, reports: Reports, domains: Mapping[str, Any]) -> str:
    """Return the kind of regression: "linear" for an outcome of numbers, "logistic" for categories.

    ``kind``: the one that was asked for, returned after a check that the outcome fits it; None: none was.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind={kind!r} is unknown; use {listed(KINDS, 'or')}")
    channel = reports.channels[outcome]
    if channel is not None:
        categories = isinstance(channel.domain, Categories)
    else:
        categories = is_labels(reports.values(outcome), domains.get(outcome))
    if kind == "linear" and categories:
        raise ValueError(f"kind='linear' needs numbers, and {outcome!r} is of categories; leave kind out")
    if kind == "logistic" and not categories and channel is not None:
        raise ValueError(f"kind='logistic' needs categories, and {outcome!r} is of blurred numbers; leave kind out")
    return kind or ("logistic" if categories else "linear")


def _linear(
    reports: Reports, outcome: str, names: list[str], domains: Mapping[str, Any], reference: Mapping[str, Any]
) -> Regression:
    """Fit the linear regression of ``outcome`` on the columns ``names``, of those who answered everything.

    ``domains``: by column what may be answered. ``reference``: by column the category that others are compared with.
    """
    terms = [term_of(name, reports, domains.get(name), reference.get(name)) for name in names]
    y = numbers_of(outcome, reports)
    complete, weights, worth = _complete(reports, [outcome, *names], [y[:, None], *(term.numbers for term in terms)])
    if reports.channels[outcome] is None and np.ptp(y[complete]) == 0:
        raise ValueError(f"{outcome!r} is {y[complete][0]:g} for everybody, so there is nothing to explain")
    terms = [_constant(complete.sum()), *(_only(term, complete) for term in terms)]
    _check_clear(np.hstack([term.numbers for term in terms if term.excess is None]), terms)
    coef, covariance = fit_linear(terms, y[complete], weights)
    names_of_coef = tuple(name for term in terms for name in term.names)
    facts = int(complete.sum()), int((~complete).sum()), worth
    return Regression("linear", outcome, names_of_coef, coef, covariance, *facts, messages=_rare(terms, weights))


def _logistic(
    reports: Reports, outcome: str, names: list[str], domains: Mapping[str, Any], reference: Mapping[str, Any]
) -> Regression:
    """Fit the logistic regression of ``outcome`` on the columns ``names``, of those who answered everything.

    ``domains``: by column what may be answered. ``reference``: by column the category that others are compared with.
    """
    blurred = [name for name in names if reports.channels[name] is not None]
    if blurred:
        raise ValueError(f"a logistic regression needs clear columns, and {blurred[0]!r} is blurred; leave it out")
    answer = answer_of(outcome, reports, domains.get(outcome), reference.get(outcome))
    terms = [term_of(name, reports, domains.get(name), reference.get(name)) for name in names]
    columns = [answer.chances, *(term.numbers for term in terms)]
    complete, weights, worth = _complete(reports, [outcome, *names], columns)
    terms = [_constant(complete.sum()), *(_only(term, complete) for term in terms)]
    numbers = np.hstack([term.numbers for term in terms])
    _check_clear(numbers, terms)
    answer = replace(answer, chances=answer.chances[complete], level=answer.level[complete])
    fit = fit_logistic(numbers, answer, weights, robust=worth < complete.sum() * (1 - 1e-9))
    features, (first, *others) = [name for term in terms for name in term.names], answer.labels
    names_of_coef = [f"{label}: {name}" if len(others) > 1 else name for label in others for name in features]
    head = outcome if len(others) > 1 else f"{outcome} = {others[0]}"
    messages = () if fit.bounded else (UNBOUNDED,)
    facts = int(complete.sum()), int((~complete).sum()), worth
    return Regression(
        "logistic", head, tuple(names_of_coef), fit.coef, fit.covariance, *facts, first, fit.log_likelihood, messages
    )


def _complete(reports: Reports, names: list[str], columns: list[Floats]) -> tuple[Any, Floats, float]:
    """Return (who answered everything, their weights, how many people of equal weight would have the same error).

    One truth value for each person; one weight, of mean 1, for each who answered everything; and (Σw)²/Σw².
    ``columns``: for each of ``names`` its numbers, one row a person, NaN where missing.
    """
    complete = ~np.isnan(np.hstack(columns)).any(axis=1)
    weights = np.ones(complete.size) if reports.weights is None else np.asarray(reports.weights, dtype=float)
    complete &= weights > 0
    if not complete.any():
        raise ValueError("nobody answered the outcome and every column with a weight above zero; leave columns out")
    for name, column in zip(names, columns, strict=True):
        largest = np.abs(column[complete]).max(axis=0)
        if not np.isfinite(largest).all():
            raise ValueError(f"column {name!r} holds an infinite number; mark it as missing (NaN) or drop it")
        if ((largest > MAGNITUDES[1]) | (largest > 0) & (largest < MAGNITUDES[0])).any():
            raise ValueError(f"column {name!r} holds numbers as large as {largest.max():.3g}; use other units")
    chosen = weights[complete]
    worth = float(chosen.sum() ** 2 / (chosen**2).sum())
    return complete, chosen / chosen.mean(), worth


def _constant(people: Any) -> RegressionTerm:
    """Return the column of the constant as it enters a regression: 1 for each of so many ``people``."""
    return RegressionTerm((CONSTANT,), np.ones((int(people), 1)))


def _only(term: RegressionTerm, complete: Any) -> RegressionTerm:
    """Return a column of a regression with those people alone whom ``complete``, one truth value each, marks."""
    return replace(term, numbers=term.numbers[complete], excess=None if term.excess is None else term.excess[complete])


def _check_clear(numbers: Floats, terms: list[RegressionTerm]) -> None:
    """Raise ValueError for a column that is not blurred and is a linear function of those before it.

    ``numbers[person, column]``: the values of such columns. ``terms``: all columns.
    """
    names = [name for term in terms if term.excess is None for name in term.names]
    scaled = numbers / np.maximum(np.abs(numbers).max(axis=0), 1e-300)
    left = np.abs(np.diag(np.linalg.qr(scaled, mode="r"))) if len(scaled) >= len(names) else np.zeros(0)
    if left.size < len(names):
        raise ValueError(f"{len(scaled)} people are too few for {len(names)} columns; drop some or collect more")
    for name, remainder in zip(names, left, strict=True):
        if remainder < 1e-9 * np.sqrt(len(scaled)):
            raise ValueError(f"{name!r} is the same for everybody, or follows from the columns before it; leave it out")


def _rare(terms: list[RegressionTerm], weights: Floats) -> tuple[str, ...]:
    """Return sentences of warning, one for each blurred category that perhaps nobody has.

    Its coefficient is less sure than its standard error says. ``weights``: of each person.
    """
    messages = []
    for term in (term for term in terms if term.apart):
        share = weights @ term.numbers / weights.sum()
        error = np.sqrt((weights**2) @ (term.numbers - share) ** 2) / weights.sum()
        messages += [
            f"{name} may be nobody's: its share is {max(part, 0):.1%} ± {wrong:.1%}; its coefficient is unsure"
            for name, part, wrong in zip(term.names, share, error, strict=True)
            if part < FEW * wrong
        ]
    return tuple(messages)
