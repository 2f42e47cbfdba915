"""Additive noise on a grid: Gaussian, Uniform and Laplace.

A true value is rounded to the channel's grid (step ``step``), a whole number of steps is added, and the sum is the
report. The number of steps k has the law

    q[k] = F((k + ½)·step) − F((k − ½)·step),   F the noise's distribution function, in whole multiples of 2^−64,

so the table is q shifted along the grid: P[report, true] = q[report − true]. No low-order bits of the value remain.

How much noise may be said by its own parameter, by the share of the range that it hides (``privacy``), or by the signal
to noise ratio Var(data)/Var(noise) (``snr``, LKT08 App. B) with the deviation of the data (``data_deviation``).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from sfumato.channels.base import Channel
from sfumato.channels.bound import checked_bound, gamma_of, one_given, refuse_bound
from sfumato.channels.program import Alias, Shift, integer_weights
from sfumato.domain import Floats, Grid, Interval, check_codes
from sfumato.prose import Voice

LARGEST_NOISE = 50.0
LARGEST_LAW = 20_000_000
BOUND_SLACK = tuple(10.0**-digits for digits in range(9, 1, -1))
LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
SQRT_2PI = float.fromhex("0x1.40d931ff62706p+1")
FROM_FRACTION = 3.0
"""Beyond this the tail is a continued fraction, before it a series."""


class AdditiveNoise(Channel):
    """w = x + noise; the shared part of Gaussian, Uniform and Laplace."""

    own_parameter: ClassVar[str]
    right_on_average = True
    symmetric_reach: ClassVar[float]
    unit_deviation: ClassVar[float]

    def __init__(
        self, domain: Interval, own: float | None, privacy: float | None, confidence: float, snr: float | None,
        data_deviation: float | None, step: float | None, missing: str, outside: str, bound: Mapping[str, Any],
    ) -> None:  # fmt: skip
        if self.unbounded:
            refuse_bound(self.kind, self.unbounded, bound)
        if not isinstance(domain, Interval):
            raise TypeError(f"{self.kind} noise needs an Interval, not {type(domain).__name__}; use RandomizedResponse")
        super().__init__(domain, missing, outside)
        self.domain: Interval = domain
        ways = {self.own_parameter: own, "privacy": privacy, "snr": snr, **bound}
        name, value = one_given(f"{self.kind} noise", **ways)
        if data_deviation is not None and name != "snr":
            raise ValueError(f"data_deviation={data_deviation!r} is read with snr= only; leave it out")
        self.confidence = check_confidence(confidence)
        self._given: dict[str, Any] = {name: value}
        if name == "privacy":
            self._given |= {"confidence": confidence} if confidence != 0.95 else {}
            own = check_positive("privacy", value) * domain.width / self._width_of_unit(self.confidence)
        elif name == "snr":
            self._given |= {} if data_deviation is None else {"data_deviation": data_deviation}
            own = self._size_at_ratio(check_positive("snr", value), data_deviation)
        elif name in bound:
            own = self._size_of_bound(gamma_of(name, checked_bound(name, value)), step)
        self.size_of_noise = check_positive(self.own_parameter, 0.0 if own is None else own)
        self.deviation = self.unit_deviation * self.size_of_noise
        self._check_size(name, self.size_of_noise if name in bound else value)
        if step is not None:
            self._given["step"] = step
        self.step = float(step) if step is not None else default_step(domain, self.deviation)
        check_step(domain, self.step)
        self._lay_grids()

    def _size_at_ratio(self, snr: float, data_deviation: float | None) -> float:
        """The own parameter at Var(data)/Var(noise) = snr; data of unknown deviation are taken to fill the domain
        evenly, which gives R/√12."""
        flat = self.domain.width / math.sqrt(12)
        own = flat if data_deviation is None else check_positive("data_deviation", data_deviation)
        return own / math.sqrt(snr) / self.unit_deviation

    def _check_size(self, name: str, value: float) -> None:
        if self.deviation > LARGEST_NOISE * self.domain.width:
            raise ValueError(
                f"{name}={value:g} is noise {self.deviation / self.domain.width:.3g} times as wide as the domain "
                f"({self.domain}); no crowd can be read through it, use less than {LARGEST_NOISE:g} times"
            )

    def _lay_grids(self) -> None:
        self.inputs: Grid = Grid.over(self.domain, self.step, integer=holds_every_integer(self.domain, self.step))
        self.reach = self._reach(self.inputs.size - 1)
        self.past = min(self.reach, self._report_reach())
        self.outputs: Grid = Grid.over(self.domain, self.step, self.past)

    # --- what each noise states ---------------------------------------------------------------------------------

    @abstractmethod
    def tail(self, distance: Floats) -> Floats:
        """P[noise ≥ distance] for distances from 0, the same digits on every machine."""

    @abstractmethod
    def density(self, noise: Floats) -> Floats:
        """The noise's density, which AS00's midpoint kernel reads."""

    @abstractmethod
    def _width_of_unit(self, confidence: float) -> float:
        """Interval width at this confidence when the own parameter is 1 (AS00 Table 1)."""

    def _size_of_bound(self, gamma: float, step: float | None) -> float:
        """The own parameter of the least noise whose γ is at most this: none is large enough, unless a law says so."""
        return math.inf

    def _reach(self, steps: int) -> int:
        """How many steps the noise reaches."""
        check_codes(2 * self.symmetric_reach * self.size_of_noise / self.step)
        return math.ceil(self.symmetric_reach * self.size_of_noise / self.step)

    def _report_reach(self) -> int:
        """How many steps past the domain reports go before they are gathered at the end codes."""
        return self.reach

    # --- derived ------------------------------------------------------------------------------------------------

    def interval_width(self, confidence: float) -> float:
        return self._width_of_unit(check_confidence(confidence)) * self.size_of_noise

    @cached_property
    def _shift(self) -> Shift:
        tails = self.tail((np.arange(self.reach + 1, dtype=np.float64) + 0.5) * self.step)
        side = tails[:-1] - tails[1:]
        side[-1:] += tails[-1]
        mass = np.concatenate([side[::-1], [1 - 2 * tails[0]], side])
        alias = Alias.of(integer_weights(mass / math.fsum(mass)))
        return Shift(alias, self.reach - self.past, self.inputs.size, self.outputs.size)

    def steps(self) -> tuple[Shift]:
        return (self._shift,)

    @cached_property
    def noise(self) -> Floats:
        """q[k] for k = −reach..reach, exactly as drawn."""
        chances = self._shift.chances
        return np.concatenate([chances, np.zeros(2 * self.reach + 1 - chances.size)])

    @property
    def noise_variance(self) -> float:
        """Variance of the noise as drawn."""
        steps = np.arange(-self.reach, self.reach + 1)
        return float((self.noise * steps.astype(float) ** 2).sum() * self.step**2)

    def for_measuring(self) -> Channel:
        excess = self.inputs.size * self.outputs.size / LARGEST_LAW
        if excess <= 1:
            return self
        coarser = min(self.step * math.ceil(math.sqrt(excess)), self.domain.width / 20)
        step = max(math.floor(coarser), 1) if self.domain.integer else coarser
        return type(self)(self.domain, self.size_of_noise, step=step)  # type: ignore[call-arg]

    def parameters(self) -> dict[str, Any]:
        return dict(self._given)

    def describe(self, say: Voice) -> str:
        return say("how.additive", half=say.number(self.interval_width(0.5) / 2), step=say.number(self.step))


class ScaledNoise(AdditiveNoise):
    """Noise whose own parameter is a scale."""

    own_parameter = "scale"

    def __init__(
        self, domain: Interval, scale: float | None = None, *, privacy: float | None = None,
        confidence: float = 0.95, snr: float | None = None, data_deviation: float | None = None,
        step: float | None = None, missing: str = "pass", outside: str = "refuse", **bound: float | None,
    ) -> None:  # fmt: skip
        super().__init__(domain, scale, privacy, confidence, snr, data_deviation, step, missing, outside, bound)

    @property
    def scale(self) -> float:
        return self.size_of_noise


class Gaussian(ScaledNoise):
    """w = x + N(0, scale²).

    Domain: an Interval.
    Law: q[k] = Φ((k+½)·step/scale) − Φ((k−½)·step/scale).
    γ: ∞, the tails have no bound.
    Interval width at confidence c: 2·z((1+c)/2)·scale.

    >>> import sfumato as sf
    >>> round(sf.Gaussian(sf.Interval(20, 80), privacy=1.0).scale, 2)
    15.31
    >>> sf.Gaussian(sf.Interval(20, 80), snr=0.25, data_deviation=12.0).scale
    24.0
    """

    kind = "gaussian"
    unbounded = "its tails have no bound; use laplace or square-wave"
    symmetric_reach, unit_deviation = 7.0, 1.0

    def tail(self, distance: Floats) -> Floats:
        return normal_tail(distance / self.scale)

    def density(self, noise: Floats) -> Floats:
        return np.exp(-0.5 * (noise / self.scale) ** 2) / (self.scale * math.sqrt(2 * math.pi))

    def _width_of_unit(self, confidence: float) -> float:
        return 2 * normal_quantile((1 + confidence) / 2)


class Uniform(AdditiveNoise):
    """w = x + U(−halfwidth, halfwidth).

    Domain: an Interval.
    Law: q[k] = the part of the step around k that lies within ±halfwidth, divided by 2·halfwidth.
    γ: ∞, a report rules out every value further away than halfwidth.
    Interval width at confidence c: c·2·halfwidth.
    """

    kind = "uniform"
    unbounded = "a report rules out values that are far away; use laplace or square-wave"
    own_parameter = "halfwidth"
    symmetric_reach, unit_deviation = 1.0, 1 / math.sqrt(3)

    def __init__(
        self, domain: Interval, halfwidth: float | None = None, *, privacy: float | None = None,
        confidence: float = 0.95, snr: float | None = None, data_deviation: float | None = None,
        step: float | None = None, missing: str = "pass", outside: str = "refuse", **bound: float | None,
    ) -> None:  # fmt: skip
        super().__init__(domain, halfwidth, privacy, confidence, snr, data_deviation, step, missing, outside, bound)

    @property
    def halfwidth(self) -> float:
        return self.size_of_noise

    def tail(self, distance: Floats) -> Floats:
        return np.maximum(self.halfwidth - distance, 0.0) / (2 * self.halfwidth)

    def density(self, noise: Floats) -> Floats:
        reach = self.halfwidth * (1 + 1e-9)  # midpoints one halfwidth apart must not differ by rounding
        return np.where(np.abs(noise) <= reach, 1 / (2 * self.halfwidth), 0.0)

    def _width_of_unit(self, confidence: float) -> float:
        return 2 * confidence


class Laplace(ScaledNoise):
    """w = x + Laplace(scale), gathered at the ends once it is far outside the domain.

    Domain: an Interval.
    Law: q[k] = F((k+½)·step) − F((k−½)·step), F(t) = ½·e^(t/scale) for t ≤ 0.
    γ: e^(range/scale), read off the table (∞ when the law's 64 bits cannot hold the far tail). With ``gamma=`` or
    ``epsilon=`` the scale is the least, to nine digits, at which the table's γ is at most that.
    Interval width at confidence c: −2·scale·ln(1−c).

    >>> import sfumato as sf
    >>> noise = sf.Laplace(sf.Interval(20, 80), gamma=19)
    >>> round(noise.scale, 2), noise.guarantee().gamma <= 19
    (20.38, True)
    """

    kind = "laplace"
    symmetric_reach, unit_deviation = 40.0, math.sqrt(2)
    gathered_beyond = 10.0

    def __init__(
        self, domain: Interval, scale: float | None = None, *, privacy: float | None = None,
        confidence: float = 0.95, snr: float | None = None, data_deviation: float | None = None,
        gamma: float | None = None, epsilon: float | None = None, step: float | None = None, missing: str = "pass",
        outside: str = "refuse",
    ) -> None:  # fmt: skip
        bound = {"gamma": gamma, "epsilon": epsilon}
        super().__init__(domain, scale, privacy=privacy, confidence=confidence, snr=snr, data_deviation=data_deviation,
                         step=step, missing=missing, outside=outside, **bound)  # fmt: skip

    def _size_of_bound(self, gamma: float, step: float | None) -> float:
        least = self.domain.width / logarithm(gamma)
        if self.unit_deviation * least > LARGEST_NOISE / 2 * self.domain.width:
            raise ValueError(f"gamma={gamma:g} takes noise too wide to read any crowd through; use 1.06 or more")
        for slack in BOUND_SLACK:
            found = Laplace(self.domain, least * (1 + slack), step=step).exact_gamma
            if found is not None and found <= gamma:
                return least * (1 + slack)
        raise ValueError(f"gamma={gamma:g} is more than laplace noise in 64 bits can state; use square-wave, or less")

    def tail(self, distance: Floats) -> Floats:
        return 0.5 * exponential(-distance / self.scale)

    def density(self, noise: Floats) -> Floats:
        return np.exp(-np.abs(noise) / self.scale) / (2 * self.scale)

    def _width_of_unit(self, confidence: float) -> float:
        return -2 * logarithm(1 - confidence)

    def _report_reach(self) -> int:
        check_codes(2 * self.gathered_beyond * self.scale / self.step)
        return math.ceil(self.gathered_beyond * self.scale / self.step)

    def _reach(self, steps: int) -> int:
        wanted = self.symmetric_reach * self.size_of_noise / self.step
        return math.ceil(min(wanted, steps + self._report_reach()))


def check_positive(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}={value!r} is not a number; give a positive number")
    if not 0 < value < 1e290:
        given = f"{value:g}" if not isinstance(value, int) or abs(value) < 1e15 else "a huge number"
        raise ValueError(f"{name}={given} is not above 0 and finite; without noise leave the channel out")
    return float(value)


def check_confidence(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r} is not between 0 and 1; use for example 0.95")
    return float(confidence)


def check_step(domain: Interval, step: float) -> None:
    check_positive("step", step)
    if step > domain.width:
        raise ValueError(f"step={step:g} is wider than the domain ({domain}); use a finer step")
    if domain.integer and not (step.is_integer() or (1 / step).is_integer()):
        raise ValueError(f"step={step:g} does not fit integers; use a whole number or a whole fraction of 1")


def default_step(domain: Interval, deviation: float) -> float:
    """The largest 1, 2 or 5 · 10^k at most a 32nd of the noise and a 1000th of the range; whole for integers.

    Never much below a 4000th of the range: the law of a finer grid would be large and no more private.
    """
    wanted = max(min(deviation / 32, domain.width / 1000), domain.width / 4000)
    power = math.floor(math.log10(wanted))
    best = max(lead for lead in (1, 2, 5) if lead * 10.0**power <= wanted * (1 + 1e-9))
    step = float(f"{best}e{power}")
    return max(step, 1.0) if domain.integer else step


def holds_every_integer(domain: Interval, step: float) -> bool:
    """Whether each whole number has a code of its own; on a coarser grid values are rounded like any number."""
    return domain.integer and step <= 1


# --- the same digits on every machine ---------------------------------------------------------------------------------
# A program's whole numbers are its identity, so every machine must compile the same ones from the same plan. The
# functions of a library or a processor differ in their last digit; +, −, ×, ÷ and √, rounded as IEEE 754 says, do not.


def exponential(x: Floats) -> Floats:
    """e^x for x ≤ 0, as 2^n·e^r with |r| ≤ ½·ln 2: Σ r^k/k! by Horner's rule."""
    n = np.rint(np.maximum(x, -800.0) / (LN2_HIGH + LN2_LOW))
    r = (np.maximum(x, -800.0) - n * LN2_HIGH) - n * LN2_LOW
    total = np.ones_like(r)
    for k in range(14, 0, -1):
        total = 1 + r * total / k
    return np.asarray(np.ldexp(total, n.astype(np.int64)))


def normal_tail(t: Floats) -> Floats:
    """Φ(−t) for t ≥ 0.

    ½ − φ(t)·Σ_k t^(2k+1) / (1·3·…·(2k+1)) near the middle, φ(t) / (t + 1/(t + 2/(t + 3/…))) beyond.
    """
    t = np.asarray(t, dtype=np.float64)
    near, far = np.minimum(t, FROM_FRACTION), np.maximum(t, FROM_FRACTION)
    series = np.zeros_like(t)
    for k in range(40, -1, -1):
        series = near / (2 * k + 1) * (1 + near * series)
    fraction = np.array(far)
    for k in range(60, 0, -1):
        fraction = far + k / fraction
    density = exponential(-0.5 * t * t) / SQRT_2PI
    return np.asarray(np.where(t < FROM_FRACTION, 0.5 - density * series, density / fraction))


@lru_cache
def normal_quantile(p: float) -> float:
    """z(p) with Φ(z) = p, for ½ ≤ p < 1: the t where Φ(−t) comes down to 1 − p, by bisection to the last digit."""
    low, high = 0.0, 40.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if normal_tail(np.array(middle)) > 1 - p else (low, middle)
    return high


def logarithm(x: float) -> float:
    """ln x for x > 0, as ln m + n·ln 2 with ½ < m·√½ ≤ 1 and ln m = 2·Σ s^(2k+1)/(2k+1), s = (m − 1)/(m + 1)."""
    m, n = math.frexp(x)
    if m * m < 0.5:
        m, n = 2 * m, n - 1
    s = (m - 1) / (m + 1)
    total = 0.0
    for k in range(25, -1, -1):
        total = 1 / (2 * k + 1) + s * s * total
    return n * LN2_HIGH + (2 * s * total + n * LN2_LOW)


def cholesky(matrix: Floats) -> Floats:
    """The lower triangle L with L·Lᵀ = matrix; the sums are rounded once."""
    lower = np.zeros_like(matrix)
    for i, j in zip(*np.tril_indices(len(matrix)), strict=True):
        rest = matrix[i, j] - math.fsum(lower[i, :j] * lower[j, :j])
        lower[i, j] = math.sqrt(rest) if i == j else rest / lower[j, j]
    return lower
