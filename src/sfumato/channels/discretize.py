"""Value classes: report only the interval in which the value lies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels.base import Channel, check_edges
from sfumato.channels.program import Step
from sfumato.channels.resolution import check_confidence, check_positive, default_step, holds_every_integer
from sfumato.domain import Cells, Floats, Grid, Interval, check_codes
from sfumato.prose import Voice


class Discretize(Channel):
    """A channel that reports the midpoint of the interval that holds the value (AS00 §2, value-class membership).

    Domain: an Interval, cut at given ``edges`` or into equal pieces of ``width``.
    Law: P[I, x] = 1 if x ∈ I, else 0, of the value before any rounding. ``law()`` has a column for every point of a
    grid; ``matrix(true=edges)`` has the exact shares of intervals, wherever the edges lie.
    γ: ∞, the law is deterministic.
    Interval width at confidence c: c·W, W the narrowest interval.

    ``domain``: the numbers that people may answer. One of three says how it is cut:
    ``width``: the length of each piece, in units of the domain; the last one may reach past its end.
    ``edges``: the ends of all pieces in increasing order, which cover the domain.
    ``privacy``: the interval width at ``confidence`` as a share of the domain's width.
    ``missing`` and ``outside`` are those of ``Channel``.

    >>> import sfumato as sf
    >>> sf.Discretize(sf.Interval(0, 100), width=25).randomize([3, 30, 99]).tolist()
    [12.5, 37.5, 87.5]
    """

    kind = "discretize"
    unbounded = "the same value always sends the same class; use square-wave"

    def __init__(
        self, domain: Interval, width: float | None = None, *, edges: ArrayLike | None = None,
        privacy: float | None = None, confidence: float = 0.95, missing: str = "pass", outside: str = "refuse",
    ) -> None:
        if not isinstance(domain, Interval):
            raise TypeError(f"value classes need an Interval, not {type(domain).__name__}")
        super().__init__(domain, missing, outside)
        self.domain: Interval = domain
        if sum(choice is not None for choice in (width, edges, privacy)) != 1:
            raise ValueError("give exactly one of width=, edges= and privacy= for value classes")
        given = {"width": width, "privacy": privacy, "confidence": confidence if confidence != 0.95 else None}
        self._given: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if privacy is not None:
            width = check_positive("privacy", privacy) * domain.width / check_confidence(confidence)
        self.edges = equal_edges(domain, width) if width is not None else _given_edges(domain, edges)
        if edges is not None:
            self._given["edges"] = self.edges.tolist()
        step = default_step(domain, float(np.diff(self.edges).min()))
        self.inputs: Grid = Grid.over(domain, step, integer=holds_every_integer(domain, step))
        self.outputs: Cells = Cells(tuple(self.edges.tolist()))

    @property
    def entry(self) -> Cells:
        """The pieces of the domain: the program starts from the piece that holds a value, before any rounding."""
        return self.outputs

    def steps(self) -> tuple[Step, ...]:
        return ()

    def interval_width(self, confidence: float) -> float:
        return check_confidence(confidence) * float(np.diff(self.edges).min())

    def parameters(self) -> dict[str, Any]:
        return dict(self._given)

    def describe(self, say: Voice) -> str:
        return say("how.classes", count=self.outputs.size)


def equal_edges(domain: Interval, width: float | None) -> Floats:
    """Return the edges of equal pieces of this width that cover the domain; the last one may reach past its end."""
    wide = check_positive("width", width)  # type: ignore[arg-type]
    check_codes(domain.width / wide)
    pieces = max(math.ceil(domain.width / wide - 1e-9), 1)
    return np.asarray(Grid.over(domain, wide).number(np.arange(pieces + 1)), dtype=np.float64)


def _given_edges(domain: Interval, edges: ArrayLike | None) -> Floats:
    """Return given edges as an array; raise an error unless they increase and cover the domain."""
    bounds = check_edges(edges, "edges")  # type: ignore[arg-type]
    if bounds[0] > domain.low or bounds[-1] < domain.high:
        raise ValueError(f"edges from {bounds[0]:g} to {bounds[-1]:g} do not cover {domain}; extend them")
    return bounds
