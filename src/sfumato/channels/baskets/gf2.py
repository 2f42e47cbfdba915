"""Arithmetic over GF(2): the fields GF(2^w) and systems of linear equations in bits.

A bit vector is a row of 64-bit words, bit i in word i // 64 at place i % 64. An element of GF(2^w) is the number whose
bits are its coefficients in powers of a primitive element.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Codes = NDArray[np.int64]

DEPENDENT = "the equations are linearly dependent: ask for at most as many items as the seeds are made for"

PRIMITIVE_POLYNOMIALS = {
    2: 0x7, 3: 0xB, 4: 0x13, 5: 0x25, 6: 0x43, 7: 0x89, 8: 0x11D, 9: 0x211, 10: 0x409, 11: 0x805, 12: 0x1053,
    13: 0x201B, 14: 0x4443, 15: 0x8003, 16: 0x1100B, 17: 0x20009, 18: 0x40081, 19: 0x80027, 20: 0x100009, 21: 0x200005,
    22: 0x400003,
}  # fmt: skip


class BinaryField:
    """GF(2^degree) by tables: `powers[e]` is the primitive element to the e, `logs` its inverse."""

    def __init__(self, degree: int) -> None:
        if degree not in PRIMITIVE_POLYNOMIALS:
            raise ValueError(f"GF(2^{degree}) is not tabulated: degrees 2 to {max(PRIMITIVE_POLYNOMIALS)} are")
        self.degree = degree
        self.order = (1 << degree) - 1
        self.powers = _powers(degree)
        self.logs = np.zeros(self.order + 1, dtype=np.int64)
        self.logs[self.powers] = np.arange(self.order)

    def multiply(self, a: Codes, b: Codes) -> Codes:
        product = self.powers[(self.logs[a] + self.logs[b]) % self.order]
        return np.where((a == 0) | (b == 0), 0, product)

    def power(self, a: Codes, exponent: int) -> Codes:
        if exponent == 0:
            return np.ones_like(a)
        return np.where(a == 0, 0, self.powers[(self.logs[a] * exponent) % self.order])


def _powers(degree: int) -> Codes:
    polynomial, element = PRIMITIVE_POLYNOMIALS[degree], 1
    powers = np.empty((1 << degree) - 1, dtype=np.int64)
    for exponent in range(powers.size):
        powers[exponent] = element
        element <<= 1
        if element >> degree:
            element ^= polynomial
    return powers


@cache
def binary_field(degree: int) -> BinaryField:
    return BinaryField(degree)


def pack_bits(bits: NDArray[np.bool_]) -> Words:
    """Rows of bits as rows of words."""
    width = -(-bits.shape[-1] // 64)
    padded = np.zeros((*bits.shape[:-1], 64 * width), dtype=np.uint8)
    padded[..., : bits.shape[-1]] = bits
    return np.packbits(padded, axis=-1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def unpack_bits(words: Words, count: int) -> NDArray[np.bool_]:
    """The first `count` bits of rows of words."""
    octets = np.ascontiguousarray(words.astype("<u8", copy=False)).view(np.uint8)
    return np.unpackbits(octets, axis=-1, bitorder="little", count=count).astype(bool)


def parity(words: Words) -> Words:
    """The sum modulo 2 of all bits of each row."""
    return np.asarray(np.bitwise_count(np.bitwise_xor.reduce(words, axis=-1)) & 1, dtype=np.uint64)


def solve(equations: Words, wanted: Words) -> Words:
    """One x with <equation, x> = wanted (mod 2), for every system of a stack.

    `equations` is (systems, equations, words) of linearly independent rows, `wanted` is (systems, equations) of 0/1.
    Elimination keeps one pivot bit an equation; the bits of x that are no pivot are zero.
    """
    rows, right = equations.copy(), wanted.astype(np.uint64)
    systems, count, _ = rows.shape
    each = np.arange(systems)
    words, places = np.empty((systems, count), dtype=np.int64), np.empty((systems, count), dtype=np.uint64)
    for i in range(count):
        word, place = _lowest_bit(rows[:, i])
        words[:, i], places[:, i] = word, place
        holds = (rows[each, :, word] >> place[:, None]) & np.uint64(1)
        holds[:, i] = 0
        rows ^= np.where(holds[:, :, None] == 1, rows[:, i : i + 1], np.uint64(0))
        right ^= holds & right[:, i : i + 1]
    solution = np.zeros((systems, rows.shape[2]), dtype=np.uint64)
    for i in range(count):
        solution[each, words[:, i]] ^= right[:, i] << places[:, i]
    return solution


def _lowest_bit(rows: Words) -> tuple[Codes, Words]:
    """Word and place of the lowest set bit of each row."""
    filled = rows != 0
    if not filled.any(axis=1).all():
        raise ValueError(DEPENDENT)
    word = filled.argmax(axis=1)
    chosen = rows[np.arange(len(rows)), word]
    lowest = chosen & (~chosen + np.uint64(1))
    return word.astype(np.int64), np.asarray(np.bitwise_count(lowest - np.uint64(1)), dtype=np.uint64)
