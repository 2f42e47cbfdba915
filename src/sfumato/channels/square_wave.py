"""The square wave: a numeric channel whose γ is bounded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.channels.additive import check_positive, check_step, default_step, holds_every_integer
from sfumato.channels.alias import Words
from sfumato.channels.base import Channel
from sfumato.channels.randomized_response import check_gamma
from sfumato.channels.window import draw_in_window
from sfumato.domain import Codes, Floats, Grid, Interval
from sfumato.prose import in_words


class SquareWave(Channel):
    """Report any place of the widened domain, γ times likelier within ``halfwidth`` of the true value.

    Domain: an Interval of width R, laid out on n grid points; a window reaches B points to each side.
    Law: P[y, x] = γ·q if |y − x| ≤ B, else q, with q = 1/(γ·(2B+1) + n − 1) and reports from −B to n − 1 + B.
    γ: as given, exactly.
    Width: the one that maximises the information in a report of an evenly spread population, unless ``halfwidth=``
    says otherwise.

    >>> import sfumato as sf
    >>> sf.SquareWave(sf.Interval(20, 80), gamma=19).guarantee().gamma
    19.0
    """

    kind = "square-wave"

    def __init__(
        self,
        domain: Interval,
        gamma: float,
        *,
        halfwidth: float | None = None,
        step: float | None = None,
        missing: str = "pass",
        outside: str = "refuse",
    ) -> None:
        if not isinstance(domain, Interval):
            raise TypeError(f"the square wave needs an Interval, not {type(domain).__name__}; use RandomizedResponse")
        super().__init__(domain, missing, outside)
        self.domain: Interval = domain
        self._gamma = check_gamma(gamma)
        best = best_halfwidth(self._gamma) * domain.width
        wanted = best if halfwidth is None else check_positive("halfwidth", halfwidth)
        self._given = {"gamma": gamma, "halfwidth": halfwidth, "step": step}
        self.step = float(step) if step is not None else default_step(domain, wanted * 4)
        check_step(domain, self.step)
        self.window_reach = max(round(wanted / self.step), 0)
        points = math.floor(domain.width / self.step + 1e-9) + 1
        self.inputs: Grid = Grid(float(domain.low), self.step, points, holds_every_integer(domain, self.step))
        origin = float(domain.low) - self.window_reach * self.step
        whole = domain.integer and self.step == int(self.step)
        self.outputs: Grid = Grid(origin, self.step, points + 2 * self.window_reach, whole)

    @property
    def gamma(self) -> float:
        return self._gamma

    @property
    def halfwidth(self) -> float:
        """How far the likely window reaches to each side, as laid out on the grid."""
        return self.window_reach * self.step

    @property
    def _unlikely(self) -> float:
        return 1 / (self._gamma * self._window + self.inputs.size - 1)

    @property
    def _window(self) -> int:
        return 2 * self.window_reach + 1

    def law(self) -> Floats:
        ahead = np.arange(self.outputs.size)[:, None] - np.arange(self.inputs.size)
        near = (ahead >= 0) & (ahead < self._window)
        return np.where(near, self._gamma * self._unlikely, self._unlikely)

    def _law_in_cells(self, first: Codes | None) -> Floats:
        """q · (codes in the cell + (γ − 1) · codes of the cell inside the window)."""
        if first is None:
            return self.law()
        starts = np.append(first, self.outputs.size)
        true = np.arange(self.inputs.size)
        in_window = np.diff(np.clip(starts[:, None] - true, 0, self._window), axis=0)
        return np.asarray(self._unlikely * (np.diff(starts)[:, None] + (self._gamma - 1) * in_window))

    def _draw(self, codes: Codes, words: Words) -> Codes:
        inside = self._gamma * self._window * self._unlikely
        return draw_in_window(codes, words[:, 0], self._window, self.inputs.size - 1, inside)

    def parameters(self) -> dict[str, Any]:
        return {name: value for name, value in self._given.items() if value is not None}

    def describe(self) -> str:
        near = self._gamma * self._window * self._unlikely
        low, high = (in_words(end) for end in self.outputs.values[[0, -1]])
        return (
            f"with probability {near:.4g} it is replaced by a random number within {in_words(self.halfwidth)} of it, "
            f"and otherwise by a random number from anywhere else between {low} and {high}"
        )


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
