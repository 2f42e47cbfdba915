"""The statement for a question that is asked again and again through a permanent and an instantaneous blur."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from sfumato.guarantee.statement import Guarantee


def _unlimited(count: int) -> float:
    """Return ∞ for any ``count``: the γ (largest factor on the odds) of rounds for which a channel states none."""
    return math.inf


@dataclass(frozen=True, eq=False)
class OverTime(Guarantee):
    """The statement of what reports to one question can reveal that is asked again and again, in one round and in many.

    A device blurs the answer once and remembers the result (the permanent blur), and blurs that again at every round
    (``Longitudinal``). γ is the largest factor on the odds, rounded up. ``rounds``: a function from k to the γ of k
    rounds in which the answer stays the same; ``changed``: a function from c to the γ of any number of rounds in which
    it changes c times. ``hides_changes``: whether any two reports can come from one answer, so that none prove a
    change.
    """

    rounds: Callable[[int], float] = field(default=_unlimited, repr=False)
    changed: Callable[[int], float] = field(default=_unlimited, repr=False)
    hides_changes: bool = False

    def repeated(self, times: int) -> Guarantee:  # type: ignore[override]
        """Return the statement of what ``times`` rounds together can reveal if the answer stays the same in all."""
        if times < 1:
            raise ValueError(f"times={times} is not a count of rounds; give 1 or more")
        always, say = self.changed(0), self.voice
        most = say("rounds.most", gamma=say.number(always, up=True)) if math.isfinite(always) else ""
        return self._over(self.rounds(times), say("rounds.same", count=times), most)

    def changes(self, count: int) -> Guarantee:
        """Return the statement of what any number of rounds of asking one question can reveal if the answer changes.

        ``count``: how many times it changes. Each answer is blurred once, and the result (the permanent blur) is
        blurred again at every round; γ, the largest factor on the odds, is that of the permanent blur to the power
        count + 1.
        """
        if count < 0:
            raise ValueError(f"count={count} is not a count of changes; give 0 or more")
        return self._over(self.changed(count), self.voice("rounds.changes", count=count))

    def _over(self, gamma: float, span: str, note: str = "") -> Guarantee:
        """Return the statement of what several rounds together can reveal, from their γ (largest factor on the odds).

        ``span``: which rounds, in words. ``note``: a further sentence; "": none.
        """
        shown = self.voice("again.hides" if self.hides_changes else "again.shows")
        notes = (*self.notes, *filter(None, [note]), shown)
        return Guarantee(gamma, f"{self.description}; {span}", notes, visible=self.visible, language=self.language)
