"""The folds of people who are held out, and the loss of a model on people to whom it was not fitted.

A model predicts P(y' | s), the chance of the reported class y' given the other reports s, for every report cell. Its
loss is −log P(y' | s); two models are compared by their mean difference over held-out people, with its standard error.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.counts import Fold
from sfumato.domain import Floats
from sfumato.evidence.observed import Evidence
from sfumato.evidence.tables import Array

THIRDS = tuple(Fold(third, 3, salt=1) for third in range(3))
"""Three folds: on the first, columns are chosen; on each in turn it is judged whether a rule, an average or a grid
predicts classes best. By judgement: a larger part held out leaves less to fit, a smaller one judges by chance."""
FIFTH = Fold(0, 5)
"""The fold on which the number of EM steps of a grid is judged; its size by judgement, as for THIRDS."""
HALF = Fold(0, 2)
"""The fold that judges the number of EM steps of a density that is the same for all classes; its size by judgement."""
TENTH = Fold(0, 10, salt=3)
"""The fold that judges when the EM of a mixture of products stops; small, by judgement, because the fit loses it."""
PAIR_SALT = 2
"""The salt of the folds on which pairs of columns are judged; any number that no other fold here has."""

LEAST_PEOPLE = 1e-12
"""People over whom a mean is taken where nobody is held out, so that it is 0 and not NaN."""
LEAST_SQUARE = 1e-300
"""The least sum of squares, whose root is the error where all people gain the same, so that it is not 0."""


def label_loss(evidence: Evidence, joint: Array) -> Array:
    """Return the loss −log P(y' | s) in every report cell, by a joint distribution that was fitted to this evidence:

        P(y' | s) = (n · M(y', s)/M(s) + P(y')) / (n + 1),      M the predicted reports, n the people

    P(y') is mixed in as if by one more person: where noise is bounded a report can exclude a rare class, and a single
    held-out person of that class would otherwise cost as much as hundreds of others gain.

    joint: P(y, t), flat or not.
    """
    people = evidence.total
    expected = predicted_cells(evidence, joint).astype(np.float64)
    shares = expected.reshape(-1, expected.shape[-1]).sum(axis=0)
    given = expected / expected.sum(axis=-1, keepdims=True)
    return np.asarray(-np.log((people * given + shares / shares.sum()) / (people + 1)))


def predicted_cells(evidence: Evidence, joint: npt.NDArray[np.floating]) -> Array:
    """Return the distribution of reports that a joint distribution predicts, one axis a column, the class last."""
    return evidence.predict(joint.reshape(1, -1)).reshape(evidence.product.report_shape)


def mean_and_z(held_out: Evidence, gains: Floats | Array) -> tuple[float, float]:
    """Return the mean gain over held-out people, and that mean divided by its standard error.

    held_out: the evidence of the held-out people. gains: the gain of a person in each report cell.
    """
    counts, squares = held_out.in_cells, held_out.squares.reshape(held_out.in_cells.shape)
    filled = counts > 0
    values, people = gains[filled].astype(np.float64), counts[filled].astype(np.float64)
    total = max(float(people.sum()), LEAST_PEOPLE)
    mean = float(people @ values) / total
    square = float(squares[filled].astype(np.float64) @ (values - mean) ** 2)
    return mean, mean / (np.sqrt(max(square, LEAST_SQUARE)) / total)
