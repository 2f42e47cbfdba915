"""Reconstruction: from counts of reports to the distribution of the true values, with its errors."""

from sfumato.reconstruction.compare import Difference, combine, difference, two_sided
from sfumato.reconstruction.estimate import Diagnostics, Estimate, WithError
from sfumato.reconstruction.joint import JointEstimate, reconstruct_joint
from sfumato.reconstruction.layout import INTERVALS
from sfumato.reconstruction.means import mean, mean_error, unbiased_numbers
from sfumato.reconstruction.reconstruct import (
    choose_intervals,
    estimate_of,
    intervals_for,
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
    # one attribute of a plan, and true values counted as its estimate has them
    "INTERVALS",
    "estimate_of",
    "intervals_for",
    "choose_intervals",
    "shares",
    "mean_error",
    # for regression: unbiased numbers and indicators of reports
    "unbiased_numbers",
    "left_inverse",
    "two_sided",
]
