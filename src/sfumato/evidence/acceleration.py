"""How EM steps: plain or over-relaxed steps, and proposals by Anderson's extrapolation that follow the likelihood.

A run holds a batch of problems that share a table: its `step` moves all that are still `going`, its `retire` lets go of
those that a rule calls done.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.evidence.observed import Evidence
from sfumato.evidence.stopping import Done, LikelihoodGain, StepRule
from sfumato.evidence.tables import Array

TINY = 1e-300  # the least probability whose logarithm is taken, near the smallest double
LARGEST = 1e20  # of a factor in float32: to the power of 1.9 it still is a number
RIDGE = 1e-10  # part of the trace added to the diagonal of Anderson's normal equations, which are singular when a step
# repeats an earlier one: the square root of the precision of doubles, with a margin
DYING = 1e-2  # a cell with less than this part of an even share that EM would enlarge was emptied by a proposal, not by
# EM; a hundred times more or less asks about other cells, and the gain that is demanded decides all the same
RESTARTS = 3  # how often a stalled problem starts afresh: none of the shapes of bench/reconstruction_grid.py needs more
REST = 5  # steps after that before the rule is asked again: the extrapolation has to see a few new ones

Chosen = Done | Codes  # some problems of a batch, by mask or by row


def em_factor(evidence: Evidence, surprise: Array) -> Array:
    """Return f_t = (1/n) Σ_s P[s,t]·N_s/(P p)_s, by which EM multiplies p_t."""
    factor: Array = evidence.table.adjoint(surprise)
    factor *= (1 / np.maximum(evidence.totals, TINY)).astype(factor.dtype)[:, None]
    return factor


def em_step(evidence: Evidence, p: Array, power: float = 1.0, smoothing: float = 0.0) -> Array:
    """Return EM's next estimate p·f^power with ``smoothing`` reports spread evenly, made a distribution."""
    with np.errstate(over="ignore"):
        surprise = _bounded(evidence.surprise(p))
    if power == 1.0:  # n·f does as well as f, because what comes out is made a distribution
        image = _bounded(evidence.table.adjoint(surprise)) * p
        if smoothing:
            image += image.dtype.type(smoothing / p.shape[1])
    else:
        image = _bounded(em_factor(evidence, surprise))
        np.power(image, image.dtype.type(power), out=image)
        image *= p
        if smoothing:
            image += (smoothing / evidence.totals / p.shape[1]).astype(p.dtype)[:, None]
    image /= image.sum(axis=-1, keepdims=True)
    return image


def _bounded(factor: Array) -> Array:
    """Keep a factor in float32 from overflowing: an emptied cell stays empty instead of becoming no number."""
    return factor if factor.dtype == np.float64 else np.minimum(factor, np.float32(LARGEST), out=factor)


# --- steps that do not look at the likelihood -------------------------------------------------------------------------


@dataclass(frozen=True)
class OverRelaxed:
    """Steps p'_t ∝ p_t·f_t^power with 1 ≤ power < 2, after some plain steps that lead away from the flat start."""

    power: float = 1.8
    after: int = 0


class Relaxed:
    """EM by plain or over-relaxed steps, until a rule about successive estimates.

    Problems without a report stay where they are, unless smoothing moves them.
    """

    def __init__(self, evidence: Evidence, p: Array, relaxed: OverRelaxed, smoothing: float) -> None:
        self.p, self.relaxed, self.smoothing = p, relaxed, smoothing
        self.going = np.flatnonzero((evidence.totals > 0) | (smoothing > 0))
        self.evidence, self.now, self.before = evidence.only(self.going), p[self.going], p[self.going]
        self.steps = self.applications = 0

    @property
    def best(self) -> Array:
        """The estimates of all problems, one a row."""
        self.p[self.going] = self.now
        return self.p

    def step(self) -> None:
        """Move all problems that are not done."""
        power = self.relaxed.power if self.steps >= self.relaxed.after else 1.0
        self.before, self.now = self.now, em_step(self.evidence, self.now, power, self.smoothing)
        self.steps += 1
        self.applications += 2 * self.going.size

    def retire(self, stop: StepRule) -> None:
        """Let go of the problems that a rule calls done."""
        done = stop.reached(self.evidence, self.before, self.now)
        if done.any():
            self.p[self.going] = self.now
            self.going, self.evidence, self.now = self.going[~done], self.evidence.only(~done), self.now[~done]


# --- proposals that follow the likelihood -----------------------------------------------------------------------------


class Anderson:
    """Anderson's extrapolation in log p from the last ``memory`` steps (0: EM as it is).

    EM's map M has the maximum-likelihood estimate as its fixed point. With x = log p, residual r = log M(p) − x, and
    the differences ΔX, ΔR between the last steps, the proposal is

        x + r − (ΔX + ΔR)·c,   c = argmin ‖√p·(r − ΔR c)‖,

    a multisecant Newton step. Logarithms keep it positive; √p weighs the cells as the Fisher information does. A
    proposal is only ever a proposal: EM takes it if the likelihood does not fall, and its own step otherwise.
    """

    def __init__(self, memory: int = 15) -> None:
        self.memory = memory

    def start(self, problems: int, cells: int) -> None:
        """Forget everything."""
        self._steps = 0
        self._last: tuple[Floats, Floats] | None = None
        self._dr = np.zeros((problems, self.memory, cells))
        self._dy = np.zeros((problems, self.memory, cells))  # ΔX + ΔR, the differences of log M(p)

    def propose(self, p: Floats, image: Floats) -> Floats | None:
        """An estimate of every problem further along than EM's image of p, or None."""
        if not self.memory:
            return None
        y = np.log(np.maximum(image, TINY))
        r = y - np.log(np.maximum(p, TINY))
        last, self._last = self._last, (y, r)
        if last is None:
            return None
        slot = self._steps % self.memory
        np.subtract(y, last[0], out=self._dy[:, slot])
        np.subtract(r, last[1], out=self._dr[:, slot])
        self._steps += 1
        used = min(self._steps, self.memory)
        weight = np.sqrt(p)
        dr = self._dr[:, :used] * weight[:, None, :]
        gram = dr @ dr.transpose(0, 2, 1)
        diagonal = gram.reshape(gram.shape[0], -1)[:, :: used + 1]
        diagonal += RIDGE * diagonal.sum(axis=1, keepdims=True) + TINY
        c = np.linalg.solve(gram, dr @ (r * weight)[:, :, None])
        y = y - (c.transpose(0, 2, 1) @ self._dy[:, :used])[:, 0]
        y = np.exp(y - y.max(axis=1, keepdims=True))
        return np.asarray(y / y.sum(axis=1, keepdims=True))

    def forget(self, failed: Chosen) -> None:
        """Start afresh in the problems whose proposal failed."""
        self._dy[failed], self._dr[failed] = 0.0, 0.0

    def keep(self, going: Codes) -> None:
        """Go on with these problems only."""
        self._dy, self._dr = self._dy[going], self._dr[going]
        if self._last is not None:
            self._last = self._last[0][going], self._last[1][going]


class Guided:
    """One EM run over a batch that follows the likelihood, by Anderson's proposals; problems that are done leave it."""

    OF_THOSE_GOING = ("going", "p", "likelihood", "factor", "possible", "exhausted", "restarts", "rest")

    def __init__(self, evidence: Evidence, accelerate: Anderson, p: Array) -> None:
        self.evidence, self.accelerate, self.applications = evidence, accelerate, 0
        accelerate.start(*p.shape)
        self.p, self.best = p, p.copy()
        self.possible = p > 0
        self.likelihood, surprise = self._likelihood_of(evidence, p)
        self.factor = self._factor_of(evidence, surprise)
        self.likelihoods = [self.likelihood.copy()]
        self.going = np.arange(p.shape[0])
        self.exhausted = np.zeros(p.shape[0], dtype=bool)
        self.restarts = np.zeros(p.shape[0], dtype=np.int64)
        self.rest = np.zeros(p.shape[0], dtype=np.int64)  # steps to take before the rule is asked again

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return len(self.likelihoods) - 1

    @property
    def image(self) -> Array:
        """EM's own next estimates."""
        return self.p * self.factor

    def _likelihood_of(self, evidence: Evidence, p: Array) -> tuple[Floats, Array]:
        """Return (log-likelihood, N_s/(P p)_s) of every problem."""
        self.applications += len(p)
        predicted = evidence.predict(p)
        likelihood = (evidence.counts * np.log(predicted)).sum(axis=-1, dtype=np.float64)
        return likelihood, np.divide(evidence.counts, predicted, out=predicted)

    def _factor_of(self, evidence: Evidence, surprise: Array) -> Array:
        self.applications += len(surprise)
        return em_factor(evidence, surprise)

    def step(self) -> None:
        """Take the proposal where the likelihood does not fall, EM's own step elsewhere."""
        proposal = self.accelerate.propose(self.p, self.image)
        if proposal is None:
            return self._take_image(np.ones(self.going.size, dtype=bool))
        proposal *= self.possible
        likelihood, surprise = self._likelihood_of(self.evidence, proposal)
        rise = likelihood >= self.likelihood
        self._accept(np.flatnonzero(rise), proposal[rise], likelihood[rise], surprise[rise])
        if not rise.all():
            self.accelerate.forget(~rise)
            self._take_image(~rise)

    def _take_image(self, chosen: Done) -> None:
        target = self.image[chosen]
        likelihood, surprise = self._likelihood_of(self.evidence.only(chosen), target)
        rise = likelihood >= self.likelihood[chosen]
        places = np.flatnonzero(chosen)
        self._accept(places[rise], target[rise], likelihood[rise], surprise[rise])
        self.exhausted[places[~rise]] = True  # nothing left above rounding error

    def _accept(self, places: Codes, p: Array, likelihood: Floats, surprise: Array) -> None:
        if places.size == self.going.size:
            self.p, self.likelihood, self.factor = p, likelihood, self._factor_of(self.evidence, surprise)
        elif places.size:
            self.p[places], self.likelihood[places] = p, likelihood
            self.factor[places] = self._factor_of(self.evidence.only(places), surprise)

    def retire(self, stop: LikelihoodGain) -> None:
        """Note the step, and let the problems that are done leave."""
        self.best[self.going] = self.p
        self.likelihoods.append(self.likelihoods[-1].copy())
        self.likelihoods[-1][self.going] = self.likelihood
        done = (stop.reached(self.likelihoods)[self.going] & (self.rest <= 0)) | self.exhausted
        self.rest -= 1
        if done.any():
            done[self._revive(np.flatnonzero(done), stop.nats)] = False
            done[self._restart(np.flatnonzero(done), stop.promise)] = False
        if done.any():
            stay = np.flatnonzero(~done)
            self.evidence = self.evidence.only(stay)
            for name in self.OF_THOSE_GOING:
                setattr(self, name, getattr(self, name)[stay])
            self.accelerate.keep(stay)

    def _restart(self, places: Codes, promise: float) -> Codes:
        """Of the problems about to leave, those whose slope promises more than they came to: without their past."""
        left = self.evidence.totals * (np.where(self.possible, self.factor, 0.0).max(axis=1) - 1.0)
        stalled: Codes = places[(left[places] > promise) & (self.restarts[places] < RESTARTS) & ~self.exhausted[places]]
        self.restarts[stalled] += 1
        self.rest[stalled] = REST
        self.accelerate.forget(stalled)
        return stalled

    def _revive(self, places: Codes, least: float) -> Codes:
        """Of the problems about to leave, those that gain more than ``least`` when emptied cells get mass back.

        A proposal may empty a cell (p_t ≈ 0) that the likelihood asks for (f_t > 1): EM, which multiplies, would need
        forever to fill it, and the rule that looks at gains takes that for the end. Mass ε goes to such cells q,
        (1 − ε)p + εq, with the best ε; the problem is then not done.
        """
        asking = np.where(self.possible & (self.p * self.p.shape[1] < DYING), self.factor - 1.0, 0.0)[places]
        np.maximum(asking, 0.0, out=asking)
        found = asking.sum(axis=1) > 0
        if not found.any():
            return places[:0]
        places, q = places[found], asking[found] / asking[found].sum(axis=1, keepdims=True)
        some = self.evidence.only(places)
        share = _best_share(some.counts, some.table.apply(self.p[places]), some.table.apply(q))[:, None]
        p = (1 - share) * self.p[places] + share * q
        likelihood, surprise = self._likelihood_of(some, p)
        gains = likelihood > self.likelihood[places] + least
        places = places[gains]
        self._accept(places, p[gains], likelihood[gains], surprise[gains])
        self.exhausted[places] = False
        self.accelerate.forget(places)
        return np.asarray(places)


def _best_share(counts: Array, here: Array, there: Array) -> Floats:
    """ε in 0..1 that maximises the concave Σ_s N_s·log((1 − ε)·here_s + ε·there_s), by bisection of its slope."""
    low, high = np.zeros(len(counts)), np.ones(len(counts))
    for _ in range(60):
        middle = (low + high) / 2
        mixed = here + middle[:, None] * (there - here)
        rising = (counts * (there - here) / np.maximum(mixed, TINY)).sum(axis=1) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return low
