"""Labels as labels, and any value as one: rare ones tell more."""

from __future__ import annotations

import numpy as np

from sfumato.domain import Floats
from sfumato.microdata.intruders.linking import Clue, clues, hits, linked, must_fit
from sfumato.microdata.intruders.scene import Finding, Scene

FEW = 20


NEXT = 1e-3
"""The weight of the distance where equal values decide first."""


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
