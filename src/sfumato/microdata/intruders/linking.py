"""Finding a person's released record: clues that add up to a distance, and clues that must fit exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.domain import VALUES_SHOWN, Codes, Floats
from sfumato.microdata.intruders.scene import Finding, Scene, upper_limit
from sfumato.microdata.table.fields import Field
from sfumato.microdata.table.forms import Column
from sfumato.prose import shown

CELLS = 2_000_000
"""Distances held at a time."""
SLACK = 1e-5


@dataclass(frozen=True)
class Clue:
    """What is known of each person beside what each released record shows: numbers have a squared distance, labels
    (gaps among them) are equal or not; both times the weight, one for all or one a person."""

    known: Floats
    seen: Floats
    weight: Floats | float = 1.0
    label: bool = False

    def distance(self, people: slice) -> Floats:
        known = self.known[people, None]
        apart = (known != self.seen) if self.label else (known - self.seen) ** 2
        weight = self.weight[people, None] if isinstance(self.weight, np.ndarray) else self.weight
        return np.asarray(apart * weight, dtype=np.float32)


def clue(scene: Scene, place: int, weight: Floats | float = 1.0) -> Clue:
    """A column as it is: numbers in standard deviations, gaps in their middle; labels and gaps of labels as labels."""
    known, seen = scene.known[:, place], scene.seen[:, place]
    if scene.is_label[place]:
        return Clue(np.nan_to_num(known, nan=-1), np.nan_to_num(seen, nan=-1), weight, label=True)
    middle = float(np.nanmean(known)) if not np.isnan(known).all() else 0.0
    known, seen = ((np.nan_to_num(each, nan=middle) - middle) / scene.scale[place] for each in (known, seen))
    return Clue(known, seen, weight)


def clues(scene: Scene, places: Sequence[int] | None = None) -> list[Clue]:
    """These columns, or all."""
    return [clue(scene, place) for place in (range(len(scene.names)) if places is None else places)]


def must_fit(scene: Scene, places: Sequence[int]) -> list[Clue]:
    """These columns compared exactly."""
    exact = (np.nan_to_num(values[:, places], nan=np.inf) for values in (scene.known, scene.seen))
    return [Clue(known, seen, label=True) for known, seen in zip(*(each.T for each in exact), strict=True)]


def hits(scene: Scene, near: Sequence[Clue], exact: Sequence[Clue] = ()) -> Floats:
    """For each person looked for the chance that the record chosen is theirs: among those with the fewest exact clues
    amiss one of the nearest, ties at random."""
    step, found = max(1, CELLS // scene.rows.size), []
    for start in range(0, scene.people, step):
        people = slice(start, min(start + step, scene.people))
        distance = _sum(near, people, scene)
        if exact:
            amiss = _sum(exact, people, scene)
            distance[amiss > amiss.min(axis=1, keepdims=True)] = np.inf
        found.append(chance_of_own(distance, np.arange(people.start, people.stop)))
    return np.concatenate(found)


def chance_of_own(distance: Floats, own: Codes) -> Floats:
    """1 over the number of records that are as near as one's own, and 0 where another is nearer."""
    mine = distance[np.arange(len(own)), own]
    slack = SLACK * (1 + mine)
    found = np.isfinite(mine) & (mine - distance.min(axis=1) <= slack)
    return np.where(found, 1 / np.maximum((distance <= (mine + slack)[:, None]).sum(axis=1), 1), 0.0)


def _sum(parts: Sequence[Clue], people: slice, scene: Scene) -> Floats:
    total = np.zeros((people.stop - people.start, scene.rows.size), dtype=np.float32)
    for part in parts:
        total += part.distance(people)
    return total


def linked(
    scene: Scene, name: str, story: str, found: Floats, guess: float, reason: str, rows: Codes | None = None
) -> Finding:
    """The finding, with an example where somebody is found for certain; ``rows``: who they are, the first otherwise."""
    certain = (scene.rows[: found.size] if rows is None else rows)[found >= 1]
    example = (
        f"{_person(scene, int(certain[0]))}: of {scene.rows.size:,} released records theirs is {reason}"
        if certain.size
        else "nobody of those looked for is found for certain"
    )
    share = float(found.mean())
    limit = upper_limit(float(found.sum()), found.size)
    return Finding(name, story, "find", share, limit, guess, found.size, example)


def _person(scene: Scene, row: int) -> str:
    """A record of the original by its place, with its values only where errors may show them too."""
    place = f"record {row + 1:,} of the original"
    if not VALUES_SHOWN.get():
        return place
    own = scene.release.original.take([row])
    values = {field.name: _value(field, float(x)) for field, x in zip(own.fields, own.X[0], strict=True)}
    return f"{place} ({', '.join(f'{name} {value}' for name, value in values.items())})"


def _value(field: Field, value: float) -> str:
    if np.isnan(value):
        return "missing"
    return shown(field.labels[int(value)] if field.kind == "category" else value)


def smallest_share(groups: Column) -> float:
    """The chance to find somebody by guessing inside the group of equal values."""
    count = np.unique(groups, return_counts=True)[1]
    return float(count.size / count.sum())
