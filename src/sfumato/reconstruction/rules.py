"""The rules beside EM: when it stops, how it steps further than EM does, and the run that follows the likelihood."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.domain import Codes, Floats

if TYPE_CHECKING:
    from sfumato.reconstruction.em import Likelihood

Done = npt.NDArray[np.bool_]
Chosen = Done | Codes  # some problems of a batch, by mask or by place
Array = npt.NDArray[Any]
TINY = 1e-300
RIDGE = 1e-10
DYING = 1e-2  # a cell of less than this part of an even share whose f_t > 1 was emptied by a proposal, not by EM
RESTARTS, REST = 3, 5  # how often a stalled problem starts afresh, and its steps before the rule is asked again


class Stop(Protocol):
    """A rule about the likelihood for ending EM, at the latest after ``limit`` steps."""

    @property
    def limit(self) -> int: ...

    def reached(self, likelihoods: Sequence[Floats]) -> Done:
        """Which problems are done, from their likelihoods at the start and after each step."""


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

    def reached(self, likelihoods: Sequence[Floats]) -> Done:
        if len(likelihoods) <= self.steps:
            return np.zeros(likelihoods[0].shape, dtype=bool)
        return np.asarray(likelihoods[-1] - likelihoods[-1 - self.steps] < self.nats)


class StepRule(ABC):
    """A rule about successive estimates for ending plain or over-relaxed EM, at the latest after ``limit`` steps."""

    limit: int

    @abstractmethod
    def reached(self, problems: Likelihood, before: Array, after: Array) -> Done:
        """Say which problems are done, from two successive estimates of each."""


@dataclass(frozen=True)
class ChiSquare(StepRule):
    """AS00's rule: successive estimates differ by less than a ``share`` of the χ² threshold.

    n·Σ (p' − p)²/p < share · χ²_{k−1}(confidence)
    """

    share: float = 0.01
    confidence: float = 0.95
    limit: int = 10_000

    def threshold(self, cells: int) -> float:
        return self.share * chi_square(max(cells - 1, 1), self.confidence)

    def reached(self, problems: Likelihood, before: Array, after: Array) -> Done:
        change = np.divide((after - before) ** 2, before, out=np.zeros_like(before), where=before > 0).sum(axis=-1)
        return np.asarray(problems.reports * change < self.threshold(before.shape[-1]))


@lru_cache
def chi_square(freedom: int, confidence: float) -> float:
    """Return the value that χ² with so many degrees of freedom stays below with this confidence."""
    from scipy.special import chdtri

    return float(chdtri(freedom, 1 - confidence))


@dataclass(frozen=True)
class Steps(StepRule):
    """So many steps, no more and no fewer: from the uniform start their number is the amount of smoothing."""

    limit: int

    def reached(self, problems: Likelihood, before: Array, after: Array) -> Done:
        return np.zeros(len(before), dtype=bool)


CONVERGED = LikelihoodGain(nats=1e-9, steps=3, limit=20_000, promise=1e-7)
ENOUGH = LikelihoodGain()


# --- how to step further than EM does -----------------------------------------------------------------------------


@dataclass(frozen=True)
class OverRelaxed:
    """p'_t ∝ p_t·f_t^power with 1 ≤ power < 2, after some plain steps that lead from the flat start to its slopes."""

    power: float = 1.8
    after: int = 0


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


# --- a run that follows the likelihood ------------------------------------------------------------------------------


class Guided:
    """One EM run over a batch that follows the likelihood, by Anderson's proposals; problems that are done leave it."""

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
