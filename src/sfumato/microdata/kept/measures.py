"""What a release keeps of the statistics of a table: each with its bias.

Biases of type A, B, C and D (Muralidhar et al. 1999), each with its sampling interval:

    A   relative bias of a variance                      s²(Y)/s²(X) − 1
    B   change of a correlation between perturbed fields
    C   change of a correlation between a perturbed field and one that was kept, or a class
    D   change of a marginal distribution                max |F_Y − F_X|
    mean (no letter)  change of a mean, in standard deviations

X and Y are paired record by record, so a statistic's standard error comes from its influence on each pair; a bias is
called "within" when it is no larger than chance makes it in 99 % of releases without bias.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import ks_2samp, kstwobign
from scipy.stats.contingency import association, crosstab

from sfumato.domain import Codes, Floats
from sfumato.microdata.table.fields import Mask, Microdata

CONFIDENCE = 0.99
FEWEST = 3
"""Records without which a statistic has no error of its own: of two, r is 1 or −1."""
Z = float(ndtri((1 + CONFIDENCE) / 2))


@dataclass(frozen=True)
class Bias:
    """One statistic's bias and the largest one that sampling alone explains."""

    type: str
    what: str
    bias: float
    allowed: float

    @property
    def within(self) -> bool:
        return abs(self.bias) <= self.allowed + 1e-12

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "within": self.within}


def find_biases(original: Microdata, released: Microdata, kept: Mask | None = None) -> list[Bias]:
    """Every bias of the numeric fields that vary; of those in which nobody or hardly anybody has a value, none."""
    varied = np.flatnonzero(original.numeric & vary(original.X)).tolist()
    held = np.zeros(len(original.fields), bool) if kept is None else kept
    names, X, Y = original.names, original.X, released.X
    found = [bias for i in varied if not held[i] for bias in _marginal(names[i], X[:, i], Y[:, i])]
    for pair in map(list, combinations(varied, 2)):
        if not held[pair].all():
            what = f"{names[pair[0]]} and {names[pair[1]]}"
            found += _pair("C" if held[pair].any() else "B", what, X[:, pair], Y[:, pair])
    for label in range(len(original.classes) - (len(original.classes) <= 2)):
        before, after = (np.asarray(data.y == label, float) for data in (original, released))
        for i in varied:
            what = f"{names[i]} and {original.target}={original.classes[label]}"
            found += _pair("C", what, np.column_stack([X[:, i], before]), np.column_stack([Y[:, i], after]))
    return found


def vary(X: Floats) -> Mask:
    """The columns in which two known values differ."""
    known = ~np.isnan(X)
    return np.asarray(np.where(known, X, -np.inf).max(axis=0) > np.where(known, X, np.inf).min(axis=0))


def compared(data: Microdata) -> tuple[Codes, Codes]:
    """The pairs of fields that enough records have both of."""
    known = (~np.isnan(data.X)).astype(np.int64)
    first, second = np.nonzero(np.triu(known.T @ known >= FEWEST, 1))
    return first, second


def _marginal(name: str, x: Floats, y: Floats) -> list[Bias]:
    known = ~(np.isnan(x) | np.isnan(y))
    x, y, n = x[known], y[known], int(known.sum())
    if n < FEWEST:
        return []
    dx, dy = x - x.mean(), y - y.mean()
    vx, vy = (dx**2).mean(), (dy**2).mean()
    if vx == 0:
        return []
    influence = (dy**2 - vy) / vx - vy / vx * (dx**2 - vx) / vx
    distance = ks_2samp(x, y, method="asymp").statistic
    return [
        Bias("mean", name, float((y.mean() - x.mean()) / np.sqrt(vx)), Z * float((y - x).std() / np.sqrt(vx * n))),
        Bias("A", name, float(vy / vx - 1), Z * float(influence.std() / np.sqrt(n))),
        Bias("D", name, float(distance), float(kstwobign.ppf(CONFIDENCE) * np.sqrt(2 / n))),
    ]


def _pair(kind: str, what: str, before: Floats, after: Floats) -> list[Bias]:
    known = ~(np.isnan(before).any(axis=1) | np.isnan(after).any(axis=1))
    if known.sum() < FEWEST:
        return []
    (r_before, i_before), (r_after, i_after) = _correlation(before[known]), _correlation(after[known])
    influence = i_after - i_before
    return [Bias(kind, what, r_after - r_before, Z * float(influence.std() / np.sqrt(influence.size)))]


def _correlation(pair: Floats) -> tuple[float, Floats]:
    """r and the influence of every record on it: z₁z₂ − r(z₁² + z₂²)/2."""
    deviation = pair.std(axis=0)
    standard = (pair - pair.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    product = standard.prod(axis=1)
    r = float(product.mean())
    return r, product - r * (standard**2).sum(axis=1) / 2


# --- associations -----------------------------------------------------------------------------------------------------


def associations(data: Microdata) -> Floats:
    """Strength of association of every pair of fields, 0..1.

    Two numbers: |r|. A category and a number: √η², the share of variance between the categories. Two categories:
    Cramér's V.
    """
    strength = np.eye(len(data.fields))
    full = np.flatnonzero(data.numeric & ~np.isnan(data.X).any(axis=0))
    if len(data.y) > 1:
        strength[np.ix_(full, full)] = _correlations(data.X[:, full])
    for j, i in combinations(range(len(data.fields)), 2):
        if not {i, j} <= set(full.tolist()):
            strength[i, j] = strength[j, i] = _association(data, i, j)
    return strength


def _correlations(X: Floats) -> Floats:
    """|r| of every two columns, 0 with one that does not vary, 1 with itself."""
    centred = X - X.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    scale = np.outer(size, size)
    found = np.abs(centred.T @ centred) / np.where(scale > 0, scale, 1.0)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


def _association(data: Microdata, i: int, j: int) -> float:
    known = ~np.isnan(data.X[:, [i, j]]).any(axis=1)
    x, y = data.X[known, i], data.X[known, j]
    if x.size < 2:
        return 0.0
    if data.numeric[i] and data.numeric[j]:
        spread = x.std() * y.std()
        return float(abs(((x - x.mean()) * (y - y.mean())).mean()) / spread) if spread > 0 else 0.0
    if data.numeric[i] or data.numeric[j]:
        number, code = (x, y) if data.numeric[i] else (y, x)
        return _correlation_ratio(number, code.astype(np.int64))
    return _cramer(x.astype(np.int64), y.astype(np.int64))


def _correlation_ratio(number: Floats, code: Codes) -> float:
    count = np.bincount(code)
    mean = np.bincount(code, number) / np.maximum(count, 1)
    total = ((number - number.mean()) ** 2).sum()
    return float(np.sqrt((count * (mean - number.mean()) ** 2).sum() / total)) if total > 0 else 0.0


def _cramer(first: Codes, second: Codes) -> float:
    table = crosstab(first, second).count
    return float(association(table, method="cramer")) if min(table.shape) > 1 else 0.0
