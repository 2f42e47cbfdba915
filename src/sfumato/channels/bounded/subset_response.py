"""Subset response: a channel for thousands of categories, whose report names a set of them in a few bytes.

Every category has a place x in a grid of m digits in base q, a prime. A *direction* z is one of the k =
(q^m − 1)/(q − 1) lines through the origin of that grid, and cuts it into q parallel slices: that of x is z·x mod q. A
report names a direction, drawn at random, and one of its slices, the true one γ times as likely as any other. Any two
categories share a slice in (q^(m−1) − 1)/(q − 1) directions: that is all the independence that unbiased shares and
their variance need. Reports are whole numbers below q·k, a little more than there are categories: they are counted like
any others, and a Fourier transform over the grid turns their counts into those of categories.

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
from sfumato.channels.bound import checked_bound, gamma_of, require_one
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

MOST_CATEGORIES = 1 << 19  # a report is a code of a grid of more places than categories, and those are 2^20 at most
FEWEST_IN_SETS = 6
"""From so many categories on sets are considered. By judgement: a ring of five places or fewer has sets of one or two,
which differ little from single answers; a plan's budget counts by the same rule (src/sfumato/plan/budget.py)."""
NEARLY_BEST = Fraction(1005, 1000)
"""The grid with the fewest reports is taken of those whose variance is at most so many times the best grid's. By
judgement: .5 % more people make up for it, and reports get shorter; docs/mathematics.md, "Many categories", has the
grids and their variances."""
NEARLY_UNARY = Fraction(10015, 10000)
"""The same against the variance of optimal unary encoding (one bit a category); the smaller of both limits counts."""
MOST_ARCS = 1 << 14  # reports of a grid with arcs at most, if that is more than the next line allows
ARCS_OF_ONE = 16
"""Reports of a grid with arcs at most, as a multiple of the categories. By judgement: a count is kept for each report,
and 16,384 of them, or 16 for each category, are few beside the people who are needed to read so many categories."""


@dataclass(frozen=True, eq=False)
class Slices(Step):
    """The program step of subset response: it draws the set of categories that a report names.

    The set is an arc of neighbouring slices (parallel cuts of the grid of categories) in a random direction z. With
    chance inside/2^63 the arc holds the code's own slice z·x mod q, else it does not. ``prime`` and ``digits`` are q
    and m of the grid, ``inputs`` the number of categories, ``width`` how many slices an arc has. The next code is
    q·direction + (the last slice of the arc).
    """

    name = "slices"
    words = 3
    inside: int
    prime: int
    digits: int
    inputs: int
    width: int = 1

    @property
    def lines(self) -> int:
        """How many lines of the grid of categories go through its origin: (q^m − 1)/(q − 1)."""
        return int(self.prime**self.digits - 1) // (self.prime - 1)

    @property
    def steps(self) -> int:
        """In how many ways the slices of a line are ordered: each step s = 1, 2, … around them makes other arcs.

        s and −s make the same arcs, so they count once.
        """
        return (self.prime - 1) // 2 if self.width > 1 else 1

    @property
    def directions(self) -> int:
        """How many directions a report may name: one for each line of the grid and each step around its slices."""
        return self.lines * self.steps

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return self.prime * self.directions

    @property
    def chance(self) -> float:
        """The chance that the reported set of categories (arc of slices) holds the true one."""
        return self.inside / HALF

    def place_of(self, code: Numbers) -> Numbers:
        """Return where a category lies in the grid of q^m places: (c + q·c²) mod q^m for the code c.

        No two codes share a place. ``code``: one number or an array.
        """
        places = self.prime**self.digits
        return (code + code * code % places * self.prime) % places

    def slice_of(self, code: Numbers, direction: Numbers) -> Numbers:
        """Return in which of the q slices a category lies, seen in a direction: s·(z·x) mod q.

        ``code`` and ``direction`` are numbers or arrays. x are the digits of the code's place, lowest first, z those of
        the line and s the step: direction (s − 1) + steps·i is step s on line i. Line 0 is (1, 0, …, 0); line 1 + q·i +
        j begins with j and goes on as line i.
        """
        digits, line, product, unfinished = self.place_of(code), direction // self.steps, 0 * code, 1
        for _ in range(self.digits):
            last = line == 0
            digit = choose(last, 1, (line - 1) % self.prime)
            product, unfinished = product + unfinished * digit * (digits % self.prime), unfinished * (1 - last)
            digits, line = digits // self.prime, (line - 1) // self.prime
        return product % self.prime * (1 + direction % self.steps) % self.prime

    def draw(self, code: Numbers, words: Sequence[Numbers]) -> Numbers:
        hit = (words[1] >> 1) < self.inside
        direction, others = below(words[0], self.directions), self.prime - self.width
        near, far = below(words[2], self.width), below(words[2], others) + self.width
        if not isinstance(code, int):
            direction, near, far = (drawn.astype(np.int64) for drawn in (direction, near, far))
        own = self.slice_of(code, direction)
        return direction * self.prime + (own + choose(hit, near, far)) % self.prime

    def law(self, first: Codes | None = None) -> Floats:
        """Return the table of chances P[report, code], or its sums over runs of reports that begin at ``first``.

            P = p/(w·k) if the report's set holds the code, else (1 − p)/((q − w)·k),   p the chance, k the directions
        """
        near, far = self.chance / self.width, (HALF - self.inside) / HALF / (self.prime - self.width)
        is_held = self.holds(np.arange(self.inputs), np.arange(self.outputs)[:, None])
        table = np.where(is_held, near / self.directions, far / self.directions)
        return table if first is None else sum_runs(table, first)

    def holds(self, code: Numbers, report: Numbers) -> Numbers:
        """Return whether the set that a report names holds a category; both are codes, single numbers or arrays."""
        own = self.slice_of(code, report // self.prime)
        return (report - own) % self.prime < self.width

    def exact(self) -> list[list[int]]:
        others = self.prime - self.width
        by_distance = [self.inside * words_below(i, self.width) for i in range(self.width)]
        by_distance += [(HALF - self.inside) * words_below(i, others) for i in range(others)]
        rows = []
        for report in range(self.outputs):
            direction, slice_ = divmod(report, self.prime)
            words = words_below(direction, self.directions)
            slices = [self.slice_of(code, direction) for code in range(self.inputs)]
            rows.append([words * by_distance[(slice_ - own) % self.prime] for own in slices])
        return rows

    def gamma(self) -> Fraction | None:
        """Return γ, the largest ratio between the chances of two slices; None: infinite.

        The direction is drawn without the code, so it plays no part.
        """
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
        """The place in the grid of every multiple s·z of a line, as an array [line z, s = 0..q−1].

        Every place but 0 occurs once.
        """
        line, unfinished = np.arange(self.lines), np.ones(self.lines, np.int64)
        places = np.zeros((self.lines, self.prime), np.int64)
        for position in range(self.digits):
            digit = unfinished * np.where(line == 0, 1, (line - 1) % self.prime)
            places += digit[:, None] * np.arange(self.prime) % self.prime * self.prime**position
            unfinished, line = unfinished * (line != 0), (line - 1) // self.prime
        return places

    @cached_property
    def _stepped(self) -> NDArray[np.int64]:
        """The index of each slice among the reports of its line, as an array [step s, slice u].

            q·(s − 1) + (s·u mod q)
        """
        step = np.arange(self.steps)[:, None]
        return np.asarray((step + 1) * np.arange(self.prime) % self.prime + step * self.prime)

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """The place of every category in the grid, as an array by code."""
        return np.asarray(self.place_of(np.arange(self.inputs)))

    @property
    def _grid(self) -> tuple[int, ...]:
        """The shape (q, …, q) of an array over the grid: m axes of q places."""
        return (self.prime,) * self.digits

    def counts_by_code(self, reports: Floats) -> Floats:
        """Return for every code how many of the seen reports name a set that holds it.

        ``reports``: how often each report was seen. With N[z, u] of them holding slice u of line z,

            Σ_z N[z, z·x] = (1/q)·(n + Σ_z Σ_{s>0} N̂_z(s)·e^{2πi s z·x/q})

        is a Fourier transform over the grid, because every place but 0 is s·z for one z and one s > 0.
        """
        arcs = self._in_arcs(np.reshape(reports, (self.lines, self.steps, self.prime)), 1)
        by_line = arcs.reshape(self.lines, -1)[:, self._stepped].sum(axis=1)
        waves = np.zeros(self.prime**self.digits, complex)
        waves[self._multiples[:, 1:]] = np.fft.fft(by_line, axis=1)[:, 1:]
        waves[0] = by_line.sum()
        means = np.fft.ifftn(waves.reshape(self._grid)).real.ravel()[self._places]
        return means * float(self.prime ** (self.digits - 1))

    def weights_by_report(self, weights: Floats) -> Floats:
        """Return for every report the sum of the codes' weights over the set that it names."""
        grid = np.zeros(self.prime**self.digits)
        grid[self._places] = weights
        waves = np.fft.fftn(grid.reshape(self._grid)).ravel()
        by_slice = np.zeros((self.lines, self.steps * self.prime))
        by_slice[:, self._stepped] = np.fft.ifft(waves[self._multiples], axis=1).real[:, None]
        return self._in_arcs(by_slice.reshape(self.lines, self.steps, self.prime), -1).ravel()

    def _in_arcs(self, by_slice: Floats, sign: int) -> Floats:
        """Return for each slice the sum over an arc of ``width`` neighbouring ones, in the shape of ``by_slice``.

        The arc begins at the slice (sign 1) or ends there (sign −1); the last axis runs over slices.
        """
        return np.asarray(sum(np.roll(by_slice, -sign * shift, axis=-1) for shift in range(self.width)))


class SubsetResponse(Channel):
    """A channel for many categories: it reports a set of about d/(γ + 1) of them, as a number of a few bytes.

    Of less variance than randomized response from about 1.5(γ + 1) categories on.

    Law: the set holds the true category with chance p = γw/(γw + q − w), any other with ρ close to w/q; the prime q and
    the width w have nearly the smallest variance, w/q about 1/(γ + 1).
    γ: as given, exactly, or e^ε.
    Estimator: (share of sets that hold the category − ρ)/(p − ρ); of a rare one the variance is 4γ/(n(γ − 1)²).

    ``domain``: the Categories that people may answer, 2 to 524,288 of them.
    ``gamma`` or ``epsilon``: the bound γ, or its logarithm; exactly one of them.
    ``missing`` and ``outside`` are those of ``Channel``.

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
        name, value = require_one("subset response", gamma=gamma, epsilon=epsilon)
        self._given = {name: checked_bound(name, value)}
        wanted = gamma_of(name, self._given[name])
        prime, digits, width = best_grid(domain.size, wanted)
        inside = Window.of_gamma(wanted, width, prime - width).inside
        self.slices = Slices(inside, prime, digits, domain.size, width)
        self.inputs: Categories = domain

    @cached_property
    def outputs(self) -> Categories:  # type: ignore[override]
        """The reports as categories: whole numbers, slice + q · direction, each of which names a set of answers."""
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
        """How many bits a report takes."""
        return (self.slices.outputs - 1).bit_length()

    def members(self, reports: ArrayLike) -> Any:
        """Return the set of categories that a report names, as a tuple; for many reports a list of tuples.

        None stands for a missing report. What is sent and counted is the number, which is shorter.

        >>> import sfumato as sf
        >>> sf.SubsetResponse(sf.Categories(range(8)), gamma=3).members(0)
        (0, 3, 6)
        """
        codes = self.encode_reports(reports)
        sets = [self._set(code) for code in codes.ravel().tolist()]
        return sets if codes.ndim else sets[0]

    def _set(self, code: int) -> tuple[Any, ...] | None:
        """Return the labels of the categories in the set that a report names, by its code; None for −1, missing."""
        if code < 0:
            return None
        is_held = self.slices.holds(np.arange(self.domain.size), code)
        return tuple(self.domain.labels[member] for member in np.flatnonzero(is_held).tolist())

    def encode_reports(self, reports: ArrayLike) -> Codes:
        """Return the code of every one of ``reports``, −1 where missing; texts of digits, as in files, are numbers."""
        array = as_array(reports)
        if array.dtype.kind in "UO":
            values = array.ravel().tolist()
            plain = [int(value) if isinstance(value, str) and value.isdecimal() else value for value in values]
            array = as_array(plain).reshape(array.shape)
        return super().encode_reports(array)

    def balanced(self) -> Balanced:
        slices = self.slices
        p, width, others, k = slices.chance, slices.width, slices.prime - slices.width, slices.directions
        beside = share_beside(slices.prime, slices.digits, width)
        stray = float(beside * p + (width / others) * (1 - beside) * (1 - p))
        return Balanced(p / width / k, (1 - p) / others / k, p, stray, slices.counts_by_code, slices.weights_by_report)

    def describe(self, say: Voice) -> str:
        members = say.number(round(self.domain.size * self.slices.width / self.slices.prime) or 1)
        return say("how.subset", members=members, chance=say.percent(self.slices.chance))


def sets_serve_better(categories: int, gamma: float) -> bool:
    """Return whether reports of sets (``SubsetResponse``) estimate shares better than single categories do.

    That is with less variance than ``RandomizedResponse``, under the same bound γ. They do from about 1.5(γ + 1)
    categories on; there randomized response has 1.02 times the variance of subset selection, and at 3γ + 2 categories,
    where optimal unary encoding begins to be better too, 1.3 times.
    """
    if categories < FEWEST_IN_SETS:
        return False
    bound, grid = Fraction(gamma), best_grid(categories, gamma)
    p, stray = bound / (bound + categories - 1), 1 / (bound + categories - 1)
    of_single = _spread(p, stray, categories) / (p - stray) ** 2
    return grid[2] * categories > grid[0] and _judged(grid, categories, bound)[0] < of_single


# --- choosing the grid ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def best_grid(categories: int, gamma: float) -> tuple[int, int, int]:
    """Choose the grid on which subset response lays its categories: (prime q, digits m, width w of a set's arc).

    It has q^m places or more than there are categories. It has nearly the smallest variance and, of those that have,
    the fewest reports. Computed in fractions, so that every machine chooses the same.
    """
    bound = Fraction(gamma)
    judged = [(*_judged(grid, categories, bound), grid) for grid in _grids(categories, gamma)]
    best = min(variance for variance, _, _ in judged)
    unary = _spread(Fraction(1, 2), 1 / (bound + 1), categories) / (Fraction(1, 2) - 1 / (bound + 1)) ** 2
    most = max(best, min(NEARLY_BEST * best, NEARLY_UNARY * unary))
    return min((reports, grid) for variance, reports, grid in judged if variance <= most)[1]


def _grids(categories: int, gamma: float) -> Iterator[tuple[int, int, int]]:
    """Yield the grids (prime q, digits m, width w) to choose from, which hold all categories and have few reports.

    Tried are the smallest prime ring (m = 1), and every small prime with the fewest digits; w is 1, or near the width
    with the least variance, q/(γ + 1).
    """
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
    """Return by what a grid (q, m, w) is judged: (n times the variance that blurring adds, how many reports it has).

    The variance is that of a category's share, mean over categories for n people with even shares. Making the shares
    sum to 1 subtracts the variance of the sizes of sets, at most one part in d.
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
    """Return the variance, mean over categories, of whether a report's set holds one, for people with even shares.

    ``p``: the chance that the set holds the true category; ``stray``: that it holds a given other one.
    """
    return (p * (1 - p) + (categories - 1) * stray * (1 - stray)) / categories


def share_beside(prime: int, digits: int, width: int) -> Fraction:
    """Return the chance that a random set of categories which holds one also holds a given other, the same for all.

    ``prime``, ``digits`` and ``width``: q, m and w of the grid on which the categories lie.
    """
    places = prime**digits
    return Fraction(width * places // prime - 1, places - 1)


def is_prime(number: int) -> bool:
    """Return whether a number is prime, by trial division."""
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))
