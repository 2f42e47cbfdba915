"""Biases of a release's statistics, each with the size that chance explains; and associations between columns.

Biases of type A, B, C and D (Muralidhar et al. 1999), each with its sampling interval:

    A   relative bias of a variance                      s²(Y)/s²(X) − 1
    B   change of a correlation between perturbed fields
    C   change of a correlation between a perturbed field and one that was kept, or a class
    D   change of a marginal distribution                max |F_Y − F_X|
    mean (no letter)  change of a mean, in standard deviations

X and Y are paired record by record, so a statistic's standard error comes from its influence on each pair; a bias is
"within" chance when it is no larger than in 99 % of releases without bias.
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
"""The share of releases without bias whose statistics lie within the stated limits; a convention, stated in the
report."""

FEWEST = 3
"""The fewest records for a statistic with an error: of two, r is always 1 or −1."""

Z = float(ndtri((1 + CONFIDENCE) / 2))  # CONFIDENCE in standard errors: 2.58


@dataclass(frozen=True)
class Bias:
    """How far one statistic of a release is from the original's, and how far chance alone may move it (``allowed``).

    ``type``: "mean", "A", "B", "C" or "D" (see the head of this module). ``what``: the columns, as text.
    """

    type: str
    what: str
    bias: float
    allowed: float

    @property
    def within(self) -> bool:
        """Whether chance alone explains the difference."""
        return abs(self.bias) <= self.allowed + 1e-12

    def to_dict(self) -> dict[str, Any]:
        """Return the bias as plain data for JSON."""
        return {**asdict(self), "within": self.within}


def find_biases(original: Microdata, released: Microdata, kept: Mask | None = None) -> list[Bias]:
    """Measure how far means, variances, correlations and distributions of a release differ from the original's.

    Returns one `Bias` a statistic, for numeric fields that vary and in which enough records have a value.

    ``kept``: fields that stayed as they were (None: none).
    """
    varied = np.flatnonzero(original.numeric & vary(original.X)).tolist()
    is_kept = np.zeros(len(original.fields), bool) if kept is None else kept
    names, X, Y = original.names, original.X, released.X
    biases = [bias for i in varied if not is_kept[i] for bias in _marginal(names[i], X[:, i], Y[:, i])]
    for pair in map(list, combinations(varied, 2)):
        if not is_kept[pair].all():
            what = f"{names[pair[0]]} and {names[pair[1]]}"
            biases += _pair("C" if is_kept[pair].any() else "B", what, X[:, pair], Y[:, pair])
    for label in range(len(original.classes) - (len(original.classes) <= 2)):
        before, after = (np.asarray(data.y == label, float) for data in (original, released))
        for i in varied:
            what = f"{names[i]} and {original.target}={original.classes[label]}"
            biases += _pair("C", what, np.column_stack([X[:, i], before]), np.column_stack([Y[:, i], after]))
    return biases


def vary(X: Floats) -> Mask:
    """Return which columns of X[record, column] have two different values or more, as truth values."""
    present = ~np.isnan(X)
    return np.asarray(np.where(present, X, -np.inf).max(axis=0) > np.where(present, X, np.inf).min(axis=0))


def compared(data: Microdata) -> tuple[Codes, Codes]:
    """Return the pairs of fields (indices of the first, of the second) that at least FEWEST records have both of."""
    present = (~np.isnan(data.X)).astype(np.int64)
    first, second = np.nonzero(np.triu(present.T @ present >= FEWEST, 1))
    return first, second


def _marginal(name: str, x: Floats, y: Floats) -> list[Bias]:
    """Return how far one field's mean, variance and distribution are from the original's, as a list of `Bias`.

    ``x`` and ``y``: the true and the released values of the same records.
    """
    present = ~(np.isnan(x) | np.isnan(y))
    x, y, n = x[present], y[present], int(present.sum())
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
    """Return how far the correlation of two columns is from the original's, as a list of one `Bias`, or of none.

    ``before`` and ``after``: the columns in the original and in the release, [record, 2]. ``kind``: the bias's type.
    """
    present = ~(np.isnan(before).any(axis=1) | np.isnan(after).any(axis=1))
    if present.sum() < FEWEST:
        return []
    (r_before, i_before), (r_after, i_after) = _correlation(before[present]), _correlation(after[present])
    influence = i_after - i_before
    return [Bias(kind, what, r_after - r_before, Z * float(influence.std() / np.sqrt(influence.size)))]


def _correlation(pair: Floats) -> tuple[float, Floats]:
    """Return the correlation r of two columns and every record's influence on it, z₁z₂ − r(z₁² + z₂²)/2."""
    deviation = pair.std(axis=0)
    standard = (pair - pair.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    product = standard.prod(axis=1)
    r = float(product.mean())
    return r, product - r * (standard**2).sum(axis=1) / 2


# --- associations -----------------------------------------------------------------------------------------------------


def associations(data: Microdata) -> Floats:
    """Return how strongly every two fields go together, from 0 to 1, as an array [field, field].

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
    """Return the matrix of absolute correlations |r| of the columns; 0 with one that does not vary, 1 on the diagonal.
    """
    centred = X - X.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    scale = np.outer(size, size)
    strength = np.abs(centred.T @ centred) / np.where(scale > 0, scale, 1.0)
    np.fill_diagonal(strength, 1.0)
    return np.asarray(strength)


def _association(data: Microdata, i: int, j: int) -> float:
    """Return the strength of association of two fields over the records that have both."""
    present = ~np.isnan(data.X[:, [i, j]]).any(axis=1)
    x, y = data.X[present, i], data.X[present, j]
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
    """Return how strongly a number depends on a category: √η², η² the share of its variance between categories."""
    count = np.bincount(code)
    mean = np.bincount(code, number) / np.maximum(count, 1)
    total = ((number - number.mean()) ** 2).sum()
    return float(np.sqrt((count * (mean - number.mean()) ** 2).sum() / total)) if total > 0 else 0.0


def _cramer(first: Codes, second: Codes) -> float:
    """Return how strongly two categories go together: Cramér's V, from 0 to 1; 0 where one has a single value."""
    table = crosstab(first, second).count
    return float(association(table, method="cramer")) if min(table.shape) > 1 else 0.0
