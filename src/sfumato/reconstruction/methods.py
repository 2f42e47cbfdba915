"""The ways to solve a request: a function for each name of ``method=``.

smooth    the average of smooth densities, by how well each explains the reports (`density`)
em        maximum likelihood
as00      Agrawal & Srikant's own recipe (`as00`)
inverse   the unbiased estimate of category shares: undo the table,
              p̂ = B f,   f the shares of reports,   B A = 1,
          so E p̂ = p exactly, whatever p is; single shares may come out below 0 or above 1, and they sum to 1. For a
          square table B is its inverse; otherwise B = (AᵀWA)⁻¹AᵀW, W = 1/(A·uniform), which does not look at the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sfumato.domain import Floats
from sfumato.evidence import CONVERGED, ENOUGH, ChiSquare, EMFit, maximise_likelihood
from sfumato.reconstruction.as00 import midpoint_evidence
from sfumato.reconstruction.density import Candidates, SmoothFit, smooth_merged
from sfumato.reconstruction.density.fit import Codes
from sfumato.reconstruction.diagnosis import fisher_spread, messages_for
from sfumato.reconstruction.estimate import Estimate, Fine
from sfumato.reconstruction.layout import Roundings
from sfumato.reconstruction.misfit import runs_of_cells
from sfumato.reconstruction.request import Request
from sfumato.reconstruction.unbiased import left_inverse, unbiased

RUN_WEIGHED = 30.0
"""Reports whose weights are taken together to see how much more than others they weigh: of a few, chance decides."""


def by_em(request: Request) -> list[Estimate]:
    """Return maximum likelihood: to the end for categories, until nothing but noise is left to gain for numbers."""
    fit = maximise_likelihood(request.evidence, stop=CONVERGED if request.layout is None else ENOUGH)
    return _with_errors(request, fit, request.membership, exact=True)


def by_as00(request: Request) -> list[Estimate]:
    """Return what Equation 3 gives as the paper has it: midpoint kernel on the wanted intervals, χ² stop."""
    fit = maximise_likelihood(midpoint_evidence(request), stop=ChiSquare())
    return _with_errors(request, fit, None, exact=False)


def by_inverse(request: Request) -> list[Estimate]:
    """Return unbiased shares of categories; single ones may be negative."""
    if request.layout is not None:
        raise ValueError("method='inverse' is for categories; use 'smooth' or 'em' for numbers")
    table = request.evidence.table.dense()
    estimates = []
    for row, (p, covariance) in enumerate(_unbiased_shares(request)):
        counts = request.evidence.counts[row]
        predicted = np.maximum(table @ p, 1e-300)
        freedom = float(p.size - 1)
        messages = messages_for(counts, freedom, np.sqrt(np.diag(covariance)), True)
        likelihood = float(counts @ np.log(predicted))
        possible = table @ np.maximum(p, 0.0)
        estimates.append(request.estimate(row, possible, p, covariance, likelihood, freedom, messages))
    return estimates


def by_smooth(request: Request) -> list[Estimate]:
    """Return the average of smooth densities, with people at exactly one value allowed for.

    Categories: by_em, and sums from the unbiased shares, because maximum likelihood takes from the frequent what it
    lifts above zero.
    """
    layout = request.layout
    if layout is None:
        return _with_sums(request, by_em(request))
    table, (values, points) = request.evidence.table.dense(), request.points()
    roundings = layout.roundings(values) if values.size else Roundings()
    candidates = Candidates(points, layout.cell_of(values), roundings)
    estimates = []
    for row, counts in enumerate(request.evidence.counts):
        merged = smooth_merged(request.evidence.only(np.array([row])), candidates, layout.membership)
        fit = merged.fit
        predicted = table @ fit.density + sum(mass * points[:, place] for place, mass in fit.atoms)
        likelihood = float(counts @ np.log(np.maximum(predicted, 1e-300)))
        estimate = request.estimate(
            row, predicted, fit.probabilities, fit.covariance, likelihood, fit.degrees_of_freedom, fit.messages,
            cannot_tell=fit.cannot_tell,
        )
        fine = _fine(fit, merged.starts, layout.cells, values, roundings.multiples)
        estimates.append(replace(estimate, fine=fine))
    return estimates


def _with_sums(request: Request, estimates: list[Estimate]) -> list[Estimate]:
    """Add the unbiased shares, and their covariance, where the table tells all categories apart."""
    try:
        sums = _unbiased_shares(request)
    except ValueError:
        return estimates
    return [
        replace(estimate, unbiased=shares, covariance=covariance)
        for estimate, (shares, covariance) in zip(estimates, sums, strict=True)
    ]


def _unbiased_shares(request: Request) -> list[tuple[Floats, Floats]]:
    """Return (p̂, its covariance) of each class."""
    evidence, rows = request.evidence, [tally.channel.outputs.size for tally in request.tallies]
    undo = left_inverse(evidence.table.dense())
    return [
        unbiased(undo, counts, rows, squares if request.weighted else None)
        for counts, squares in zip(evidence.counts, evidence.squares, strict=True)
    ]


def _fine(
    fit: SmoothFit, starts: Codes, cells: Floats, values: Floats, multiples: tuple[float, ...]
) -> Fine | None:
    """Return the picture behind the intervals, on the cells it was solved on."""
    if fit.root is None:
        return None
    edges = np.append(cells[starts], cells[-1])
    atoms = tuple((float(values[place]), mass) for place, mass in fit.atoms)
    unseen = () if fit.unseen_rounding is None else zip(multiples, fit.unseen_rounding.tolist(), strict=True)
    return Fine(edges, np.add.reduceat(fit.density, starts), atoms, fit.root, tuple(unseen))


METHODS: dict[str, Callable[[Request], list[Estimate]]] = {
    "smooth": by_smooth,
    "em": by_em,
    "as00": by_as00,
    "inverse": by_inverse,
}


def _with_errors(request: Request, fit: EMFit, membership: Floats | None, *, exact: bool) -> list[Estimate]:
    """Put error bars and messages around every fit; one through an inexact table says nothing about the channel."""
    table, counts = fit.evidence.table.dense(), fit.evidence.counts
    estimates = []
    for row, p in enumerate(fit.probabilities):
        spread = fisher_spread(table, p, float(counts[row].sum()), membership)
        covariance, freedom = spread.covariance, spread.degrees_of_freedom
        if request.weighted and exact:
            covariance = covariance + by_weights(table, p, counts[row], fit.evidence.squares[row], membership)
        stderr = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        messages = messages_for(counts[row], freedom, stderr, fit.converged)
        predicted = table @ p if exact else np.ones(request.evidence.table.shape[0])
        shares = p if membership is None else membership @ p
        likelihood, cost = float(fit.log_likelihood[row]), (fit.iterations, fit.applications)
        estimates.append(request.estimate(row, predicted, shares, covariance, likelihood, freedom, messages, cost))
    return estimates


def by_weights(table: Floats, p: Floats, counts: Floats, squares: Floats, membership: Floats | None) -> Floats:
    """Return what weights that go with the reports add to the covariance C of p, or take off it.

    A report in cell s moves the estimate by C Aᵀ diag(1/π), π = A p the shares of reports. Where those of a cell weigh,
    in squares, h_s times as much as all do, their number varies by n·h_s·π_s instead of n·π_s, which adds
        S diag(n·(h − 1)/π) Sᵀ,   S = C Aᵀ.
    h is read off runs of cells, because of a single report it says little.
    """
    reports, expected = float(counts.sum()), np.maximum(table @ p, 1e-300)
    moved = fisher_spread(table, p, reports).covariance @ table.T
    moved = moved if membership is None else membership @ moved
    run = runs_of_cells(reports * expected, RUN_WEIGHED)
    heavier = np.bincount(run, squares) / np.maximum(np.bincount(run, counts), 1e-300)
    return np.asarray(moved * (reports * (heavier[run] - 1) / expected) @ moved.T)
