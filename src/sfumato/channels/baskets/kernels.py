"""Compiled loops (numba) that steer and expand seeds; `seeds.py` has the same in NumPy, with the same results.

The steering, which a device runs, has no branch on data: the same operations run for every basket and outcome.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.channels.program import Words
from sfumato.domain import Codes

# --- expanding: the collector's side -------------------------------------------------------------------------------


@njit(cache=True)
def pick_bits(words: Words, places: Codes, picked: Words) -> None:
    """Write some bits of every row of words into ``picked``, one row each: bit i is bit places[i] of the row."""
    for row in range(words.shape[0]):
        for word in range(picked.shape[1]):
            first, bits = 64 * word, np.uint64(0)
            for i in range(min(64, places.size - first)):
                bit = places[first + i]
                bits |= ((words[row, bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1)) << np.uint64(i)
            picked[row, word] = bits


@njit(cache=True)
def expand(seeds: Words, tables: Words, threshold: int, mask: Words, bitmaps: Words) -> None:
    """Write the bitmap that every seed stands for: an item's bit is set if its number there is below the threshold.

    ``tables``: [nibble, value, plane · width + word], as ``SeedGenerator._tables_of`` makes them. ``mask``: a bitmap of
    all items.
    """
    width = mask.size
    depth = tables.shape[2] // width
    planes = np.empty(tables.shape[2], dtype=np.uint64)
    below = np.empty(width, dtype=np.uint64)
    equal = np.empty(width, dtype=np.uint64)
    for row in range(seeds.shape[0]):
        _sum_planes(seeds[row], tables, planes)
        below[:] = 0
        equal[:] = mask
        for plane in range(depth):
            bits = planes[plane * width : (plane + 1) * width]
            if (threshold >> (depth - 1 - plane)) & 1:
                for word in range(width):
                    below[word] |= equal[word] & ~bits[word]
                    equal[word] &= bits[word]
            else:
                for word in range(width):
                    equal[word] &= ~bits[word]
        bitmaps[row, :] = below


@njit(cache=True)
def _sum_planes(seed: Words, tables: Words, planes: Words) -> None:
    """Write into ``planes`` the numbers of all items in one seed, as bit planes: the highest bit of all items first.

    It is the exclusive or of what each four bits of the seed contribute, looked up in ``tables`` (as in `expand`).
    """
    planes[:] = 0
    for nibble in range(tables.shape[0]):
        value = (seed[nibble >> 4] >> np.uint64(4 * (nibble & 15))) & np.uint64(15)
        added = tables[nibble, np.int64(value)]
        for i in range(planes.size):
            planes[i] ^= added[i]


# --- steering BCH seeds: solve the equations ------------------------------------------------------------------------


@njit(cache=True)
def steer_bch(seeds: Words, columns: Words, items: Codes, numbers: Codes) -> int:
    """Change each seed in place so that chosen items have chosen numbers in it: numbers[r, c] for item items[r, c].

    For seeds of the BCH construction, by solving linear equations in bits. ``columns``: the linear function of each bit
    of each item, as ``SeedGenerator.columns``. Returns how many equations depend on others (have no pivot); if any
    does, the seeds are not steered.
    """
    depth = columns.shape[1]
    count = items.shape[1] * depth
    rows = np.empty((count, seeds.shape[1]), dtype=np.uint64)
    pivots = np.empty((count, seeds.shape[1]), dtype=np.uint64)
    right = np.empty(count, dtype=np.uint64)
    dependent = 0
    for system in range(seeds.shape[0]):
        for i in range(count):
            rows[i] = columns[items[system, i // depth], i % depth]
            wanted = np.uint64((numbers[system, i // depth] >> (depth - 1 - i % depth)) & 1)
            right[i] = wanted ^ _parity(rows[i], seeds[system])
        dependent += _eliminate(rows, right, pivots)
        _substitute(rows, right, pivots, seeds[system])
    return dependent


@njit(cache=True)
def _parity(a: Words, b: Words) -> np.uint64:
    """Return the parity (0 or 1) of the bits that two rows of words have in common."""
    folded = np.uint64(0)
    for word in range(a.size):
        folded ^= a[word] & b[word]
    for shift in (32, 16, 8, 4, 2, 1):
        folded ^= folded >> np.uint64(shift)
    return folded & np.uint64(1)


@njit(cache=True)
def _eliminate(rows: Words, right: Words, pivots: Words) -> int:
    """Bring linear equations in bits to triangular form, in place; return how many rows have no bit left.

    Each row's lowest set bit, its pivot, is written to ``pivots`` and cleared from the rows below. ``right``: the
    equations' right sides, 0 or 1.
    """
    zero = np.uint64(0)
    dependent = 0
    for i in range(right.size):
        pivot = pivots[i]
        dependent += _lowest_bit(rows[i], pivot)
        for other in range(i + 1, right.size):
            common = zero
            for word in range(pivot.size):
                common |= rows[other, word] & pivot[word]
            mask = zero - _is_set(common)
            for word in range(pivot.size):
                rows[other, word] ^= rows[i, word] & mask
            right[other] ^= right[i] & mask
    return dependent


@njit(cache=True)
def _lowest_bit(row: Words, lowest: Words) -> int:
    """Write a row with its lowest set bit only into ``lowest``; return 1 if it has none, else 0."""
    zero, one = np.uint64(0), np.uint64(1)
    open_ = ~zero
    for word in range(row.size):
        lowest[word] = row[word] & (zero - row[word]) & open_
        open_ &= _is_set(row[word]) - one
    return int(open_ & one)


@njit(cache=True)
def _is_set(word: np.uint64) -> np.uint64:
    """Return 1 if any bit of the word is set, else 0."""
    return (word | (np.uint64(0) - word)) >> np.uint64(63)


@njit(cache=True)
def _substitute(rows: Words, right: Words, pivots: Words, seed: Words) -> None:
    """Solve the eliminated equations from the last one up, and add the solution to the seed in place."""
    correction = np.zeros(seed.size, dtype=np.uint64)
    for i in range(right.size - 1, -1, -1):
        fixed = np.uint64(0) - (right[i] ^ _parity(rows[i], correction))
        for word in range(seed.size):
            correction[word] |= pivots[i, word] & fixed
    for word in range(seed.size):
        seed[word] ^= correction[word]


# --- steering polynomial seeds: interpolate -------------------------------------------------------------------------


@njit(cache=True)
def steer_polynomials(
    seeds: Words, degree: int, independence: int, depth: int, powers: Codes, logs: Codes, items: Codes, numbers: Codes
) -> None:
    """Change each seed in place so that chosen items have chosen numbers in it: numbers[r, c] for item items[r, c].

    For seeds of the polynomial construction: a seed is the coefficients of a polynomial f over GF(2^degree), and an
    item's number the low `depth` bits of f(item). ``powers`` and ``logs``: the tables of the field (`BinaryField`).
    """
    size = items.shape[1]
    low_bits = (np.int64(1) << depth) - 1
    coefficients = np.empty(independence, dtype=np.int64)
    difference, correction = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for row in range(seeds.shape[0]):
        for c in range(independence):
            coefficients[c] = _read(seeds[row], c * degree, degree)
        for i in range(size):
            value = np.int64(0)
            for c in range(independence - 1, -1, -1):
                value = _multiply(value, items[row, i], powers, logs) ^ coefficients[c]
            difference[i] = (value & low_bits) ^ numbers[row, i]
        _interpolate(items[row], difference, correction, powers, logs)
        for c in range(size):
            _add(seeds[row], c * degree, degree, correction[c])


@njit(cache=True)
def _multiply(a: np.int64, b: np.int64, powers: Codes, logs: Codes) -> np.int64:
    """Return the product a·b in the finite field whose tables of powers and logarithms these are."""
    return np.int64(powers[logs[a] + logs[b]] * ((a != 0) & (b != 0)))


@njit(cache=True)
def _divide(a: np.int64, b: np.int64, powers: Codes, logs: Codes) -> np.int64:
    """Return the quotient a/b in the finite field whose tables of powers and logarithms these are; b is not 0."""
    return np.int64(powers[logs[a] + logs.size - 1 - logs[b]] * (a != 0))


@njit(cache=True)
def _interpolate(points: Codes, values: Codes, coefficients: Codes, powers: Codes, logs: Codes) -> None:
    """Write the coefficients of the polynomial that takes given values at given points, over a finite field.

    ``powers`` and ``logs``: the tables of the field. `values` is overwritten by Newton's divided differences.
    """
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
    """Return the number that a part of a seed holds: ``length`` bits from bit ``start`` on."""
    word, bit = start >> 6, start & 63
    bits = seed[word] >> np.uint64(bit)
    if bit + length > 64:
        bits |= seed[word + 1] << np.uint64(64 - bit)
    return np.int64(bits & np.uint64((1 << length) - 1))


@njit(cache=True)
def _add(seed: Words, start: int, length: int, value: np.int64) -> None:
    """Add (exclusive or) a number to the ``length`` bits of a seed that begin at bit ``start``."""
    word, bit = start >> 6, start & 63
    seed[word] ^= np.uint64(value) << np.uint64(bit)
    if bit + length > 64:
        seed[word + 1] ^= np.uint64(value) >> np.uint64(64 - bit)
