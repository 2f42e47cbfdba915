"""The place of a record in the file."""

from __future__ import annotations

import numpy as np

from sfumato.microdata.intruders.scene import Finding, Scene, upper_limit


def order_of_rows(scene: Scene) -> Finding:
    release = scene.release
    n = len(release.original.y)
    found = np.ones(n) if release.rows is None else (release.rows == np.arange(n)).astype(float)
    share = float(found.mean())
    example = "row 1 of the release is person 1 of the original" if share == 1 else "the rows stand in random order"
    story = "knows in which row of the original a person stands, and takes the same row of the release"
    return Finding("order of rows", story, "find", share, upper_limit(float(found.sum()), n), 1 / n, n, example)
