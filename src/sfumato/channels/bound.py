"""Read the bound that a channel is asked to keep: γ, the largest factor by which a report moves odds, or ε = ln γ."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, localcontext
from math import inf, isfinite, nextafter
from typing import Any

import numpy as np

BOUNDS = ("gamma", "epsilon")  # the names of the parameters and of the plan's keys that state a bound
LEAST_EPSILON = 1e-12  # by judgement: far above the 2.2e-16 at which e^ε is 1 in floats, far below any use
MOST_EPSILON = 600.0  # by judgement: floats end at e^709; what is left is for sums and products with γ
MOST_GAMMA = 1e290  # the same for γ: floats end at 1.8e308, and γ is multiplied by numbers of codes up to 2^20
SHORT_DIGITS = 12
"""A γ of at most so many decimal digits is recognised by its ε, so that epsilon=ln 19 is γ = 19 and not just below. By
judgement: people write fewer; with more than 15 any float would be recognised as its own neighbour's logarithm."""
WORKING_DIGITS = 40
"""Decimal digits of e^ε before it is rounded to one of a float's 17: enough that the rounding is always known."""


def require_one(what: str, **given: Any) -> tuple[str, Any]:
    """Return (name, value) of the one parameter that was given, among several that exclude each other.

    Those that are None were not given; none or several given are an error. ``what``: the noun that the error says they
    are for, such as "randomized response".
    """
    stated = {name: value for name, value in given.items() if value is not None}
    if len(stated) != 1:
        *others, last = (f"{name}=" for name in given)
        raise ValueError(f"give either {', '.join(others)} or {last} for {what}, one of them and no other")
    return next(iter(stated.items()))


def checked_bound(name: str, value: Any) -> float:
    """Return a privacy bound as a float; raise an error where it is out of range.

    ``name``: "gamma" (the largest factor on the odds) or "epsilon" (its logarithm).
    """
    return check_epsilon(value) if name == "epsilon" else check_gamma(value)


def gamma_of(name: str, value: float) -> float:
    """Return γ (the largest factor on the odds) from a bound whose ``name`` is "gamma" or "epsilon", its logarithm."""
    return gamma_of_epsilon(value) if name == "epsilon" else value


def gamma_of_epsilon(epsilon: float) -> float:
    """Return γ = e^ε as a float, the same on every machine.

    If a number of at most twelve digits has ε for its logarithm (to the nearest float), γ is that number; else γ is the
    largest float that is not above e^ε.

    >>> gamma_of_epsilon(2.9444389791664403), gamma_of_epsilon(1.0)
    (19.0, 2.718281828459045)
    """
    with localcontext() as digits:
        digits.prec = WORKING_DIGITS
        exact = Decimal(check_epsilon(epsilon)).exp()
        digits.prec = SHORT_DIGITS
        short = +exact
        digits.prec = WORKING_DIGITS
        if short > 1 and float(short.ln()) == epsilon:
            return float(short)
        near = float(exact)
        return near if Decimal(near) <= exact else nextafter(near, 0.0)


def check_gamma(gamma: Any) -> float:
    """Return γ as a float; raise an error unless it is a number above 1 and finite."""
    _check_number("gamma", gamma, "give a number above 1, for example 19")
    if not 1 < gamma < MOST_GAMMA:
        most = f"below {MOST_GAMMA:g}" if 1 < gamma < inf else "finite"
        raise ValueError(f"gamma={_shown(gamma)} is not above 1 and {most}; 19 is a common choice")
    return float(gamma)


def check_epsilon(epsilon: Any) -> float:
    """Return ε as a float; raise an error unless it is a number above 0 and at most 600."""
    _check_number("epsilon", epsilon, "give a number above 0, for example 1")
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise ValueError(f"epsilon={_shown(epsilon)} is not above 0 and at most {MOST_EPSILON:g}; 1 is a common choice")
    return float(epsilon)


def refuse_bound(kind: str, why: str, names: Iterable[str]) -> None:
    """Raise the error for a bound that a kind of channel cannot keep, with the reason and what to use instead.

    ``names``: the names of the parameters that were given; one that is no bound at all is refused as unknown.
    """
    for name in names:
        if name not in BOUNDS:
            raise TypeError(f"{kind} takes no parameter {name!r}; leave it out")
        raise ValueError(f"{name} cannot be asked of {kind}: {why}")


def _check_number(name: str, value: Any, fix: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}={value!r} is not a number; {fix}")


def _shown(value: float) -> str:
    """Return a number as errors print it; a whole number of many digits is only called huge."""
    huge = isinstance(value, int) and abs(value) >= 1e15
    return "a huge number" if huge else f"{value:g}" if isfinite(value) else str(value)
