"""Randomized response: the true category, or another one."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.channels.balanced import Balanced
from sfumato.channels.bound import checked_bound, gamma_of, require_one
from sfumato.channels.bounded.window import WindowChannel
from sfumato.channels.program import HALF, Window
from sfumato.domain import Categories, Interval
from sfumato.prose import Voice


class RandomizedResponse(WindowChannel):
    """A channel that reports the true category, or another one at random (AS00 §6; Warner's design for two categories).

    Law: P[y, x] = keep if y = x, else (1 − keep)/(d − 1), for d categories.
    γ: keep·(d − 1)/(1 − keep), or its inverse where another category is likelier than the true one.
    Estimator: invert the law (``method="inverse"``) or maximise the likelihood.

    ``domain``: the Categories that people may answer, at least two. One of three says how much is blurred:
    ``keep``: the chance of the true category.
    ``gamma`` or ``epsilon``: the bound γ, or its logarithm; ``keep`` follows from it.
    ``missing`` and ``outside`` are those of ``Channel``.

    >>> import sfumato as sf
    >>> sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=3).keep
    0.75
    """

    kind = "randomized-response"

    def __init__(
        self, domain: Categories, keep: float | None = None, *, gamma: float | None = None,
        epsilon: float | None = None, missing: str = "pass", outside: str = "refuse",
    ) -> None:  # fmt: skip
        if not isinstance(domain, Categories):
            raise TypeError(
                f"randomized response needs Categories, not {type(domain).__name__}; "
                + ("try SquareWave" if isinstance(domain, Interval) else "write sf.Categories([…])")
            )
        if domain.size < 2:
            raise ValueError("randomized response needs at least two categories; one category reveals nothing")
        if outside == "clamp":
            raise ValueError("outside='clamp' has no meaning for categories; leave it out")
        super().__init__(domain, missing, outside)
        self.domain: Categories = domain
        self.inputs: Categories = domain
        self.outputs: Categories = domain
        name, value = require_one("randomized response", keep=keep, gamma=gamma, epsilon=epsilon)
        value = _check_keep(value) if name == "keep" else checked_bound(name, value)
        self._given, others = {name: value}, domain.size - 1
        if name == "keep":
            self.window = Window(round(value * HALF), 1, others)
        else:
            self.window = Window.of_gamma(gamma_of(name, value), 1, others)

    @property
    def keep(self) -> float:
        """The probability of the true category."""
        return self.window.chance

    def balanced(self) -> Balanced:
        other = (1 - self.keep) / (self.domain.size - 1)
        return Balanced(self.keep, other, self.keep, other, np.array, np.array)

    def describe(self, say: Voice) -> str:
        others = self.domain.size - 1
        kind = "how.keep.two" if others == 1 else "how.keep"
        return say(kind, chance=say.percent(self.keep), others=say.number(others))


def _check_keep(keep: Any) -> float:
    """Return a chance as a float; raise an error unless it is a number from 0 to 1."""
    if isinstance(keep, bool) or not isinstance(keep, (int, float, np.integer, np.floating)):
        raise TypeError(f"keep={keep!r} is not a number; give a probability between 0 and 1")
    if not 0 <= keep <= 1:
        raise ValueError(f"keep={keep:g} is not a probability; give a number between 0 and 1")
    return float(keep)
