"""Seeds: a few bits that stand for a whole randomized basket (EGS03 section 6).

Every item i has b linear functions of the seed's bits; read as a number below 2^b, item i is in the basket that the
seed stands for iff that number is below a, so rho = a/2^b. The functions are chosen so that those of any K items are
linearly independent: a uniform seed shows any K items exactly as independent coins would. Two constructions:

    BCH          column i of the parity-check matrix is (x^i, x^3i, .., x^(2t-1)i) over GF(2^h),
                 t = ceil(K b / 2), h = ceil(log2(n b + 1)): h t bits. Shorter for b = 1.
    polynomial   the low b bits of f(i), f a random polynomial of degree K-1 over GF(2^w),
                 w = max(ceil(log2 n), b): K w bits. Shorter for b >= 2.

A seed that shows a wanted pattern on m <= K items: draw xi uniformly, add one solution of the m b equations that are
still wrong. The result is uniform over all seeds with that pattern.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.baskets.gf2 import DEPENDENT, Codes, Words, binary_field, pack_bits, parity, solve, unpack_bits
from sfumato.channels.drawing import kernels_in

Construction = Literal["bch", "polynomial"]


@dataclass(frozen=True)
class SeedGenerator:
    """Seeds for `items` items, rho = threshold / 2^depth, any `independence` items independent."""

    items: int
    threshold: int
    depth: int
    independence: int
    construction: Construction
    bits: int = field(init=False)

    def __post_init__(self) -> None:
        lengths = {"bch": bch_bits, "polynomial": polynomial_bits}
        object.__setattr__(self, "bits", lengths[self.construction](self.items, self.depth, self.independence))

    @cached_property
    def columns(self) -> Words:
        """(item, bit, word): the linear function behind each bit of an item's number, most significant bit first."""
        build = _bch_columns if self.construction == "bch" else _polynomial_columns
        return pack_bits(build(self.items, self.depth, self.independence))

    @cached_property
    def tables(self) -> Words:
        return nibble_tables(self.columns, self.bits)

    @property
    def rho(self) -> float:
        return self.threshold / 2.0**self.depth

    @property
    def words(self) -> int:
        return -(-self.bits // 64)

    def expand(self, seeds: Words) -> Words:
        """The bitmaps that seeds stand for, one row a seed."""
        return expand_seeds(seeds, self.tables, self.threshold, self.items)

    def trim(self, words: Words) -> Words:
        """Uniform words as uniform seeds: bits beyond the seed's length are cleared."""
        seeds = words.copy()
        if self.bits % 64:
            seeds[:, -1] &= np.uint64((1 << (self.bits % 64)) - 1)
        return seeds

    def steer(self, seeds: Words, items: Codes, numbers: Codes) -> Words:
        """Seeds moved so that item items[r, c] shows numbers[r, c]; a uniform seed stays uniform among those."""
        if items.shape[1] > self.independence:
            raise ValueError(DEPENDENT)
        try:
            from sfumato.channels.baskets.kernels import steer, steer_polynomials
        except ImportError:
            return steer_with_numpy(seeds, self.columns, items, numbers)
        steered, points, wanted = seeds.copy(), np.ascontiguousarray(items), np.ascontiguousarray(numbers)
        if self.construction == "bch":
            steer(steered, self.columns, points, wanted)
        else:
            field_ = binary_field(_polynomial_degree(self.items, self.depth))
            shape = (field_.degree, self.independence, self.depth)
            steer_polynomials(steered, *shape, field_.powers, field_.logs, points, wanted)
        return steered


def steer_with_numpy(seeds: Words, columns: Words, items: Codes, numbers: Codes) -> Words:
    """What `SeedGenerator.steer` does, without a compiler."""
    depth = columns.shape[1]
    equations = columns[items].reshape(len(items), -1, seeds.shape[1])
    places = np.arange(depth - 1, -1, -1)
    wanted = ((numbers[:, :, None] >> places) & 1).reshape(len(items), -1).astype(np.uint64)
    return np.asarray(seeds ^ solve(equations, wanted ^ parity(equations & seeds[:, None, :])))


def seed_generator(
    items: int, rho: float, independence: int, construction: Construction | None = None
) -> SeedGenerator:
    """The shorter construction for this rho, or the one asked for."""
    threshold, depth = dyadic(rho)
    if construction is None:
        bch, polynomial = bch_bits(items, depth, independence), polynomial_bits(items, depth, independence)
        construction = "bch" if bch <= polynomial else "polynomial"
    return SeedGenerator(items, threshold, depth, independence, construction)


def dyadic(rho: float, deepest: int = 16) -> tuple[int, int]:
    """(a, b) with rho = a/2^b in lowest terms."""
    numerator, denominator = float(rho).as_integer_ratio()
    depth = denominator.bit_length() - 1
    if not 1 <= depth <= deepest:
        nearest = round(rho * 256) / 256
        raise ValueError(f"rho = {rho:g} is no multiple of 2^-{deepest}; take a nearby one such as {nearest:g}")
    return numerator, depth


def bch_bits(items: int, depth: int, independence: int) -> int:
    return _bch_degree(items, depth) * math.ceil(independence * depth / 2)


def polynomial_bits(items: int, depth: int, independence: int) -> int:
    return _polynomial_degree(items, depth) * independence


def _bch_degree(items: int, depth: int) -> int:
    return max(2, (items * depth).bit_length())


def _polynomial_degree(items: int, depth: int) -> int:
    return max(2, (items - 1).bit_length(), depth)


def _bits_of(elements: Codes, degree: int) -> NDArray[np.bool_]:
    return ((elements[..., None] >> np.arange(degree)) & 1).astype(bool)


def _bch_columns(items: int, depth: int, independence: int) -> NDArray[np.bool_]:
    field_ = binary_field(_bch_degree(items, depth))
    positions = np.arange(items * depth)
    odd = 2 * np.arange(math.ceil(independence * depth / 2)) + 1
    elements = field_.powers[(positions[:, None] * odd) % field_.order]
    return _bits_of(elements, field_.degree).reshape(items, depth, -1)


def _polynomial_columns(items: int, depth: int, independence: int) -> NDArray[np.bool_]:
    """Bit l of sum_c a_c x^c as a function of the bits of a_0..a_(K-1): bit l of (2^s times x^c) for bit s of a_c."""
    field_ = binary_field(_polynomial_degree(items, depth))
    points = np.arange(items)
    blocks = []
    for exponent in range(independence):
        power = field_.power(points, exponent)
        shifted = field_.multiply(power[:, None], np.int64(1) << np.arange(field_.degree)[None, :])
        places = np.arange(depth - 1, -1, -1)
        blocks.append(((shifted[:, None, :] >> places[None, :, None]) & 1).astype(bool))
    return np.concatenate(blocks, axis=2)


NIBBLE = 4
ROWS_AT_ONCE = 2048


def nibble_tables(columns: Words, bits: int) -> Words:
    """(nibble, value, plane, word): the planes that a nibble's value adds."""
    functions = np.moveaxis(unpack_bits(columns, bits), 0, -1)  # plane, seed bit, item
    planes = np.moveaxis(pack_bits(functions), 1, 0)  # seed bit, plane, word
    nibbles = -(-bits // NIBBLE)
    tables = np.zeros((nibbles, 1 << NIBBLE, *planes.shape[1:]), dtype=np.uint64)
    for bit in range(bits):
        values = np.flatnonzero(np.arange(1 << NIBBLE) >> (bit % NIBBLE) & 1)
        tables[bit // NIBBLE, values] ^= planes[bit]
    return tables


def expand_seeds(seeds: Words, tables: Words, threshold: int, items: int) -> Words:
    """Bitmaps of seeds: item i is in iff the number in its planes is below the threshold."""
    bitmaps = np.empty((len(seeds), tables.shape[3]), dtype=np.uint64)
    mask = pack_bits(np.ones(items, dtype=bool))
    kernel = _compiled()
    step = ROWS_AT_ONCE if kernel is None else max(len(seeds), 1)
    for start in range(0, len(seeds), step):
        chunk = np.ascontiguousarray(seeds[start : start + step])
        if kernel is None:
            bitmaps[start : start + step] = _below(_planes(chunk, tables), threshold) & mask
        else:
            kernel(chunk, tables.reshape(*tables.shape[:2], -1), threshold, mask, bitmaps)
    return bitmaps


def _planes(seeds: Words, tables: Words) -> Words:
    planes = np.zeros((len(seeds), *tables.shape[2:]), dtype=np.uint64)
    for nibble in range(len(tables)):
        value = (seeds[:, nibble // 16] >> np.uint64(NIBBLE * (nibble % 16))) & np.uint64(15)
        planes ^= tables[nibble, value.astype(np.int64)]
    return planes


def _below(planes: Words, threshold: int) -> Words:
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


def _compiled() -> Any:
    """The numba kernel, or None where numba is missing."""
    kernels = kernels_in("sfumato.channels.baskets.kernels")
    return None if kernels is None else kernels.expand
