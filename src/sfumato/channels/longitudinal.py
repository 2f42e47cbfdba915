"""The channel for a question that is asked again and again: a remembered blur, and a fresh blur of it at every round.

Fresh noise at every round can be averaged away; the same report at every round proves a change as soon as it differs.
RAPPOR does something between the two (Erlingsson, Pihur and Korolova 2014): a *permanent* blur of the answer, which
stays the same as long as the answer does, then an *instantaneous* blur of its report, fresh at each round.

    P(y_1, …, y_k | x) = Σ_z P_permanent(z | x) · Π_i P_instantaneous(y_i | z)

One round has the law and γ of the chain. All rounds of an answer that stays the same have together at most the γ of the
permanent blur, however many they are; each change of the answer multiplies by that γ again.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.base import Channel
from sfumato.channels.chain import Chain, stage_from_spec
from sfumato.channels.identity import write_space
from sfumato.channels.mechanism import Rng
from sfumato.channels.program import Program, largest_of
from sfumato.channels.program.random_words import Key, KeyedWords, PermanentWords, WordSource
from sfumato.domain import Categories, Domain
from sfumato.guarantee import Guarantee, rounded_up
from sfumato.guarantee.overtime import OverTime
from sfumato.prose import Voice

EXACT_ROUNDS = 2_000_000
"""Multiplications of whole numbers up to which the γ of several rounds is computed exactly. By judgement: 39 rounds of
four categories reach it and take 1.4 seconds; beyond it γ is stated by a bound that is larger."""


class Longitudinal(Chain):
    """A channel for repeated rounds: a permanent blur, drawn once for an answer, and a fresh blur of it at every round.

    Domain: that of the permanent blur.
    Law of one round: P = P_instantaneous @ P_permanent.
    γ: that of the chain for one round; for k rounds ``guarantee().repeated(k)``, at most that of the permanent blur.
    With a key: the permanent part is the device's own for the question, the instantaneous one is fresh at each call.

    ``permanent``: the channel that the answer passes once.
    ``instantaneous``: the channel that its report passes at every round.

    >>> import sfumato as sf
    >>> smokes = sf.Categories(["yes", "no"])
    >>> habit = sf.Longitudinal(sf.RandomizedResponse(smokes, gamma=19), sf.RandomizedResponse(smokes, gamma=3))
    >>> [round(habit.guarantee().repeated(k).gamma, 2) for k in (1, 2, 100)]
    [2.64, 6.14, 19.0]
    """

    kind = "longitudinal"
    repeats = False

    def __init__(self, permanent: Channel, instantaneous: Channel) -> None:
        super().__init__(permanent, instantaneous)
        self.permanent, self.instantaneous = permanent, instantaneous

    # --- drawing reports ----------------------------------------------------------------------------------------

    def _source(self, rng: Rng, key: Key, question: str) -> WordSource:
        """Return the source of random words: with a device's key only the permanent steps take theirs from the key."""
        source = super()._source(rng, key, question)
        return PermanentWords(source, self.permanent.drawing.words) if isinstance(source, KeyedWords) else source

    def program(self) -> dict[str, Any]:
        """Return the chain's program as plain data, with two more keys.

        ``permanent``: the number of first steps that take the device's own words; the others take fresh ones.
        ``remembered``: how the code after those steps is written where the device remembers it.
        """
        remembered = write_space(self.permanent.outputs, self.domain)
        return {**super().program(), "permanent": len(self.permanent.steps()), "remembered": remembered}

    # --- totals -------------------------------------------------------------------------------------------------

    def gamma_of_rounds(self, times: int) -> Fraction | None:
        """Return γ, the largest factor on the odds, of ``times`` rounds of one answer together; None: infinite.

        Exact where that is little work, else the bound min(γ_permanent, γ^times).
        """
        tables = self._exact_tables(times)
        if tables is not None:
            return largest_of(_rounds(*tables, times))
        of_one_round = self.exact_gamma
        bounds = [self.permanent.exact_gamma, None if of_one_round is None else of_one_round**times]
        return min((bound for bound in bounds if bound is not None), default=None)

    def gamma_of_changes(self, count: int) -> Fraction | None:
        """Return γ, the largest factor on the odds, of all rounds together if the answer changes ``count`` times.

        None: infinite.
        """
        permanent = self.permanent.exact_gamma
        return None if permanent is None else permanent ** (count + 1)

    def _exact_tables(self, times: int) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Return the tables of both blurs in whole numbers, (P_permanent, P_instantaneous), as arrays [report, answer].

        None where an exact γ of ``times`` rounds is too much work.
        """
        codes, between = self.entry.size, self.permanent.outputs.size
        if comb(self.outputs.size + times - 1, times) * between * (codes + times) > EXACT_ROUNDS:
            return None
        first = Program(codes, self.permanent.steps()).exact()
        later = Program(between, self.steps()[len(self.permanent.steps()) :]).exact()
        return None if first is None or later is None else (first, later)

    def guarantee(self, prior: Any = None, *, language: str = "en") -> OverTime:
        """Return the statement of what one round's report can reveal.

        Its ``.repeated(k)`` states k rounds of one answer, its ``.changes(c)`` any number of rounds in which the answer
        changes c times. ``prior`` and ``language`` are those of ``Channel.guarantee``.
        """
        stated = Guarantee.of_channel(self, prior, language)
        return OverTime(
            stated.gamma, stated.description, stated.notes, stated.channel, stated.prior, stated.visible, language,
            rounds=lambda times: rounded_up(self.gamma_of_rounds(times)),
            changed=lambda count: rounded_up(self.gamma_of_changes(count)),
            hides_changes=self.instantaneous.exact_gamma is not None,
        )  # fmt: skip

    def describe(self, say: Voice) -> str:
        return say("how.rounds", once=self.permanent.describe(say), each=self.instantaneous.describe(say))

    # --- plans --------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        return dict(zip(self.parameter_names(), super().parameters()["stages"], strict=True))

    @classmethod
    def parameter_names(cls) -> list[str]:
        return ["permanent", "instantaneous"]

    @classmethod
    def from_parameters(cls, domain: Domain, arguments: dict[str, Any]) -> Longitudinal:
        for name in cls.parameter_names():
            if not isinstance(arguments.get(name), Mapping):
                raise ValueError(f"{name} is missing; give the channel of each as a table: {name} = {{channel = …}}")
        permanent = stage_from_spec(arguments["permanent"], domain)
        if permanent.domain != domain:
            raise ValueError("permanent has another domain than the attribute; leave its domain out")
        between = permanent.outputs if isinstance(permanent.outputs, Categories) else None
        return cls(permanent, stage_from_spec(arguments["instantaneous"], between))

    def __repr__(self) -> str:
        return f"Longitudinal({self.permanent!r}, {self.instantaneous!r})"


def _rounds(first: NDArray[Any], later: NDArray[Any], times: int) -> list[list[int]]:
    """Return the chances of the reports of ``times`` rounds in whole numbers, as rows.

    One row for every multiset of reports y, one column for every answer x:

        row[x] = Σ_z first[z, x] · Π_i later[y_i, z],   first = P_permanent, later = P_instantaneous
    """
    return [
        (np.prod(later[list(reports)], axis=0) @ first).tolist()
        for reports in combinations_with_replacement(range(len(later)), times)
    ]
