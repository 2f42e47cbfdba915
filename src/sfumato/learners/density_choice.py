"""Which density a column's reports ask for within classes: the normal one, or cells, and how far EM goes for those.

EM starts every class at the distribution of all classes together, so that few steps leave classes nearly alike and
many tell them apart. Judged through the channel on people who were left out, which needs counts by fold only:

    Σ_y Σ_s N_held(s, y) · log (C θ_y)(s),    θ_y the normal density by moments in cells, or EM's after so many steps.

The choice is the simplest within one standard error of the best: the normal one, then the fewest steps. Naive Bayes
adds up what columns say as if none said it twice; densities as sharp as the likelihood allows would overdo it further.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr

from sfumato.domain import Floats
from sfumato.evidence import WITHIN_CLASSES, ColumnCells, DenseTable, Evidence, Steps, maximise_likelihood

STEPS = (0, 1, 2, 4, 8, 16, 32, 64, 128)
TINY = 1e-30


def in_cells(counts: Floats, cells: ColumnCells) -> Floats:
    """Counts of codes, [.., code, class], as counts of report cells, [.., class, cell]."""
    belongs = np.eye(cells.reported)[:, cells.cell_of_code]
    return np.swapaxes(belongs @ counts, -1, -2)


def normal_in_cells(mean: Floats, variance: Floats, cells: ColumnCells) -> Floats:
    """P(cell | y) of normal values, the end cells open."""
    assert cells.edges is not None
    below = ndtr((cells.edges[1:-1] - mean[..., None]) / np.sqrt(variance)[..., None])
    return np.asarray(np.diff(below, axis=-1, prepend=0.0, append=1.0))


def after_steps(counts: Floats, cells: ColumnCells) -> Iterator[tuple[int, Floats]]:
    """(steps, P(cell | y)) along EM's way from all classes together, for counts[.., class, report cell]."""
    together = within_classes(cells, counts.sum(axis=-2)).reshape(*counts.shape[:-2], 1, cells.size)
    evidence = Evidence.of_counts(DenseTable(cells.table), counts)
    p, done = np.broadcast_to(together, (*counts.shape[:-1], cells.size)), 0
    for steps in STEPS:
        fit = maximise_likelihood(evidence, start=np.maximum(p, TINY), stop=Steps(steps - done))
        p, done = fit.probabilities.reshape(p.shape), steps
        yield steps, p


def within_classes(cells: ColumnCells, counts: Floats) -> Floats:
    """Return P(cell | class) of every class, by EM on its counts[class, report cell]."""
    evidence = Evidence.of_counts(DenseTable(cells.table, np.float32), counts)
    return maximise_likelihood(evidence, stop=WITHIN_CLASSES).probabilities.astype(float)


def steps_wanted(held: Floats, squares: Floats, normals: Floats, cells: ColumnCells) -> int | None:
    """How many steps of EM the people left out ask for, None where they ask for no more than normal densities.

    ``held[fold, y, s]`` counts the people of each fold, ``squares`` their squared weights, and ``normals[fold, y, t]``
    are fitted on the others.
    """
    fitted = np.maximum(held.sum(axis=0) - held, 0.0)
    candidates = [(None, normals), *after_steps(fitted, cells)]
    logs = [np.log(np.maximum(p @ cells.table.T, TINY)) for _, p in candidates]
    best = logs[int(np.argmax([np.sum(held * each) for each in logs]))]
    for (steps, _), each in zip(candidates, logs, strict=True):
        lost = best - each
        mean = np.sum(held * lost) / np.maximum(held.sum(), TINY)
        if np.sum(held * lost) <= np.sqrt(np.sum(squares * (lost - mean) ** 2)):
            return steps
    raise AssertionError("the best loses nothing")
