"""What one person's reports add up to: over attributes, over repetitions, and through correlation.

γ multiplies over independent reports, whatever the answers have to do with each other. Interval widths do not: when
answers are correlated, every report says something about every answer. Both are told, the second as the widths

    stated      of the channel, from its own report and the noise alone,
    alone       2z·√(σ²n/(σ² + n)), with the spread σ² of the people known as well,
    together    2z·√((Σ − Σ(Σ + N)⁻¹Σ)_jj), with all reports of the person and the covariance Σ of the people.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from sfumato.domain import Floats
from sfumato.guarantee import CombinedGuarantee
from sfumato.privacy.attacks import alone_error, bayes_error
from sfumato.privacy.population import CONFIDENCE, Population
from sfumato.prose import finite, in_words, percent

WEAKER = 0.9


@dataclass(frozen=True)
class Width:
    """How closely 95 % confidence places one number."""

    attribute: str
    stated: float | None
    alone: float
    together: float

    @property
    def weakened(self) -> bool:
        """The other reports take more than a tenth off."""
        return self.together < WEAKER * self.alone

    def __str__(self) -> str:
        stated = "" if self.stated is None else f" (stated {in_words(self.stated)})"
        told = f"{self.attribute}: a width of {in_words(self.alone)} from its own report{stated}"
        if not self.weakened:
            return f"{told}; the other reports hardly narrow it."
        share = percent(1 - self.together / self.alone, 0)
        of_stated = "" if self.stated is None else f", {percent(self.together / self.stated, 0)} of what is stated"
        return f"{told}, but {in_words(self.together)} from all reports: correlation takes {share} off{of_stated}."


@dataclass(frozen=True)
class Account:
    """The total for one person who answers everything ``times`` times with fresh noise."""

    once: CombinedGuarantee
    times: int = 1
    widths: tuple[Width, ...] = ()

    @cached_property
    def total(self) -> CombinedGuarantee:
        return self.once if self.times == 1 else self.once.repeated(self.times)

    @property
    def gamma(self) -> float:
        return self.total.gamma

    def __str__(self) -> str:
        """The words of one time, what several times add, and the widths."""
        often = f"A person who answers everything {self.times} times with fresh noise: {self.total.worst}"
        return "\n".join([*([often] if self.times > 1 else []), str(self.once), *map(str, self.widths)])

    def to_dict(self) -> dict[str, Any]:
        widths = [{**vars(width), "weakened": width.weakened, "text": str(width)} for width in self.widths]
        parts = {name: finite(part.gamma) for name, part in self.once.parts.items()}
        words = str(self.once).splitlines()
        return {"gamma": finite(self.gamma), "times": self.times, "parts": parts, "widths": widths, "words": words}


def widths_of(population: Population) -> tuple[Width, ...]:
    """The widths of all numbers of people whose covariance is known; none of others."""
    if population.covariance is None:
        return ()
    return widths_from(population.stated_widths, population.covariance, population.noise)


def widths_from(stated: Mapping[str, float | None], covariance: Floats, noise: Floats) -> tuple[Width, ...]:
    """The widths at 95 %, for the covariances of the people and of the noise in the order of ``stated``."""
    reach = reach_of(CONFIDENCE)
    alone = reach * np.sqrt(alone_error(covariance, noise))
    together = reach * np.sqrt(np.maximum(bayes_error(covariance, noise), 0))
    return tuple(map(Width, stated, stated.values(), alone.tolist(), together.tolist()))


def width_together(population: Population, name: str, confidence: float) -> float:
    """The width of one number from all reports of a person."""
    assert population.covariance is not None
    place = [target.name for target in population.numeric].index(name)
    error = float(bayes_error(population.covariance, population.noise)[place])
    return reach_of(confidence) * math.sqrt(max(error, 0.0))


def reach_of(confidence: float) -> float:
    """2z: the width of a gaussian interval in standard deviations."""
    return 2 * float(ndtri((1 + confidence) / 2))
