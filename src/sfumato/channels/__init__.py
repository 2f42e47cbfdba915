"""On the device: a person's value becomes a report with a known law."""

from sfumato.channels.additive import Gaussian, Laplace, Uniform
from sfumato.channels.base import Channel, channel_from_spec
from sfumato.channels.baskets import SelectASize
from sfumato.channels.chain import Chain
from sfumato.channels.choice import Choice, choice_from_spec
from sfumato.channels.discretize import Discretize
from sfumato.channels.randomized_response import RandomizedResponse
from sfumato.channels.square_wave import SquareWave
from sfumato.channels.tabulated import Tabulated
from sfumato.channels.two_phase import TwoPhase

__all__ = [
    "Chain",
    "Channel",
    "Choice",
    "Discretize",
    "Gaussian",
    "Laplace",
    "RandomizedResponse",
    "SelectASize",
    "SquareWave",
    "Tabulated",
    "TwoPhase",
    "Uniform",
    "channel_from_spec",
    "choice_from_spec",
]
