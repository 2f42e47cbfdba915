"""The account of one person: what all their reports reveal together, over attributes, repetitions and correlation.

γ multiplies over independent reports, whatever the answers have to do with each other. Interval widths do not: when
answers are correlated, every report says something about every answer. Both are stated, the second as the widths

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
"""The other reports are said to weaken an answer when they leave less than this share of its width. By judgement: with
a larger share the sentence would name differences that nobody acts on. It changes words only, no verdict."""


@dataclass(frozen=True)
class Width:
    """How closely a person's number in one attribute can be told from reports: 95 % intervals, in its own units."""

    attribute: str
    stated: float | None  # what the channel states; None: it states no width
    alone: float  # from the number's own report and the people's spread
    together: float  # from all reports of the person and the people's covariance

    @property
    def weakened(self) -> bool:
        """Whether the person's other reports take more than a tenth off the width that the own report leaves."""
        return self.together < WEAKER * self.alone

    def __str__(self) -> str:
        stated = "" if self.stated is None else f" (stated {in_words(self.stated)})"
        text = f"{self.attribute}: a width of {in_words(self.alone)} from its own report{stated}"
        if not self.weakened:
            return f"{text}; the other reports hardly narrow it."
        share = percent(1 - self.together / self.alone, 0)
        of_stated = "" if self.stated is None else f", {percent(self.together / self.stated, 0)} of what is stated"
        return f"{text}, but {in_words(self.together)} from all reports: correlation takes {share} off{of_stated}."


@dataclass(frozen=True)
class Account:
    """What all reports of one person reveal together, who answers everything ``times`` times with fresh noise.

    It has a guarantee, and the widths of the intervals in which each number can be placed.
    """

    once: CombinedGuarantee  # of one report an attribute
    times: int = 1
    widths: tuple[Width, ...] = ()  # of every number whose covariance with the others is known

    @cached_property
    def total(self) -> CombinedGuarantee:
        """The guarantee of all reports of one person together, over all ``times`` rounds."""
        return self.once if self.times == 1 else self.once.repeated(self.times)

    @property
    def gamma(self) -> float:
        """The most by which all reports of a person together can multiply the odds of anything.

        ∞ where nothing bounds it.
        """
        return self.total.gamma

    def __str__(self) -> str:
        """Return lines: the worst of several rounds (where there are several), one round, and the widths."""
        often = f"A person who answers everything {self.times} times with fresh noise: {self.total.worst}"
        return "\n".join([*([often] if self.times > 1 else []), str(self.once), *map(str, self.widths)])

    def to_dict(self) -> dict[str, Any]:
        """Return the account as a dict for JSON, with its sentences.

        A γ (largest factor on the odds) without bound is None.
        """
        widths = [{**vars(width), "weakened": width.weakened, "text": str(width)} for width in self.widths]
        parts = {name: finite(part.gamma) for name, part in self.once.parts.items()}
        words = str(self.once).splitlines()
        return {"gamma": finite(self.gamma), "times": self.times, "parts": parts, "widths": widths, "words": words}


def widths_of(population: Population) -> tuple[Width, ...]:
    """Return the interval widths of all numeric attributes of a population, as `Width`s; empty without a covariance.

    A width is the length of the interval in which an adversary can place a person's number with 95 % confidence.
    """
    if population.covariance is None:
        return ()
    return widths_from(population.stated_widths, population.covariance, population.noise)


def widths_from(stated: Mapping[str, float | None], covariance: Floats, noise: Floats) -> tuple[Width, ...]:
    """Return the widths of the intervals in which several numbers of a person can be placed with 95 % confidence.

    ``stated``: the width that the channel states, by attribute, None where there is none; ``covariance`` of the people
    and of the ``noise``: matrices in the order of ``stated``. Widths are 2z standard deviations.
    """
    factor = gaussian_width(CONFIDENCE)
    alone = factor * np.sqrt(alone_error(covariance, noise))
    together = factor * np.sqrt(np.maximum(bayes_error(covariance, noise), 0))
    return tuple(map(Width, stated, stated.values(), alone.tolist(), together.tolist()))


def width_together(population: Population, name: str, confidence: float) -> float:
    """Return the width of the interval in which all reports of a person together place one number.

    ``name``: the number's attribute; ``confidence``: the probability that the interval holds the true value.
    """
    assert population.covariance is not None
    column = [target.name for target in population.numeric].index(name)
    error = float(bayes_error(population.covariance, population.noise)[column])
    return gaussian_width(confidence) * math.sqrt(max(error, 0.0))


def gaussian_width(confidence: float) -> float:
    """Return 2z: how many standard deviations wide the central interval of a gaussian is that has this probability."""
    return 2 * float(ndtri((1 + confidence) / 2))
