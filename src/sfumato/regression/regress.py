"""`regress`: a clear or blurred outcome on clear and blurred columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.counts import Reports
from sfumato.domain import Categories, Floats, as_numbers
from sfumato.plan import Plan
from sfumato.prose import listed, suggest
from sfumato.regression.design import Term, answer_of, domains_in, is_labels, numbers_of, term_of
from sfumato.regression.linear import fit_linear
from sfumato.regression.logistic import fit_logistic
from sfumato.regression.result import Regression

CONSTANT = "(constant)"
KINDS = ("linear", "logistic")
UNBOUNDED = (
    "the reports do not bound these coefficients: a category holds hardly anybody, or a column decides it; leave "
    "columns out or collect more"
)
MAGNITUDES = (1e-60, 1e60)  # products of four such numbers, as covariances have, are numbers too
FEW = 3.0  # standard errors by which people in a category must be there


def regress(
    table: Any, channels: Any, outcome: str, on: Sequence[str] | str, *, weights: Any = None, kind: str | None = None,
    reference: Mapping[str, Any] | None = None,
) -> Regression:
    """Regress an outcome on columns, of which any may be blurred; coefficients come with standard errors.

    ``table`` and ``channels``: as of `Reports` (or ``table`` is one, and ``channels`` None). ``outcome``: numbers, for
    a linear regression, clear or blurred by noise that follows the value; or categories, clear or blurred, for a
    logistic one. ``on``: columns of numbers or categories; any of them blurred in a linear regression, clear in a
    logistic one. ``weights``: how many people each report stands for. ``kind``: "linear" or "logistic", where the
    outcome does not say it (0 and 1). ``reference``: by column the category that others are held against; else the
    last. A line is fitted by moments that the noise leaves unbiased, with errors that assume nothing of the outcome's
    spread; log odds by maximum likelihood.

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
    reports, names = _held(table, channels, outcome, on, weights)
    domains, against = domains_in(channels), dict(reference or {})
    for name in against:
        if name not in (outcome, *names):
            raise ValueError(f"reference names {name!r}, which is neither the outcome nor among on=")
    if _kind(kind, outcome, reports, domains) == "logistic":
        return _logistic(reports, outcome, names, domains, against)
    return _linear(reports, outcome, names, domains, against)


def _held(table: Any, channels: Any, outcome: str, on: Any, weights: Any) -> tuple[Reports, list[str]]:
    """The reports of the columns that are asked for, in memory."""
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
        known = _known(table, channels) if isinstance(channels, Plan) else channels
        if isinstance(weights, str) and weights in (outcome, *names):
            weights = _weights_beside(table, known, weights)
        reports = Reports(table, known, target=False, weights=weights)
    for name in (outcome, *names):
        if name not in reports.names:
            raise ValueError(f"column {name!r} is not in the table{suggest(str(name), reports.names)}")
    reports = reports.selected([outcome, *names])
    return reports if reports.in_memory else reports.sampled(len(reports)), names


def _known(table: Any, plan: Plan) -> dict[str, Any]:
    """The channels of a plan that this table went through."""
    plain = Reports(table, plan, target=False)
    plain.check_origin()
    return {name: each.channel for name, each in plan.attributes.items() if each.channel and name in plain.names}


def _weights_beside(table: Any, channels: Any, name: str) -> Floats:
    """Weights that are also regressed on."""
    reports = Reports(table, channels, target=False)
    if name not in reports.names or reports.channels[name] is not None:
        raise ValueError(f"weights={name!r} is no clear column of the table; name one that is")
    return as_numbers(reports.values(name))


def _kind(kind: str | None, outcome: str, reports: Reports, domains: Mapping[str, Any]) -> str:
    """Numbers are regressed in a line, categories by log odds."""
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
    terms = [term_of(name, reports, domains.get(name), reference.get(name)) for name in names]
    y = numbers_of(outcome, reports)
    known, weights, worth = _complete(reports, [outcome, *names], [y[:, None], *(term.numbers for term in terms)])
    if reports.channels[outcome] is None and np.ptp(y[known]) == 0:
        raise ValueError(f"{outcome!r} is {y[known][0]:g} for everybody, so there is nothing to explain")
    terms = [_constant(known.sum()), *(_only(term, known) for term in terms)]
    _check_clear(np.hstack([term.numbers for term in terms if term.excess is None]), terms)
    coef, covariance = fit_linear(terms, y[known], weights)
    found = tuple(name for term in terms for name in term.names)
    facts = int(known.sum()), int((~known).sum()), worth
    return Regression("linear", outcome, found, coef, covariance, *facts, messages=_rare(terms, weights))


def _logistic(
    reports: Reports, outcome: str, names: list[str], domains: Mapping[str, Any], reference: Mapping[str, Any]
) -> Regression:
    blurred = [name for name in names if reports.channels[name] is not None]
    if blurred:
        raise ValueError(f"a logistic regression needs clear columns, and {blurred[0]!r} is blurred; leave it out")
    answer = answer_of(outcome, reports, domains.get(outcome), reference.get(outcome))
    terms = [term_of(name, reports, domains.get(name), reference.get(name)) for name in names]
    known, weights, worth = _complete(reports, [outcome, *names], [answer.chances, *(term.numbers for term in terms)])
    terms = [_constant(known.sum()), *(_only(term, known) for term in terms)]
    numbers = np.hstack([term.numbers for term in terms])
    _check_clear(numbers, terms)
    answer = replace(answer, chances=answer.chances[known], level=answer.level[known])
    fit = fit_logistic(numbers, answer, weights, robust=worth < known.sum() * (1 - 1e-9))
    columns, (first, *others) = [name for term in terms for name in term.names], answer.labels
    found = [f"{label}: {name}" if len(others) > 1 else name for label in others for name in columns]
    head = outcome if len(others) > 1 else f"{outcome} = {others[0]}"
    said = () if fit.bounded else (UNBOUNDED,)
    facts = int(known.sum()), int((~known).sum()), worth
    return Regression(
        "logistic", head, tuple(found), fit.coef, fit.covariance, *facts, first, fit.log_likelihood, said
    )


def _complete(reports: Reports, names: list[str], columns: list[Floats]) -> tuple[Any, Floats, float]:
    """Who answered everything, their weights (of mean 1), and how many of one weight they are worth."""
    known = ~np.isnan(np.hstack(columns)).any(axis=1)
    weights = np.ones(known.size) if reports.weights is None else np.asarray(reports.weights, dtype=float)
    known &= weights > 0
    if not known.any():
        raise ValueError("nobody answered the outcome and every column with a weight above zero; leave columns out")
    for name, column in zip(names, columns, strict=True):
        largest = np.abs(column[known]).max(axis=0)
        if not np.isfinite(largest).all():
            raise ValueError(f"column {name!r} holds an infinite number; mark it as missing (NaN) or drop it")
        if ((largest > MAGNITUDES[1]) | (largest > 0) & (largest < MAGNITUDES[0])).any():
            raise ValueError(f"column {name!r} holds numbers as large as {largest.max():.3g}; use other units")
    chosen = weights[known]
    worth = float(chosen.sum() ** 2 / (chosen**2).sum())
    return known, chosen / chosen.mean(), worth


def _constant(people: Any) -> Term:
    return Term((CONSTANT,), np.ones((int(people), 1)))


def _only(term: Term, known: Any) -> Term:
    return replace(term, numbers=term.numbers[known], excess=None if term.excess is None else term.excess[known])


def _check_clear(numbers: Floats, terms: list[Term]) -> None:
    """Refuse clear columns that follow from those before them."""
    names = [name for term in terms if term.excess is None for name in term.names]
    scaled = numbers / np.maximum(np.abs(numbers).max(axis=0), 1e-300)
    left = np.abs(np.diag(np.linalg.qr(scaled, mode="r"))) if len(scaled) >= len(names) else np.zeros(0)
    if left.size < len(names):
        raise ValueError(f"{len(scaled)} people are too few for {len(names)} columns; drop some or collect more")
    for name, rest in zip(names, left, strict=True):
        if rest < 1e-9 * np.sqrt(len(scaled)):
            raise ValueError(f"{name!r} is the same for everybody, or follows from the columns before it; leave it out")


def _rare(terms: list[Term], weights: Floats) -> tuple[str, ...]:
    """Said where nobody may be in a category: then its coefficient is less sure than its standard error says."""
    said = []
    for term in (term for term in terms if term.apart):
        share = weights @ term.numbers / weights.sum()
        error = np.sqrt((weights**2) @ (term.numbers - share) ** 2) / weights.sum()
        said += [
            f"{name} may be nobody's: its share is {max(part, 0):.1%} ± {wrong:.1%}; its coefficient is unsure"
            for name, part, wrong in zip(term.names, share, error, strict=True)
            if part < FEW * wrong
        ]
    return tuple(said)
