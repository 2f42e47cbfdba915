"""What stays as it is, compared exactly."""

from __future__ import annotations

import numpy as np

from sfumato.microdata.intruders.linking import clues, hits, linked, must_fit
from sfumato.microdata.intruders.scene import Finding, Scene
from sfumato.prose import listed


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
