"""Unbiased shares of categories: the left inverse of the table, and the covariance of what it gives."""

from __future__ import annotations

import numpy as np

from sfumato.domain import Floats


def left_inverse(table: Floats) -> Floats:
    """Return a left inverse B of the table A: B A = I, with columns that sum to 1.

    The inverse of a square table; else (AᵀWA)⁻¹AᵀW with W = diag(1/row means of A), which does not depend on the data.
    Raise ValueError where the columns of A are not linearly independent.
    """
    if np.linalg.matrix_rank(table) < table.shape[1]:
        raise ValueError("the channel gives some categories the same reports, so it has no inverse; use method='em'")
    if table.shape[0] == table.shape[1]:
        return np.asarray(np.linalg.inv(table))
    weighted = table / table.mean(axis=1, keepdims=True).clip(1e-300)
    return np.asarray(np.linalg.solve(weighted.T @ table, weighted.T))


def unbiased(
    inverse: Floats, counts: Floats, levels: list[int], squares: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return (unbiased shares p̂ = B f, an unbiased estimate of their covariance), f the shares of reports.

    Within a level g of n_g people the reports are multinomial: Cov f_g is estimated without bias by
    (n_g/n)²·(diag f_g − f_g f_gᵀ)/(n_g − 1), f_g the shares within the level; with weights, whose squares sum to v_s in
    cell s, by Σ_s v_s (e_s − f_g)(e_s − f_g)ᵀ/(n_g² − Σ v). Where all reports of a level are equal, which would state
    no error, half a report is added to every cell.

    inverse: B, see `left_inverse`. counts: reports in each report cell, levels one after the other. levels: how many
    report cells each level has. squares: v; None where every report counts once.
    """
    total = counts.sum()
    covariance = np.zeros((inverse.shape[0], inverse.shape[0]))
    start = 0
    for rows in levels:
        cells = slice(start, start + rows)
        part, block = counts[cells], inverse[:, cells]
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
    return inverse @ (counts / total), covariance
