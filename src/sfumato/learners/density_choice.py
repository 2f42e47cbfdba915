"""Choose the density of a column within classes: normal, or free in cells after some number of EM steps.

EM starts every class at the distribution of all classes together, so that few steps leave classes nearly alike and
many tell them apart. Each candidate θ is judged through the channel's table C on people who were left out, by counts of
folds only:

    Σ_y Σ_s N_held(s, y) · log (C θ_y)(s),    θ_y the normal density by moments in cells, or EM's after so many steps.

The choice is the simplest candidate within one standard error of the best; the normal density is simpler than cells,
and fewer steps are simpler than more. Naive Bayes adds up what columns say as if none repeated another; densities as
sharp as the likelihood allows would exaggerate it further.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr

from sfumato.domain import Floats
from sfumato.evidence import WITHIN_CLASSES, ColumnCells, DenseTable, Evidence, Steps, maximise_likelihood
from sfumato.evidence.observed import LEAST_SINGLE

STEPS = (0, 1, 2, 4, 8, 16, 32, 64, 128)
"""EM steps after which densities in cells are judged. By judgement: doubled each time, because every further step
changes less; a longer list costs time, a shorter one leaves classes more alike than many reports say they are."""


def count_in_cells(counts: Floats, cells: ColumnCells) -> Floats:
    """Sum counts of report codes, [.., code, class], to counts of report cells, [.., class, cell]."""
    belongs = np.eye(cells.reported)[:, cells.cell_of_code]
    return np.swapaxes(belongs @ counts, -1, -2)


def normal_in_cells(mean: Floats, variance: Floats, cells: ColumnCells) -> Floats:
    """Return P(cell | class) of normal values with these means and variances; the first and last cell are open."""
    assert cells.edges is not None
    below = ndtr((cells.edges[1:-1] - mean[..., None]) / np.sqrt(variance)[..., None])
    return np.asarray(np.diff(below, axis=-1, prepend=0.0, append=1.0))


def densities_after_steps(counts: Floats, cells: ColumnCells) -> Iterator[tuple[int, Floats]]:
    """Yield (steps, P(cell | class)) after each number of EM steps in `STEPS`.

    EM starts at the distribution of all classes together. counts: [.., class, report cell].
    """
    together = fit_within_classes(cells, counts.sum(axis=-2)).reshape(*counts.shape[:-2], 1, cells.size)
    evidence = Evidence.of_counts(DenseTable(cells.table), counts)
    p, done = np.broadcast_to(together, (*counts.shape[:-1], cells.size)), 0
    for steps in STEPS:
        fit = maximise_likelihood(evidence, start=np.maximum(p, LEAST_SINGLE), stop=Steps(steps - done))
        p, done = fit.probabilities.reshape(p.shape), steps
        yield steps, p


def fit_within_classes(cells: ColumnCells, counts: Floats) -> Floats:
    """Return P(cell | class) of every class, by EM on its counts[class, report cell]."""
    evidence = Evidence.of_counts(DenseTable(cells.table, np.float32), counts)
    return maximise_likelihood(evidence, stop=WITHIN_CLASSES).probabilities.astype(float)


def choose_steps(held_out: Floats, squares: Floats, normals: Floats, cells: ColumnCells) -> int | None:
    """Return the number of EM steps by which held-out people are predicted best; None: normal densities do as well.

    held_out: [fold, class, report cell], the people of each fold. squares: the sums of their squared weights.
    normals: [fold, class, true cell], normal densities fitted to the people of the other folds.
    """
    fitted = np.maximum(held_out.sum(axis=0) - held_out, 0.0)
    candidates = [(None, normals), *densities_after_steps(fitted, cells)]
    logs = [np.log(np.maximum(p @ cells.table.T, LEAST_SINGLE)) for _, p in candidates]
    best = logs[int(np.argmax([np.sum(held_out * log) for log in logs]))]
    for (steps, _), log in zip(candidates, logs, strict=True):
        lost = best - log
        mean = np.sum(held_out * lost) / np.maximum(held_out.sum(), LEAST_SINGLE)
        if np.sum(held_out * lost) <= np.sqrt(np.sum(squares * (lost - mean) ** 2)):
            return steps
    raise AssertionError("the best candidate loses nothing against itself")
