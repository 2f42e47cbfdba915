"""Which learner, or which blend of them, serves best: told from reports alone."""

from sfumato.mining.chooser.classifier import Chooser, estimated_accuracy
from sfumato.mining.chooser.judging import FLOOR
from sfumato.mining.chooser.recipes import densities, direct, readable, reconstructing

__all__ = ["FLOOR", "Chooser", "densities", "direct", "estimated_accuracy", "readable", "reconstructing"]
