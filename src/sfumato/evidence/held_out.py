"""Who is held out when, and how a model is judged on people whom it did not see.

A model says P(y' | s), the chance of the reported class y' given the other reports s, for every report cell. Its loss
is −log P(y' | s); two models are compared by their mean difference over the held-out people, with its standard error.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.counts import Fold
from sfumato.domain import Floats
from sfumato.evidence.observed import Evidence
from sfumato.evidence.tables import Array

THIRDS = tuple(Fold(third, 3, salt=1) for third in range(3))
"""Which columns tell about the class is judged on the first third; whether a rule, an average or a grid foretells
classes best, on each third in turn."""
FIFTH = Fold(0, 5)
"""How many steps of EM a grid takes is judged on these."""
HALF = Fold(0, 2)
"""How many steps of EM a density takes that is the same for all classes: one half judges the other."""
TENTH = Fold(0, 10, salt=3)
"""When the EM of a mixture of products stops. Few, because they are lost to the fit."""
PAIR_SALT = 2
"""Of the folds on which pairs of columns are judged, whose number depends on the size of the sample."""

LEAST_PEOPLE = 1e-12  # where nobody is held out, means are taken over this many people instead of none
LEAST_SQUARE = 1e-300  # where all gain the same, the error is the root of this instead of zero


def label_loss(evidence: Evidence, joint: Array) -> Array:
    """Return −log P(y' | s) in every report cell, by a joint distribution that was fitted to this evidence:

        P(y' | s) = (n · M(y', s)/M(s) + P(y')) / (n + 1),      M the predicted reports, n the people

    One more person may have any class. Where noise is bounded a report can exclude a class that few people have; a
    single held-out person of it would cost as much as hundreds of others gain.
    """
    people = evidence.total
    expected = predicted_cells(evidence, joint).astype(np.float64)
    shares = expected.reshape(-1, expected.shape[-1]).sum(axis=0)
    given = expected / expected.sum(axis=-1, keepdims=True)
    return np.asarray(-np.log((people * given + shares / shares.sum()) / (people + 1)))


def predicted_cells(evidence: Evidence, joint: npt.NDArray[np.floating]) -> Array:
    """Return the distribution of reports that a joint distribution predicts, one axis a column, the class last."""
    return evidence.predict(joint.reshape(1, -1)).reshape(evidence.product.report_shape)


def mean_and_z(held: Evidence, gains: Floats | Array) -> tuple[float, float]:
    """Return the mean over people of what every report cell gains, and that mean in standard errors.

    held: the people over whom the mean is taken. gains: one number for each of its report cells.
    """
    counts, squares = held.in_cells, held.squares.reshape(held.in_cells.shape)
    filled = counts > 0
    values, people = gains[filled].astype(np.float64), counts[filled].astype(np.float64)
    total = max(float(people.sum()), LEAST_PEOPLE)
    mean = float(people @ values) / total
    square = float(squares[filled].astype(np.float64) @ (values - mean) ** 2)
    return mean, mean / (np.sqrt(max(square, LEAST_SQUARE)) / total)
