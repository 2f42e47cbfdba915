"""Channels that meet targets, of the same kind where that is possible: first every γ is brought below its limit, then
noise grows until every width is reached.

γ: the square wave for numbers, randomized response for categories, select-a-size for baskets have exactly the γ that is
asked for. Widths grow with the noise, and with a falling γ, so that the least noise is found by halving.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sfumato.channels import Channel, Gaussian, Laplace, RandomizedResponse, SelectASize, SquareWave, Uniform
from sfumato.domain import Categories, Floats, Interval
from sfumato.guarantee.statement import read_prior
from sfumato.privacy.population import Population
from sfumato.privacy.targets import BeliefTarget, Goal, WidthTarget, width_reached
from sfumato.prose import in_words

Reached = Callable[[Channel], float]
LEAST_GAMMA = 1.001
WIDEST = 3.0
DIGITS = 4


def propose(
    channels: Mapping[str, Channel],
    goals: Sequence[Goal],
    priors: Mapping[str, Floats],
    times: int,
    population: Population | None,
) -> dict[str, Channel]:
    """A channel for every attribute, its own where that is enough."""
    limits = gamma_limits({name: channel.gamma for name, channel in channels.items()}, goals, times)
    chosen = {name: bounded_channel(each, limits.get(name, math.inf)) for name, each in channels.items()}
    for goal in goals:
        if isinstance(goal, WidthTarget):
            around = asked_through(population, chosen)

            def reached(channel: Channel, goal: WidthTarget = goal, around: Population | None = around) -> float:
                belief = read_prior(channel, priors[goal.attribute]) if goal.attribute in priors else None
                return width_reached(channel, belief, goal.confidence, around, goal.attribute)

            name = goal.attribute
            chosen[name] = _wide_channel(chosen[name], goal, reached, name in limits)
    return chosen


def asked_through(population: Population | None, channels: Mapping[str, Channel]) -> Population | None:
    """The same people, asked through these channels; nobody stays nobody."""
    if population is None:
        return None
    return population.through({name: channels[name] for name in population.targets})


# --- γ ------------------------------------------------------------------------------------------------------------


def gamma_limits(gammas: Mapping[str, float], goals: Sequence[Goal], times: int = 1) -> dict[str, float]:
    """The largest γ each attribute may have, for the attributes that a belief target touches.

    A limit on all reports together is shared out equally in ln γ; what an attribute does not use goes to the others.
    """
    beliefs = [goal for goal in goals if isinstance(goal, BeliefTarget)]
    limits: dict[str, float] = {}
    for goal in beliefs:
        if goal.attribute is not None:
            limits[goal.attribute] = min(limits.get(goal.attribute, math.inf), _strictly(goal) ** (1 / times))
    for goal in beliefs:
        if goal.attribute is None:
            wanted = {name: min(gamma, limits.get(name, math.inf)) for name, gamma in gammas.items()}
            share = _equal_share(wanted, math.log(_strictly(goal)) / times)
            limits.update({name: min(limits.get(name, math.inf), share) for name in gammas})
    return limits


def _equal_share(wanted: Mapping[str, float], budget: float) -> float:
    """The γ at which Σ min(ln γ_j, ln γ) equals the budget."""
    needs = sorted(math.log(gamma) if math.isfinite(gamma) else math.inf for gamma in wanted.values())
    for place, need in enumerate(needs):
        share = budget / (len(needs) - place)
        if need > share:
            return math.exp(share)
        budget -= need
    return math.exp(needs[-1])


def _strictly(goal: BeliefTarget) -> float:
    """Just below the γ at which the breach becomes reachable."""
    return goal.gamma * (1 - 1e-6)


def bounded_channel(channel: Channel, gamma: float) -> Channel:
    """A channel for the same answers whose γ is this or less."""
    if channel.gamma <= gamma:
        return channel
    if isinstance(channel, SelectASize):
        return SelectASize.design(channel.items, channel.sizes, gamma=_round(gamma, down=True), up_to=channel.up_to)
    if isinstance(channel.domain, Categories):
        return RandomizedResponse(channel.domain, gamma=_round(gamma, down=True), missing=channel.missing)
    return _square_wave(channel, gamma)


def _square_wave(channel: Channel, gamma: float) -> SquareWave:
    assert isinstance(channel.domain, Interval)
    bounded = max(_round(gamma, down=True), LEAST_GAMMA)
    return SquareWave(channel.domain, bounded, missing=channel.missing, outside=channel.outside)


# --- widths -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Family:
    """Channels of one kind by the size of their noise."""

    make: Callable[[float], Channel]
    least: float
    most: float


def _wide_channel(channel: Channel, goal: WidthTarget, reached: Reached, bounded: bool) -> Channel:
    """The least noise of the channel's kind with which a usual report leaves the wanted width."""
    if reached(channel) >= goal.width:
        return channel
    family = _square_waves(channel) if bounded or isinstance(channel, SquareWave) else _additive(channel)
    low, high = family.least, family.most
    most = reached(family.make(high))
    if most < goal.width:
        raise ValueError(
            f"the target that {goal} cannot be met, because with any noise the people's own spread and other answers "
            f"place it within {in_words(most)}; ask for less, or blur what it goes with"
        )
    while abs(high - low) > 1e-3 * max(abs(high), abs(low), 1e-3):
        middle = math.sqrt(low * high) if low > 0 else (low + high) / 2
        low, high = (low, middle) if reached(family.make(middle)) >= goal.width else (middle, high)
    return family.make(high)


def _additive(channel: Channel) -> Family:
    """Noise of the same kind; channels that add no noise give way to gaussian noise."""
    domain = channel.domain
    assert isinstance(domain, Interval)
    kind = type(channel) if isinstance(channel, (Uniform, Laplace)) else Gaussian

    def noise(size: float) -> Channel:
        return kind(domain, _round(size, down=False), missing=channel.missing, outside=channel.outside)

    return Family(noise, getattr(channel, "size_of_noise", domain.width * 1e-3), WIDEST * domain.width)


def _square_waves(channel: Channel) -> Family:
    """Square waves by −ln γ, so that a larger number is more noise."""
    largest = channel.gamma if math.isfinite(channel.gamma) else 1e6
    return Family(lambda size: _square_wave(channel, math.exp(-size)), -math.log(largest), -math.log(LEAST_GAMMA))


def _round(number: float, *, down: bool) -> float:
    """Four digits, towards more privacy: γ never above, noise never below."""
    scale = 10.0 ** (DIGITS - 1 - math.floor(math.log10(number)))
    return math.floor(number * scale * (1 - 1e-9)) / scale if down else math.ceil(number * scale * (1 - 1e-12)) / scale
