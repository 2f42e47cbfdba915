"""Statistics kept or not: associations, and biases of type A, B, C and D (Muralidhar et al. 1999), each with its
sampling interval.

    A   relative bias of a variance                      s²(Y)/s²(X) − 1
    B   change of a correlation between perturbed fields
    C   change of a correlation between a perturbed field and one that was kept, or a class
    D   change of a marginal distribution                max |F_Y − F_X|
    mean (no letter)  change of a mean, in standard deviations

X and Y are paired record by record, so a statistic's standard error comes from its influence on each pair; a bias is
called "within" when it is no larger than chance makes it in 99 % of releases without bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import kstwobign

from sfumato.domain import Codes, Floats
from sfumato.microdata.fields import Mask, Microdata

CONFIDENCE = 0.99


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


def find_biases(
    original: Microdata, released: Microdata, kept: Mask | None = None, confidence: float = CONFIDENCE
) -> list[Bias]:
    """Every bias of the numeric fields; needs three records or more."""
    numeric = original.numeric & ~np.isnan(original.X).all(axis=0)
    numeric &= np.nan_to_num(np.nanstd(np.where(np.isnan(original.X), 0, original.X), axis=0)) > 0
    names = np.array(original.names)[numeric].tolist()
    held = np.zeros(numeric.size, bool) if kept is None else kept
    X, Y = original.X[:, numeric], released.X[:, numeric]
    z = float(ndtri((1 + confidence) / 2))
    found = []
    for place, name in enumerate(names):
        if not held[numeric][place]:
            found += _marginal(name, X[:, place], Y[:, place], z, confidence)
    first, second = np.triu_indices(len(names), 1)
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        kinds = held[numeric][[i, j]]
        if not kinds.all():
            kind, what = "C" if kinds.any() else "B", f"{names[i]} and {names[j]}"
            found.append(_pair(kind, what, X[:, [i, j]], Y[:, [i, j]], z))
    return [*found, *_with_classes(original, released, names, X, Y, z)]


def _with_classes(
    original: Microdata, released: Microdata, names: list[str], X: Floats, Y: Floats, z: float
) -> Iterator[Bias]:
    labels = range(1 if len(original.classes) == 2 else len(original.classes))
    for label in labels:
        before, after = (np.asarray(data.y == label, float) for data in (original, released))
        for place, name in enumerate(names):
            what = f"{name} and {original.target}={original.classes[label]}"
            yield _pair("C", what, np.column_stack([X[:, place], before]), np.column_stack([Y[:, place], after]), z)


def _marginal(name: str, x: Floats, y: Floats, z: float, confidence: float) -> list[Bias]:
    known = ~(np.isnan(x) | np.isnan(y))
    x, y, n = x[known], y[known], max(int(known.sum()), 1)
    dx, dy = x - x.mean(), y - y.mean()
    vx, vy = (dx**2).mean(), (dy**2).mean()
    if vx == 0:
        return []
    influence = (dy**2 - vy) / vx - vy / vx * (dx**2 - vx) / vx
    both = np.sort(np.concatenate([x, y]))
    distance = np.abs(_below(x, both) - _below(y, both)).max()
    return [
        Bias("mean", name, float((y.mean() - x.mean()) / np.sqrt(vx)), z * float((y - x).std() / np.sqrt(vx * n))),
        Bias("A", name, float(vy / vx - 1), z * float(influence.std() / np.sqrt(n))),
        Bias("D", name, float(distance), float(kstwobign.ppf(confidence) * np.sqrt(2 / n))),
    ]


def _below(values: Floats, places: Floats) -> Floats:
    return np.asarray(np.searchsorted(np.sort(values), places, side="right") / values.size)


def _pair(kind: str, what: str, before: Floats, after: Floats, z: float) -> Bias:
    known = ~(np.isnan(before).any(axis=1) | np.isnan(after).any(axis=1))
    (r_before, i_before), (r_after, i_after) = _correlation(before[known]), _correlation(after[known])
    influence = i_after - i_before
    return Bias(kind, what, r_after - r_before, z * float(influence.std() / np.sqrt(max(influence.size, 1))))


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
    p = len(data.fields)
    strength = np.eye(p)
    for i in range(p):
        for j in range(i):
            known = ~np.isnan(data.X[:, [i, j]]).any(axis=1)
            strength[i, j] = strength[j, i] = _association(data, i, j, known) if known.sum() > 1 else 0.0
    return strength


def _association(data: Microdata, i: int, j: int, known: Any) -> float:
    x, y = data.X[known, i], data.X[known, j]
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
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), 1)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    least = min(table.shape) - 1
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / (table.sum() * least))) if least else 0.0
