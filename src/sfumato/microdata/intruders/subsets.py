"""The attack by part of the columns: a search for the subset by which the nearest record is most often a person's own.

Of up to nine columns all subsets are tried; of more, every single one, pairs, random subsets, and from the best of
these whatever adding or leaving out one column improves. Each is tried among all records and inside a person's leaf.
The search is on a part of the people; the best subsets are then measured on all of them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from sfumato.domain import Floats
from sfumato.microdata.intruders.linkage import Clue, chance_of_own, clues, hits, linked, smallest_share
from sfumato.microdata.intruders.scene import IntruderFinding, Scene
from sfumato.prose import listed

SOME_PEOPLE = 400  # people looked for in the search; like all numbers here by judgement, so that it takes seconds
SOME_RECORDS = 4_000  # released records among which they are looked for
CELLS = 4_000_000  # distances in memory at once: 16 MB; it changes no result
STORED = 30_000_000  # distances by column that are stored: 120 MB; with many columns fewer people are looked for
FEW_COLUMNS = 9  # columns of which all subsets are tried: 511
PAIRS = 250  # random pairs tried of more columns
RANDOM = 150  # random subsets tried of more columns
STARTS = 3  # of the best subsets, from which the search goes on step by step
ROUNDS = 8  # steps at most
FINALISTS = 12  # best subsets that are measured on all people, since the search is by chance too high for some
APART = 1e6
"""The weight of another leaf: larger than any distance, so that only records of the person's leaf can be nearest."""


def best_subset(scene: Scene) -> IntruderFinding:
    """Attack a release by part of the columns: take for each person the record nearest by the best subset of columns.

    Best is the subset that finds most people; returned is how many it finds.
    """
    parts, leaf = clues(scene), _leaf(scene)
    search = _Search([*parts, *leaf], scene)
    finalists = search.best(len(parts), bool(leaf))
    measured = ((_measured(scene, parts, leaf, subset), subset) for subset in finalists)
    chances, chosen = max(measured, key=lambda chances_and_subset: float(chances_and_subset[0].sum()))
    names = listed(scene.names[index] for index in np.flatnonzero(chosen[: len(parts)]))
    inside = bool(leaf and chosen[-1])
    where, guess = (" in a person's leaf", smallest_share(leaf[0].true)) if inside else ("", 1 / scene.rows.size)
    best = f"the best of {search.tried:,} subsets of columns"
    story = f"knows {names} alone, and takes the record that is nearest there{where} ({best})"
    return linked(scene, "nearest on part of the columns", story, chances, guess, "the nearest on these")


def _leaf(scene: Scene) -> list[Clue]:
    """Return a list with the clue whether a record is in the person's leaf of the tree; empty without leaves."""
    if scene.leaves is None:
        return []
    truth, released = scene.leaves
    return [Clue(truth.astype(float), released.astype(float), label=True)]


def _measured(scene: Scene, parts: list[Clue], leaf: list[Clue], chosen: Floats) -> Floats:
    """Return for each person looked for the chance to be found by the chosen columns (last entry: in the leaf)."""
    near = [part for part, use in zip(parts, chosen, strict=False) if use]
    return hits(scene, near, leaf if leaf and chosen[-1] else ())


class _Search:
    """The search for the subset of columns by which an intruder finds most people.

    Distances by many subsets at once are a matrix product of the subsets' weights and the columns' distances.
    ``distance[column, person, record]``; ``shares_found``: the share of people found by each subset tried.
    """

    def __init__(self, parts: list[Clue], scene: Scene) -> None:
        records = min(SOME_RECORDS, scene.rows.size)
        self.people = max(1, min(SOME_PEOPLE, scene.people, records, STORED // (records * len(parts))))
        some = slice(0, self.people)
        self.distance = np.stack([
            replace(part, true=part.true[:records], released=part.released[:records])
            .distance(some) for part in parts
        ])  # fmt: skip
        self.draws, self.shares_found = scene.draws, dict[bytes, float]()

    @property
    def tried(self) -> int:
        """How many subsets were tried."""
        return len(self.shares_found)

    def best(self, columns: int, has_leaf: bool) -> list[Floats]:
        """Search and return a list of the best subsets of columns, each as an array of one weight a column.

        ``columns``: how many there are. ``has_leaf``: a last weight is for being in the same leaf of the tree.
        """
        wanted = self._candidates(columns)
        if has_leaf:
            wanted = np.vstack([np.column_stack([wanted, np.full(len(wanted), far)]) for far in (0.0, APART)])
        share = self.shares(wanted)
        for start in wanted[np.argsort(-share)[:STARTS]]:
            self._climb(start, columns)
        order = sorted(self.shares_found, key=lambda key: -self.shares_found[key])[:FINALISTS]
        return [np.frombuffer(key, dtype=np.float32) for key in order]

    def _candidates(self, columns: int) -> Floats:
        """Return the subsets to try first: [subset, column], 1 where the column is in it."""
        if columns <= FEW_COLUMNS:
            masks = (np.arange(1, 2**columns)[:, None] >> np.arange(columns)) & 1
            return masks.astype(np.float32)
        pairs = np.array(list(combinations(range(columns), 2)))
        pairs = pairs[np.argsort(self.draws.uniform(len(pairs)))[:PAIRS]]
        both = np.zeros((len(pairs), columns))
        np.put_along_axis(both, pairs, 1, axis=1)
        share = self.draws.uniform((RANDOM, 1))
        chosen = self.draws.uniform((RANDOM, columns)) < share
        chosen[np.arange(RANDOM), np.argmax(self.draws.uniform((RANDOM, columns)), axis=1)] = True
        return np.vstack([np.eye(columns), np.ones((1, columns)), both, chosen]).astype(np.float32)

    def _climb(self, start: Floats, columns: int) -> None:
        """Improve a subset (``start``): add or leave out one column after the other, as long as more people are found.

        The subsets that are tried are remembered in ``shares_found``.
        """
        here, height = start, self.shares(start[None])[0]
        for _ in range(ROUNDS):
            around = np.tile(here, (columns, 1))
            around[:, :columns] = np.abs(around[:, :columns] - np.eye(columns))
            around = around[around[:, :columns].any(axis=1)].astype(np.float32)
            share = self.shares(around)
            if share.max(initial=0.0) <= height:
                return
            here, height = around[share.argmax()], share.max()

    def shares(self, wanted: Floats) -> Floats:
        """Return the share of people found by each subset, measuring those that were not tried before."""
        wanted = np.asarray(wanted, dtype=np.float32)
        new = np.array([row for row in wanted if row.tobytes() not in self.shares_found])
        if new.size:
            for row, share in zip(new, self._measure(new), strict=True):
                self.shares_found[row.tobytes()] = float(share)
        return np.array([self.shares_found[row.tobytes()] for row in wanted])

    def _measure(self, wanted: Floats) -> Floats:
        """Measure the share of people found by each subset of columns (rows of weights), one number each."""
        columns, people, records = self.distance.shape
        total, step = np.zeros(len(wanted)), max(1, CELLS // (len(wanted) * records))
        for start in range(0, people, step):
            part = self.distance[:, start : start + step]
            own = np.tile(np.arange(start, start + part.shape[1]), len(wanted))
            distance = (wanted @ part.reshape(columns, -1)).reshape(-1, records)
            total += chance_of_own(distance, own).reshape(len(wanted), -1).sum(axis=1)
        return np.asarray(total / people)
