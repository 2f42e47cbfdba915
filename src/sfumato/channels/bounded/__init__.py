"""Channels whose γ is asked for: the truth, or what is near it, γ times as likely as anything else."""

from sfumato.channels.bounded.balanced import Balanced
from sfumato.channels.bounded.piecewise import FEW, Piecewise, best_window
from sfumato.channels.bounded.subsets import SubsetResponse, sets_serve_better
from sfumato.channels.bounded.window import RandomizedResponse, SquareWave

__all__ = [
    "FEW", "Balanced", "Piecewise", "RandomizedResponse", "SquareWave", "SubsetResponse", "best_window",
    "sets_serve_better",
]
