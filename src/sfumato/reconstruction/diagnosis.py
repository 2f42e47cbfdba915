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

from sfumato.domain import Floats

FEW_REPORTS = 30


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


def messages_for(
    counts: Floats, freedom: float, stderr: Floats, converged: bool, cannot_tell: bool = False
) -> tuple[str, ...]:
    """Plain sentences; none when there is nothing to say. ``cannot_tell``: most of each error is for hidden detail."""
    about_intervals = hidden if cannot_tell else too_many_intervals
    said = [
        _too_few(counts.sum(), stderr),
        about_intervals(counts.sum(), freedom, stderr.size),
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


def hidden(reports: float, freedom: float, intervals: int) -> str:
    """Said when most of each error bar is room for detail that the noise would hide."""
    return (
        "the reports cannot tell whether single intervals stray from this smooth picture: through this noise "
        f"{reports:,.0f} of them decide about {max(freedom, 1):.0f} numbers, {intervals} intervals were asked for, and "
        "the error bars leave room for what is hidden; trust only broad features or ask for fewer intervals"
    )
