"""What an attack recovered, beside what a guess without the report gets and what was stated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfumato.domain import Floats
from sfumato.privacy.population import CONFIDENCE
from sfumato.prose import in_words, percent

NOTICEABLE = 0.1


@dataclass(frozen=True)
class Finding:
    """One attack on one attribute.

    ``measure`` "width": the interval around the adversary's guess that holds 95 % of the true values; smaller is worse.
    "hits": the share of people for whom the adversary is right; larger is worse.
    """

    attack: str
    attribute: str
    measure: Literal["width", "hits"]
    without_report: float
    recovered: float
    stated: float | None = None
    note: str = ""

    @property
    def below_stated(self) -> float:
        """How far below the stated privacy the attack gets, as a share of it; 0 when it holds or nothing is stated."""
        return self._below(self.recovered)

    def _below(self, number: float) -> float:
        if self.stated is None or not math.isfinite(self.stated) or self.stated <= 0:
            return 0.0
        if self.measure == "width":
            return max(1 - number / self.stated, 0.0)
        return max((number - self.stated) / (1 - self.stated), 0.0) if self.stated < 1 else 0.0

    @property
    def noticeable(self) -> bool:
        """More than a tenth below what was stated."""
        return self.below_stated > NOTICEABLE

    def shown(self, number: float) -> str:
        """A number of this finding's measure, in words."""
        return in_words(number) if self.measure == "width" else percent(number)

    def __str__(self) -> str:
        width = self.measure == "width"
        told = "places 95 % of answers within {}" if width else "is right for {} of the people"
        claim = "" if self.stated is None else f", {'' if width else 'at most '}{self.shown(self.stated)} stated"
        beside = f"({self.shown(self.without_report)} without the report{claim})"
        crowd = self._below(self.without_report)
        of_it = f" ({percent(crowd, 0)} by knowing the crowd alone)" if crowd > 0 else ""
        below = f", {percent(self.below_stated, 0)} below what is stated{of_it}" if self.noticeable else ""
        text = f"{self.attribute}, {self.attack}: {told.format(self.shown(self.recovered))} {beside}{below}."
        return f"{text} {self.note}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "below_stated": self.below_stated, "text": str(self)}


def width_of_errors(true: Floats, guess: Floats | float) -> float:
    """Twice the distance from the guess that holds 95 % of the true values."""
    return 2 * float(np.quantile(np.abs(true - guess), CONFIDENCE))
