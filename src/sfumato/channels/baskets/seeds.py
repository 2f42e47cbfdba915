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
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.baskets.gf2 import (
    DEPENDENT,
    BinaryField,
    Words,
    binary_field,
    bitmap_width,
    item_mask,
    pack_bits,
    parity,
    primitive_polynomial,
    solve,
    unpack_bits,
)
from sfumato.channels.drawing import kernels_in
from sfumato.domain import Codes

Construction = Literal["bch", "polynomial"]

NIBBLE = 4
ROWS_AT_ONCE = 2048


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
        return self.degree * _elements(self.construction, self.depth, self.independence)

    @property
    def fits(self) -> bool:
        """Whether the field is large enough for any `independence` items to be independent."""
        if self.construction == "bch":
            return self.items * self.depth < 1 << self.degree
        return self.items <= 1 << self.degree and self.depth <= self.degree

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
        kernels = _compiled()
        if self.construction == "bch":
            return self._solve(kernels, seeds, items, numbers)
        return self._interpolate(kernels, seeds, items, numbers)

    def _solve(self, kernels: Any, seeds: Words, items: Codes, numbers: Codes) -> Words:
        if kernels is not None:
            steered = np.array(seeds, order="C")
            if kernels.steer_bch(steered, self.columns, np.ascontiguousarray(items), np.ascontiguousarray(numbers)):
                raise ValueError(DEPENDENT)
            return steered
        equations = self.columns[items].reshape(len(items), -1, seeds.shape[1])
        places = np.arange(self.depth - 1, -1, -1)
        wanted = ((numbers[:, :, None] >> places) & 1).reshape(len(items), -1).astype(np.uint64)
        return np.asarray(seeds ^ solve(equations, wanted ^ parity(equations & seeds[:, None, :])))

    def _interpolate(self, kernels: Any, seeds: Words, items: Codes, numbers: Codes) -> Words:
        if kernels is not None:
            steered = np.array(seeds, order="C")
            points, wanted = np.ascontiguousarray(items), np.ascontiguousarray(numbers)
            shape = (self.degree, self.independence, self.depth)
            kernels.steer_polynomials(steered, *shape, self.field.powers, self.field.logs, points, wanted)
            return steered
        bits = unpack_bits(seeds, self.bits).reshape(len(seeds), self.independence, self.degree)
        coefficients = bits @ (np.int64(1) << np.arange(self.degree))
        values = np.zeros_like(items)
        for c in range(self.independence - 1, -1, -1):
            values = self.field.multiply(values, items) ^ coefficients[:, c : c + 1]
        difference = (values & ((1 << self.depth) - 1)) ^ numbers
        coefficients[:, : items.shape[1]] ^= interpolate(self.field, items, difference)
        return pack_bits(_bits_of(coefficients, self.degree).reshape(len(seeds), -1))

    # --- on the collector's side ------------------------------------------------------------------------------------

    def expand(self, seeds: Words) -> Words:
        """The bitmaps that seeds stand for, one row a seed: item i is in iff its number is below the threshold."""
        bitmaps = np.empty((len(seeds), bitmap_width(self.items)), dtype=np.uint64)
        mask, kernels = item_mask(self.items), _compiled()
        if kernels is not None:
            tables = self._tables.reshape(*self._tables.shape[:2], -1)
            kernels.expand(np.ascontiguousarray(seeds), tables, self.threshold, mask, bitmaps)
            return bitmaps
        for start in range(0, len(seeds), ROWS_AT_ONCE):
            planes = _planes(seeds[start : start + ROWS_AT_ONCE], self._tables)
            bitmaps[start : start + ROWS_AT_ONCE] = _below(planes, self.threshold) & mask
        return bitmaps

    @cached_property
    def _tables(self) -> Words:
        """(nibble, value, plane, word): the planes of all items' numbers that four bits of the seed add."""
        functions = np.moveaxis(unpack_bits(self.columns, self.bits), 0, -1)  # plane, seed bit, item
        planes = np.moveaxis(pack_bits(functions), 1, 0)  # seed bit, plane, word
        tables = np.zeros((-(-self.bits // NIBBLE), 1 << NIBBLE, *planes.shape[1:]), dtype=np.uint64)
        for bit in range(self.bits):
            values = np.flatnonzero(np.arange(1 << NIBBLE) >> (bit % NIBBLE) & 1)
            tables[bit // NIBBLE, values] ^= planes[bit]
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
    degree = _bch_degree(items, depth) if construction == "bch" else _polynomial_degree(items, depth)
    return shared_generator(
        SeedGenerator(items, threshold, depth, independence, construction, primitive_polynomial(degree))
    )


@lru_cache(maxsize=64)
def shared_generator(seed: SeedGenerator) -> SeedGenerator:
    """The one generator of its kind, so that its columns and tables are built once."""
    return seed


def bch_bits(items: int, depth: int, independence: int) -> int:
    return _bch_degree(items, depth) * _elements("bch", depth, independence)


def polynomial_bits(items: int, depth: int, independence: int) -> int:
    return _polynomial_degree(items, depth) * _elements("polynomial", depth, independence)


def _elements(construction: Construction, depth: int, independence: int) -> int:
    """How many elements of the field make a seed."""
    return math.ceil(independence * depth / 2) if construction == "bch" else independence


def _bch_degree(items: int, depth: int) -> int:
    return max(2, (items * depth).bit_length())


def _polynomial_degree(items: int, depth: int) -> int:
    return max(2, (items - 1).bit_length(), depth)


# --- the linear functions -------------------------------------------------------------------------------------------


def _bits_of(elements: Codes, degree: int) -> NDArray[np.bool_]:
    return ((elements[..., None] >> np.arange(degree)) & 1).astype(bool)


def _bch_columns(seed: SeedGenerator) -> NDArray[np.bool_]:
    positions = np.arange(seed.items * seed.depth)
    odd = 2 * np.arange(_elements("bch", seed.depth, seed.independence)) + 1
    elements = seed.field.powers[(positions[:, None] * odd) % seed.field.order]
    return _bits_of(elements, seed.degree).reshape(seed.items, seed.depth, -1)


def _polynomial_columns(seed: SeedGenerator) -> NDArray[np.bool_]:
    """Bit l of Σ_c a_c x^c as a function of the bits of a_0..a_(K-1): bit l of (2^s times x^c) for bit s of a_c."""
    points, places = np.arange(seed.items), np.arange(seed.depth - 1, -1, -1)
    blocks = []
    for exponent in range(seed.independence):
        power = seed.field.power(points, exponent)
        shifted = seed.field.multiply(power[:, None], np.int64(1) << np.arange(seed.degree)[None, :])
        blocks.append(((shifted[:, None, :] >> places[None, :, None]) & 1).astype(bool))
    return np.concatenate(blocks, axis=2)


def interpolate(field: BinaryField, points: Codes, values: Codes) -> Codes:
    """Row by row the coefficients of the polynomial that takes the values at the points (Newton's differences).

    In characteristic two a sum is also a difference.
    """
    size, newton = points.shape[1], values.copy()
    for order in range(1, size):
        rises = newton[:, order:] ^ newton[:, order - 1 : -1]
        newton[:, order:] = field.divide(rises, points[:, order:] ^ points[:, : size - order])
    coefficients = np.zeros_like(newton)
    for i in range(size - 1, -1, -1):
        scaled = field.multiply(coefficients, points[:, i : i + 1])
        coefficients[:, 1:] = coefficients[:, :-1] ^ scaled[:, 1:]
        coefficients[:, 0] = scaled[:, 0] ^ newton[:, i]
    return coefficients


def _planes(seeds: Words, tables: Words) -> Words:
    planes = np.zeros((len(seeds), *tables.shape[2:]), dtype=np.uint64)
    for nibble in range(len(tables)):
        value = (seeds[:, nibble // 16] >> np.uint64(NIBBLE * (nibble % 16))) & np.uint64(15)
        planes ^= tables[nibble, value.astype(np.int64)]
    return planes


def _below(planes: Words, threshold: int) -> Words:
    """Which numbers are below the threshold, by a comparator on their planes."""
    depth = planes.shape[1]
    below = np.zeros_like(planes[:, 0])
    equal = ~below
    for plane in range(depth):
        if (threshold >> (depth - 1 - plane)) & 1:
            below |= equal & ~planes[:, plane]
            equal &= planes[:, plane]
        else:
            equal &= ~planes[:, plane]
    return below
