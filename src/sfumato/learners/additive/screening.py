"""Which columns tell about the class, from counts of one and of two columns.

Every column has a few functions φ of its true value (linear and two hinges, or its labels), and m(w) = E[φ | w] is what
a report tells about them. At the model without terms, the score of a coefficient of φ is Σ m(w)·(1_y − π_y), and one
step of Fisher scoring is a regression on m. Reports of dependent columns tell about each other's values; in

    Cov(m_j, m_k) = R_j·Cov(φ_j, φ_k)·R_kᵀ,    R_j = Cov(m_j)·Cov(φ_j)⁻¹,

only the covariance of a column's own m has noise in it, so that R_j·Cov(φ_j)·R_jᵀ in its place gives the regression on
the true φ: a column that only helps to guess at another is left out. Columns are taken forward: of those whose score
gains more than its price, ½·log n for every coefficient and log(number of columns) for having been looked for, the one
whose true values explain most of the class. Then come columns that tell something in pairs only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sfumato.counts import Reports
from sfumato.domain import Floats
from sfumato.evidence import Axis, Evidence, Resolution
from sfumato.evidence.grids import fit_grid
from sfumato.learners.additive.terms import CellPoints, Factor

RESOLUTION = Resolution(17, 0.6, 0.1)
STEPS = 60
MOST_PAIRED = 24
MOST_LABELS = 30
TINY = 1e-12


@dataclass(frozen=True)
class Told:
    """What the reports of one column tell: m[s, function], and the covariances of m and φ."""

    features: Floats
    covariance: Floats
    true_covariance: Floats
    with_class: Floats
    """Σ_s N(s, y)·m(s)/n less what the class's share would give, [function, class]."""

    @property
    def corrected(self) -> Floats:
        """R·Cov(φ)·Rᵀ."""
        return np.asarray(self.covariance @ np.linalg.pinv(self.true_covariance, hermitian=True) @ self.covariance)


def functions_of(points: CellPoints, density: Floats) -> Floats:
    """φ over the cells of a column, one row a function, of mean zero."""
    if points.labels is not None:
        common = np.argsort(-density, kind="stable")[: MOST_LABELS + 1][1:]
        found = (np.arange(density.size) == common[:, None]).astype(float)
    else:
        cuts = np.interp([1 / 3, 2 / 3], np.cumsum(density) - density / 2, points.middle)
        factors = [Factor(points.column, points.low, points.unit)]
        factors += [Factor(points.column, float(cut), points.unit, hinge=True) for cut in np.unique(cuts)]
        found = np.stack([factor.on(points).mean for factor in factors])
    return np.asarray(found - (found @ density)[:, None])


class Screen:
    """Counts of columns and of pairs of them, and what they tell."""

    def __init__(self, reports: Reports, axes: Sequence[Axis]) -> None:
        self.reports, self.axes = reports, axes
        alone = [self._evidence(j) for j in range(len(axes))]
        reports.prepare([question for evidence in alone for question in evidence.questions()])
        self.people = max(alone[0].total, 1.0)
        self.shares = alone[0].in_cells.sum(axis=0) / self.people
        self.classes = int((self.shares > 0).sum())
        self.told = [self._told(j, evidence) for j, evidence in enumerate(alone)]
        self.looked_at = sum(float(np.trace(each.covariance)) > TINY for each in self.told)  # no constant column

    def _evidence(self, *columns: int) -> Evidence:
        return Evidence.of_columns(self.reports, [self.axes[j] for j in columns], RESOLUTION, dtype=np.float64)

    def _told(self, j: int, evidence: Evidence) -> Told:
        counts = evidence.in_cells
        blind = Evidence.of_columns(self.reports, [self.axes[j]], RESOLUTION, by_class=False, dtype=np.float64)
        density = fit_grid(blind.with_counts(counts.sum(axis=-1)), STEPS)[0]
        phi = functions_of(CellPoints.of(j, self.axes[j], evidence.cells[0]), density)
        table = evidence.product.factors[0]
        features = (table * density) @ phi.T / np.maximum(table @ density, TINY)[:, None]
        mass = counts.sum(axis=-1) / self.people
        features -= mass @ features
        excess = counts / self.people - np.outer(mass, self.shares)
        covariance = (features * mass[:, None]).T @ features
        return Told(features, covariance, (phi * density) @ phi.T, features.T @ excess)

    # --- one column -----------------------------------------------------------------------------------------------

    def gain(self, score: Floats, variance: Floats, looked_at: int) -> tuple[float, int]:
        """Nats that a score test promises less their price, and for how many functions: all of them, or the first."""
        found = []
        for size in {1, score.shape[0]}:
            freedom = max(self.classes - 1, 1) * size
            price = freedom * np.log(max(self.people, 2.0)) / 2 + np.log(max(looked_at, 1))
            found.append((self.people * self._explained(score[:size], variance[:size, :size]) / 2 - price, size))
        return max(found)

    def _explained(self, score: Floats, variance: Floats) -> float:
        """Σ_y score_y' variance⁻¹ score_y / π_y."""
        inverse = np.linalg.pinv(variance, rcond=1e-6, hermitian=True)
        return float(np.sum(np.einsum("iy,ij,jy->y", score, inverse, score) / np.maximum(self.shares, TINY)))

    def columns(self) -> list[int]:
        """The columns that tell about the class beside each other, the one that explains most first."""
        alone = [self.gain(each.with_class, each.covariance, self.looked_at)[0] for each in self.told]
        best = np.argsort(-np.array(alone), kind="stable").tolist()
        ranked = [j for j in best if self.told[j].features.size][:MOST_PAIRED]  # one label alone tells nothing
        self._read_pairs(ranked)
        chosen: list[int] = []
        while True:
            judged = {j: self._beside(j, chosen) for j in ranked if j not in chosen}
            telling = [j for j, (gain, _) in judged.items() if gain > 0]
            if not telling:
                return chosen + self._partners(chosen)
            chosen.append(max(telling, key=lambda j: judged[j][1]))

    def _beside(self, j: int, chosen: list[int]) -> tuple[float, float]:
        """What column j gains beside those chosen, and how much of the class its true values explain."""
        told = self.told[j]
        score, variance, true_variance = told.with_class, told.covariance, told.corrected
        if chosen:
            plain, corrected = self._covariance(chosen)
            cross = np.hstack([self._cross(j, k) for k in chosen])
            pull = cross @ np.linalg.pinv(corrected, rcond=1e-4, hermitian=True)
            score = score - pull @ np.vstack([self.told[k].with_class for k in chosen])
            shared = pull @ cross.T
            variance = variance - shared - shared.T + pull @ plain @ pull.T
            true_variance = true_variance - shared
        gain, size = self.gain(score, variance, self.looked_at)
        least = 0.01 * told.corrected[:size, :size]
        return gain, self._explained(score[:size], np.asarray(true_variance[:size, :size] + least))

    def _covariance(self, chosen: list[int]) -> tuple[Floats, Floats]:
        """The covariance of what reports of some columns tell, with the noise and without."""
        blocks = [[self.told[i].covariance if i == k else self._cross(i, k) for k in chosen] for i in chosen]
        without = [[self.told[i].corrected if i == k else self._cross(i, k) for k in chosen] for i in chosen]
        return np.block(blocks), np.block(without)

    # --- pairs ----------------------------------------------------------------------------------------------------

    def _read_pairs(self, columns: list[int]) -> None:
        pairs = [(min(pair), max(pair)) for pair in combinations(columns, 2)]
        together = {pair: self._evidence(*pair) for pair in pairs}
        self.reports.prepare([question for evidence in together.values() for question in evidence.questions()])
        self._crossed, self._together = {}, {}
        for (i, k), evidence in together.items():
            first, second = self.told[i].features, self.told[k].features
            counts = evidence.in_cells / self.people
            self._crossed[i, k] = first.T @ counts.sum(axis=-1) @ second
            self._together[i, k] = self._joint_gain(first[:, :1], second[:, :1], counts, len(pairs))

    def _cross(self, i: int, k: int) -> Floats:
        return np.asarray(self._crossed[i, k] if i < k else self._crossed[k, i].T)

    def correlation(self, i: int, k: int) -> float:
        """Of the true values of two columns, as far as straight lines tell."""
        if i == k or (min(i, k), max(i, k)) not in self._crossed:
            return 0.0
        spread = self.told[i].corrected[0, 0] * self.told[k].corrected[0, 0]
        return abs(float(self._cross(i, k)[0, 0])) / max(float(np.sqrt(max(spread, 0.0))), TINY)

    def _joint_gain(self, first: Floats, second: Floats, counts: Floats, pairs: int) -> float:
        """What the product of two linear functions gains."""
        product = first * second.T
        mass = counts.sum(axis=-1)
        product = product - np.sum(product * mass)
        excess = counts - mass[..., None] * self.shares
        score, variance = np.einsum("st,sty->y", product, excess), np.sum(product**2 * mass)
        return self.gain(score[None], np.array([[variance]]), pairs)[0]

    def _partners(self, chosen: list[int]) -> list[int]:
        """Columns that tell only together with another one; every column has one partner at most."""
        found: list[int] = []
        met: set[int] = set()
        for pair in sorted(self._together, key=lambda pair: -self._together[pair]):
            new = [j for j in pair if j not in chosen and j not in found]
            if self._together[pair] > 0 and new and not met & set(pair):
                found += new
                met |= set(pair)
        return found
