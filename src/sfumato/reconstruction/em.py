"""Maximum likelihood by EM: AS00's Equation 3, for one problem or many at once, through any table.

    p'_t = (1/n) Σ_s N_s · P[s,t]·p_t / Σ_u P[s,u]·p_u = p_t·f_t,

N_s the reports counted in cell s. The log-likelihood L = Σ_s N_s·log (P p)_s never falls. It is concave, so that no
distribution q is better than p by more than its slope promises, L(q) − L(p) ≤ n·(max_t f_t − 1).

This is the one EM of the house: the table's dtype is that of the arithmetic, rules for stopping and for stepping
further than EM does are objects beside the loop (`sfumato.reconstruction.rules`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sfumato.channels.drawing import kernels_in
from sfumato.domain import Codes, Floats
from sfumato.reconstruction.rules import (
    CONVERGED,
    ENOUGH,
    TINY,
    Anderson,
    Array,
    ChiSquare,
    Chosen,
    Done,
    OverRelaxed,
    Steps,
    Stop,
)
from sfumato.reconstruction.tables import DenseTable, Table

DYING = 1e-2  # a cell of less than this part of an even share whose f_t > 1 was emptied by a proposal, not by EM
RESTARTS, REST = 3, 5  # how often a stalled problem starts afresh, and its steps before the rule is asked again
LARGEST = 1e20  # of a factor in float32: to the power of 1.9 it still is a number
FEW_ENTRIES = 100_000  # up to here a dense table stays in the cache, and the compiled loop beats the matrix product


@dataclass(frozen=True)
class EMFit:
    """Estimates (one a row), and what they cost; ``likelihoods`` step by step where EM looked at them."""

    probabilities: Floats
    iterations: int
    applications: int
    converged: bool
    problems: Likelihood
    likelihoods: Sequence[Floats] = ()

    @cached_property
    def log_likelihood(self) -> Floats:
        """Σ_s N_s·log (P p)_s of each estimate."""
        return self.likelihoods[-1] if self.likelihoods else self.problems.of(self.probabilities)[0]


def maximise_likelihood(
    table: Table, counts: npt.ArrayLike, *, start: npt.ArrayLike | None = None,
    stop: Stop | Steps | ChiSquare = ENOUGH, acceleration: Anderson | OverRelaxed | None = None,
    smoothing: float = 0.0,
) -> EMFit:
    """EM from ``start`` (uniform unless given) until ``stop``; ``counts`` has one problem a row.

    EM runs plain or over-relaxed to a number of steps or to AS00's stop, and by Anderson's proposals to a rule about
    the likelihood. ``smoothing`` reports spread evenly over the cells keep each of them off zero (plain and
    over-relaxed steps only).

    >>> from sfumato.reconstruction.tables import DenseTable
    >>> fit = maximise_likelihood(DenseTable(np.eye(2)), np.array([[30.0, 10.0]]))
    >>> fit.probabilities.tolist()
    [[0.75, 0.25]]
    """
    problems = Likelihood(table, np.asarray(counts, dtype=table.dtype).reshape(-1, table.shape[0]))
    shape = (problems.reports.size, table.shape[1])
    p: Array = np.full(shape, 1 / shape[1]) if start is None else np.array(start).reshape(shape)
    p = p.astype(table.dtype, copy=False)
    if isinstance(stop, (Steps, ChiSquare)):
        if isinstance(acceleration, Anderson):
            raise ValueError("Anderson's proposals follow the likelihood; stop by LikelihoodGain(…)")
        return _stepped(problems, p, stop, acceleration or OverRelaxed(1.0), smoothing)
    if smoothing or isinstance(acceleration, OverRelaxed):
        raise ValueError("smoothing and over-relaxation do not follow the likelihood; stop by Steps(…) or ChiSquare(…)")
    run = _Run(problems, acceleration or Anderson(), p)
    while run.going.size and run.steps < stop.limit:
        run.step()
        run.retire(stop)
    return EMFit(run.best, run.steps, problems.applications, not run.going.size, problems, run.likelihoods)


class Likelihood:
    """Counts seen through a table: the log-likelihood of an estimate and EM's image of it, one a row."""

    def __init__(self, table: Table, counts: Array, whole: Likelihood | None = None) -> None:
        self.table, self.counts = table, counts
        self.reports: Floats = counts.sum(axis=-1, dtype=np.float64)
        self.tiny = np.asarray(TINY if counts.dtype == np.float64 else 1e-30, counts.dtype)
        self.applications = 0
        self._whole = whole or self

    def only(self, chosen: Chosen) -> Likelihood:
        """The same for some of the problems; what it costs is counted with the whole."""
        return Likelihood(self.table, self.counts[chosen], self._whole)

    def apply(self, p: Array) -> Array:
        self._whole.applications += p.shape[0]
        return self.table.apply(p)

    def adjoint(self, r: Array) -> Array:
        self._whole.applications += r.shape[0]
        return self.table.adjoint(r)

    def of(self, p: Array) -> tuple[Floats, Array]:
        """(Σ_s N_s·log (P p)_s, N_s/(P p)_s)."""
        predicted = np.maximum(self.apply(p), self.tiny)
        return (self.counts * np.log(predicted)).sum(axis=-1, dtype=np.float64), self.counts / predicted

    def factor(self, surprise: Array) -> Array:
        """f_t = (1/n) Σ_s P[s,t]·N_s/(P p)_s, by which EM multiplies p_t."""
        factor = self.adjoint(surprise)
        factor *= (1 / np.maximum(self.reports, TINY)).astype(factor.dtype)[:, None]
        return factor

    def step(self, p: Array, power: float = 1.0, smoothing: float = 0.0) -> Array:
        """EM's next estimate p·f^power, with ``smoothing`` reports spread evenly, made a distribution."""
        surprise = self.apply(p)
        np.maximum(surprise, self.tiny, out=surprise)
        with np.errstate(over="ignore"):
            surprise = self._bounded(np.divide(self.counts, surprise, out=surprise))
        if power == 1.0:  # n·f does as well as f, because what comes out is made a distribution
            image = self._bounded(self.adjoint(surprise)) * p
            if smoothing:
                image += image.dtype.type(smoothing / p.shape[1])
        else:
            image = self._bounded(self.factor(surprise))
            np.power(image, image.dtype.type(power), out=image)
            image *= p
            if smoothing:
                image += (smoothing / self.reports / p.shape[1]).astype(p.dtype)[:, None]
        image /= image.sum(axis=-1, keepdims=True)
        return image

    def _bounded(self, factor: Array) -> Array:
        """The factor, in float32 kept from overflowing: an emptied cell stays empty instead of becoming no number."""
        return factor if factor.dtype == np.float64 else np.minimum(factor, np.float32(LARGEST), out=factor)


def _stepped(problems: Likelihood, p: Array, stop: Steps | ChiSquare, relaxed: OverRelaxed, smoothing: float) -> EMFit:
    """EM without a look at the likelihood; problems without a report stay where they are."""
    going = np.flatnonzero(problems.reports > 0)
    steps = 0
    if isinstance(stop, ChiSquare) and relaxed.power == 1.0 and not smoothing:
        steps, going = _compiled_steps(problems, p, stop, going)
    some, now = problems.only(going), p[going]
    while going.size and steps < stop.limit:
        before, now = now, some.step(now, relaxed.power if steps >= relaxed.after else 1.0, smoothing)
        steps += 1
        if isinstance(stop, ChiSquare) and (done := stop.reached(some.reports, before, now)).any():
            p[going] = now
            going, some, now = going[~done], some.only(~done), now[~done]
    p[going] = now
    converged = isinstance(stop, Steps) or not going.size
    return EMFit(p, steps, problems.applications, converged, problems)


def _compiled_steps(problems: Likelihood, p: Array, stop: ChiSquare, going: Codes) -> tuple[int, Codes]:
    """Where the compiled loop is quicker and installed, all problems one by one, in place.

    (Most steps that one took, problems that were not done in time.)
    """
    table = problems.table
    small = isinstance(table, DenseTable) and table.shape[0] * table.shape[1] <= FEW_ENTRIES
    kernels = kernels_in("sfumato.reconstruction.kernels") if small else None
    if not kernels:
        return 0, going
    law, enough = table.dense(), stop.threshold(p.shape[1])
    taken = [kernels.equation_3(law, problems.counts[i], p[i], enough, stop.limit) for i in going]
    problems.applications += 2 * sum(taken)
    return max(taken, default=0), going[np.array(taken, dtype=int) >= stop.limit]


class _Run:
    """One EM run over a batch, guided by the likelihood; problems that are done leave it."""

    OF_THOSE_GOING = ("going", "p", "likelihood", "factor", "possible", "exhausted", "restarts", "rest")

    def __init__(self, problems: Likelihood, accelerate: Anderson, p: Array) -> None:
        self.problems, self.accelerate = problems, accelerate
        accelerate.start(*p.shape)
        self.p, self.best = p, p.copy()
        self.possible = p > 0
        self.likelihood, surprise = problems.of(p)
        self.factor = problems.factor(surprise)
        self.likelihoods = [self.likelihood.copy()]
        self.going = np.arange(p.shape[0])
        self.exhausted = np.zeros(p.shape[0], dtype=bool)
        self.restarts = np.zeros(p.shape[0], dtype=np.int64)
        self.rest = np.zeros(p.shape[0], dtype=np.int64)  # steps to take before the rule is asked again

    @property
    def steps(self) -> int:
        return len(self.likelihoods) - 1

    @property
    def image(self) -> Array:
        return self.p * self.factor

    def step(self) -> None:
        """Take the proposal where the likelihood does not fall, EM's own step elsewhere."""
        proposal = self.accelerate.propose(self.p, self.image)
        if proposal is None:
            return self._take_image(np.ones(self.going.size, dtype=bool))
        proposal *= self.possible
        likelihood, surprise = self.problems.of(proposal)
        rise = likelihood >= self.likelihood
        self._accept(np.flatnonzero(rise), proposal[rise], likelihood[rise], surprise[rise])
        if not rise.all():
            self.accelerate.forget(~rise)
            self._take_image(~rise)

    def _take_image(self, chosen: Done) -> None:
        target = self.image[chosen]
        likelihood, surprise = self.problems.only(chosen).of(target)
        rise = likelihood >= self.likelihood[chosen]
        places = np.flatnonzero(chosen)
        self._accept(places[rise], target[rise], likelihood[rise], surprise[rise])
        self.exhausted[places[~rise]] = True  # nothing left above rounding error

    def _accept(self, places: Codes, p: Array, likelihood: Floats, surprise: Array) -> None:
        if places.size == self.going.size:
            self.p, self.likelihood, self.factor = p, likelihood, self.problems.factor(surprise)
        elif places.size:
            self.p[places], self.likelihood[places] = p, likelihood
            self.factor[places] = self.problems.only(places).factor(surprise)

    def retire(self, stop: Stop) -> None:
        """Note the step, and let the problems that are done leave."""
        self.best[self.going] = self.p
        self.likelihoods.append(self.likelihoods[-1].copy())
        self.likelihoods[-1][self.going] = self.likelihood
        done = (stop.reached(self.likelihoods)[self.going] & (self.rest <= 0)) | self.exhausted
        self.rest -= 1
        if done.any():
            done[self._revive(np.flatnonzero(done), getattr(stop, "nats", CONVERGED.nats))] = False
            done[self._restart(np.flatnonzero(done), getattr(stop, "promise", np.inf))] = False
        if done.any():
            stay = np.flatnonzero(~done)
            self.problems = self.problems.only(stay)
            for name in self.OF_THOSE_GOING:
                setattr(self, name, getattr(self, name)[stay])
            self.accelerate.keep(stay)

    def _restart(self, places: Codes, promise: float) -> Codes:
        """Of the problems about to leave, those whose slope promises more than they came to: without their past."""
        left = self.problems.reports * (np.where(self.possible, self.factor, 0.0).max(axis=1) - 1.0)
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
        some = self.problems.only(places)
        share = _best_share(some.counts, some.apply(self.p[places]), some.apply(q))[:, None]
        p = (1 - share) * self.p[places] + share * q
        likelihood, surprise = some.of(p)
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
