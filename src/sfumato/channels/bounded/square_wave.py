"""The square wave: a channel that reports any number of a widened domain, those near the true one more often."""

from __future__ import annotations

import numpy as np

from sfumato.channels.bound import checked_bound, gamma_of, require_one
from sfumato.channels.bounded.window import WindowChannel
from sfumato.channels.program import Window
from sfumato.channels.resolution import check_positive, check_step, default_step, holds_every_integer
from sfumato.domain import Floats, Grid, Interval, check_codes
from sfumato.prose import Voice


class SquareWave(WindowChannel):
    """A channel that reports any number of the widened domain, γ times likelier within ``halfwidth`` of the true one.

    Law: on n grid points, P[y, x] = γ·q if |y − x| ≤ B, else q, with q = 1/(γ·(2B+1) + n − 1), reports from −B to
    n − 1 + B, and B = ``halfwidth`` in steps.
    γ: as given, exactly, or e^ε.

    ``domain``: the Interval of the true values.
    ``gamma`` or ``epsilon``: the bound γ, or its logarithm; exactly one of them.
    ``halfwidth``: how far the likely window reaches to each side, in units of the domain; None: the width with the most
    information in a report of people spread evenly over the domain.
    ``step``: the distance of grid points; None: at most 1/8 of ``halfwidth`` and 1/1000 of the domain's width.
    ``missing`` and ``outside`` are those of ``Channel``.

    >>> import sfumato as sf
    >>> sf.SquareWave(sf.Interval(20, 80), gamma=19).guarantee().gamma
    19.0
    """

    kind = "square-wave"

    def __init__(
        self, domain: Interval, gamma: float | None = None, *, epsilon: float | None = None,
        halfwidth: float | None = None, step: float | None = None, missing: str = "pass", outside: str = "refuse",
    ) -> None:  # fmt: skip
        if not isinstance(domain, Interval):
            raise TypeError(f"the square wave needs an Interval, not {type(domain).__name__}; use RandomizedResponse")
        super().__init__(domain, missing, outside)
        self.domain: Interval = domain
        name, value = require_one("the square wave", gamma=gamma, epsilon=epsilon)
        self._given = {name: checked_bound(name, value), "halfwidth": halfwidth, "step": step}
        bound = gamma_of(name, self._given[name])
        best = best_halfwidth(bound) * domain.width
        wanted = best if halfwidth is None else check_positive("halfwidth", halfwidth)
        self.step = float(step) if step is not None else default_step(domain, wanted * 4)
        check_step(domain, self.step)
        check_codes(2 * wanted / self.step)
        self.window_reach = max(round(wanted / self.step), 0)
        self.inputs: Grid = Grid.over(domain, self.step, integer=holds_every_integer(domain, self.step))
        self.outputs: Grid = Grid.over(domain, self.step, self.window_reach)
        self.window = Window.of_gamma(bound, 2 * self.window_reach + 1, self.inputs.size - 1)

    @property
    def halfwidth(self) -> float:
        """How far the likely window reaches to each side, in units of the domain: a whole number of steps."""
        return self.window_reach * self.step

    def describe(self, say: Voice) -> str:
        low, high = (say.number(float(end)) for end in self.outputs.values[[0, -1]])
        chance, halfwidth = say.percent(self.window.chance), say.number(self.halfwidth)
        return say("how.window", chance=chance, halfwidth=halfwidth, low=low, high=high)


def best_halfwidth(gamma: float) -> float:
    """Return the half width of the window of likely reports that lets a report tell most, as a share of the domain.

    It maximises the mutual information I(X;Y) of value and report, for values X spread evenly over the domain. The
    usual closed form (γ·ln γ − γ + 1)/(2γ·(γ − 1 − ln γ)) maximises an upper bound of that information, which takes the
    reports for uniform; at γ = e it is more than a third too wide (docs/decisions/0010).
    """
    halfwidths = np.geomspace(1e-5, 0.75, 8000)  # .14 % apart; half of the domain would be best only at γ = 1
    return float(halfwidths[np.argmax(_information(halfwidths, gamma))])


def _information(b: Floats, gamma: float) -> Floats:
    """Return how much a report tells about the value, in nats, for each half width b: I(X;Y) = h(Y) − h(Y|X).

    X is uniform on a domain of width 1. The density of Y rises from q, over the length min(2b, 1), to a plateau, and
    falls again.
    """
    q = 1 / (2 * b * gamma + 1)
    top = np.minimum(2 * b, 1)
    plateau = q * (1 + (gamma - 1) * top)

    def integral(u: Floats) -> Floats:
        """Return the antiderivative of u·ln u, by which ∫ density·ln(density) follows."""
        return u**2 / 2 * np.log(u) - u**2 / 4

    ramps = 2 * (integral(plateau) - integral(q)) / ((gamma - 1) * q)
    reports = -(ramps + np.abs(1 - 2 * b) * plateau * np.log(plateau))
    given_value = -(2 * b * gamma * q * np.log(gamma * q) + q * np.log(q))
    return np.asarray(reports - given_value)
