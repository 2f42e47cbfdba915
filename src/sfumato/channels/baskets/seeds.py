"""Seeds: rows of a few bits that stand for whole randomized baskets (EGS03 §6).

Every item i has b linear functions of the seed's bits, whose values make the item's *number* below 2^b. Item i is in
the basket that the seed stands for iff its number is below a, so ρ = a/2^b. The functions are chosen so that those of
any K items are linearly independent: in a uniform seed any K items show exactly as independent coins would. There are
two constructions:

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

NIBBLE = 4  # bits of a seed that are looked up at once, in tables of 16 rows; by judgement, 8 need 16 times the memory
ROWS_AT_ONCE = 2048  # seeds expanded at once without numba, by judgement: bounds the memory for the planes of all items
# The error for seeds that cannot be steered to so many items.
DEPENDENT = "the equations are linearly dependent; ask for at most as many items as the seeds are made for, each once"

PRIMITIVE_POLYNOMIALS = {
    2: 0x7, 3: 0xB, 4: 0x13, 5: 0x25, 6: 0x43, 7: 0x89, 8: 0x11D, 9: 0x211, 10: 0x409, 11: 0x805, 12: 0x1053,
    13: 0x201B, 14: 0x4443, 15: 0x8003, 16: 0x1100B, 17: 0x20009, 18: 0x40081, 19: 0x80027, 20: 0x100009, 21: 0x200005,
    22: 0x400003,
}  # fmt: skip
"""Degree w → a primitive polynomial over GF(2): the number whose bit e is the coefficient of x^e. Any primitive one is
good; tests/channels/baskets/test_seeds.py checks degrees up to 16. Programs name theirs, so that another choice changes
the identity of channels. Degree 22 is the last, by judgement: its tables take 100 MB (``MOST_ITEMS``)."""


# --- the fields GF(2^w) -----------------------------------------------------------------------------------------------


class BinaryField:
    """The finite field GF(2^w), computed by tables of powers and logarithms: the arithmetic of seeds of baskets.

    An element is the number whose bits are its coefficients in powers of a primitive element. ``powers[e]``: the
    primitive element to the e, for e below 2 (2^w - 1). ``logs``: the exponent of each element but 0. ``order``:
    2^w - 1.
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
        """Return the products a·b in the field, element by element of two arrays."""
        return np.where((a == 0) | (b == 0), 0, self.powers[self.logs[a] + self.logs[b]])

    def divide(self, a: Codes, b: Codes) -> Codes:
        """Return the quotients a/b in the field, element by element of two arrays, for b other than 0."""
        return np.where(a == 0, 0, self.powers[self.logs[a] + self.order - self.logs[b]])

    def interpolate(self, points: Codes, values: Codes) -> Codes:
        """Return for each row the coefficients of the polynomial that takes the row's values at the row's points.

        By Newton's divided differences; in this field a sum (exclusive or) is also a difference.
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
    """Build the arithmetic of the finite field GF(2^w), in which seeds of baskets are computed; built once.

    ``polynomial``: a primitive polynomial of degree w over GF(2), as the number whose bits are its coefficients.
    """
    return BinaryField(polynomial)


# --- seeds ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SeedGenerator:
    """A kind of seeds (short random numbers that stand for blurred baskets), with what makes and reads them.

    The device steers a uniform seed until it shows chosen items of a basket; the collector expands seeds into bitmaps,
    one bit an item. Every item has a number below 2^depth in every seed, and *shows* where it is below ``threshold``:
    in a uniform seed with chance ρ = threshold/2^depth, any ``independence`` items independently of each other.
    """

    items: int  # n, how many items there are
    threshold: int  # a
    depth: int  # b
    independence: int  # K
    construction: Construction
    polynomial: int  # of the field, as ``binary_field`` takes it

    @property
    def degree(self) -> int:
        """The degree w of the field GF(2^w)."""
        return self.polynomial.bit_length() - 1

    @property
    def rho(self) -> float:
        """The chance ρ that an item shows in a random seed: by how much items that people lack are inserted."""
        return self.threshold / 2.0**self.depth

    @property
    def bits(self) -> int:
        """How many bits a seed has, the length of a report."""
        return self.degree * elements_of(self.construction, self.depth, self.independence)

    @property
    def fits(self) -> bool:
        """Whether ``polynomial`` is a tabulated one, of a field that has enough elements for all items."""
        smallest = degree_of(self.construction, self.items, self.depth)
        return self.polynomial in PRIMITIVE_POLYNOMIALS.values() and smallest <= self.degree

    @property
    def words(self) -> int:
        """How many 64-bit words a seed takes."""
        return bitmap_width(self.bits)

    @property
    def field(self) -> BinaryField:
        """The finite field GF(2^w) in which seeds are computed."""
        return binary_field(self.polynomial)

    @cached_property
    def columns(self) -> Words:
        """How each bit of each item's number follows from a seed, as an array of words [item, bit, word].

        Of each item the highest bit comes first. A bit is the parity of the bits that its row here and the seed share.
        """
        return pack_bits(_bch_columns(self) if self.construction == "bch" else _polynomial_columns(self))

    # --- on the device ----------------------------------------------------------------------------------------------

    def trim(self, words: Words) -> Words:
        """Turn rows of random words into random seeds, all equally likely: clear the bits beyond a seed's length."""
        return np.asarray(words & item_mask(self.bits))

    def steer(self, seeds: Words, items: Codes, numbers: Codes) -> Words:
        """Change seeds so that they show a basket: in seed r item items[r, c] gets the number numbers[r, c].

        Returns the changed seeds, rows of words as ``seeds``. A uniform seed becomes uniform among all seeds with these
        numbers. More items than ``independence`` are an error.
        """
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
        """Return BCH seeds changed to show a basket, as ``steer`` does: add a solution of the equations still wrong."""
        equations = self.columns[items].reshape(len(items), -1, seeds.shape[1])
        shifts = np.arange(self.depth - 1, -1, -1)
        wanted = ((numbers[:, :, None] >> shifts) & 1).reshape(len(items), -1).astype(np.uint64)
        return np.asarray(seeds ^ solve(equations, wanted ^ parity(equations & seeds[:, None, :])))

    def _interpolate(self, seeds: Words, items: Codes, numbers: Codes) -> Words:
        """Return polynomial seeds changed to show a basket, as ``steer`` does: add a polynomial."""
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
        """Return the bitmaps that seeds stand for, one row of 64-bit words for each: bit i tells whether item i shows.

        It does if its number in the seed is below the threshold. ``chosen``: the items of the bitmaps, bit i for item
        chosen[i]; None: all items.
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
        """Return which items show in each seed, as bitmaps (rows of words): those with a number below the threshold.

        All items are compared at once, one bit of their numbers after the other. ``tables``: as ``_tables_of`` makes.
        """
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
        """The tables by which seeds are expanded into bitmaps of all items, as ``_tables_of`` makes them."""
        return self._tables_of(self.columns)

    def _tables_of(self, columns: Words) -> Words:
        """Return what each four bits of a seed contribute to the items' numbers, as [nibble, value, plane, word].

        ``nibble``: which four bits of the seed, ``value``: what they hold, ``plane``: which bit of the numbers,
        ``word`` and its bits: the items. The contributions are added by exclusive or.
        """
        functions = np.moveaxis(unpack_bits(columns, self.bits), 0, -1)  # plane, seed bit, item
        planes = np.moveaxis(pack_bits(functions), 1, 0)  # seed bit, plane, word
        by_nibble = np.zeros((-(-self.bits // NIBBLE), NIBBLE, *planes.shape[1:]), dtype=np.uint64)
        by_nibble.reshape(-1, *planes.shape[1:])[: self.bits] = planes
        tables = np.zeros_like(by_nibble[:, :1])
        for bit in range(NIBBLE):
            tables = np.concatenate([tables, tables ^ by_nibble[:, bit : bit + 1]], axis=1)
        return tables


def _compiled() -> Any:
    """Return the compiled kernels of baskets; None where numba is missing."""
    return kernels_in("sfumato.channels.baskets.kernels")


# --- choosing a construction ----------------------------------------------------------------------------------------


def seed_generator(
    items: int, threshold: int, depth: int, independence: int, construction: Construction | None = None
) -> SeedGenerator:
    """Return the generator of the shortest seeds in which each item shows with chance ρ = threshold/2^depth.

    ``items``: how many there are; any ``independence`` of them show independently. ``construction``: "bch" or
    "polynomial" (head of this module); None: the one with shorter seeds. Too many items for the fields that are
    tabulated are an error.
    """
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
    """Return one generator for all equal ones, the first that was given, so that its large tables are built once."""
    return seed


def bch_bits(items: int, depth: int, independence: int) -> int:
    """Return how many bits a seed of the BCH construction has."""
    return degree_of("bch", items, depth) * elements_of("bch", depth, independence)


def polynomial_bits(items: int, depth: int, independence: int) -> int:
    """Return how many bits a seed of the polynomial construction has."""
    return degree_of("polynomial", items, depth) * elements_of("polynomial", depth, independence)


def degree_of(construction: Construction, items: int, depth: int) -> int:
    """Return the degree w of the smallest field GF(2^w) in which seeds for so many items can be made.

    ``construction``: "bch" or "polynomial". ``depth``: the chance that an item shows is a multiple of 2^-depth.
    """
    return max(2, (items * depth).bit_length() if construction == "bch" else max((items - 1).bit_length(), depth))


def elements_of(construction: Construction, depth: int, independence: int) -> int:
    """Return how many elements of the field GF(2^w), of w bits each, make a seed."""
    return math.ceil(independence * depth / 2) if construction == "bch" else independence


# --- the linear functions -------------------------------------------------------------------------------------------


def _bits_of(elements: Codes, degree: int) -> NDArray[np.bool_]:
    """Return the lowest ``degree`` bits of whole numbers as truth values along a new last axis, lowest first."""
    return ((elements[..., None] >> np.arange(degree)) & 1).astype(bool)


def _bch_columns(seed: SeedGenerator) -> NDArray[np.bool_]:
    """Return the linear functions of the BCH construction as bits [item, bit of its number, bit of the seed]."""
    positions = np.arange(seed.items * seed.depth)
    odd = 2 * np.arange(seed.bits // seed.degree) + 1
    elements = seed.field.powers[(positions[:, None] * odd) % seed.field.order]
    return _bits_of(elements, seed.degree).reshape(seed.items, seed.depth, -1)


def _polynomial_columns(seed: SeedGenerator) -> NDArray[np.bool_]:
    """Return the linear functions of the polynomial construction as bits [item, bit of its number, bit of the seed].

    Bit l of f(x) = Σ_c a_c x^c depends on bit s of a_c by bit l of (2^s times x^c).
    """
    points, shifts = np.arange(seed.items), np.arange(seed.depth - 1, -1, -1)
    power, blocks = np.ones_like(points), []
    for _ in range(seed.independence):
        shifted = seed.field.multiply(power[:, None], np.int64(1) << np.arange(seed.degree)[None, :])
        blocks.append(((shifted[:, None, :] >> shifts[None, :, None]) & 1).astype(bool))
        power = seed.field.multiply(power, points)
    return np.concatenate(blocks, axis=2)


# --- linear equations in bits -----------------------------------------------------------------------------------------


def parity(words: Words) -> Words:
    """Return the sum modulo 2 of all bits of each row of words."""
    return np.asarray(np.bitwise_count(np.bitwise_xor.reduce(words, axis=-1)) & 1, dtype=np.uint64)


def solve(equations: Words, wanted: Words) -> Words:
    """Return one solution x, a row of words, of each of several systems of equations <equation, x> = wanted (mod 2).

    `equations` is (systems, equations, words) of linearly independent rows, `wanted` is (systems, equations) of 0/1.
    Equation by equation, its lowest remaining bit becomes its pivot and is cleared from all others; the bits of x
    that are no pivot are zero.
    """
    rows, right = equations.copy(), wanted.astype(np.uint64)
    pivots = np.empty_like(rows)
    for i in range(rows.shape[1]):
        pivots[:, i] = lowest_bits(rows[:, i])
        has_pivot = np.bitwise_or.reduce(rows & pivots[:, i : i + 1], axis=-1) != 0
        has_pivot[:, i] = False
        rows ^= rows[:, i : i + 1] * has_pivot[:, :, None]
        right ^= right[:, i : i + 1] * has_pivot
    if not pivots.any(axis=-1).all():
        raise ValueError(DEPENDENT)
    return np.asarray(np.bitwise_xor.reduce(pivots * right[:, :, None], axis=1))


def lowest_bits(rows: Words) -> Words:
    """Return each row of words with all bits cleared but its lowest set one."""
    lowest = rows & (~rows + np.uint64(1))
    empty = np.ones(len(rows), dtype=bool)
    for word in range(rows.shape[1]):
        lowest[:, word] *= empty
        empty &= rows[:, word] == 0
    return lowest
