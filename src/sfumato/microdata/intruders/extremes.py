"""Attacks on the ends of each column: who has the largest and the smallest values?"""

from __future__ import annotations

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.intruders.scene import IntruderFinding, Scene
from sfumato.microdata.methods.treatment import tail_size


def extreme_people(scene: Scene) -> IntruderFinding | None:
    """Attack a release at the ends of its columns: link the people with the few largest or smallest values by rank.

    All of them are looked for, so the share is exact. None where no column has ends.
    """
    release = scene.release
    chances: list[float] = []
    for index in np.flatnonzero(release.original.numeric):
        truth, released = release.original.X[:, index], release.released.X[:, index]
        for side in (1, -1):
            chances += _found_at_end(side * truth, side * released)
    if not chances:
        return None
    share = float(np.mean(chances))
    story = "knows who has the few largest or smallest values of a column, and takes the records at that end in order"
    example = f"{np.sum(np.array(chances) >= 1):.0f} of {len(chances)} people at an end are found for certain"
    chance = 1 / len(release.original.y)
    return IntruderFinding("people at the ends", story, "find", share, share, chance, len(chances), example)


def _found_at_end(truth: Floats, released: Floats) -> list[float]:
    """Return the chances, one for each person with one of the largest values, that the record of their rank is theirs.

    Released records with equal values share the chance.
    """
    truth, released = (np.where(np.isnan(values), -np.inf, values) for values in (truth, released))
    size = tail_size(int(np.isfinite(truth).sum()))
    first = np.argsort(-truth, kind="stable")[:size]
    if np.unique(truth[first]).size < 2:
        return []
    at_rank = np.sort(released)[::-1][:size]
    tied = released[:, None] == at_rank
    return list(np.where(tied[first, np.arange(size)], 1 / np.maximum(tied.sum(axis=0), 1), 0.0).tolist())


def visible_extremes(scene: Scene) -> IntruderFinding | None:
    """Attack a release by looking whether largest and smallest values that one person alone has stand in it.

    Only values far from the next one count. None where there are none.
    """
    release = scene.release
    ends, visible = [], []
    for index in np.flatnonzero(release.original.numeric):
        truth, released = release.original.X[:, index], release.released.X[:, index]
        for value in _lonely_ends(truth[~np.isnan(truth)]):
            ends.append(release.original.names[index])
            visible.append(bool((released == value).any()))
    if not ends:
        return None
    share = float(np.mean(visible))
    shown = [name for name, is_visible in zip(ends, visible, strict=True) if is_visible]
    example = f"the extreme value of {shown[0]}, which one person has, is released" if shown else "none is visible"
    story = "knows a value at the end of a column that one person alone has, and looks whether it is in the release"
    return IntruderFinding("exact extreme values", story, "find", share, share, 0.0, len(ends), example)


def _lonely_ends(truth: Floats) -> list[float]:
    """Return the smallest and the largest value, each if the next one is further than a tenth of the deviation away."""
    ordered: Codes | Floats = np.sort(truth)
    if ordered.size < 3 or ordered[0] == ordered[-1]:
        return []
    reach = 0.1 * float(ordered.std())
    return [
        float(end) for end, following in ((ordered[0], ordered[1]), (ordered[-1], ordered[-2]))
        if abs(end - following) > reach
    ]  # fmt: skip
