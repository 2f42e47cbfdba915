"""Linkage: whose released record is this? Clues add up to a distance, or must fit exactly.

Whoever knows how much each column moved, which the law of the noise tells, weighs columns by what they still tell. With
correlation r between true and released values (both in standard deviations), the likelihood of a pair orders released
records by (x − r·y)² / (1 − r²); a column that tells nothing has r = 0 and drops out. A label that stays in a share m
of the records and agrees by chance in a share u counts log(m(1 − u) / (u(1 − m))).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import logit

from sfumato.domain import VALUES_SHOWN, Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.intruders.scene import Finding, Scene, upper_limit
from sfumato.microdata.releasing import Release
from sfumato.microdata.table.fields import Field
from sfumato.microdata.table.forms import Column
from sfumato.prose import listed, shown

CELLS = 2_000_000
"""Distances held at a time."""
SLACK = 1e-5
FEW = 20
"""Up to so many different values a column counts as one of labels."""
NEXT = 1e-3
"""The weight of the distance where equal values decide first."""
TOGETHER = 400
"""People assigned at a time, at most: the work grows with their third power."""
CLOSEST = 1e-6
"""Correlations count as at most √(1 − this), shares of agreement as at most 1 − this."""


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


# --- by what is known -------------------------------------------------------------------------------------------------


def nearest(scene: Scene) -> Finding:
    story = "knows every attribute of a person exactly and takes the nearest released record"
    return linked(scene, "nearest match", story, hits(scene, clues(scene)), 1 / scene.rows.size, "the nearest")


def nearest_on_quasi_identifiers(scene: Scene) -> Finding | None:
    """Where the roles leave out some columns."""
    places = [place for place, name in enumerate(scene.names) if name in scene.release.roles.having("quasi-identifier")]
    if not 0 < len(places) < len(scene.names) - (scene.release.original.target in scene.names):
        return None
    story = "knows the quasi-identifiers of a person exactly and takes the nearest released record"
    found = hits(scene, clues(scene, places))
    return linked(scene, "nearest on quasi-identifiers", story, found, 1 / scene.rows.size, "the nearest")


def linked_by_attributes(release: Release, draws: Draws) -> float:
    """The share of people whose own record is the nearest one by all attributes, their class not known."""
    scene = Scene.of(release, draws)
    return float(hits(scene, clues(scene, range(len(release.original.fields)))).mean())


def exact_on_kept(scene: Scene) -> Finding | None:
    """Where some column stays, or moves in less than a tenth of the records."""
    places = np.flatnonzero(scene.unchanged).tolist()
    if not places:
        return None
    found = hits(scene, clues(scene), must_fit(scene, places))
    names = listed(scene.names[place] for place in places)
    story = f"looks for the exact values of {names}, which stay as they are, and takes the nearest record among those"
    reason = "the nearest with these exact values"
    return linked(scene, "exact match on what is kept", story, found, 1 / scene.rows.size, reason)


def pattern_of_gaps(scene: Scene) -> Finding | None:
    known, seen = np.isnan(scene.known), np.isnan(scene.seen)
    places = np.flatnonzero(known.any(axis=0) | seen.any(axis=0))
    if not places.size:
        return None
    pattern = [Clue(known[:, place].astype(float), seen[:, place].astype(float), label=True) for place in places]
    found = hits(scene, clues(scene), pattern)
    story = "knows which values of a person are missing, and takes the nearest record with this pattern"
    reason = "the nearest with their pattern of gaps"
    return linked(scene, "pattern of missing values", story, found, 1 / scene.rows.size, reason)


def order_of_rows(scene: Scene) -> Finding:
    release = scene.release
    n = len(release.original.y)
    found = np.ones(n) if release.rows is None else (release.rows == np.arange(n)).astype(float)
    share = float(found.mean())
    example = "row 1 of the release is person 1 of the original" if share == 1 else "the rows stand in random order"
    story = "knows in which row of the original a person stands, and takes the same row of the release"
    return Finding("order of rows", story, "find", share, upper_limit(float(found.sum()), n), 1 / n, n, example)


# --- by what each column still tells ----------------------------------------------------------------------------------


def informed(scene: Scene) -> Finding:
    found = hits(scene, [weighed(clue(scene, place)) for place in range(len(scene.names))])
    story = "knows every attribute of a person and how much each was moved, and weighs them by what they still tell"
    return linked(scene, "weighed match", story, found, 1 / scene.rows.size, "the likeliest")


def ranks_in_leaves(scene: Scene) -> Finding | None:
    """Values as their ranks inside the leaf; the record is looked for in the person's leaf only."""
    if scene.leaves is None:
        return None
    known_leaf, seen_leaf = scene.leaves
    leaf = Clue(known_leaf.astype(float), seen_leaf.astype(float), label=True)
    found = []
    for places in (_ranks, lambda values, _: values):
        parts = [clue(scene, place) for place in range(len(scene.names))]
        inner = [
            part if part.label else Clue(places(part.known, known_leaf), places(part.seen, seen_leaf)) for part in parts
        ]
        found += [hits(scene, inner, [leaf]), hits(scene, [weighed(part, scene.leaves) for part in inner], [leaf])]
    best = max(found, key=lambda each: float(each.sum()))
    story = "knows the tree, and looks in a person's leaf for the record with the nearest values or ranks"
    return linked(scene, "ranks in leaves", story, best, smallest_share(known_leaf), "the nearest of their leaf")


def weighed(part: Clue, leaves: tuple[Codes, Codes] | None = None) -> Clue:
    """The clue with its weight, inside leaves if given: then values are differences from the leaf's mean."""
    if part.label:
        stays, chance = (part.known == part.seen).mean(), _agreement(part.known, part.seen)
        weight = logit(np.clip([stays, chance], CLOSEST, 1 - CLOSEST)) @ [1, -1]
        return Clue(part.known, part.seen, max(float(weight), 0.0), label=True)
    known, seen = part.known, part.seen
    if leaves is not None:
        known, seen = _centred(known, leaves[0]), _centred(seen, leaves[1])
    spread = np.sqrt((known**2).mean() * (seen**2).mean())
    r = float(np.clip((known * seen).mean() / spread, 0, 1)) if spread > 0 else 0.0
    scale = float(np.sqrt((known**2).mean())) or 1.0
    return Clue(known / scale, r * seen / (float(np.sqrt((seen**2).mean())) or 1.0), 1 / max(1 - r**2, CLOSEST))


def _agreement(known: Floats, seen: Floats) -> float:
    """How often two records taken at random have the same label."""
    labels, codes = np.unique(np.concatenate([known, seen]), return_inverse=True)
    shares = [np.bincount(part, minlength=labels.size) / part.size for part in np.split(codes, 2)]
    return float(shares[0] @ shares[1])


def _ranks(values: Floats, leaf: Codes) -> Floats:
    """The place of each value in its leaf, from 0 to 1; equal values share theirs."""
    order = np.lexsort((values, leaf))
    count = np.bincount(leaf)
    start = (np.cumsum(count) - count)[leaf[order]]
    new = np.append(True, (np.diff(values[order]) != 0) | (np.diff(leaf[order]) != 0))
    first = np.flatnonzero(new)
    run = np.cumsum(new) - 1
    middle = (first + np.append(first[1:], values.size) - 1)[run] / 2
    ranks = np.empty(values.size)
    ranks[order] = (middle - start + 0.5) / count[leaf[order]]
    return ranks


def _centred(values: Floats, leaf: Codes) -> Floats:
    count = np.maximum(np.bincount(leaf), 1)
    return np.asarray(values - (np.bincount(leaf, values) / count)[leaf])


# --- by labels, and by all people together ----------------------------------------------------------------------------


def labels_as_labels(scene: Scene) -> Finding | None:
    """Categories, and numbers of few different values; where there are two such columns."""
    few = [np.unique(column[~np.isnan(column)]).size <= FEW for column in scene.known.T]
    places = np.flatnonzero(scene.is_label | np.array(few)).tolist()
    if len(places) < 2:
        return None
    story = "compares labels and small numbers as labels, the rare ones counting most"
    found, reason = hits(scene, _compared(scene, places)), "the one that shares most, and the rarest, labels"
    return linked(scene, "labels as labels", story, found, 1 / scene.rows.size, reason)


def equal_values(scene: Scene) -> Finding:
    """Every value as a label: one that few have and that stayed gives its owner away."""
    near = [Clue(part.known, part.seen, NEXT * part.weight, part.label) for part in clues(scene)]
    found = hits(scene, [*_compared(scene, list(range(len(scene.names)))), *near])
    story = "looks for values that stayed as they were, the rare ones counting most, then for the nearest record"
    reason = "the one with most, and the rarest, equal values"
    return linked(scene, "equal values", story, found, 1 / scene.rows.size, reason)


def _compared(scene: Scene, places: list[int]) -> list[Clue]:
    return [Clue(part.known, part.seen, _surprise(part.known), label=True) for part in must_fit(scene, places)]


def _surprise(known: Floats) -> Floats:
    """−log of the share of each person's label."""
    _, codes, count = np.unique(known, return_inverse=True, return_counts=True)
    return np.asarray(-np.log(count / count.sum())[codes])


def everybody_at_once(scene: Scene) -> Finding:
    """Inside leaves, where there are any; of a larger leaf a part."""
    none = np.zeros(scene.rows.size, dtype=np.int64)
    known_leaf, seen_leaf = (none, none) if scene.leaves is None else scene.leaves
    parts = [weighed(part, scene.leaves) for part in clues(scene)]
    found = np.zeros(scene.rows.size)
    looked_for = np.zeros(scene.rows.size, dtype=bool)
    for leaf in np.unique(known_leaf[: scene.people]):
        people, records = (np.flatnonzero(side == leaf)[:TOGETHER] for side in (known_leaf, seen_leaf))
        records = records[np.argsort(scene.draws.uniform(records.size))]  # ties must not fall to one's own record
        if records.size:
            apart = np.sum([_apart(part, people, records) for part in parts], axis=0)
            who, which = linear_sum_assignment(apart)
            found[people[who]] = people[who] == records[which]
        looked_for[people] = True
    story = "knows all people, and gives every record of a leaf to one of them so that all fit best together"
    guess = smallest_share(known_leaf)
    reason, rows = "what the best assignment gives them", scene.rows[looked_for]
    return linked(scene, "everybody at once", story, found[looked_for], guess, reason, rows)


def _apart(part: Clue, people: Codes, records: Codes) -> Floats:
    inner = Clue(part.known[people], part.seen[records], part.weight, part.label)
    return np.asarray(inner.distance(slice(None)), dtype=float)
