"""Intruders: each knows something, does something, and finds or guesses a share of the people. The worst is stated.

A kind of intruder has a file of its own and one form, `Finding`.
"""

from __future__ import annotations

from sfumato.microdata.intruders.attributes import sensitive_values
from sfumato.microdata.intruders.categories import equal_values, labels_as_labels
from sfumato.microdata.intruders.everybody import everybody_at_once
from sfumato.microdata.intruders.gaps import pattern_of_gaps
from sfumato.microdata.intruders.halves import Halves
from sfumato.microdata.intruders.informed import informed, ranks_in_leaves
from sfumato.microdata.intruders.kept import exact_on_kept
from sfumato.microdata.intruders.membership import membership
from sfumato.microdata.intruders.nearest import nearest, nearest_on_quasi_identifiers
from sfumato.microdata.intruders.order import order_of_rows
from sfumato.microdata.intruders.outliers import extreme_people, visible_extremes
from sfumato.microdata.intruders.scene import Finding, Scene
from sfumato.microdata.intruders.subsets import best_subset
from sfumato.microdata.methods.noise import Draws
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
        found += [membership(scene, halves), *sensitive_values(scene, halves)]
    return tuple(found)


__all__ = ["Finding", "Scene", "send_intruders"]
