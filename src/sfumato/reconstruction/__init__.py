"""Counts become an Estimate: the distribution of the true values, with its error."""

from sfumato.reconstruction.estimate import Diagnostics, Estimate
from sfumato.reconstruction.joint import JointEstimate, reconstruct_joint
from sfumato.reconstruction.reconstruct import reconstruct

__all__ = ["Diagnostics", "Estimate", "JointEstimate", "reconstruct", "reconstruct_joint"]
