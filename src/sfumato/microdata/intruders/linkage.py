"""Attacks by linkage: whose released record is this? Clues add up to a distance, or must fit exactly.

An intruder who knows how much each column moved, which follows from the law of the noise, weighs columns by it. With
correlation r between true and released values (both in standard deviations), the likelihood of a pair orders released
records by (x − r·y)² / (1 − r²); a column without information has r = 0 and drops out. A label that stays in a share m
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
from sfumato.microdata.intruders.scene import CELLS, IntruderFinding, Scene, upper_limit
from sfumato.microdata.releasing import Release
from sfumato.microdata.table.fields import Field
from sfumato.microdata.table.forms import Column
from sfumato.prose import listed, shown

SLACK = 1e-5
"""The relative difference up to which distances count as equal: above the rounding of 32-bit sums (1e−7 a column)."""

FEW = 20
"""Up to so many different values a numeric column is compared as labels too, in one of the attacks. By judgement."""

NEXT = 1e-3
"""The weight of the distance where equal values decide first and distance breaks ties: small beside one label's
−log."""

TOGETHER = 400
"""The most people who are assigned at once: the work grows with their third power. Of larger leaves a part is taken."""

CLOSEST = 1e-6
"""Correlations count as at most √(1 − CLOSEST) and shares of agreement as at most 1 − CLOSEST, so that weights stay
finite.
"""


@dataclass(frozen=True)
class Clue:
    """A column that an intruder compares: the true values of people beside those of all released records.

    Numbers have a squared distance; labels (``label``) are equal (0) or not (1), missing ones among them. Both are
    multiplied by ``weight``, one number for all or one a person.
    """

    true: Floats
    released: Floats
    weight: Floats | float = 1.0
    label: bool = False

    def distance(self, people: slice) -> Floats:
        """Return the distances of some people from all released records: [person, record]."""
        truth = self.true[people, None]
        apart = (truth != self.released) if self.label else (truth - self.released) ** 2
        weight = self.weight[people, None] if isinstance(self.weight, np.ndarray) else self.weight
        return np.asarray(apart * weight, dtype=np.float32)


def clue(scene: Scene, index: int, weight: Floats | float = 1.0) -> Clue:
    """Return the column with this index as a clue, by which an intruder compares people with released records.

    Numbers are in standard deviations, missing ones are the mean; labels stay labels.
    """
    truth, released = scene.true_values[:, index], scene.released_values[:, index]
    if scene.is_label[index]:
        return Clue(np.nan_to_num(truth, nan=-1), np.nan_to_num(released, nan=-1), weight, label=True)
    middle = float(np.nanmean(truth)) if not np.isnan(truth).all() else 0.0
    truth, released = (np.nan_to_num(values, nan=middle) - middle for values in (truth, released))
    return Clue(truth / scene.scale[index], released / scene.scale[index], weight)


def clues(scene: Scene, indices: Sequence[int] | None = None) -> list[Clue]:
    """Return columns as clues, by which an intruder compares people with released records; ``indices``: None: all."""
    return [clue(scene, index) for index in (range(len(scene.names)) if indices is None else indices)]


def must_fit(scene: Scene, indices: Sequence[int]) -> list[Clue]:
    """Return columns as clues by which an intruder compares whether values are equal, missing ones too."""
    exact = (np.nan_to_num(values[:, indices], nan=np.inf) for values in (scene.true_values, scene.released_values))
    columns = zip(*(values.T for values in exact), strict=True)
    return [Clue(truth, released, label=True) for truth, released in columns]


def hits(scene: Scene, near: Sequence[Clue], exact: Sequence[Clue] = ()) -> Floats:
    """Return for each person looked for the chance that the released record which an intruder chooses is their own.

    Chosen is the nearest by the clues ``near`` among the records with the fewest mismatches in ``exact``, ties at
    random.
    """
    step, chances = max(1, CELLS // scene.rows.size), []
    for start in range(0, scene.people, step):
        people = slice(start, min(start + step, scene.people))
        distance = _sum(near, people, scene)
        if exact:
            amiss = _sum(exact, people, scene)
            distance[amiss > amiss.min(axis=1, keepdims=True)] = np.inf
        chances.append(chance_of_own(distance, np.arange(people.start, people.stop)))
    return np.concatenate(chances)


def chance_of_own(distance: Floats, own_index: Codes) -> Floats:
    """Return for each person the chance that the nearest record, ties at random, is their own.

    That is 1/(number of records as near as one's own), and 0 where another record is nearer.
    ``distance[person, record]``; ``own_index``: the index of each person's own record.
    """
    mine = distance[np.arange(len(own_index)), own_index]
    slack = SLACK * (1 + mine)
    among_nearest = np.isfinite(mine) & (mine - distance.min(axis=1) <= slack)
    return np.where(among_nearest, 1 / np.maximum((distance <= (mine + slack)[:, None]).sum(axis=1), 1), 0.0)


def _sum(parts: Sequence[Clue], people: slice, scene: Scene) -> Floats:
    """Return the distances of people from all released records, summed over clues (columns): [person, record]."""
    total = np.zeros((people.stop - people.start, scene.rows.size), dtype=np.float32)
    for part in parts:
        total += part.distance(people)
    return total


def linked(
    scene: Scene, name: str, story: str, chances: Floats, guess: float, reason: str, rows: Codes | None = None
) -> IntruderFinding:
    """Return the result of an attack that looks for records, with an example of somebody who is found for certain.

    ``chances``: for each person the chance to be found. ``guess``: the chance by guessing. ``reason``: why the record
    was chosen. ``rows``: the people's records (None: the first of the scene).
    """
    certain = (scene.rows[: chances.size] if rows is None else rows)[chances >= 1]
    example = (
        f"{_person(scene, int(certain[0]))}: of {scene.rows.size:,} released records theirs is {reason}"
        if certain.size
        else "nobody of those looked for is found for certain"
    )
    share = float(chances.mean())
    limit = upper_limit(float(chances.sum()), chances.size)
    return IntruderFinding(name, story, "find", share, limit, guess, chances.size, example)


def _person(scene: Scene, row: int) -> str:
    """Return a text that names a record of the original, with its values only where error messages may show values."""
    index = f"record {row + 1:,} of the original"
    if not VALUES_SHOWN.get():
        return index
    own = scene.release.original.take([row])
    values = {field.name: _value(field, float(x)) for field, x in zip(own.fields, own.X[0], strict=True)}
    return f"{index} ({', '.join(f'{name} {value}' for name, value in values.items())})"


def _value(field: Field, value: float) -> str:
    """Return a field's value as text."""
    if np.isnan(value):
        return "missing"
    return shown(field.labels[int(value)] if field.kind == "category" else value)


def smallest_share(groups: Column) -> float:
    """Return the mean chance to find somebody by guessing among the records of their group, such as a leaf.

    It is (number of groups)/(number of records). ``groups``: the group of each record.
    """
    count = np.unique(groups, return_counts=True)[1]
    return float(count.size / count.sum())


# --- by the values as they are ----------------------------------------------------------------------------------------


def nearest(scene: Scene) -> IntruderFinding:
    """Attack a release by taking for each person the released record nearest by all attributes; return who is found."""
    story = "knows every attribute of a person exactly and takes the nearest released record"
    return linked(scene, "nearest match", story, hits(scene, clues(scene)), 1 / scene.rows.size, "the nearest")


def nearest_on_quasi_identifiers(scene: Scene) -> IntruderFinding | None:
    """Attack a release by taking for each person the record nearest by what others may know (quasi-identifiers).

    Returns how many people are found; None where these are all columns, or none.
    """
    quasi = scene.release.roles.having("quasi-identifier")
    indices = [index for index, name in enumerate(scene.names) if name in quasi]
    if not 0 < len(indices) < len(scene.names) - (scene.release.original.target in scene.names):
        return None
    story = "knows the quasi-identifiers of a person exactly and takes the nearest released record"
    chances = hits(scene, clues(scene, indices))
    return linked(scene, "nearest on quasi-identifiers", story, chances, 1 / scene.rows.size, "the nearest")


def linked_by_attributes(release: Release, draws: Draws) -> float:
    """Return the share of people whose own record is the nearest one by all attributes, without the class."""
    scene = Scene.of(release, draws)
    return float(hits(scene, clues(scene, range(len(release.original.fields)))).mean())


def exact_on_kept(scene: Scene) -> IntruderFinding | None:
    """Attack a release by the columns that hardly changed: take the nearest of the records equal to the person there.

    Those are the columns that stay in nine records of ten; None where there is no such column. Returns how many people
    are found.
    """
    indices = np.flatnonzero(scene.unchanged).tolist()
    if not indices:
        return None
    chances = hits(scene, clues(scene), must_fit(scene, indices))
    names = listed(scene.names[index] for index in indices)
    story = f"looks for the exact values of {names}, which stay as they are, and takes the nearest record among those"
    reason = "the nearest with these exact values"
    return linked(scene, "exact match on what is kept", story, chances, 1 / scene.rows.size, reason)


def pattern_of_gaps(scene: Scene) -> IntruderFinding | None:
    """Attack a release by linking each person to one of its records, by which of the person's values are missing.

    The intruder knows the person's true values, and takes the nearest released record among those with the same values
    missing. Returns how many people are found; None where nothing is missing.
    """
    truth, released = np.isnan(scene.true_values), np.isnan(scene.released_values)
    indices = np.flatnonzero(truth.any(axis=0) | released.any(axis=0))
    if not indices.size:
        return None
    pattern = [Clue(truth[:, index].astype(float), released[:, index].astype(float), label=True) for index in indices]
    chances = hits(scene, clues(scene), pattern)
    story = "knows which values of a person are missing, and takes the nearest record with this pattern"
    reason = "the nearest with their pattern of gaps"
    return linked(scene, "pattern of missing values", story, chances, 1 / scene.rows.size, reason)


def order_of_rows(scene: Scene) -> IntruderFinding:
    """Attack a release by its order: take for each person the record in the row that they have in the original table.

    Returns how many people are found.
    """
    release = scene.release
    n = len(release.original.y)
    is_own = np.ones(n) if release.rows is None else (release.rows == np.arange(n)).astype(float)
    share = float(is_own.mean())
    example = "row 1 of the release is person 1 of the original" if share == 1 else "the rows stand in random order"
    story = "knows in which row of the original a person stands, and takes the same row of the release"
    limit = upper_limit(float(is_own.sum()), n)
    return IntruderFinding("order of rows", story, "find", share, limit, 1 / n, n, example)


# --- by how much each column moved ------------------------------------------------------------------------------------


def informed(scene: Scene) -> IntruderFinding:
    """Attack a release by taking for each person the likeliest record, knowing how much the noise moved each column.

    Columns count by what they still tell. Returns how many people are found.
    """
    chances = hits(scene, [weighed(clue(scene, index)) for index in range(len(scene.names))])
    story = "knows every attribute of a person and how much each was moved, and weighs them by what they still tell"
    return linked(scene, "weighed match", story, chances, 1 / scene.rows.size, "the likeliest")


def ranks_in_leaves(scene: Scene) -> IntruderFinding | None:
    """Attack a release by looking for each person only in their leaf of the tree that confined the noise.

    Taken is the record with the nearest values, or the nearest ranks inside the leaf; returned is the result of the
    best of four ways. None where there are no leaves.
    """
    if scene.leaves is None:
        return None
    known_leaf, seen_leaf = scene.leaves
    leaf = Clue(known_leaf.astype(float), seen_leaf.astype(float), label=True)
    trials = []
    for transform in (_ranks, lambda values, _: values):
        parts = [clue(scene, index) for index in range(len(scene.names))]
        inner = [
            part if part.label else Clue(transform(part.true, known_leaf), transform(part.released, seen_leaf))
            for part in parts
        ]
        trials += [hits(scene, inner, [leaf]), hits(scene, [weighed(part, scene.leaves) for part in inner], [leaf])]
    best = max(trials, key=lambda chances: float(chances.sum()))
    story = "knows the tree, and looks in a person's leaf for the record with the nearest values or ranks"
    return linked(scene, "ranks in leaves", story, best, smallest_share(known_leaf), "the nearest of their leaf")


def weighed(part: Clue, leaves: tuple[Codes, Codes] | None = None) -> Clue:
    """Return a clue (compared column) with the weight that it has for an intruder who knows how the noise moved it.

    Likelihood gives the weight (see the head of this module).
    ``leaves``: of the true and the released records; values then are differences from the leaf's mean.
    """
    if part.label:
        stays, chance = (part.true == part.released).mean(), _agreement(part.true, part.released)
        weight = logit(np.clip([stays, chance], CLOSEST, 1 - CLOSEST)) @ [1, -1]
        return Clue(part.true, part.released, max(float(weight), 0.0), label=True)
    truth, released = part.true, part.released
    if leaves is not None:
        truth, released = _centred(truth, leaves[0]), _centred(released, leaves[1])
    spread = np.sqrt((truth**2).mean() * (released**2).mean())
    r = float(np.clip((truth * released).mean() / spread, 0, 1)) if spread > 0 else 0.0
    scale = float(np.sqrt((truth**2).mean())) or 1.0
    return Clue(truth / scale, r * released / (float(np.sqrt((released**2).mean())) or 1.0), 1 / max(1 - r**2, CLOSEST))


def _agreement(truth: Floats, released: Floats) -> float:
    """Return how often a true and a released record taken at random have the same label."""
    labels, codes = np.unique(np.concatenate([truth, released]), return_inverse=True)
    shares = [np.bincount(part, minlength=labels.size) / part.size for part in np.split(codes, 2)]
    return float(shares[0] @ shares[1])


def _ranks(values: Floats, leaf: Codes) -> Floats:
    """Return the relative rank of each value in its leaf, from 0 to 1; equal values have equal ranks."""
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
    """Return the difference of each value from the mean of its leaf. ``leaf``: the leaf of each value."""
    count = np.maximum(np.bincount(leaf), 1)
    return np.asarray(values - (np.bincount(leaf, values) / count)[leaf])


# --- by labels, and by all people together ----------------------------------------------------------------------------


def labels_as_labels(scene: Scene) -> IntruderFinding | None:
    """Attack a release by taking for each person the record that shares the most and the rarest labels with them.

    Numbers of few values count as labels; None where there are fewer than two such columns. Returns how many people are
    found.
    """
    few = [np.unique(column[~np.isnan(column)]).size <= FEW for column in scene.true_values.T]
    indices = np.flatnonzero(scene.is_label | np.array(few)).tolist()
    if len(indices) < 2:
        return None
    story = "compares labels and small numbers as labels, the rare ones counting most"
    chances, reason = hits(scene, _compared(scene, indices)), "the one that shares most, and the rarest, labels"
    return linked(scene, "labels as labels", story, chances, 1 / scene.rows.size, reason)


def equal_values(scene: Scene) -> IntruderFinding:
    """Attack a release by taking for each person the record that shares the most and the rarest values with them.

    Of all columns; among equals the nearest record. Returns how many people are found.
    """
    near = [Clue(part.true, part.released, NEXT * part.weight, part.label) for part in clues(scene)]
    chances = hits(scene, [*_compared(scene, list(range(len(scene.names)))), *near])
    story = "looks for values that stayed as they were, the rare ones counting most, then for the nearest record"
    reason = "the one with most, and the rarest, equal values"
    return linked(scene, "equal values", story, chances, 1 / scene.rows.size, reason)


def _compared(scene: Scene, indices: list[int]) -> list[Clue]:
    """Return columns as clues by which an intruder compares whether values are equal, rare values counting most."""
    return [Clue(part.true, part.released, _surprise(part.true), label=True) for part in must_fit(scene, indices)]


def _surprise(truth: Floats) -> Floats:
    """Return for each person how surprising their label is: −log of the share of people who have it."""
    _, codes, count = np.unique(truth, return_inverse=True, return_counts=True)
    return np.asarray(-np.log(count / count.sum())[codes])


def everybody_at_once(scene: Scene) -> IntruderFinding:
    """Attack a release by giving all released records of a leaf to people at once, so that together they fit best.

    The sum of distances is made smallest; returned is how many people are found. Without leaves all records are one
    leaf; of a leaf of more than TOGETHER people a part is assigned.
    """
    none = np.zeros(scene.rows.size, dtype=np.int64)
    known_leaf, seen_leaf = (none, none) if scene.leaves is None else scene.leaves
    parts = [weighed(part, scene.leaves) for part in clues(scene)]
    is_own = np.zeros(scene.rows.size)
    looked_for = np.zeros(scene.rows.size, dtype=bool)
    for leaf in np.unique(known_leaf[: scene.people]):
        people, records = (np.flatnonzero(side == leaf)[:TOGETHER] for side in (known_leaf, seen_leaf))
        records = records[np.argsort(scene.draws.uniform(records.size))]  # ties must not fall to one's own record
        if records.size:
            apart = np.sum([_apart(part, people, records) for part in parts], axis=0)
            who, which = linear_sum_assignment(apart)
            is_own[people[who]] = people[who] == records[which]
        looked_for[people] = True
    story = "knows all people, and gives every record of a leaf to one of them so that all fit best together"
    guess = smallest_share(known_leaf)
    reason, rows = "what the best assignment gives them", scene.rows[looked_for]
    return linked(scene, "everybody at once", story, is_own[looked_for], guess, reason, rows)


def _apart(part: Clue, people: Codes, records: Codes) -> Floats:
    """Return the distances of some people from some released records by one compared column: [person, record]."""
    inner = Clue(part.true[people], part.released[records], part.weight, part.label)
    return np.asarray(inner.distance(slice(None)), dtype=float)
