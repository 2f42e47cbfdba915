"""Evidence: counts of reports with the table through which they saw the true values, and fits of models to it.

    laws         report cells and table of a channel    em, stopping, acceleration   maximum likelihood by EM
    tables       P[report cell, true cell]              fisher                       Fisher scoring
    cells        columns cut into cells                 grids                        EM on several columns and the class
    resolution   how finely they are cut                held_out                     held-out people, losses on them
    observed     `Evidence`                             columns                      the choice of columns
"""

from sfumato.evidence.acceleration import Anderson, OverRelaxed
from sfumato.evidence.cells import Axis, ColumnCells
from sfumato.evidence.em import EMFit, maximise_likelihood, repeat
from sfumato.evidence.fisher import Expansion, JointFamily, JointPoint, climb, fit_family
from sfumato.evidence.observed import Evidence
from sfumato.evidence.resolution import Resolution
from sfumato.evidence.stopping import (
    CONVERGED,
    ENOUGH,
    WITHIN_CLASSES,
    ChiSquare,
    LikelihoodGain,
    StepRule,
    Steps,
)
from sfumato.evidence.tables import DenseTable, ProductTable, Table, stack

__all__ = [
    "Axis",
    "ColumnCells",
    "Resolution",
    "Table",
    "DenseTable",
    "ProductTable",
    "stack",
    "Evidence",
    # EM
    "maximise_likelihood",
    "EMFit",
    "repeat",
    "Anderson",
    "OverRelaxed",
    "LikelihoodGain",
    "StepRule",
    "ChiSquare",
    "Steps",
    "CONVERGED",
    "ENOUGH",
    "WITHIN_CLASSES",
    # Fisher scoring
    "climb",
    "fit_family",
    "JointFamily",
    "JointPoint",
    "Expansion",
]
