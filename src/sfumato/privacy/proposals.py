"""Proposals of channels that meet targets: first every γ is brought below its limit, then noise grows until every width
is reached. A channel keeps its kind where that is possible.

Some channels have exactly the γ that is wanted: the square wave for numbers (piecewise where only their mean is
wanted), randomized response for categories, subset response for many of them, and select-a-size for baskets. Widths
grow with the noise, and with a falling γ, so that the least noise is found by halving.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from sfumato.channels import (
    Channel,
    Gaussian,
    Laplace,
    Piecewise,
    RandomizedResponse,
    SelectASize,
    SquareWave,
    SubsetResponse,
    Uniform,
)
from sfumato.channels.bounded.piecewise import FEW
from sfumato.domain import Categories, Floats, Interval
from sfumato.guarantee.statement import read_prior
from sfumato.privacy.targets import BeliefTarget, Exposure, Goal, WidthTarget
from sfumato.prose import in_words
from sfumato.reconstruction import mean_error

LEAST_GAMMA = 1.001
"""The smallest γ that is proposed for numbers: at γ = 1 reports say nothing at all. By judgement: at 1.001 the mean of
a million people has an error of about the whole range, and a smaller γ would be of no use to anybody."""
WIDEST = 3.0
"""The largest noise that is tried for a width, in ranges of the answer. By judgement: three ranges leave a report that
hardly narrows a belief, so that a width beyond cannot be reached by noise."""
DIGITS = 4
"""The digits of a proposed parameter, rounded towards privacy: a person can read them in a plan, and they change a γ or
a noise by less than a thousandth. Fewer blur more than the target asks for."""
LEAST_GAIN = 1.01
"""The factor by which the error of a mean must be smaller for a channel to replace another one. By judgement: 1 % of an
error is not worth a changed plan. bench/means.py shows what the choice gains: a quarter for people at two ends."""


def propose(
    exposure: Exposure, goals: Sequence[Goal], means: Sequence[str] = (), drawn: Sequence[str] = (),
    questions_each: int | None = None,
) -> dict[str, Channel]:
    """Return a dict with a channel for every attribute, so that the privacy goals are met.

    An attribute keeps its own channel where that is enough. ``exposure``: the present channels and what an adversary
    believes. ``means``: attributes of which only the mean is wanted, which get the channel with the smallest error of a
    mean. ``drawn``: attributes of which each person answers only ``questions_each``, drawn at random (None: all of
    them).
    """
    gammas = {name: channel.gamma for name, channel in exposure.channels.items()}
    limits = gamma_limits(gammas, goals, exposure.times, drawn, questions_each)
    chosen = {name: bounded_channel(own, limits.get(name, math.inf)) for name, own in exposure.channels.items()}
    for name in means:
        chosen[name] = mean_channel(chosen[name], read_prior(chosen[name], exposure.priors.get(name)))
    for goal in goals:
        if isinstance(goal, WidthTarget):
            chosen[goal.attribute] = _widen_channel(exposure, chosen, goal, goal.attribute in limits)
    return chosen


# --- γ ------------------------------------------------------------------------------------------------------------


def gamma_limits(
    gammas: Mapping[str, float], goals: Sequence[Goal], times: int = 1, drawn: Sequence[str] = (),
    questions_each: int | None = None,
) -> dict[str, float]:
    """Return the largest γ (factor on the odds) that attributes may have so that belief targets hold, by attribute.

    Attributes that no belief target names or includes have no entry. ``gammas``: the present γ by attribute; ``times``:
    how often everybody answers with fresh noise. A limit on all reports together is shared out equally in ln γ; what an
    attribute does not use goes to the others. Of the ``drawn`` attributes the ``questions_each`` largest γ count,
    because a person answers no more of them.
    """
    beliefs = [goal for goal in goals if isinstance(goal, BeliefTarget)]
    limits: dict[str, float] = {}
    for goal in sorted(beliefs, key=lambda goal: goal.attribute is None):
        most = goal.gamma * (1 - 1e-6)  # just below the γ at which the breach becomes reachable
        if goal.attribute is not None:
            limits[goal.attribute] = min(limits.get(goal.attribute, math.inf), most ** (1 / times))
        else:
            wanted = {name: min(gamma, limits.get(name, math.inf)) for name, gamma in gammas.items()}
            largest = sorted((gamma for name, gamma in wanted.items() if name in drawn), reverse=True)[:questions_each]
            always = [gamma for name, gamma in wanted.items() if name not in drawn]
            share = _equal_share([*always, *largest], math.log(most) / times)
            limits.update({name: min(limits.get(name, math.inf), share) for name in gammas})
    return limits


def _equal_share(wanted: Sequence[float], budget: float) -> float:
    """Return the γ (largest factor on the odds) up to which attributes may use a common budget of Σ ln γ.

    It is the γ at which Σ min(ln γ_j, ln γ) equals the budget, for γ_j ``wanted``; ∞ where all of them fit in.
    """
    needs = sorted(math.log(gamma) if math.isfinite(gamma) else math.inf for gamma in wanted)
    for served, need in enumerate(needs):
        share = budget / (len(needs) - served)
        if need > share:
            return math.exp(share)
        budget -= need
    return math.inf


def bounded_channel(channel: Channel, gamma: float) -> Channel:
    """Return a channel for the same answers whose γ (largest factor on the odds) is at most ``gamma``.

    It is ``channel`` itself where its γ is small enough.
    """
    if channel.gamma <= gamma:
        return channel
    if isinstance(channel, SelectASize):
        return SelectASize.design(channel.items, channel.sizes, gamma=_round(gamma, down=True), up_to=channel.up_to)
    if isinstance(channel.domain, Categories):
        return _category_channel(channel.domain, _round(gamma, down=True), channel.missing)
    return _bounded_numbers(channel, gamma)


def _category_channel(domain: Categories, gamma: float, missing: str) -> Channel:
    """Return a channel for categories with this γ: subset response for 3γ + 2 categories and more, else randomized.

    γ is the largest factor on the odds; ``missing``: what is done with missing answers. People can read a report of one
    category, as randomized response gives it. Up to 3γ + 2 categories its variance is at most that of a bit for every
    category; subsets have less from ``sets_serve_better`` on, by a factor of 1.3 at most.
    """
    kind = SubsetResponse if domain.size >= 3 * gamma + 2 else RandomizedResponse
    return kind(domain, gamma=gamma, missing=missing)


def mean_channel(channel: Channel, prior: Floats) -> Channel:
    """Return the channel with the smallest error of a mean of numbers, of those with at most this channel's γ.

    γ is the largest factor on the odds; ``prior``: how the people are spread over true codes. Tried are this channel,
    the piecewise one and those with few places (values that answers are rounded to); the first within LEAST_GAIN of the
    best is returned. ValueError for a channel without bound.
    """
    assert isinstance(channel.domain, Interval)
    if not math.isfinite(channel.gamma):
        raise ValueError(f"{channel.kind} has no bound under which a mean could be told best; add a target '5% to 50%'")
    usual = Piecewise(channel.domain, channel.gamma, missing=channel.missing, outside=channel.outside)
    few = [places for places in FEW if places < usual.inputs.size]
    candidates = (channel, usual, *(_piecewise_like(usual, channel.gamma, places) for places in few))
    errors = [mean_error(candidate, read_prior(candidate, prior), 1) for candidate in candidates]
    best = min(errors)
    return next(each for each, error in zip(candidates, errors, strict=True) if error <= best * LEAST_GAIN)


def _piecewise_like(channel: Piecewise, gamma: float, places: int | None) -> Piecewise:
    """Return a piecewise channel for the same answers with another γ and number of places (None: as many as suit).

    γ is the largest factor on the odds; places are the values that answers are rounded to.
    """
    return Piecewise(channel.domain, gamma, places=places, missing=channel.missing, outside=channel.outside)


def _bounded_numbers(channel: Channel, gamma: float) -> Channel:
    """Return a square-wave channel for the same numbers with at most this γ; a piecewise channel stays piecewise.

    γ is the largest factor on the odds.
    """
    assert isinstance(channel.domain, Interval)
    bounded = max(_round(gamma, down=True), LEAST_GAMMA)
    if isinstance(channel, Piecewise):
        return _piecewise_like(channel, bounded, channel.parameters().get("places"))
    return SquareWave(channel.domain, bounded, missing=channel.missing, outside=channel.outside)


# --- widths -------------------------------------------------------------------------------------------------------


def _widen_channel(exposure: Exposure, chosen: Mapping[str, Channel], goal: WidthTarget, bounded: bool) -> Channel:
    """Return the channel with the least noise whose usual report leaves an interval as wide as the goal wants.

    ``chosen``: the channels of all attributes; ``bounded``: γ (the largest factor on the odds) of this attribute has a
    limit too. ValueError where the people's own spread and other answers leave a narrower interval with any noise.
    """

    def width_through(channel: Channel) -> float:
        return exposure.with_channels({**chosen, goal.attribute: channel}).width(goal.attribute, goal.confidence)

    if width_through(chosen[goal.attribute]) >= goal.width:
        return chosen[goal.attribute]
    make, low, high = _channels_by_noise(chosen[goal.attribute], bounded)
    most = width_through(make(high))
    if most < goal.width:
        raise ValueError(
            f"the target that {goal} cannot be met, because with any noise the people's own spread and other answers "
            f"place it within {in_words(most)}; ask for less, or blur what it goes with"
        )
    while abs(high - low) > 1e-3 * max(abs(high), abs(low), 1e-3):
        middle = math.sqrt(low * high) if low > 0 else (low + high) / 2
        low, high = (low, middle) if width_through(make(middle)) >= goal.width else (middle, high)
    return make(high)


def _channels_by_noise(channel: Channel, bounded: bool) -> tuple[Callable[[float], Channel], float, float]:
    """Return (make, least, most): ``make(size)`` is the channel with noise of that size, between least and most.

    Where γ is bounded, ``make`` gives square waves by size = −ln γ; else noise of the same kind by its size in units of
    the answer, gaussian for channels that add none.
    """
    if bounded or isinstance(channel, (SquareWave, Piecewise)):
        largest = channel.gamma if math.isfinite(channel.gamma) else 1e6
        return lambda size: _bounded_numbers(channel, math.exp(-size)), -math.log(largest), -math.log(LEAST_GAMMA)
    domain, kind = channel.domain, type(channel) if isinstance(channel, (Uniform, Laplace)) else Gaussian
    assert isinstance(domain, Interval)

    def noise(size: float) -> Channel:
        return kind(domain, _round(size, down=False), missing=channel.missing, outside=channel.outside)

    return noise, getattr(channel, "size_of_noise", domain.width * 1e-3), WIDEST * domain.width


def _round(number: float, *, down: bool) -> float:
    """Round a parameter to DIGITS digits towards more privacy: γ (largest factor on the odds) ``down``, noise up."""
    scale = 10.0 ** (DIGITS - 1 - math.floor(math.log10(number)))
    return math.floor(number * scale * (1 - 1e-9)) / scale if down else math.ceil(number * scale * (1 - 1e-12)) / scale
