"""The base class of channels that add noise on a grid: Gaussian, Uniform and Laplace.

A true value is rounded to the channel's grid (step ``step``), a whole number of steps is added, and the sum is the
report. The number of steps k has the law

    q[k] = F((k + ½)·step) − F((k − ½)·step),   F the noise's distribution function, in whole multiples of 2^−64,

so the table is q shifted along the grid: P[report, true] = q[report − true]. No low-order bits of the value remain.

How much noise there is may be stated in three ways: by the *size* of the noise (``scale``, ``halfwidth``), by the share
of the range that it hides (``privacy``), or by the ratio Var(data)/Var(noise) (``snr``, LKT08 App. B) with the standard
deviation of the data (``data_deviation``).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.channels.base import Channel
from sfumato.channels.bound import checked_bound, gamma_of, refuse_bound, require_one
from sfumato.channels.program import Alias, Shift, integer_weights
from sfumato.channels.resolution import check_confidence, check_positive, check_step, default_step, holds_every_integer
from sfumato.domain import Floats, Grid, Interval, check_codes
from sfumato.prose import Voice

LARGEST_NOISE = 50.0
"""The largest standard deviation of noise, in widths of the domain. By judgement: a mean is then known to ± 1 % of the
width only from 25 million reports on; less would forbid what a very large survey can read."""
LARGEST_LAW = 20_000_000
"""Entries of the largest table on which privacy is measured, 160 MB of floats; beyond it a coarser grid stands in. By
judgement: entropies of a grid ten times as coarse as the usual one differ in the third digit."""


class AdditiveNoise(Channel):
    """A channel that reports w = x + noise on a grid; the base class of Gaussian, Uniform and Laplace."""

    own_parameter: ClassVar[str]  # the name of the parameter that states the noise's size
    right_on_average = True
    symmetric_reach: ClassVar[float]  # how far noise reaches to each side, in sizes
    unit_deviation: ClassVar[float]  # the standard deviation of noise of size 1

    def __init__(
        self, domain: Interval, ways: Mapping[str, float | None], bound: Mapping[str, Any], *, confidence: float,
        data_deviation: float | None, step: float | None, missing: str, outside: str,
    ) -> None:  # fmt: skip
        """Set the noise's size from the one parameter given for it, and the grids of true values and of reports.

        ``ways``: the parameters that state the noise's size, its privacy or its ratio, by name, None where not given.
        ``bound``: "gamma" and "epsilon" likewise, where the class takes them.
        """
        if self.unbounded:
            refuse_bound(self.kind, self.unbounded, bound)
        if not isinstance(domain, Interval):
            raise TypeError(f"{self.kind} noise needs an Interval, not {type(domain).__name__}; use RandomizedResponse")
        super().__init__(domain, missing, outside)
        self.domain: Interval = domain
        name, value = require_one(f"{self.kind} noise", **ways, **bound)
        if data_deviation is not None and name != "snr":
            raise ValueError(f"data_deviation={data_deviation!r} is read with snr= only; leave it out")
        self.confidence = check_confidence(confidence)
        self._given: dict[str, Any] = {name: value}
        own = ways[self.own_parameter]
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
        """Return the noise's size (scale or half width) at which Var(data)/Var(noise) = ``snr``.

        ``data_deviation``: the standard deviation of the data; None: they fill the domain evenly, its width/√12.
        """
        flat = self.domain.width / math.sqrt(12)
        own = flat if data_deviation is None else check_positive("data_deviation", data_deviation)
        return own / math.sqrt(snr) / self.unit_deviation

    def _check_size(self, name: str, value: float) -> None:
        """Raise an error if the noise is too wide to read a crowd through.

        ``name`` and ``value``: the parameter that stated the amount of noise, which the error names.
        """
        if self.deviation > LARGEST_NOISE * self.domain.width:
            raise ValueError(
                f"{name}={value:g} is noise {self.deviation / self.domain.width:.3g} times as wide as the domain "
                f"({self.domain}); no crowd can be read through it, use less than {LARGEST_NOISE:g} times"
            )

    def _lay_grids(self) -> None:
        """Set the grids of true values (``inputs``) and of reports (``outputs``), and how many steps the noise reaches.
        """
        self.inputs: Grid = Grid.over(self.domain, self.step, integer=holds_every_integer(self.domain, self.step))
        self.reach = self._reach(self.inputs.size - 1)
        self.past = min(self.reach, self._report_reach())
        self.outputs: Grid = Grid.over(self.domain, self.step, self.past)

    # --- what each noise states ---------------------------------------------------------------------------------

    @abstractmethod
    def tail(self, distance: Floats) -> Floats:
        """Return P[noise ≥ distance] for distances from 0 on, with the same digits on every machine."""

    @abstractmethod
    def density(self, noise: Floats) -> Floats:
        """Return the density of the noise at each value, which reconstruction by AS00's recipe uses."""

    @abstractmethod
    def _width_of_unit(self, confidence: float) -> float:
        """Return how wide an interval around a report holds the true value with this chance, for noise of size 1.

        As in AS00, Table 1.
        """

    def _size_of_bound(self, gamma: float, step: float | None) -> float:
        """Return the size of the least noise whose γ (the largest factor on the odds) is at most ``gamma``.

        ∞ where no noise of this kind has a bound. ``step``: the distance of grid points; None: the usual one.
        """
        return math.inf

    def _reach(self, steps: int) -> int:
        """Return how many grid steps the noise reaches to each side, on a domain that is ``steps`` steps wide."""
        check_codes(2 * self.symmetric_reach * self.size_of_noise / self.step)
        return math.ceil(self.symmetric_reach * self.size_of_noise / self.step)

    def _report_reach(self) -> int:
        """Return how many grid steps past the domain reports may lie; those further out become the end reports."""
        return self.reach

    # --- derived ------------------------------------------------------------------------------------------------

    def interval_width(self, confidence: float) -> float:
        return self._width_of_unit(check_confidence(confidence)) * self.size_of_noise

    @cached_property
    def _shift(self) -> Shift:
        """The one step of the drawing program: it adds noise drawn by the chances q[k], as a table of whole numbers."""
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
        """The chances q[k] of k = −reach..reach grid steps of noise, as an array, exactly as drawn."""
        chances = self._shift.chances
        return np.concatenate([chances, np.zeros(2 * self.reach + 1 - chances.size)])

    @property
    def noise_variance(self) -> float:
        """The variance of the noise as drawn, in squared units of the domain."""
        steps = np.arange(-self.reach, self.reach + 1)
        return float((self.noise * steps.astype(float) ** 2).sum() * self.step**2)

    def for_measuring(self) -> Channel:
        excess = self.inputs.size * self.outputs.size / LARGEST_LAW
        if excess <= 1:
            return self
        coarser = min(self.step * math.ceil(math.sqrt(excess)), self.domain.width / 20)
        step = max(math.floor(coarser), 1) if self.domain.integer else coarser
        return type(self)(self.domain, self.size_of_noise, step=step)  # type: ignore[call-arg, arg-type]

    def parameters(self) -> dict[str, Any]:
        return dict(self._given)

    def describe(self, say: Voice) -> str:
        return say("how.additive", half=say.number(self.interval_width(0.5) / 2), step=say.number(self.step))


class ScaledNoise(AdditiveNoise):
    """A channel that adds noise whose size is called ``scale``; the base class of Gaussian and Laplace."""

    own_parameter = "scale"

    def __init__(
        self, domain: Interval, scale: float | None = None, *, privacy: float | None = None,
        confidence: float = 0.95, snr: float | None = None, data_deviation: float | None = None,
        step: float | None = None, missing: str = "pass", outside: str = "refuse", **bound: float | None,
    ) -> None:  # fmt: skip
        ways = {"scale": scale, "privacy": privacy, "snr": snr}
        super().__init__(domain, ways, bound, confidence=confidence, data_deviation=data_deviation, step=step,
                         missing=missing, outside=outside)  # fmt: skip

    @property
    def scale(self) -> float:
        """The scale of the noise, in units of the domain: Gaussian's deviation, Laplace's mean absolute value."""
        return self.size_of_noise
