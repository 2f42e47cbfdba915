"""SelectASize: the channel for baskets, which keeps a bound γ on what a report can reveal."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.channels.base import Channel
from sfumato.channels.baskets.design import Goal, design_law
from sfumato.channels.baskets.law import SIGNIFICANCE, SizeLaw, support_where_significant, table
from sfumato.channels.baskets.program import KIND, SizeProgram, basket_program, read_program, within
from sfumato.channels.baskets.reports import BasketReports, Baskets, bitmap_width, one_basket, pick_bits, rows_by_size
from sfumato.channels.baskets.seeds import SeedGenerator
from sfumato.channels.bound import gamma_of, require_one
from sfumato.channels.program import Words
from sfumato.channels.program.random_words import Key, KeyedWords, WordSource, row_codes
from sfumato.domain import Categories, Codes, Domain, Floats, Items
from sfumato.domain.checked import given, given_numbers, given_whole, given_wholes
from sfumato.guarantee import Guarantee
from sfumato.prose import Voice, voice

ROWS_AT_ONCE = 4096  # baskets blurred or expanded at once, by judgement: bounds the memory for words of many items
ANYBODY = np.zeros(1, dtype=np.int64)  # the code of a basket where the source of words does not depend on it
LARGEST_SIZE = 1_000
"""Items in a basket at most. By judgement: laws are exact fractions, which take seconds to compute beyond."""
LARGEST_TABLE = 12
"""Items up to which the table of a channel with one size is written down: 2^12 reports × 924 baskets, 30 MB of floats.
By judgement; each item more takes four times as much."""


class SelectASize(Channel):
    """A channel for baskets (sets of items): it keeps some of a basket's items and inserts others at random (EGS03).

    Of a basket of m items, j are kept with chance p[j], and every other item is inserted with chance ρ. The size m is
    disclosed. Of the empty basket, m = 0, nothing else is known or learnt: its report is noise.

    Law: P[t'|t] = (p[j]/p0[j]) ρ^|t'| (1-ρ)^(n-|t'|) for n items, j = |t & t'|, p0[j] = C(m,j) ρ^j (1-ρ)^(m-j).
    γ: max_j p/p0 over min_j p/p0, the largest over the designed sizes; read off the program, exactly.
    Estimator: the support of an itemset A of k items is the mean of Π_{a in A} (1[a in t'] - ρ) / λ_k.

    ``items``: the Items that a basket may hold.
    ``designs``: one law for each size: a ``SizeLaw``, or a mapping with its size, rho and kept. ``SelectASize.design``
    finds the best ones.
    ``up_to``: the size of the largest itemsets that will be looked for.

    >>> import sfumato as sf
    >>> channel = sf.SelectASize.design(sf.Items(["bread", "milk", "salt", "tea"]), sizes=[1, 2], gamma=19, up_to=2)
    >>> reports = channel.randomize([["bread"], ["milk", "tea"]], rng=7)
    >>> channel.sizes, len(reports), channel.gamma <= 19
    ((1, 2), 2, True)
    """

    kind = KIND

    def __init__(self, items: Items, designs: Iterable[SizeLaw | Mapping[str, Any]], up_to: int = 3) -> None:
        super().__init__(items)
        self.items = items
        if not isinstance(items, Items):
            raise TypeError(f"SelectASize needs Items, not {items!r}; write sf.Items(1000) or sf.Items([labels])")
        laws = [law if isinstance(law, SizeLaw) else _law_of(law) for law in designs]
        self.laws = {law.size: law for law in sorted(laws, key=lambda law: law.size)}
        self.up_to = given_whole({"up_to": up_to}, "up_to", 1, LARGEST_SIZE)
        if not laws or len(self.laws) < len(laws):
            raise ValueError(f"there are designs for {[law.size for law in laws]}; give one design for each size")
        _check_sizes(self.laws, items)
        for law in laws:
            for k in range(1, min(up_to, law.size) + 1):
                law.estimator(k)  # refuses a design through which itemsets of k items cannot be read
        self._program = basket_program(self.laws.values(), items.size, up_to)

    @classmethod
    def design(
        cls, items: Items, sizes: Iterable[int], gamma: float | None = None, up_to: int = 3, *,
        epsilon: float | None = None, breach: tuple[float, float] | None = None, n: float = 5_000_000,
        prevalence: float = 0.0, resolution: int = 1024,
    ) -> SelectASize:
        """Build the channel that finds the rarest itemsets in a survey, under a bound.

        ``items``: the Items that a basket may hold.
        ``sizes``: how many items people's baskets may have, for example [0, 1, 2].
        ``gamma``, ``epsilon`` or ``breach``: the bound γ, its logarithm ε, or (ρ1, ρ2): no belief of ρ1 grows to ρ2.
        ``up_to``: the size of the largest itemsets that will be looked for.
        ``n``: how many people report.
        ``prevalence``: how often people without an itemset have one of its items; 0 is EGS03's assumption, and real
        baskets are read better with a design for about 0.1.
        ``resolution``: insertion chances are multiples of 1/resolution, a power of two.

        >>> import sfumato as sf
        >>> channel = sf.SelectASize.design(sf.Items(1000), sizes=[5], gamma=19, up_to=3)
        >>> {k: round(100 * s, 3) for k, s in channel.lowest_discoverable_support(n=5_000_000).items()}
        {1: 0.473, 2: 0.484, 3: 0.496}
        """
        if epsilon is not None:
            gamma = gamma_of(*require_one("select-a-size", gamma=gamma, epsilon=epsilon))
        up_to = given_whole({"up_to": up_to}, "up_to", 1, LARGEST_SIZE)
        goal = Goal(amplification(gamma, breach), up_to, float(n), prevalence=prevalence)
        if resolution < 2 or resolution & (resolution - 1) or resolution > 1 << 16:
            raise ValueError(
                f"resolution = {resolution} is no power of two up to 65536, and ρ is drawn bit by bit; use 1024"
            )
        listed = list(sizes) if isinstance(sizes, Iterable) else sizes
        wanted = np.unique(given_wholes({"sizes": listed}, "sizes", 0, LARGEST_SIZE)).tolist()
        _check_sizes(wanted, items)
        laws = [design_law(size, goal, resolution=resolution) for size in wanted]
        return cls(items, [within(law, Fraction(goal.gamma)) for law in laws], up_to)

    # --- what can be read ----------------------------------------------------------------------------------------

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of items that a basket may have."""
        return tuple(self.laws)

    def lowest_discoverable_support(
        self, n: float = 5_000_000, shares: Mapping[int, float] | None = None, prevalence: float = 0.0
    ) -> dict[int, float]:
        """Return for each size k of itemsets the smallest support that can be found: the s with s = 4 σ(s).

        ``n``: how many people report. ``shares``: the shares of the basket sizes; None: all the same. ``prevalence``:
        how often people without an itemset have one of its items.
        """
        supports = {}
        for k in range(1, min(self.up_to, max(self.sizes)) + 1):
            noise, own, share = self.power(k, shares, prevalence)
            supports[k] = float(support_where_significant(noise, own, n, share))
        return supports

    def reports_needed(self, support: float, k: int, shares: Mapping[int, float] | None = None) -> int:
        """Return how many people must report so that itemsets of k items with this support can be found.

        It is the N at which the support is 4 σ. ``shares``: the shares of the basket sizes; None: all the same.
        """
        noise, own, share = self.power(k, shares)
        power = noise - support * ((noise - own) / share + 1.0)
        return max(1, math.ceil(SIGNIFICANCE**2 * power / support**2))

    def power(
        self, k: int, shares: Mapping[int, float] | None = None, prevalence: float = 0.0
    ) -> tuple[float, float, float]:
        """Return three numbers from which the variance of the estimated support of itemsets of k items follows.

        (E[g²] of people without the itemset, E[g²] of people with it, the share of baskets of k items or more), g the
        term of one report in the support's estimate. ``shares`` and ``prevalence`` are those of
        ``lowest_discoverable_support``.
        """
        weights = {size: 1.0 for size in self.laws} if shares is None else dict(shares)
        unknown = set(weights) - set(self.laws)
        if unknown:
            raise ValueError(
                f"shares name size {min(unknown)}, which has no design; use the sizes {self._sizes_in_words()}"
            )
        total = math.fsum(weights.values())
        large = [(weight / total, self.laws[size]) for size, weight in weights.items() if size >= k and weight > 0]
        if not large:
            raise ValueError(f"no basket of {self._sizes_in_words()} is large enough for {k} items; lower k")
        noise = math.fsum(weight * law.noise_power(k, prevalence) for weight, law in large)
        own = math.fsum(weight * law.own_power(k) for weight, law in large)
        return noise, own, math.fsum(weight for weight, _ in large)

    # --- randomizing ---------------------------------------------------------------------------------------------

    def randomize(
        self, values: Any, rng: np.random.Generator | int | None = None, *, level: Any = None,
        compress: bool = False, key: Key = None, question: str = "",
    ) -> BasketReports:
        """Draw a report for every basket: a bitmap of the items, or a seed of a few bits that stands for one.

        ``values``: lists of items, an Arrow column of lists, or a sparse or one-hot table. ``compress``: send seeds.
        ``level``: a single channel has none. ``rng``, ``key`` and ``question`` are those of ``Channel.randomize``.
        """
        self.level(level)
        alone = one_basket(values, self.items)
        if alone is not None and len(alone) in self.laws:
            return self._report_of_one(alone, self._source(rng, key, question), compress)
        baskets = self.read(values)
        source = self._source(rng, key, question)
        words = np.zeros((len(baskets), self._width(compress)), dtype=np.uint64)
        for size, rows in rows_by_size(baskets.sizes, self.laws, ROWS_AT_ONCE):
            drawn = self._reports(size, baskets.members(rows, size), source.some(rows), compress)
            words[rows, : drawn.shape[1]] = drawn
        return BasketReports(self.items, baskets.sizes.astype(np.uint16), words, compress)

    def _report_of_one(self, members: list[int], source: WordSource, compress: bool) -> BasketReports:
        """Draw the report of a single basket, the same as ``randomize`` but with fewer calls of NumPy."""
        drawing, keyed = self._drawing[len(members)], isinstance(source, KeyedWords)
        identity = row_codes(np.array([members])) if keyed else ANYBODY
        as_seed = self._as_seed(drawing, source, compress)
        count = drawing.seed_words if as_seed else drawing.bitmap_words
        words = source.rows(identity, count)[0]
        drawn = drawing.seed_of(members, words) if as_seed else drawing.bitmap(members, words)
        if as_seed and not compress:
            drawn = drawing.generator.expand(drawn[None])[0]
        report = np.zeros((1, self._width(compress)), dtype=np.uint64)
        report[0, : drawn.size] = drawn
        return BasketReports(self.items, np.array([len(members)], dtype=np.uint16), report, compress)

    def read(self, values: Any) -> Baskets:
        """Read ``values``, as ``Baskets.read`` takes them; a basket of a size without a design is an error."""
        baskets = Baskets.read(values, self.items)
        undesigned = ~np.isin(baskets.sizes, self.sizes)
        if undesigned.any():
            row = int(np.flatnonzero(undesigned)[0])
            size = int(baskets.sizes[row])
            has, drop = (f"has {size} items", "trim") if size else ("is empty", "drop")
            raise ValueError(
                f"basket {row} {has} but the designed sizes are {self._sizes_in_words()}; "
                f"add {size} to sizes= in design, or {drop} the basket"
            )
        return baskets

    def _reports(self, size: int, members: Codes, source: WordSource, compress: bool) -> Words:
        """Draw the reports of baskets of one size, as rows of words; ``members`` are their item codes, a row each."""
        drawing, keyed = self._drawing[size], isinstance(source, KeyedWords)
        identity = row_codes(members) if keyed else np.zeros(len(members), dtype=np.int64)
        if not self._as_seed(drawing, source, compress):
            return drawing.bitmaps(members, source.rows(identity, drawing.bitmap_words))
        seeds = drawing.seeds(members, source.rows(identity, drawing.seed_words))
        return seeds if compress else drawing.generator.expand(seeds)

    def _as_seed(self, drawing: SizeProgram, source: WordSource, compress: bool) -> bool:
        """Return whether a seed (a short number that stands for a bitmap) is drawn, and not a bitmap.

        With a device's key also where a bitmap is sent, so that both forms are the same report.
        """
        return compress or (isinstance(source, KeyedWords) and drawing.seed is not None)

    def _width(self, compress: bool) -> int:
        """Return how many 64-bit words a report takes: as a seed if ``compress``, else as a bitmap."""
        return max(g.words for g in self.generators.values()) if compress else bitmap_width(self.items.size)

    # --- the program -------------------------------------------------------------------------------------------------

    def program(self) -> dict[str, Any]:
        """Return the drawing program as plain data in whole numbers; `read_program` reads it."""
        return deepcopy(self._program)

    @property
    def noise_identity(self) -> str:
        """The hash that a device's keyed noise depends on: the channel's identity."""
        return self.identity

    @cached_property
    def _drawing(self) -> dict[int, SizeProgram]:
        """The drawing program for baskets of each size, by size."""
        return read_program(self._program)

    # --- seeds -------------------------------------------------------------------------------------------------------

    @cached_property
    def generators(self) -> dict[int, SeedGenerator]:
        """What makes and expands seeds (short numbers that stand for bitmaps), by basket size.

        In a random seed any size + up_to items show independently of each other.
        """
        return {size: drawing.generator for size, drawing in self._drawing.items()}

    @property
    def has_seeds(self) -> bool:
        """Whether reports can be sent as seeds, a few bits that stand for a bitmap; not where there are too many items.
        """
        return all(drawing.seed is not None for drawing in self._drawing.values())

    @property
    def seed_bits(self) -> dict[int, int]:
        """How many bits a seed (a report in short form) has, by basket size."""
        return {size: generator.bits for size, generator in self.generators.items()}

    def check(self, reports: BasketReports) -> None:
        """Raise an error for reports that this channel cannot have made: other items, other sizes, shorter seeds."""
        if reports.items.size != self.items.size:
            raise ValueError(
                f"reports over {reports.items.size} items for a channel of {self.items.size}; use its own channel"
            )
        width = 8 * reports.words.shape[1]
        for size in np.flatnonzero(np.bincount(reports.sizes)).tolist():
            if size not in self.laws:
                raise ValueError(
                    f"reports of size {size} have no design in this channel; use the channel that made them"
                )
            if reports.compressed and 8 * width < self.seed_bits[size]:
                raise ValueError(
                    f"a seed of {width} bytes is too short: those of this channel have {self.seed_bits[size]} bits; "
                    "use the channel that made them"
                )

    def expand(self, reports: BasketReports, chosen: Codes | None = None) -> BasketReports:
        """Return reports as bitmaps: seeds as the bitmaps that they stand for, bitmaps as they are.

        ``chosen``: the codes of the items that the bitmaps shall have; None: all.
        """
        self.check(reports)
        items = self.items if chosen is None else self.items.of(chosen)
        if not reports.compressed:
            return reports if chosen is None else BasketReports(items, reports.sizes, pick_bits(reports.words, chosen))
        bitmaps = np.empty((len(reports), bitmap_width(items.size)), dtype=np.uint64)
        for size, rows in rows_by_size(reports.sizes, self.laws, ROWS_AT_ONCE):
            generator = self.generators[size]
            seeds = np.ascontiguousarray(reports.words[rows, : generator.words])
            bitmaps[rows] = generator.expand(seeds, chosen)
        return BasketReports(items, reports.sizes, bitmaps)

    # --- statements ----------------------------------------------------------------------------------------------

    @cached_property
    def exact_gamma(self) -> Fraction:
        """γ of the program, exactly: the largest ratio of a report's chances under two baskets of one size."""
        return max(drawing.gamma for drawing in self._drawing.values())

    @property
    def visible(self) -> tuple[str, ...]:
        """What the collector sees besides the report: ("size",), the size of the basket."""
        return ("size",)

    def guarantee(self, prior: Any = None, *, language: str = "en") -> Guarantee:
        """Return the statement of what one basket's report can reveal beyond the basket's size.

        Its ``.repeated(times)`` states several baskets of one person. ``prior``: chances of all baskets, for a channel
        of one size and at most 12 items only. ``language``: of its sentences, "en", "de" or "fr".
        """
        tiny = self._is_tiny()
        if prior is not None and not tiny:
            raise ValueError(
                f"a prior over all baskets of {self.items.size} items is too large to use; leave prior out"
            )
        if tiny:
            stated = Guarantee.of_channel(self, prior, language)
        else:
            stated = Guarantee(self.gamma, self.describe(voice(language)), visible=self.visible, language=language)
        return replace(stated, notes=(voice(language)("note.baskets"),))

    def describe(self, say: Voice) -> str:
        laws = self.laws.items()
        shown = [say("how.baskets.chance", chance=say.percent(law.rho), size=size) for size, law in laws]
        return say("how.baskets", chances=say.listed(shown))

    # --- the channel's table, for tiny sets of items -----------------------------------------------------------------

    @cached_property
    def inputs(self) -> Categories:  # type: ignore[override]
        """All baskets, as categories; only for one size and few items."""
        return _all_sets(self.items, [self._only_size()])

    @cached_property
    def outputs(self) -> Categories:  # type: ignore[override]
        """All sets of items, as categories; only for one size and few items."""
        self._only_size()
        return _all_sets(self.items, range(self.items.size + 1))

    def _law_at(self, codes: Codes | None, first: Codes | None = None) -> Floats:
        """Return the table of chances P[t', t] of the program, over all sets t' and all baskets t, for few items."""
        drawing = self._drawing[self._only_size()]
        drawn = SizeLaw(drawing.size, self.laws[drawing.size].rho, tuple(float(p) for p in drawing.kept))
        return table(drawn, self.items.size)

    def report_codes(self, codes: Codes, source: WordSource) -> Codes:
        baskets = self.read(self.inputs.decode(np.ravel(codes)))
        members = baskets.codes.reshape(len(baskets), self._only_size())
        return self._reports(self._only_size(), members, source, False)[:, 0].astype(np.int64).reshape(np.shape(codes))

    def _is_tiny(self) -> bool:
        """Return whether the channel's table of chances can be written down: one basket size and few items."""
        return self.items.size <= LARGEST_TABLE and len(self.laws) == 1

    def _only_size(self) -> int:
        """Return the one basket size; raise an error if the channel's table of chances is too large to write down."""
        if not self._is_tiny():
            raise ValueError(
                f"the table of {self.items.size} items and {len(self.laws)} sizes is too large; "
                f"use one size and at most {LARGEST_TABLE} items (guarantee() and the supports need no table)"
            )
        return self.sizes[0]

    @classmethod
    def parameter_names(cls) -> list[str]:
        return ["designs", "sizes", "gamma", "epsilon", "up_to"]

    @classmethod
    def from_parameters(cls, domain: Domain, arguments: dict[str, Any]) -> SelectASize:
        """Build the channel over a domain of items from the ``arguments`` in a plan.

        They hold its ``designs``, or sizes and a bound for which it is designed.
        """
        goal = {name: value for name, value in arguments.items() if name not in ("designs", "up_to")}
        if "designs" in arguments:
            if goal:
                raise ValueError(f"designs and {min(goal)} are both given; keep one of the two")
            return cls(domain, **arguments)  # type: ignore[arg-type]
        if "sizes" not in goal:
            raise ValueError("sizes is missing; write how many items a basket may have, for example sizes = [0, 1, 2]")
        require_one("select-a-size", gamma=goal.get("gamma"), epsilon=goal.get("epsilon"))
        return cls.design(domain, **arguments)  # type: ignore[arg-type]

    def parameters(self) -> dict[str, Any]:
        designs = [{"size": law.size, "rho": law.rho, "kept": list(law.kept)} for law in self.laws.values()]
        return {"designs": designs, "up_to": self.up_to}

    def _sizes_in_words(self) -> str:
        """Return the basket sizes as an error prints them: 1, 2, 5."""
        return ", ".join(str(size) for size in self.sizes)

    def __repr__(self) -> str:
        return f"SelectASize({self.items}, sizes {self._sizes_in_words()}, γ={self.gamma:.4g}, up_to={self.up_to})"


def _law_of(design: Any) -> SizeLaw:
    """Read the law of one basket size from plain data: size, rho and kept."""
    size = given_whole(design, "size", 0, LARGEST_SIZE)
    rho = given_numbers({"rho": [given(design, "rho")]}, "rho", (1,))
    return SizeLaw(size, float(rho[0]), tuple(given_numbers(design, "kept", (None,)).tolist()))


def _check_sizes(sizes: Iterable[int], items: Items) -> None:
    """Raise an error for a basket size above the number of items."""
    for size in sizes:
        if size > items.size:
            raise ValueError(f"baskets of {size} cannot be drawn from {items.size} items; drop that size")


def amplification(gamma: float | None, breach: tuple[float, float] | None) -> float:
    """Return the bound γ (largest factor on the odds) of a design, stated as ``gamma`` or as ``breach``.

    ``breach``: (ρ1, ρ2), and no belief of ρ1 may grow to ρ2, which takes γ = ρ2(1-ρ1)/(ρ1(1-ρ2)). The other one is
    None.
    """
    if gamma is not None and breach is None:
        return float(gamma)
    if gamma is not None or breach is None:
        raise ValueError("γ is not given once; give either gamma=, e.g. 19, or breach=, e.g. (0.05, 0.5)")
    rho1, rho2 = breach
    if not 0.0 < rho1 < rho2 < 1.0:
        raise ValueError(
            f"ρ1 = {rho1:g}, ρ2 = {rho2:g} are no breach, which needs 0 < ρ1 < ρ2 < 1; give for example 0.05 and 0.5"
        )
    return rho2 * (1.0 - rho1) / (rho1 * (1.0 - rho2))


def _all_sets(items: Items, sizes: Container[int]) -> Categories:
    """Return the sets of items that have one of these sizes, as categories labelled by frozensets of items.

    They are in the order of their bit patterns.
    """
    patterns = (pattern for pattern in range(1 << items.size) if pattern.bit_count() in sizes)
    return Categories(frozenset(x for i, x in enumerate(items.labels) if pattern >> i & 1) for pattern in patterns)
