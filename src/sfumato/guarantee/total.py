"""The statement of what all that one person sends can reveal together: reports, clear answers, levels, sizes.

γ of independent reports multiplies, whatever the answers have to do with each other. It counts from what the collector
sees anyway: the answers in the clear, which questions were answered, levels, sizes of baskets. What the clear answers
reveal about the blurred ones is measured where true records are given, and left open where not.
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

VISIBLE = ("missing", "level", "size")  # what a collector may see besides a report, in the order of the sentences
USUAL_BREACH = (0.05, 0.5)  # the (ρ1, ρ2) of the sentences about clear answers: the pair of EGS03's examples


@dataclass(frozen=True, eq=False)
class ClearAnswerCounts:
    """Counts of true records that show what answers sent as they are (clear) reveal alone about one blurred answer.

    ``name``: the blurred question. ``counts``: the number of records, [combination of clear answers, cell], where a
    cell is a category or an interval of the blurred answer. ``inputs``: these categories or intervals; ``outputs``: the
    combinations of clear answers that occur.
    """

    name: str
    counts: Floats
    inputs: Categories | Cells
    outputs: Categories

    @property
    def gamma(self) -> float:
        """The largest factor by which the clear answers alone multiply odds about the blurred answer.

        It is the largest ratio of P[clear answers | x] between two blurred answers x; ∞ where some x rules clear
        answers out.
        """
        law = self._law[:, self.counts.sum(axis=0) > 0]
        most, least = law.max(axis=1), law.min(axis=1)
        return math.inf if (least <= 0).any() else float((most / least).max())

    @property
    def _law(self) -> Floats:
        """P[clear answers | blurred answer]: an array with a row for each combination of clear answers that occurs.

        Its columns are the categories, or the intervals, of the blurred answer; each sums to 1 (or is 0 without
        records).
        """
        return np.asarray(self.counts / np.maximum(self.counts.sum(axis=0), 1.0))

    def breach(self, rho1: float, rho2: float, language: str) -> Breach | None:
        """Find clear answers that alone move the chance of a property from ρ1 to ρ2, as a ``Breach``; None if none do.

        The property is one of the blurred answer. ``rho1``, ``rho2``: the two chances; ``language``: of the example's
        words.
        """
        return find_breach(self._law, self.counts.sum(axis=0) / self.counts.sum(), self, rho1, rho2, language)


@dataclass(frozen=True, eq=False)
class CombinedGuarantee(Amplification):
    """The statement of what all that one person sends can reveal together; ``str()`` is prose, ``to_dict()`` is data.

    γ is the largest factor of all blurred answers on the odds of anything, beyond what is seen without noise (clear
    answers, levels, sizes). ``plan.guarantee()`` makes the statement. Its parameters:
    ``parts``: the statement of each blurred answer by its name. ``notes``: further sentences, printed at the end.
    ``clear``: the names of the answers that are sent as they are.
    ``clear_counts``: what the clear answers reveal about blurred ones, in true records; None: it is not known.
    ``participation``: whether these are all reports to one collector, which then sees that somebody takes part.
    ``drawn``: the names of parts of which a person answers ``drawn_count``, whichever the device draws: the
    ``drawn_count`` largest γ among them count. ``language``: of its sentences, "en", "de" or "fr".

    >>> import sfumato as sf
    >>> yes_no = sf.Categories(["yes", "no"])
    >>> parts = {name: sf.RandomizedResponse(yes_no, gamma=3).guarantee() for name in ("smokes", "drinks")}
    >>> sf.CombinedGuarantee(parts).gamma
    9.0
    """

    parts: Mapping[str, Guarantee | CombinedGuarantee]
    notes: tuple[str, ...] = ()
    clear: tuple[str, ...] = ()
    clear_counts: tuple[ClearAnswerCounts, ...] | None = None
    participation: bool = False
    language: str = "en"
    drawn: tuple[str, ...] = ()
    drawn_count: int | None = None

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("nothing to combine; give at least one guarantee")

    @cached_property
    def gamma(self) -> float:  # type: ignore[override]
        """The product of the γ (largest factor on the odds) of all answers that a person gives, rounded up.

        Where a device draws which questions a person answers, those with the largest γ count.
        """
        drawn = sorted((self.parts[name].gamma for name in self.drawn), reverse=True)
        always = [part.gamma for name, part in self.parts.items() if name not in self.drawn]
        return product_of([*always, *drawn[: self.drawn_count]])

    @property
    def _answers(self) -> int:
        """How many blurred answers one person gives; of questions that the device draws from, only drawn ones count."""
        return len(self.parts) - len(self.drawn) + min(self.drawn_count or 0, len(self.drawn))

    def interval(self, confidence: float = 0.95) -> dict[str, Any]:
        """Return how far the noise alone spreads the reports of each answer, by name (None for categories).

        It is the length of the smallest set of reports that has chance ``confidence`` given the true value. All reports
        together can place answers more closely that go with each other.
        """
        return {name: part.interval(confidence) for name, part in self.parts.items()}

    def credible_width(self, confidence: float = 0.95) -> dict[str, Any]:
        """Return how closely a report places each answer, by the answer's name: see ``Guarantee.credible_width``.

        It is the length of the shortest set of values that has chance ``confidence`` once the answer's own report is
        known; None for categories. All reports together can place answers more closely that go with each other.
        """
        return {name: part.credible_width(confidence) for name, part in self.parts.items()}

    def excludes(self, rho1: float, rho2: float) -> bool:
        """Return whether all that is sent excludes a ρ1-to-ρ2 breach, up or down.

        A breach moves the chance of a property from ``rho1`` to ``rho2`` or back. Where answers are sent as they are
        (clear) this can be true only if true records show what they reveal: then their own factor on the odds counts
        too.
        """
        if not self.clear:
            return super().excludes(rho1, rho2)
        if self.clear_counts is None:
            return False
        return excluded_by(product_of([self.gamma, max(one.gamma for one in self.clear_counts)]), rho1, rho2)

    def _example(self, rho1: float, rho2: float) -> Breach | None:
        """Find a breach (a chance moved from ρ1 to ρ2) by clear answers or by a single report, as a ``Breach``.

        Where neither shows one, it says without example that clear answers permit one; None where no answer is clear.
        """
        by_reports = (part.breach(rho1, rho2) for part in self.parts.values())
        by_clear = (one.breach(rho1, rho2, self.language) for one in self.clear_counts or ())
        shown = next(filter(None, (*by_clear, *by_reports)), None)
        if shown or not self.clear:
            return shown
        names = self.voice.listed(self.clear)
        return Breach(rho1, rho2, self.gamma, possible=True, assumption=names, language=self.language)

    def repeated(self, times: int) -> CombinedGuarantee:
        """Return the statement for all questions asked ``times`` times, each time answered with fresh noise."""
        return repeated(self, times)

    # --- words --------------------------------------------------------------------------------------------------

    @property
    def sent(self) -> str:
        """What leaves the device for numbers that are blurred together, in one sentence."""
        return self.voice("sent", how=self.voice("how.together", names=self.voice.listed(self.parts)))

    @property
    def worst(self) -> str:
        """What all reports of a person can reveal at worst, in one sentence: how far suspicions can grow.

        Without a bound it names the answers that have none.
        """
        say = self.voice
        if math.isfinite(self.gamma):
            kind = "total.bound.clear" if self.clear else "total.bound"
            return say(kind, count=self._answers, names=say.listed(self.clear), **self.bound())
        unbounded = [name for name, part in self.parts.items() if not math.isfinite(part.gamma)]
        return say("total.none", names=say.listed(unbounded))

    @property
    def visible(self) -> tuple[str, ...]:
        """What the collector sees of any answer beside the blurred report: some of "missing", "level" and "size".

        "missing": whether there is an answer; "level": how strongly the person chose to blur; "size": of a basket.
        """
        return tuple(kind for kind in VISIBLE if any(kind in part.visible for part in self.parts.values()))

    @property
    def besides(self) -> str:
        """What the collector sees without any noise (clear answers, levels, sizes, taking part), a sentence a line."""
        return "\n".join(self._besides())

    def _besides(self) -> Iterator[str]:
        """Yield the sentences on what the collector sees without noise: clear answers, levels, sizes, taking part.

        A level is how strongly the person chose to blur, a size that of a basket.
        """
        say = self.voice
        if self.clear:
            yield say("total.clear", names=say.listed(self.clear))
        for one in self.clear_counts or ():
            breach = one.breach(*USUAL_BREACH, self.language)
            if breach is not None and breach.prior is not None and breach.posterior is not None:
                moved = {"before": say.percent(breach.prior, 2), "after": say.percent(breach.posterior, 2)}
                shown = {"clear": say.listed(self.clear), "value": breach.report, "claim": breach.claim}
                yield say("total.tells", name=one.name, **shown, **moved)
        if self.drawn:
            yield say("total.drawn", each=self.drawn_count, count=len(self.drawn), names=say.listed(self.drawn))
        for kind in self.visible:
            names = [name for name, part in self.parts.items() if kind in part.visible]
            yield say(f"total.{kind}", names=say.listed(names))
        if self.participation:
            yield say("total.participation")

    def _sentences(self) -> Iterator[str]:
        """Yield all sentences of the statement in their order: what can be revealed at worst, what is visible, notes.
        """
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
        return "\n".join(self._sentences())

    def to_dict(self) -> dict[str, Any]:
        """Return every number and sentence as a dict for JSON, with the statement of each answer under "parts".

        "conditional": whether some answers are sent as they are, so that γ bounds only what the others add.
        """
        parts = {name: part.to_dict() for name, part in self.parts.items()}
        head = {**self.numbers(), "conditional": bool(self.clear), "clear": list(self.clear)}
        return {**head, "notes": list(self.notes), "words": str(self), "parts": parts}


def repeated(once: Guarantee | CombinedGuarantee, times: int) -> CombinedGuarantee:
    """Return the statement for what ``once`` states, asked ``times`` times with fresh noise each time.

    ``once``: the statement of one question or of several together.
    """
    if times < 1:
        raise ValueError(f"times={times} is not a count of reports; give 1 or more")
    notes = (once.voice("again.proves"),) if times > 1 else ()
    return CombinedGuarantee({f"{time + 1}": once for time in range(times)}, notes, language=once.language)
