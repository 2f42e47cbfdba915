"""How to step further than EM does: not at all, by over-relaxation, or by Anderson's extrapolation from the last steps.

EM's map M has the maximum-likelihood estimate as its fixed point. With x = log p, residual r = log M(p) − x, and the
differences ΔX, ΔR between the last steps, Anderson's proposal is

    x + r − (ΔX + ΔR)·c,   c = argmin ‖√p·(r − ΔR c)‖,

a multisecant Newton step. Logarithms keep it positive; √p weighs the cells as the Fisher information does. A proposal
is only ever a proposal: EM takes it if the likelihood does not fall, and its own step otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Codes, Floats

Done = NDArray[np.bool_]

TINY = 1e-300
RIDGE = 1e-10


class Acceleration(Protocol):
    """Proposes the next estimate of every problem of a batch."""

    def start(self, problems: int, cells: int) -> None:
        """Forget everything."""

    def propose(self, p: Floats, image: Floats) -> Floats | None:
        """An estimate further along than EM's image of p, or None."""

    def forget(self, failed: Done) -> None:
        """Start afresh in the problems whose proposal failed."""

    def keep(self, going: Codes) -> None:
        """Go on with these problems only."""


class Plain:
    """EM as it is."""

    def start(self, problems: int, cells: int) -> None: ...

    def propose(self, p: Floats, image: Floats) -> Floats | None:
        return None

    def forget(self, failed: Done) -> None: ...

    def keep(self, going: Codes) -> None: ...


@dataclass(frozen=True)
class OverRelaxed(Plain):
    """p'_t ∝ p_t·f_t^power with 1 ≤ power < 2, after some plain steps that lead from the flat start to its slopes."""

    power: float = 1.8
    after: int = 0


class Anderson:
    """Anderson's extrapolation in log p from the last ``memory`` steps."""

    def __init__(self, memory: int = 15) -> None:
        self.memory = memory

    def start(self, problems: int, cells: int) -> None:
        self._steps = 0
        self._last: tuple[Floats, Floats] | None = None
        self._dr = np.zeros((problems, self.memory, cells))
        self._dy = np.zeros((problems, self.memory, cells))  # ΔX + ΔR, the differences of log M(p)

    def propose(self, p: Floats, image: Floats) -> Floats | None:
        y = np.log(np.maximum(image, TINY))
        r = y - np.log(np.maximum(p, TINY))
        first = self._last is None
        self._remember(y, r)
        if first:
            return None
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

    def _remember(self, y: Floats, r: Floats) -> None:
        if self._last is not None:
            slot = self._steps % self.memory
            np.subtract(y, self._last[0], out=self._dy[:, slot])
            np.subtract(r, self._last[1], out=self._dr[:, slot])
            self._steps += 1
        self._last = y, r

    def forget(self, failed: Done) -> None:
        self._dy[failed], self._dr[failed] = 0.0, 0.0

    def keep(self, going: Codes) -> None:
        self._dy, self._dr = self._dy[going], self._dr[going]
        if self._last is not None:
            self._last = self._last[0][going], self._last[1][going]
