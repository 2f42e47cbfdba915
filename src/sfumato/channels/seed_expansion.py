"""From seeds to bitmaps: a product of bit matrices by tables of sixteen (four bits of the seed at a time).

Each bit of every item's number is a linear function of the seed, so the number's bit planes are the sum (exclusive or)
over the seed's nibbles of a tabulated row. A comparator on the planes then tells which numbers are below the threshold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.channels.gf2 import Words, pack_bits, unpack_bits
from sfumato.channels.drawing import kernels_in

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
    kernels = kernels_in("sfumato.channels.seed_kernels")
    return None if kernels is None else kernels.expand
