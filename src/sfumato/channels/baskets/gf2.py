"""Arithmetic over GF(2): rows of bits, the fields GF(2^w) and systems of linear equations in bits.

A bit vector is a row of 64-bit words, bit i in word i // 64 at place i % 64. An element of GF(2^w) is the number whose
bits are its coefficients in powers of a primitive element. What a device calls does the same work for all values.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Codes

Words = NDArray[np.uint64]

DEPENDENT = "the equations are linearly dependent; ask for at most as many items as the seeds are made for, each once"

PRIMITIVE_POLYNOMIALS = {
    2: 0x7, 3: 0xB, 4: 0x13, 5: 0x25, 6: 0x43, 7: 0x89, 8: 0x11D, 9: 0x211, 10: 0x409, 11: 0x805, 12: 0x1053,
    13: 0x201B, 14: 0x4443, 15: 0x8003, 16: 0x1100B, 17: 0x20009, 18: 0x40081, 19: 0x80027, 20: 0x100009, 21: 0x200005,
    22: 0x400003,
}  # fmt: skip


class BinaryField:
    """GF(2^w) by tables: `powers[e]` is the primitive element to the e for e below 2 (2^w - 1), `logs` its inverse."""

    def __init__(self, polynomial: int) -> None:
        self.degree = polynomial.bit_length() - 1
        self.order = (1 << self.degree) - 1
        self.powers = np.tile(_powers(polynomial), 2)
        self.logs = np.zeros(self.order + 1, dtype=np.int64)
        self.logs[self.powers[: self.order]] = np.arange(self.order)

    def multiply(self, a: Codes, b: Codes) -> Codes:
        return np.where((a == 0) | (b == 0), 0, self.powers[self.logs[a] + self.logs[b]])

    def divide(self, a: Codes, b: Codes) -> Codes:
        """a / b for b other than 0."""
        return np.where(a == 0, 0, self.powers[self.logs[a] + self.order - self.logs[b]])

    def power(self, a: Codes, exponent: int) -> Codes:
        if exponent == 0:
            return np.ones_like(a)
        return np.where(a == 0, 0, self.powers[(self.logs[a] * exponent) % self.order])


def _powers(polynomial: int) -> Codes:
    degree, element = polynomial.bit_length() - 1, 1
    powers = np.empty((1 << degree) - 1, dtype=np.int64)
    for exponent in range(powers.size):
        powers[exponent] = element
        element <<= 1
        if element >> degree:
            element ^= polynomial
    return powers


@cache
def binary_field(polynomial: int) -> BinaryField:
    """The field of a primitive polynomial, written as the number whose bits are its coefficients."""
    return BinaryField(polynomial)


def primitive_polynomial(degree: int) -> int:
    if degree not in PRIMITIVE_POLYNOMIALS:
        raise ValueError(f"GF(2^{degree}) is not tabulated; use degrees 2 to {max(PRIMITIVE_POLYNOMIALS)}: fewer items")
    return PRIMITIVE_POLYNOMIALS[degree]


def bitmap_width(items: int) -> int:
    """Words in a bitmap."""
    return -(-items // 64)


def item_mask(items: int) -> Words:
    """A bitmap with every item."""
    return pack_bits(np.ones(items, dtype=bool))


def pack_bits(bits: NDArray[np.bool_]) -> Words:
    """Rows of bits as rows of words."""
    padded = np.zeros((*bits.shape[:-1], 64 * bitmap_width(bits.shape[-1])), dtype=np.uint8)
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
    Equation by equation, the lowest bit that is left becomes its pivot and is cleared from all others; the bits of x
    that are no pivot are zero.
    """
    rows, right = equations.copy(), wanted.astype(np.uint64)
    pivots = np.empty_like(rows)
    for i in range(rows.shape[1]):
        pivots[:, i] = lowest_bits(rows[:, i])
        holds = np.bitwise_or.reduce(rows & pivots[:, i : i + 1], axis=-1) != 0
        holds[:, i] = False
        rows ^= rows[:, i : i + 1] * holds[:, :, None]
        right ^= right[:, i : i + 1] * holds
    if not pivots.any(axis=-1).all():
        raise ValueError(DEPENDENT)
    return np.asarray(np.bitwise_xor.reduce(pivots * right[:, :, None], axis=1))


def lowest_bits(rows: Words) -> Words:
    """Each row with its lowest set bit only."""
    lowest = rows & (~rows + np.uint64(1))
    empty = np.ones(len(rows), dtype=bool)
    for word in range(rows.shape[1]):
        lowest[:, word] *= empty
        empty &= rows[:, word] == 0
    return lowest
