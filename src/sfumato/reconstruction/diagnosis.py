"""How sure a maximum-likelihood estimate is, and what the data cannot answer, in words.

Error bars come from the Fisher information. Seen through the table A the information in n reports about p is
F = n·Aᵀ diag(1/(A p)) A. Where the noise hides a direction F vanishes, but p still is a distribution; the covariance of
Jeffreys' belief (Dirichlet with half a report in each of the k cells),

    c·Π,   c = 1/(k(k/2+1)),   Π = I − 11ᵀ/k,

bounds what cannot be seen. Together: covariance c·(M⁻¹ − 11ᵀ/k) with M = I + c·Π F Π, and k − tr M⁻¹ degrees of
freedom that the reports decide. With much information this is F's inverse on the simplex.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, xlogy

from sfumato.domain import Floats
from sfumato.prose import in_words
from sfumato.reconstruction.em import Likelihood
from sfumato.reconstruction.tables import DenseTable

FEW_REPORTS = 30
FALSE_ALARM = 1e-5
"""At most this share of sound reports is said not to fit their channel."""
RUNS, LEAST_EXPECTED = 40, 10  # runs of cells whose counts are compared, and how many reports each has at least
BEST_STEPS = 60  # rounds of 1, 2, 3 … steps towards the best fit


@dataclass(frozen=True)
class Spread:
    """How far an estimate may be off: covariance of the wanted intervals, and degrees of freedom that were seen."""

    covariance: Floats
    degrees_of_freedom: float


def fisher_spread(table: Floats, p: Floats, reports: float, membership: Floats | None = None) -> Spread:
    """The covariance of ``membership @ p`` (of p itself when None)."""
    k = p.size
    belief = 1 / (k * (k / 2 + 1))
    held = (reports * p + 0.5) / (reports + k / 2)  # a zero estimate is not a certain zero
    predicted = table @ held
    scaled = table * np.sqrt(reports * belief / np.maximum(predicted, 1e-300))[:, None]
    scaled = scaled - scaled.mean(axis=1, keepdims=True)
    seen = np.eye(k) + scaled.T @ scaled
    unseen = np.linalg.inv(seen)
    freedom = k - float(np.trace(unseen))
    covariance = belief * (unseen - 1 / k)
    if membership is not None:
        covariance = membership @ covariance @ membership.T
    return Spread((covariance + covariance.T) / 2, freedom)


def joint_freedom(tables: list[Floats], marginals: list[Floats], reports: float, cells: int) -> float:
    """Degrees of freedom of ``cells`` wanted cells that the reports decide, were the attributes independent.

    Through one table with marginal p a pattern keeps a share ρ² of its information, ρ the singular values of
    diag(A p)^−½ A diag(p)^½; through a product of tables the shares multiply.
    """
    kept = np.ones(1)
    for table, p in zip(tables, marginals, strict=True):
        predicted = np.maximum(table @ p, 1e-300)
        singular = np.linalg.svd(table * np.sqrt(p) / np.sqrt(predicted)[:, None], compute_uv=False)
        kept = np.outer(kept, np.append(singular, np.zeros(p.size - singular.size)) ** 2).ravel()
    gain = reports * np.sort(kept)[:-1] / (cells / 2 + 1)  # the strongest is the constant, known without reports
    return float((gain / (1 + gain)).sum())


# --- in words -------------------------------------------------------------------------------------------------------


def messages_for(counts: Floats, freedom: float, stderr: Floats, converged: bool) -> tuple[str, ...]:
    """Plain sentences; none when there is nothing to say."""
    said = [
        _too_few(counts.sum(), stderr),
        too_many_intervals(counts.sum(), freedom, stderr.size),
        None if converged else "the likelihood was still rising when the iterations ran out; trust only broad features",
    ]
    return tuple(sentence for sentence in said if sentence)


def _too_few(reports: float, stderr: Floats) -> str | None:
    misplaced = min(0.4 * float(stderr.sum()), 1.0)  # ½ Σ |error|, the mean of |N(0,1)| being .8
    if misplaced <= 0.25 and reports >= FEW_REPORTS:
        return None
    return (
        f"too few reports for this noise: with {reports:,.0f} of them about {100 * misplaced:.0f} % of the people "
        "may be counted in a wrong place; collect more or ask for fewer intervals"
    )


def too_many_intervals(reports: float, freedom: float, intervals: int) -> str | None:
    """Said when less than half of what was asked for is decided by the reports."""
    if freedom >= 0.5 * (intervals - 1):
        return None
    return (
        f"through this noise {reports:,.0f} reports decide about {max(freedom, 1):.0f} numbers, "
        f"{intervals} intervals were asked for; trust only broad features or ask for fewer intervals"
    )


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
