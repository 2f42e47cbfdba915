"""Subsets: thousands of categories, each report a set of them that is named by a few bytes.

Every category has a place x in a grid of m digits in base q, a prime. A *direction* z is one of the k =
(q^m − 1)/(q − 1) lines through the origin of that grid, and cuts it into q parallel slices: that of x is z·x mod q. A
report names a direction, drawn at random, and one of its slices, the true one γ times as likely as any other. Two
categories share a slice in (q^(m−1) − 1)/(q − 1) directions, whichever they are: that is all the independence that
unbiased shares and their variance need. Reports are whole numbers below q·k, a little more than there are categories:
they are counted like any others, and a Fourier transform over the grid turns their counts into those of categories.

One slice holds 1/q of the categories, and no prime may be near the best, γ + 1: at γ = 3 thirds and fifths have 1.04
and 1.02 times its variance. A set may be an *arc* of w neighbouring slices instead, w/q as close to 1/(γ + 1) as
wanted: a report then names a step around the slices too, s·(z·x) mod q with s = 1 … (q − 1)/2, and again every two
categories share equally many sets. Few categories fill a grid badly, 16 of 25 places make sets of two to five: they lie
on a ring of q ≥ d places, which is a grid of one digit. (There a sum of neighbours has up to a seventh more variance
than one of others.)

The place of category c is c + q·c² mod q^m, a parabola. Sums of categories have the variance of independent ones unless
many of them lie on a line: the first twenty would, were their places 0, 1, 2 …, and their sum had four times as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.channels.balanced import Balanced
from sfumato.channels.base import Channel
from sfumato.channels.bound import checked_bound, gamma_of, one_given
from sfumato.channels.program import (
    HALF,
    Numbers,
    Program,
    Step,
    Window,
    below,
    choose,
    hex_word,
    sum_runs,
    word_of,
    words_below,
)
from sfumato.domain import MOST_CODES, Categories, Codes, Floats, Interval, as_array
from sfumato.domain.checked import given, given_whole
from sfumato.prose import Voice

MOST_CATEGORIES = 1 << 19
FEWEST_IN_SETS = 6
"""Fewer categories fill no ring of a prime well."""
NEARLY_BEST, NEARLY_UNARY = Fraction(1005, 1000), Fraction(10015, 10000)
"""Of the grids whose variance is within so much of the best, and of what one bit for every category has (optimal unary
encoding), the one with the fewest reports is taken."""
MOST_ARCS, ARCS_OF_ONE = 1 << 14, 16
"""Arcs have more reports than categories: so many at most, or so many for each category."""


@dataclass(frozen=True, eq=False)
class Slices(Step):
    """A random direction z and an arc of ``width`` neighbouring slices of it, named by the last; with chance
    inside/2^63 an arc that holds the code's own slice z·x mod q, else one that does not."""

    name = "slices"
    words = 3
    inside: int
    prime: int
    digits: int
    inputs: int
    width: int = 1

    @property
    def lines(self) -> int:
        """How many lines go through the origin."""
        return int(self.prime**self.digits - 1) // (self.prime - 1)

    @property
    def steps(self) -> int:
        """How many ways of stepping around the slices of a line there are: s and −s have the same arcs."""
        return (self.prime - 1) // 2 if self.width > 1 else 1

    @property
    def directions(self) -> int:
        return self.lines * self.steps

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return self.prime * self.directions

    @property
    def chance(self) -> float:
        """The probability of an arc that holds the true slice."""
        return self.inside / HALF

    def place_of(self, code: Numbers) -> Numbers:
        """Where in the grid a code lies; no two share a place."""
        places = self.prime**self.digits
        return (code + code * code % places * self.prime) % places

    def slice_of(self, code: Numbers, direction: Numbers) -> Numbers:
        """s·(z·x) mod q for the digits x of the code's place, lowest first, and those of the line z.

        Line 0 is (1, 0, …, 0); line 1 + q·i + j begins with j and goes on as line i. Direction (s − 1) + steps·i is
        step s on line i.
        """
        place, line, found, going = self.place_of(code), direction // self.steps, 0 * code, 1
        for _ in range(self.digits):
            last = line == 0
            digit = choose(last, 1, (line - 1) % self.prime)
            found, going = found + going * digit * (place % self.prime), going * (1 - last)
            place, line = place // self.prime, (line - 1) // self.prime
        return found % self.prime * (1 + direction % self.steps) % self.prime

    def draw(self, code: Numbers, words: Sequence[Numbers]) -> Numbers:
        hit = (words[1] >> 1) < self.inside
        direction, others = below(words[0], self.directions), self.prime - self.width
        near, far = below(words[2], self.width), below(words[2], others) + self.width
        if not isinstance(code, int):
            direction, near, far = (each.astype(np.int64) for each in (direction, near, far))
        own = self.slice_of(code, direction)
        return direction * self.prime + (own + choose(hit, near, far)) % self.prime

    def law(self, first: Codes | None = None) -> Floats:
        """1/k times an equal part of the chance of an arc that holds the code, or of what is left."""
        near, far = self.chance / self.width, (HALF - self.inside) / HALF / (self.prime - self.width)
        held = self.holds(np.arange(self.inputs), np.arange(self.outputs)[:, None])
        table = np.where(held, near / self.directions, far / self.directions)
        return table if first is None else sum_runs(table, first)

    def holds(self, code: Numbers, report: Numbers) -> Numbers:
        """Whether the code is in the set that a report names."""
        own = self.slice_of(code, report // self.prime)
        return (report - own) % self.prime < self.width

    def exact(self) -> list[list[int]]:
        others = self.prime - self.width
        place = [self.inside * words_below(i, self.width) for i in range(self.width)]
        place += [(HALF - self.inside) * words_below(i, others) for i in range(others)]
        rows = []
        for report in range(self.outputs):
            direction, slice_ = divmod(report, self.prime)
            words = words_below(direction, self.directions)
            own = [self.slice_of(code, direction) for code in range(self.inputs)]
            rows.append([words * place[(slice_ - each) % self.prime] for each in own])
        return rows

    def gamma(self) -> Fraction | None:
        """That of the slices: the direction says nothing."""
        own = Window(self.inside, self.width, self.prime - self.width)
        return own.gamma() if self.inputs > 1 else Fraction(1)

    def to_dict(self) -> dict[str, Any]:
        grid = {"prime": self.prime, "digits": self.digits, "width": self.width}
        return {"step": self.name, "inside": hex_word(self.inside), **grid}

    @classmethod
    def from_dict(cls, data: dict[str, Any], inputs: int) -> Slices:
        inside = word_of(given(data, "inside"))
        prime, digits = given_whole(data, "prime", 2, MOST_CODES), given_whole(data, "digits", 1, 20)
        width = given_whole(data, "width", 1, MOST_CODES)
        step = cls(inside, prime, digits, inputs, width)
        if inside > HALF or not is_prime(prime) or not inputs <= prime**digits <= MOST_CODES:
            raise ValueError("slices need inside ≤ 2^63, a prime and enough digits; write the program again")
        if width > 1 and (2 * width > prime or step.outputs > MOST_CODES):
            raise ValueError("arcs fill at most half of the slices and are not too many; write the program again")
        return step

    # --- counting -------------------------------------------------------------------------------------------------

    @cached_property
    def _multiples(self) -> NDArray[np.int64]:
        """[line, s]: the place of s·z in the grid, s = 0..q−1; every place but 0 occurs once."""
        rest, going = np.arange(self.lines), np.ones(self.lines, np.int64)
        places = np.zeros((self.lines, self.prime), np.int64)
        for place in range(self.digits):
            digit = going * np.where(rest == 0, 1, (rest - 1) % self.prime)
            places += digit[:, None] * np.arange(self.prime) % self.prime * self.prime**place
            going, rest = going * (rest != 0), (rest - 1) // self.prime
        return places

    @cached_property
    def _stepped(self) -> NDArray[np.int64]:
        """[step, slice of the line]: s·u mod q, and where that lies among the reports of a line."""
        step = np.arange(self.steps)[:, None]
        return np.asarray((step + 1) * np.arange(self.prime) % self.prime + step * self.prime)

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        return np.asarray(self.place_of(np.arange(self.inputs)))

    @property
    def _grid(self) -> tuple[int, ...]:
        return (self.prime,) * self.digits

    def held_by(self, reports: Floats) -> Floats:
        """How many of the reports, each seen so often, name a set that holds each code.

        With N[z, u] of them holding slice u of line z,

            Σ_z N[z, z·x] = (1/q)·(n + Σ_z Σ_{s>0} N̂_z(s)·e^{2πi s z·x/q})

        is a Fourier transform over the grid, because every place but 0 is s·z for one z and one s > 0.
        """
        arcs = self._in_arcs(np.reshape(reports, (self.lines, self.steps, self.prime)), 1)
        by_line = arcs.reshape(self.lines, -1)[:, self._stepped].sum(axis=1)
        waves = np.zeros(self.prime**self.digits, complex)
        waves[self._multiples[:, 1:]] = np.fft.fft(by_line, axis=1)[:, 1:]
        waves[0] = by_line.sum()
        held = np.fft.ifftn(waves.reshape(self._grid)).real.ravel()[self._places]
        return held * float(self.prime ** (self.digits - 1))

    def held_in(self, weights: Floats) -> Floats:
        """The weight of the codes that each report's set holds."""
        grid = np.zeros(self.prime**self.digits)
        grid[self._places] = weights
        waves = np.fft.fftn(grid.reshape(self._grid)).ravel()
        by_slice = np.zeros((self.lines, self.steps * self.prime))
        by_slice[:, self._stepped] = np.fft.ifft(waves[self._multiples], axis=1).real[:, None]
        return self._in_arcs(by_slice.reshape(self.lines, self.steps, self.prime), -1).ravel()

    def _in_arcs(self, by_slice: Floats, way: int) -> Floats:
        """The sum over ``width`` neighbours, from each slice on (way = 1) or up to it (way = −1)."""
        return np.asarray(sum(np.roll(by_slice, -way * place, axis=-1) for place in range(self.width)))


class SubsetResponse(Channel):
    """Report a set of about d/(γ + 1) categories that is likelier to hold the true one; as a number of a few bytes.

    Domain: Categories with d ≥ 2 labels, worth it from about 1.5(γ + 1) of them on; below, randomized response is best.
    Law: the set holds the true category with chance p = γw/(γw + q − w), any other with ρ close to w/q; the prime q and
    the width w have nearly the smallest variance, w/q about 1/(γ + 1).
    γ: as given, exactly, or e^ε.
    Estimator: (share of sets that hold the category − ρ)/(p − ρ); of a rare one the variance is 4γ/(n(γ − 1)²).

    >>> import sfumato as sf
    >>> words = sf.SubsetResponse(sf.Categories(range(1000)), gamma=19)
    >>> words.guarantee().gamma, words.report_bits, len(words.members(4711))
    (19.0, 13, 47)
    """

    kind = "subset-response"

    def __init__(
        self, domain: Categories, gamma: float | None = None, *, epsilon: float | None = None, missing: str = "pass",
        outside: str = "refuse",
    ) -> None:
        if not isinstance(domain, Categories):
            raise TypeError(
                f"subset response needs Categories, not {type(domain).__name__}; "
                + ("try SquareWave" if isinstance(domain, Interval) else "write sf.Categories([…])")
            )
        if not 2 <= domain.size <= MOST_CATEGORIES:
            wrong = "one category reveals nothing" if domain.size < 2 else "group some of them"
            raise ValueError(f"subset response needs 2 to {MOST_CATEGORIES:,} categories, not {domain.size:,}; {wrong}")
        if outside == "clamp":
            raise ValueError("outside='clamp' has no meaning for categories; leave it out")
        super().__init__(domain, missing, outside)
        self.domain: Categories = domain
        name, value = one_given("subset response", gamma=gamma, epsilon=epsilon)
        self._given = {name: checked_bound(name, value)}
        wanted = gamma_of(name, self._given[name])
        prime, digits, width = best_grid(domain.size, wanted)
        inside = Window.of_gamma(wanted, width, prime - width).inside
        self.slices = Slices(inside, prime, digits, domain.size, width)
        self.inputs: Categories = domain

    @cached_property
    def outputs(self) -> Categories:  # type: ignore[override]
        """Reports are numbers: slice + q · direction."""
        return Categories(range(self.slices.outputs))

    def parameters(self) -> dict[str, Any]:
        return self._given

    def steps(self) -> tuple[Slices]:
        return (self.slices,)

    @cached_property
    def drawing(self) -> Program:
        written = {"size": self.slices.outputs, "first": 0, "stride": 1, "per": 1}
        return Program(self.domain.size, self.steps(), {"size": self.domain.size}, written)

    @property
    def report_bits(self) -> int:
        """How many bits a report has."""
        return (self.slices.outputs - 1).bit_length()

    def members(self, reports: ArrayLike) -> Any:
        """The report as a set: the categories in the set that a number names; for many reports a list of sets.

        A missing report has no set, None. What is sent and counted is the number, which is shorter.
        """
        codes = self.encode_reports(reports)
        found = [self._set(code) for code in codes.ravel().tolist()]
        return found if codes.ndim else found[0]

    def _set(self, code: int) -> tuple[Any, ...] | None:
        if code < 0:
            return None
        held = self.slices.holds(np.arange(self.domain.size), code)
        return tuple(self.domain.labels[place] for place in np.flatnonzero(held).tolist())

    def encode_reports(self, reports: ArrayLike) -> Codes:
        """Report codes; numbers that a file holds as text, as the categories are, are numbers all the same."""
        array = as_array(reports)
        if array.dtype.kind in "UO":
            held = array.ravel().tolist()
            plain = [int(each) if isinstance(each, str) and each.isdecimal() else each for each in held]
            array = as_array(plain).reshape(array.shape)
        return super().encode_reports(array)

    def balanced(self) -> Balanced:
        slices = self.slices
        p, width, others, k = slices.chance, slices.width, slices.prime - slices.width, slices.directions
        beside = share_beside(slices.prime, slices.digits, width)
        stray = float(beside * p + (width / others) * (1 - beside) * (1 - p))
        return Balanced(p / width / k, (1 - p) / others / k, p, stray, slices.held_by, slices.held_in)

    def describe(self, say: Voice) -> str:
        members = say.number(round(self.domain.size * self.slices.width / self.slices.prime) or 1)
        return say("how.subset", members=members, chance=say.percent(self.slices.chance))


def sets_serve_better(categories: int, gamma: float) -> bool:
    """Whether shares have less variance through subsets than through randomized response, whose sets are of one: from
    about 1.5(γ + 1) categories on, where it has 1.02 times that of subset selection. (At 3γ + 2, from where on a bit
    for every category has less, it has 1.3 times it.)"""
    if categories < FEWEST_IN_SETS:
        return False
    bound, grid = Fraction(gamma), best_grid(categories, gamma)
    p, stray = bound / (bound + categories - 1), 1 / (bound + categories - 1)
    of_single = _spread(p, stray, categories) / (p - stray) ** 2
    return grid[2] * categories > grid[0] and _judged(grid, categories, bound)[0] < of_single


# --- choosing the grid ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def best_grid(categories: int, gamma: float) -> tuple[int, int, int]:
    """(q, m, w) with q^m ≥ d: nearly the smallest variance and, of those, the fewest reports.

    In fractions, so that every machine chooses the same.
    """
    bound = Fraction(gamma)
    judged = [(*_judged(grid, categories, bound), grid) for grid in _grids(categories, gamma)]
    best = min(variance for variance, _, _ in judged)
    unary = _spread(Fraction(1, 2), 1 / (bound + 1), categories) / (Fraction(1, 2) - 1 / (bound + 1)) ** 2
    most = max(best, min(NEARLY_BEST * best, NEARLY_UNARY * unary))
    return min((reports, grid) for variance, reports, grid in judged if variance <= most)[1]


def _grids(categories: int, gamma: float) -> Iterator[tuple[int, int, int]]:
    """The grids that hold the categories: the smallest ring, and of each small prime the fewest digits; a single slice,
    or arcs about as wide as serves best."""
    ring = categories
    while not is_prime(ring):
        ring += 1
    for prime in {ring, *filter(is_prime, range(2, int(MOST_CODES**0.5)))}:
        digits = 1 if prime == ring else 2
        while prime**digits < categories:
            digits += 1
        about = int(prime / (gamma + 1))
        for width in {1, *range(max(about - 1, 2), min(about + 2, prime // 2) + 1)}:
            reports = Slices(0, prime, digits, categories, width).outputs
            if reports <= (MOST_CODES if width == 1 else min(max(MOST_ARCS, ARCS_OF_ONE * categories), MOST_CODES)):
                yield prime, digits, width


def _judged(grid: tuple[int, int, int], categories: int, gamma: Fraction) -> tuple[Fraction, int]:
    """(n times the mean variance that noise adds to a category's share, number of reports) in an even population.

    Making the shares sum to 1 takes off what the sizes of sets vary, at most one part in d.
    """
    prime, digits, width = grid
    others, beside = prime - width, share_beside(*grid)
    p = gamma * width / (gamma * width + others)
    stray = beside * p + Fraction(width, others) * (1 - beside) * (1 - p)
    size = Fraction(width * categories, prime)
    of_sizes = size * (1 + (categories - 1) * beside) - size**2
    spread = _spread(p, stray, categories)
    spread -= min(of_sizes / categories, spread) / categories
    return spread / (p - stray) ** 2, Slices(0, prime, digits, categories, width).outputs


def _spread(p: Fraction, stray: Fraction, categories: int) -> Fraction:
    """The mean variance of whether a set holds a category, in an even population."""
    return (p * (1 - p) + (categories - 1) * stray * (1 - stray)) / categories


def share_beside(prime: int, digits: int, width: int) -> Fraction:
    """The chance that a set which holds one place holds another one too, whichever it is."""
    places = prime**digits
    return Fraction(width * places // prime - 1, places - 1)


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))
