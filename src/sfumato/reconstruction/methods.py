"""The four ways from a problem to its solutions, one a class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.domain import Floats
from sfumato.reconstruction.acceleration import Plain
from sfumato.reconstruction.as00 import midpoint_kernel
from sfumato.reconstruction.diagnosis import messages_for
from sfumato.reconstruction.em import EMFit, maximise_likelihood
from sfumato.reconstruction.fisher import fisher_spread
from sfumato.reconstruction.inverse import unbiased
from sfumato.reconstruction.operators import DenseTable, Table
from sfumato.reconstruction.problem import Problem, stack
from sfumato.reconstruction.stopping import CONVERGED, ENOUGH, ChiSquare


@dataclass(frozen=True)
class Solution:
    """Probabilities of the wanted intervals or categories, their covariance, and how they were found."""

    probabilities: Floats
    covariance: Floats
    log_likelihood: float
    degrees_of_freedom: float
    iterations: int = 0
    table_applications: int = 0
    messages: tuple[str, ...] = ()


def by_em(problem: Problem) -> list[Solution]:
    """Maximum likelihood: to the end for categories, until nothing but noise is left to gain for numbers."""
    fit = maximise_likelihood(problem.table, problem.counts, stop=CONVERGED if problem.layout is None else ENOUGH)
    return _solutions(fit, problem.table, problem.counts, problem.membership, exact=True)


def by_as00(problem: Problem) -> list[Solution]:
    """Equation 3 as the paper has it: midpoint kernel on the wanted intervals, χ² stop."""
    table, counts = _as00_view(problem)
    fit = maximise_likelihood(table, counts, stop=ChiSquare(), acceleration=Plain())
    return _solutions(fit, table, counts, None, exact=False)


def by_inverse(problem: Problem) -> list[Solution]:
    """Unbiased shares of categories; single ones may be negative."""
    if problem.layout is not None:
        raise ValueError("method='inverse' is for categories; use 'smooth' or 'em' for numbers")
    table = problem.table.dense()
    rows = [tally.channel.outputs.size for tally in problem.tallies]
    solutions = []
    for counts in problem.counts:
        p, covariance = unbiased(table, counts, rows)
        predicted = np.maximum(table @ p, 1e-300)
        likelihood = float(counts @ np.log(predicted))
        freedom = float(p.size - 1)
        said = messages_for(counts, predicted, freedom, np.sqrt(np.diag(covariance)), True)
        solutions.append(Solution(p, covariance, likelihood, freedom, messages=said))
    return solutions


def by_smooth(problem: Problem) -> list[Solution]:
    """A fine grid, as smooth as the data say, with people at exactly one value allowed for; categories: by_em."""
    if problem.layout is None:
        return by_em(problem)
    from sfumato.reconstruction.smooth import smooth

    table, membership = problem.table.dense(), problem.layout.membership
    points, points_membership = problem.points()
    solutions = []
    for counts in problem.counts:
        fit = smooth(counts, table, points, membership, points_membership, np.diff(problem.layout.cells))
        predicted = table @ fit.density + sum(mass * points[:, place] for place, mass in fit.atoms)
        likelihood = float(counts @ np.log(np.maximum(predicted, 1e-300)))
        solutions.append(
            Solution(fit.probabilities, fit.covariance, likelihood, fit.degrees_of_freedom, messages=fit.messages)
        )
    return solutions


METHODS: dict[str, Callable[[Problem], list[Solution]]] = {
    "smooth": by_smooth,
    "em": by_em,
    "as00": by_as00,
    "inverse": by_inverse,
}


def _as00_view(problem: Problem) -> tuple[Table, Floats]:
    """The midpoint kernels of all levels, and the counts of their report intervals."""
    if problem.layout is None:
        return problem.table, problem.counts
    kernels: list[Table] = []
    counts = []
    for tally in problem.tallies:
        edges, kernel = midpoint_kernel(tally.channel, problem.layout.edges)
        cells = tally.channel.cells_of_codes(edges - 1e-9 * np.diff(edges).min())  # a report on an edge lies above it
        part = np.zeros((tally.histogram.shape[0], kernel.shape[0]))
        np.add.at(part.T, cells, tally.histogram.T)
        possible = kernel.any(axis=1)
        total = np.maximum(kernel.sum(axis=0), 1e-300).mean()  # Equation 3 does not see a constant factor; errors do
        kernels.append(DenseTable(kernel[possible] / total))
        counts.append(part[:, possible])
    return stack(kernels, problem.shares), np.hstack(counts)


def _solutions(fit: EMFit, table: Table, counts: Floats, membership: Floats | None, *, exact: bool) -> list[Solution]:
    """Error bars and messages around every fit; a fit through an inexact table says nothing about the channel."""
    dense = table.dense()
    solutions = []
    for row, p in enumerate(fit.probabilities):
        spread = fisher_spread(dense, p, float(counts[row].sum()), membership)
        stderr = np.sqrt(np.maximum(np.diag(spread.covariance), 0.0))
        predicted = dense @ p if exact else None
        said = messages_for(counts[row], predicted, spread.degrees_of_freedom, stderr, fit.converged)
        solutions.append(
            Solution(
                p if membership is None else membership @ p,
                spread.covariance,
                float(fit.log_likelihood[row]),
                spread.degrees_of_freedom,
                fit.iterations,
                fit.applications,
                said,
            )
        )
    return solutions
