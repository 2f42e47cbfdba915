"""The reconstruction methods: one function from a request to estimates for each name of ``method=``.

smooth    the average of smooth densities, by how well each explains the reports (`density`)
em        maximum likelihood
as00      Agrawal & Srikant's own recipe (`as00`)
inverse   the unbiased estimate of category shares by the table's left inverse (`unbiased`),
              p̂ = B f,   f the shares of reports,   B A = I,
          so E p̂ = p exactly, whatever p is; shares may come out below 0 or above 1, and they sum to 1
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
"""Reports that are expected together, at least, in a run of cells whose mean weight is compared with the others'. By
judgement: with fewer, chance decides which run weighs more; with more, weights that go with the answers are averaged
out."""


def by_em(request: Request) -> list[Estimate]:
    """Return the estimates of maximum likelihood: by EM to convergence for categories, for numbers until a step gains
    no more than noise."""
    fit = maximise_likelihood(request.evidence, stop=CONVERGED if request.layout is None else ENOUGH)
    return _with_errors(request, fit, request.membership, exact=True)


def by_as00(request: Request) -> list[Estimate]:
    """Return the estimates of AS00's Equation 3, with the midpoint kernel on the wanted intervals and their χ² stop."""
    fit = maximise_likelihood(midpoint_evidence(request), stop=ChiSquare())
    return _with_errors(request, fit, None, exact=False)


def by_inverse(request: Request) -> list[Estimate]:
    """Return the estimates of unbiased shares of categories, which may be negative; raise ValueError for numbers."""
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
    """Return the estimates that average smooth densities, with people at single values and round numbers (`density`).

    For categories they are those of `by_em`, with the unbiased shares added for sums, because maximum likelihood takes
    from the frequent categories what it adds to rare ones.
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
        predicted = table @ fit.density + sum(mass * points[:, index] for index, mass in fit.atoms)
        likelihood = float(counts @ np.log(np.maximum(predicted, 1e-300)))
        estimate = request.estimate(
            row, predicted, fit.probabilities, fit.covariance, likelihood, fit.degrees_of_freedom, fit.messages,
            cannot_tell=fit.cannot_tell,
        )
        fine = _fine(fit, merged.starts, layout.cells, values, roundings.multiples)
        estimates.append(replace(estimate, fine=fine))
    return estimates


def _with_sums(request: Request, estimates: list[Estimate]) -> list[Estimate]:
    """Return estimates of categories with unbiased shares and their covariance, where the table has a left inverse."""
    try:
        sums = _unbiased_shares(request)
    except ValueError:
        return estimates
    return [
        replace(estimate, unbiased=shares, covariance=covariance)
        for estimate, (shares, covariance) in zip(estimates, sums, strict=True)
    ]


def _unbiased_shares(request: Request) -> list[tuple[Floats, Floats]]:
    """Return (unbiased shares, their covariance) of each class."""
    evidence, rows = request.evidence, [tally.channel.outputs.size for tally in request.tallies]
    inverse = left_inverse(evidence.table.dense())
    return [
        unbiased(inverse, counts, rows, squares if request.weighted else None)
        for counts, squares in zip(evidence.counts, evidence.squares, strict=True)
    ]


def _fine(
    fit: SmoothFit, starts: Codes, cells: Floats, values: Floats, multiples: tuple[float, ...]
) -> Fine | None:
    """Return the `Fine` distribution behind the intervals from a smooth fit; None for reports without noise.

    starts: the first fine cell of each cell that was solved. cells: edges of the fine cells. values: the candidate
    values of atoms. multiples: those that people may round to.
    """
    if fit.root is None:
        return None
    edges = np.append(cells[starts], cells[-1])
    atoms = tuple((float(values[index]), mass) for index, mass in fit.atoms)
    unseen = () if fit.unseen_rounding is None else zip(multiples, fit.unseen_rounding.tolist(), strict=True)
    return Fine(edges, np.add.reduceat(fit.density, starts), atoms, fit.root, tuple(unseen))


METHODS: dict[str, Callable[[Request], list[Estimate]]] = {
    "smooth": by_smooth,
    "em": by_em,
    "as00": by_as00,
    "inverse": by_inverse,
}
"""The function of each reconstruction method, by the name that ``method=`` takes."""


def _with_errors(request: Request, fit: EMFit, membership: Floats | None, *, exact: bool) -> list[Estimate]:
    """Return the estimates of EM's fits, with Fisher's errors and warnings.

    membership: sums true cells to intervals; None where they are the same. exact: whether the fits' table is the
    channel's own; through another one reports are not tested against their channel.
    """
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
    """Return the correction of the covariance C of p for weights that differ between report cells.

    A report in cell s moves the estimate by C Aᵀ diag(1/π), π = A p the shares of reports. Where the squared weights of
    a cell are h_s times those of all reports, its count has variance n·h_s·π_s instead of n·π_s, which adds
        S diag(n·(h − 1)/π) Sᵀ,   S = C Aᵀ.
    h is taken from runs of RUN_WEIGHED reports, because that of a single report is mostly chance.

    table: A. counts, squares: reports and summed squared weights of each report cell, in effective reports.
    membership: sums true cells to intervals; None where they are the same.
    """
    reports, expected = float(counts.sum()), np.maximum(table @ p, 1e-300)
    moved = fisher_spread(table, p, reports).covariance @ table.T
    moved = moved if membership is None else membership @ moved
    run = runs_of_cells(reports * expected, RUN_WEIGHED)
    heavier = np.bincount(run, squares) / np.maximum(np.bincount(run, counts), 1e-300)
    return np.asarray(moved * (reports * (heavier[run] - 1) / expected) @ moved.T)
