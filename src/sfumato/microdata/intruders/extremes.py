"""The ends of each column: who has the largest and the smallest values."""

from __future__ import annotations

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.intruders.scene import Finding, Scene
from sfumato.microdata.methods.treatment import tail_size


def extreme_people(scene: Scene) -> Finding | None:
    """Everybody at the ends is looked for, so the share is no estimate."""
    release = scene.release
    found: list[float] = []
    for place in np.flatnonzero(release.original.numeric):
        known, seen = release.original.X[:, place], release.released.X[:, place]
        for side in (1, -1):
            found += _found_at_end(side * known, side * seen)
    if not found:
        return None
    share = float(np.mean(found))
    story = "knows who has the few largest or smallest values of a column, and takes the records at that end in order"
    example = f"{np.sum(np.array(found) >= 1):.0f} of {len(found)} people at an end are found for certain"
    chance = 1 / len(release.original.y)
    return Finding("people at the ends", story, "find", share, share, chance, len(found), example)


def _found_at_end(known: Floats, seen: Floats) -> list[float]:
    """For each of the first few people the chance that the record at their place is theirs; equal values share it."""
    known, seen = (np.where(np.isnan(values), -np.inf, values) for values in (known, seen))
    size = tail_size(int(np.isfinite(known).sum()))
    first = np.argsort(-known, kind="stable")[:size]
    if np.unique(known[first]).size < 2:
        return []
    at_place = np.sort(seen)[::-1][:size]
    tied = seen[:, None] == at_place
    return list(np.where(tied[first, np.arange(size)], 1 / np.maximum(tied.sum(axis=0), 1), 0.0).tolist())


def visible_extremes(scene: Scene) -> Finding | None:
    """The exact largest and smallest values that one person alone has, and that are far from the next one's."""
    release = scene.release
    ends, visible = [], []
    for place in np.flatnonzero(release.original.numeric):
        known, seen = release.original.X[:, place], release.released.X[:, place]
        for value in _lonely_ends(known[~np.isnan(known)]):
            ends.append(release.original.names[place])
            visible.append(bool((seen == value).any()))
    if not ends:
        return None
    share = float(np.mean(visible))
    shown = [name for name, there in zip(ends, visible, strict=True) if there]
    example = f"the extreme value of {shown[0]}, which one person has, is released" if shown else "none is visible"
    story = "knows a value at the end of a column that one person alone has, and looks whether it is in the release"
    return Finding("exact extreme values", story, "find", share, share, 0.0, len(ends), example)


def _lonely_ends(known: Floats) -> list[float]:
    """The smallest and the largest value, each if the step to the next one is larger than a tenth of the deviation."""
    ordered: Codes | Floats = np.sort(known)
    if ordered.size < 3 or ordered[0] == ordered[-1]:
        return []
    reach = 0.1 * float(ordered.std())
    return [
        float(end) for end, following in ((ordered[0], ordered[1]), (ordered[-1], ordered[-2]))
        if abs(end - following) > reach
    ]  # fmt: skip
