"""The nearest released record."""

from __future__ import annotations

from sfumato.microdata.intruders.linking import clues, hits, linked
from sfumato.microdata.intruders.scene import Finding, Scene
from sfumato.microdata.methods.noise import Draws
from sfumato.microdata.releasing import Release


def nearest(scene: Scene) -> Finding:
    story = "knows every attribute of a person exactly and takes the nearest released record"
    return linked(scene, "nearest match", story, hits(scene, clues(scene)), 1 / scene.rows.size, "the nearest")


def nearest_on_quasi_identifiers(scene: Scene) -> Finding | None:
    """Where the roles leave out some columns."""
    places = [place for place, name in enumerate(scene.names) if name in scene.release.roles.having("quasi-identifier")]
    if not 0 < len(places) < len(scene.names) - (scene.release.original.target in scene.names):
        return None
    story = "knows the quasi-identifiers of a person exactly and takes the nearest released record"
    found = hits(scene, clues(scene, places))
    return linked(scene, "nearest on quasi-identifiers", story, found, 1 / scene.rows.size, "the nearest")


def linked_by_attributes(release: Release, draws: Draws) -> float:
    """The share of people whose own record is the nearest one by all attributes, their class not known."""
    scene = Scene.of(release, draws)
    return float(hits(scene, clues(scene, range(len(release.original.fields)))).mean())
