"""Runs of EM: by plain or over-relaxed steps, or by Anderson's extrapolation under control of the likelihood.

A run works on a batch of problems that share a table: `step` moves all problems that are still `going`, `retire` takes
those out that are done by a stopping rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.evidence.observed import Evidence
from sfumato.evidence.stopping import Done, LikelihoodGain, StepRule
from sfumato.evidence.tables import Array

TINY = 1e-300
"""The least probability whose logarithm is taken, near the smallest double."""
LARGEST = 1e20
"""The largest factor of EM in float32: to the power of 1.9, near the limit of 2 of over-relaxed steps, it is 10³⁸ and
still a number."""
RIDGE = 1e-10
"""Part of the trace added to the diagonal of Anderson's normal equations, which are singular when a step repeats an
earlier one. By judgement: far above the rounding of doubles, 10⁻¹⁶; larger slows the extrapolation."""
DYING = 1e-2
"""Part of an even share below which a cell that EM would enlarge counts as emptied by a proposal. By judgement: larger
or smaller tries other cells, but mass goes back only where the likelihood gains."""
RESTARTS = 3
"""How often a stalled problem starts afresh. By judgement: more take time where the likelihood is flat, fewer may end
below the maximum."""
PAUSE = 5
"""Steps after a restart before the stopping rule is applied again. By judgement: the extrapolation needs a few new
ones; with fewer, a restart ends before it gains anything."""
BISECTIONS = 60
"""Halvings of [0, 1] in `_best_share`: beyond 53, the digits of a double, nothing changes near 1."""

Chosen = Done | Codes  # some problems of a batch, by mask or by row


def em_factor(evidence: Evidence, surprise: Array) -> Array:
    """Return f_t = (1/n) Σ_s P[s,t]·N_s/(P p)_s, by which EM multiplies p_t."""
    factor: Array = evidence.table.adjoint(surprise)
    factor *= (1 / np.maximum(evidence.totals, TINY)).astype(factor.dtype)[:, None]
    return factor


def em_step(evidence: Evidence, p: Array, power: float = 1.0, smoothing: float = 0.0) -> Array:
    """Return EM's next estimate p·f^power with ``smoothing`` reports spread evenly over the cells, scaled to sum 1."""
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
    """Bound a factor in float32 in place by LARGEST and return it, so that an emptied cell does not become NaN."""
    return factor if factor.dtype == np.float64 else np.minimum(factor, np.float32(LARGEST), out=factor)


# --- steps that do not compute the likelihood -------------------------------------------------------------------------


@dataclass(frozen=True)
class OverRelaxed:
    """Over-relaxed steps of EM, p'_t ∝ p_t·f_t^power.

    power: from 1 (plain EM) to below 2. after: how many plain steps come first, which lead away from the flat start.
    """

    power: float = 1.8
    after: int = 0


class Relaxed:
    """A run of EM by plain or over-relaxed steps, with a stopping rule about successive estimates.

    Problems without a report keep their start, unless smoothing moves them.

    p: the start of every problem, one a row. smoothing: reports that are spread evenly over the cells.
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
        """Take one step in all problems that are not done."""
        power = self.relaxed.power if self.steps >= self.relaxed.after else 1.0
        self.before, self.now = self.now, em_step(self.evidence, self.now, power, self.smoothing)
        self.steps += 1
        self.applications += 2 * self.going.size

    def retire(self, stop: StepRule) -> None:
        """Take the problems out of the run that are done by a rule."""
        done = stop.reached(self.evidence, self.before, self.now)
        if done.any():
            self.p[self.going] = self.now
            self.going, self.evidence, self.now = self.going[~done], self.evidence.only(~done), self.now[~done]


# --- proposals that the likelihood accepts or refuses -----------------------------------------------------------------


class Anderson:
    """Anderson's extrapolation in log p from the last ``memory`` steps of EM (0: plain EM).

    EM's map M has the maximum-likelihood estimate as its fixed point. With x = log p, residual r = log M(p) − x, and
    the differences ΔX, ΔR between the last steps, the proposal is

        x + r − (ΔX + ΔR)·c,   c = argmin ‖√p·(r − ΔR c)‖,

    a multisecant Newton step. Logarithms keep it positive; √p weighs the cells as the Fisher information does. A run
    takes the proposal if the likelihood does not fall, and EM's own step otherwise.
    """

    def __init__(self, memory: int = 15) -> None:
        self.memory = memory

    def start(self, problems: int, cells: int) -> None:
        """Begin a run of so many problems with so many true cells, without earlier steps."""
        self._steps = 0
        self._last: tuple[Floats, Floats] | None = None
        self._dr = np.zeros((problems, self.memory, cells))
        self._dy = np.zeros((problems, self.memory, cells))  # ΔX + ΔR, the differences of log M(p)

    def propose(self, p: Floats, image: Floats) -> Floats | None:
        """Return a proposal for every problem, one a row; None where there is no earlier step to extrapolate from.

        p: the estimates. image: EM's next estimates M(p).
        """
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
        """Drop the earlier steps of the problems whose proposal failed, by mask or by row."""
        self._dy[failed], self._dr[failed] = 0.0, 0.0

    def keep(self, going: Codes) -> None:
        """Continue with these problems only."""
        self._dy, self._dr = self._dy[going], self._dr[going]
        if self._last is not None:
            self._last = self._last[0][going], self._last[1][going]


class Guided:
    """A run of EM with Anderson's proposals in which the likelihood of no problem ever falls.

    p: the start of every problem, one a row. ``best``: the estimates of all problems. ``likelihoods``: the
    log-likelihoods of all problems after each step.
    """

    OF_THOSE_GOING = ("going", "p", "likelihood", "factor", "possible", "exhausted", "restarts", "pause")

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
        self.pause = np.zeros(p.shape[0], dtype=np.int64)  # steps to take before the rule is applied again

    @property
    def steps(self) -> int:
        """The number of steps that were taken."""
        return len(self.likelihoods) - 1

    @property
    def image(self) -> Array:
        """EM's next estimates M(p)."""
        return self.p * self.factor

    def _likelihood_of(self, evidence: Evidence, p: Array) -> tuple[Floats, Array]:
        """Return (log-likelihood, N_s/(P p)_s) of every problem."""
        self.applications += len(p)
        predicted = evidence.predict(p)
        likelihood = (evidence.counts * np.log(predicted)).sum(axis=-1, dtype=np.float64)
        return likelihood, np.divide(evidence.counts, predicted, out=predicted)

    def _factor_of(self, evidence: Evidence, surprise: Array) -> Array:
        """Return `em_factor`, and count the table applications."""
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
        """Take EM's own step in the chosen problems; one whose likelihood does not rise is exhausted."""
        target = self.image[chosen]
        likelihood, surprise = self._likelihood_of(self.evidence.only(chosen), target)
        rise = likelihood >= self.likelihood[chosen]
        rows = np.flatnonzero(chosen)
        self._accept(rows[rise], target[rise], likelihood[rise], surprise[rise])
        self.exhausted[rows[~rise]] = True  # nothing left above rounding error

    def _accept(self, rows: Codes, p: Array, likelihood: Floats, surprise: Array) -> None:
        """Store new estimates of the problems in these rows, with their likelihood and EM's factor there."""
        if rows.size == self.going.size:
            self.p, self.likelihood, self.factor = p, likelihood, self._factor_of(self.evidence, surprise)
        elif rows.size:
            self.p[rows], self.likelihood[rows] = p, likelihood
            self.factor[rows] = self._factor_of(self.evidence.only(rows), surprise)

    def retire(self, stop: LikelihoodGain) -> None:
        """Record the step's likelihoods, and take the problems out of the run that are done by a rule."""
        self.best[self.going] = self.p
        self.likelihoods.append(self.likelihoods[-1].copy())
        self.likelihoods[-1][self.going] = self.likelihood
        done = (stop.reached(self.likelihoods)[self.going] & (self.pause <= 0)) | self.exhausted
        self.pause -= 1
        if done.any():
            done[self._revive(np.flatnonzero(done), stop.nats)] = False
            done[self._restart(np.flatnonzero(done), stop.promise)] = False
        if done.any():
            stay = np.flatnonzero(~done)
            self.evidence = self.evidence.only(stay)
            for name in self.OF_THOSE_GOING:
                setattr(self, name, getattr(self, name)[stay])
            self.accelerate.keep(stay)

    def _restart(self, rows: Codes, promise: float) -> Codes:
        """Restart those of the problems in these rows that have stalled, without earlier steps; return their rows.

        A problem has stalled if n·(max_t f_t − 1), a bound on what is left to gain, is above ``promise``.
        """
        left = self.evidence.totals * (np.where(self.possible, self.factor, 0.0).max(axis=1) - 1.0)
        stalled: Codes = rows[(left[rows] > promise) & (self.restarts[rows] < RESTARTS) & ~self.exhausted[rows]]
        self.restarts[stalled] += 1
        self.pause[stalled] = PAUSE
        self.accelerate.forget(stalled)
        return stalled

    def _revive(self, rows: Codes, least: float) -> Codes:
        """Give mass back to emptied cells of the problems in these rows; return the rows that gain more than ``least``.

        A proposal may empty a cell (p_t ≈ 0) that would raise the likelihood (f_t > 1). EM, which multiplies, would
        need forever to fill it, and a rule about gains would stop. So mass ε moves to such cells q, (1 − ε)p + εq, with
        the best ε; a problem that gains by it is not done.
        """
        slope = np.where(self.possible & (self.p * self.p.shape[1] < DYING), self.factor - 1.0, 0.0)[rows]
        np.maximum(slope, 0.0, out=slope)
        rising = slope.sum(axis=1) > 0
        if not rising.any():
            return rows[:0]
        rows, q = rows[rising], slope[rising] / slope[rising].sum(axis=1, keepdims=True)
        some = self.evidence.only(rows)
        share = _best_share(some.counts, some.table.apply(self.p[rows]), some.table.apply(q))[:, None]
        p = (1 - share) * self.p[rows] + share * q
        likelihood, surprise = self._likelihood_of(some, p)
        gains = likelihood > self.likelihood[rows] + least
        rows = rows[gains]
        self._accept(rows, p[gains], likelihood[gains], surprise[gains])
        self.exhausted[rows] = False
        self.accelerate.forget(rows)
        return np.asarray(rows)


def _best_share(counts: Array, here: Array, there: Array) -> Floats:
    """Return the ε in 0..1 that maximises the concave Σ_s N_s·log((1 − ε)·here_s + ε·there_s), by bisection."""
    low, high = np.zeros(len(counts)), np.ones(len(counts))
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        mixed = here + middle[:, None] * (there - here)
        rising = (counts * (there - here) / np.maximum(mixed, TINY)).sum(axis=1) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return low
