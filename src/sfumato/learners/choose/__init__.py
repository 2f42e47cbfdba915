"""Which learners serve best: told from reports alone."""

from sfumato.learners.choose.classifier import Chooser, estimated_accuracy
from sfumato.learners.choose.recipes import densities, direct, readable, reconstructing

__all__ = ["Chooser", "densities", "direct", "estimated_accuracy", "readable", "reconstructing"]
