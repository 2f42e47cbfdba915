"""Channels that meet targets, of the same kind where that is possible: first every γ is brought below its limit, then
noise grows until every width is reached.

γ: the square wave for numbers (piecewise where only their mean is wanted), randomized response for categories and
subset response for many of them, select-a-size for baskets have exactly the γ that is asked for. Widths grow with the
noise, and with a falling γ, so that the least noise is found by halving.
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
from sfumato.privacy.targets import Asked, BeliefTarget, Goal, WidthTarget
from sfumato.prose import in_words
from sfumato.reconstruction import mean_error

LEAST_GAMMA = 1.001
WIDEST = 3.0
DIGITS = 4
LEAST_GAIN = 1.01
"""Another channel for a mean is proposed if its error is smaller by more than this."""


def propose(
    asked: Asked, goals: Sequence[Goal], means: Sequence[str] = (), drawn: Sequence[str] = (), each: int | None = None
) -> dict[str, Channel]:
    """A channel for every attribute, its own where that is enough; for ``means``, of which nothing but the mean is
    wanted, the one that tells it best. Of ``drawn`` a person answers so many ``each``."""
    gammas = {name: channel.gamma for name, channel in asked.channels.items()}
    limits = gamma_limits(gammas, goals, asked.times, drawn, each)
    chosen = {name: bounded_channel(own, limits.get(name, math.inf)) for name, own in asked.channels.items()}
    for name in means:
        chosen[name] = mean_channel(chosen[name], read_prior(chosen[name], asked.priors.get(name)))
    for goal in goals:
        if isinstance(goal, WidthTarget):
            chosen[goal.attribute] = _wide_channel(asked, chosen, goal, goal.attribute in limits)
    return chosen


# --- γ ------------------------------------------------------------------------------------------------------------


def gamma_limits(
    gammas: Mapping[str, float], goals: Sequence[Goal], times: int = 1, drawn: Sequence[str] = (),
    each: int | None = None,
) -> dict[str, float]:
    """The largest γ each attribute may have, for the attributes that a belief target touches.

    A limit on all reports together is shared out equally in ln γ; what an attribute does not use goes to the others. Of
    those that are ``drawn`` the ``each`` largest count.
    """
    beliefs = [goal for goal in goals if isinstance(goal, BeliefTarget)]
    limits: dict[str, float] = {}
    for goal in sorted(beliefs, key=lambda goal: goal.attribute is None):
        most = goal.gamma * (1 - 1e-6)  # just below the γ at which the breach becomes reachable
        if goal.attribute is not None:
            limits[goal.attribute] = min(limits.get(goal.attribute, math.inf), most ** (1 / times))
        else:
            wanted = {name: min(gamma, limits.get(name, math.inf)) for name, gamma in gammas.items()}
            largest = sorted((gamma for name, gamma in wanted.items() if name in drawn), reverse=True)[:each]
            always = [gamma for name, gamma in wanted.items() if name not in drawn]
            share = _equal_share([*always, *largest], math.log(most) / times)
            limits.update({name: min(limits.get(name, math.inf), share) for name in gammas})
    return limits


def _equal_share(wanted: Sequence[float], budget: float) -> float:
    """The γ at which Σ min(ln γ_j, ln γ) equals the budget; ∞ where all of them fit in."""
    needs = sorted(math.log(gamma) if math.isfinite(gamma) else math.inf for gamma in wanted)
    for place, need in enumerate(needs):
        share = budget / (len(needs) - place)
        if need > share:
            return math.exp(share)
        budget -= need
    return math.inf


def bounded_channel(channel: Channel, gamma: float) -> Channel:
    """A channel for the same answers whose γ is this or less."""
    if channel.gamma <= gamma:
        return channel
    if isinstance(channel, SelectASize):
        return SelectASize.design(channel.items, channel.sizes, gamma=_round(gamma, down=True), up_to=channel.up_to)
    if isinstance(channel.domain, Categories):
        return _of_categories(channel.domain, _round(gamma, down=True), channel.missing)
    return _square_wave(channel, gamma)


def _of_categories(domain: Categories, gamma: float, missing: str) -> Channel:
    """One answer, which people can read, while its variance is at most that of a bit for every category,
    d < 3γ + 2 (subsets have less from ``sets_serve_better`` on, by 1.3 at most); subsets from there on."""
    kind = SubsetResponse if domain.size >= 3 * gamma + 2 else RandomizedResponse
    return kind(domain, gamma=gamma, missing=missing)


def mean_channel(channel: Channel, prior: Floats) -> Channel:
    """The channel of at most the same γ whose reports tell the mean of such people best; this one, if it does."""
    assert isinstance(channel.domain, Interval)
    if not math.isfinite(channel.gamma):
        raise ValueError(f"{channel.kind} has no bound under which a mean could be told best; add a target '5% to 50%'")
    usual = Piecewise(channel.domain, channel.gamma, missing=channel.missing, outside=channel.outside)
    few = [places for places in FEW if places < usual.inputs.size]
    tried = [usual, *(_with(usual, channel.gamma, places) for places in few)]
    errors = [mean_error(each, read_prior(each, prior), 1) for each in (channel, *tried)]
    best = min(errors)
    return next(each for each, error in zip((channel, *tried), errors, strict=True) if error <= best * LEAST_GAIN)


def _with(channel: Piecewise, gamma: float, places: int | None) -> Piecewise:
    return Piecewise(channel.domain, gamma, places=places, missing=channel.missing, outside=channel.outside)


def _square_wave(channel: Channel, gamma: float) -> Channel:
    assert isinstance(channel.domain, Interval)
    bounded = max(_round(gamma, down=True), LEAST_GAMMA)
    if isinstance(channel, Piecewise):
        return _with(channel, bounded, channel.parameters().get("places"))
    return SquareWave(channel.domain, bounded, missing=channel.missing, outside=channel.outside)


# --- widths -------------------------------------------------------------------------------------------------------


def _wide_channel(asked: Asked, chosen: Mapping[str, Channel], goal: WidthTarget, bounded: bool) -> Channel:
    """The least noise of the channel's kind with which a usual report leaves the wanted width."""

    def reached(channel: Channel) -> float:
        return asked.through({**chosen, goal.attribute: channel}).width(goal.attribute, goal.confidence)

    if reached(chosen[goal.attribute]) >= goal.width:
        return chosen[goal.attribute]
    make, low, high = _by_noise(chosen[goal.attribute], bounded)
    most = reached(make(high))
    if most < goal.width:
        raise ValueError(
            f"the target that {goal} cannot be met, because with any noise the people's own spread and other answers "
            f"place it within {in_words(most)}; ask for less, or blur what it goes with"
        )
    while abs(high - low) > 1e-3 * max(abs(high), abs(low), 1e-3):
        middle = math.sqrt(low * high) if low > 0 else (low + high) / 2
        low, high = (low, middle) if reached(make(middle)) >= goal.width else (middle, high)
    return make(high)


def _by_noise(channel: Channel, bounded: bool) -> tuple[Callable[[float], Channel], float, float]:
    """Channels by the size of their noise, from the least to the most.

    Where γ is bounded, square waves by −ln γ; else noise of the same kind, gaussian for channels that add none.
    """
    if bounded or isinstance(channel, (SquareWave, Piecewise)):
        largest = channel.gamma if math.isfinite(channel.gamma) else 1e6
        return lambda size: _square_wave(channel, math.exp(-size)), -math.log(largest), -math.log(LEAST_GAMMA)
    domain, kind = channel.domain, type(channel) if isinstance(channel, (Uniform, Laplace)) else Gaussian
    assert isinstance(domain, Interval)

    def noise(size: float) -> Channel:
        return kind(domain, _round(size, down=False), missing=channel.missing, outside=channel.outside)

    return noise, getattr(channel, "size_of_noise", domain.width * 1e-3), WIDEST * domain.width


def _round(number: float, *, down: bool) -> float:
    """Four digits, towards more privacy: γ never above, noise never below."""
    scale = 10.0 ** (DIGITS - 1 - math.floor(math.log10(number)))
    return math.floor(number * scale * (1 - 1e-9)) / scale if down else math.ceil(number * scale * (1 - 1e-12)) / scale
