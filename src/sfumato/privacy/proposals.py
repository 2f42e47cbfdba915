"""Channels that meet a target, searched among those of the same kind where that is possible.

γ: the square wave for numbers, randomized response for categories, select-a-size for baskets have exactly the γ that is
asked for. Widths grow with the noise, and with a falling γ, so that the least noise is found by halving.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sfumato.channels import Channel, Gaussian, Laplace, RandomizedResponse, SquareWave, Uniform
from sfumato.channels.additive import AdditiveNoise
from sfumato.domain import Categories, Interval, Items
from sfumato.privacy.targets import WidthTarget

Reached = Callable[[Channel], float]
LEAST_GAMMA = 1.001
WIDEST = 3.0
DIGITS = 4


def bounded_channel(channel: Channel, gamma: float) -> Channel:
    """A channel for the same answers whose γ is this or less."""
    domain = channel.domain
    if channel.gamma <= gamma:
        return channel
    if isinstance(domain, Interval):
        return SquareWave(domain, round_down(gamma), missing=channel.missing, outside=channel.outside)
    if isinstance(domain, Categories):
        return RandomizedResponse(domain, gamma=round_down(gamma), missing=channel.missing)
    assert isinstance(domain, Items)
    from sfumato.channels.baskets import SelectASize

    assert isinstance(channel, SelectASize)
    return SelectASize.design(domain, channel.sizes, gamma=round_down(gamma), up_to=channel.up_to)


def wide_channel(channel: Channel, goal: WidthTarget, reached: Reached, bounded: bool) -> Channel:
    """The least noise of the channel's kind with which a usual report leaves the wanted width."""
    if reached(channel) >= goal.width:
        return channel
    family = _square_waves(channel) if bounded or isinstance(channel, SquareWave) else _additive(channel)
    return _least(family, goal, reached)


def _additive(channel: Channel) -> tuple[Callable[[float], Channel], float, float]:
    """(noise of a size, smallest size, largest size); channels that add no noise give way to gaussian noise."""
    domain = channel.domain
    assert isinstance(domain, Interval)
    kind = type(channel) if isinstance(channel, (Uniform, Laplace)) else Gaussian

    def noise(size: float) -> AdditiveNoise:
        return kind(domain, round_up(size), missing=channel.missing, outside=channel.outside)

    smallest = getattr(channel, "size_of_noise", domain.width * 1e-3)
    return noise, smallest, WIDEST * domain.width


def _square_waves(channel: Channel) -> tuple[Callable[[float], Channel], float, float]:
    """Square waves by −ln γ, so that a larger number is more noise."""
    domain = channel.domain
    assert isinstance(domain, Interval)
    largest = channel.gamma if math.isfinite(channel.gamma) else 1e6

    def wave(size: float) -> Channel:
        gamma = max(round_down(math.exp(-size)), LEAST_GAMMA)
        return SquareWave(domain, gamma, missing=channel.missing, outside=channel.outside)

    return wave, -math.log(largest), -math.log(LEAST_GAMMA)


def _least(family: tuple[Callable[[float], Channel], float, float], goal: WidthTarget, reached: Reached) -> Channel:
    make, low, high = family
    most = reached(make(high))
    if most < goal.width:
        raise ValueError(
            f"target {goal.attribute}: {goal.width:g} at {goal.confidence:g} cannot be met: with any noise the "
            f"people's own spread and other answers place it within {most:.4g}; ask for less, or blur what it goes with"
        )
    while abs(high - low) > 1e-3 * max(abs(high), abs(low), 1e-3):
        middle = math.sqrt(low * high) if low > 0 else (low + high) / 2
        low, high = (low, middle) if reached(make(middle)) >= goal.width else (middle, high)
    return make(high)


def round_down(number: float) -> float:
    """Four digits, never above."""
    scale = 10.0 ** (DIGITS - 1 - math.floor(math.log10(number)))
    return math.floor(number * scale * (1 - 1e-9)) / scale


def round_up(number: float) -> float:
    """Four digits, never below."""
    scale = 10.0 ** (DIGITS - 1 - math.floor(math.log10(number)))
    return math.ceil(number * scale * (1 - 1e-12)) / scale
