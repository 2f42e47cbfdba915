"""Choose among learners by the reports alone, and estimate their accuracy on true values."""

from sfumato.learners.choose.classifier import Chooser, estimated_accuracy
from sfumato.learners.choose.recipes import densities, direct, readable, reconstructing

__all__ = ["Chooser", "densities", "direct", "estimated_accuracy", "readable", "reconstructing"]
