"""What a plan is to achieve, in the words of the people who ask for it, and whether it does.

    "5% to 50%"            nobody's belief in anything may go from 5 % to 50 %, by all reports of a person together
    "age: 5% to 50%"       the same by the report of one attribute
    "age: 20 at 95%"       nobody may place an age closer than 20 with 95 % confidence, for a usual report

Verdicts are decided by the law and a belief, not by samples.
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
from sfumato.privacy.accounting import Width, reach_of, width_together
from sfumato.privacy.population import CONFIDENCE, Population, coarse_law, expected_width
from sfumato.prose import in_words, listed

NUMBER = r"(\d+(?:\.\d+)?(?:e-?\d+)?)\s*(%?)"
BELIEF = re.compile(rf"(?:(?P<name>[^:]+?)\s*:\s*)?{NUMBER}\s*(?:to|->|→)\s*{NUMBER}")
WIDTH = re.compile(rf"(?P<name>[^:]+?)\s*:\s*(?:width\s*)?(\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*at\s*{NUMBER}")
SLACK = 1e-9


@dataclass(frozen=True)
class BeliefTarget:
    """No ρ1-to-ρ2 breach, up or down, by one attribute's report or (attribute None) by all of them."""

    rho1: float
    rho2: float
    attribute: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.rho1 < self.rho2 < 1:
            raise ValueError(
                f"target from {_short(self.rho1)} to {_short(self.rho2)} is no growing belief; write '5% to 50%'"
            )

    @property
    def gamma(self) -> float:
        """γ must stay strictly below ρ2(1−ρ1)/(ρ1(1−ρ2))."""
        return float(breach_gamma(self.rho1, self.rho2))

    def __str__(self) -> str:
        who = "all reports of a person together" if self.attribute is None else f"the report of {self.attribute}"
        return f"nobody's belief may go from {_short(self.rho1)} to {_short(self.rho2)} by {who}"


@dataclass(frozen=True)
class WidthTarget:
    """No interval shorter than ``width`` holds the true value with this confidence, for a usual report."""

    attribute: str
    width: float
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not self.width > 0 or not 0 < self.confidence < 1:
            raise ValueError(
                f"target {self.width:g} at {_short(self.confidence)} is no width at a confidence; "
                "give a positive width and a confidence below 100%"
            )

    def __str__(self) -> str:
        return (
            f"{self.attribute} may not be placed closer than {in_words(self.width)} "
            f"with {_short(self.confidence)} confidence"
        )


Goal = BeliefTarget | WidthTarget


@dataclass(frozen=True)
class Verdict:
    """Whether a target is met, and why."""

    target: Goal
    met: bool
    text: str

    def __str__(self) -> str:
        return f"[{'met' if self.met else 'MISSED'}] {self.target}: {self.text}"

    def to_dict(self) -> dict[str, Any]:
        return {"target": str(self.target), "met": self.met, "text": self.text}


def read_targets(targets: Any, domains: Mapping[str, Any]) -> list[Goal]:
    """One target or several, by text or as they are; each must name what is blurred, and a width a number."""
    goals = [read_target(target) for target in (targets if isinstance(targets, (list, tuple)) else [targets])]
    for goal in goals:
        name = goal.attribute
        if name is not None and name not in domains:
            raise ValueError(f"target names {name!r}, which has no channel; there are {', '.join(domains)}")
        if isinstance(goal, WidthTarget) and not isinstance(domains[goal.attribute], Interval):
            raise ValueError(f"target asks for a width of {name!r}, which is no number; ask for '{name}: 5% to 50%'")
    return goals


def read_target(target: Any) -> Goal:
    """A target from its text; targets pass through."""
    if isinstance(target, (BeliefTarget, WidthTarget)):
        return target
    text = str(target).strip()
    belief, width = BELIEF.fullmatch(text), WIDTH.fullmatch(text)
    if belief:
        _, one, percent_one, other, percent_other = belief.groups()
        return BeliefTarget(_share(one, percent_one), _share(other, percent_other), belief["name"])
    if width:
        _, size, confidence, in_percent = width.groups()
        return WidthTarget(width["name"], float(size), _share(confidence, in_percent))
    raise ValueError(f"target {text!r} is not understood; write '5% to 50%', 'age: 5% to 50%' or 'age: 20 at 95%'")


# --- verdicts -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Asked:
    """Channels by attribute, beliefs over their true codes, the people where they are known, how often they answer; the
    widths at 95 % of numbers that are blurred ``together``, which have no channel of their own; and the ``total``,
    which knows what is sent in the clear."""

    channels: Mapping[str, Channel]
    priors: Mapping[str, Floats]
    population: Population | None = None
    times: int = 1
    together: Mapping[str, Width] = field(default_factory=dict)
    total: CombinedGuarantee | None = None

    def through(self, channels: Mapping[str, Channel]) -> Asked:
        """The same people and beliefs, asked through these channels."""
        priors = {name: read_prior(channels[name], prior) for name, prior in self.priors.items()}
        people = None if self.population is None else self.population.through(channels)
        return replace(self, channels=channels, priors=priors, population=people)

    def width(self, name: str, confidence: float) -> float:
        """The smallest of: the stated width, the mean credible interval, and what all reports together leave."""
        if name in self.together:
            width = self.together[name]
            return reach_of(confidence) / reach_of(CONFIDENCE) * min(width.together, width.stated or math.inf)
        channel, coarse = self.channels[name], coarse_law(self.channels[name])
        belief = coarse.belief(read_prior(channel, self.priors.get(name)))
        found = [expected_width(coarse.law, belief, coarse.step, confidence)]
        stated = channel.interval_width(confidence)
        if stated is not None:
            found.append(stated)
        if self.population is not None and self.population.covariance is not None:
            found.append(width_together(self.population, name, confidence))
        return min(found)


def judge_target(goal: Goal, stated: Mapping[str, Guarantee], asked: Asked) -> Verdict:
    """The verdict on one target of `read_targets`."""
    if isinstance(goal, BeliefTarget):
        return judge_belief(goal, stated, asked.times, asked.total)
    reached = asked.width(goal.attribute, goal.confidence)
    who = "all reports together place" if goal.attribute in asked.together else "a usual report places"
    return Verdict(goal, reached >= goal.width * (1 - SLACK), f"{who} it within {in_words(reached)}.")


def judge_belief(
    goal: BeliefTarget, stated: Mapping[str, Guarantee], times: int = 1, sent: CombinedGuarantee | None = None
) -> Verdict:
    """By γ of the reports that the target names; a breach that it permits is shown, with the report that shows it. Of
    what is ``sent`` in the clear as well, what it is known to tell counts, and what is not known is said to be open."""
    parts = stated if goal.attribute is None else {goal.attribute: stated[goal.attribute]}
    drawn = tuple(name for name in sent.drawn if name in parts) if sent and goal.attribute is None else ()
    together = CombinedGuarantee(parts, drawn=drawn, drawn_count=sent.drawn_count if sent and drawn else None)
    total, clear = together.repeated(times), listed(sent.clear) if sent else ""
    for tells in (sent.clear_counts or ()) if sent else ():
        breach = tells.breach(goal.rho1, goal.rho2, "en") if tells.name in parts else None
        if breach is not None:
            return Verdict(goal, False, f"{clear} alone: {breach}")
    if total.excludes(goal.rho1, goal.rho2):
        beyond = f", beyond what {clear} in the clear may tell" if clear else ""
        bound = in_words(total.gamma, 6, up=True)
        return Verdict(goal, True, f"γ = {bound} is below the {in_words(goal.gamma, 6)} that it takes{beyond}.")
    for name, part in parts.items():
        breach = part.breach(goal.rho1, goal.rho2)
        if breach.possible:
            return Verdict(goal, False, str(breach) if goal.attribute else f"for {name}, {breach}")
    return Verdict(goal, False, str(total.breach(goal.rho1, goal.rho2)))


def _share(number: str, in_percent: str) -> float:
    return float(number) / (100 if in_percent else 1)


def _short(share: float) -> str:
    """A share as it was asked for: 5 %, 99.9 %."""
    return f"{in_words(100 * share)} %"
