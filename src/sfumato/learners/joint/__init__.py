"""The joint distribution of class and true values, fitted on reports: a grid, or a mixture of products."""

from sfumato.learners.joint.model import JointModel

__all__ = ["JointModel"]
