"""What a plan is to achieve, in the words of the people who ask for it.

    "5% to 50%"            nobody's belief in anything may go from 5 % to 50 %, by all reports of a person together
    "age: 5% to 50%"       the same by the report of one attribute
    "age: 20 at 95%"       nobody may place an age closer than 20 with 95 % confidence, for a usual report
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

NUMBER = r"(\d+(?:\.\d+)?(?:e-?\d+)?)\s*(%?)"
BELIEF = re.compile(rf"(?:(?P<name>[^:]+?)\s*:\s*)?{NUMBER}\s*(?:to|->|→)\s*{NUMBER}")
WIDTH = re.compile(rf"(?P<name>[^:]+?)\s*:\s*(?:width\s*)?(\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*at\s*{NUMBER}")


@dataclass(frozen=True)
class BeliefTarget:
    """No ρ1-to-ρ2 breach, up or down, by one attribute's report or (attribute None) by all of them."""

    rho1: float
    rho2: float
    attribute: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.rho1 < self.rho2 < 1:
            raise ValueError(
                f"target from {self.rho1:g} to {self.rho2:g}: a belief grows between 0 and 1, for example 5% to 50%"
            )

    @property
    def gamma(self) -> float:
        """γ must stay strictly below ρ2(1−ρ1)/(ρ1(1−ρ2))."""
        return self.rho2 * (1 - self.rho1) / (self.rho1 * (1 - self.rho2))

    def __str__(self) -> str:
        who = "all reports of a person together" if self.attribute is None else f"the report of {self.attribute}"
        return f"nobody's belief may go from {self.rho1:.3g} to {self.rho2:.3g} by {who}"


@dataclass(frozen=True)
class WidthTarget:
    """No interval shorter than ``width`` holds the true value with this confidence, for a usual report."""

    attribute: str
    width: float
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not self.width > 0 or not 0 < self.confidence < 1:
            raise ValueError(
                f"target {self.width:g} at {self.confidence:g}: give a positive width and a confidence below 100%"
            )

    def __str__(self) -> str:
        return f"{self.attribute} may not be placed closer than {self.width:.4g} with {self.confidence:.3g} confidence"


Goal = BeliefTarget | WidthTarget


def read_target(target: Any) -> Goal:
    """A target from its text; targets pass through."""
    if isinstance(target, (BeliefTarget, WidthTarget)):
        return target
    text = str(target).strip()
    belief, width = BELIEF.fullmatch(text), WIDTH.fullmatch(text)
    if belief:
        _, one, percent, other, other_percent = belief.groups()
        return BeliefTarget(_share(one, percent), _share(other, other_percent), belief["name"])
    if width:
        _, size, confidence, percent = width.groups()
        return WidthTarget(width["name"], float(size), _share(confidence, percent))
    raise ValueError(f"target {text!r} is not understood; write '5% to 50%', 'age: 5% to 50%' or 'age: 20 at 95%'")


def _share(number: str, percent: str) -> float:
    return float(number) / (100 if percent else 1)
