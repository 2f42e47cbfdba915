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
from typing import Any

import numpy as np
from scipy.special import ndtri

from sfumato.privacy.attacks.bayes import alone_error, bayes_error
from sfumato.privacy.attacks.best_guess import stated_width
from sfumato.privacy.population import Population, noise_of
from sfumato.privacy.words import amount

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
        stated = "" if self.stated is None else f" (stated {amount(self.stated)})"
        told = f"{self.attribute}: a width of {amount(self.alone)} from its own report{stated}"
        if not self.weakened:
            return f"{told}; the other reports hardly narrow it."
        share = 1 - self.together / self.alone
        of_stated = "" if self.stated is None else f", {self.together / self.stated:.0%} of what is stated"
        return f"{told}, but {amount(self.together)} from all reports: correlation takes {share:.0%} off{of_stated}."


@dataclass(frozen=True)
class Account:
    """The total for one person who answers everything ``times`` times with fresh noise."""

    parts: dict[str, float]
    times: int
    widths: tuple[Width, ...] = ()

    @property
    def gamma(self) -> float:
        return math.prod(self.parts.values()) ** self.times

    @property
    def epsilon(self) -> float:
        return math.log(self.gamma) if math.isfinite(self.gamma) else math.inf

    def __str__(self) -> str:
        often = "once" if self.times == 1 else f"{self.times} times with fresh noise"
        if math.isfinite(self.gamma):
            most = max(self.parts, key=lambda name: self.parts[name])
            head = f"A person who answers everything {often} gives away odds of at most γ = {self.gamma:.4g} "
            lines = [f"{head}(ε = {self.epsilon:.3f}), most of it by {most} (γ = {self.parts[most]:.4g} each time)."]
        else:
            unbounded = ", ".join(name for name, gamma in self.parts.items() if not math.isfinite(gamma))
            lines = [f"A person who answers everything {often} has no bound on the odds, because of {unbounded}."]
        return "\n".join([*lines, *map(str, self.widths)])

    def to_dict(self) -> dict[str, Any]:
        widths = [{**vars(width), "weakened": width.weakened, "text": str(width)} for width in self.widths]
        plain = {name: gamma if math.isfinite(gamma) else None for name, gamma in self.parts.items()}
        total = self.gamma if math.isfinite(self.gamma) else None
        return {"gamma": total, "times": self.times, "parts": plain, "widths": widths}


def account_for(gammas: Mapping[str, float], times: int, population: Population | None = None) -> Account:
    """The account of these channels; widths need people whose correlations are known."""
    if times < 1:
        raise ValueError(f"times={times} is not a count of reports; give 1 or more")
    return Account(dict(gammas), times, () if population is None else widths_of(population))


def widths_of(population: Population, confidence: float = 0.95) -> tuple[Width, ...]:
    targets = population.numeric
    if population.covariance is None or len(targets) < 2:
        return ()
    noise = np.diag([noise_of(target) for target in targets])
    reach = 2 * float(ndtri((1 + confidence) / 2))
    alone = reach * np.sqrt(alone_error(population.covariance, noise))
    together = reach * np.sqrt(np.maximum(bayes_error(population.covariance, noise), 0))
    return tuple(
        Width(target.name, stated_width(target), float(own), float(all_))
        for target, own, all_ in zip(targets, alone, together, strict=True)
    )
