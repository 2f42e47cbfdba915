"""What an attack recovered, beside what a guess without the report gets and what was stated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfumato.domain import Floats
from sfumato.privacy.words import amount

Measure = Literal["width", "hits"]
CONFIDENCE = 0.95
NOTICEABLE = 0.1


@dataclass(frozen=True)
class Finding:
    """One attack on one attribute.

    ``measure`` "width": the interval around the adversary's guess that holds 95 % of the true values; smaller is worse.
    "hits": the share of people for whom the adversary is right; larger is worse.
    """

    attack: str
    attribute: str
    measure: Measure
    without_report: float
    recovered: float
    stated: float | None = None
    note: str = ""

    @property
    def below_stated(self) -> float:
        """How far below the stated privacy the attack gets, as a share of it; 0 when it holds or nothing is stated."""
        if self.stated is None or not math.isfinite(self.stated) or self.stated <= 0:
            return 0.0
        if self.measure == "width":
            return max(1 - self.recovered / self.stated, 0.0)
        return max((self.recovered - self.stated) / (1 - self.stated), 0.0) if self.stated < 1 else 0.0

    @property
    def noticeable(self) -> bool:
        """More than a tenth below what was stated."""
        return self.below_stated > NOTICEABLE

    def __str__(self) -> str:
        if self.measure == "width":
            told = f"places 95 % of answers within {amount(self.recovered)} ({amount(self.without_report)} without"
            claim = "" if self.stated is None else f", {amount(self.stated)} stated"
        else:
            told = f"is right for {self.recovered:.1%} of the people ({self.without_report:.1%} without"
            claim = "" if self.stated is None else f", at most {self.stated:.1%} stated"
        below = f", {self.below_stated:.0%} below what is stated" if self.noticeable else ""
        return f"{self.attribute}, {self.attack}: {told} the report{claim}){below}. {self.note}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        names = ("attack", "attribute", "measure", "without_report", "recovered", "stated", "below_stated", "note")
        return {**{name: getattr(self, name) for name in names}, "text": str(self)}


def width_of_errors(true: Floats, guess: Floats) -> float:
    """Twice the distance from the guess that holds 95 % of the true values."""
    return 2 * float(np.quantile(np.abs(true - guess), CONFIDENCE))
