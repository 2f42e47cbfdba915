"""The drawing program of select-a-size, as plain data that a device executes to blur a basket, and its interpreter.

For each size m the law p of the number of kept items is a mixture. With chance c = min_j p[j]/p0[j] the report is pure
insertion noise on all items, the basket's own included (which keeps j of them with chance p0[j]); otherwise j follows
the excess p[j] - c p0[j] and j random items are kept. The excess is rounded down to whole numbers of 2^-64, and what
that leaves goes to noise, so that rounding only hides more:

    E[j]   whole numbers, N = 2^64 - Σ E[j] ≥ 1,    p[j] = (N p0[j] + E[j]) / 2^64     exactly
    γ      max_j (N + E[j] u[j]/p0[j]) / min_j (N + E[j] l[j]/p0[j])

u[j] and l[j] bound, exactly, how far choosing below a number that is no power of two is from uniform (about 1 ± 2^-60).
`docs/programs-baskets.md` describes the program for other languages.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.channels.baskets.law import DEEPEST, SizeLaw, dyadic, kept_by_noise
from sfumato.channels.baskets.reports import bitmap_width, item_mask
from sfumato.channels.baskets.seeds import SeedGenerator, seed_generator, shared_generator
from sfumato.channels.program import WORD, Words, below, choose, hex_word
from sfumato.domain import Codes

VERSION = 1  # of the format of docs/programs-baskets.md, written under "program"
KIND = "select-a-size"  # the channel's name in plans, and the program's "kind"
SEED_FIELDS = ("construction", "bits", "degree", "independence", "polynomial")  # written under "seed"
SAME_LIFT = Fraction(1, 10**9)
"""Lifts p[j]/p0[j] whose ratio to the smallest is nearer to 1 than this differ by the rounding of floats only, and are
taken for equal. By judgement: floats round by 1e-15, and a lift of 1 + 1e-9 reveals nothing."""


# --- compiling ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SizeProgram:
    """The program by which a device blurs baskets of one size: it keeps some items and inserts others.

    Others are inserted with chance ρ = threshold/2^depth. A report is a bitmap, one bit an item, or a seed, a shorter
    number that stands for a bitmap.
    """

    items: int  # how many items there are
    size: int  # how many of them a basket has
    threshold: int
    depth: int
    bounds: tuple[int, ...]  # cumulative whole weights of the excess E[0..size], below 2^64
    seed: SeedGenerator | None  # None: there are too many items for seeds

    @classmethod
    def of_law(cls, law: SizeLaw, items: int, up_to: int) -> SizeProgram:
        """Build the program that draws reports by a law of baskets, its chances rounded to whole numbers over 2^64.

        ``items``: how many items there are. ``up_to``: the size of the largest itemsets to be read; in a random seed
        any size + up_to items show independently.
        """
        threshold, depth = dyadic(law.rho)
        try:
            seed = seed_generator(items, threshold, depth, min(law.size + up_to, items))
        except ValueError:  # more items than the tabulated fields have elements: bitmaps only
            seed = None
        return cls(items, law.size, threshold, depth, _excess_bounds(law), seed)

    @property
    def bitmap_words(self) -> int:
        """How many random words a bitmap takes."""
        return self.size + self.depth * bitmap_width(self.items)

    @property
    def seed_words(self) -> int:
        """How many random words a seed takes."""
        return 2 * self.size + self.generator.words

    @property
    def generator(self) -> SeedGenerator:
        """What makes and expands seeds (short numbers that stand for bitmaps); an error where items are too many."""
        if self.seed is None:
            raise ValueError(f"{self.items} items are too many for seeds; send bitmaps (compress=False)")
        return self.seed

    def to_data(self) -> dict[str, Any]:
        """Return the program of this basket size as plain data, an entry under "sizes" in docs/programs-baskets.md."""
        return {
            "size": self.size,
            "rho": [self.threshold, self.depth],
            "kept": [hex_word(bound) for bound in self.bounds],
            "seed": None if self.seed is None else {name: getattr(self.seed, name) for name in SEED_FIELDS},
            "words": {"bitmap": self.bitmap_words, "seed": None if self.seed is None else self.seed_words},
        }

    # --- the law and γ, exactly -------------------------------------------------------------------------------------

    @cached_property
    def excess(self) -> tuple[int, ...]:
        """How many of the 2^64 random words choose to keep exactly j of a basket's items: E[j], j = 0..size."""
        return tuple(high - low for low, high in zip((0, *self.bounds), self.bounds, strict=False))

    @property
    def kept(self) -> tuple[Fraction, ...]:
        """The chance that j of the basket's items show in a report: p[j], j = 0..size, as exact fractions."""
        noise = WORD - self.bounds[-1]
        return tuple((noise * p0 + e) / WORD for p0, e in zip(self._by_noise, self.excess, strict=True))

    @cached_property
    def gamma(self) -> Fraction:
        """γ: a bound on the ratio of the chances of one bitmap, or one seed, under two baskets of this size."""
        noise = WORD - self.bounds[-1]
        numbers = (self.threshold, (1 << self.depth) - self.threshold)
        high, low = [], []
        for j, (p0, e) in enumerate(zip(self._by_noise, self.excess, strict=True)):
            choices = (*range(self.size, self.size - j, -1), *(numbers[:1] * j), *(numbers[1:] * (self.size - j)))
            high.append(noise + e / p0 * math.prod(_share(bound, up=True) for bound in choices))
            low.append(noise + e / p0 * math.prod(_share(bound, up=False) for bound in choices))
        return max(high) / min(low)

    @cached_property
    def _by_noise(self) -> tuple[Fraction, ...]:
        """The chances p0[j] that noise alone shows j of a basket's items, for j = 0..size, exactly."""
        return by_noise(self.size, Fraction(self.threshold, 1 << self.depth))

    # --- drawing: the same operations for every basket and every outcome --------------------------------------------

    def bitmaps(self, members: Codes, words: Words) -> Words:
        """Draw the bitmaps of baskets, one row each, from rows of random words.

        ``members``: the rising item codes of each basket. The first word chooses the kept count, the next size - 1 the
        order of the items, and the others are `depth` planes of fair bits.
        """
        self._check(members, words, self.bitmap_words)
        kept = self._kept_counts(words[:, 0])
        order = shuffled(members, words[:, 1 : self.size])
        bitmaps = coins(self.threshold, self.depth, words[:, self.size :]) & item_mask(self.items)
        rows = np.arange(len(members))
        for rank in range(self.size):
            word, bit = order[:, rank] >> 6, np.uint64(1) << (order[:, rank] & 63).astype(np.uint64)
            noise = bitmaps[rows, word]
            shown = np.where(rank < kept, noise | bit, noise & ~bit)
            bitmaps[rows, word] = np.where(kept > self.size, noise, shown)
        return bitmaps

    def seeds(self, members: Codes, words: Words) -> Words:
        """Draw the seeds of baskets, one row each, from rows of random words.

        The first word chooses the kept count, the next size - 1 the order of the items, the next size their numbers,
        and the others are the uniform seed that is steered to these numbers.
        """
        self._check(members, words, self.seed_words)
        kept = self._kept_counts(words[:, 0])
        order = shuffled(members, words[:, 1 : self.size])
        uniform = self.generator.trim(words[:, 2 * self.size :])
        shows = np.arange(self.size) < kept[:, None]
        inside, outside = np.uint64(self.threshold), np.uint64((1 << self.depth) - self.threshold)
        numbers = below(words[:, self.size : 2 * self.size], np.where(shows, inside, outside))
        numbers += np.where(shows, np.uint64(0), inside)
        steered = self.generator.steer(uniform, order, numbers.astype(np.int64))
        return np.where(kept[:, None] > self.size, uniform, steered)

    # --- the same for one basket, in Python's whole numbers: a call of NumPy costs more than one basket needs ---------

    def bitmap(self, members: list[int], words: Words) -> Words:
        """Draw the bitmap of one basket, a row of 64-bit words, the same as `bitmaps` would.

        ``members``: its item codes in rising order. ``words``: the random words.
        """
        kept, order = self._kept_and_order(members, words)
        octets, width = words[self.size :].astype("<u8", copy=False).tobytes(), 8 * bitmap_width(self.items)
        planes = [int.from_bytes(octets[at : at + width], "little") for at in range(0, len(octets), width)]
        shown = bytearray((_tossed(self.threshold, planes) & (1 << self.items) - 1).to_bytes(width, "little"))
        for rank, item in enumerate(order):
            noise, bit = shown[item >> 3], 1 << (item & 7)
            shown[item >> 3] = choose(kept > self.size, noise, noise & ~bit | bit * (rank < kept))
        return np.frombuffer(shown, dtype="<u8").astype(np.uint64, copy=False)

    def seed_of(self, members: list[int], words: Words) -> Words:
        """Draw the seed of one basket, a row of 64-bit words, the same as `seeds` would.

        ``members``: its item codes in rising order. ``words``: the random words.
        """
        kept, order = self._kept_and_order(members, words)
        inside, outside = self.threshold, (1 << self.depth) - self.threshold
        numbers = []
        for rank, word in enumerate(words[self.size : 2 * self.size].tolist()):
            shows = rank < kept
            numbers.append(choose(shows, 0, inside) + below(word, choose(shows, inside, outside)))
        uniform = self.generator.trim(words[None, 2 * self.size :])
        steered = self.generator.steer(uniform, np.array([order]), np.array([numbers]))
        return np.asarray((steered, uniform)[kept > self.size][0])

    def _kept_and_order(self, members: list[int], words: Words) -> tuple[int, list[int]]:
        """Return how many items of one basket are kept (size + 1: the report is pure noise), and its items shuffled.

        The first so many of the shuffled items are the kept ones. ``words``: the random words that choose.
        """
        first, *choices = words[: max(self.size, 1)].tolist()
        order = members.copy()
        for rank, word in enumerate(choices):
            other = rank + below(word, self.size - rank)
            order[rank], order[other] = order[other], order[rank]
        return sum(first >= bound for bound in self.bounds), order

    def _kept_counts(self, words: Words) -> Codes:
        """Return how many items of a basket each random word chooses to keep; size + 1 stands for pure noise."""
        return np.asarray((words[:, None] >= np.array(self.bounds, dtype=np.uint64)).sum(axis=1), dtype=np.int64)

    def _check(self, members: Codes, words: Words, count: int) -> None:
        """Raise an error unless baskets are increasing rows of item codes, with ``count`` random words each."""
        if members.shape[1] != self.size or words.shape != (len(members), count):
            raise ValueError(
                f"members of shape {members.shape} and words of shape {words.shape} do not fit; a basket here is "
                f"{self.size} codes and {count} words"
            )
        if members.size and not (
            members[:, 0].min() >= 0 and members[:, -1].max() < self.items and (np.diff(members) > 0).all()
        ):
            raise ValueError(f"a basket is no increasing row of codes below {self.items}; sort it and drop repeats")


def basket_program(laws: Iterable[SizeLaw], items: int, up_to: int) -> dict[str, Any]:
    """Return the program by which a device blurs baskets of several sizes, as plain data.

    ``laws``: one for each size. ``items``: how many items there are. ``up_to``: the size of the largest itemsets to be
    read.
    """
    sizes = [SizeProgram.of_law(law, items, up_to).to_data() for law in laws]
    return {"program": VERSION, "kind": KIND, "items": items, "sizes": sizes}


def within(law: SizeLaw, gamma: Fraction) -> SizeLaw:
    """Return a law of baskets whose drawing program keeps a bound γ also after its chances are rounded.

    Pure noise is mixed in, as little as brings the program's γ to at most ``gamma``.
    """
    mixed, share = law, 2.0**-50
    while SizeProgram.of_law(mixed, law.size, 0).gamma > gamma:
        kept = (1.0 - share) * np.array(law.kept) + share * kept_by_noise(law.size, law.rho)
        mixed, share = SizeLaw(law.size, law.rho, tuple((kept / kept.sum()).tolist())), 2.0 * share
    return mixed


def by_noise(size: int, rho: Fraction) -> tuple[Fraction, ...]:
    """Return the chances that noise alone shows j of a basket's m = ``size`` items, j = 0..m, as exact fractions.

        p0[j] = C(m,j) ρ^j (1-ρ)^(m-j)
    """
    return tuple(math.comb(size, j) * rho**j * (1 - rho) ** (size - j) for j in range(size + 1))


def _excess_bounds(law: SizeLaw) -> tuple[int, ...]:
    """Return how many of the 2^64 random words choose to keep at most j items, for j = 0..size; the others are noise.

    These are the cumulative sums E[0], E[0] + E[1], … of the head of this module, and leave noise one word or more.
    """
    p0 = by_noise(law.size, Fraction(law.rho))
    kept = [Fraction(p) for p in law.kept]
    lift = [p / (q * sum(kept)) for p, q in zip(kept, p0, strict=True)]
    shared = min(lift)
    bound, bounds = 0, []
    for j, q in enumerate(p0):
        exceeds = lift[j] > shared * (1 + SAME_LIFT)
        bound += math.floor((lift[j] - shared) * q * WORD) if exceeds else 0
        bounds.append(min(bound, WORD - 1))
    return tuple(bounds)


def _share(bound: int, *, up: bool) -> Fraction:
    """Return how far drawing a number below ``bound`` from 64-bit words is from uniform: a factor near 1.

    It is the largest (``up``) or smallest chance of any one number, times ``bound``.
    """
    words = -(-WORD // bound) if up else WORD // bound
    return Fraction(words * bound, WORD)


# --- reading --------------------------------------------------------------------------------------------------------


def read_program(program: Mapping[str, Any]) -> dict[int, SizeProgram]:
    """Read a program from plain data, as the program of each basket size; one that contradicts itself is an error."""
    if program.get("program") != VERSION or program.get("kind") != KIND:
        raise ValueError(
            f"program {program.get('program')!r} of kind {program.get('kind')!r} is no basket program; "
            f"give one of version {VERSION} and kind {KIND!r}"
        )
    return {part["size"]: _read_size(program["items"], part) for part in program["sizes"]}


def _read_size(items: int, part: Mapping[str, Any]) -> SizeProgram:
    """Read the drawing program of one basket size from ``part``, an entry under "sizes"; a broken one is an error."""
    (threshold, depth), size, seed = part["rho"], part["size"], None
    if part["seed"] is not None:
        kind = [part["seed"][name] for name in ("independence", "construction", "polynomial")]
        seed = shared_generator(SeedGenerator(items, threshold, depth, *kind))
        if not seed.fits or seed.independence < size:
            wrong = f"seeds of {part['seed']} cannot show baskets of {size}"
            raise ValueError(f"{wrong}; take them from SelectASize.program()")
    program = SizeProgram(items, size, threshold, depth, tuple(int(bound, 16) for bound in part["kept"]), seed)
    sound = 0 <= size <= items and len(program.bounds) == size + 1 and min(program.excess) >= 0
    if not (sound and threshold % 2 and 0 < threshold < 1 << depth <= 1 << DEEPEST and program.to_data() == part):
        raise ValueError(f"the program for baskets of {size} contradicts itself; take it from SelectASize.program()")
    return program


# --- from uniform words to choices ----------------------------------------------------------------------------------


def shuffled(members: Codes, words: Words) -> Codes:
    """Return each row of item codes in a random order (Fisher and Yates, all rows at once).

    ``words``: random words, one for each choice, one row for each row of ``members``.
    """
    order = members.copy()
    rows = np.arange(len(order))
    for rank in range(order.shape[1] - 1):
        other = rank + below(words[:, rank], np.uint64(order.shape[1] - rank)).astype(np.int64)
        order[rows, rank], order[rows, other] = order[rows, other], order[rows, rank]
    return order


def coins(threshold: int, depth: int, words: Words) -> Words:
    """Toss coins: return rows of words whose bits are 1 with chance threshold/2^depth.

    ``words``: ``depth`` planes of as many fair bits, side by side in each row.
    """
    return np.asarray(_tossed(threshold, np.split(words, depth, axis=1)))


def _tossed(threshold: int, planes: Sequence[Any]) -> Any:
    """Combine planes of fair bits into bits that are 1 with chance threshold/2^(number of planes).

    From the threshold's last binary digit on, a plane is joined by `or` for a digit 1, by `and` for 0.
    """
    bits = planes[0]
    for digit, plane in enumerate(planes[1:], 1):
        bits = bits | plane if (threshold >> digit) & 1 else bits & plane
    return bits
