"""A bound for all answers of one person, shared out among the questions that state no parameter of their own.

    γ_1 · γ_2 · … ≤ γ of the plan, in fractions

Questions with a parameter of their own are taken off first. What is left goes where it lowers Σ weight·R the most, R
being by how much noise multiplies the variance of a question's estimate: n reports tell as much as n/(1 + R) answers.

    categories   R = ((γ + d − 1)/(γ − 1))² − 1             a share of d equally frequent ones
    many         R ≈ 4γ(d − 1)/(γ − 1)² − 1                 the same as sets, where those of two or more serve better
    numbers      R = 12·V(γ)                                the mean of evenly spread ones, V of the piecewise channel
    laplace      R = 24/ln²γ                                the same

Of categories that is the squared error of all d shares together, in units of what drawing the people alone leaves, so
that a question of many categories gets more; for small γ about in proportion to the cube root of d.

Where each person answers k of m questions (``questions_each``), only the k largest γ multiply. Those that share get the
same, whatever the device draws:

    γ_share = the largest with Π of the k largest ≤ γ of the plan;   variance ∝ (m/k)·(1 + R(γ_share))

so that few questions each serve better where noise is what counts, and all of them where it is not.

All are computed in operations whose digits are the same on every machine: the shares are part of a plan's identity.
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
LEAST_GAMMA = 1.001
DIGITS = 6
COARSE = 65

Specs = Mapping[str, Mapping[str, Any]]


def read_budget(spec: Mapping[str, Any]) -> float | None:
    """γ of all answers together, where a plan states one."""
    given = {name: spec.get(name) for name in BOUNDS}
    if not any(name in spec for name in BOUNDS):
        return None
    name, value = require_one("the whole plan", **given)
    return gamma_of(name, checked_bound(name, value))


def takes_share(part: Any, budget: float | None) -> bool:
    """Whether an attribute waits for its share: its channel can be given a bound, and has no size of its own."""
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
    waiting: Specs, own: Mapping[str, Attribute], budget: float, each: int | None = None
) -> dict[str, dict[str, Any]]:
    """The specifications with their shares of what the others leave; ``each``: so many questions a person answers."""
    if not waiting:
        return {}
    if each is None:
        rest = Fraction(budget) / math.prod((_own_gamma(one) for one in own.values()), start=Fraction(1))
    else:
        if any("weight" in part for part in waiting.values()):
            raise ValueError("weight has no meaning beside questions_each, where all get the same share; leave it out")
        rest, each = _left_for_each(own, budget, each, len(waiting))
    if rest <= 1:
        used = listed(name for name, one in own.items() if one.channel is not None)
        raise ValueError(f"{used} use all of the plan's gamma = {budget:g}; raise it, or give them less")
    total = logarithm(float(rest))
    if each is None:
        gammas = _rounded(_divided([_cost(part) for part in waiting.values()], total), rest)
    else:
        gammas = [min(_rounded([total / each] * each, rest))] * len(waiting)
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


def _left_for_each(own: Mapping[str, Attribute], budget: float, each: int, count: int) -> tuple[Fraction, int]:
    """(what is left, for so many equal shares) where it is tightest: beside none, one, two … of the largest γ of
    questions that have their own."""
    always = math.prod((_own_gamma(one) for one in own.values() if one.role == "class"), start=Fraction(1))
    largest = sorted((_own_gamma(one) for one in own.values() if one.role == "attribute"), reverse=True)
    beside = [math.prod(largest[:taken], start=always) for taken in range(min(each, len(largest) + 1))]
    left = [(Fraction(budget) / gamma, min(each - taken, count)) for taken, gamma in enumerate(beside)]
    return min(left, key=lambda one: logarithm(max(float(one[0]), 1.0)) / one[1])


def total_gamma(attributes: Mapping[str, Attribute], each: int | None) -> Fraction:
    """γ of all that one person answers: of questions that are drawn, the ``each`` largest."""
    drawn = sorted((_own_gamma(one) for one in attributes.values() if one.role == "attribute"), reverse=True)
    rest = (_own_gamma(one) for one in attributes.values() if one.role != "attribute")
    return math.prod((*drawn[:each], *rest), start=Fraction(1))


def variance_by_questions_each(attributes: Mapping[str, Attribute], budget: float) -> dict[int, float]:
    """The mean variance if each person answered 1, 2, … of the questions, relative to all of them; equal weights.

    Empty where there are none, or where some have no R: baskets."""
    asked = [one for one in attributes.values() if one.role == "attribute"]
    if not asked or not all(isinstance(one.domain, Categories | Interval) for one in asked):
        return {}
    costs, total, count = [_cost(one.to_dict()) for one in asked], logarithm(budget), len(asked)
    ways = {each: [total / each] * count for each in range(1, count)} | {count: _divided(costs, total)}
    mean = {
        each: count / each * sum(1 + cost(share) for cost, share in zip(costs, shares, strict=True))
        for each, shares in ways.items()
    }
    return {each: variance / mean[count] for each, variance in mean.items()}


def check_budget(attributes: Mapping[str, Attribute], budget: float, each: int | None = None) -> None:
    """All answers together keep the bound."""
    total = total_gamma(attributes, each)
    if total > Fraction(budget):
        found = f"all answers together have γ = {float(total):.6g}"
        raise ValueError(f"{found}, above the plan's gamma = {budget:g}; raise it, or give them less")


def shares_of(attributes: Mapping[str, Attribute], budget: float) -> dict[str, float]:
    """ln γ of every blurred attribute, as a share of that of the plan."""
    blurred = {name: each for name, each in attributes.items() if each.channel is not None}
    return {name: math.log(_own_gamma(each)) / math.log(budget) for name, each in blurred.items()}


def _own_gamma(each: Attribute) -> Fraction:
    """γ of an attribute as it is stated, 1 where it is sent in the clear."""
    if each.channel is None:
        return Fraction(1)
    gamma = each.channel.guarantee().gamma
    if not math.isfinite(gamma):
        why = each.channel.unbounded or "some report rules a value out; use another channel"
        what = f"{each.channel.kind} has no bound, so no gamma of the plan holds"
        raise ValueError(f"attributes.{each.name}: {what}: {why}")
    return Fraction(gamma)


# --- who gets what --------------------------------------------------------------------------------------------------


def _usual(part: Mapping[str, Any], gamma: float) -> str:
    """The channel of a question that names none."""
    domain = _domain(part)
    if not isinstance(domain, Categories):
        return "square-wave"
    return SubsetResponse.kind if sets_serve_better(domain.size, gamma) else RandomizedResponse.kind


def _domain(part: Mapping[str, Any]) -> Domain:
    return domain_from_spec({key: value for key, value in part.items() if key in DOMAIN_KEYS})


def _cost(part: Mapping[str, Any]) -> Callable[[float], float]:
    """weight·R by ln γ."""
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
    """R, of randomized response or of sets of the best size: it falls with γ without a jump."""
    if size == 1:
        return 0.0
    return _cost_of_sets(size, gamma, 1 if kind == RandomizedResponse.kind else _best_size(size, gamma))


def _best_size(size: int, gamma: float) -> int:
    """How many of the categories a set should have, about d/(γ + 1); 1 is randomized response."""
    about = int(size / (gamma + 1))
    sizes = [1] if size < FEWEST_IN_SETS else range(max(about, 1), min(about + 1, size // 2) + 1)
    return min(sizes, key=lambda members: _cost_of_sets(size, gamma, members))


def _cost_of_sets(size: int, gamma: float, members: int) -> float:
    """R of sets with so many members, as subset selection has it: h(1 − h)/(p − ρ)² over what the people's draw has."""
    p = gamma * members / (gamma * members + size - members)
    stray = (p * (members - 1) + (1 - p) * members) / (size - 1)
    return members * (size - members) / (p - stray) ** 2 / (size - 1) - 1


def _gamma(share: float) -> float:
    return 1 / float(exponential(np.array(-share)))


def _divided(costs: list[Callable[[float], float]], total: float) -> list[float]:
    """ln γ of each: one small part after the other goes to the question whose cost it lowers most."""
    parts = max(PARTS, 20 * len(costs))
    held = [1] * len(costs)
    now = [cost(total / parts) for cost in costs]
    then = [cost(2 * total / parts) for cost in costs]
    for _ in range(parts - len(costs)):
        place = max(range(len(costs)), key=lambda i: now[i] - then[i])
        held[place] += 1
        now[place], then[place] = then[place], costs[place]((held[place] + 1) * total / parts)
    return [count * total / parts for count in held]


def _rounded(shares: list[float], most: Fraction) -> list[float]:
    """γ of each, γ − 1 to six digits, whose product is not above the most."""
    down = Context(prec=DIGITS, rounding=ROUND_FLOOR)
    found = [1 + down.create_decimal(Decimal(_gamma(share) - 1) * (1 + Decimal("1e-12"))) for share in shares]
    while math.prod(map(Fraction, map(float, found)), start=Fraction(1)) > most:
        largest = max(range(len(found)), key=lambda i: found[i])
        found[largest] = 1 + (found[largest] - 1).next_minus(down)
    return [float(gamma) for gamma in found]


def _check_weight(weight: Any) -> float:
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < 1e9:
        raise ValueError(f"weight = {weight!r} is not a number above 0; write 2 for what matters twice as much")
    return float(weight)
