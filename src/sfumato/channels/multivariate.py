"""Correlated noise: several numbers of one person blurred at once, by noise that follows their own covariance.

Independent noise on correlated answers is weak: projecting the reports on the directions in which people differ removes
most of it. Noise with the covariance κΣ of the people themselves hides in the same directions, so that all reports
together place no answer more closely than its own report does.

The noise is drawn on the grid, attribute by attribute: with Cholesky's factor C of κΣ, given the steps k_1..k_{j−1}
already drawn, k_j is gaussian noise on the grid around its conditional mean,

    P[k] = Π_j [Φ(((k_j + ½)h_j − m_j)/s_j) − Φ(((k_j − ½)h_j − m_j)/s_j)],   m = (I − diag(s)C⁻¹)·(k·h),  s = diag(C),

which is exact and evaluated without a table.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from sfumato.channels.additive import Gaussian, check_confidence, check_positive, default_step
from sfumato.channels.alias import Words
from sfumato.channels.randomness import KeyedWords, WordSource, source_for
from sfumato.domain import Codes, Floats, Grid, Interval, as_numbers
from sfumato.guarantee import CombinedGuarantee


class CorrelatedNoise:
    """w = x + e for a row of numbers, e gaussian with covariance ratio·covariance, on the grid.

    Domain: named Intervals, one an attribute.
    Law: the product of conditional laws above.
    γ: ∞, the tails have no bound.
    Interval width of attribute j at confidence c: 2·z((1+c)/2)·√(ratio·covariance[j, j]), from all reports together.

    >>> import numpy as np, sfumato as sf
    >>> spread = np.array([[100.0, 90.0], [90.0, 100.0]])
    >>> pair = sf.CorrelatedNoise({"age": sf.Interval(20, 80), "years": sf.Interval(0, 60)}, spread, ratio=1)
    >>> round(pair.guarantee().interval(0.95)["age"], 1)
    39.2
    """

    kind = "correlated-gaussian"
    gamma = math.inf

    def __init__(
        self,
        domains: Mapping[str, Interval],
        covariance: ArrayLike,
        *,
        ratio: float | None = None,
        privacy: float | None = None,
        confidence: float = 0.95,
    ) -> None:
        self.domains = dict(domains)
        for name, domain in self.domains.items():
            if not isinstance(domain, Interval):
                raise TypeError(f"attribute {name!r} is {domain!r}; correlated noise needs Intervals")
        self.covariance = _check_covariance(covariance, len(self.domains))
        if (ratio is None) == (privacy is None):
            raise ValueError("give either ratio= or privacy= for correlated noise, one of the two")
        self._given = {"ratio": ratio} if privacy is None else {"privacy": privacy, "confidence": confidence}
        self.ratio = check_positive("ratio", float(self._ratio_for(privacy, confidence) if ratio is None else ratio))
        factor = np.linalg.cholesky(self.ratio * self.covariance)
        self._spread = np.diag(factor).copy()
        self._weights = np.eye(len(factor)) - self._spread[:, None] * np.linalg.inv(factor)
        steps = [default_step(domain, float(s)) for domain, s in zip(self.domains.values(), self._spread, strict=True)]
        self.steps = np.array(steps)
        self.inputs = tuple(
            Grid(float(domain.low), step, math.floor(domain.width / step + 1e-9) + 1, domain.integer)
            for domain, step in zip(self.domains.values(), steps, strict=True)
        )

    def _ratio_for(self, privacy: float | None, confidence: float) -> float:
        """The smallest ratio that gives every attribute the wanted share of its range."""
        unit = 2 * float(ndtri((1 + check_confidence(confidence)) / 2))
        ranges = np.array([domain.width for domain in self.domains.values()])
        wanted = check_positive("privacy", privacy or 0.0) * ranges
        return float(((wanted / unit) ** 2 / np.diag(self.covariance)).max())

    # --- drawing reports ----------------------------------------------------------------------------------------

    def randomize(
        self,
        values: Any,
        rng: np.random.Generator | int | None = None,
        *,
        key: bytes | None = None,
        question: str = "",
    ) -> Any:
        """Reports for a mapping of columns, or for an array with one row a person; a missing value hides the row."""
        if isinstance(values, Mapping):
            missing = [name for name in self.domains if name not in values]
            if missing:
                raise ValueError(f"column {missing[0]!r} is missing; give one column for each of {list(self.domains)}")
            table = np.column_stack([as_numbers(values[name]) for name in self.domains])
            return dict(zip(self.domains, self.randomize(table, rng, key=key, question=question).T, strict=True))
        codes, known = self.encode(values)
        reports = codes + self._noise(codes, self._source(rng, key, question))
        numbers = np.column_stack([grid.number(column) for grid, column in zip(self.inputs, reports.T, strict=True)])
        return np.where(known[:, None], numbers, np.nan)

    def encode(self, values: Any) -> tuple[Codes, Any]:
        """True codes, and which rows are complete."""
        table = np.asarray(values, dtype=float)
        if table.ndim != 2 or table.shape[1] != len(self.domains):
            raise ValueError(f"values has shape {table.shape}; give one row a person and {len(self.domains)} columns")
        cleaned = np.column_stack([d.clean(c) for d, c in zip(self.domains.values(), table.T, strict=True)])
        codes = np.column_stack([grid.encode(column) for grid, column in zip(self.inputs, cleaned.T, strict=True)])
        return np.maximum(codes, 0), ~np.isnan(cleaned).any(axis=1)

    def _noise(self, codes: Codes, source: WordSource) -> Codes:
        identity = _row_codes(codes) if isinstance(source, KeyedWords) else np.zeros(len(codes), dtype=np.int64)
        normal = _standard_normal(source.words(identity, len(self.domains)))
        steps, sizes = np.zeros(codes.shape, dtype=np.int64), np.zeros(codes.shape)
        for j in range(codes.shape[1]):
            mean = sizes[:, :j] @ self._weights[j, :j]
            steps[:, j] = np.rint((mean + self._spread[j] * normal[:, j]) / self.steps[j])
            sizes[:, j] = steps[:, j] * self.steps[j]
        return steps

    def _source(self, rng: np.random.Generator | int | None, key: bytes | None, question: str) -> WordSource:
        if key is None:
            return source_for(rng)
        if rng is not None or not question:
            raise ValueError("key needs question= and no rng; use key for a device, rng for a simulation")
        return KeyedWords(key, f"{question}\0{self.kind}\0{self.to_spec()}")

    # --- the law ------------------------------------------------------------------------------------------------

    def probability(self, reports: ArrayLike, values: ArrayLike) -> Floats:
        """P[report | value] of whole rows."""
        lower, upper = self.conditional_bounds(reports, values)
        above = lower + upper > 0  # the smaller tail keeps its digits
        chance = np.where(above, ndtr(-lower) - ndtr(-upper), ndtr(upper) - ndtr(lower))
        return np.asarray(chance.prod(axis=1))

    def conditional_bounds(self, reports: ArrayLike, values: ArrayLike) -> tuple[Floats, Floats]:
        """(a, b): given the attributes before it, attribute j's noise has the probability Φ(b_j) − Φ(a_j)."""
        noise = np.rint((np.atleast_2d(reports) - self._numbers(np.atleast_2d(values))) / self.steps) * self.steps
        center = noise - noise @ self._weights.T
        return (center - self.steps / 2) / self._spread, (center + self.steps / 2) / self._spread

    @property
    def agreement(self) -> float:
        """About the chance that two reports of one row are equal: Π_j h_j/(2√π·s_j), at most 1."""
        return float(np.minimum(self.steps / (2 * math.sqrt(math.pi) * self._spread), 1.0).prod())

    def values_on_grid(self, row: ArrayLike) -> Floats:
        """The row of grid values that stands for a row of true values."""
        return np.asarray(self._numbers(np.atleast_2d(row))[0])

    def _numbers(self, values: Any) -> Floats:
        codes, _ = self.encode(values)
        return np.column_stack([grid.number(column) for grid, column in zip(self.inputs, codes.T, strict=True)])

    @property
    def noise_covariance(self) -> Floats:
        """The covariance of the noise as drawn: rounding to steps adds h²/12 to each conditional variance."""
        mixing = np.linalg.inv(np.eye(len(self.steps)) - self._weights)
        return np.asarray(mixing * (self._spread**2 + self.steps**2 / 12) @ mixing.T)

    def marginal(self, name: str) -> Gaussian:
        """The channel that one attribute's report passes when the others are not looked at."""
        if name not in self.domains:
            raise ValueError(f"attribute {name!r} is unknown; there are {', '.join(self.domains)}")
        place = list(self.domains).index(name)
        scale = math.sqrt(self.ratio * self.covariance[place, place])
        return Gaussian(self.domains[name], scale=scale, step=float(self.steps[place]))

    def moments(self, reports: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and covariance of the true values: Cov(x) = Cov(w) − Cov(e), without bias."""
        rows = np.asarray(reports, dtype=float)
        rows = rows[~np.isnan(rows).any(axis=1)]
        return rows.mean(axis=0), np.asarray(np.cov(rows, rowvar=False) - self.noise_covariance)

    # --- statements ---------------------------------------------------------------------------------------------

    def guarantee(self, prior: Any = None) -> CombinedGuarantee:
        """What all the reports reveal together; ``prior`` maps names to beliefs."""
        believed = prior or {}
        parts = {name: self.marginal(name).guarantee(believed.get(name)) for name in self.domains}
        note = (
            f"The noise follows the answers' own covariance ({self.ratio:.4g} times as strong), so all reports "
            "together place no answer more closely than its own report does, as far as the stated covariance is right."
        )
        return CombinedGuarantee(parts, (note,))

    def to_spec(self) -> dict[str, Any]:
        return {"channel": self.kind, "covariance": self.covariance.tolist(), **self._given}

    def __repr__(self) -> str:
        return f"CorrelatedNoise({', '.join(self.domains)}; ratio={self.ratio:.4g})"


def _check_covariance(covariance: ArrayLike, size: int) -> Floats:
    found = np.asarray(covariance, dtype=float)
    if size < 2 or found.shape != (size, size):
        raise ValueError(f"covariance has shape {found.shape} for {size} attributes; give one row and column for each")
    if not np.allclose(found, found.T) or np.linalg.eigvalsh(found).min() <= 1e-12 * np.trace(found):
        raise ValueError("covariance is not symmetric with positive eigenvalues; drop attributes that others determine")
    return np.asarray((found + found.T) / 2)


def _standard_normal(words: Words) -> Floats:
    """Φ⁻¹ of 64-bit words: the lowest bit is the sign, so that both tails are as fine."""
    tail = ((words >> np.uint64(1)).astype(float) + 0.5) / 2.0**64
    return np.asarray(ndtri(tail) * np.where(words & np.uint64(1), -1.0, 1.0))


def _row_codes(codes: Codes) -> Codes:
    digests = [hashlib.blake2b(row.astype("<i8").tobytes(), digest_size=8).digest() for row in codes]
    return np.array([int.from_bytes(digest, "little", signed=True) for digest in digests], dtype=np.int64)
