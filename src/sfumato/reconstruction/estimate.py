"""What a reconstruction returns: probabilities with their errors, and what stands behind them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from sfumato.domain import Floats, array_of_labels
from sfumato.prose import plain
from sfumato.tables import frame_like

BAR = 30
DRAWS = 10_000
NEAR = 50  # a quantile of whole numbers is not further off than this
TINY = 1e-14


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
    fit: float = 1.0
    """How often sound reports would fit their channel as badly as these, at most."""
    worth: float | None = None
    """Of weighted reports: how many of one weight tell as much, (Σw)²/Σw²."""
    cannot_tell: bool = False
    """Whether the noise hides more of what was asked for than the reports show; ``messages`` says it in words."""

    @property
    def said(self) -> str:
        """Reports, missing ones and method in words."""
        worth = "" if self.worth is None else f" (by their weights worth {self.worth:,.0f})"
        return f"{self.reports:,.0f} reports{worth}, {self.missing:,.0f} missing, method {self.method}"


class WithError(float):
    """A number with its standard error; it computes and compares as the number.

    >>> print(WithError(45.2387, 0.0812))
    45.239 ± 0.081
    """

    stderr: float

    def __new__(cls, value: float, stderr: float) -> WithError:
        number = super().__new__(cls, value)
        number.stderr = float(stderr)
        return number

    @property
    def z(self) -> float:
        """The number in standard errors."""
        return float(self) / self.stderr if self.stderr else float(np.inf)

    @property
    def p(self) -> float:
        """How often a true zero would be found as far off, by chance."""
        return math.erfc(abs(self.z) / math.sqrt(2))

    def __reduce__(self) -> tuple[Any, ...]:
        return WithError, (float(self), self.stderr)

    def __str__(self) -> str:
        if not 0 < self.stderr < np.inf:
            return f"{float(self):.6g} ± {self.stderr:.2g}"
        digits = max(1 - int(np.floor(np.log10(self.stderr))), 0)
        return f"{float(self):,.{digits}f} ± {self.stderr:,.{digits}f}"

    def __repr__(self) -> str:
        return f"{float(self)!r} ± {self.stderr:.2g}"


@dataclass(frozen=True, eq=False)
class Fine:
    """The picture behind the intervals: cells that people are spread evenly in, and people at exactly one value.

    ``root`` (cells, ·) times its transpose is the covariance of the cells' shares, people at single values included.
    Of people who round, a share h to a multiple of m, F(b) becomes (1 − h)·F(b) + h·F(⌈b/m⌉·m − m/2): where nobody can
    see it, shares have room for as much.
    """

    edges: Floats
    shares: Floats
    atoms: tuple[tuple[float, float], ...]  # (value, share)
    root: Any
    unseen_rounding: tuple[tuple[float, float], ...] = ()  # (m, √E h²)

    def below(self, value: float) -> Floats:
        """The part of each cell's people whose value is smaller; cells that hold nobody count by width."""
        inside = np.clip((value - self.edges[:-1]) / np.diff(self.edges), 0.0, 1.0)
        return self._averaged(inside, [float(place < value) for place, _ in self.atoms])

    def middles(self) -> Floats:
        """The mean value of each cell's people."""
        return self._averaged((self.edges[:-1] + self.edges[1:]) / 2, [place for place, _ in self.atoms])

    def _averaged(self, spread: Floats, single: list[float]) -> Floats:
        people, total = self.shares + TINY, (self.shares + TINY) * spread
        for (place, share), each in zip(self.atoms, single, strict=True):
            cell = self._cell(place)
            people[cell] += share
            total[cell] += share * each
        return np.asarray(total / people)

    def _cell(self, value: float) -> int:
        return int(np.clip(np.searchsorted(self.edges, value, side="right") - 1, 0, self.shares.size - 1))

    @property
    def people(self) -> Floats:
        """The share of each cell, people at single values included."""
        shares = self.shares.copy()
        for place, share in self.atoms:
            shares[self._cell(place)] += share
        return shares

    def quantile(self, q: Floats) -> Floats:
        """The smallest value that a share q of the people does not exceed: the inverse of the running sum of shares."""
        places = np.array([place for place, _ in self.atoms])
        at = np.sort(np.concatenate([self.edges, places, places]))
        spread = np.interp(at, self.edges, np.concatenate([[0.0], np.cumsum(self.shares)]))
        last = np.append(at[1:] > at[:-1], True)
        single = sum(
            (share * ((at > place) | ((at == place) & last)) for place, share in self.atoms), np.zeros(at.size)
        )
        running = spread + single
        return np.asarray(np.interp(q * running[-1], running, at))

    def whole(self, values: Floats) -> Floats:
        """The whole numbers in whose cells values lie, those on an edge in the lower one."""
        return np.asarray(np.clip(np.ceil(values - 0.5), self.edges[0] + 0.5, self.edges[-1] - 0.5) + 0.0)

    def quantile_error(self, q: float, value: float) -> float:
        """How far the quantile goes if the share below it is one standard error larger or smaller, the further one; at
        least that error over the density there. People who round unseen carry it towards their multiple."""
        error = self.error_between(None, value)
        sides = self.quantile(np.clip([q - error, q + error], 0.0, 1.0))
        cell = self._cell(value)
        density = self.people[cell] / (self.edges[cell + 1] - self.edges[cell])
        far = max(float(np.abs(sides - value).max()), error / density if density > 0 else np.inf)
        carried = [share * (np.rint(value / multiple) * multiple - value) for multiple, share in self.unseen_rounding]
        return float(np.linalg.norm([far, *carried]))

    def whole_quantile_error(self, q: float, value: float) -> float:
        """√E (Q − value)² of a quantile Q of whole numbers, Q ≤ x where the share up to x is q or more."""
        numbers = np.arange(max(self.edges[0] + 0.5, value - NEAR), min(self.edges[-1], value + NEAR + 1))
        up_to = np.array([self.people @ self.below(x + 0.5) for x in numbers])
        errors = np.array([self.error_between(None, x + 0.5) for x in numbers])
        at_most = np.maximum.accumulate(ndtr((up_to - q) / np.maximum(errors, TINY)))
        chances = np.diff(np.concatenate([[0.0], at_most[:-1], [1.0]]))
        return float(np.sqrt(chances @ (numbers - value) ** 2))

    def error(self, weights: Floats) -> float:
        """Standard error of Σ w_i·p_i over the cells."""
        return float(np.linalg.norm(weights @ self.root))

    def error_between(self, low: float | None, high: float | None) -> float:
        """Standard error of the share from ``low`` to below ``high`` (None: the ends), with room for rounding."""
        below = np.zeros(self.shares.size) if low is None else self.below(low)
        above = np.ones(self.shares.size) if high is None else self.below(high)
        bounds = [(1.0, high), (-1.0, low)]
        room = [
            share * sum(sign * self._moved(bound, multiple) for sign, bound in bounds if bound is not None)
            for multiple, share in self.unseen_rounding
        ]
        return float(np.linalg.norm([self.error(above - below), *room]))

    def _moved(self, bound: float, multiple: float) -> float:
        """By how much the share below a bound rises if everybody rounds."""
        last = np.ceil(bound / multiple - 1e-9) * multiple - multiple / 2
        return float(self.people @ (self.below(last) - self.below(bound)))


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """The distribution of the true values in the population that the respondents were drawn from.

    ``probabilities[i]`` belongs to the interval ``edges[i]..edges[i+1]`` or to ``categories[i]``; ``covariance`` takes
    sampling, noise and smoothing into account, and detail that the noise would hide. Of many categories it is not
    written out: ``w @ covariance @ w`` gives the variance of a sum, ``np.asarray(covariance)`` the table.
    """

    edges: Floats | None
    categories: tuple[Hashable, ...] | None
    probabilities: Floats
    covariance: Any
    diagnostics: Diagnostics
    integer: bool = False
    unbiased: Floats | None = None
    """Of categories: shares that may be negative, whose sums are right on average and have this covariance."""
    fine: Fine | None = None
    """What means, quantiles and shares between numbers are read from; without it, from the intervals."""

    @cached_property
    def stderr(self) -> Floats:
        """Standard error of each probability."""
        return np.asarray(np.sqrt(np.maximum(self.covariance.diagonal(), 0.0)))

    def interval(self, confidence: float = 0.9, simultaneous: bool = False) -> tuple[Floats, Floats]:
        """(low, high): bounds that hold each true probability with this confidence, within 0..1.

        Of categories they reach from the smaller to the larger of the estimate and its unbiased share, and on by
        c·stderr: the estimate of one that hardly stands out is drawn towards 0.
        ``simultaneous``: bounds that hold all of them at once, estimate ± c·stderr with c the quantile of max |z|.
        """
        if not isinstance(confidence, (int, float, np.floating)) or not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence} is not between 0 and 1; for example 0.9")
        errors = float(ndtri((1 + confidence) / 2))
        errors = max(errors, self._largest_errors(confidence)) if simultaneous else errors
        reach, shares = errors * self.stderr, self.probabilities if self.unbiased is None else self.unbiased
        low, high = np.minimum(self.probabilities, shares) - reach, np.maximum(self.probabilities, shares) + reach
        return np.clip(low, 0, 1), np.clip(high, 0, 1)

    def _largest_errors(self, confidence: float) -> float:
        """The quantile of max |z_i|, z ~ N(0, correlation): drawn 10,000 times, always the same."""
        covariance, spread = np.asarray(self.covariance), self.stderr
        known = spread > 0
        if not known.any():
            return 0.0
        values, vectors = np.linalg.eigh(covariance[np.ix_(known, known)] / np.outer(spread[known], spread[known]))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        drawn = np.random.default_rng(0).standard_normal((DRAWS, values.size)) @ root.T
        return float(np.quantile(np.abs(drawn).max(axis=1), confidence))

    def share(
        self, categories: Iterable[Hashable] | None = None, *, low: float | None = None, high: float | None = None
    ) -> WithError:
        """The share of these categories, or of the people from ``low`` to below ``high``, with its error √(wᵀCw).

        Of categories it is the sum of the unbiased shares, put between 0 and 1 unless the method is "inverse": the sum
        of many rare ``probabilities`` is too large, because none of them is negative.

        >>> import sfumato as sf
        >>> colours = sf.RandomizedResponse(sf.Categories(["red", "green", "blue"]), gamma=4)
        >>> print(sf.reconstruct(["red"] * 500 + ["green"] * 300 + ["blue"] * 200, colours).share(["red", "green"]))
        0.933 ± 0.025
        """
        if self.categories is None:
            if categories is not None:
                raise ValueError("share of categories asked, but these are numbers; use share(low=…, high=…)")
            return self._share_between(low, high)
        if categories is None or low is not None or high is not None:
            raise ValueError("these are categories; use share([...]) with some of .categories")
        if isinstance(categories, str) or not isinstance(categories, Iterable):
            raise TypeError(f"share takes several categories; write share([{categories!r}])")
        listed, known = list(categories), set(self.categories)
        nested = next((each for each in listed if not isinstance(each, Hashable)), None)
        if nested is not None:
            raise TypeError(f"category {nested!r} is a list or a table; they are in .categories")
        chosen = set(listed)
        if not chosen <= known:
            raise ValueError(f"category {next(iter(chosen - known))!r} is unknown; they are in .categories")
        weights = np.array([label in chosen for label in self.categories], dtype=float)
        shares = self.probabilities if self.unbiased is None else self.unbiased
        share = float(weights @ shares)
        return WithError(share if self.diagnostics.method == "inverse" else min(max(share, 0), 1), self._error(weights))

    def _share_between(self, low: Any, high: Any) -> WithError:
        for name, bound in (("low", low), ("high", high)):
            if bound is not None and (isinstance(bound, str) or math.isnan(bound)):
                raise ValueError(f"{name}={bound!r} is no number; leave it out where there is no bound")
        if low is not None and high is not None and not low < high:
            raise ValueError(f"low={low} is not below high={high}; give the smaller one first")
        fine = self._fine("share")
        first, last = fine.edges[0], fine.edges[-1]
        start = self._bound(low) if low is not None and low > first else None
        end = self._bound(high) if high is not None and high <= last else None
        below = 0.0 if start is None else fine.below(start)
        above = 1.0 if end is None else fine.below(end)
        share = float((fine.people * (above - below)).sum())
        return WithError(share, fine.error_between(start, end))

    def _bound(self, value: float) -> float:
        """Whole numbers from 3 on begin at 2.5."""
        return float(np.ceil(value) - 0.5) if self.integer else float(value)

    def information_loss(self, truth: ArrayLike | None = None) -> float:
        """½·Σ|p̂ − p|, the share of people who are in the wrong place (Agrawal & Aggarwal 2001), from 0 to 1.

        ``truth``: the true share of each interval or category. Without it, what the errors lead to expect, each of
        them normal: ½·Σ √(2/π)·stderr.

        >>> import sfumato as sf
        >>> colours = sf.RandomizedResponse(sf.Categories(["red", "green"]), gamma=3)
        >>> estimate = sf.reconstruct(["red"] * 600 + ["green"] * 400, colours)
        >>> round(estimate.information_loss([0.65, 0.35]), 3), round(estimate.information_loss(), 3)
        (0.05, 0.025)
        """
        if truth is None:
            return float(self.stderr.sum() / np.sqrt(2 * np.pi))
        shares = np.asarray(truth, dtype=float)
        if shares.shape != self.probabilities.shape or not (shares >= 0).all() or abs(shares.sum() - 1) > 1e-6:
            raise ValueError(f"truth is not {self.probabilities.size} shares of sum 1; divide counts by their sum")
        return float(np.abs(self.probabilities - shares).sum() / 2)

    def mean(self) -> WithError:
        """The mean of the true values, with its standard error √(mᵀCm)."""
        fine = self._fine("mean")
        middles, people = fine.middles(), fine.people
        return WithError(float(people @ middles / people.sum()), fine.error(middles))

    def quantile(self, q: Any) -> Any:
        """The value below which a share ``q`` of the people lies; people are spread evenly inside a cell, and of whole
        numbers it is the whole number. One quantile comes with its standard error.
        """
        wanted = np.asarray(q, dtype=float)
        if not ((wanted >= 0) & (wanted <= 1)).all():
            raise ValueError(f"q={q} is not between 0 and 1; the median is quantile(0.5)")
        fine = self._fine("quantile")
        between = fine.quantile(wanted)
        found = fine.whole(between) if self.integer else between
        if wanted.ndim:
            return found
        error = fine.quantile_error(float(wanted), float(between))
        if self.integer:
            error = max(error, fine.whole_quantile_error(float(wanted), float(found)))
        return WithError(float(found), error)

    def _fine(self, asked: str) -> Fine:
        """The fine picture; where there is none, the intervals with people spread evenly in each."""
        if self.fine is not None:
            return self.fine
        edges = self._edges(asked)
        if self.integer:
            low, high = self._numbers()
            edges = np.append(low - 0.5, high[-1] + 0.5)
        values, vectors = np.linalg.eigh(np.asarray(self.covariance, dtype=float))
        return Fine(edges, self._shares, (), vectors * np.sqrt(np.maximum(values, 0.0)))

    def _error(self, weights: Floats) -> float:
        """Standard error of Σ w_i·p_i."""
        return float(np.sqrt(max(float(weights @ self.covariance @ weights), 0.0)))

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """``n`` values drawn from the estimate."""
        generator = np.random.default_rng(rng)
        place = generator.choice(self.probabilities.size, size=n, p=self._shares)
        if self.categories is not None:
            return array_of_labels(self.categories)[place]
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
        covariance = {"covariance": self.covariance.tolist()} if isinstance(self.covariance, np.ndarray) else {}
        return {**where, **numbers, **covariance, "diagnostics": diagnostics}

    def rows(self) -> list[dict[str, Any]]:
        """One row an interval or category: label in words, low and high or category, probability, stderr."""
        nowhere = dict.fromkeys(("low", "high", "category"), [None] * self.probabilities.size)
        columns = {"label": self.labels(), **nowhere, **plain(self._columns())}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _columns(self) -> dict[str, Any]:
        numbers = {"probability": self.probabilities, "stderr": self.stderr}
        if self.edges is None:
            return {"category": list(self.categories or ()), **numbers}
        return {"low": self.edges[:-1], "high": self.edges[1:], **numbers}

    def to_pandas(self) -> Any:
        """A pandas DataFrame: low and high, or category, then probability and stderr."""
        return frame_like("pandas", self._columns())

    def to_polars(self) -> Any:
        """The same as a Polars DataFrame."""
        return frame_like("polars", self._columns())

    def plot(self, ax: Any = None) -> Any:
        """Bars with 90 % error bars on a matplotlib axis (a new one unless given)."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        if self.edges is not None:
            place, width = (self.edges[:-1] + self.edges[1:]) / 2, np.diff(self.edges)
        else:
            place, width = np.arange(self.probabilities.size, dtype=float), np.full(self.probabilities.size, 0.8)
            ax.set_xticks(place, self.labels(), parse_math=False)
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

    def __repr__(self) -> str:
        shape = f"{self.probabilities.size} {'categories' if self.edges is None else 'intervals'}"
        facts = self.diagnostics
        noted = f", {len(facts.messages)} note{'s' * (len(facts.messages) > 1)}" if facts.messages else ""
        return f"<Estimate of {shape} from {facts.reports:,.0f} reports, method {facts.method}{noted}>"

    def _repr_html_(self) -> str:
        """A small table with bars, for notebooks."""
        top = max(float(self.probabilities.max()), 1e-300)
        rows = "".join(
            f"<tr><th>{escape(label)}</th><td>{100 * p:.2f} % ± {100 * error:.2f}</td><td style='min-width:12em'>"
            f"<div style='background:#4c78a8;height:.8em;width:{100 * max(p, 0.0) / top:.1f}%'></div></td></tr>"
            for label, p, error in zip(self.labels(), self.probabilities, self.stderr, strict=True)
        )
        notes = "".join(f"<p>{escape(message)}</p>" for message in self.diagnostics.messages)
        return f"<table><caption>{escape(repr(self)[1:-1])}</caption>{rows}</table>{notes}"

    def __str__(self) -> str:
        labels = self.labels()
        width = max(map(len, labels))
        top = max(float(self.probabilities.max()), 1e-300)
        rows = [
            f"{label:>{width}}  {100 * p:6.2f} % ± {100 * error:5.2f}  {'█' * round(BAR * max(p, 0.0) / top)}".rstrip()
            for label, p, error in zip(labels, self.probabilities, self.stderr, strict=True)
        ]
        return "\n".join([self.diagnostics.said, *rows, *(f"Note: {m}" for m in self.diagnostics.messages)])

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
