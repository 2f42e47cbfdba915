"""Counts become an Estimate: the distribution of the true values, with its error."""

from sfumato.reconstruction.compare import Difference, combine, difference, two_sided
from sfumato.reconstruction.estimate import Diagnostics, Estimate, WithError
from sfumato.reconstruction.joint import JointEstimate, reconstruct_joint
from sfumato.reconstruction.means import mean, mean_error, unbiased_numbers
from sfumato.reconstruction.reconstruct import (
    INTERVALS,
    estimate_of,
    intervals_for,
    intervals_told,
    reconstruct,
    reconstruct_plan,
    shares,
)
from sfumato.reconstruction.unbiased import left_inverse

__all__ = [
    "Diagnostics",
    "Estimate",
    "WithError",
    "JointEstimate",
    "mean",
    "Difference",
    "difference",
    "combine",
    "reconstruct",
    "reconstruct_joint",
    "reconstruct_plan",
    # one attribute of a plan, and values held against its estimate
    "INTERVALS",
    "estimate_of",
    "intervals_for",
    "intervals_told",
    "shares",
    "mean_error",
    # what regression builds on: numbers and indicators without bias
    "unbiased_numbers",
    "left_inverse",
    "two_sided",
]
