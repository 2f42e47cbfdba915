"""Intruders: each knows something, does something, and finds or guesses a share of the people. The worst is stated.

A kind of attack has a file of its own; what comes of it has one form, `Finding`.
"""

from __future__ import annotations

from sfumato.microdata.draws import Draws
from sfumato.microdata.intruders.extremes import extreme_people, visible_extremes
from sfumato.microdata.intruders.linkage import (
    equal_values,
    everybody_at_once,
    exact_on_kept,
    informed,
    labels_as_labels,
    linked_by_attributes,
    nearest,
    nearest_on_quasi_identifiers,
    order_of_rows,
    pattern_of_gaps,
    ranks_in_leaves,
)
from sfumato.microdata.intruders.membership import Halves, membership, sensitive_values
from sfumato.microdata.intruders.scene import Finding, Scene
from sfumato.microdata.intruders.subsets import best_subset
from sfumato.microdata.releasing import Release

LINKERS = (
    nearest, nearest_on_quasi_identifiers, exact_on_kept, pattern_of_gaps, order_of_rows, informed, ranks_in_leaves,
    everybody_at_once, labels_as_labels, equal_values, best_subset, extreme_people, visible_extremes,
)  # fmt: skip


def send_intruders(release: Release, draws: Draws) -> tuple[Finding, ...]:
    """What every intruder finds who has something to go by in this release."""
    scene = Scene.of(release, draws)
    found = [finding for intruder in LINKERS if (finding := intruder(scene)) is not None]
    halves = Halves.of(scene)
    if halves is not None:
        found += [membership(halves), *sensitive_values(scene, halves)]
    return tuple(found)


__all__ = ["Finding", "Scene", "send_intruders", "linked_by_attributes"]
