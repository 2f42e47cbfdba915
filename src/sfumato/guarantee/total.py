"""Several statements together: everything of one person that leaves the device.

γ of independent reports multiplies, whatever the answers have to do with each other. It counts from what is already
known to whoever sees the rest: the answers in the clear, which questions were answered, levels, sizes of baskets. What
the clear answers tell about the blurred ones is measured where true records are given, and left open where not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.domain import Categories, Cells, Floats
from sfumato.guarantee.amplification import Amplification, excluded_by, product_of
from sfumato.guarantee.breach import Breach, find_breach

if TYPE_CHECKING:
    from sfumato.guarantee.statement import Guarantee

VISIBLE = ("missing", "level", "size")
USUAL_BREACH = (0.05, 0.5)


@dataclass(frozen=True, eq=False)
class Tells:
    """What the clear answers alone tell about a blurred one, counted in true records: ``counts[clear answer, cell]``.

    ``inputs``: the blurred answer's categories, or cells of its numbers; ``outputs``: the clear answers that occur.
    """

    name: str
    counts: Floats
    inputs: Categories | Cells
    outputs: Categories

    @property
    def gamma(self) -> float:
        """The largest ratio of P[clear | x] over x; infinite where some x rules a clear answer out."""
        law = self._law[:, self.counts.sum(axis=0) > 0]
        most, least = law.max(axis=1), law.min(axis=1)
        return math.inf if (least <= 0).any() else float((most / least).max())

    @property
    def _law(self) -> Floats:
        return np.asarray(self.counts / np.maximum(self.counts.sum(axis=0), 1.0))

    def breach(self, rho1: float, rho2: float, language: str) -> Breach | None:
        """One that the clear answers alone make, where there is one."""
        return find_breach(self._law, self.counts.sum(axis=0) / self.counts.sum(), self, rho1, rho2, language)


@dataclass(frozen=True, eq=False)
class CombinedGuarantee(Amplification):
    """All that one person sends; γ is that of the blurred answers, given everything that is not blurred.

    ``clear``: what is sent as it is; ``tells``: what that gives away, None where nobody knows. ``participation``: these
    are all reports to one collector, so that taking part is told too. ``drawn``: parts of which a person answers
    ``each``, whichever the device draws: γ is that of the largest.
    """

    parts: Mapping[str, Guarantee | CombinedGuarantee]
    notes: tuple[str, ...] = ()
    clear: tuple[str, ...] = ()
    tells: tuple[Tells, ...] | None = None
    participation: bool = False
    language: str = "en"
    drawn: tuple[str, ...] = ()
    each: int | None = None

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("nothing to combine; give at least one guarantee")

    @cached_property
    def gamma(self) -> float:  # type: ignore[override]
        drawn = sorted((self.parts[name].gamma for name in self.drawn), reverse=True)
        always = [part.gamma for name, part in self.parts.items() if name not in self.drawn]
        return product_of([*always, *drawn[: self.each]])

    @property
    def _answers(self) -> int:
        """How many blurred answers a person gives."""
        return len(self.parts) - len(self.drawn) + min(self.each or 0, len(self.drawn))

    def interval(self, confidence: float = 0.95) -> dict[str, Any]:
        """AS00's widths of the parts, each on its own; correlated answers can be placed more closely."""
        return {name: part.interval(confidence) for name, part in self.parts.items()}

    def credible_width(self, confidence: float = 0.95) -> dict[str, Any]:
        """What usual reports leave open, each on its own; correlated answers can be placed more closely."""
        return {name: part.credible_width(confidence) for name, part in self.parts.items()}

    def excludes(self, rho1: float, rho2: float) -> bool:
        """As for one report; with clear answers only where it is known what they tell, and that it is little."""
        if not self.clear:
            return super().excludes(rho1, rho2)
        if self.tells is None:
            return False
        return excluded_by(product_of([self.gamma, max(each.gamma for each in self.tells)]), rho1, rho2)

    def _example(self, rho1: float, rho2: float) -> Breach | None:
        """That of what the clear answers tell, or of a single part; else that the clear answers permit it."""
        parts = (part.breach(rho1, rho2) for part in self.parts.values())
        told = (each.breach(rho1, rho2, self.language) for each in self.tells or ())
        shown = next(filter(None, (*told, *parts)), None)
        if shown or not self.clear:
            return shown
        names = self.voice.listed(self.clear)
        return Breach(rho1, rho2, self.gamma, possible=True, assumption=names, language=self.language)

    def repeated(self, times: int) -> CombinedGuarantee:
        """All of it asked several times, with fresh noise each time."""
        return repeated(self, times)

    # --- words --------------------------------------------------------------------------------------------------

    @property
    def sent(self) -> str:
        """What leaves the device, for numbers that are blurred together."""
        return self.voice("sent", how=self.voice("how.together", names=self.voice.listed(self.parts)))

    @property
    def worst(self) -> str:
        """What all reports can reveal at worst."""
        say = self.voice
        if math.isfinite(self.gamma):
            kind = "total.bound.clear" if self.clear else "total.bound"
            return say(kind, count=self._answers, names=say.listed(self.clear), **self.bound())
        unbounded = [name for name, part in self.parts.items() if not math.isfinite(part.gamma)]
        return say("total.none", names=say.listed(unbounded))

    @property
    def visible(self) -> tuple[str, ...]:
        """What the collector sees besides, of any part."""
        return tuple(kind for kind in VISIBLE if any(kind in part.visible for part in self.parts.values()))

    @property
    def besides(self) -> str:
        return "\n".join(self._besides())

    def _besides(self) -> Iterator[str]:
        """Everything that no noise covers."""
        say = self.voice
        if self.clear:
            yield say("total.clear", names=say.listed(self.clear))
        for each in self.tells or ():
            found = each.breach(*USUAL_BREACH, self.language)
            if found is not None and found.prior is not None and found.posterior is not None:
                moved = {"before": say.percent(found.prior, 2), "after": say.percent(found.posterior, 2)}
                shown = {"clear": say.listed(self.clear), "value": found.report, "claim": found.claim}
                yield say("total.tells", name=each.name, **shown, **moved)
        if self.drawn:
            yield say("total.drawn", each=self.each, count=len(self.drawn), names=say.listed(self.drawn))
        for kind in self.visible:
            names = [name for name, part in self.parts.items() if kind in part.visible]
            yield say(f"total.{kind}", names=say.listed(names))
        if self.participation:
            yield say("total.participation")

    def _told(self) -> Iterator[str]:
        say = self.voice
        yield self.worst
        if self.clear:
            yield say("total.conditional")
        if len(self.parts) > 1:
            yield say("total.related")
        if math.isfinite(self.gamma):
            yield say("worst.other")
        yield say("total.again")
        yield from self._besides()
        yield from self.notes
        by_note: dict[str, list[str]] = {}
        for name, part in self.parts.items():
            for note in part.notes:
                by_note.setdefault(note, []).append(name)
        for note, names in by_note.items():
            yield say("total.part", name=say.listed(names), note=note)

    def __str__(self) -> str:
        return "\n".join(self._told())

    def to_dict(self) -> dict[str, Any]:
        """Every number and sentence; ``conditional``: γ counts from what the clear answers tell."""
        parts = {name: part.to_dict() for name, part in self.parts.items()}
        head = {**self.numbers(), "conditional": bool(self.clear), "clear": list(self.clear)}
        return {**head, "notes": list(self.notes), "words": str(self), "parts": parts}


def repeated(one: Guarantee | CombinedGuarantee, times: int) -> CombinedGuarantee:
    """The same asked several times with fresh noise."""
    if times < 1:
        raise ValueError(f"times={times} is not a count of reports; give 1 or more")
    notes = (one.voice("again.proves"),) if times > 1 else ()
    return CombinedGuarantee({f"{place + 1}": one for place in range(times)}, notes, language=one.language)
