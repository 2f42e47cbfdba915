"""Counts become an Estimate: the distribution of the true values, with its error."""

from sfumato.reconstruction.axes import Axis, ColumnCells
from sfumato.reconstruction.compare import Difference, combine, difference, two_sided
from sfumato.reconstruction.em import DenseTable, Likelihood, ProductTable, Table, maximise_likelihood
from sfumato.reconstruction.estimate import Diagnostics, Estimate, WithError
from sfumato.reconstruction.joint import JointEstimate, reconstruct_joint
from sfumato.reconstruction.means import mean, mean_error, unbiased_numbers
from sfumato.reconstruction.methods import left_inverse
from sfumato.reconstruction.reconstruct import (
    INTERVALS,
    estimate_of,
    intervals_for,
    intervals_told,
    reconstruct,
    reconstruct_plan,
    shares,
)
from sfumato.reconstruction.rules import (
    CONVERGED,
    ENOUGH,
    Anderson,
    ChiSquare,
    LikelihoodGain,
    OverRelaxed,
    Steps,
)

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
    # what learners build on: cells, tables, the one EM
    "Axis",
    "ColumnCells",
    "Table",
    "DenseTable",
    "ProductTable",
    "maximise_likelihood",
    "Likelihood",
    "Anderson",
    "OverRelaxed",
    "ChiSquare",
    "LikelihoodGain",
    "Steps",
    "CONVERGED",
    "ENOUGH",
]
