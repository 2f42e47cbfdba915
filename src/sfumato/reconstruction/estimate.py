"""`Estimate`: the probabilities of intervals or categories with their errors, means, quantiles, shares and warnings."""

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
"""Characters of the longest bar of a printed estimate: with label and number a line stays below 80. By judgement."""
DRAWS = 10_000
"""Normal vectors that are drawn for simultaneous bounds: a 90 % quantile is then of rank 9,000 ± 30, that is 90 ± .3 %.
More take time; fewer make the bounds depend on the draw."""
NEAR = 50
"""Whole numbers to either side of a quantile among which its error is computed. By judgement: an error of as many whole
numbers is cut off at this; more would make it cost more."""
TINY = 1e-14
"""A share of people below the rounding of sums of probabilities, put in place of 0 where a share is divided by."""


@dataclass(frozen=True)
class Diagnostics:
    """How an estimate was computed, and warnings that a reader should see before using it.

    method: as given to `reconstruct`. reports, missing: how many reports were read, and how many were missing.
    iterations, table_applications: steps of EM, and products with the table or its transpose; 0 for other methods.
    log_likelihood: Σ N_s log π_s of the reports N under the estimate's prediction π. degrees_of_freedom: how many
    numbers the reports decided. messages: the warnings, one sentence each.
    """

    method: str
    reports: float
    missing: float
    iterations: int
    table_applications: int
    log_likelihood: float
    degrees_of_freedom: float
    messages: tuple[str, ...] = ()
    fit: float = 1.0
    """The p-value of the channel: how often sound reports would fit it as badly as these, at most."""
    worth: float | None = None
    """How many reports of equal weight would have the same error, (Σw)²/Σw²; None where reports have no weights."""
    cannot_tell: bool = False
    """Whether the noise hides more of the wanted intervals than the reports show; ``messages`` says it in words."""

    @property
    def summary(self) -> str:
        """The numbers of reports and of missing ones and the method, as one line of text."""
        worth = "" if self.worth is None else f" (by their weights worth {self.worth:,.0f})"
        return f"{self.reports:,.0f} reports{worth}, {self.missing:,.0f} missing, method {self.method}"


class WithError(float):
    """A number with its standard error; in arithmetic and comparisons it is the number.

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
        """The number divided by its standard error; infinite where the error is 0."""
        return float(self) / self.stderr if self.stderr else float(np.inf)

    @property
    def p(self) -> float:
        """The two-sided p-value: how often chance takes an estimate of 0 at least as far from 0."""
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
    """The distribution on the fine cells behind the intervals: people spread evenly in cells, and at single values.

    edges: of the fine cells. shares: of people spread evenly in each cell. atoms: (value, share of people exactly
    there). root: a matrix R, one row a cell, with R Rᵀ the covariance of the cells' shares, atoms included.
    unseen_rounding: (m, √E h²) for a share h of people who may round to a multiple of m and whom the noise hides. With
    them the share below b would be (1 − h)·F(b) + h·F(⌈b/m⌉·m − m/2), so errors of shares have room for the difference.
    """

    edges: Floats
    shares: Floats
    atoms: tuple[tuple[float, float], ...]
    root: Any
    unseen_rounding: tuple[tuple[float, float], ...] = ()

    def below(self, value: float) -> Floats:
        """Return, for each cell, the part of its people whose value is smaller; of a cell without people, the part of
        its width."""
        inside = np.clip((value - self.edges[:-1]) / np.diff(self.edges), 0.0, 1.0)
        return self._averaged(inside, [float(atom < value) for atom, _ in self.atoms])

    def middles(self) -> Floats:
        """Return the mean value of the people in each cell."""
        return self._averaged((self.edges[:-1] + self.edges[1:]) / 2, [atom for atom, _ in self.atoms])

    def _averaged(self, of_cells: Floats, of_atoms: list[float]) -> Floats:
        """Return the mean over each cell's people of a number that is given for the cells and for the atoms."""
        people, total = self.shares + TINY, (self.shares + TINY) * of_cells
        for (value, share), number in zip(self.atoms, of_atoms, strict=True):
            cell = self._cell(value)
            people[cell] += share
            total[cell] += share * number
        return np.asarray(total / people)

    def _cell(self, value: float) -> int:
        """Return the index of the cell that holds a value."""
        return int(np.clip(np.searchsorted(self.edges, value, side="right") - 1, 0, self.shares.size - 1))

    @property
    def people(self) -> Floats:
        """The share of people in each cell, atoms included."""
        shares = self.shares.copy()
        for value, share in self.atoms:
            shares[self._cell(value)] += share
        return shares

    def quantile(self, q: Floats) -> Floats:
        """Return the smallest value that a share q of the people does not exceed: the inverse of the running sum of
        shares."""
        atoms = np.array([value for value, _ in self.atoms])
        at = np.sort(np.concatenate([self.edges, atoms, atoms]))
        spread = np.interp(at, self.edges, np.concatenate([[0.0], np.cumsum(self.shares)]))
        last = np.append(at[1:] > at[:-1], True)
        single = sum(
            (share * ((at > value) | ((at == value) & last)) for value, share in self.atoms), np.zeros(at.size)
        )
        running = spread + single
        return np.asarray(np.interp(q * running[-1], running, at))

    def whole(self, values: Floats) -> Floats:
        """Return the whole number in whose cell each value lies; a value on an edge lies in the lower cell."""
        return np.asarray(np.clip(np.ceil(values - 0.5), self.edges[0] + 0.5, self.edges[-1] - 0.5) + 0.0)

    def quantile_error(self, q: float, value: float) -> float:
        """Return the standard error of the quantile ``value`` of a share q.

        It is how far the quantile moves if the share below it is one standard error larger or smaller (the further of
        both, and at least that error divided by the density), with room for people who round unseen to their multiple.
        """
        error = self.error_between(None, value)
        sides = self.quantile(np.clip([q - error, q + error], 0.0, 1.0))
        cell = self._cell(value)
        density = self.people[cell] / (self.edges[cell + 1] - self.edges[cell])
        far = max(float(np.abs(sides - value).max()), error / density if density > 0 else np.inf)
        rounded = [share * (np.rint(value / multiple) * multiple - value) for multiple, share in self.unseen_rounding]
        return float(np.linalg.norm([far, *rounded]))

    def whole_quantile_error(self, q: float, value: float) -> float:
        """Return √E (Q − value)² of the quantile Q of whole numbers, with P(Q ≤ x) = P(share up to x ≥ q)."""
        numbers = np.arange(max(self.edges[0] + 0.5, value - NEAR), min(self.edges[-1], value + NEAR + 1))
        up_to = np.array([self.people @ self.below(x + 0.5) for x in numbers])
        errors = np.array([self.error_between(None, x + 0.5) for x in numbers])
        at_most = np.maximum.accumulate(ndtr((up_to - q) / np.maximum(errors, TINY)))
        chances = np.diff(np.concatenate([[0.0], at_most[:-1], [1.0]]))
        return float(np.sqrt(chances @ (numbers - value) ** 2))

    def error(self, weights: Floats) -> float:
        """Return the standard error of Σ w_i·p_i, p the shares of the cells."""
        return float(np.linalg.norm(weights @ self.root))

    def error_between(self, low: float | None, high: float | None) -> float:
        """Return the standard error of the share from ``low`` to below ``high``, with room for unseen rounding.

        None is the end of the domain.
        """
        below = np.zeros(self.shares.size) if low is None else self.below(low)
        above = np.ones(self.shares.size) if high is None else self.below(high)
        bounds = [(1.0, high), (-1.0, low)]
        room = [
            share * sum(sign * self._moved(bound, multiple) for sign, bound in bounds if bound is not None)
            for multiple, share in self.unseen_rounding
        ]
        return float(np.linalg.norm([self.error(above - below), *room]))

    def _moved(self, bound: float, multiple: float) -> float:
        """Return by how much the share below a bound rises if everybody rounds to a multiple."""
        last = np.ceil(bound / multiple - 1e-9) * multiple - multiple / 2
        return float(self.people @ (self.below(last) - self.below(bound)))


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """The distribution of the true values in the population that the respondents were drawn from.

    Made by `reconstruct`; ``probabilities[i]`` is of the interval ``edges[i]..edges[i+1]`` or of ``categories[i]``.

    ``edges``: of the intervals; None for categories. ``categories``: the labels; None for numbers. ``probabilities``:
    the estimated shares, of sum 1. ``covariance``: of these shares, by sampling, noise and smoothing and with room for
    detail that the noise would hide; for many categories not a table but an object with which
    ``w @ covariance @ w`` is the variance of a sum and ``np.asarray(covariance)`` the table. ``diagnostics``: how the
    estimate was computed, and warnings. ``integer``: whether values are whole numbers. ``unbiased``: of categories,
    shares that may be negative but whose sums are right on average, with the same covariance; None where there are
    none. ``fine``: the distribution on fine cells from which means, quantiles and shares between numbers are read;
    None: they are read from the intervals, with people spread evenly in each.

    >>> import sfumato as sf
    >>> age = sf.Gaussian(sf.Interval(20, 80), privacy=0.5)
    >>> estimate = sf.reconstruct(age.randomize([30.0] * 500 + [70.0] * 500, rng=1), age, intervals=3)
    >>> estimate.edges.tolist(), estimate.probabilities.round(1).tolist()
    ([20.0, 40.0, 60.0, 80.0], [0.5, 0.0, 0.5])
    """

    edges: Floats | None
    categories: tuple[Hashable, ...] | None
    probabilities: Floats
    covariance: Any
    diagnostics: Diagnostics
    integer: bool = False
    unbiased: Floats | None = None
    fine: Fine | None = None

    @cached_property
    def stderr(self) -> Floats:
        """The standard error of each probability."""
        return np.asarray(np.sqrt(np.maximum(self.covariance.diagonal(), 0.0)))

    def interval(self, confidence: float = 0.9, simultaneous: bool = False) -> tuple[Floats, Floats]:
        """Return (low, high): bounds between 0 and 1 that hold each true probability with some confidence.

        They are the estimate ± c·stderr. Of categories they reach from the smaller of the estimate and its unbiased
        share, less c·stderr, to the larger of both, plus c·stderr, because the estimate of a rare category is drawn
        towards 0.

        ``confidence``: the chance, between 0 and 1, that the bounds hold a true probability. ``simultaneous``: whether
        they hold all true probabilities at once; c is then the quantile of max |z| over all intervals, else of |z|.
        """
        if not isinstance(confidence, (int, float, np.floating)) or not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence} is not between 0 and 1; for example 0.9")
        errors = float(ndtri((1 + confidence) / 2))
        errors = max(errors, self._largest_errors(confidence)) if simultaneous else errors
        reach, shares = errors * self.stderr, self.probabilities if self.unbiased is None else self.unbiased
        low, high = np.minimum(self.probabilities, shares) - reach, np.maximum(self.probabilities, shares) + reach
        return np.clip(low, 0, 1), np.clip(high, 0, 1)

    def _largest_errors(self, confidence: float) -> float:
        """Return the quantile of max |z_i|, z ~ N(0, correlation), from DRAWS draws that are always the same."""
        covariance, stderr = np.asarray(self.covariance), self.stderr
        varies = stderr > 0
        if not varies.any():
            return 0.0
        correlation = covariance[np.ix_(varies, varies)] / np.outer(stderr[varies], stderr[varies])
        values, vectors = np.linalg.eigh(correlation)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        drawn = np.random.default_rng(0).standard_normal((DRAWS, values.size)) @ root.T
        return float(np.quantile(np.abs(drawn).max(axis=1), confidence))

    def share(
        self, categories: Iterable[Hashable] | None = None, *, low: float | None = None, high: float | None = None
    ) -> WithError:
        """Return the share of some categories, or of the people from ``low`` to below ``high``, with its error.

        The error is √(wᵀCw), C the covariance. The share of categories is the sum of the unbiased shares, put between 0
        and 1 unless the method is "inverse"; the sum of many rare ``probabilities`` would be too large, because none of
        them is negative.

        ``categories``: labels, where the estimate is of categories. ``low``, ``high``: bounds, where it is of numbers;
        None is the end of the domain.

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
        listed, labels = list(categories), set(self.categories)
        nested = next((label for label in listed if not isinstance(label, Hashable)), None)
        if nested is not None:
            raise TypeError(f"category {nested!r} is a list or a table; they are in .categories")
        chosen = set(listed)
        if not chosen <= labels:
            raise ValueError(f"category {next(iter(chosen - labels))!r} is unknown; they are in .categories")
        weights = np.array([label in chosen for label in self.categories], dtype=float)
        shares = self.probabilities if self.unbiased is None else self.unbiased
        share = float(weights @ shares)
        return WithError(share if self.diagnostics.method == "inverse" else min(max(share, 0), 1), self._error(weights))

    def _share_between(self, low: Any, high: Any) -> WithError:
        """Return the share of the people from ``low`` to below ``high``, read from the fine cells."""
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
        """Return a bound as an edge: for whole numbers the half below it, because numbers from 3 on begin at 2.5."""
        return float(np.ceil(value) - 0.5) if self.integer else float(value)

    def information_loss(self, truth: ArrayLike | None = None) -> float:
        """Return ½·Σ|p̂ − p|, the share of people counted in a wrong interval or category, from 0 to 1.

        It is the information loss of Agrawal & Aggarwal (2001).

        ``truth``: the true share p of each interval or category. None: return what the standard errors lead to expect,
        if every error is normal: ½·Σ √(2/π)·stderr.

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
        """Return the mean of the true values, with its standard error √(mᵀCm), m the mean value in each cell."""
        fine = self._fine("mean")
        middles, people = fine.middles(), fine.people
        return WithError(float(people @ middles / people.sum()), fine.error(middles))

    def quantile(self, q: Any) -> Any:
        """Return the value below which a share ``q`` of the people lies; for whole numbers, a whole number.

        ``q``: a share from 0 to 1, or an array of them. One share gives a number with its standard error, an array an
        array without errors.
        """
        wanted = np.asarray(q, dtype=float)
        if not ((wanted >= 0) & (wanted <= 1)).all():
            raise ValueError(f"q={q} is not between 0 and 1; the median is quantile(0.5)")
        fine = self._fine("quantile")
        between = fine.quantile(wanted)
        values = fine.whole(between) if self.integer else between
        if wanted.ndim:
            return values
        error = fine.quantile_error(float(wanted), float(between))
        if self.integer:
            error = max(error, fine.whole_quantile_error(float(wanted), float(values)))
        return WithError(float(values), error)

    def _fine(self, figure: str) -> Fine:
        """Return the distribution on fine cells; where there is none, the intervals as cells.

        figure: what is to be read from it, for the error message where the estimate is of categories.
        """
        if self.fine is not None:
            return self.fine
        edges = self._edges(figure)
        if self.integer:
            low, high = self._numbers()
            edges = np.append(low - 0.5, high[-1] + 0.5)
        values, vectors = np.linalg.eigh(np.asarray(self.covariance, dtype=float))
        return Fine(edges, self._shares, (), vectors * np.sqrt(np.maximum(values, 0.0)))

    def _error(self, weights: Floats) -> float:
        """Return the standard error of Σ w_i·p_i."""
        return float(np.sqrt(max(float(weights @ self.covariance @ weights), 0.0)))

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """Draw values from the estimate, evenly inside an interval.

        ``n``: how many. ``rng``: a generator or a seed; None: a new seed from the operating system.
        """
        generator = np.random.default_rng(rng)
        index = generator.choice(self.probabilities.size, size=n, p=self._shares)
        if self.categories is not None:
            return array_of_labels(self.categories)[index]
        low, high = self._numbers()
        if self.integer:
            return generator.integers(low[index].astype(np.int64), high[index].astype(np.int64) + 1)
        return generator.uniform(low[index], high[index])

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data for JSON: edges or categories, probabilities, errors, diagnostics."""
        support: dict[str, Any] = {"edges": self.edges.tolist()} if self.edges is not None else {}
        if self.categories is not None:
            support = {"categories": list(self.categories)}
        numbers = {"probabilities": self.probabilities.tolist(), "stderr": self.stderr.tolist()}
        diagnostics = {**asdict(self.diagnostics), "messages": list(self.diagnostics.messages)}
        covariance = {"covariance": self.covariance.tolist()} if isinstance(self.covariance, np.ndarray) else {}
        return {**support, **numbers, **covariance, "diagnostics": diagnostics}

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each interval or category: label, low, high, category, probability, stderr.

        Low and high are None for categories, category is None for intervals.
        """
        nowhere = dict.fromkeys(("low", "high", "category"), [None] * self.probabilities.size)
        columns = {"label": self.labels(), **nowhere, **plain(self._columns())}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _columns(self) -> dict[str, Any]:
        """Return the columns of the estimate's table by name."""
        numbers = {"probability": self.probabilities, "stderr": self.stderr}
        if self.edges is None:
            return {"category": list(self.categories or ()), **numbers}
        return {"low": self.edges[:-1], "high": self.edges[1:], **numbers}

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with columns low and high, or category, then probability and stderr."""
        return frame_like("pandas", self._columns())

    def to_polars(self) -> Any:
        """Return a Polars DataFrame with columns low and high, or category, then probability and stderr."""
        return frame_like("polars", self._columns())

    def plot(self, ax: Any = None) -> Any:
        """Draw the probabilities as bars with 90 % error bars, and return the matplotlib axis.

        ``ax``: the axis to draw on; None: a new one.
        """
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        if self.edges is not None:
            middle, width = (self.edges[:-1] + self.edges[1:]) / 2, np.diff(self.edges)
        else:
            middle, width = np.arange(self.probabilities.size, dtype=float), np.full(self.probabilities.size, 0.8)
            ax.set_xticks(middle, self.labels(), parse_math=False)
        low, high = self.interval()
        error = np.maximum([self.probabilities - low, high - self.probabilities], 0)
        ax.bar(middle, self.probabilities, width, alpha=0.6)
        ax.errorbar(middle, self.probabilities, error, fmt="none", ecolor="black", elinewidth=1)
        ax.set_ylabel("probability")
        return ax

    def labels(self) -> list[str]:
        """Return the name of each interval or category as text."""
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
        """Return a small HTML table with bars, which notebooks show."""
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
        return "\n".join([self.diagnostics.summary, *rows, *(f"Note: {m}" for m in self.diagnostics.messages)])

    @property
    def _shares(self) -> Floats:
        """The probabilities as weights: never negative, of sum 1."""
        weights = np.maximum(self.probabilities, 0.0)
        return np.asarray(weights / weights.sum())

    def _edges(self, figure: str) -> Floats:
        """Return the edges; raise ValueError where a figure that needs numbers is read from categories."""
        if self.edges is None:
            raise ValueError(f"{figure} needs numbers; these are categories, read .categories and .probabilities")
        return self.edges

    def _numbers(self) -> tuple[Floats, Floats]:
        """Return the lowest and the highest value of each interval."""
        edges = self._edges("this")
        if not self.integer:
            return edges[:-1], edges[1:]
        low, high = np.ceil(edges[:-1]), np.ceil(edges[1:]) - 1
        high[-1] = np.floor(edges[-1])
        return low, high
