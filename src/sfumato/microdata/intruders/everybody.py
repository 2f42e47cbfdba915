"""Everybody at once: who knows all people gives each a record of their own, so that all together fit best."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from sfumato.domain import Codes, Floats
from sfumato.microdata.intruders.informed import weighed
from sfumato.microdata.intruders.linking import Clue, clues, linked, smallest_share
from sfumato.microdata.intruders.scene import Finding, Scene

TOGETHER = 400
"""People assigned at a time, at most: the work grows with their third power."""


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
