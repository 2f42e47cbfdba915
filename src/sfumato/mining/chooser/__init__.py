"""Which learners serve best: told from reports alone."""

from sfumato.mining.chooser.classifier import Chooser, estimated_accuracy
from sfumato.mining.chooser.recipes import densities, direct, readable, reconstructing

__all__ = ["Chooser", "densities", "direct", "estimated_accuracy", "readable", "reconstructing"]
