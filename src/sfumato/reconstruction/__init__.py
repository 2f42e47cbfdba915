"""Counts become an Estimate: the distribution of the true values, with its error."""

from sfumato.reconstruction.acceleration import Anderson, OverRelaxed, Plain
from sfumato.reconstruction.axes import Axis, ColumnCells
from sfumato.reconstruction.em import (
    CONVERGED,
    ENOUGH,
    ChiSquare,
    Likelihood,
    LikelihoodGain,
    Steps,
    em_step,
    maximise_likelihood,
)
from sfumato.reconstruction.estimate import Diagnostics, Estimate
from sfumato.reconstruction.joint import JointEstimate, reconstruct_joint
from sfumato.reconstruction.reconstruct import reconstruct, reconstruct_plan
from sfumato.reconstruction.tables import DenseTable, ProductTable, Table

__all__ = [
    "Diagnostics",
    "Estimate",
    "JointEstimate",
    "reconstruct",
    "reconstruct_joint",
    "reconstruct_plan",
    # what learners build on: cells, tables, the one EM
    "Axis",
    "ColumnCells",
    "Table",
    "DenseTable",
    "ProductTable",
    "maximise_likelihood",
    "em_step",
    "Likelihood",
    "Anderson",
    "OverRelaxed",
    "Plain",
    "ChiSquare",
    "LikelihoodGain",
    "Steps",
    "CONVERGED",
    "ENOUGH",
]
