"""Reports without noise: a table whose every column is a single 1 must give the data back."""

from __future__ import annotations

import numpy as np

from .errorbars import Aggregation
from .families import Matrix, Vector
from .penalised import Fit, Reports


def is_deterministic(table: Matrix) -> bool:
    """Whether each true cell leads to one observation cell, as without noise or with value classes."""
    return bool(np.all(table.max(0) > 1.0 - 1e-9))


def is_one_to_one(table: Matrix) -> bool:
    """Whether, besides, no two true cells share an observation cell, so that there is no shape left to guess."""
    return is_deterministic(table) and bool(np.all(np.count_nonzero(table > 1e-9, axis=1) <= 1))


def class_shares(reports: Reports, cells: Vector) -> Vector:
    """Scale the density inside each class to the class's share of the reports: one step of EM, exact here."""
    expected = np.maximum(reports.table @ cells, 1e-300)
    return np.asarray(cells * (reports.table.T @ (reports.counts / expected)) / reports.total)


def class_covariance(reports: Reports, cells: Vector, fits: list[Fit], weights: Vector, to_intervals: Matrix) -> Matrix:
    """The multinomial covariance of the classes, plus what the fits do not know of the shape inside a class."""
    inside = cells / np.maximum(reports.table.T @ (reports.table @ cells), 1e-300)
    split = (to_intervals * inside) @ reports.table.T
    share = reports.counts / reports.total
    covariance = split @ ((np.diag(share) - np.outer(share, share)) / reports.total) @ split.T
    shape_only = Aggregation.of(to_intervals - split @ reports.table, np.zeros((len(split), 0)), [])
    for fit, weight in zip(fits, weights, strict=True):
        covariance += weight * shape_only.covariance(fit)
    return np.asarray(covariance)
