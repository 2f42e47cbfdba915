"""The square wave: any number of the widened domain, those near the true one more often."""

from __future__ import annotations

import numpy as np

from sfumato.channels.bound import checked_bound, gamma_of, one_given
from sfumato.channels.bounded.window import WindowChannel
from sfumato.channels.program import Window
from sfumato.channels.resolution import check_positive, check_step, default_step, holds_every_integer
from sfumato.domain import Floats, Grid, Interval, check_codes
from sfumato.prose import Voice


class SquareWave(WindowChannel):
    """Report any place of the widened domain, γ times likelier within ``halfwidth`` of the true value.

    Domain: an Interval, n grid points; the window reaches B steps to each side.
    Law: P[y, x] = γ·q if |y − x| ≤ B, else q, with q = 1/(γ·(2B+1) + n − 1) and reports from −B to n − 1 + B.
    γ: as given, exactly, or e^ε.
    Width: the one that maximises the information in a report of an evenly spread population, unless ``halfwidth=``
    says otherwise.

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
        name, value = one_given("the square wave", gamma=gamma, epsilon=epsilon)
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
        """How far the likely window reaches to each side, as laid out on the grid."""
        return self.window_reach * self.step

    def describe(self, say: Voice) -> str:
        low, high = (say.number(float(end)) for end in self.outputs.values[[0, -1]])
        chance, halfwidth = say.percent(self.window.chance), say.number(self.halfwidth)
        return say("how.window", chance=chance, halfwidth=halfwidth, low=low, high=high)


def best_halfwidth(gamma: float) -> float:
    """The window, as a share of the domain, with the largest I(X;Y) for X uniform on the domain.

    The usual closed form (γ·ln γ − γ + 1)/(2γ·(γ − 1 − ln γ)) maximises an upper bound of that, which takes the reports
    for uniform; at γ = e it is more than a third too wide.
    """
    halfwidths = np.geomspace(1e-5, 0.75, 8000)
    return float(halfwidths[np.argmax(_information(halfwidths, gamma))])


def _information(b: Floats, gamma: float) -> Floats:
    """h(Y) − h(Y|X): the report's density rises from q over the length min(2b, 1) to its plateau and falls again."""
    q = 1 / (2 * b * gamma + 1)
    top = np.minimum(2 * b, 1)
    plateau = q * (1 + (gamma - 1) * top)

    def integral(u: Floats) -> Floats:
        return u**2 / 2 * np.log(u) - u**2 / 4

    ramps = 2 * (integral(plateau) - integral(q)) / ((gamma - 1) * q)
    reports = -(ramps + np.abs(1 - 2 * b) * plateau * np.log(plateau))
    given_value = -(2 * b * gamma * q * np.log(gamma * q) + q * np.log(q))
    return np.asarray(reports - given_value)
