"""Part of the columns: a search for those on which the nearest record is found most often.

All subsets of up to nine columns; of more, every single one, pairs, random subsets, and from the best of them on step
by step whatever adding or leaving out one column improves. Each is tried among all records and inside a person's leaf.
The search looks for a part of the people; what it finds best is then measured on all of them.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sfumato.domain import Floats
from sfumato.microdata.intruders.linkage import Clue, chance_of_own, clues, hits, linked, smallest_share
from sfumato.microdata.intruders.scene import Finding, Scene
from sfumato.prose import listed

SOME_PEOPLE, SOME_RECORDS, CELLS, STORED = 400, 4_000, 4_000_000, 30_000_000
FEW_COLUMNS, PAIRS, RANDOM, STARTS, ROUNDS, FINALISTS = 9, 250, 150, 3, 8, 12
APART = 1e6
"""The weight of another leaf: larger than any distance."""


def best_subset(scene: Scene) -> Finding:
    parts, leaf = clues(scene), _leaf(scene)
    search = _Search([*parts, *leaf], scene)
    finalists = search.best(len(parts), bool(leaf))
    measured = ((_measured(scene, parts, leaf, one), one) for one in finalists)
    found, chosen = max(measured, key=lambda each: float(each[0].sum()))
    names = listed(scene.names[place] for place in np.flatnonzero(chosen[: len(parts)]))
    inside = bool(leaf and chosen[-1])
    where, guess = (" in a person's leaf", smallest_share(leaf[0].known)) if inside else ("", 1 / scene.rows.size)
    best = f"the best of {search.tried:,} subsets of columns"
    story = f"knows {names} alone, and takes the record that is nearest there{where} ({best})"
    return linked(scene, "nearest on part of the columns", story, found, guess, "the nearest on these")


def _leaf(scene: Scene) -> list[Clue]:
    if scene.leaves is None:
        return []
    known, seen = scene.leaves
    return [Clue(known.astype(float), seen.astype(float), label=True)]


def _measured(scene: Scene, parts: list[Clue], leaf: list[Clue], chosen: Floats) -> Floats:
    near = [part for part, use in zip(parts, chosen, strict=False) if use]
    return hits(scene, near, leaf if leaf and chosen[-1] else ())


class _Search:
    """Shares of people found, for many subsets at a time: one matrix product of weights and columns' distances."""

    def __init__(self, parts: list[Clue], scene: Scene) -> None:
        records = min(SOME_RECORDS, scene.rows.size)
        self.people = max(1, min(SOME_PEOPLE, scene.people, records, STORED // (records * len(parts))))
        some = slice(0, self.people)
        self.distance = np.stack([
            Clue(part.known[:records], part.seen[:records], part.weight, part.label).distance(some) for part in parts
        ])  # fmt: skip
        self.draws, self.seen = scene.draws, dict[bytes, float]()

    @property
    def tried(self) -> int:
        return len(self.seen)

    def best(self, columns: int, has_leaf: bool) -> list[Floats]:
        wanted = self._candidates(columns)
        if has_leaf:
            wanted = np.vstack([np.column_stack([wanted, np.full(len(wanted), far)]) for far in (0.0, APART)])
        share = self.shares(wanted)
        for start in wanted[np.argsort(-share)[:STARTS]]:
            self._climb(start, columns)
        order = sorted(self.seen, key=lambda key: -self.seen[key])[:FINALISTS]
        return [np.frombuffer(key, dtype=np.float32) for key in order]

    def _candidates(self, columns: int) -> Floats:
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
        wanted = np.asarray(wanted, dtype=np.float32)
        new = np.array([row for row in wanted if row.tobytes() not in self.seen])
        if new.size:
            for row, share in zip(new, self._measure(new), strict=True):
                self.seen[row.tobytes()] = float(share)
        return np.array([self.seen[row.tobytes()] for row in wanted])

    def _measure(self, wanted: Floats) -> Floats:
        columns, people, records = self.distance.shape
        total, step = np.zeros(len(wanted)), max(1, CELLS // (len(wanted) * records))
        for start in range(0, people, step):
            part = self.distance[:, start : start + step]
            own = np.tile(np.arange(start, start + part.shape[1]), len(wanted))
            distance = (wanted @ part.reshape(columns, -1)).reshape(-1, records)
            total += chance_of_own(distance, own).reshape(len(wanted), -1).sum(axis=1)
        return np.asarray(total / people)
