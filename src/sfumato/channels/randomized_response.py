"""Keep the true category with a known probability, else report one of the others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.channels.alias import Words
from sfumato.channels.base import Channel
from sfumato.channels.window import draw_in_window
from sfumato.domain import Categories, Codes, Floats


class RandomizedResponse(Channel):
    """Retain or replace over d categories (AS00 §6; Warner's design for d = 2).

    Domain: Categories with d ≥ 2 labels.
    Law: P[y, x] = keep if y = x, else (1 − keep)/(d − 1).
    γ: keep·(d − 1)/(1 − keep), or its inverse when a lie is likelier than the truth.
    Estimator: invert the law (``method="inverse"``) or maximise the likelihood.

    >>> import sfumato as sf
    >>> sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=3).keep
    0.75
    """

    kind = "randomized-response"

    def __init__(
        self,
        domain: Categories,
        keep: float | None = None,
        *,
        gamma: float | None = None,
        missing: str = "pass",
        outside: str = "refuse",
    ) -> None:
        if not isinstance(domain, Categories):
            raise TypeError(f"randomized response needs Categories, not {type(domain).__name__}; try SquareWave")
        if domain.size < 2:
            raise ValueError("randomized response needs at least two categories; one category reveals nothing")
        if outside == "clamp":
            raise ValueError("outside='clamp' has no meaning for categories; leave it out")
        super().__init__(domain, missing, outside)
        self.domain: Categories = domain
        self.inputs: Categories = domain
        self.outputs: Categories = domain
        if (keep is None) == (gamma is None):
            raise ValueError("give either keep= or gamma= for randomized response, one of the two")
        self._given = {"keep": keep} if gamma is None else {"gamma": gamma}
        self.keep = _check_keep(keep) if keep is not None else _keep_of(check_gamma(gamma), domain.size)

    @property
    def gamma(self) -> float:
        if self.keep in (0.0, 1.0):
            return math.inf
        if "gamma" in self._given:
            return float(self._given["gamma"])  # type: ignore[arg-type]
        odds = self.keep * (self.domain.size - 1) / (1 - self.keep)
        return max(odds, 1 / odds)

    def law(self) -> Floats:
        d = self.domain.size
        table = np.full((d, d), (1 - self.keep) / (d - 1))
        np.fill_diagonal(table, self.keep)
        return table

    def _draw(self, codes: Codes, words: Words) -> Codes:
        return draw_in_window(codes, words[:, 0], 1, self.domain.size - 1, self.keep)

    def parameters(self) -> dict[str, Any]:
        return dict(self._given)

    def describe(self) -> str:
        return (
            f"with probability {self.keep:.4g} it is kept, and otherwise it is replaced by one of the "
            f"{self.domain.size - 1} other answers at random"
        )


def _check_keep(keep: float) -> float:
    if isinstance(keep, bool) or not isinstance(keep, (int, float, np.integer, np.floating)):
        raise TypeError(f"keep={keep!r} is not a number; give a probability between 0 and 1")
    if not 0 <= keep <= 1:
        raise ValueError(f"keep={keep:g} is not a probability; give a number between 0 and 1")
    return float(keep)


def _keep_of(gamma: float, d: int) -> float:
    return gamma / (gamma + d - 1)


def check_gamma(gamma: Any) -> float:
    """γ above 1 and finite."""
    if isinstance(gamma, bool) or not isinstance(gamma, (int, float, np.integer, np.floating)):
        raise TypeError(f"gamma={gamma!r} is not a number; give a number above 1, for example 19")
    if not (math.isfinite(gamma) and gamma > 1):
        raise ValueError(f"gamma={gamma:g} is not above 1 and finite; 19 is a common choice")
    return float(gamma)
