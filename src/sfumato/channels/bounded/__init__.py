"""Channels that keep a bound γ: they report the truth, or what is near it, γ times as likely as anything else."""

from sfumato.channels.bounded.piecewise import Piecewise, best_window
from sfumato.channels.bounded.randomized_response import RandomizedResponse
from sfumato.channels.bounded.square_wave import SquareWave
from sfumato.channels.bounded.subset_response import SubsetResponse, sets_serve_better

__all__ = [
    "Piecewise", "RandomizedResponse", "SquareWave", "SubsetResponse", "best_window",
    "sets_serve_better",
]
