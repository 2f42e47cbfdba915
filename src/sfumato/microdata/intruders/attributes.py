"""Guessing what is sensitive: of people in the table, beside people who were not in it."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from sfumato.microdata.intruders.halves import Halves, gain
from sfumato.microdata.intruders.scene import CONFIDENCE, Finding, Scene, column_of
from sfumato.microdata.table.points import CLOSE
from sfumato.prose import percent

"""A number is guessed right where it lies within this share of a standard deviation."""


def sensitive_values(scene: Scene, halves: Halves) -> list[Finding]:
    """One finding for each sensitive column; the intruder knows the others."""
    sensitive = scene.release.roles.having("sensitive")
    others = [name for name in halves.original.names if name not in sensitive]
    return [_guessed(halves, name, others) for name in sensitive] if others else []


def _guessed(halves: Halves, name: str, others: list[str]) -> Finding:
    (first, _), (second, _) = halves.nearest(others)
    guesses = (column_of(one, name)[place] for one, place in zip(halves.releases, (first, second), strict=True))
    truth = column_of(halves.original, name)
    numeric = name in halves.original.names and halves.original.numeric[halves.original.index(name)]
    reach = CLOSE * float(np.nanstd(truth)) if numeric else 0.0
    inside, outside = halves.crossed(*(np.abs(guess - truth) <= reach for guess in guesses))
    added, limit = gain(inside, outside, float(ndtri(CONFIDENCE)))
    base = float(outside.mean())
    story = (
        f"knows the other attributes of a person and takes {name} from the nearest released record; by guessing: from "
        "a release without that person"
    )
    share, at_most = base + added, min(base + max(limit, 0), 1.0)
    example = f"{name} is guessed right for {percent(share, 0)} of those in the table, for {percent(base, 0)} of others"
    return Finding(f"guessing {name}", story, "guess", share, max(at_most, share), base, halves.size, example)
