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
from sfumato.learners.additive.terms import MOST_LABELS, CellPoints, Factor

RESOLUTION = Resolution(17, 0.6, 0.1)
"""True cells of a column, width of report cells in standard deviations of the noise, and the shift of edges in cells.
By judgement; finer cells of all pairs of columns take longer, coarser ones hide a hinge."""
STEPS = 60
"""Steps of EM for a column's own density. By judgement; as many as a block of columns starts with."""
MOST_PAIRED = 24
"""Columns that are counted in pairs, those that tell most by themselves. By judgement; the number of counts, and so the
time, grows with its square, and a column further down is not found."""
TINY = 1e-12
"""The least variance of a column's functions, the shares of reports and classes being parts of 1: rounding leaves less
of a constant column, and sums of shares are not divided by less."""


@dataclass(frozen=True)
class ColumnFeatures:
    """What the reports w of one column tell about the functions φ of its true value.

    features: m[report cell, function] = E[φ | w], of mean zero.
    covariance: of m. true_covariance: of φ.
    with_class: Σ_s N(s, y)·m(s)/n less what the share of the class would give, [function, class].
    """

    features: Floats
    covariance: Floats
    true_covariance: Floats
    with_class: Floats

    @property
    def corrected(self) -> Floats:
        """R·Cov(φ)·Rᵀ: the covariance of m without the part that noise adds."""
        return np.asarray(self.covariance @ np.linalg.pinv(self.true_covariance, hermitian=True) @ self.covariance)


def functions_of(points: CellPoints, density: Floats) -> Floats:
    """Return φ over the cells of a column, one row a function, of mean zero.

    A category has a function for each of its most common labels but the first; numbers have a line, and a hinge at
    each third of the people. density: the share of the people in each cell.
    """
    if points.labels is not None:
        common = np.argsort(-density, kind="stable")[: MOST_LABELS + 1][1:]
        phi = (np.arange(density.size) == common[:, None]).astype(float)
    else:
        cuts = np.interp([1 / 3, 2 / 3], np.cumsum(density) - density / 2, points.middle)
        factors = [Factor(points.column, points.low, points.unit)]
        factors += [Factor(points.column, float(cut), points.unit, hinge=True) for cut in np.unique(cuts)]
        phi = np.stack([factor.on(points).mean for factor in factors])
    return np.asarray(phi - (phi @ density)[:, None])


class Screen:
    """The selection of columns that tell about the class, from counts of single columns and of pairs.

    reports: with classes. axes: all columns.
    """

    def __init__(self, reports: Reports, axes: Sequence[Axis]) -> None:
        self.reports, self.axes = reports, axes
        alone = [self._evidence(j) for j in range(len(axes))]
        reports.prepare([question for evidence in alone for question in evidence.questions()])
        self.people = max(alone[0].total, 1.0)
        self.shares = alone[0].in_cells.sum(axis=0) / self.people
        self.classes = int((self.shares > 0).sum())
        self.features = [self._features(j, evidence) for j, evidence in enumerate(alone)]
        self.looked_at = sum(float(np.trace(column.covariance)) > TINY for column in self.features)  # none constant

    def _evidence(self, *columns: int) -> Evidence:
        """Return the counts of some columns together, by class."""
        return Evidence.of_columns(self.reports, [self.axes[j] for j in columns], RESOLUTION, dtype=np.float64)

    def _features(self, j: int, evidence: Evidence) -> ColumnFeatures:
        """Compute what the reports of column j tell about its true value and about the class.

        evidence: the counts of these reports by class.
        """
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
        return ColumnFeatures(features, covariance, (phi * density) @ phi.T, features.T @ excess)

    # --- one column -----------------------------------------------------------------------------------------------

    def gain(self, score: Floats, variance: Floats, looked_at: int) -> tuple[float, int]:
        """Return by how many nats functions of reports raise the log-likelihood less their price, and how many.

        Either all functions are taken or the first one alone, whichever gains more; judged by a score test.

        score: [function, class]. variance: of the functions. looked_at: how many such candidates were looked at.
        """
        gains = []
        for size in {1, score.shape[0]}:
            freedom = max(self.classes - 1, 1) * size
            price = freedom * np.log(max(self.people, 2.0)) / 2 + np.log(max(looked_at, 1))
            gains.append((self.people * self._explained(score[:size], variance[:size, :size]) / 2 - price, size))
        return max(gains)

    def _explained(self, score: Floats, variance: Floats) -> float:
        """Return how much of the class some functions of reports explain: Σ_y score_y' variance⁻¹ score_y / π_y."""
        inverse = np.linalg.pinv(variance, rcond=1e-6, hermitian=True)
        return float(np.sum(np.einsum("iy,ij,jy->y", score, inverse, score) / np.maximum(self.shares, TINY)))

    def columns(self) -> list[int]:
        """Select the columns that tell about the class beside each other, the one that explains most first."""
        alone = [self.gain(column.with_class, column.covariance, self.looked_at)[0] for column in self.features]
        best = np.argsort(-np.array(alone), kind="stable").tolist()
        ranked = [j for j in best if self.features[j].features.size][:MOST_PAIRED]  # one label alone tells nothing
        self._read_pairs(ranked)
        chosen: list[int] = []
        while True:
            judged = {j: self._beside(j, chosen) for j in ranked if j not in chosen}
            telling = [j for j, (gain, _) in judged.items() if gain > 0]
            if not telling:
                return chosen + self._partners(chosen)
            chosen.append(max(telling, key=lambda j: judged[j][1]))

    def _beside(self, j: int, chosen: list[int]) -> tuple[float, float]:
        """Return the nats that column j gains beside those chosen, and what its true values explain of the class."""
        column = self.features[j]
        score, variance, true_variance = column.with_class, column.covariance, column.corrected
        if chosen:
            plain, corrected = self._covariance(chosen)
            cross = np.hstack([self._cross(j, k) for k in chosen])
            pull = cross @ np.linalg.pinv(corrected, rcond=1e-4, hermitian=True)
            score = score - pull @ np.vstack([self.features[k].with_class for k in chosen])
            shared = pull @ cross.T
            variance = variance - shared - shared.T + pull @ plain @ pull.T
            true_variance = true_variance - shared
        gain, size = self.gain(score, variance, self.looked_at)
        least = 0.01 * column.corrected[:size, :size]
        return gain, self._explained(score[:size], np.asarray(true_variance[:size, :size] + least))

    def _covariance(self, chosen: list[int]) -> tuple[Floats, Floats]:
        """Return the covariance of what the reports of some columns tell, with the noise and without."""
        blocks = [[self.features[i].covariance if i == k else self._cross(i, k) for k in chosen] for i in chosen]
        without = [[self.features[i].corrected if i == k else self._cross(i, k) for k in chosen] for i in chosen]
        return np.block(blocks), np.block(without)

    # --- pairs ----------------------------------------------------------------------------------------------------

    def _read_pairs(self, columns: list[int]) -> None:
        """Count all pairs of these columns; keep the covariances of their features and what their products gain."""
        pairs = [(min(pair), max(pair)) for pair in combinations(columns, 2)]
        evidence_of = {pair: self._evidence(*pair) for pair in pairs}
        self.reports.prepare([question for evidence in evidence_of.values() for question in evidence.questions()])
        self._cross_covariance, self._product_gain = {}, {}
        for (i, k), evidence in evidence_of.items():
            first, second = self.features[i].features, self.features[k].features
            counts = evidence.in_cells / self.people
            self._cross_covariance[i, k] = first.T @ counts.sum(axis=-1) @ second
            self._product_gain[i, k] = self._gain_of_product(first[:, :1], second[:, :1], counts, len(pairs))

    def _cross(self, i: int, k: int) -> Floats:
        """Return the covariance of the features of columns i and k, [function of i, function of k]."""
        return np.asarray(self._cross_covariance[i, k] if i < k else self._cross_covariance[k, i].T)

    def correlation(self, i: int, k: int) -> float:
        """Return the size of the correlation of two columns' true values; 0 where the pair was not counted."""
        if i == k or (min(i, k), max(i, k)) not in self._cross_covariance:
            return 0.0
        variances = self.features[i].corrected[0, 0] * self.features[k].corrected[0, 0]
        return abs(float(self._cross(i, k)[0, 0])) / max(float(np.sqrt(max(variances, 0.0))), TINY)

    def _gain_of_product(self, first: Floats, second: Floats, counts: Floats, pairs: int) -> float:
        """Return the nats that the product of two columns' linear functions gains, less their price.

        first, second: the features, one row a report cell. counts: shares of reports, [cell, cell, class].
        pairs: how many were looked at.
        """
        product = first * second.T
        mass = counts.sum(axis=-1)
        product = product - np.sum(product * mass)
        excess = counts - mass[..., None] * self.shares
        score, variance = np.einsum("st,sty->y", product, excess), np.sum(product**2 * mass)
        return self.gain(score[None], np.array([[variance]]), pairs)[0]

    def _partners(self, chosen: list[int]) -> list[int]:
        """Return the columns that tell only together with another one; every column has one partner at most."""
        partners: list[int] = []
        paired: set[int] = set()
        for pair in sorted(self._product_gain, key=lambda pair: -self._product_gain[pair]):
            new = [j for j in pair if j not in chosen and j not in partners]
            if self._product_gain[pair] > 0 and new and not paired & set(pair):
                partners += new
                paired |= set(pair)
        return partners
