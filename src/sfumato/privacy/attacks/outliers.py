"""Outliers in several attributes: people who are unusual in many answers stand out through the noise.

Mahalanobis distance D² = (y − μ)ᵀ Cov(y)⁻¹ (y − μ); the adversary points at the 2 % of reports with the largest one.
"""

from __future__ import annotations

import numpy as np

from sfumato.domain import Floats
from sfumato.privacy.attacks.finding import Finding
from sfumato.privacy.population import Population

SHARE = 0.02


def distances(rows: Floats) -> Floats:
    """D² of every row."""
    centered = rows - rows.mean(axis=0)
    return np.asarray((centered @ np.linalg.pinv(np.cov(rows, rowvar=False)) * centered).sum(axis=1))


def outliers(population: Population) -> list[Finding]:
    """How many of the most unusual people the adversary points at."""
    targets = population.numeric
    if len(targets) < 2:
        return []
    true = np.column_stack([target.true_numbers for target in targets])
    reports = np.column_stack([target.table.report_values[target.reports] for target in targets])
    wanted, pointed = (_most_unusual(distances(rows)) for rows in (true, reports))
    hits = float(wanted[pointed].mean())
    note = f"Meant are the {SHARE:.0%} of people whose {len(targets)} numbers are the most unusual together."
    return [Finding("pointing out unusual people", "all numbers", "hits", SHARE, hits, None, note)]


def _most_unusual(distance: Floats) -> np.ndarray:
    count = max(int(SHARE * distance.size), 1)
    chosen = np.zeros(distance.size, dtype=bool)
    chosen[np.argsort(-distance, kind="stable")[:count]] = True
    return chosen
