"""Seeds: a few bits that stand for a whole randomized basket (EGS03 §6).

Every item i has b linear functions of the seed's bits; read as a number below 2^b, item i is in the basket that the
seed stands for iff that number is below a, so ρ = a/2^b. The functions are chosen so that those of any K items are
linearly independent: a uniform seed shows any K items exactly as independent coins would. Two constructions:

    BCH          column i of the parity-check matrix is (x^i, x^3i, .., x^(2t-1)i) over GF(2^h),
                 t = ⌈K b / 2⌉, h = ⌈log2(n b + 1)⌉: h t bits. Shorter for b = 1.
    polynomial   the low b bits of f(i), f a random polynomial of degree K-1 over GF(2^w),
                 w = max(⌈log2 n⌉, b): K w bits. Shorter for b ≥ 2.

A seed that shows wanted numbers on m ≤ K items: draw it uniformly, then add one solution of the m b equations that are
still wrong (BCH), or the polynomial of degree below m through the differences (polynomial). The upper bits of f stay as
they are. Either way the result is uniform over all seeds with those numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.baskets.reports import bitmap_width, item_mask, pack_bits, unpack_bits
from sfumato.channels.program import Words
from sfumato.channels.program.interpreter import kernels_in
from sfumato.domain import Codes

Construction = Literal["bch", "polynomial"]

NIBBLE = 4
ROWS_AT_ONCE = 2048
DEPENDENT = "the equations are linearly dependent; ask for at most as many items as the seeds are made for, each once"

PRIMITIVE_POLYNOMIALS = {
    2: 0x7, 3: 0xB, 4: 0x13, 5: 0x25, 6: 0x43, 7: 0x89, 8: 0x11D, 9: 0x211, 10: 0x409, 11: 0x805, 12: 0x1053,
    13: 0x201B, 14: 0x4443, 15: 0x8003, 16: 0x1100B, 17: 0x20009, 18: 0x40081, 19: 0x80027, 20: 0x100009, 21: 0x200005,
    22: 0x400003,
}  # fmt: skip


# --- the fields GF(2^w) -----------------------------------------------------------------------------------------------


class BinaryField:
    """GF(2^w) by tables: `powers[e]` is the primitive element to the e for e below 2 (2^w - 1), `logs` its inverse.

    An element is the number whose bits are its coefficients in powers of a primitive element.
    """

    def __init__(self, polynomial: int) -> None:
        degree, element = polynomial.bit_length() - 1, 1
        self.order = (1 << degree) - 1
        powers = np.empty(self.order, dtype=np.int64)
        for exponent in range(self.order):
            powers[exponent] = element
            element <<= 1
            if element >> degree:
                element ^= polynomial
        self.powers = np.tile(powers, 2)
        self.logs = np.zeros(self.order + 1, dtype=np.int64)
        self.logs[powers] = np.arange(self.order)

    def multiply(self, a: Codes, b: Codes) -> Codes:
        return np.where((a == 0) | (b == 0), 0, self.powers[self.logs[a] + self.logs[b]])

    def divide(self, a: Codes, b: Codes) -> Codes:
        """a / b for b other than 0."""
        return np.where(a == 0, 0, self.powers[self.logs[a] + self.order - self.logs[b]])

    def interpolate(self, points: Codes, values: Codes) -> Codes:
        """Row by row the coefficients of the polynomial that takes the values at the points (Newton's differences).

        In characteristic two a sum is also a difference.
        """
        size, newton = points.shape[1], values.copy()
        for order in range(1, size):
            rises = newton[:, order:] ^ newton[:, order - 1 : -1]
            newton[:, order:] = self.divide(rises, points[:, order:] ^ points[:, : size - order])
        coefficients = np.zeros_like(newton)
        for i in range(size - 1, -1, -1):
            scaled = self.multiply(coefficients, points[:, i : i + 1])
            coefficients[:, 1:] = coefficients[:, :-1] ^ scaled[:, 1:]
            coefficients[:, 0] = scaled[:, 0] ^ newton[:, i]
        return coefficients


@cache
def binary_field(polynomial: int) -> BinaryField:
    """The field of a primitive polynomial, written as the number whose bits are its coefficients."""
    return BinaryField(polynomial)


# --- seeds ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SeedGenerator:
    """Seeds for `items` items, ρ = threshold / 2^depth, any `independence` items independent."""

    items: int
    threshold: int
    depth: int
    independence: int
    construction: Construction
    polynomial: int

    @property
    def degree(self) -> int:
        return self.polynomial.bit_length() - 1

    @property
    def rho(self) -> float:
        return self.threshold / 2.0**self.depth

    @property
    def bits(self) -> int:
        return self.degree * elements_of(self.construction, self.depth, self.independence)

    @property
    def fits(self) -> bool:
        """Whether the field is tabulated, and large enough for any `independence` items to be independent."""
        smallest = degree_of(self.construction, self.items, self.depth)
        return self.polynomial in PRIMITIVE_POLYNOMIALS.values() and smallest <= self.degree

    @property
    def words(self) -> int:
        return bitmap_width(self.bits)

    @property
    def field(self) -> BinaryField:
        return binary_field(self.polynomial)

    @cached_property
    def columns(self) -> Words:
        """(item, bit, word): the linear function behind each bit of an item's number, most significant bit first."""
        return pack_bits(_bch_columns(self) if self.construction == "bch" else _polynomial_columns(self))

    # --- on the device ----------------------------------------------------------------------------------------------

    def trim(self, words: Words) -> Words:
        """Uniform words as uniform seeds: bits beyond the seed's length are cleared."""
        return np.asarray(words & item_mask(self.bits))

    def steer(self, seeds: Words, items: Codes, numbers: Codes) -> Words:
        """Seeds moved so that item items[r, c] shows numbers[r, c]; a uniform seed stays uniform among those."""
        if items.shape[1] > self.independence:
            raise ValueError(DEPENDENT)
        if not items.shape[1]:
            return seeds
        kernels = _compiled()
        if kernels is None:
            steer = self._solve if self.construction == "bch" else self._interpolate
            return steer(seeds, items, numbers)
        steered, points, wanted = np.array(seeds, order="C"), np.ascontiguousarray(items), np.ascontiguousarray(numbers)
        if self.construction == "bch":
            if kernels.steer_bch(steered, self.columns, points, wanted):
                raise ValueError(DEPENDENT)
        else:
            shape = (self.degree, self.independence, self.depth)
            kernels.steer_polynomials(steered, *shape, self.field.powers, self.field.logs, points, wanted)
        return steered

    def _solve(self, seeds: Words, items: Codes, numbers: Codes) -> Words:
        equations = self.columns[items].reshape(len(items), -1, seeds.shape[1])
        places = np.arange(self.depth - 1, -1, -1)
        wanted = ((numbers[:, :, None] >> places) & 1).reshape(len(items), -1).astype(np.uint64)
        return np.asarray(seeds ^ solve(equations, wanted ^ parity(equations & seeds[:, None, :])))

    def _interpolate(self, seeds: Words, items: Codes, numbers: Codes) -> Words:
        bits = unpack_bits(seeds, self.bits).reshape(len(seeds), self.independence, self.degree)
        coefficients = bits @ (np.int64(1) << np.arange(self.degree))
        values = np.zeros_like(items)
        for c in range(self.independence - 1, -1, -1):
            values = self.field.multiply(values, items) ^ coefficients[:, c : c + 1]
        difference = (values & ((1 << self.depth) - 1)) ^ numbers
        coefficients[:, : items.shape[1]] ^= self.field.interpolate(items, difference)
        return pack_bits(_bits_of(coefficients, self.degree).reshape(len(seeds), -1))

    # --- on the collector's side ------------------------------------------------------------------------------------

    def expand(self, seeds: Words, chosen: Codes | None = None) -> Words:
        """The bitmaps that seeds stand for, one row a seed: item i is in iff its number is below the threshold.

        With `chosen` bit i stands for item chosen[i].
        """
        tables = self._tables if chosen is None else self._tables_of(self.columns[chosen])
        mask, kernels = item_mask(self.items if chosen is None else chosen.size), _compiled()
        bitmaps = np.empty((len(seeds), mask.size), dtype=np.uint64)
        if kernels is not None:
            flat = tables.reshape(*tables.shape[:2], -1)
            kernels.expand(np.ascontiguousarray(seeds), flat, self.threshold, mask, bitmaps)
            return bitmaps
        for start in range(0, len(seeds), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            bitmaps[part] = self._below(seeds[part], tables) & mask
        return bitmaps

    def _below(self, seeds: Words, tables: Words) -> Words:
        """Which numbers are below the threshold, by a comparator on their planes."""
        planes = np.zeros((len(seeds), *tables.shape[2:]), dtype=np.uint64)
        for nibble, table in enumerate(tables):
            value = (seeds[:, nibble // 16] >> np.uint64(NIBBLE * (nibble % 16))) & np.uint64(15)
            planes ^= table[value.astype(np.int64)]
        below = np.zeros_like(planes[:, 0])
        equal = ~below
        for plane in range(self.depth):
            if (self.threshold >> (self.depth - 1 - plane)) & 1:
                below |= equal & ~planes[:, plane]
                equal &= planes[:, plane]
            else:
                equal &= ~planes[:, plane]
        return below

    @cached_property
    def _tables(self) -> Words:
        return self._tables_of(self.columns)

    def _tables_of(self, columns: Words) -> Words:
        """(nibble, value, plane, word): the planes of the items' numbers that four bits of the seed add."""
        functions = np.moveaxis(unpack_bits(columns, self.bits), 0, -1)  # plane, seed bit, item
        planes = np.moveaxis(pack_bits(functions), 1, 0)  # seed bit, plane, word
        by_nibble = np.zeros((-(-self.bits // NIBBLE), NIBBLE, *planes.shape[1:]), dtype=np.uint64)
        by_nibble.reshape(-1, *planes.shape[1:])[: self.bits] = planes
        tables = np.zeros_like(by_nibble[:, :1])
        for bit in range(NIBBLE):
            tables = np.concatenate([tables, tables ^ by_nibble[:, bit : bit + 1]], axis=1)
        return tables


def _compiled() -> Any:
    """The numba kernels, or None where numba is missing."""
    return kernels_in("sfumato.channels.baskets.kernels")


# --- choosing a construction ----------------------------------------------------------------------------------------


def seed_generator(
    items: int, threshold: int, depth: int, independence: int, construction: Construction | None = None
) -> SeedGenerator:
    """The shorter construction for ρ = threshold/2^depth, or the one asked for."""
    if construction is None:
        bch, polynomial = bch_bits(items, depth, independence), polynomial_bits(items, depth, independence)
        construction = "bch" if bch <= polynomial else "polynomial"
    degree = degree_of(construction, items, depth)
    if degree not in PRIMITIVE_POLYNOMIALS:
        raise ValueError(f"GF(2^{degree}) is not tabulated; use degrees 2 to {max(PRIMITIVE_POLYNOMIALS)}: fewer items")
    primitive = PRIMITIVE_POLYNOMIALS[degree]
    return shared_generator(SeedGenerator(items, threshold, depth, independence, construction, primitive))


@lru_cache(maxsize=64)
def shared_generator(seed: SeedGenerator) -> SeedGenerator:
    """The one generator of its kind, so that its columns and tables are built once."""
    return seed


def bch_bits(items: int, depth: int, independence: int) -> int:
    return degree_of("bch", items, depth) * elements_of("bch", depth, independence)


def polynomial_bits(items: int, depth: int, independence: int) -> int:
    return degree_of("polynomial", items, depth) * elements_of("polynomial", depth, independence)


def degree_of(construction: Construction, items: int, depth: int) -> int:
    """w of the smallest field that makes enough items independent."""
    return max(2, (items * depth).bit_length() if construction == "bch" else max((items - 1).bit_length(), depth))


def elements_of(construction: Construction, depth: int, independence: int) -> int:
    """How many elements of the field make a seed."""
    return math.ceil(independence * depth / 2) if construction == "bch" else independence


# --- the linear functions -------------------------------------------------------------------------------------------


def _bits_of(elements: Codes, degree: int) -> NDArray[np.bool_]:
    return ((elements[..., None] >> np.arange(degree)) & 1).astype(bool)


def _bch_columns(seed: SeedGenerator) -> NDArray[np.bool_]:
    positions = np.arange(seed.items * seed.depth)
    odd = 2 * np.arange(seed.bits // seed.degree) + 1
    elements = seed.field.powers[(positions[:, None] * odd) % seed.field.order]
    return _bits_of(elements, seed.degree).reshape(seed.items, seed.depth, -1)


def _polynomial_columns(seed: SeedGenerator) -> NDArray[np.bool_]:
    """Bit l of Σ_c a_c x^c as a function of the bits of a_0..a_(K-1): bit l of (2^s times x^c) for bit s of a_c."""
    points, places = np.arange(seed.items), np.arange(seed.depth - 1, -1, -1)
    power, blocks = np.ones_like(points), []
    for _ in range(seed.independence):
        shifted = seed.field.multiply(power[:, None], np.int64(1) << np.arange(seed.degree)[None, :])
        blocks.append(((shifted[:, None, :] >> places[None, :, None]) & 1).astype(bool))
        power = seed.field.multiply(power, points)
    return np.concatenate(blocks, axis=2)


# --- linear equations in bits -----------------------------------------------------------------------------------------


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
