"""EGS03 sections 3 and 7: Example 1's three operators, and what mutual information does not see."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.base import largest_ratio
from sfumato.channels.tabulated import Tabulated
from sfumato.domain import Categories
from sfumato.guarantee import breach_information

Floats = NDArray[np.float64]
Rows = list[dict[str, Any]]

VALUES = 1001


def example_prior() -> Floats:
    """X in 0..1000, P[0] = 1 %, the others 0.099 %."""
    prior = np.full(VALUES, 0.00099)
    prior[0] = 0.01
    return prior


def example_operators() -> dict[str, Floats]:
    """R1: keep 20 %, else one of the 1000 others; R2: add -100..100 modulo 1001; R3: R2 or uniform, half and half."""
    replaced = np.full((VALUES, VALUES), 0.8 / (VALUES - 1))
    np.fill_diagonal(replaced, 0.2)
    offset = (np.arange(VALUES)[:, None] - np.arange(VALUES)[None, :]) % VALUES
    shifted = np.where((offset <= 100) | (offset >= VALUES - 100), 1.0 / 201, 0.0)
    return {"R1": replaced, "R2": shifted, "R3": 0.5 * shifted + 0.5 / VALUES}


def example_table() -> Rows:
    """Table 1: the probabilities of Q1 (X = 0) and Q2 (X not in 200..800) before and after the report 0."""
    prior = example_prior()
    q1 = np.arange(VALUES) == 0
    q2 = (np.arange(VALUES) < 200) | (np.arange(VALUES) > 800)
    rows: Rows = [
        {"operator": "none (prior)", "Q1": float(prior[q1].sum()), "Q2": float(prior[q2].sum()), "gamma": None}
    ]
    for name, table in example_operators().items():
        p_true_given_report = table[0] * prior / (table[0] @ prior)
        found = {"Q1": float(p_true_given_report[q1].sum()), "Q2": float(p_true_given_report[q2].sum())}
        rows.append({"operator": name, **found, "gamma": largest_ratio(table)})
    return rows


def bit_operators() -> dict[str, Tabulated]:
    """R1: the truth with 60 %. R2: the truth with .0099 %, the lie with .0001 %, else nothing."""
    bit = Categories([0, 1])
    rare = [[0.000099, 0.000001], [0.000001, 0.000099], [0.9999, 0.9999]]
    return {
        "R1": Tabulated(bit, [[0.6, 0.4], [0.4, 0.6]]),
        "R2": Tabulated(bit, rare, reports=["0", "1", "empty"]),
    }


def information_table() -> Rows:
    """Table 2: average-case and worst-case information of the two operators on a fair bit, in bits."""
    rows: Rows = []
    for name, channel in bit_operators().items():
        guarantee = channel.guarantee()
        rows.append(
            {
                "operator": name,
                "mutual information": guarantee.mutual_information,
                "worst-case information": guarantee.worst_case_information,
                "inverse worst-case information": guarantee.inverse_worst_case_information,
                "a breach from 5 % to 50 % needs": breach_information(0.05, 0.5),
            }
        )
    return rows


def largest_odds_ratio(trials: int = 300, seed: int = 1) -> float:
    """Statement 1 put to the test: the largest posterior odds over prior odds through R3, over random priors and
    properties and every report; it must not exceed gamma."""
    rng = np.random.default_rng(seed)
    table = example_operators()["R3"]
    worst = 0.0
    for _ in range(trials):
        held = rng.random(VALUES) < rng.choice([0.001, 0.01, 0.1, 0.5])
        if not held.any() or held.all():
            continue
        prior = rng.exponential(size=VALUES) ** rng.choice([1, 4])
        prior /= prior.sum()
        inside, outside = table[:, held] @ prior[held], table[:, ~held] @ prior[~held]
        before = prior[held].sum() / prior[~held].sum()
        worst = max(worst, float((inside / outside).max() / before))
    return worst
