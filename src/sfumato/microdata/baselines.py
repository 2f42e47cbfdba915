"""Whole-table methods to compare with: they know nothing of the tree, and leave the class as it is.

    "sadp"        y = x + amount·sd(x)·N(0, 1), each attribute alone (Kim 1986)
    "correlated"  y = μ + (x − μ + e)/√(1 + amount²), e ~ N(0, amount²·Σ) (Tendick and Matloff 1994)
    "gadp-table"  GADP with S the class and the attributes kept, κ² = 1 − amount
    "swap"        values exchanged between records whose ranks lie within ``amount`` of each other

Numbers are then rounded to the attribute's type and clipped to its domain.
"""

from __future__ import annotations

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.gadp import gadp, root
from sfumato.microdata.leaves import Mask
from sfumato.microdata.noise import ranked_within
from sfumato.microdata.table import Microdata

BASELINES = ("sadp", "correlated", "gadp-table", "swap")


def blur_whole_table(data: Microdata, method: str, amount: Floats, kept: Mask, draws: Draws) -> Floats:
    """One of the methods above on every attribute that is not kept."""
    blurred = {"sadp": _simple, "correlated": _correlated, "gadp-table": _general, "swap": _swapped}[method]
    released = np.where(kept, data.X, blurred(data, amount, kept, draws))
    for place, attribute in enumerate(data.attributes):
        column = released[:, place]
        low, high = np.full(column.shape, attribute.low), np.full(column.shape, attribute.high)
        released[:, place] = attribute.snap(column, low, high)
    return released


def _simple(data: Microdata, amount: Floats, kept: Mask, draws: Draws) -> Floats:
    return data.X + amount * np.nan_to_num(_sd(data.X)) * draws.normal(data.X.shape)


def _correlated(data: Microdata, amount: Floats, kept: Mask, draws: Draws) -> Floats:
    mean, covariance = moments(data.X)
    noise = amount * (draws.normal(data.X.shape) @ root(covariance).T)
    return mean + (data.X - mean + noise) / np.sqrt(1 + amount**2)


def _general(data: Microdata, amount: Floats, kept: Mask, draws: Draws) -> Floats:
    classes = np.eye(len(data.classes))[data.y][:, 1:]
    both = np.column_stack([data.X, classes])
    mean, covariance = moments(both)
    held = np.concatenate([kept, np.ones(classes.shape[1], bool)])
    return gadp(both, held, float(np.sqrt(1 - amount[0])), mean, covariance, draws)[:, : data.X.shape[1]]


def _swapped(data: Microdata, amount: Floats, kept: Mask, draws: Draws) -> Floats:
    """Walk the ranks upwards; each record not yet swapped exchanges with a random later one inside its window."""
    released = data.X.copy()
    for place in np.flatnonzero(~kept):
        known = np.flatnonzero(~np.isnan(data.X[:, place]))
        if known.size:
            order = known[ranked_within(data.X[known, place], np.zeros(known.size, np.int64), draws)[0]]
            partner = _partners(known.size, max(1, round(amount[place] * known.size)), draws)
            released[order, place] = data.X[order[partner], place]
    return released


def _partners(n: int, window: int, draws: Draws) -> Codes:
    partner, free = np.arange(n), np.ones(n, dtype=bool)
    for place, u in enumerate(draws.uniform(n).tolist()):
        if free[place]:
            later = np.flatnonzero(free[place + 1 : place + 1 + window])
            if later.size:
                other = place + 1 + int(later[int(u * later.size)])
                partner[place], partner[other] = other, place
                free[other] = False
            free[place] = False
    return partner.astype(np.int64)


def moments(X: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance, missing values replaced by the mean."""
    known = ~np.isnan(X)
    mean = np.where(known, X, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, X - mean, 0)
    return mean, np.asarray(centred.T @ centred / max(len(X) - 1, 1))


def _sd(X: Floats) -> Floats:
    return np.sqrt(np.diag(moments(X)[1]))
