"""Errors of a maximum-likelihood estimate from the Fisher information, and warnings in words.

Through the table A the information of n reports about the distribution p is F = n·Aᵀ diag(1/(A p)) A. Where the noise
hides a direction F vanishes, but p is still a distribution; so it is added to the information of Jeffreys' prior
(Dirichlet with half a report in each of the k cells), whose covariance is

    c·Π,   c = 1/(k(k/2+1)),   Π = I − 11ᵀ/k.

Together the covariance is c·(M⁻¹ − 11ᵀ/k) with M = I + c·Π F Π, and the reports decide k − tr M⁻¹ degrees of freedom.
With much information the covariance is F's inverse on the simplex.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.domain import Floats

FEW_REPORTS = 30
"""Reports below which an estimate is always said to have too few. The usual rule of thumb for the normal approximation
behind every error bar; larger, small but sound surveys are warned of, smaller, bars are taken at their word."""


@dataclass(frozen=True)
class FisherSpread:
    """The covariance of an estimate, and how many degrees of freedom the reports decided."""

    covariance: Floats
    degrees_of_freedom: float


def fisher_spread(table: Floats, p: Floats, reports: float, membership: Floats | None = None) -> FisherSpread:
    """Return the covariance of ``membership @ p`` by the Fisher information (see above).

    table: P[report cell, true cell]. p: the estimated distribution over true cells. reports: n. membership: 1 at
    [interval, cell] where the cell lies in the interval; None: the covariance of p itself.
    """
    k = p.size
    prior = 1 / (k * (k / 2 + 1))
    smoothed = (reports * p + 0.5) / (reports + k / 2)  # a zero estimate is not a certain zero
    predicted = table @ smoothed
    scaled = table * np.sqrt(reports * prior / np.maximum(predicted, 1e-300))[:, None]
    scaled = scaled - scaled.mean(axis=1, keepdims=True)
    inverse = np.linalg.inv(np.eye(k) + scaled.T @ scaled)
    freedom = k - float(np.trace(inverse))
    covariance = prior * (inverse - 1 / k)
    if membership is not None:
        covariance = membership @ covariance @ membership.T
    return FisherSpread((covariance + covariance.T) / 2, freedom)


def joint_freedom(tables: list[Floats], marginals: list[Floats], reports: float, cells: int) -> float:
    """Return how many degrees of freedom of a joint distribution the reports decide, as if attributes were independent.

    Through one table A with marginal p a pattern keeps a share ρ² of its information, ρ the singular values of
    diag(A p)^−½ A diag(p)^½; through a product of tables the shares multiply.

    tables, marginals: A and p of each attribute. cells: how many cells of the joint distribution are wanted.
    """
    kept = np.ones(1)
    for table, p in zip(tables, marginals, strict=True):
        predicted = np.maximum(table @ p, 1e-300)
        singular = np.linalg.svd(table * np.sqrt(p) / np.sqrt(predicted)[:, None], compute_uv=False)
        kept = np.outer(kept, np.append(singular, np.zeros(p.size - singular.size)) ** 2).ravel()
    gain = reports * np.sort(kept)[:-1] / (cells / 2 + 1)  # the strongest is the constant, known without reports
    return float((gain / (1 + gain)).sum())


# --- in words -------------------------------------------------------------------------------------------------------


def messages_for(
    counts: Floats, freedom: float, stderr: Floats, converged: bool, cannot_tell: bool = False
) -> tuple[str, ...]:
    """Return the warnings about an estimate, one sentence each; none where there is nothing to warn of.

    counts: reports in each report cell. freedom: degrees of freedom that they decide. stderr: of each wanted interval.
    converged: whether the likelihood had stopped rising. cannot_tell: whether most of each error is room for detail
    that the noise hides.
    """
    about_intervals = hidden if cannot_tell else too_many_intervals
    sentences = [
        _too_few(counts.sum(), stderr),
        about_intervals(counts.sum(), freedom, stderr.size),
        None if converged else "the likelihood was still rising when the iterations ran out; trust only broad features",
    ]
    return tuple(filter(None, sentences))


def _too_few(reports: float, stderr: Floats) -> str | None:
    """Say that there are too few reports: under FEW_REPORTS, or the errors may misplace a quarter of the people."""
    misplaced = min(0.4 * float(stderr.sum()), 1.0)  # ½ Σ |error|, the mean of |N(0,1)| being .8
    if misplaced <= 0.25 and reports >= FEW_REPORTS:
        return None
    return (
        f"too few reports for this noise: with {reports:,.0f} of them about {100 * misplaced:.0f} % of the people "
        "may be counted in a wrong place; collect more or ask for fewer intervals"
    )


def too_many_intervals(reports: float, freedom: float, intervals: int) -> str | None:
    """Say that the reports decide less than half as many numbers as intervals are wanted; None if they decide more."""
    if freedom >= 0.5 * (intervals - 1):
        return None
    return (
        f"through this noise {reports:,.0f} reports decide about {max(freedom, 1):.0f} numbers, "
        f"{intervals} intervals were asked for; trust only broad features or ask for fewer intervals"
    )


def hidden(reports: float, freedom: float, intervals: int) -> str:
    """Say that most of each error bar is room for detail that the noise would hide."""
    return (
        "the reports cannot tell whether single intervals stray from this smooth picture: through this noise "
        f"{reports:,.0f} of them decide about {max(freedom, 1):.0f} numbers, {intervals} intervals were asked for, and "
        "the error bars leave room for what is hidden; trust only broad features or ask for fewer intervals"
    )
