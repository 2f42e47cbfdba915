"""The unbiased estimate of category shares: undo the table.

    p̂ = B f,   f the shares of reports,   B A = 1,

so E p̂ = p exactly, whatever p is; single shares may come out below 0 or above 1, and they sum to 1. For a square table
B is its inverse; otherwise B = (AᵀWA)⁻¹AᵀW with W = 1/(A·uniform), which does not look at the data.
"""

from __future__ import annotations

import numpy as np

from sfumato.domain import Floats


def left_inverse(table: Floats) -> Floats:
    """B with B A = 1 and columns that sum to 1."""
    if np.linalg.matrix_rank(table) < table.shape[1]:
        raise ValueError("the channel gives some categories the same reports, so it has no inverse; use method='em'")
    if table.shape[0] == table.shape[1]:
        return np.asarray(np.linalg.inv(table))
    weighted = table / table.mean(axis=1, keepdims=True).clip(1e-300)
    return np.asarray(np.linalg.solve(weighted.T @ table, weighted.T))


def unbiased(table: Floats, counts: Floats, levels: list[int]) -> tuple[Floats, Floats]:
    """(p̂, its unbiased covariance estimate); ``levels`` are the numbers of rows of each level in the stacked table.

    Within a level of n_g people the reports are multinomial: Cov f_g is estimated without bias by
    (n_g/n)²·(diag f_g − f_g f_gᵀ)/(n_g − 1), f_g the shares within the level.
    """
    undo = left_inverse(table)
    total = counts.sum()
    covariance = np.zeros((table.shape[1], table.shape[1]))
    start = 0
    for rows in levels:
        part, block = counts[start : start + rows], undo[:, start : start + rows]
        start += rows
        people = part.sum()
        if people:
            shares = part / people
            spread = (block * shares) @ block.T - np.outer(block @ shares, block @ shares)
            covariance += (people / total) ** 2 * spread / max(people - 1, 1)
    return undo @ (counts / total), covariance
