"""Maximum likelihood by EM: AS00's Equation 3, for one problem or many at once, through any table.

    p'_t = (1/n) Σ_s N_s · P[s,t]·p_t / Σ_u P[s,u]·p_u = p_t·f_t,

N_s the reports counted in cell s. The log-likelihood L = Σ_s N_s·log (P p)_s never falls. It is concave, so that no
distribution q is better than p by more than its slope promises, L(q) − L(p) ≤ n·(max_t f_t − 1).

This is the one EM of the house: the table's dtype is that of the arithmetic, rules for stopping and for stepping
further than EM does are objects beside the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.channels.drawing import kernels_in
from sfumato.domain import Codes, Floats
from sfumato.reconstruction.acceleration import TINY, Acceleration, Anderson, Done, OverRelaxed
from sfumato.reconstruction.tables import DenseTable, Table

Chosen = Done | Codes  # some problems of a batch, by mask or by place
Array = npt.NDArray[Any]
DYING = 1e-2  # a cell of less than this part of an even share whose f_t > 1 was emptied by a proposal, not by EM
RESTARTS, REST = 3, 5  # how often a stalled problem starts afresh, and its steps before the rule is asked again
FEW_ENTRIES = 100_000  # up to here a dense table stays in the cache, and the compiled loop beats the matrix product


# --- when to stop -------------------------------------------------------------------------------------------------


@dataclass
class Trace:
    """What happened so far, for every problem of a batch: likelihoods step by step, the last two estimates."""

    reports: Floats
    likelihoods: list[Floats] = field(default_factory=list)
    before: Floats = field(default_factory=lambda: np.empty(0))
    after: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def steps(self) -> int:
        return len(self.likelihoods) - 1

    def record(self, likelihood: Floats, before: Floats, after: Floats) -> None:
        self.likelihoods.append(likelihood.copy())
        self.before, self.after = before, after


class Stop(Protocol):
    """A rule for ending EM, at the latest after ``limit`` steps."""

    @property
    def limit(self) -> int: ...

    def reached(self, trace: Trace) -> Done:
        """Which problems are done."""


@dataclass(frozen=True)
class LikelihoodGain:
    """Stop when the last ``steps`` steps together raised the log-likelihood by less than ``nats``.

    One nat is less than what one more free parameter would explain by chance alone: a gain below it is noise, and
    following it to the end only makes the estimate rougher. Who wants the end itself gives ``promise``: steps may stall
    far from it, so while n·(max_t f_t − 1) promises more than that, acceleration starts afresh, RESTARTS times at most.
    """

    nats: float = 1.0
    steps: int = 8
    limit: int = 2000
    promise: float = np.inf

    def reached(self, trace: Trace) -> Done:
        if trace.steps < self.steps:
            return np.zeros(trace.reports.shape, dtype=bool)
        gain = trace.likelihoods[-1] - trace.likelihoods[-1 - self.steps]
        return np.asarray(gain < self.nats)


@dataclass(frozen=True)
class ChiSquare:
    """AS00's rule: successive estimates differ by less than a ``share`` of the χ² threshold.

    n·Σ (p' − p)²/p < share · χ²_{k−1}(confidence)
    """

    share: float = 0.01
    confidence: float = 0.95
    limit: int = 10_000

    def threshold(self, cells: int) -> float:
        return self.share * _chi_square(max(cells - 1, 1), self.confidence)

    def reached(self, trace: Trace) -> Done:
        p, new = trace.before, trace.after
        change = np.divide((new - p) ** 2, p, out=np.zeros_like(p), where=p > 0).sum(axis=-1)
        return np.asarray(trace.reports * change < self.threshold(p.shape[-1]))


@lru_cache
def _chi_square(freedom: int, confidence: float) -> float:
    from scipy.special import chdtri

    return float(chdtri(freedom, 1 - confidence))


@dataclass(frozen=True)
class Steps:
    """So many steps, no more and no fewer: from the uniform start their number is the amount of smoothing."""

    limit: int

    def reached(self, trace: Trace) -> Done:
        return np.zeros(trace.reports.shape, dtype=bool)


CONVERGED = LikelihoodGain(nats=1e-9, steps=3, limit=20_000, promise=1e-7)
ENOUGH = LikelihoodGain()


# --- the loop -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EMFit:
    """Estimates (one a row), and what they cost."""

    probabilities: Floats
    iterations: int
    applications: int
    converged: bool
    trace: Trace
    problems: Likelihood

    @cached_property
    def log_likelihood(self) -> Floats:
        """Σ_s N_s·log (P p)_s of each estimate."""
        return self.trace.likelihoods[-1] if self.trace.likelihoods else self.problems.of(self.probabilities)[0]


def maximise_likelihood(
    table: Table,
    counts: npt.ArrayLike,
    *,
    start: npt.ArrayLike | None = None,
    stop: Stop = ENOUGH,
    acceleration: Acceleration | None = None,
    smoothing: float = 0.0,
) -> EMFit:
    """EM from ``start`` (uniform unless given) until ``stop``; ``counts`` has one problem a row.

    Unless an ``acceleration`` is given, EM runs plain to a number of steps or to AS00's stop, and accelerated to a
    rule about the likelihood. ``smoothing`` reports spread evenly over the cells keep each of them off zero (plain
    and over-relaxed steps only).

    >>> from sfumato.reconstruction.tables import DenseTable
    >>> fit = maximise_likelihood(DenseTable(np.eye(2)), np.array([[30.0, 10.0]]))
    >>> fit.probabilities.tolist()
    [[0.75, 0.25]]
    """
    problems = Likelihood(table, np.asarray(counts, dtype=table.dtype).reshape(-1, table.shape[0]))
    shape = (problems.reports.size, table.shape[1])
    p: Array = np.full(shape, 1 / shape[1]) if start is None else np.array(start).reshape(shape)
    p = p.astype(table.dtype, copy=False)
    if isinstance(stop, (Steps, ChiSquare)) and not isinstance(acceleration, Anderson):
        return _stepped(problems, p, stop, acceleration, smoothing)
    if smoothing or isinstance(acceleration, OverRelaxed):
        raise ValueError("smoothing and over-relaxation do not follow the likelihood; stop by Steps(…) or ChiSquare(…)")
    accelerate = Anderson() if acceleration is None else acceleration
    accelerate.start(*shape)
    run = _Run(problems, accelerate, p)
    while run.going.size and run.trace.steps < stop.limit:
        run.step()
        run.retire(stop)
    return run.result()


def em_step(table: Table, counts: npt.ArrayLike, p: npt.ArrayLike, power: float = 1.0, smoothing: float = 0.0) -> Array:
    """One step of Equation 3, p·f^power with ``smoothing`` reports spread evenly, for each row of p."""
    problems = Likelihood(table, np.asarray(counts, dtype=table.dtype).reshape(-1, table.shape[0]))
    return problems.step(np.asarray(p, dtype=table.dtype).reshape(-1, table.shape[1]), power, smoothing)


class Likelihood:
    """Counts seen through a table: the log-likelihood of an estimate and EM's image of it, one a row."""

    def __init__(self, table: Table, counts: Array) -> None:
        self.table, self.counts = table, counts
        self.reports: Floats = counts.sum(axis=-1, dtype=np.float64)
        self.tiny = np.asarray(TINY if counts.dtype == np.float64 else 1e-30, counts.dtype)
        self.applications = 0

    def of(self, p: Array) -> tuple[Floats, Array]:
        """(Σ_s N_s·log (P p)_s, N_s/(P p)_s)."""
        predicted = np.maximum(self.table.apply(p), self.tiny)
        self.applications += p.shape[0]
        return (self.counts * np.log(predicted)).sum(axis=-1, dtype=np.float64), self.counts / predicted

    def factor(self, surprise: Array) -> Array:
        """f_t = (1/n) Σ_s P[s,t]·N_s/(P p)_s, by which EM multiplies p_t."""
        self.applications += surprise.shape[0]
        factor: Array = self.table.adjoint(surprise)
        factor *= (1 / np.maximum(self.reports, TINY)).astype(factor.dtype)[:, None]
        return factor

    def step(self, p: Array, power: float = 1.0, smoothing: float = 0.0) -> Array:
        """EM's next estimate p·f^power, with ``smoothing`` reports spread evenly, made a distribution."""
        surprise = self.table.apply(p)
        np.maximum(surprise, self.tiny, out=surprise)
        np.divide(self.counts, surprise, out=surprise)
        self.applications += p.shape[0]
        if power == 1.0:  # n·f does as well as f, because what comes out is made a distribution
            self.applications += p.shape[0]
            image = self.table.adjoint(surprise)
            image *= p
            if smoothing:
                image += image.dtype.type(smoothing / p.shape[1])
        else:
            image = self.factor(surprise)
            np.power(image, image.dtype.type(power), out=image)
            image *= p
            if smoothing:
                image += (smoothing / self.reports / p.shape[1]).astype(p.dtype)[:, None]
        image /= image.sum(axis=-1, keepdims=True)
        return image

    def only(self, chosen: Chosen) -> Likelihood:
        """The same for some of the problems."""
        return Likelihood(self.table, self.counts[chosen])


def _stepped(
    problems: Likelihood, p: Array, stop: Steps | ChiSquare, acceleration: Acceleration | None, smoothing: float
) -> EMFit:
    """EM without a look at the likelihood; problems without a report stay where they are."""
    relaxed = acceleration if isinstance(acceleration, OverRelaxed) else OverRelaxed(1.0)
    going = np.flatnonzero(problems.reports > 0)
    kernels = _compiled(problems.table) if relaxed.power == 1.0 and not smoothing else None
    steps = 0
    if kernels and isinstance(stop, ChiSquare):
        steps, going = _compiled_steps(kernels, problems, p, stop, going)
    some = problems.only(going) if 0 < going.size < p.shape[0] else problems
    while going.size and steps < stop.limit:
        now = p[going] if going.size < p.shape[0] else p
        new = some.step(now, relaxed.power if steps >= relaxed.after else 1.0, smoothing)
        steps += 1
        if going.size < p.shape[0]:
            p[going] = new
        else:
            p = new
        if isinstance(stop, ChiSquare):
            done = stop.reached(Trace(some.reports, [], now, new))
            if done.any():
                problems.applications += some.applications if some is not problems else 0
                going = going[~done]
                some = problems.only(going)
    problems.applications += some.applications if some is not problems else 0
    converged = isinstance(stop, Steps) or not going.size
    return EMFit(p, steps, problems.applications, converged, Trace(problems.reports), problems)


def _compiled(table: Table) -> Any:
    """The compiled form of Equation 3 where it is quicker and installed."""
    small = isinstance(table, DenseTable) and table.shape[0] * table.shape[1] <= FEW_ENTRIES
    return kernels_in("sfumato.reconstruction.kernels") if small else None


def _compiled_steps(kernels: Any, problems: Likelihood, p: Array, stop: ChiSquare, going: Codes) -> tuple[int, Codes]:
    """All problems one by one, in place; (most steps that one took, problems that were not done in time)."""
    table = problems.table.dense()
    threshold = stop.threshold(p.shape[1])
    taken = [kernels.equation_3(table, problems.counts[i], p[i], threshold, stop.limit) for i in going]
    problems.applications += 2 * sum(taken)
    return max(taken, default=0), going[np.array(taken, dtype=int) >= stop.limit]


class _Run:
    """One EM run over a batch, guided by the likelihood; problems that are done leave it."""

    def __init__(self, problems: Likelihood, accelerate: Acceleration, p: Array) -> None:
        self.problems, self.accelerate = problems, accelerate
        self.p, self.best = p, p.copy()
        self.possible = p > 0
        self.likelihood, surprise = problems.of(p)
        self.factor = problems.factor(surprise)
        self.best_likelihood = self.likelihood.copy()
        self.going = np.arange(p.shape[0])
        self.applications = 0
        self.trace = Trace(problems.reports)
        self.trace.record(self.best_likelihood, self.best, self.best)
        self.exhausted = np.zeros(p.shape[0], dtype=bool)
        self.restarts = np.zeros(p.shape[0], dtype=np.int64)
        self.rest = np.zeros(p.shape[0], dtype=np.int64)  # steps to take before the rule is asked again

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
        some = self.problems.only(chosen)
        likelihood, surprise = some.of(target)
        self.problems.applications += some.applications
        rise = likelihood >= self.likelihood[chosen]
        places = np.flatnonzero(chosen)
        self._accept(places[rise], target[rise], likelihood[rise], surprise[rise])
        self.exhausted[places[~rise]] = True  # nothing left above rounding error

    def _accept(self, places: Codes, p: Array, likelihood: Floats, surprise: Array) -> None:
        if places.size == self.going.size:
            self.p, self.likelihood, self.factor = p, likelihood, self.problems.factor(surprise)
        elif places.size:
            some = self.problems.only(places)
            self.p[places], self.likelihood[places], self.factor[places] = p, likelihood, some.factor(surprise)
            self.problems.applications += some.applications

    def retire(self, stop: Stop) -> None:
        """Note the step, and let the problems that are done leave."""
        before = self.best
        self.best = before.copy()
        self.best[self.going], self.best_likelihood[self.going] = self.p, self.likelihood
        self.trace.record(self.best_likelihood, before, self.best)
        done = (stop.reached(self.trace)[self.going] & (self.rest <= 0)) | self.exhausted
        self.rest -= 1
        if done.any():
            done[self._revive(np.flatnonzero(done), getattr(stop, "nats", CONVERGED.nats))] = False
            done[self._restart(np.flatnonzero(done), getattr(stop, "promise", np.inf))] = False
        if done.any():
            stay = np.flatnonzero(~done)
            self.applications += self.problems.applications
            self.going, self.problems = self.going[stay], self.problems.only(stay)
            self.p, self.likelihood, self.factor = self.p[stay], self.likelihood[stay], self.factor[stay]
            self.possible, self.exhausted = self.possible[stay], self.exhausted[stay]
            self.restarts, self.rest = self.restarts[stay], self.rest[stay]
            self.accelerate.keep(stay)

    def _restart(self, places: Codes, promise: float) -> Codes:
        """Of the problems about to leave, those whose slope promises more than they came to: without their past."""
        left = self.problems.reports * (np.where(self.possible, self.factor, 0.0).max(axis=1) - 1.0)
        stalled: Codes = places[(left[places] > promise) & (self.restarts[places] < RESTARTS) & ~self.exhausted[places]]
        self.restarts[stalled] += 1
        self.rest[stalled] = REST
        self.accelerate.forget(np.isin(np.arange(self.going.size), stalled))
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
        share = _best_share(some.counts, some.table.apply(self.p[places]), some.table.apply(q))[:, None]
        p = (1 - share) * self.p[places] + share * q
        likelihood, surprise = some.of(p)
        self.problems.applications += some.applications + 2 * places.size
        gains = likelihood > self.likelihood[places] + least
        places = places[gains]
        self._accept(places, p[gains], likelihood[gains], surprise[gains])
        self.exhausted[places] = False
        self.accelerate.forget(np.isin(np.arange(self.going.size), places))
        return np.asarray(places)

    def result(self) -> EMFit:
        applications = self.applications + self.problems.applications
        return EMFit(self.best, self.trace.steps, applications, not self.going.size, self.trace, self.problems)


def _best_share(counts: Array, here: Array, there: Array) -> Floats:
    """ε in 0..1 that maximises the concave Σ_s N_s·log((1 − ε)·here_s + ε·there_s), by bisection of its slope."""
    low, high = np.zeros(len(counts)), np.ones(len(counts))
    for _ in range(60):
        middle = (low + high) / 2
        mixed = here + middle[:, None] * (there - here)
        rising = (counts * (there - here) / np.maximum(mixed, TINY)).sum(axis=1) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return low
