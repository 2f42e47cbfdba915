"""The joint distribution of class and true values, fitted on reports: a grid, or a mixture of products."""

from sfumato.mining.joint.model import JointModel, MixtureModel

__all__ = ["JointModel", "MixtureModel"]
