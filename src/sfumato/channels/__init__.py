"""Channels: the mechanisms that turn a person's value into a report whose chances are known, one a file."""

from sfumato.channels.additive import AdditiveNoise, CorrelatedNoise, Gaussian, Laplace, Uniform
from sfumato.channels.base import Channel, channel_from_spec
from sfumato.channels.baskets import SelectASize
from sfumato.channels.bounded import Piecewise, RandomizedResponse, SquareWave, SubsetResponse
from sfumato.channels.chain import Chain
from sfumato.channels.choice import Choice
from sfumato.channels.clear import Clear
from sfumato.channels.discretize import Discretize
from sfumato.channels.longitudinal import Longitudinal
from sfumato.channels.mechanism import Mechanism, mechanism_from_spec
from sfumato.channels.tabulated import Tabulated
from sfumato.channels.two_phase import Blur, TwoPhase

__all__ = [
    "AdditiveNoise", "Blur", "Chain", "Channel", "Choice", "Clear", "CorrelatedNoise", "Discretize", "Gaussian",
    "Laplace", "Longitudinal", "Mechanism", "Piecewise", "RandomizedResponse", "SelectASize", "SquareWave",
    "SubsetResponse", "Tabulated", "TwoPhase", "Uniform", "channel_from_spec", "mechanism_from_spec",
]
