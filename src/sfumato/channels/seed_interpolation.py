"""Steering polynomial seeds by interpolation: ten times faster than solving their equations bit by bit.

The seed's bits are the coefficients of f over GF(2^w). To make f(x_i) end in the wanted bits, add the polynomial of
degree below m that takes the differences at the m points (Newton's divided differences; in characteristic two a sum is
also a difference). The upper bits of f(x_i) stay as they are, so a uniform seed stays uniform among all that show it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.channels.gf2 import Codes, Words


@njit(cache=True)
def steer_polynomials(
    seeds: Words, degree: int, independence: int, depth: int, powers: Codes, logs: Codes, items: Codes, numbers: Codes
) -> None:
    """Change each seed in place so that the low `depth` bits of f(items) are `numbers`."""
    size = items.shape[1]
    low_bits = (np.int64(1) << depth) - 1
    coefficients = np.empty(independence, dtype=np.int64)
    difference, correction = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for row in range(seeds.shape[0]):
        for c in range(independence):
            coefficients[c] = _read(seeds[row], c * degree, degree)
        for i in range(size):
            value = _evaluate(coefficients, items[row, i], powers, logs)
            difference[i] = (value & low_bits) ^ numbers[row, i]
        _interpolate(items[row], difference, correction, powers, logs)
        for c in range(size):
            _add(seeds[row], c * degree, degree, correction[c])


@njit(cache=True)
def _multiply(a: np.int64, b: np.int64, powers: Codes, logs: Codes) -> np.int64:
    if a == 0 or b == 0:
        return np.int64(0)
    exponent = logs[a] + logs[b]
    return np.int64(powers[exponent - powers.size if exponent >= powers.size else exponent])


@njit(cache=True)
def _divide(a: np.int64, b: np.int64, powers: Codes, logs: Codes) -> np.int64:
    if a == 0:
        return np.int64(0)
    exponent = logs[a] - logs[b]
    return np.int64(powers[exponent + powers.size if exponent < 0 else exponent])


@njit(cache=True)
def _evaluate(coefficients: Codes, point: np.int64, powers: Codes, logs: Codes) -> np.int64:
    value = np.int64(0)
    for c in range(coefficients.size - 1, -1, -1):
        value = _multiply(value, point, powers, logs) ^ coefficients[c]
    return value


@njit(cache=True)
def _interpolate(points: Codes, values: Codes, coefficients: Codes, powers: Codes, logs: Codes) -> None:
    """The coefficients of the polynomial through the values; `values` becomes Newton's divided differences."""
    size = points.size
    for order in range(1, size):
        for i in range(size - 1, order - 1, -1):
            values[i] = _divide(values[i] ^ values[i - 1], points[i] ^ points[i - order], powers, logs)
    coefficients[:] = 0
    for i in range(size - 1, -1, -1):
        for c in range(size - 1, 0, -1):
            coefficients[c] = coefficients[c - 1] ^ _multiply(coefficients[c], points[i], powers, logs)
        coefficients[0] = _multiply(coefficients[0], points[i], powers, logs) ^ values[i]


@njit(cache=True)
def _read(seed: Words, start: int, length: int) -> np.int64:
    word, place = start >> 6, start & 63
    bits = seed[word] >> np.uint64(place)
    if place + length > 64:
        bits |= seed[word + 1] << np.uint64(64 - place)
    return np.int64(bits & np.uint64((1 << length) - 1))


@njit(cache=True)
def _add(seed: Words, start: int, length: int, value: np.int64) -> None:
    word, place = start >> 6, start & 63
    seed[word] ^= np.uint64(value) << np.uint64(place)
    if place + length > 64:
        seed[word + 1] ^= np.uint64(value) >> np.uint64(64 - place)
