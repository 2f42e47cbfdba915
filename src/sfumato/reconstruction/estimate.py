"""What a reconstruction returns: probabilities with their errors, and what stands behind them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Floats

BAR = 30


@dataclass(frozen=True)
class Diagnostics:
    """How an estimate came about, and in ``messages`` what a reader must know before trusting it."""

    method: str
    reports: float
    missing: float
    iterations: int
    table_applications: int
    log_likelihood: float
    degrees_of_freedom: float
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Estimate:
    """The distribution of the true values.

    ``probabilities[i]`` belongs to the interval ``edges[i]..edges[i+1]`` or to ``categories[i]``; ``covariance`` takes
    sampling, noise and smoothing into account.
    """

    edges: Floats | None
    categories: tuple[Hashable, ...] | None
    probabilities: Floats
    covariance: Floats
    diagnostics: Diagnostics
    integer: bool = False

    @cached_property
    def stderr(self) -> Floats:
        """Standard error of each probability."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def interval(self, confidence: float = 0.9) -> tuple[Floats, Floats]:
        """(low, high): bounds that hold each true probability with this confidence, within 0..1."""
        from scipy.special import ndtri

        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence} is not between 0 and 1; for example 0.9")
        reach = float(ndtri((1 + confidence) / 2)) * self.stderr
        return np.clip(self.probabilities - reach, 0, 1), np.clip(self.probabilities + reach, 0, 1)

    def mean(self) -> float:
        """The mean of the true values, each interval's people in its middle."""
        low, high = self._numbers()
        return float(self._shares @ (low + high) / 2)

    def quantile(self, q: Any) -> Any:
        """The value below which a share ``q`` of the people lies; people are spread evenly inside an interval."""
        wanted = np.asarray(q, dtype=float)
        if ((wanted < 0) | (wanted > 1)).any():
            raise ValueError(f"q={q} is not between 0 and 1; the median is quantile(0.5)")
        edges = self._edges("quantile")
        below = np.concatenate([[0.0], np.cumsum(self._shares)])
        found = np.interp(wanted * below[-1], below, edges)
        return float(found) if wanted.ndim == 0 else found

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """``n`` values drawn from the estimate."""
        generator = np.random.default_rng(rng)
        place = generator.choice(self.probabilities.size, size=n, p=self._shares)
        if self.categories is not None:
            labels = np.empty(len(self.categories), dtype=object)
            labels[:] = self.categories
            return np.array(labels[place].tolist())
        low, high = self._numbers()
        if self.integer:
            return generator.integers(low[place].astype(np.int64), high[place].astype(np.int64) + 1)
        return generator.uniform(low[place], high[place])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for machines."""
        where: dict[str, Any] = {"edges": self.edges.tolist()} if self.edges is not None else {}
        if self.categories is not None:
            where = {"categories": list(self.categories)}
        numbers = {"probabilities": self.probabilities.tolist(), "stderr": self.stderr.tolist()}
        diagnostics = {**asdict(self.diagnostics), "messages": list(self.diagnostics.messages)}
        return {**where, **numbers, "covariance": self.covariance.tolist(), "diagnostics": diagnostics}

    def rows(self) -> list[dict[str, Any]]:
        """One row an interval or category: label in words, low, high, category, probability, stderr."""
        low = [None] * self.probabilities.size if self.edges is None else self.edges[:-1].tolist()
        high = [None] * self.probabilities.size if self.edges is None else self.edges[1:].tolist()
        category = [None] * self.probabilities.size if self.categories is None else list(map(str, self.categories))
        columns = (self.labels(), low, high, category, self.probabilities.tolist(), self.stderr.tolist())
        names = ("label", "low", "high", "category", "probability", "stderr")
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def plot(self, ax: Any = None) -> Any:
        """Bars with 90 % error bars on a matplotlib axis (a new one unless given)."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        if self.edges is not None:
            place, width = (self.edges[:-1] + self.edges[1:]) / 2, np.diff(self.edges)
        else:
            place, width = np.arange(self.probabilities.size, dtype=float), np.full(self.probabilities.size, 0.8)
            ax.set_xticks(place, self.labels())
        low, high = self.interval()
        error = np.maximum([self.probabilities - low, high - self.probabilities], 0)
        ax.bar(place, self.probabilities, width, alpha=0.6)
        ax.errorbar(place, self.probabilities, error, fmt="none", ecolor="black", elinewidth=1)
        ax.set_ylabel("probability")
        return ax

    def labels(self) -> list[str]:
        """What each probability belongs to, in words."""
        if self.categories is not None:
            return [str(label) for label in self.categories]
        low, high = self._numbers()
        if self.integer:
            return [f"{a:g}" if a == b else f"{a:g} – {b:g}" for a, b in zip(low, high, strict=True)]
        return [f"{a:,.6g} – {b:,.6g}" for a, b in zip(low, high, strict=True)]

    def __str__(self) -> str:
        labels = self.labels()
        width = max(map(len, labels))
        top = max(float(self.probabilities.max()), 1e-300)
        facts = self.diagnostics
        head = f"{facts.reports:,.0f} reports, {facts.missing:,.0f} missing, method {facts.method}"
        rows = [
            f"{label:>{width}}  {100 * p:6.2f} % ± {100 * error:5.2f}  {'█' * round(BAR * max(p, 0.0) / top)}".rstrip()
            for label, p, error in zip(labels, self.probabilities, self.stderr, strict=True)
        ]
        return "\n".join([head, *rows, *(f"Note: {message}" for message in facts.messages)])

    @property
    def _shares(self) -> Floats:
        """The probabilities as weights: never negative, of sum 1."""
        weights = np.maximum(self.probabilities, 0.0)
        return np.asarray(weights / weights.sum())

    def _edges(self, asked: str) -> Floats:
        if self.edges is None:
            raise ValueError(f"{asked} needs numbers; these are categories, read .categories and .probabilities")
        return self.edges

    def _numbers(self) -> tuple[Floats, Floats]:
        """The lowest and the highest value of each interval."""
        edges = self._edges("this")
        if not self.integer:
            return edges[:-1], edges[1:]
        low, high = np.ceil(edges[:-1]), np.ceil(edges[1:]) - 1
        high[-1] = np.floor(edges[-1])
        return low, high
