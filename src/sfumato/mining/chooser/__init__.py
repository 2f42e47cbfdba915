"""Which learner, or which blend of them, serves best: told from reports alone."""

from sfumato.mining.chooser.classifier import Chooser
from sfumato.mining.chooser.judging import Judge
from sfumato.mining.chooser.recipes import direct, readable, reconstructing

__all__ = ["Chooser", "Judge", "direct", "readable", "reconstructing"]
