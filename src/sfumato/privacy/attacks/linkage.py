"""Linkage: somebody who knows a person looks for their record among the reports.

Attributes in the clear narrow the search to the records that share them: a chance of 1/size of the group, and certainty
for people who are alone in theirs. Somebody who also knows the true values behind the blurred answers picks, within the
group, the record whose reports are likeliest: Σ_j log P_j[report, true].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Floats
from sfumato.privacy.attacks.finding import Finding
from sfumato.privacy.population import Population

SOUGHT = 300


def linkage(population: Population) -> list[Finding]:
    """How often the adversary names the right record, from the clear columns and with all true values known."""
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
    known = f"{len(population.clear)} attributes in the clear and all true values"
    alone = float((sizes == 1).mean())
    note = f"{alone:.1%} of {people:,} people are the only ones with their attributes in the clear."
    right, by_chance = _share_found(score, sought), float((1 / sizes[sought]).mean())
    return [Finding(f"finding a record by {known}", "all answers", "hits", by_chance, right, None, note)]


def _groups(clear: dict[str, NDArray[np.generic]], people: int) -> NDArray[np.int64]:
    """People with the same values in all clear columns have the same number."""
    group = np.zeros(people, dtype=np.int64)
    for values in clear.values():
        codes = np.unique(values.astype(str), return_inverse=True)[1]
        group = np.unique(group * (codes.max() + 1) + codes, return_inverse=True)[1]
    return group


def _share_found(score: Floats, sought: NDArray[np.int64]) -> float:
    """The chance of picking the right record, ties shared."""
    best = score.max(axis=1, keepdims=True)
    tied = score >= best - 1e-12
    return float((tied[np.arange(sought.size), sought] / tied.sum(axis=1)).mean())
