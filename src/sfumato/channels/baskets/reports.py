"""Tables of baskets: true ones as people hold them, and reports of them as the collector receives them.

`Baskets` are sets of items, read from lists, Arrow list columns, sparse or one-hot tables; `BasketReports` are the
randomized ones: a bitmap or a seed a person, and the disclosed size. A bitmap is a row of 64-bit words; the bit of item
i is bit i % 64 of word i // 64.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, count, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.baskets.arrow import lists_of, words_of
from sfumato.channels.program import Words
from sfumato.channels.program.interpreter import kernels_in
from sfumato.domain import Codes, Items, named, sorted_labels

Sizes = NDArray[np.uint16]
COLLECTIONS = frozenset({list, tuple, set, frozenset})  # types of baskets that are read without looking further
LARGEST_DISCLOSED = np.iinfo(np.uint16).max  # the size of a basket is stored in 16 bits

# --- rows of bits -----------------------------------------------------------------------------------------------------


def bitmap_width(items: int) -> int:
    """Return how many 64-bit words a bitmap of so many items takes."""
    return -(-items // 64)


@lru_cache(64)
def item_mask(items: int) -> Words:
    """Return the bitmap of all of so many items: a row of 64-bit words in which a bit is set for every item."""
    return pack_bits(np.ones(items, dtype=bool))


def pack_bits(bits: NDArray[np.bool_]) -> Words:
    """Pack rows of truth values into rows of 64-bit words, the first into the lowest bit; bits past the end are 0."""
    padded = np.zeros((*bits.shape[:-1], 64 * bitmap_width(bits.shape[-1])), dtype=np.uint8)
    padded[..., : bits.shape[-1]] = bits
    return np.packbits(padded, axis=-1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def unpack_bits(words: Words, count: int) -> NDArray[np.bool_]:
    """Unpack the first `count` bits of rows of words into rows of truth values."""
    octets = np.ascontiguousarray(words.astype("<u8", copy=False)).view(np.uint8)
    return np.unpackbits(octets, axis=-1, bitorder="little", count=count).astype(bool)


def pick_bits(words: Words, places: Codes) -> Words:
    """Return rows of words that hold some bits of each given row alone: bit i is bit places[i] of the row."""
    kernels = kernels_in("sfumato.channels.baskets.kernels")
    if kernels is None:
        return pack_bits(unpack_bits(words, 64 * words.shape[1])[:, places])
    picked = np.zeros((len(words), bitmap_width(len(places))), dtype=np.uint64)
    kernels.pick_bits(np.ascontiguousarray(words), places, picked)
    return picked


# --- baskets ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Baskets:
    """True baskets (sets of items) in one array: basket r is codes[starts[r]:starts[r+1]], sorted, without repeats.

    ``items``: the items that a basket may hold. ``codes``: the numbers of the baskets' items among them.
    """

    items: Items
    starts: Codes
    codes: Codes

    @classmethod
    def read(cls, baskets: Any, items: Items | None = None) -> Baskets:
        """Read baskets from lists, Arrow list columns, sparse or one-hot tables; repeats in a basket are an error.

        ``items``: the items that baskets may hold; None: the labels that occur.
        """
        if isinstance(baskets, Baskets):
            if items is not None and tuple(items.labels) != tuple(baskets.items.labels):
                size = baskets.items.size
                raise ValueError(f"the baskets are over {size} other items; read them with the channel's items")
            return baskets
        if hasattr(baskets, "tocsr"):
            return _from_sparse(baskets, items)
        if hasattr(baskets, "columns") and hasattr(baskets, "to_numpy"):
            return _from_one_hot(baskets, items)
        if type(baskets).__module__.startswith("polars"):
            baskets = baskets.to_arrow()
        if type(baskets).__module__.startswith("pyarrow"):
            return _from_arrow(baskets, items)
        return _from_lists(baskets, items)

    def __len__(self) -> int:
        return self.starts.size - 1

    @cached_property
    def sizes(self) -> Codes:
        """How many items each basket has."""
        return np.diff(self.starts)

    def __getitem__(self, rows: Any) -> Baskets:
        """Return the baskets of some rows alone. ``rows``: an array of row numbers, a mask or a slice."""
        first, sizes = self.starts[:-1][rows], self.sizes[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return Baskets(self.items, starts, self.codes[np.repeat(first - starts[:-1], sizes) + np.arange(starts[-1])])

    def holding(self, chosen: Codes) -> Baskets:
        """Return as many baskets, each with those of its items alone that are among the chosen ones.

        ``chosen``: item codes in rising order; the items are numbered anew, from 0, in this order.
        """
        new_code = np.full(self.items.size, -1)
        new_code[chosen] = np.arange(chosen.size)
        codes = new_code[self.codes]
        entries = np.flatnonzero(codes >= 0)
        return Baskets(self.items.of(chosen), np.searchsorted(entries, self.starts), codes[entries])

    def members(self, rows: Codes, size: int) -> Codes:
        """Return the item codes of some baskets that all have `size` items, as an array of one row a basket.

        ``rows``: the baskets' numbers.
        """
        return np.asarray(self.codes[self.starts[rows][:, None] + np.arange(size)])

    def to_lists(self) -> list[list[Hashable]]:
        """Return for each basket the list of its items' labels."""
        labels = self.items.labels
        ends = pairwise(self.starts.tolist())
        return [[labels[code] for code in self.codes[start:stop].tolist()] for start, stop in ends]


def one_basket(baskets: Any, items: Items) -> list[int] | None:
    """Return the item codes, in rising order, of a list that holds one basket; a short way for a single person.

    None for anything else, which `Baskets.read` reads.
    """
    if type(baskets) is not list or len(baskets) != 1 or type(baskets[0]) not in COLLECTIONS:
        return None
    (basket,), size = baskets, items.size
    if isinstance(items.labels, range):
        codes = {label for label in basket if type(label) is int and 0 <= label < size}
    else:
        codes = {items.code_of[label] for label in basket if label in items.code_of}
    return sorted(codes) if len(codes) == len(basket) else None


def _from_lists(baskets: Iterable[Iterable[Hashable]], items: Items | None) -> Baskets:
    """Read baskets from a list of collections of labels."""
    if isinstance(baskets, (str, bytes)) or not isinstance(baskets, Iterable):
        raise TypeError(f"baskets of type {type(baskets).__name__} cannot be read; give a list of lists of items")
    rows = baskets if isinstance(baskets, (list, tuple)) else list(baskets)
    if not COLLECTIONS.issuperset(map(type, rows)):
        rows = [_collection(row, basket) for row, basket in enumerate(rows)]
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    index_of: defaultdict[Hashable, int] = defaultdict(count().__next__)  # labels in the order of their first use
    indices = map(index_of.__getitem__, chain.from_iterable(rows))
    entries = np.fromiter(indices, dtype=np.int64, count=int(lengths.sum()))
    return _of_labels(list(index_of), entries, lengths, items)


def _collection(row: int, basket: Any) -> Collection[Hashable]:
    """Return a basket as a collection with a length; a text, or what holds no items, is an error that names the row."""
    if isinstance(basket, (str, bytes)) or not isinstance(basket, Iterable):
        raise TypeError(f"basket {row} is a {type(basket).__name__}, not a collection of items; give a list of items")
    return basket if isinstance(basket, Collection) else list(basket)


def _of_labels(labels: list[Hashable], entries: Codes, lengths: Codes, items: Items | None) -> Baskets:
    """Build baskets from their entries, the items of one basket after those of the other.

    ``labels``: those that occur. ``entries``: for every entry the index of its label. ``lengths``: how many entries
    each basket has. ``items``: those allowed, and a label that is none of them is an error; None: the labels.
    """
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    allowed = items if items is not None else Items(sorted_labels(labels))
    codes = np.array([_code_of(label, allowed) for label in labels], dtype=np.int64)[entries]
    if codes.min(initial=0) < 0:
        unknown = int(np.argmax(codes < 0))
        _refuse_unknown(labels[entries[unknown]], int(np.searchsorted(starts, unknown, side="right")) - 1, allowed)
    return Baskets(allowed, starts, _sorted_without_repeats(codes, starts, allowed))


def _code_of(label: Any, items: Items) -> int:
    """Return the code of a label; -1 if it is none of the items."""
    if not isinstance(items.labels, range):
        return items.code_of.get(label, -1)
    return int(label) if _is_whole(label) and 0 <= label < items.size else -1


def _is_whole(label: Any) -> bool:
    """Return whether a label is a whole number."""
    return isinstance(label, (int, np.integer)) and not isinstance(label, bool)


def _refuse_unknown(label: Any, row: int, items: Items) -> None:
    """Raise the error for a label that is none of the items, with what to do about it."""
    if not isinstance(items.labels, range):
        remedy = f"declare it in Items (now {items.size} labels)"
    elif _is_whole(label):
        remedy = f"use the items 0 to {items.size - 1}"
    else:
        remedy = "Items(n) has the items 0 to n-1: give labels to Items"
    raise ValueError(f"unknown item{named(label)} in basket {row}; {remedy}, or drop it from the basket")


def _sorted_without_repeats(codes: Codes, starts: Codes, items: Items) -> Codes:
    """Return the item codes of all baskets, sorted within each basket; an item twice in one basket is an error."""
    rises = codes[1:] > codes[:-1]
    rises[starts[(starts > 0) & (starts < codes.size)] - 1] = True  # from one basket to the next
    if rises.all():
        return codes
    rows = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    keys = np.sort(rows * items.size + codes)
    repeats = np.flatnonzero(keys[1:] == keys[:-1])
    if repeats.size:
        row, code = divmod(int(keys[repeats[0]]), items.size)
        item = named(items.labels[code])
        raise ValueError(f"an item{item} is twice in basket {row}; a basket is a set: keep one of them")
    return np.asarray(keys - rows * items.size)


def _from_sparse(matrix: Any, items: Items | None) -> Baskets:
    """Read baskets from a SciPy sparse matrix, one row a basket and one column an item."""
    rows = matrix.tocsr().copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    allowed = items if items is not None else Items(rows.shape[1])
    if rows.shape[1] != allowed.size:
        raise ValueError(
            f"the sparse matrix has {rows.shape[1]} columns for {allowed.size} items; give one column an item"
        )
    return Baskets(allowed, rows.indptr.astype(np.int64), rows.indices.astype(np.int64))


def _from_one_hot(table: Any, items: Items | None) -> Baskets:
    """Read baskets from a frame of 0/1 or truth values, one row a basket and one column an item, named by its label."""
    names = list(table.columns)
    allowed = items if items is not None else Items(names)
    unknown = [name for name in names if name not in allowed.code_of]
    if unknown:
        raise ValueError(f"column {unknown[0]!r} is no item; drop the column or declare it in Items")
    cells = np.asarray(table.to_numpy())
    if not np.isin(cells, (0, 1)).all():
        raise ValueError(
            "a one-hot table holds values other than 0/1 or true/false; convert it, or give lists of items"
        )
    row, column = np.nonzero(cells.astype(bool))
    codes = np.array([allowed.code_of[name] for name in names], dtype=np.int64)[column]
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(cells)))]).astype(np.int64)
    return Baskets(allowed, starts, _sorted_without_repeats(codes, starts, allowed))


def _from_arrow(column: Any, items: Items | None) -> Baskets:
    """Read baskets from an Arrow column of lists of labels."""
    labels, entries, lengths = lists_of(column)
    return _of_labels(labels, entries, lengths, items)


# --- reports ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BasketReports:
    """The blurred reports of baskets (sets of items), one row for each person.

    `words`: rows of 64-bit words, which are bitmaps (bit i: whether item i shows), or where `compressed` seeds (short
    numbers that expand into bitmaps). `sizes`: the true sizes of the baskets, which people disclose.
    """

    items: Items
    sizes: Sizes
    words: Words
    compressed: bool = False

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.words):
            raise ValueError(
                f"{len(self.sizes)} sizes for {len(self.words)} reports; give the true size of every basket"
            )

    @classmethod
    def of_lists(cls, items: Items, reported: Any, sizes: Sequence[int]) -> BasketReports:
        """Build reports as bitmaps from the items that each report shows, given as lists, and the baskets' true sizes.
        """
        baskets = Baskets.read(reported, items)
        return cls(items, _disclosed(sizes), bitmaps_of(baskets))

    @classmethod
    def of_bytes(cls, items: Items, sizes: Sequence[int], reports: Iterable[bytes], compressed: bool) -> BasketReports:
        """Read reports from bytes, one for each person, as `to_bytes` wrote them; shorter ones are padded with zeros.

        ``sizes``: the true sizes of the baskets. ``compressed``: whether the bytes are seeds and not bitmaps.
        """
        rows = list(reports)
        width = -(-max((len(row) for row in rows), default=1) // 8)
        octets = b"".join(row.ljust(8 * width, b"\0") for row in rows)
        words = np.frombuffer(octets, dtype="<u8").astype(np.uint64).reshape(len(rows), width)
        return cls(items, _disclosed(sizes), words, compressed)._checked()

    @classmethod
    def of_arrow(cls, items: Items, sizes: Any, reports: Any, compressed: bool) -> BasketReports:
        """Read reports from an Arrow column of bytes, or of texts of hexadecimal digits; others as in `of_bytes`."""
        return cls(items, _disclosed(sizes), words_of(reports), compressed)._checked()

    def _checked(self) -> BasketReports:
        """Return the reports unchanged; bitmaps that are not as long as the items need are an error."""
        width = self.words.shape[1]
        if not self.compressed and len(self) and width != bitmap_width(self.items.size):
            raise ValueError(
                f"a report has {8 * width} bytes where {self.items.size} items need "
                f"{8 * bitmap_width(self.items.size)}; give the items that the reports were made with"
            )
        return self

    def to_bytes(self, bits: int | None = None) -> list[bytes]:
        """Return each report as little-endian bytes: whole words, or only as many bytes as `bits` bits need."""
        length = None if bits is None else -(-bits // 8)
        return [row.tobytes()[:length] for row in self.words.astype("<u8", copy=False)]

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, rows: Any) -> BasketReports:
        return BasketReports(self.items, self.sizes[rows], self.words[rows], self.compressed)

    def __add__(self, other: BasketReports) -> BasketReports:
        """Return these reports followed by those of other people, over the same items and in the same form."""
        if self.compressed != other.compressed or self.items != other.items:
            raise ValueError(
                "bitmaps and seeds, or reports over different items, do not add up; expand the seeds first"
            )
        width = max(self.words.shape[1], other.words.shape[1])
        stacked = [np.pad(part.words, ((0, 0), (0, width - part.words.shape[1]))) for part in (self, other)]
        return BasketReports(self.items, np.concatenate([self.sizes, other.sizes]), np.vstack(stacked), self.compressed)

    def to_lists(self) -> list[list[Hashable]]:
        """Return for each report, a bitmap, the list of the items' labels that it shows; seeds are an error."""
        if self.compressed:
            raise ValueError("seeds show no items by themselves; call channel.expand(reports) first")
        labels = self.items.labels
        shown = unpack_bits(self.words, self.items.size)
        return [[labels[code] for code in np.flatnonzero(row).tolist()] for row in shown]


def _disclosed(sizes: Any) -> Sizes:
    """Return disclosed sizes of baskets as 16-bit numbers; anything but whole numbers up to 65,535 is an error."""
    array = np.asarray(sizes)
    valid = array.dtype.kind in "iuf" and ((array >= 0) & (array <= LARGEST_DISCLOSED) & (array % 1 == 0)).all()
    if array.size and not valid:
        raise ValueError(f"a size is no whole number up to {LARGEST_DISCLOSED:,}; give the true size of every basket")
    return array.astype(np.uint16)


def bitmaps_of(baskets: Baskets) -> Words:
    """Return true baskets, not blurred, as bitmaps: one row of 64-bit words a basket, a bit for each item."""
    bitmaps = np.zeros((len(baskets), bitmap_width(baskets.items.size)), dtype=np.uint64)
    rows = np.repeat(np.arange(len(baskets)), baskets.sizes)
    bits = np.uint64(1) << (baskets.codes & 63).astype(np.uint64)
    np.bitwise_or.at(bitmaps, (rows, baskets.codes >> 6), bits)
    return bitmaps


def rows_by_size(sizes: NDArray[Any], wanted: Iterable[int], at_once: int) -> Iterator[tuple[int, Codes]]:
    """Yield (size, the numbers of the rows whose basket has this size), in parts of at most `at_once` rows.

    ``sizes``: that of every row's basket. ``wanted``: the sizes to go through.
    """
    for size in wanted:
        rows = np.flatnonzero(sizes == size)
        for start in range(0, rows.size, at_once):
            yield size, rows[start : start + at_once]
