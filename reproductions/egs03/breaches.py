"""EGS03's Sections 1, 3, 4 and 7: examples, breaches and worst-case information, computed exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

import sfumato as sf
from reproductions import Rows
from sfumato.channels.program import largest_ratio
from sfumato.domain import Floats

VALUES = 1001


def example_operators() -> dict[str, Floats]:
    """R1: keep 20 %, else one of the 1000 others; R2: add -100..100 modulo 1001; R3: R2 or uniform, half and half."""
    replaced = np.full((VALUES, VALUES), 0.8 / (VALUES - 1))
    np.fill_diagonal(replaced, 0.2)
    offset = (np.arange(VALUES)[:, None] - np.arange(VALUES)[None, :]) % VALUES
    shifted = np.where((offset <= 100) | (offset >= VALUES - 100), 1.0 / 201, 0.0)
    return {"R1": replaced, "R2": shifted, "R3": 0.5 * shifted + 0.5 / VALUES}


def example_table() -> Rows:
    """Table 1: the probabilities of Q1 (X = 0) and Q2 (X not in 200..800) before and after the report 0.

    X in 0..1000, P[0] = 1 %, the others 0.099 %."""
    x = np.arange(VALUES)
    prior, q1, q2 = np.where(x == 0, 0.01, 0.00099), x == 0, (x < 200) | (x > 800)

    def row(operator: str, p: Floats, gamma: float | None) -> dict[str, Any]:
        return {"operator": operator, "Q1": float(p[q1].sum()), "Q2": float(p[q2].sum()), "gamma": gamma}

    rows = [row("none (prior)", prior, None)]
    for name, table in example_operators().items():
        p_true_given_report = table[0] * prior / (table[0] @ prior)
        rows.append(row(name, p_true_given_report, largest_ratio(table)))
    return rows


def information_table() -> Rows:
    """Table 2: average-case and worst-case information of two operators on a fair bit, in bits.

    R1: the truth with 60 %. R2: the truth with .0099 %, the lie with .0001 %, else nothing."""
    bit = sf.Categories([0, 1])
    rare = [[0.000099, 0.000001], [0.000001, 0.000099], [0.9999, 0.9999]]
    operators = {
        "R1": sf.Tabulated(bit, [[0.6, 0.4], [0.4, 0.6]]),
        "R2": sf.Tabulated(bit, rare, reports=["0", "1", "empty"]),
    }
    return [
        {
            "operator": name,
            "mutual information": guarantee.mutual_information,
            "worst-case information": guarantee.worst_case_information,
            "inverse worst-case information": guarantee.inverse_worst_case_information,
            "a breach from 5 % to 50 % needs": sf.breach_information(0.05, 0.5),
        }
        for name, guarantee in ((name, channel.guarantee()) for name, channel in operators.items())
    ]


def age_example() -> float:
    """P(70 or older | 120 was reported), noise uniform on ±50, ages 0 to 100 alike."""
    ages = np.arange(101)
    likely = (np.abs(120 - ages) <= 50).astype(float)
    return float(likely[ages >= 70].sum() / likely.sum())


def items_example(items: int = 10_000, size: int = 10, support: float = 0.01, keep: float = 0.2) -> float:
    """P(three items were there | they are in the report), where each item is kept or else replaced by a random one, and
    whoever does not have all three has none of them."""
    kept, by_chance = keep**3, (size / items) ** 3
    return support * kept / (support * kept + (1 - support) * by_chance)


def odds_through_equality(gamma: float = 19.0, prior: float = 0.05) -> float:
    """The posterior of a yes with this prior, reported by a coin that amplifies by exactly γ."""
    law = sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=gamma).law()
    return float(law[0, 0] * prior / (law[0, 0] * prior + law[0, 1] * (1 - prior)))


def largest_odds_ratio(trials: int = 300, seed: int = 1, *, background: bool = False) -> float:
    """Statement 1 put to the test: the largest posterior odds over prior odds through R3, over random priors and
    properties and every report; it must not exceed γ. With background, of each person one of 20 random parts of the
    values is known beforehand."""
    rng = np.random.default_rng(seed)
    inside, outside = [], []
    for _ in range(trials):
        held = rng.random(VALUES) < rng.choice([0.001, 0.01, 0.1, 0.5])
        if not held.any() or held.all():
            continue
        prior = rng.exponential(size=VALUES) ** rng.choice([1, 4])
        if background:
            prior *= rng.integers(0, 20, VALUES) == 0
            if not (prior * held).any() or not (prior * ~held).any():
                continue
        inside.append(prior * held)
        outside.append(prior * ~held)
    table = example_operators()["R3"]
    before = np.sum(inside, axis=1) / np.sum(outside, axis=1)
    after = (table @ np.transpose(inside)) / (table @ np.transpose(outside))
    return float((after / before).max())


def least_information_beyond_breaches(trials: int = 60, seed: int = 2) -> tuple[float, float]:
    """The statements on worst-case information put to the test over random operators, priors and all properties.

    (I_w − B of an upward breach, inverse I_w − B of a downward one), the least of each; neither may be negative. Every
    report that moves a property from one probability to another is a breach between those two.
    """
    rng, values = np.random.default_rng(seed), sf.Categories(list("abcd"))
    properties = np.array([[(number >> place) & 1 for place in range(4)] for number in range(1, 15)], dtype=float)
    upward, downward = [], []
    for _ in range(trials):
        table = rng.dirichlet(np.full(5, rng.choice([0.3, 1.0, 5.0])), size=4).T
        prior = rng.dirichlet(np.ones(4))
        told = sf.Tabulated(values, table, reports=list("vwxyz")).guarantee(dict(zip("abcd", prior, strict=True)))
        posterior = table * prior / (table @ prior)[:, None]
        before, after = np.broadcast_to(properties @ prior, (5, 14)), posterior @ properties.T
        for low, high in zip(before.ravel().tolist(), after.ravel().tolist(), strict=True):
            if 1e-9 < low < high < 1 - 1e-9:
                upward.append(told.worst_case_information - sf.breach_information(low, high))
            elif 1e-9 < high < low < 1 - 1e-9:
                downward.append(told.inverse_worst_case_information - sf.breach_information(high, low))
    return min(upward), min(downward)
