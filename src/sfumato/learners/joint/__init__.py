"""The joint distribution of class and true values, fitted to reports: a grid of cells, or a mixture of products."""

from sfumato.learners.joint.model import JointModel

__all__ = ["JointModel"]
