"""Choose the step of a channel's grid of numbers, and check the numbers that channels are given."""

from __future__ import annotations

import math

import numpy as np

from sfumato.domain import Interval


def check_positive(name: str, value: float) -> float:
    """Return the value of a parameter as a float; raise an error with its name unless it is above 0 and below 1e290."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}={value!r} is not a number; give a positive number")
    if not 0 < value < 1e290:
        given = f"{value:g}" if not isinstance(value, int) or abs(value) < 1e15 else "a huge number"
        raise ValueError(f"{name}={given} is not above 0 and finite; without noise leave the channel out")
    return float(value)


def check_confidence(confidence: float) -> float:
    """Return a confidence as a float; raise an error unless it lies strictly between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r} is not between 0 and 1; use for example 0.95")
    return float(confidence)


def check_step(domain: Interval, step: float) -> None:
    """Raise an error unless a step is positive, at most the domain's width, and fits whole numbers where they must."""
    check_positive("step", step)
    if step > domain.width:
        raise ValueError(f"step={step:g} is wider than the domain ({domain}); use a finer step")
    if domain.integer and not (step.is_integer() or (1 / step).is_integer()):
        raise ValueError(f"step={step:g} does not fit integers; use a whole number or a whole fraction of 1")


def default_step(domain: Interval, deviation: float) -> float:
    """Return the largest 1, 2 or 5 · 10^k that is at most a 32nd of ``deviation`` and a 1000th of the domain's width.

    ``deviation``: that of the noise, in units of the domain. The step is a whole number for integers, and never much
    below a 4000th of the width: the law of a finer grid would be large and no more private (docs/decisions/0001).
    """
    wanted = max(min(deviation / 32, domain.width / 1000), domain.width / 4000)
    power = math.floor(math.log10(wanted))
    best = max(lead for lead in (1, 2, 5) if lead * 10.0**power <= wanted * (1 + 1e-9))
    step = float(f"{best}e{power}")
    return max(step, 1.0) if domain.integer else step


def holds_every_integer(domain: Interval, step: float) -> bool:
    """Return whether each whole number of a domain of whole numbers has a grid point, so that reports are whole too.

    ``step``: the distance of grid points. False for a domain of other numbers.
    """
    return domain.integer and step <= 1
