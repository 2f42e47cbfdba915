"""Which values are missing."""

from __future__ import annotations

import numpy as np

from sfumato.microdata.intruders.linking import Clue, clues, hits, linked
from sfumato.microdata.intruders.scene import Finding, Scene


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
