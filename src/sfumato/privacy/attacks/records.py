"""Attacks on the record as a whole: finding a person's report, and pointing out unusual people."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Codes, Floats
from sfumato.privacy.attacks.finding import Finding
from sfumato.privacy.population import Population
from sfumato.prose import counted, percent

SOUGHT = 300
UNUSUAL = 0.02


def linkage(population: Population) -> list[Finding]:
    """How often somebody who knows a person names their record.

    Attributes in the clear narrow the search to the records that share them: a chance of 1/size of the group, and
    certainty for people who are alone in theirs. Somebody who also knows the true values behind the blurred answers
    picks, within the group, the record whose reports are likeliest: Σ_j log P_j[report, true].
    """
    targets = list(population.targets.values())
    if not targets:
        return []
    people = targets[0].true_codes.size
    group = _groups(population.clear, people)
    sizes = np.bincount(group)[group]
    sought = np.arange(min(SOUGHT, people))
    score = np.zeros((sought.size, people))
    with np.errstate(divide="ignore"):
        for target in targets:
            score += np.log(target.law)[np.ix_(target.reports, target.true[sought])].T
    score[group[sought][:, None] != group[None, :]] = -np.inf
    known, note = "all true values", ""
    if population.clear:
        known = f"{counted(len(population.clear), 'attribute')} in the clear and {known}"
        alone = percent(float((sizes == 1).mean()))
        note = f"{alone} of {people:,} people are the only ones with their attributes in the clear."
    by_chance, right = float((1 / sizes[sought]).mean()), _share_found(score, sought)
    return [Finding(f"finding a record by {known}", "all answers", "hits", by_chance, right, None, note)]


def _groups(clear: dict[str, NDArray[np.generic]], people: int) -> Codes:
    """People with the same values in all clear columns have the same number."""
    group = np.zeros(people, dtype=np.int64)
    for values in clear.values():
        codes = np.unique(values.astype(str), return_inverse=True)[1]
        group = np.unique(group * (codes.max() + 1) + codes, return_inverse=True)[1]
    return group


def _share_found(score: Floats, sought: Codes) -> float:
    """The chance of picking the right record, ties shared."""
    tied = score >= score.max(axis=1, keepdims=True) - 1e-12
    return float((tied[np.arange(sought.size), sought] / tied.sum(axis=1)).mean())


def outliers(population: Population) -> list[Finding]:
    """How many of the most unusual people the adversary points at: those whose reports are the most unusual."""
    targets = population.numeric
    if len(targets) < 2:
        return []
    true = np.column_stack([target.true_numbers for target in targets])
    reports = np.column_stack([target.coarse.report_values[target.reports] for target in targets])
    wanted, pointed = (_most_unusual(distances(rows)) for rows in (true, reports))
    hits = float(wanted[pointed].mean())
    note = f"Meant are the {percent(UNUSUAL, 0)} of people whose {len(targets)} numbers are the most unusual together."
    return [Finding("pointing out unusual people", "all numbers", "hits", UNUSUAL, hits, None, note)]


def distances(rows: Floats) -> Floats:
    """Mahalanobis' D² = (y − μ)ᵀ Cov(y)⁻¹ (y − μ) of every row."""
    centered = rows - rows.mean(axis=0)
    return np.asarray((centered @ np.linalg.pinv(np.cov(rows, rowvar=False)) * centered).sum(axis=1))


def _most_unusual(distance: Floats) -> NDArray[np.bool_]:
    chosen = np.zeros(distance.size, dtype=bool)
    chosen[np.argsort(-distance, kind="stable")[: max(int(UNUSUAL * distance.size), 1)]] = True
    return chosen
