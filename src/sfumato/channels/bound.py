"""A bound as it is asked for: γ, the largest factor by which a report moves odds, or ε = ln γ."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, localcontext
from math import inf, isfinite, nextafter
from typing import Any

import numpy as np

BOUNDS = ("gamma", "epsilon")
LEAST_EPSILON, MOST_EPSILON, MOST_GAMMA = 1e-12, 600.0, 1e290
SHORT = 12
"""A γ of at most so many digits is recognised by its logarithm."""
PLENTY = 40


def one_given(what: str, **given: Any) -> tuple[str, Any]:
    """(name, value) of the one parameter that is given."""
    found = {name: value for name, value in given.items() if value is not None}
    if len(found) != 1:
        *others, last = (f"{name}=" for name in given)
        raise ValueError(f"give either {', '.join(others)} or {last} for {what}, one of them and no other")
    return next(iter(found.items()))


def checked_bound(name: str, value: Any) -> float:
    """γ, or ε, as a float."""
    return check_epsilon(value) if name == "epsilon" else check_gamma(value)


def gamma_of(name: str, value: float) -> float:
    """γ of a bound by its name."""
    return gamma_of_epsilon(value) if name == "epsilon" else value


def gamma_of_epsilon(epsilon: float) -> float:
    """The γ that has ε for its logarithm, to the nearest float, where one of at most twelve digits does; else the
    largest float that is not above e^ε. The same on every machine.

    >>> gamma_of_epsilon(2.9444389791664403), gamma_of_epsilon(1.0)
    (19.0, 2.718281828459045)
    """
    with localcontext() as digits:
        digits.prec = PLENTY
        exact = Decimal(check_epsilon(epsilon)).exp()
        digits.prec = SHORT
        short = +exact
        digits.prec = PLENTY
        if short > 1 and float(short.ln()) == epsilon:
            return float(short)
        near = float(exact)
        return near if Decimal(near) <= exact else nextafter(near, 0.0)


def check_gamma(gamma: Any) -> float:
    """γ above 1 and finite."""
    _check_number("gamma", gamma, "give a number above 1, for example 19")
    if not 1 < gamma < MOST_GAMMA:
        most = f"below {MOST_GAMMA:g}" if 1 < gamma < inf else "finite"
        raise ValueError(f"gamma={_shown(gamma)} is not above 1 and {most}; 19 is a common choice")
    return float(gamma)


def check_epsilon(epsilon: Any) -> float:
    """ε above 0 and finite."""
    _check_number("epsilon", epsilon, "give a number above 0, for example 1")
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise ValueError(f"epsilon={_shown(epsilon)} is not above 0 and at most {MOST_EPSILON:g}; 1 is a common choice")
    return float(epsilon)


def refuse_bound(kind: str, why: str, names: Iterable[str]) -> None:
    """A channel of which no bound can be asked says why, and what to use."""
    for name in names:
        if name not in BOUNDS:
            raise TypeError(f"{kind} takes no parameter {name!r}; leave it out")
        raise ValueError(f"{name} cannot be asked of {kind}: {why}")


def _check_number(name: str, value: Any, fix: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}={value!r} is not a number; {fix}")


def _shown(value: float) -> str:
    huge = isinstance(value, int) and abs(value) >= 1e15
    return "a huge number" if huge else f"{value:g}" if isfinite(value) else str(value)
