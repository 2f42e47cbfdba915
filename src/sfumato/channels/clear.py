"""The channel that does not blur: the report is the answer."""

from __future__ import annotations

from typing import Any

from sfumato.channels.base import Channel
from sfumato.channels.program import Step
from sfumato.channels.resolution import check_step, default_step, holds_every_integer
from sfumato.domain import Categories, Domain, Grid, Interval
from sfumato.prose import Voice


class Clear(Channel):
    """A channel that reports the value itself: a level of ``Choice`` beside levels that blur it.

    For people who do not mind (AS00 §1 found many of them).

    Domain: Categories, or an Interval, whose numbers are rounded to steps of its grid.
    Law: P[y, x] = 1 if y = x, else 0.
    γ: ∞.

    ``domain``: what people may answer.
    ``step``: the grid to whose nearest point numbers are rounded; None: a thousandth of the range or less, 1 for whole
    numbers. ``missing`` and ``outside`` are those of ``Channel``.

    >>> import sfumato as sf
    >>> colours = sf.Categories(["red", "blue"])
    >>> sf.Choice({"shy": sf.RandomizedResponse(colours, gamma=3), "open": None}).levels["open"] == sf.Clear(colours)
    True
    """

    kind = "clear"
    unbounded = "the answer is sent as it is; use randomized-response or square-wave"

    def __init__(
        self, domain: Domain, step: float | None = None, *, missing: str = "pass", outside: str = "refuse"
    ) -> None:
        if not isinstance(domain, (Interval, Categories)):
            raise TypeError(f"an answer as it is needs an Interval or Categories, not {type(domain).__name__}")
        super().__init__(domain, missing, outside)
        self._given = {} if step is None else {"step": step}
        if isinstance(domain, Categories):
            if step is not None or outside == "clamp":
                raise ValueError("step= and outside='clamp' have no meaning for categories; leave them out")
            self.inputs = self.outputs = domain
        else:
            self.step = default_step(domain, domain.width) if step is None else float(step)
            check_step(domain, self.step)
            whole = holds_every_integer(domain, self.step)
            self.inputs = self.outputs = Grid.over(domain, self.step, integer=whole)

    def steps(self) -> tuple[Step, ...]:
        return ()

    def interval_width(self, confidence: float) -> float | None:
        return confidence * self.step if isinstance(self.domain, Interval) else None

    def parameters(self) -> dict[str, Any]:
        return dict(self._given)

    def describe(self, say: Voice) -> str:
        numbers = isinstance(self.domain, Interval)
        return say("how.clear.step", step=say.number(self.step)) if numbers else say("how.clear")
