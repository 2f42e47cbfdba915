"""Mathematical functions with the same digits on every machine: e^x, ln x, the normal tail, Cholesky's factor.

A program's whole numbers are its identity, so every machine must compile the same ones from the same plan. The
functions of a library or a processor differ in their last digit; +, −, ×, ÷ and √, rounded as IEEE 754 says, do not
(docs/decisions/0011). The numbers of terms below are by judgement, more than the last digit needs: tests/channels/
test_portable.py compares with SciPy.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from sfumato.domain import Floats

LN2_HIGH = float.fromhex("0x1.62e42feep-1")  # ln 2 to 32 bits: n·LN2_HIGH is exact (fdlibm's e_exp)
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")  # what is left of ln 2, to the nearest float (fdlibm's e_exp)
SQRT_2PI = float.fromhex("0x1.40d931ff62706p+1")  # √(2π), to the nearest float
FRACTION_FROM = 3.0
"""Deviations at which the series for the normal tail ends and the continued fraction begins. By judgement: just below
it the series has lost three digits to cancellation (1.5e-13 of the tail); above it the fraction needs 60 levels."""


def exponential(x: Floats) -> Floats:
    """Return e^x for x ≤ 0, the same on every machine.

        2^n·e^r with |r| ≤ ½·ln 2,   e^r = Σ r^k/k! by Horner's rule
    """
    bounded = np.maximum(x, -800.0)  # e^−800 is 0 in floats, as is everything below
    n = np.rint(bounded / (LN2_HIGH + LN2_LOW))
    r = (bounded - n * LN2_HIGH) - n * LN2_LOW
    total = np.ones_like(r)
    for k in range(14, 0, -1):
        total = 1 + r * total / k
    return np.asarray(np.ldexp(total, n.astype(np.int64)))


def normal_tail(t: Floats) -> Floats:
    """Return Φ(−t) for t ≥ 0, the chance that a normal number lies t deviations or more above its mean.

        t < 3:  ½ − φ(t)·Σ_k t^(2k+1) / (1·3·…·(2k+1))
        t ≥ 3:  φ(t) / (t + 1/(t + 2/(t + 3/…)))
    """
    t = np.asarray(t, dtype=np.float64)
    near, far = np.minimum(t, FRACTION_FROM), np.maximum(t, FRACTION_FROM)
    series = np.zeros_like(t)
    for k in range(40, -1, -1):
        series = near / (2 * k + 1) * (1 + near * series)
    fraction = np.array(far)
    for k in range(60, 0, -1):
        fraction = far + k / fraction
    density = exponential(-0.5 * t * t) / SQRT_2PI
    return np.asarray(np.where(t < FRACTION_FROM, 0.5 - density * series, density / fraction))


@lru_cache
def normal_quantile(p: float) -> float:
    """Return the quantile z of the normal law, Φ(z) = p, for ½ ≤ p < 1, by bisection to the last digit."""
    low, high = 0.0, 40.0  # Φ(−40) is 0 in floats
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if normal_tail(np.array(middle)) > 1 - p else (low, middle)
    return high


def logarithm(x: float) -> float:
    """Return ln x for x > 0, the same on every machine, as ln m + n·ln 2 with √½ ≤ m < √2.

        ln m = 2·Σ_k s^(2k+1)/(2k+1),   s = (m − 1)/(m + 1)
    """
    m, n = math.frexp(x)
    if m * m < 0.5:
        m, n = 2 * m, n - 1
    s = (m - 1) / (m + 1)
    total = 0.0
    for k in range(25, -1, -1):
        total = 1 / (2 * k + 1) + s * s * total
    return n * LN2_HIGH + (2 * s * total + n * LN2_LOW)


def cholesky(matrix: Floats) -> Floats:
    """Return Cholesky's factor, the lower triangle L with L·Lᵀ = matrix, the same on every machine.

    Each sum is rounded once, by ``math.fsum``.
    """
    lower = np.zeros_like(matrix)
    for i, j in zip(*np.tril_indices(len(matrix)), strict=True):
        remainder = matrix[i, j] - math.fsum(lower[i, :j] * lower[j, :j])
        lower[i, j] = math.sqrt(remainder) if i == j else remainder / lower[j, j]
    return lower
