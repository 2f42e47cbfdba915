"""Frequent itemsets by padding and sampling: every person answers one question, and later questions depend on earlier
answers.

People are split into groups, one a phase, and each person reports once at the same γ:

    items     say one random item of your basket (its size m is disclosed): support = m times the share of that answer
    lengths   how many of the candidate itemsets are in your basket: the padding length L covers nine people in ten
    pairs     say one random candidate in your basket, padded to L with "none": support = L times the answer's share
    triples   likewise, with candidates whose pairs all survived

An answer is sent through randomized response, or for many candidates through select-a-size of one item (unary coding),
whichever has less noise. People who hold more than L candidates are undercounted: supports are then slightly too low.
Noise grows with m instead of exploding with it, but later phases see only what earlier ones let through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.baskets import SIGNIFICANCE, Baskets, SelectASize, bitmaps_of, unpack_bits
from sfumato.channels.bounded.randomized_response import RandomizedResponse
from sfumato.domain import Categories, Codes, Floats, Items
from sfumato.itemsets.apriori import check_support, itemset_table, join
from sfumato.itemsets.supports import Level
from sfumato.tables import as_table

Rng = np.random.Generator | int | None

PEOPLE_AT_ONCE = 1 << 14
"""People whose baskets are unpacked at once, to bound the memory. Another number gives other draws of one seed."""


def unary_noise(gamma: float) -> float:
    """Return the variance of one report about an answer that nobody gives, by unary coding: 4γ/(γ − 1)².

    Unary coding sends one blurred bit for each possible answer. ``gamma``: the largest factor of a report on the odds.
    """
    return 4.0 * gamma / (gamma - 1.0) ** 2


def response_noise(gamma: float, answers: int) -> float:
    """Return the variance of one report about an answer that nobody gives, by randomized response.

    It is (m − 2 + γ)/(γ − 1)². ``gamma``: γ, the largest factor of a report on the odds; ``answers``: m, the number of
    possible answers.
    """
    return (answers - 2.0 + gamma) / (gamma - 1.0) ** 2


@dataclass(frozen=True)
class PaddingAndSampling:
    """A simulation of finding frequent itemsets in phases, one for each number of items; every person reports once.

    Later phases ask only for itemsets whose parts were frequent before. ``gamma``: the largest factor of a report on
    the odds. ``min_support``: the smallest share of people who have an itemset. ``max_len``: the most items of an
    itemset, which is the number of phases. ``candidates``: the most itemsets that are asked for in a phase.
    ``longest_padding``: the most candidate itemsets in one basket that a person may report; who has fewer fills up
    ("pads") with "none".

    >>> import sfumato as sf
    >>> people = [["tea", "milk"]] * 3000 + [["tea"]] * 3000
    >>> table = PaddingAndSampling(gamma=19, min_support=0.3).mine(people, sf.Items(["milk", "tea"]), rng=1)
    >>> sorted(sorted(itemset) for itemset in table["itemsets"])
    [['milk'], ['milk', 'tea'], ['tea']]
    """

    gamma: float
    min_support: float
    max_len: int = 3
    candidates: int = 500
    longest_padding: int = 12

    def __post_init__(self) -> None:
        if not self.gamma > 1.0:
            raise ValueError(f"gamma = {self.gamma!r} leaves nothing to learn; give a number above 1, e.g. 19")
        check_support(self.min_support)

    def mine(self, baskets: Any, items: Items, rng: Rng = None) -> Any:
        """Simulate the phases on true baskets; return the table of frequent itemsets.

        The columns are those of `frequent_itemsets`. ``baskets``: one list of items a person, none empty. ``items``:
        all items there are. ``rng``: a NumPy generator or a seed (None: a random one); people are divided among the
        phases at random.
        """
        people = Baskets.read(baskets, items)
        generator = np.random.default_rng(rng)
        groups = self._groups(len(people), generator)
        if (people.sizes == 0).any():
            raise ValueError(f"basket {int(np.argmin(people.sizes))} is empty; drop empty baskets first")
        return itemset_table(self._phases(people, groups, generator), items, self.min_support)

    def _groups(self, people: int, generator: np.random.Generator) -> list[Codes]:
        """Divide people at random among the questions: a list of arrays of people's row numbers, one a question.

        The first group is asked for items; then for every larger itemset size one group is asked how many candidates
        its baskets hold, and one, nine times as large, which.
        """
        shares = [1.0] + [part for _ in range(self.max_len - 1) for part in (0.1, 0.9)]
        bounds = np.rint(np.cumsum(shares) / sum(shares) * people).astype(np.int64)[:-1]
        return np.split(generator.permutation(people), bounds)

    def _phases(self, people: Baskets, groups: list[Codes], generator: np.random.Generator) -> Iterator[Level]:
        """Yield the estimated supports (shares of people) of each phase's candidate itemsets, single items first.

        ``groups``: arrays of people's row numbers, as ``_groups`` returns them.
        """
        rows = groups[0]
        chosen = people.codes[people.starts[rows] + generator.integers(0, people.sizes[rows])]
        weights = people.sizes[rows].astype(float)
        support, stderr = self._ask(chosen, weights, people.items.size, generator)
        itemsets = np.arange(people.items.size)[:, None]
        yield Level(itemsets, support, stderr)
        for phase in range(1, self.max_len):
            survives = support >= self.min_support - stderr
            itemsets = self._likeliest(join(itemsets[survives]), itemsets, support)
            if not len(itemsets):
                return
            padding = self._padding(people, groups[2 * phase - 1], itemsets, generator)
            rows = groups[2 * phase]
            chosen = self._sampled(people, rows, itemsets, padding, generator)
            support, stderr = self._ask(chosen, np.full(rows.size, float(padding)), len(itemsets) + 1, generator)
            support, stderr = support[:-1], stderr[:-1]
            yield Level(itemsets, support, stderr)

    def _likeliest(self, joined: Codes, itemsets: Codes, support: Floats) -> Codes:
        """Return the candidate itemsets with the largest product of their parts' supports, at most ``candidates``.

        A part is a candidate without one of its items. ``joined``: all candidates, one a row in lexicographic order,
        which stays; ``itemsets`` and ``support``: the parts and the shares of people who have them.
        """
        if len(joined) <= self.candidates:
            return joined
        support_of = {tuple(row): s for row, s in zip(itemsets.tolist(), support.tolist(), strict=True)}
        k = joined.shape[1]
        parts = [[support_of[tuple(np.delete(row, i).tolist())] for i in range(k)] for row in joined]
        kept = np.argsort(-np.prod(parts, axis=1), kind="stable")[: self.candidates]
        return joined[np.sort(kept)]

    def _padding(self, people: Baskets, rows: Codes, itemsets: Codes, generator: np.random.Generator) -> int:
        """Estimate how many candidate itemsets the baskets of nine people in ten hold at most: the padding length.

        ``rows``: the people who report theirs by randomized response; ``itemsets``: the candidates, one a row. Later
        answers are drawn from so many slots, of which smaller baskets leave some empty.
        """
        lengths = np.concatenate([holds.sum(axis=1) for holds in _holdings(people, rows, itemsets)])
        answers = np.minimum(lengths, self.longest_padding)
        channel = RandomizedResponse(Categories(range(self.longest_padding + 1)), gamma=self.gamma)
        reports = np.bincount(channel.randomize(answers, rng=generator), minlength=self.longest_padding + 1)
        shares = np.linalg.solve(channel.matrix(), reports / reports.sum())
        covered = np.cumsum(np.maximum(shares, 0.0)) / np.maximum(shares, 0.0).sum()
        return max(1, int(np.searchsorted(covered, 0.9)))

    def _sampled(
        self, people: Baskets, rows: Codes, itemsets: Codes, padding: int, generator: np.random.Generator
    ) -> Codes:
        """Draw one random candidate itemset in each person's basket; return its row in ``itemsets``.

        There is one number a person. Baskets with fewer than ``padding`` candidates are filled up with "none", for
        which len(itemsets) stands. ``rows``: the people who are asked.
        """
        chosen = []
        for holds in _holdings(people, rows, itemsets):
            count = holds.sum(axis=1)
            slot = generator.integers(0, np.maximum(count, padding))
            rank = np.cumsum(holds, axis=1)
            picked = np.argmax(holds & (rank == slot[:, None] + 1), axis=1)
            chosen.append(np.where(slot < count, picked, len(itemsets)))
        return np.concatenate(chosen)

    def _ask(self, answers: Codes, weights: Floats, size: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Blur everybody's answer, and estimate for every possible answer the share of people who have it.

        The estimate for answer a is that of the mean over people of weight·1[answer = a].

        A person's weight is the number of answers that theirs was drawn from. ``answers``: one number a person, from 0
        to ``size`` − 1; ``weights``: one a person; ``size``: how many possible answers there are. Returns (estimates,
        their standard errors), each with one number an answer; both are without bias, and the errors include that
        people are a sample.
        """
        if response_noise(self.gamma, size) <= unary_noise(self.gamma):
            channel = RandomizedResponse(Categories(range(size)), gamma=self.gamma)
            reports = channel.randomize(answers, rng=generator)
            keep, other = channel.matrix()[0, 0], channel.matrix()[0, 1]
            shown: Floats = np.bincount(reports, weights=weights, minlength=size).astype(float)
            square: Floats = np.bincount(reports, weights=weights**2, minlength=size).astype(float)
        else:
            coded = _unary_coding(size, self.gamma)
            law = coded.laws[1]
            keep, other = law.rho + law.signal(1), law.rho
            shown, square = np.zeros(size), np.zeros(size)
            for low in range(0, answers.size, PEOPLE_AT_ONCE):
                part = slice(low, low + PEOPLE_AT_ONCE)
                bits = unpack_bits(coded.randomize(answers[part, None], rng=generator).words, size)
                shown += weights[part] @ bits
                square += weights[part] ** 2 @ bits
        return _unbiased(shown, square, weights, keep, other)


@cache
def _unary_coding(size: int, gamma: float) -> SelectASize:
    """Return the channel that sends one blurred bit for each of ``size`` answers: select-a-size of baskets of one item.

    ``gamma``: the largest factor of a report on the odds.
    """
    return SelectASize.design(Items(size), sizes=[1], gamma=gamma, up_to=1)


def _unbiased(shown: Floats, square: Floats, weights: Floats, keep: float, other: float) -> tuple[Floats, Floats]:
    """Return (means over people, standard errors) of h = w(1[shown] − other)/(keep − other), one for every answer.

    h undoes the blur: its mean estimates that of weight·1[answer] without bias.

    ``weights``: w, one a person. ``shown`` and ``square``: for every answer the summed w and w² of the people whose
    report shows it. ``keep`` and ``other``: the chances that a report shows the true answer, and another one.
    """
    people, spread = weights.size, keep - other
    total, squares = weights.sum(), (weights**2).sum()
    mean = (shown - other * total) / spread / people
    second = (square * (1.0 - 2.0 * other) + other**2 * squares) / spread**2 / people
    return mean, np.sqrt(np.maximum(second - mean**2, 0.0) / people)


def _holdings(people: Baskets, rows: Codes, itemsets: Codes) -> Iterator[NDArray[np.bool_]]:
    """Yield masks [person, candidate] of whether a person's basket has all items of a candidate itemset.

    They come for some thousand people at a time, to bound the memory. ``rows``: the people; ``itemsets``: the
    candidates, one a row.
    """
    for low in range(0, rows.size, PEOPLE_AT_ONCE):
        holds = unpack_bits(bitmaps_of(people[rows[low : low + PEOPLE_AT_ONCE]]), people.items.size)
        yield np.logical_and.reduce([holds[:, column] for column in itemsets.T])


def compare_collections(
    channel: SelectASize, n: int, shares: Mapping[int, float] | None = None, *, prevalence: float = 0.1,
    padding: int = 4,
) -> Any:
    """Compare two ways to find frequent itemsets at one γ: people report whole baskets, or one answer each in phases.

    γ is the largest factor of a report on the odds; whole baskets are blurred by select-a-size.

    Returns a table with the lowest support (share of people) that either can tell from noise, one row a number of
    items. ``channel``: the select-a-size design. ``n``: how many people take part. ``shares``: how often each basket
    size occurs (None: all equally). ``prevalence``: how often people have an item of an itemset that they do not have.
    ``padding``: the padding length, which is how many candidate itemsets a person may have.
    """
    weights = {size: 1.0 for size in channel.sizes} if shares is None else dict(shares)
    total = sum(weights.values())
    mean_square_size = sum(weight * size**2 for size, weight in weights.items()) / total
    together = channel.lowest_discoverable_support(n, weights, prevalence)
    rows = []
    for k, select in together.items():
        people = n / len(together) * (1.0 if k == 1 else 0.9)
        scale = mean_square_size if k == 1 else float(padding) ** 2
        phased = SIGNIFICANCE * float(np.sqrt(scale * unary_noise(channel.gamma) / people))
        better = "select-a-size" if select <= phased else "padding and sampling"
        rows.append({"items": k, "select-a-size": select, "padding and sampling": phased, "better": better})
    return as_table(rows, ["items", "select-a-size", "padding and sampling", "better"])
