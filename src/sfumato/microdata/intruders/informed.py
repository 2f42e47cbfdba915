"""How much each column moved, which the noise's law tells: columns count by what they still tell.

With correlation r between true and released values (both in standard deviations), the likelihood of a pair orders
released records by (x − r·y)² / (1 − r²); a column that tells nothing has r = 0 and drops out. A label that stays in a
share m of the records and agrees by chance in a share u counts log(m(1 − u) / (u(1 − m))).
"""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from sfumato.domain import Codes, Floats
from sfumato.microdata.intruders.linking import Clue, clue, hits, linked, smallest_share
from sfumato.microdata.intruders.scene import Finding, Scene

CLOSEST = 1e-6
"""Correlations count as at most √(1 − this), shares of agreement as at most 1 − this."""


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
