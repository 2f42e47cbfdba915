"""Intruders: programs that attack a release to measure how many of its people can be found or guessed.

Each kind of attack has a file of its own and returns an `IntruderFinding`. A report states the worst.
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
from sfumato.microdata.intruders.scene import IntruderFinding, Scene
from sfumato.microdata.intruders.subsets import best_subset
from sfumato.microdata.releasing import Release

LINKERS = (  # the attacks that look for people's records
    nearest, nearest_on_quasi_identifiers, exact_on_kept, pattern_of_gaps, order_of_rows, informed, ranks_in_leaves,
    everybody_at_once, labels_as_labels, equal_values, best_subset, extreme_people, visible_extremes,
)  # fmt: skip


def send_intruders(release: Release, draws: Draws) -> tuple[IntruderFinding, ...]:
    """Run every attack that applies to a release; return what each finds."""
    scene = Scene.of(release, draws)
    findings = [finding for intruder in LINKERS if (finding := intruder(scene)) is not None]
    halves = Halves.of(scene)
    if halves is not None:
        findings += [membership(halves), *sensitive_values(scene, halves)]
    return tuple(findings)


__all__ = ["IntruderFinding", "Scene", "send_intruders", "linked_by_attributes"]
