"""People who were in a table and people who were not, without anybody else's data.

The table (of large ones 20,000 records) is split at random into two halves, and each half is released by the same
recipe. Everybody (of large tables 4,000 people) is in one of these releases and not in the other, so that what an
intruder gains from a person's being in it is a mean of differences, one a person. Half a table has smaller leaves than
the whole: the gain is too high rather than too low.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.intruders.scene import Scene
from sfumato.microdata.table.fields import Microdata
from sfumato.microdata.table.forms import Column
from sfumato.microdata.table.points import points

MOST, PEOPLE, FEWEST, CELLS = 20_000, 4_000, 40, 2_000_000


@dataclass(frozen=True)
class Halves:
    """True records, the half that each is in, and the release of each half."""

    original: Microdata
    half: Codes
    releases: tuple[Microdata, Microdata]

    @classmethod
    def of(cls, scene: Scene) -> Halves | None:
        again, n = scene.release.again, len(scene.release.original.y)
        if again is None or n < FEWEST:
            return None
        rows = np.argsort(scene.draws.uniform(n))[:MOST]
        half = np.arange(rows.size) % 2
        first, second = (again(rows[half == which], scene.draws) for which in (0, 1))
        return cls(scene.release.original.take(rows[:PEOPLE]), half[:PEOPLE], (first, second))

    def nearest(self, names: list[str] | None = None) -> tuple[tuple[Codes, Floats], tuple[Codes, Floats]]:
        """For everybody the nearest record (its place and distance) of each release, on all attributes or on these."""
        places = [place for place, name in enumerate(self.original.names) if names is None or name in names]
        known = _on(self.original, places, self.original)
        first, second = (_nearest(known, _on(one, places, self.original)) for one in self.releases)
        return first, second

    def crossed(self, of_first: Column, of_second: Column) -> tuple[Floats, Floats]:
        """What the release with a person says, and what the one without them says."""
        with_person = np.where(self.half == 0, of_first, of_second)
        return with_person, np.where(self.half == 0, of_second, of_first)

    @cached_property
    def size(self) -> int:
        return int(self.half.size)


def _on(data: Microdata, places: list[int], reference: Microdata) -> Floats:
    cut, like = (
        replace(one, fields=tuple(reference.fields[place] for place in places), X=one.X[:, places])
        for one in (data, reference)
    )
    return points(cut, like)


def _nearest(known: Floats, seen: Floats) -> tuple[Codes, Floats]:
    step, place, distance = max(1, CELLS // len(seen)), [], []
    own = (seen**2).sum(axis=1)
    for start in range(0, len(known), step):
        part = known[start : start + step]
        squared = (part**2).sum(axis=1)[:, None] + own - 2 * part @ seen.T
        place.append(squared.argmin(axis=1))
        distance.append(np.sqrt(np.maximum(squared.min(axis=1), 0)))
    return np.concatenate(place), np.concatenate(distance)


def gain(with_person: Floats, without: Floats, z: float) -> tuple[float, float]:
    """The mean difference, and the limit of what somebody finds who tries again: other halves, released anew, have an
    error of their own, hence √2."""
    difference = np.asarray(with_person, float) - np.asarray(without, float)
    error = np.sqrt(2.0) * difference.std(ddof=1) / np.sqrt(difference.size)
    return float(difference.mean()), float(difference.mean() + z * error)
