"""Functions that give the same digits on every machine: exponential, logarithm, the normal tail, Cholesky's factor.

A program's whole numbers are its identity, so every machine must compile the same ones from the same plan. The
functions of a library or a processor differ in their last digit; +, −, ×, ÷ and √, rounded as IEEE 754 says, do not.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from sfumato.domain import Floats

LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
SQRT_2PI = float.fromhex("0x1.40d931ff62706p+1")
FROM_FRACTION = 3.0
"""Beyond this the tail is a continued fraction, before it a series."""


def exponential(x: Floats) -> Floats:
    """e^x for x ≤ 0, as 2^n·e^r with |r| ≤ ½·ln 2: Σ r^k/k! by Horner's rule."""
    n = np.rint(np.maximum(x, -800.0) / (LN2_HIGH + LN2_LOW))
    r = (np.maximum(x, -800.0) - n * LN2_HIGH) - n * LN2_LOW
    total = np.ones_like(r)
    for k in range(14, 0, -1):
        total = 1 + r * total / k
    return np.asarray(np.ldexp(total, n.astype(np.int64)))


def normal_tail(t: Floats) -> Floats:
    """Φ(−t) for t ≥ 0.

    ½ − φ(t)·Σ_k t^(2k+1) / (1·3·…·(2k+1)) near the middle, φ(t) / (t + 1/(t + 2/(t + 3/…))) beyond.
    """
    t = np.asarray(t, dtype=np.float64)
    near, far = np.minimum(t, FROM_FRACTION), np.maximum(t, FROM_FRACTION)
    series = np.zeros_like(t)
    for k in range(40, -1, -1):
        series = near / (2 * k + 1) * (1 + near * series)
    fraction = np.array(far)
    for k in range(60, 0, -1):
        fraction = far + k / fraction
    density = exponential(-0.5 * t * t) / SQRT_2PI
    return np.asarray(np.where(t < FROM_FRACTION, 0.5 - density * series, density / fraction))


@lru_cache
def normal_quantile(p: float) -> float:
    """z(p) with Φ(z) = p, for ½ ≤ p < 1: the t where Φ(−t) comes down to 1 − p, by bisection to the last digit."""
    low, high = 0.0, 40.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if normal_tail(np.array(middle)) > 1 - p else (low, middle)
    return high


def logarithm(x: float) -> float:
    """ln x for x > 0, as ln m + n·ln 2 with ½ < m·√½ ≤ 1 and ln m = 2·Σ s^(2k+1)/(2k+1), s = (m − 1)/(m + 1)."""
    m, n = math.frexp(x)
    if m * m < 0.5:
        m, n = 2 * m, n - 1
    s = (m - 1) / (m + 1)
    total = 0.0
    for k in range(25, -1, -1):
        total = 1 / (2 * k + 1) + s * s * total
    return n * LN2_HIGH + (2 * s * total + n * LN2_LOW)


def cholesky(matrix: Floats) -> Floats:
    """The lower triangle L with L·Lᵀ = matrix; the sums are rounded once."""
    lower = np.zeros_like(matrix)
    for i, j in zip(*np.tril_indices(len(matrix)), strict=True):
        rest = matrix[i, j] - math.fsum(lower[i, :j] * lower[j, :j])
        lower[i, j] = math.sqrt(rest) if i == j else rest / lower[j, j]
    return lower
