"""Shares of categories without bias: the table undone, and the covariance that this leaves."""

from __future__ import annotations

import numpy as np

from sfumato.domain import Floats


def left_inverse(table: Floats) -> Floats:
    """Return B with B A = 1 and columns that sum to 1, A the table."""
    if np.linalg.matrix_rank(table) < table.shape[1]:
        raise ValueError("the channel gives some categories the same reports, so it has no inverse; use method='em'")
    if table.shape[0] == table.shape[1]:
        return np.asarray(np.linalg.inv(table))
    weighted = table / table.mean(axis=1, keepdims=True).clip(1e-300)
    return np.asarray(np.linalg.solve(weighted.T @ table, weighted.T))


def unbiased(
    undo: Floats, counts: Floats, levels: list[int], squares: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return (p̂, its unbiased covariance estimate) by the left inverse of the table, where each level has so many rows.

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
