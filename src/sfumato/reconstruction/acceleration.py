"""How to step further than EM does: plain steps, or Anderson's extrapolation from the last few.

EM's map M has the maximum-likelihood estimate as its fixed point. With x = log p, residual r = log M(p) − x, and the
differences ΔX, ΔR of the last steps, Anderson's proposal is

    x + r − (ΔX + ΔR)·c,   c = argmin ‖√p·(r − ΔR c)‖,

a multisecant Newton step. Logarithms keep it positive; √p weighs the cells as the Fisher information does. A proposal
is only ever a proposal: EM takes it if the likelihood does not fall, and its own step otherwise.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.reconstruction.stopping import Done

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


class Anderson:
    """Anderson's extrapolation in log p from the last ``memory`` steps."""

    def __init__(self, memory: int = 15) -> None:
        self.memory = memory

    def start(self, problems: int, cells: int) -> None:
        self._steps = 0
        self._last: tuple[Floats, Floats] | None = None
        self._dx = np.zeros((problems, self.memory, cells))
        self._dr = np.zeros((problems, self.memory, cells))

    def propose(self, p: Floats, image: Floats) -> Floats | None:
        x = np.log(np.maximum(p, TINY))
        r = np.log(np.maximum(image, TINY)) - x
        first = self._last is None
        self._remember(x, r)
        if first:
            return None
        weight = np.sqrt(p)[:, None, :]
        dr = self._dr * weight
        gram = dr @ dr.transpose(0, 2, 1)
        ridge = RIDGE * np.trace(gram, axis1=1, axis2=2) + TINY
        gram[:, range(self.memory), range(self.memory)] += ridge[:, None]
        c = np.linalg.solve(gram, dr @ (r * weight[:, 0])[:, :, None])
        y = x + r - (c.transpose(0, 2, 1) @ (self._dx + self._dr))[:, 0]
        y = np.exp(y - y.max(axis=1, keepdims=True))
        return np.asarray(y / y.sum(axis=1, keepdims=True))

    def _remember(self, x: Floats, r: Floats) -> None:
        if self._last is not None:
            slot = self._steps % self.memory
            self._dx[:, slot], self._dr[:, slot] = x - self._last[0], r - self._last[1]
            self._steps += 1
        self._last = x, r

    def forget(self, failed: Done) -> None:
        self._dx[failed], self._dr[failed] = 0.0, 0.0

    def keep(self, going: Codes) -> None:
        self._dx, self._dr = self._dx[going], self._dr[going]
        if self._last is not None:
            self._last = self._last[0][going], self._last[1][going]
