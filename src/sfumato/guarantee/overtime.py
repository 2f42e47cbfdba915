"""The statement for a question that is asked again and again through a permanent and an instantaneous blur."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from sfumato.guarantee.statement import Guarantee


def _unlimited(count: int) -> float:
    """Return ∞, the γ of any number of rounds that is stated unless a channel gives a smaller one."""
    return math.inf


@dataclass(frozen=True, eq=False)
class OverTime(Guarantee):
    """The statement of what one round of ``Longitudinal`` can reveal, and many rounds together.

    ``rounds(k)`` is the γ of k rounds of an answer that stays the same, ``changed(c)`` that of any number of rounds in
    which it changes c times; both rounded up. ``hides_changes``: whether any two reports can come from one answer.
    """

    rounds: Callable[[int], float] = field(default=_unlimited, repr=False)
    changed: Callable[[int], float] = field(default=_unlimited, repr=False)
    hides_changes: bool = False

    def repeated(self, times: int) -> Guarantee:  # type: ignore[override]
        """Return the statement for ``times`` rounds of an answer that stays the same."""
        if times < 1:
            raise ValueError(f"times={times} is not a count of rounds; give 1 or more")
        always, say = self.changed(0), self.voice
        most = say("rounds.most", gamma=say.number(always, up=True)) if math.isfinite(always) else ""
        return self._over(self.rounds(times), say("rounds.same", count=times), most)

    def changes(self, count: int) -> Guarantee:
        """Return the statement for any number of rounds in which the answer changes ``count`` times.

        Its γ is that of the permanent blur to the power count + 1.
        """
        if count < 0:
            raise ValueError(f"count={count} is not a count of changes; give 0 or more")
        return self._over(self.changed(count), self.voice("rounds.changes", count=count))

    def _over(self, gamma: float, span: str, note: str = "") -> Guarantee:
        """Return the statement with the γ of several rounds; ``span``: which rounds, in words."""
        shown = self.voice("again.hides" if self.hides_changes else "again.shows")
        notes = (*self.notes, *filter(None, [note]), shown)
        return Guarantee(gamma, f"{self.description}; {span}", notes, visible=self.visible, language=self.language)
