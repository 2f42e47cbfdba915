"""The rules beside EM: when it stops, and how it steps further than EM does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.domain import Codes, Floats

Done = npt.NDArray[np.bool_]
Chosen = Done | Codes  # some problems of a batch, by mask or by place
Array = npt.NDArray[Any]
TINY = 1e-300
RIDGE = 1e-10


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

    def reached(self, reports: Floats, p: Array, new: Array) -> Done:
        change = np.divide((new - p) ** 2, p, out=np.zeros_like(p), where=p > 0).sum(axis=-1)
        return np.asarray(reports * change < self.threshold(p.shape[-1]))


@lru_cache
def _chi_square(freedom: int, confidence: float) -> float:
    from scipy.special import chdtri

    return float(chdtri(freedom, 1 - confidence))


@dataclass(frozen=True)
class Steps:
    """So many steps, no more and no fewer: from the uniform start their number is the amount of smoothing."""

    limit: int


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
