"""The channel for means: reports that equal the value on average, with the least variance that a bound γ allows.

A window of w of N report codes lies at one of the places 0..m; its codes have probability γ·q each, the others q, with
q = 1/(γ·w + m) and N = m + w. With c the window's place counted from the middle, the mean of the report code (from its
own middle) is s·c, s = (γ − 1)·q·w. So codes that stand for numbers 1/s of a place apart are unbiased for the place,
with the variance

    V(c) = (q·N·(N² − 1)/12 + (γ − 1)·q·w·(w² − 1)/12 + s·c²)/s² − c²        in places, squared.

With a place for every value this is the piecewise mechanism of Wang et al. (2019), with two places Duchi's (2018): the
value is then rounded to one of the two at random, so that its mean stays. Their hybrid is a mixture of the two, and for
no crowd better than both. Here places and window are those of the least mean variance for evenly spread people, which
theirs are not: at γ = 19 the variance is 12 % below that of the piecewise mechanism.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.channels.bound import checked_bound, gamma_of, require_one
from sfumato.channels.bounded.window import WindowChannel
from sfumato.channels.program import HALF, WORD, Draw, Step, Window
from sfumato.channels.resolution import check_step, default_step, holds_every_integer
from sfumato.domain import Floats, Grid, Interval
from sfumato.prose import Voice

FEW = (2, 3, 4, 5, 6, 8)
"""Numbers of places that are tried beside one place for every value. Over γ from 1.06 to 2,000 and grids of 61, 1,001
and 4,001 points the best of them has at most .5 % more variance than the best of 2 to 16; ``sf.advise`` tries them too.
"""
MOST_PLACES = 16  # by judgement: more places than this never had 1 % less variance than the best of ``FEW``
DIGITS = 9  # by judgement: decimal digits of the distance of reports, so that rounding it costs 1e-9 of γ − 1 at most
ALL_DIGITS = 14  # decimal digits of any report: a float holds 15


class Piecewise(WindowChannel):
    """A channel for means: a report equals the value on average, E[report | x] = x, and keeps a bound γ.

    Law: the value is rounded at random to one of ``places`` equally spaced values, so that its mean stays; then
    P[y, place] = γ·q in a window of reports around the place, else q.
    γ: as given, or e^ε.
    Estimator: the average of the reports (``sf.mean``).

    ``domain``: the Interval of the true values.
    ``gamma`` or ``epsilon``: the bound γ, or its logarithm; exactly one of them.
    ``places``: to how many equally spaced values the value is rounded: 2 to 16, or as many as the grid has points, so
    that it keeps its own; None: the number with the least variance for people spread evenly over the domain.
    ``step``: the distance between the grid points to which true values are rounded first; None: a thousandth of the
    domain's width or less, 1 for whole numbers.
    ``missing`` and ``outside`` are those of ``Channel``.

    >>> import sfumato as sf
    >>> gain = sf.Piecewise(sf.Interval(0, 100), gamma=19)
    >>> law, reports = gain.law(), gain.outputs.values
    >>> (reports @ law)[[10, 250, -1]].round(6).tolist()
    [1.0, 25.0, 100.0]
    """

    kind = "piecewise"
    right_on_average = True

    def __init__(
        self, domain: Interval, gamma: float | None = None, *, epsilon: float | None = None, places: int | None = None,
        step: float | None = None, missing: str = "pass", outside: str = "refuse",
    ) -> None:  # fmt: skip
        if not isinstance(domain, Interval):
            raise TypeError(f"piecewise needs an Interval, not {type(domain).__name__}; categories have no mean")
        super().__init__(domain, missing, outside)
        self.domain: Interval = domain
        name, value = require_one("piecewise", gamma=gamma, epsilon=epsilon)
        self._given = {name: checked_bound(name, value), "places": places, "step": step}
        self._asked = bound = gamma_of(name, self._given[name])
        self.step = float(step) if step is not None else default_step(domain, domain.width)
        check_step(domain, self.step)
        self.inputs: Grid = Grid.over(domain, self.step, integer=holds_every_integer(domain, self.step))
        if self.inputs.size < 2:
            raise ValueError(f"the domain ({domain}) has one value, whose mean is known; use a finer step")
        chosen = check_places(places, self.inputs.size) if places is not None else best_places(self.inputs.size, bound)
        self.places, self.window_size = chosen, best_window(chosen, bound, self.inputs.size)[1]
        self._lay_reports(Fraction(bound))

    def _lay_reports(self, gamma: Fraction) -> None:
        """Set the grid of reports (``outputs``) and the program's step (``window``).

        The distance of reports is 1/s of a place, rounded up to a short decimal; the chance of the window follows from
        it, so that reports stay unbiased and γ is at most the one given.
        """
        m, w, (first, stride, per) = self.places - 1, self.window_size, self.inputs.whole
        # 2^-50 less, because some codes are drawn by one word of 2^64 more than others: γ must count these words too
        q = 1 / (gamma * w + m) * (1 - Fraction(1, 1 << 50))
        span = Fraction(stride * (self.inputs.size - 1), per)
        middle, least = Fraction(first, per) + span / 2, span / (m * (gamma - 1) * q * w)
        widest = max(abs(middle) + (m + w) * least, Fraction(1))
        decimals = min(DIGITS - _leading(least), ALL_DIGITS - _leading(widest))
        if decimals + _leading(least) < 3:
            raise ValueError(
                f"the domain ({self.domain}) is too narrow to state reports; subtract an offset, or scale it"
            )
        apart = -(-least * 10**decimals // 1) / Fraction(10) ** decimals
        slope = span / (m * apart)
        self.window = Window(int(HALF * (slope * m + w) / (m + w)), w, m)
        origin = round((middle - (m + w - 1) * apart / 2) * 10 ** (decimals + 1)) / Fraction(10) ** (decimals + 1)
        self.outputs: Grid = Grid(float(origin), float(apart), m + w)

    def steps(self) -> tuple[Step, ...]:  # type: ignore[override]
        if self.places == self.inputs.size:
            return (self.window,)
        return (Draw.of([_between(code, self.inputs.size - 1, self.places) for code in range(self.inputs.size)]),
                self.window)  # fmt: skip

    def variance(self, values: Any) -> Floats:
        """Return Var[report | value] for each of ``values``, in squared units of the domain.

            a + b·(c² + f·(1 − f)) − c²   in squared places, c the value's place from the middle, f its fraction

        >>> import sfumato as sf
        >>> sf.Piecewise(sf.Interval(0, 1), gamma=19).variance([0.0, 0.5]).round(3).tolist()
        [0.104, 0.052]
        """
        first, last = self.inputs.values[[0, -1]]
        apart = (last - first) / (self.places - 1)
        place = np.clip((np.asarray(values, dtype=np.float64) - first) / apart, 0, self.places - 1)
        level, bend = square_of_reports(self.places, self._asked, self.window_size)
        centre, share = place - (self.places - 1) / 2, place % 1
        between = 0.0 if self.places == self.inputs.size else share * (1 - share)
        return np.asarray((level + bend * (centre**2 + between) - centre**2) * apart**2)

    def describe(self, say: Voice) -> str:
        low, high = (say.number(float(end)) for end in self.outputs.values[[0, -1]])
        return say("how.average", low=low, high=high, count=say.number(self.outputs.size))


def square_of_reports(places: int, gamma: float, window: Any) -> tuple[Any, Any]:
    """Return (a, b), with which the mean square of reports is E[report²] = a + b·c², for windows of these widths.

    c is where the true value lies, and c and reports are counted in places (rounded values) from the domain's middle.
    """
    m, w = places - 1, window
    q = 1 / (gamma * w + m)
    s, n = (gamma - 1) * q * w, m + w
    return (q * n * (n * n - 1) + (gamma - 1) * q * w * (w * w - 1)) / (12 * s * s), 1 / s


def best_window(places: int, gamma: float, size: int) -> tuple[float, int]:
    """Return (least mean variance of a report, width of the window of likely reports that has it).

    For people spread evenly over ``size`` values that are rounded to ``places`` of them, under the bound γ. The
    variance is in squared widths of the domain, the window in report codes.
    """
    m, windows = places - 1, np.arange(1.0, 2 * places + 1)
    level, bend = square_of_reports(places, gamma, windows)
    square, between = (m * (m + 2) / 12, 0.0) if places == size else (m * m / 12, 1 / 6)
    variances = (level + bend * (square + between) - square) / (m * m)
    best = int(np.argmin(variances))
    return float(variances[best]), best + 1


def best_places(size: int, gamma: float) -> int:
    """Return to how many equally spaced values (places) to round, so that reports vary least on average.

    Tried are ``FEW`` and ``size``, the number of grid points, for people spread evenly over them.
    """
    return min([size, *(few for few in FEW if few < size)], key=lambda places: best_window(places, gamma, size))


def check_places(places: Any, size: int) -> int:
    """Return a number of places; raise an error unless it is ``size``, or a whole number from 2 to 16 and ``size``."""
    if isinstance(places, bool) or not isinstance(places, (int, np.integer)):
        raise TypeError(f"places={places!r} is not a whole number; give 2 to {MOST_PLACES}, or leave it out")
    if places != size and not 2 <= places <= min(MOST_PLACES, size):
        raise ValueError(f"places={places} is not between 2 and {min(MOST_PLACES, size)}; leave it out for the best")
    return int(places)


def _between(code: int, last: int, places: int) -> list[int]:
    """Return how many of the 2^64 random words round a true code to each of ``places`` equally spaced values.

    Only the two neighbouring places have any, so many that the code stays the same on average. ``last``: the last true
    code, which lies on the last place.
    """
    low, remainder = divmod(code * (places - 1), last)
    weights = [0] * places
    weights[low] = WORD - remainder * WORD // last
    if remainder:
        weights[low + 1] = WORD - weights[low]
    return weights


def _leading(number: Fraction) -> int:
    """Return the power of ten of a number's first digit: 2 for 314, −1 for 0.27."""
    return (Decimal(number.numerator) / Decimal(number.denominator)).adjusted()
