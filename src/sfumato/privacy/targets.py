"""Privacy targets that a plan is to meet, in the words of the people who ask for them, and the verdict on each.

    "5% to 50%"            nobody's belief in anything may go from 5 % to 50 %, by all reports of a person together
    "age: 5% to 50%"       the same by the report of one attribute
    "age: 20 at 95%"       nobody may place an age closer than 20 with 95 % confidence, for a usual report

Verdicts are computed from the law and a belief, without sampling.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.channels import Channel
from sfumato.domain import Floats, Interval
from sfumato.guarantee import CombinedGuarantee, Guarantee
from sfumato.guarantee.amplification import breach_gamma
from sfumato.guarantee.statement import read_prior
from sfumato.privacy.accounting import Width, gaussian_width, width_together
from sfumato.privacy.population import CONFIDENCE, Population, coarse_law, expected_width
from sfumato.prose import in_words, listed

NUMBER = r"(\d+(?:\.\d+)?(?:e-?\d+)?)\s*(%?)"
BELIEF = re.compile(rf"(?:(?P<name>[^:]+?)\s*:\s*)?{NUMBER}\s*(?:to|->|→)\s*{NUMBER}")
WIDTH = re.compile(rf"(?P<name>[^:]+?)\s*:\s*(?:width\s*)?(\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*at\s*{NUMBER}")
SLACK = 1e-9
"""The share by which a width may fall short of its target and still meet it: rounding in floats, far above 2^−52 times
the operations of a width and far below anything that a person would call closer."""


@dataclass(frozen=True)
class BeliefTarget:
    """The target that no belief goes from ρ1 to ρ2 (or falls back from 1 − ρ1 to 1 − ρ2) by reports.

    ``rho1``: the belief before the report, a probability; ``rho2``: the belief that no report may reach, above
    ``rho1``; ``attribute``: the attribute whose report is meant, or None for all reports of a person together.

    >>> print(BeliefTarget(0.05, 0.5, "age"))
    nobody's belief may go from 5 % to 50 % by the report of age
    """

    rho1: float
    rho2: float
    attribute: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.rho1 < self.rho2 < 1:
            low, high = _share_text(self.rho1), _share_text(self.rho2)
            raise ValueError(f"target from {low} to {high} is no growing belief; write '5% to 50%'")

    @property
    def gamma(self) -> float:
        """The γ (factor on the odds) from which on the breach is possible: ρ2(1−ρ1)/(ρ1(1−ρ2)).

        Reports must stay below it.
        """
        return float(breach_gamma(self.rho1, self.rho2))

    def __str__(self) -> str:
        who = "all reports of a person together" if self.attribute is None else f"the report of {self.attribute}"
        return f"nobody's belief may go from {_share_text(self.rho1)} to {_share_text(self.rho2)} by {who}"


@dataclass(frozen=True)
class WidthTarget:
    """The target that a usual report leaves no interval shorter than a width for a number.

    ``attribute``: a numeric attribute; ``width``: the length of the interval, in units of the number; ``confidence``:
    the probability with which the interval holds the true value.

    >>> print(WidthTarget("age", 20))
    age may not be placed closer than 20 with 95 % confidence
    """

    attribute: str
    width: float
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not self.width > 0 or not 0 < self.confidence < 1:
            raise ValueError(
                f"target {self.width:g} at {_share_text(self.confidence)} is no width at a confidence; "
                "give a positive width and a confidence below 100%"
            )

    def __str__(self) -> str:
        return (
            f"{self.attribute} may not be placed closer than {in_words(self.width)} "
            f"with {_share_text(self.confidence)} confidence"
        )


Goal = BeliefTarget | WidthTarget


@dataclass(frozen=True)
class TargetVerdict:
    """The verdict on a privacy target: whether it is met, and a sentence that says why."""

    target: Goal
    met: bool
    text: str

    def __str__(self) -> str:
        return f"[{'met' if self.met else 'MISSED'}] {self.target}: {self.text}"

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as a dict for JSON, the target in words."""
        return {"target": str(self.target), "met": self.met, "text": self.text}


def read_targets(targets: Any, domains: Mapping[str, Any]) -> list[Goal]:
    """Read privacy targets from their texts, one or a list of them, and check the attributes that they name.

    A target that is a `BeliefTarget` or `WidthTarget` already is kept. ``domains``: the domain of every blurred
    attribute; a width needs an attribute whose domain is an interval.
    """
    goals = [read_target(target) for target in (targets if isinstance(targets, (list, tuple)) else [targets])]
    for goal in goals:
        name = goal.attribute
        if name is not None and name not in domains:
            raise ValueError(f"target names {name!r}, which has no channel; there are {', '.join(domains)}")
        if isinstance(goal, WidthTarget) and not isinstance(domains[goal.attribute], Interval):
            raise ValueError(f"target asks for a width of {name!r}, which is no number; ask for '{name}: 5% to 50%'")
    return goals


def read_target(target: Any) -> Goal:
    """Read a privacy target from its text ("5% to 50%", "age: 20 at 95%"); a target object is returned as it is."""
    if isinstance(target, (BeliefTarget, WidthTarget)):
        return target
    text = str(target).strip()
    belief, width = BELIEF.fullmatch(text), WIDTH.fullmatch(text)
    if belief:
        _, rho1, percent1, rho2, percent2 = belief.groups()
        return BeliefTarget(_read_share(rho1, percent1), _read_share(rho2, percent2), belief["name"])
    if width:
        _, size, confidence, in_percent = width.groups()
        return WidthTarget(width["name"], float(size), _read_share(confidence, in_percent))
    raise ValueError(f"target {text!r} is not understood; write '5% to 50%', 'age: 5% to 50%' or 'age: 20 at 95%'")


# --- verdicts -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Exposure:
    """What an adversary sees of the people and believes about them: all by which privacy targets are judged."""

    channels: Mapping[str, Channel]  # by attribute
    priors: Mapping[str, Floats]  # beliefs over true codes by attribute; flat where one is missing
    population: Population | None = None  # the people, where reports or true values of them were given
    times: int = 1  # how often everybody answers with fresh noise
    together: Mapping[str, Width] = field(default_factory=dict)  # of numbers that are blurred together, at CONFIDENCE
    total: CombinedGuarantee | None = None  # of all reports of a person, with what is sent in the clear

    def with_channels(self, channels: Mapping[str, Channel]) -> Exposure:
        """Return the exposure of the same people, under the same beliefs, through other channels (by attribute)."""
        priors = {name: read_prior(channels[name], prior) for name, prior in self.priors.items()}
        people = None if self.population is None else self.population.with_channels(channels)
        return replace(self, channels=channels, priors=priors, population=people)

    def width(self, name: str, confidence: float) -> float:
        """Return the width of the interval in which an adversary can place one number of a person, for a usual report.

        ``name``: the number's attribute. It is the smallest of the stated width, the mean credible interval under the
        belief, and what all reports of the person together leave where the covariance of the answers is known.
        """
        if name in self.together:
            width = self.together[name]
            scale = gaussian_width(confidence) / gaussian_width(CONFIDENCE)
            return scale * min(width.together, width.stated or math.inf)
        channel, coarse = self.channels[name], coarse_law(self.channels[name])
        belief = coarse.belief(read_prior(channel, self.priors.get(name)))
        widths = [expected_width(coarse.law, belief, coarse.step, confidence)]
        stated = channel.interval_width(confidence)
        if stated is not None:
            widths.append(stated)
        if self.population is not None and self.population.covariance is not None:
            widths.append(width_together(self.population, name, confidence))
        return min(widths)


def judge_target(goal: Goal, stated: Mapping[str, Guarantee], exposure: Exposure) -> TargetVerdict:
    """Return the verdict on one privacy target, by the stated guarantees for a belief and by the exposure for a width.

    ``stated``: the guarantee of every attribute; ``exposure``: what an adversary sees and believes.
    """
    if isinstance(goal, BeliefTarget):
        return judge_belief(goal, stated, exposure.times, exposure.total)
    reached = exposure.width(goal.attribute, goal.confidence)
    who = "all reports together place" if goal.attribute in exposure.together else "a usual report places"
    return TargetVerdict(goal, reached >= goal.width * (1 - SLACK), f"{who} it within {in_words(reached)}.")


def judge_belief(
    goal: BeliefTarget, stated: Mapping[str, Guarantee], times: int = 1, sent: CombinedGuarantee | None = None
) -> TargetVerdict:
    """Return the verdict on a belief target: met if the reports' γ (largest factor on the odds) excludes the breach.

    ``stated``: the guarantee of every attribute; ``times``: how often everybody answers with fresh noise; ``sent``: the
    guarantee of everything that a person sends. Where the breach is possible, the sentence shows a report that causes
    it. Of attributes in the clear, what the data shows that they tell counts as a breach; what is not known is said to
    be open.
    """
    parts = stated if goal.attribute is None else {goal.attribute: stated[goal.attribute]}
    drawn = tuple(name for name in sent.drawn if name in parts) if sent and goal.attribute is None else ()
    together = CombinedGuarantee(parts, drawn=drawn, drawn_count=sent.drawn_count if sent and drawn else None)
    total, clear = together.repeated(times), listed(sent.clear) if sent else ""
    for tells in (sent.clear_counts or ()) if sent else ():
        breach = tells.breach(goal.rho1, goal.rho2, "en") if tells.name in parts else None
        if breach is not None:
            return TargetVerdict(goal, False, f"{clear} alone: {breach}")
    if total.excludes(goal.rho1, goal.rho2):
        beyond = f", beyond what {clear} in the clear may tell" if clear else ""
        bound = in_words(total.gamma, 6, up=True)
        return TargetVerdict(goal, True, f"γ = {bound} is below the {in_words(goal.gamma, 6)} that it takes{beyond}.")
    for name, part in parts.items():
        breach = part.breach(goal.rho1, goal.rho2)
        if breach.possible:
            return TargetVerdict(goal, False, str(breach) if goal.attribute else f"for {name}, {breach}")
    return TargetVerdict(goal, False, str(total.breach(goal.rho1, goal.rho2)))


def _read_share(number: str, in_percent: str) -> float:
    """Return a share from its digits, which are percent where ``in_percent`` (the text after them) is not empty."""
    return float(number) / (100 if in_percent else 1)


def _share_text(share: float) -> str:
    """Write a share as text in percent, with the digits it was given with: 5 %, 99.9 %."""
    return f"{in_words(100 * share)} %"
