"""The bound γ for all answers of one person, and how it is divided among questions that state no parameter.

    γ_1 · γ_2 · … ≤ γ of the plan, in fractions

The γ of questions with a parameter of their own are divided off first. What is left goes where it lowers Σ weight·R the
most. R is by how much noise adds to the variance of a question's estimate: n reports have the error of n/(1 + R) true
answers.

    categories   R = ((γ + d − 1)/(γ − 1))² − 1             a share of d equally frequent ones
    many         R ≈ 4γ(d − 1)/(γ − 1)² − 1                 d categories reported as sets of two or more
    numbers      R = 12·V(γ)                                the mean of evenly spread ones, V of the piecewise channel
    laplace      R = 24/ln²γ                                the mean of evenly spread ones

For categories R is the squared error of all d shares together, divided by the error of drawing the people, so that a
question with many categories gets more: for small γ about in proportion to the cube root of d.

Where each person answers k of m questions (``questions_each``), only the k largest γ multiply. The questions without a
parameter all get the same γ, whatever the device draws:

    γ_share = the largest with Π of the k largest ≤ γ of the plan;   variance ∝ (m/k)·(1 + R(γ_share))

so that small k has less error where the noise dominates, and k = m where it does not.

All is computed in operations that give the same digits on every machine, for the shares are part of a plan's identity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.channels.bound import BOUNDS, checked_bound, gamma_of, require_one
from sfumato.channels.bounded.piecewise import best_window
from sfumato.channels.bounded.randomized_response import RandomizedResponse
from sfumato.channels.bounded.subset_response import FEWEST_IN_SETS, SubsetResponse, sets_serve_better
from sfumato.channels.mechanism import Mechanism
from sfumato.channels.portable import exponential, logarithm
from sfumato.domain import DOMAIN_KEYS, Categories, Domain, Interval, domain_from_spec
from sfumato.plan.attribute import Attribute
from sfumato.prose import listed

SIZES = (*BOUNDS, "keep", "scale", "privacy", "snr", "designs")
"""Parameters that say how much a channel blurs."""

PARTS = 1000
"""Equal parts of ln γ that are given away one by one (20 a question where that is more). Chosen by judgement: a share
is off by at most a thousandth of the plan's ln γ; more parts take proportionally longer."""

LEAST_GAMMA = 1.001
"""The smallest γ that a question may be given; with less a plan is refused. Chosen by judgement: randomized response
with γ = 1.001 and two categories multiplies the variance by about four million."""

DIGITS = 6
"""Decimal digits to which γ − 1 is rounded, down: enough that nobody could measure the difference, few enough to read
in a plan file."""

COARSE = 65
"""Values and places of the grid on which the piecewise channel's variance is computed for R. Chosen by judgement; the
channel of the plan itself is built on its own grid. A change would change shares, and so identities of plans."""

Specs = Mapping[str, Mapping[str, Any]]


def read_budget(spec: Mapping[str, Any]) -> float | None:
    """Return the bound γ (largest factor on the odds) that a plan file states for all answers of a person together.

    ``spec``: the file as plain data, with "gamma" or "epsilon", its logarithm; None if it states neither.
    """
    given = {name: spec.get(name) for name in BOUNDS}
    if not any(name in spec for name in BOUNDS):
        return None
    name, value = require_one("the whole plan", **given)
    return gamma_of(name, checked_bound(name, value))


def takes_share(part: Any, budget: float | None) -> bool:
    """Return whether a question gets a share of the plan's bound, and has no strength of blurring of its own.

    ``part``: its part of the plan file. It does where the plan has a bound (``budget``), its part of the plan file
    states no parameter of size, and its channel can be designed for a γ. A weight on any other attribute raises
    ValueError.
    """
    if not isinstance(part, Mapping):
        return False
    kind = part.get("channel")
    if kind is None:
        waits = budget is not None and part.get("role", "attribute") == "attribute" and not set(SIZES) & set(part)
    else:
        waits = (
            budget is not None
            and str(kind) in Mechanism.registry
            and "gamma" in Mechanism.registry[str(kind)].parameter_names()
            and not set(SIZES) & set(part)
        )
    if "weight" in part and not waits:
        fix = "leave it out" if budget is not None else "write gamma = … or epsilon = … at the top of the plan"
        raise ValueError(f"weight is for questions that share a bound of the whole plan; {fix}")
    return waits


def with_shares(
    waiting: Specs, own: Mapping[str, Attribute], budget: float, questions_each: int | None = None
) -> dict[str, dict[str, Any]]:
    """Divide a plan's bound γ among the questions that share it; return their parts of the plan file, completed.

    Each gets a γ, and a channel where it names none. The result is by name.

    ``waiting``: these parts, by name. ``own``: the attributes with a parameter of their own, whose γ are divided off
    ``budget`` first. ``questions_each``: how many questions each person answers (None: all).
    """
    if not waiting:
        return {}
    if questions_each is None:
        remaining = Fraction(budget) / math.prod(map(_own_gamma, own.values()), start=Fraction(1))
    else:
        if any("weight" in part for part in waiting.values()):
            raise ValueError("weight has no meaning beside questions_each, where all get the same share; leave it out")
        remaining, questions_each = _left_for_each(own, budget, questions_each, len(waiting))
    if remaining <= 1:
        used = listed(name for name, attribute in own.items() if attribute.channel is not None)
        raise ValueError(f"{used} use all of the plan's gamma = {budget:g}; raise it, or give them less")
    total = logarithm(float(remaining))
    if questions_each is None:
        gammas = _rounded(_divided([_cost(part) for part in waiting.values()], total), remaining)
    else:
        gammas = [min(_rounded([total / questions_each] * questions_each, remaining))] * len(waiting)
    if min(gammas) < LEAST_GAMMA:
        count = f"{len(gammas)} questions" if len(gammas) > 1 else "a question"
        raise ValueError(
            f"gamma = {budget:g} is too little for {count}: one would get γ = {min(gammas):.6g}, through which no "
            "crowd can be read; raise it, or ask less"
        )
    return {
        name: {"channel": _usual(part, gamma), **{key: part[key] for key in part if key != "weight"}, "gamma": gamma}
        for (name, part), gamma in zip(waiting.items(), gammas, strict=True)
    }


def _left_for_each(
    own: Mapping[str, Attribute], budget: float, questions_each: int, count: int
) -> tuple[Fraction, int]:
    """Return (γ that is left to share, how many equal shares) for the worst draw of questions that a device may make.

    A device may draw 0, 1, 2, … of the questions with a γ of their own (``own``); the others of its ``questions_each``
    share what those leave. ``count``: how many questions share.
    """
    always = math.prod((_own_gamma(one) for one in own.values() if one.role == "class"), start=Fraction(1))
    largest = sorted((_own_gamma(one) for one in own.values() if one.role == "attribute"), reverse=True)
    products = [math.prod(largest[:taken], start=always) for taken in range(min(questions_each, len(largest) + 1))]
    left = [(Fraction(budget) / gamma, min(questions_each - taken, count)) for taken, gamma in enumerate(products)]
    return min(left, key=lambda gamma_and_count: logarithm(max(float(gamma_and_count[0]), 1.0)) / gamma_and_count[1])


def total_gamma(attributes: Mapping[str, Attribute], questions_each: int | None) -> Fraction:
    """Return γ (largest factor on the odds) of all that one person answers, as an exact fraction.

    It is the product of the questions' γ; where a device draws some, of the largest that it may draw.

    ``questions_each``: how many questions a device draws (None: it asks all).
    """
    drawn = sorted((_own_gamma(each) for each in attributes.values() if each.role == "attribute"), reverse=True)
    others = (_own_gamma(each) for each in attributes.values() if each.role != "attribute")
    return math.prod((*drawn[:questions_each], *others), start=Fraction(1))


def variance_by_questions_each(attributes: Mapping[str, Attribute], budget: float) -> dict[int, float]:
    """Return how precise estimates would be if each person answered k of the questions: their mean variance, by k.

    k goes from 1 to all questions, which share the bound ``budget``.

    Relative to the variance if each answers all; all questions weigh the same. Empty where there are no questions, or
    where R is not defined for one of them (baskets).
    """
    drawn = [attribute for attribute in attributes.values() if attribute.role == "attribute"]
    if not drawn or not all(isinstance(attribute.domain, Categories | Interval) for attribute in drawn):
        return {}
    costs, total, count = [_cost(attribute.to_dict()) for attribute in drawn], logarithm(budget), len(drawn)
    shares_by_number = {k: [total / k] * count for k in range(1, count)} | {count: _divided(costs, total)}
    mean = {
        k: count / k * sum(1 + cost(share) for cost, share in zip(costs, shares, strict=True))
        for k, shares in shares_by_number.items()
    }
    return {k: variance / mean[count] for k, variance in mean.items()}


def check_budget(attributes: Mapping[str, Attribute], budget: float, questions_each: int | None = None) -> None:
    """Raise ValueError if all answers of one person together have a larger γ than ``budget``."""
    total = total_gamma(attributes, questions_each)
    if total > Fraction(budget):
        stated = f"all answers together have γ = {float(total):.6g}"
        raise ValueError(f"{stated}, above the plan's gamma = {budget:g}; raise it, or give them less")


def shares_of(attributes: Mapping[str, Attribute], budget: float) -> dict[str, float]:
    """Return the share of the plan's bound that each blurred question takes, by name: ln γ(question)/ln γ(plan)."""
    blurred = {name: attribute for name, attribute in attributes.items() if attribute.channel is not None}
    return {name: math.log(_own_gamma(attribute)) / math.log(budget) for name, attribute in blurred.items()}


def _own_gamma(attribute: Attribute) -> Fraction:
    """Return γ (largest factor on the odds) of one question as an exact fraction; an infinite γ raises ValueError.

    1 where nothing is blurred, as what is sent openly is not counted.
    """
    if attribute.channel is None:
        return Fraction(1)
    gamma = attribute.channel.guarantee().gamma
    if not math.isfinite(gamma):
        why = attribute.channel.unbounded or "some report rules a value out; use another channel"
        what = f"{attribute.channel.kind} has no bound, so no gamma of the plan holds"
        raise ValueError(f"attributes.{attribute.name}: {what}: {why}")
    return Fraction(gamma)


# --- how the bound is divided ---------------------------------------------------------------------------------------


def _usual(part: Mapping[str, Any], gamma: float) -> str:
    """Return the name of the channel that a question gets at this γ where its part of the plan file names none."""
    domain = _domain(part)
    if not isinstance(domain, Categories):
        return "square-wave"
    return SubsetResponse.kind if sets_serve_better(domain.size, gamma) else RandomizedResponse.kind


def _domain(part: Mapping[str, Any]) -> Domain:
    """Return the domain that an attribute's part of a plan file describes."""
    return domain_from_spec({key: value for key, value in part.items() if key in DOMAIN_KEYS})


def _cost(part: Mapping[str, Any]) -> Callable[[float], float]:
    """Return the function that tells how imprecise a question's estimates are at a share ln γ of the bound: weight·R.

    ``part``: the question's part of the plan file, with its weight. R is the variance that blurring adds, relative to
    that without it.
    """
    domain, weight = _domain(part), _check_weight(part.get("weight", 1))
    if isinstance(domain, Categories):
        kind, size = part.get("channel"), domain.size
        return lambda share: weight * _cost_of_categories(size, _gamma(share), kind)
    if part.get("channel") == "laplace":
        return lambda share: weight * 24 / (share * share)
    if not isinstance(domain, Interval):
        raise ValueError("only numbers and categories can share a bound; give this one a gamma of its own")
    return lambda share: weight * 12 * best_window(COARSE, _gamma(share), COARSE)[0]


def _cost_of_categories(size: int, gamma: float, kind: str | None) -> float:
    """Return R, the variance that blurring adds to estimates of ``size`` categories, relative to that without it.

    For reports of one category (``kind``: randomized response), or else of sets of the best number of members. It falls
    with γ without a jump.
    """
    if size == 1:
        return 0.0
    return _cost_of_sets(size, gamma, 1 if kind == RandomizedResponse.kind else _best_size(size, gamma))


def _best_size(size: int, gamma: float) -> int:
    """Return how many of ``size`` categories a reported set should have, about d/(γ + 1); 1 is randomized response."""
    about = int(size / (gamma + 1))
    sizes = [1] if size < FEWEST_IN_SETS else range(max(about, 1), min(about + 1, size // 2) + 1)
    return min(sizes, key=lambda members: _cost_of_sets(size, gamma, members))


def _cost_of_sets(size: int, gamma: float, members: int) -> float:
    """Return R, the relative variance that blurring adds, for reports that are sets of m of d categories.

        R = m(d − m)/((p − ρ)²(d − 1)) − 1,   m = ``members``, d = ``size``,
        p = γm/(γm + d − m), the chance that the true category is in the set; ρ that of another
    """
    p = gamma * members / (gamma * members + size - members)
    stray = (p * (members - 1) + (1 - p) * members) / (size - 1)
    return members * (size - members) / (p - stray) ** 2 / (size - 1) - 1


def _gamma(share: float) -> float:
    """Return γ from ``share``, its logarithm, with the same digits on every machine."""
    return 1 / float(exponential(np.array(-share)))


def _divided(costs: list[Callable[[float], float]], total: float) -> list[float]:
    """Divide ``total`` ln γ among questions: one small part after the other goes where it lowers the cost the most.

    ``costs``: each question's weight·R as a function of its ln γ. Returns ln γ of each.
    """
    parts = max(PARTS, 20 * len(costs))
    taken = [1] * len(costs)
    cost_now = [cost(total / parts) for cost in costs]
    cost_next = [cost(2 * total / parts) for cost in costs]
    for _ in range(parts - len(costs)):
        index = max(range(len(costs)), key=lambda i: cost_now[i] - cost_next[i])
        taken[index] += 1
        cost_now[index], cost_next[index] = cost_next[index], costs[index]((taken[index] + 1) * total / parts)
    return [count * total / parts for count in taken]


def _rounded(shares: list[float], most: Fraction) -> list[float]:
    """Return a list of every question's γ from its ln γ (``shares``), rounded to few digits for plan files.

    γ − 1 is rounded down to DIGITS digits; the product of all is at most ``most``.
    """
    down = Context(prec=DIGITS, rounding=ROUND_FLOOR)
    gammas = [1 + down.create_decimal(Decimal(_gamma(share) - 1) * (1 + Decimal("1e-12"))) for share in shares]
    while math.prod(map(Fraction, map(float, gammas)), start=Fraction(1)) > most:
        largest = max(range(len(gammas)), key=lambda i: gammas[i])
        gammas[largest] = 1 + (gammas[largest] - 1).next_minus(down)
    return [float(gamma) for gamma in gammas]


def _check_weight(weight: Any) -> float:
    """Return a question's weight as a float; raise ValueError unless it is a number above 0 and below 1e9."""
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < 1e9:
        raise ValueError(f"weight = {weight!r} is not a number above 0; write 2 for what matters twice as much")
    return float(weight)
