"""From counts to a problem (N reports per cell, one table, people of every level stacked): whether the reports fit
their channel at all, and the ways to solve it.

smooth    a fine grid, as smooth as the reports say
em        maximum likelihood
as00      Agrawal & Srikant's own recipe: Equation 3 with the midpoint kernel and the χ² stop,
              p'_t = (1/n) Σ_s N_s · f_Y(m_s − m_t)·p_t / Σ_u f_Y(m_s − m_u)·p_u,   m the midpoints of intervals.
          Report intervals have the same width and go on past the domain as far as the noise reaches, so every report is
          counted. The kernel is biased where the noise density jumps (uniform noise), and no amount of data mends that;
          it stays because the paper's results need it.
inverse   the unbiased estimate of category shares: undo the table,
              p̂ = B f,   f the shares of reports,   B A = 1,
          so E p̂ = p exactly, whatever p is; single shares may come out below 0 or above 1, and they sum to 1. For a
          square table B is its inverse; otherwise B = (AᵀWA)⁻¹AᵀW, W = 1/(A·uniform), which does not look at the data.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, xlogy

from sfumato.channels import Channel
from sfumato.channels.additive import AdditiveNoise
from sfumato.counts import Counts, Tally
from sfumato.domain import Categories, Floats, Grid, Interval
from sfumato.prose import in_words
from sfumato.reconstruction.cells import Layout, layout_for, observe, observe_points
from sfumato.reconstruction.diagnosis import fisher_spread, messages_for
from sfumato.reconstruction.em import DenseTable, EMFit, Likelihood, Table, maximise_likelihood, stack
from sfumato.reconstruction.estimate import Diagnostics, Estimate, Fine
from sfumato.reconstruction.rules import CONVERGED, ENOUGH, ChiSquare

if TYPE_CHECKING:
    from sfumato.reconstruction.smooth import SmoothFit

FALSE_ALARM = 1e-5
"""At most this share of sound reports is said not to fit their channel."""
RUNS, LEAST_EXPECTED = 40, 10  # runs of cells whose counts are compared, and how many reports each has at least
RUN_WEIGHED = 30.0  # reports whose weights are taken together
BEST_STEPS = 60  # rounds of 1, 2, 3 … steps towards the best fit


@dataclass(frozen=True)
class Problem:
    """``counts[class, report cell]`` seen through ``table[report cell, true cell or category]``.

    Weighted reports are counted by what they are worth, with ``squares[class, report cell]`` of their weights beside
    them (None: every report counts once).
    """

    tallies: tuple[Tally, ...]
    classes: tuple[Hashable, ...] | None
    layout: Layout | None
    counts: Floats
    reports: Floats
    missing: Floats
    table: Table
    shares: Floats
    method: str
    squares: Floats | None = None

    @property
    def domain(self) -> Interval | Categories:
        return self.tallies[0].channel.domain  # type: ignore[return-value]

    @property
    def membership(self) -> Floats | None:
        return None if self.layout is None else self.layout.membership

    def estimate(
        self, row: int, predicted: Floats, probabilities: Floats, covariance: Floats, log_likelihood: float,
        freedom: float, messages: tuple[str, ...], cost: tuple[int, int] = (0, 0), cannot_tell: bool = False,
    ) -> Estimate:
        """The shares of the wanted intervals or categories in one class; ``predicted``: the shares of reports that they
        lead to; ``cost`` in steps and table applications."""
        layout, domain = self.layout, self.domain
        fit = self.fit(row, predicted)
        said = (*filter(None, [misfit_in_words(fit), None if layout is None else layout.note]), *messages)
        worth = None if self.squares is None else float(self.counts[row].sum())
        seen = float(self.reports[row]), float(self.missing[row])
        facts = Diagnostics(self.method, *seen, *cost, log_likelihood, freedom, said, fit, worth, cannot_tell)
        categories = tuple(domain.labels) if isinstance(domain, Categories) else None
        edges, integer = (None, False) if layout is None else (layout.edges.copy(), layout.integer)
        return Estimate(edges, categories, np.asarray(probabilities), covariance, facts, integer)

    def fit(self, row: int, predicted: Floats) -> float:
        """How often sound reports would fit as badly as these, at most; not asked of weighted ones."""
        if self.squares is not None or any(tally.histogram.dtype.kind == "f" for tally in self.tallies):
            return 1.0
        found = fit_of(self.counts[row], predicted)
        if found >= FALSE_ALARM and not self.counts[row][predicted <= 1e-300].any():
            return found
        spread = [self.table.dense()] if self.layout is None else [self.table.dense(), self.points()[1]]
        return best_fit(self.counts[row], np.hstack(spread), predicted)

    def points(self) -> tuple[Floats, Floats]:
        """(values, P[report cell, value]) of the values at which many people may be at once."""
        if self.layout is None:
            raise ValueError("people at exactly one value are a matter of numbers, not of categories")
        seen = [observe_points(tally.channel, self.layout.cells) for tally in self.tallies]
        values = seen[0][0]
        if any(other.size != values.size or (other != values).any() for other, _ in seen[1:]):
            return np.zeros(0), np.zeros((self.counts.shape[1], 0))
        return values, np.vstack([share * table for share, (_, table) in zip(self.shares, seen, strict=True)])


def problem_of(counts: Counts, intervals: object, method: str = "em") -> Problem:
    """The problem of the wanted intervals (None for categories)."""
    tallies = tuple(tally for tally in counts.levels.values() if tally.histogram.any())
    check_counts(counts, tallies)
    domain = tallies[0].channel.domain
    layout = None
    if isinstance(domain, Interval):
        steps = [t.channel.inputs.step for t in tallies if isinstance(t.channel.inputs, Grid)]
        layout = layout_for(domain, intervals, max(steps, default=0.0))
    elif intervals is not None:
        raise ValueError(f"intervals={intervals!r} has no meaning for {domain}; leave it out")
    seen = [observe(tally.channel, None if layout is None else layout.cells) for tally in tallies]
    gathered = [one.reports.gather(tally.histogram) for one, tally in zip(seen, tallies, strict=True)]
    people = np.array([part.sum() for part in gathered])
    shares = people / people.sum()
    squares = [one.reports.gather(tally.told.squares) for one, tally in zip(seen, tallies, strict=True)]
    found = np.hstack(gathered), *reports_in(counts), stack([one.table for one in seen], shares), shares, method
    return Problem(tallies, counts.classes, layout, *found, np.hstack(squares) if counts.weighted else None)


def reports_in(counts: Counts) -> tuple[Floats, Floats]:
    """How many reports each class has, and how many missing ones."""
    told = [tally.told for tally in counts.levels.values()]
    return np.sum([each.reports for each in told], axis=0), np.sum([each.missing for each in told], axis=0)


def check_counts(counts: Counts, tallies: tuple[Tally, ...]) -> None:
    """Refuse counts that say nothing, or that are about different things."""
    if not tallies and counts.reports:
        raise ValueError("every weight is zero; give how many people each report stands for")
    if not tallies:
        lost = f"all {counts.missing:,.0f} reports are missing" if counts.missing else "there are no reports"
        raise ValueError(f"{lost}; reconstruction needs at least one report that is not missing")
    if any(tally.channel.domain != tallies[0].channel.domain for tally in tallies):
        raise ValueError("the levels have different domains; reconstruct each domain on its own")
    if counts.classes is not None:
        empty = np.sum([tally.histogram.sum(axis=1) for tally in tallies], axis=0) == 0
        if empty.any():
            name = counts.classes[int(np.flatnonzero(empty)[0])]
            raise ValueError(f"class {name!r} has no report that is not missing; leave it out of by=")


# --- do the reports fit their channel? ------------------------------------------------------------------------------


def fit_of(counts: Floats, predicted: Floats) -> float:
    """How often sound reports would fit a prediction as badly as these, at most.

    The deviance 2 Σ N log(N/E) of runs of cells with about equal expectations E, against χ² with as many degrees of
    freedom as there are runs less one. Of the best prediction that the channel allows it is an upper bound, because
    the truth fits no better than the best does.
    """
    total, expected = float(counts.sum()), predicted / max(float(predicted.sum()), 1e-300)
    wanted = max(total / RUNS, LEAST_EXPECTED)
    if total < 2 * wanted:
        return 1.0
    run = _runs(total * expected, wanted)
    observed, hoped = np.bincount(run, counts), np.bincount(run, total * expected)
    deviance = 2 * float((xlogy(observed, observed / hoped) - observed + hoped).sum())
    return float(chdtrc(max(hoped.size - 1, 1), max(deviance, 0.0)))


def _runs(expected: Floats, wanted: float) -> NDArray[np.int64]:
    """The run of each cell: neighbours in which ``wanted`` reports or more are expected together."""
    run, number, held = np.zeros(expected.size, np.int64), 0, 0.0
    for cell, part in enumerate(expected.tolist()):
        run[cell] = number
        held += part
        if held >= wanted:
            number, held = number + 1, 0.0
    return np.minimum(run, max(number - 1, 0))


def best_fit(counts: Floats, table: Floats, predicted: Floats) -> float:
    """``fit_of`` the best prediction that the table allows: of the one at hand, and while that is bad, of better ones.

    A report that no true value can lead to fits never.
    """
    if counts[~table.any(axis=1)].any():
        return 0.0
    found, problem = fit_of(counts, predicted), Likelihood(DenseTable(table), counts[None])
    p = np.full((1, table.shape[1]), 1 / table.shape[1])
    for step in range(BEST_STEPS):
        if found >= FALSE_ALARM:
            return found
        for _ in range(step + 1):
            p = problem.step(p)
        found = max(found, fit_of(counts, problem.apply(p)[0]))
    return found


def misfit_in_words(fit: float) -> str | None:
    """Said where sound reports fit so badly less often than FALSE_ALARM."""
    if fit >= FALSE_ALARM:
        return None
    rarity = "never" if fit < 1e-300 else f"at most once in {in_words(1 / fit, 2)} times"
    return (
        f"the reports do not look as if they came through this channel (sound ones would fit as badly {rarity}); "
        "check that it is the channel and the domain that made them, and that they are reports and not true answers"
    )


# --- solutions ------------------------------------------------------------------------------------------------------


def by_em(problem: Problem) -> list[Estimate]:
    """Maximum likelihood: to the end for categories, until nothing but noise is left to gain for numbers."""
    fit = maximise_likelihood(problem.table, problem.counts, stop=CONVERGED if problem.layout is None else ENOUGH)
    return _fitted(problem, fit, problem.table, problem.counts, problem.membership, exact=True)


def by_as00(problem: Problem) -> list[Estimate]:
    """Equation 3 as the paper has it: midpoint kernel on the wanted intervals, χ² stop."""
    table, counts = as00_view(problem)
    fit = maximise_likelihood(table, counts, stop=ChiSquare())
    return _fitted(problem, fit, table, counts, None, exact=False)


def by_inverse(problem: Problem) -> list[Estimate]:
    """Unbiased shares of categories; single ones may be negative."""
    if problem.layout is not None:
        raise ValueError("method='inverse' is for categories; use 'smooth' or 'em' for numbers")
    table = problem.table.dense()
    estimates = []
    for row, (p, covariance) in enumerate(_unbiased_shares(problem)):
        counts = problem.counts[row]
        predicted = np.maximum(table @ p, 1e-300)
        freedom = float(p.size - 1)
        said = messages_for(counts, freedom, np.sqrt(np.diag(covariance)), True)
        likelihood = float(counts @ np.log(predicted))
        possible = table @ np.maximum(p, 0.0)
        estimates.append(problem.estimate(row, possible, p, covariance, likelihood, freedom, said))
    return estimates


def by_smooth(problem: Problem) -> list[Estimate]:
    """A fine grid, as smooth as the data say, with people at exactly one value allowed for. Categories: by_em, and sums
    from the unbiased shares, because maximum likelihood takes from the frequent what it lifts above zero."""
    if problem.layout is None:
        return _with_sums(problem, by_em(problem))
    from sfumato.reconstruction.smooth import smooth

    table, membership = problem.table.dense(), problem.layout.membership
    layout, (values, points) = problem.layout, problem.points()
    cell_of, roundings, widths = layout.cell_of(values), layout.roundings(values), np.diff(layout.cells)
    estimates = []
    for row, counts in enumerate(problem.counts):
        fit = smooth(counts, table, points, cell_of, membership, widths, roundings)
        predicted = table @ fit.density + sum(mass * points[:, place] for place, mass in fit.atoms)
        likelihood = float(counts @ np.log(np.maximum(predicted, 1e-300)))
        found = fit.probabilities, fit.covariance, likelihood, fit.degrees_of_freedom, fit.messages
        estimate = problem.estimate(row, predicted, *found, cannot_tell=fit.cannot_tell)
        estimates.append(replace(estimate, fine=_fine(fit, layout.cells, values, roundings.multiples)))
    return estimates


def _with_sums(problem: Problem, estimates: list[Estimate]) -> list[Estimate]:
    """The unbiased shares, and their covariance, where the table tells all categories apart."""
    try:
        sums = _unbiased_shares(problem)
    except ValueError:
        return estimates
    return [
        replace(estimate, unbiased=shares, covariance=covariance)
        for estimate, (shares, covariance) in zip(estimates, sums, strict=True)
    ]


def _unbiased_shares(problem: Problem) -> list[tuple[Floats, Floats]]:
    """(p̂, its covariance) of each class."""
    rows, squares = [tally.channel.outputs.size for tally in problem.tallies], problem.squares
    undo = left_inverse(problem.table.dense())
    return [
        unbiased(undo, counts, rows, None if squares is None else squares[row])
        for row, counts in enumerate(problem.counts)
    ]


def _fine(fit: SmoothFit, cells: Floats, values: Floats, multiples: tuple[float, ...]) -> Fine | None:
    """The picture behind the intervals, on the cells it was solved on."""
    if fit.root is None:
        return None
    starts = np.arange(cells.size - 1) if fit.starts is None else fit.starts
    edges = np.append(cells[starts], cells[-1])
    atoms = tuple((float(values[place]), mass) for place, mass in fit.atoms)
    unseen = () if fit.unseen_rounding is None else zip(multiples, fit.unseen_rounding.tolist(), strict=True)
    return Fine(edges, np.add.reduceat(fit.density, starts), atoms, fit.root, tuple(unseen))


METHODS: dict[str, Callable[[Problem], list[Estimate]]] = {
    "smooth": by_smooth,
    "em": by_em,
    "as00": by_as00,
    "inverse": by_inverse,
}


def as00_view(problem: Problem) -> tuple[Table, Floats]:
    """Return the midpoint kernels of all levels, and the counts of their report intervals."""
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


def _fitted(
    problem: Problem, fit: EMFit, table: Table, counts: Floats, membership: Floats | None, *, exact: bool
) -> list[Estimate]:
    """Error bars and messages around every fit; a fit through an inexact table says nothing about the channel."""
    dense = table.dense()
    estimates = []
    for row, p in enumerate(fit.probabilities):
        spread = fisher_spread(dense, p, float(counts[row].sum()), membership)
        covariance, freedom = spread.covariance, spread.degrees_of_freedom
        if problem.squares is not None and exact:
            covariance = covariance + by_weights(dense, p, counts[row], problem.squares[row], membership)
        stderr = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        said = messages_for(counts[row], freedom, stderr, fit.converged)
        predicted = dense @ p if exact else np.ones(problem.counts.shape[1])
        found = p if membership is None else membership @ p
        likelihood, cost = float(fit.log_likelihood[row]), (fit.iterations, fit.applications)
        estimates.append(problem.estimate(row, predicted, found, covariance, likelihood, freedom, said, cost))
    return estimates


def by_weights(table: Floats, p: Floats, counts: Floats, squares: Floats, membership: Floats | None) -> Floats:
    """What weights that go with the reports add to the covariance C of p, or take off it.

    A report in cell s moves the estimate by C Aᵀ diag(1/π), π = A p the shares of reports. Where those of a cell weigh,
    in squares, h_s times as much as all do, their number varies by n·h_s·π_s instead of n·π_s, which adds
        S diag(n·(h − 1)/π) Sᵀ,   S = C Aᵀ.
    h is read off runs of cells, because of a single report it says little.
    """
    reports, expected = float(counts.sum()), np.maximum(table @ p, 1e-300)
    moved = fisher_spread(table, p, reports).covariance @ table.T
    moved = moved if membership is None else membership @ moved
    run = _runs(reports * expected, RUN_WEIGHED)
    heavier = np.bincount(run, squares) / np.maximum(np.bincount(run, counts), 1e-300)
    return np.asarray(moved * (reports * (heavier[run] - 1) / expected) @ moved.T)


# --- AS00's kernel --------------------------------------------------------------------------------------------------


def midpoint_kernel(channel: Channel, edges: Floats) -> tuple[Floats, Floats]:
    """(edges of the report intervals, f(report midpoint | true midpoint))."""
    true = (edges[:-1] + edges[1:]) / 2
    codes = channel.inputs.encode(true)
    if not isinstance(channel.outputs, Grid):
        return getattr(channel.outputs, "edges", edges), channel.matrix()[:, codes]
    around = continued_edges(channel.outputs, edges)
    reported = (around[:-1] + around[1:]) / 2
    if isinstance(channel, AdditiveNoise):
        return around, channel.density(reported[:, None] - true)
    return around, channel.matrix()[np.ix_(channel.encode_reports(reported), codes)]


def continued_edges(outputs: Grid, edges: Floats) -> Floats:
    """The true intervals, continued to both sides in their end intervals' width to where reports end."""
    low, high = edges[1] - edges[0], edges[-1] - edges[-2]
    before = max(int(np.ceil((edges[0] - outputs.edges[0]) / low - 1e-9)), 0)
    after = max(int(np.ceil((outputs.edges[-1] - edges[-1]) / high - 1e-9)), 0)
    left = edges[0] - low * np.arange(before, 0, -1)
    return np.concatenate([left, edges, edges[-1] + high * np.arange(1, after + 1)])


# --- the inverse ----------------------------------------------------------------------------------------------------


def left_inverse(table: Floats) -> Floats:
    """B with B A = 1 and columns that sum to 1."""
    if np.linalg.matrix_rank(table) < table.shape[1]:
        raise ValueError("the channel gives some categories the same reports, so it has no inverse; use method='em'")
    if table.shape[0] == table.shape[1]:
        return np.asarray(np.linalg.inv(table))
    weighted = table / table.mean(axis=1, keepdims=True).clip(1e-300)
    return np.asarray(np.linalg.solve(weighted.T @ table, weighted.T))


def unbiased(
    undo: Floats, counts: Floats, levels: list[int], squares: Floats | None = None
) -> tuple[Floats, Floats]:
    """(p̂, its unbiased covariance estimate) by the left inverse of the table, where each level has so many rows.

    Within a level of n_g people the reports are multinomial: Cov f_g is estimated without bias by
    (n_g/n)²·(diag f_g − f_g f_gᵀ)/(n_g − 1), f_g the shares within the level. Reports that weigh differently, with the
    squares v of their weights summed in each cell, have Σ_s v_s (e_s − f_g)(e_s − f_g)ᵀ/(n_g² − Σ v) instead. Reports
    that are all the same would state no error: there half a report more in every cell says how others would have been.
    """
    total = counts.sum()
    covariance = np.zeros((undo.shape[0], undo.shape[0]))
    start = 0
    for rows in levels:
        cells = slice(start, start + rows)
        part, block = counts[cells], undo[:, cells]
        start += rows
        people = part.sum()
        if people:
            weights = part if squares is None else squares[cells]
            if np.count_nonzero(part) == 1:
                likely = (part + 0.5) / (people + 0.5 * rows)
                part, weights = people * likely, weights.sum() * likely
            off = block - (block @ (part / people))[:, None]
            spread = (off * weights) @ off.T / max(people**2 - weights.sum(), weights.sum())
            covariance += (counts[cells].sum() / total) ** 2 * spread
    return undo @ (counts / total), covariance
