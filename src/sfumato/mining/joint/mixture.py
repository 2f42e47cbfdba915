"""Mixture of products, for more attributes than a grid can hold:

    P(w, y') = Σ_z π_z · (L η)(y' | z) · Π_j (C_j θ_j)(w_j | z),

the class being one more attribute with the label's table. EM with a few inner steps through each table, Dirichlet
pseudo-counts, components started from the posteriors of random records, stopped on the likelihood of held-out reports.
Linear in records and in attributes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.mining.columns import Axis
from sfumato.mining.joint.grid import Array, with_missing_row
from sfumato.mining.joint.grid_fit import Labels
from sfumato.mining.joint.members import MixtureMember
from sfumato.mining.joint.resolution import Resolution
from sfumato.mining.kernels import mixture_step, report_cells

COMPONENTS = 60
PSEUDO_COUNT = 0.2
FULL_COMPONENT = 250.0
"""Components with fewer records than this get fewer pseudo-counts in proportion."""
INNER_STEPS = 3
BLOCK = 10
LIMIT = 200
TOLERANCE = 1e-4
HELD_OUT = 0.1


class MixtureFit:
    """The EM of one mixture."""

    def __init__(
        self,
        attributes: Sequence[Axis],
        labels: Labels,
        resolution: Resolution,
        rng: np.random.Generator,
        components: int = COMPONENTS,
        pseudo_count: float = PSEUDO_COUNT,
    ) -> None:
        self.components, self.pseudo_count = components, np.float32(pseudo_count)
        self.cuts = tuple(a.at(resolution.cells, resolution.coarseness, resolution.shift) for a in attributes)
        self.tables = [
            with_missing_row(cut, bool((a.codes < 0).any())) for a, cut in zip(attributes, self.cuts, strict=True)
        ]
        columns = [
            report_cells(a.codes, cut.cell_of_code, table.shape[0] - 1)
            for a, cut, table in zip(attributes, self.cuts, self.tables, strict=True)
        ]
        identity = np.eye(labels.classes, dtype=np.float32)
        self.tables.append(identity if labels.table is None else labels.table)
        self.reports = np.ascontiguousarray(np.column_stack([*columns, labels.codes]), dtype=np.int32)
        self.weight = labels.weight
        self._start(rng)

    def _start(self, rng: np.random.Generator) -> None:
        components = int(min(self.components, max(2, self.weight.size // 20)))
        seeds = rng.integers(0, self.weight.size, components)
        per_component = self.weight.size / components
        self.pseudo_count = np.float32(self.pseudo_count * min(1.0, per_component / FULL_COMPONENT))
        self.prior = np.full(components, 1 / components, np.float32)
        self.thetas = []
        for j, table in enumerate(self.tables):
            posterior = table[self.reports[seeds, j]] + np.float32(1e-3 / table.shape[1])
            self.thetas.append(np.ascontiguousarray((posterior / posterior.sum(axis=1, keepdims=True)).T))

    def p_report(self) -> Array:
        """P(w_j = s | z), padded to the largest table."""
        largest = max(table.shape[0] for table in self.tables)
        stacked = np.zeros((len(self.tables), largest, self.prior.size), np.float32)
        for j, (table, theta) in enumerate(zip(self.tables, self.thetas, strict=True)):
            stacked[j, : table.shape[0]] = table @ theta + np.float32(1e-12)
        return stacked

    def step(self, chosen: npt.NDArray[np.int32], weight: npt.NDArray[np.float32]) -> None:
        p_report = self.p_report()
        counts = np.zeros_like(p_report)
        mixture_step(chosen, weight, p_report, self.prior, counts)
        mass = counts[0].sum(axis=0) + self.pseudo_count
        self.prior = mass / mass.sum()
        for j, table in enumerate(self.tables):
            self.thetas[j] = self._inner(table, self.thetas[j], counts[j, : table.shape[0]])

    def _inner(self, table: Array, theta: Array, counts: Array) -> Array:
        for _ in range(INNER_STEPS):
            expected = table @ theta + np.float32(1e-12)
            theta = theta * (table.T @ (counts / expected)) + self.pseudo_count
            theta = theta / theta.sum(axis=0)
        return theta

    def likelihood(self, chosen: npt.NDArray[np.int32], weight: npt.NDArray[np.float32]) -> float:
        p_report = self.p_report()
        return float(
            mixture_step(chosen, weight, p_report, self.prior, np.zeros_like(p_report)) / max(weight.sum(), 1e-12)
        )

    def run(self, rng: np.random.Generator) -> MixtureMember:
        held = rng.random(self.weight.size) < HELD_OUT
        train, test = self.reports[~held], self.reports[held]
        last = -np.inf
        for _ in range(LIMIT // BLOCK):
            for _ in range(BLOCK):
                self.step(train, self.weight[~held])
            likelihood = self.likelihood(test, self.weight[held]) if held.any() else last
            if likelihood - last < TOLERANCE:
                break
            last = likelihood
        return MixtureMember(self.cuts, self.prior, self.thetas[-1], self.thetas[:-1])
