"""Members of a joint model: each holds P(y, x) over its own cells and answers the same three questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.domain import Codes
from sfumato.reconstruction import ColumnCells

Array = npt.NDArray[np.float32]


class Member(ABC):
    """P(y, x₁..x_D) over cells."""

    cells: tuple[ColumnCells, ...]
    classes: int

    @abstractmethod
    def joint_of_classes(self, places: list[Codes]) -> npt.NDArray[np.float64]:
        """P(y, x) of records in these cells, one column a class; −1 integrates a column out."""

    @abstractmethod
    def sample_cells(self, n: int, rng: np.random.Generator) -> tuple[Codes, list[Codes]]:
        """Class codes and cells of n draws."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The member as plain data."""


class GridMember(Member):
    """P(y, t₁..t_D) as one array."""

    def __init__(self, cells: tuple[ColumnCells, ...], joint: Array) -> None:
        self.cells, self.joint, self.classes = cells, joint, int(joint.shape[0])

    def joint_of_classes(self, places: list[Codes]) -> npt.NDArray[np.float64]:
        records = places[0].size if places else 1
        if not self.cells:
            return np.repeat(self.joint.reshape(1, -1).astype(np.float64), records, axis=0)
        missing = np.array(places) < 0
        found = np.empty((records, self.classes))
        patterns, which = np.unique(missing, axis=1, return_inverse=True) if missing.any() else (missing[:, :1], None)
        for number, pattern in enumerate(patterns.T):
            rows = slice(None) if which is None else np.flatnonzero(which.ravel() == number)
            axes = tuple(1 + j for j in np.flatnonzero(pattern))
            table = self.joint.sum(axis=axes, dtype=np.float64) if axes else self.joint
            kept = [place[rows] for place, gone in zip(places, pattern, strict=True) if not gone]
            found[rows] = np.moveaxis(table, 0, -1)[tuple(kept)] if kept else table
        return found

    def sample_cells(self, n: int, rng: np.random.Generator) -> tuple[Codes, list[Codes]]:
        cumulative = np.cumsum(self.joint.ravel(), dtype=np.float64)
        drawn = np.searchsorted(cumulative, rng.random(n) * cumulative[-1], side="right")
        places = np.unravel_index(np.minimum(drawn, cumulative.size - 1), self.joint.shape)
        return places[0].astype(np.int64), [place.astype(np.int64) for place in places[1:]]

    def to_dict(self) -> dict[str, Any]:
        rounded = [float(f"{value:.5g}") for value in self.joint.ravel()]
        return {
            "form": "grid",
            "cells": [cut.to_dict() for cut in self.cells],
            "shape": list(self.joint.shape),
            "joint": rounded,
        }


class MixtureMember(Member):
    """P(y, x) = Σ_z π_z · P(y | z) · Π_j θ_j(x_j | z)."""

    def __init__(self, cells: tuple[ColumnCells, ...], weights: Array, p_class: Array, thetas: list[Array]) -> None:
        self.cells, self.weights, self.p_class, self.thetas = cells, weights, p_class, thetas
        self.classes = int(p_class.shape[0])

    def joint_of_classes(self, places: list[Codes]) -> npt.NDArray[np.float64]:
        mass = np.repeat(self.weights[None].astype(np.float64), places[0].size, axis=0)
        for place, theta in zip(places, self.thetas, strict=True):
            known = np.vstack([theta, np.ones((1, theta.shape[1]), theta.dtype)])
            mass *= known[place]
        return np.asarray(mass @ self.p_class.T.astype(np.float64))

    def sample_cells(self, n: int, rng: np.random.Generator) -> tuple[Codes, list[Codes]]:
        component = draw_columns(self.weights[:, None], np.zeros(n, np.int64), rng)
        group = draw_columns(self.p_class, component, rng)
        return group, [draw_columns(theta, component, rng) for theta in self.thetas]

    def to_dict(self) -> dict[str, Any]:
        return {
            "form": "mixture",
            "cells": [cut.to_dict() for cut in self.cells],
            "weights": self.weights.tolist(),
            "p_class": self.p_class.tolist(),
            "thetas": [theta.tolist() for theta in self.thetas],
        }


def member_from_dict(data: dict[str, Any]) -> Member:
    """The member that `to_dict` wrote."""
    cells = tuple(ColumnCells.from_dict(cut) for cut in data["cells"])
    if data["form"] == "grid":
        return GridMember(cells, np.array(data["joint"], np.float32).reshape(data["shape"]))
    arrays = [np.array(theta, np.float32) for theta in data["thetas"]]
    return MixtureMember(cells, np.array(data["weights"], np.float32), np.array(data["p_class"], np.float32), arrays)


def draw_columns(table: npt.NDArray[Any], columns: Codes, rng: np.random.Generator) -> Codes:
    """A row for each wanted column, with the probabilities of that column."""
    cumulative = np.cumsum(table, axis=0, dtype=np.float64)
    cumulative = (cumulative / cumulative[-1]).T
    offset = np.arange(cumulative.shape[0])[:, None]
    flat = (cumulative + offset).ravel()
    drawn = np.searchsorted(flat, rng.random(columns.size) + columns, side="right") - columns * table.shape[0]
    return np.asarray(np.clip(drawn, 0, table.shape[0] - 1), np.int64)
