"""Correlated noise: several numbers of one person blurred at once, by noise that is correlated as the answers are.

Independent noise on correlated answers is weak: projecting the reports on the directions in which people differ removes
most of it. Noise with the covariance κΣ, Σ that of the people, hides in the same directions, so that all reports
together place no answer more closely than its own report does.

The noise is drawn on the grid, column by column, in whole numbers of steps: with Cholesky's factor C of κΣ and the
steps k_1..k_{j−1} already drawn,

    k_j = ⌊c_j + u_j⌋ + e_j,   c_j = Σ_{i<j} W_ji · k_i,   W = (I − diag(s)C⁻¹) in steps of 2^−32,   s = diag(C),
    P[k] = Π_j (1 − f_j)·q_j[k_j − ⌊c_j⌋] + f_j·q_j[k_j − ⌊c_j⌋ − 1],   f_j = c_j − ⌊c_j⌋,

q_j the law of gaussian noise of deviation s_j on the grid and u_j uniform on 0..1: rounding at random leaves no bias.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels.additive.gaussian import Gaussian
from sfumato.channels.base import Channel
from sfumato.channels.identity import read_space
from sfumato.channels.mechanism import Mechanism, Rng
from sfumato.channels.portable import cholesky, normal_quantile
from sfumato.channels.program.random_words import Key, KeyedWords, WordSource, row_codes
from sfumato.channels.resolution import check_confidence, check_positive, default_step
from sfumato.domain import Codes, Domain, Floats, Grid, Interval, Row, as_numbers
from sfumato.guarantee import CombinedGuarantee
from sfumato.prose import voice

UNIT = 1 << 32
"""The weights W are whole multiples of 1/UNIT, as docs/programs.md states: u has 32 bits, and W·k fits in 64."""


class CorrelatedNoise(Mechanism):
    """A mechanism that adds correlated gaussian noise to several numbers of one person, on a grid.

    Domain: named Intervals, one a column.
    Law: w = x + e for a row x of numbers, e gaussian with covariance ratio·covariance; exactly, the product of
    conditional laws at the top of ``correlated_noise.py``.
    γ: ∞, the tails have no bound.
    Interval width of column j at confidence c: 2·z((1+c)/2)·√(ratio·covariance[j, j]), from all reports together.

    ``domains``: the Interval of each column by its name.
    ``covariance``: of the true values of people, columns in the order of ``domains``. One of two says how much noise:
    ``ratio``: the noise's covariance as a multiple of ``covariance``.
    ``privacy``: the interval width at ``confidence`` that every column has at least, as a share of its domain's width.

    >>> import numpy as np, sfumato as sf
    >>> spread = np.array([[100.0, 90.0], [90.0, 100.0]])
    >>> pair = sf.CorrelatedNoise({"age": sf.Interval(20, 80), "years": sf.Interval(0, 60)}, spread, ratio=1)
    >>> round(pair.guarantee().interval(0.95)["age"], 1)
    39.2
    """

    kind = "correlated-gaussian"
    unbounded = "its tails have no bound; blur each number by itself with laplace or square-wave"
    gamma = math.inf

    def __init__(
        self, domains: Mapping[str, Interval] | Row, covariance: ArrayLike, *, ratio: float | None = None,
        privacy: float | None = None, confidence: float = 0.95,
    ) -> None:
        self.domain: Row = domains if isinstance(domains, Row) else Row(domains)
        self.domains = self.domain.columns
        self.covariance = _check_covariance(covariance, len(self.domains))
        if (ratio is None) == (privacy is None):
            raise ValueError("give either ratio= or privacy= for correlated noise, one of the two")
        self._given = {"ratio": ratio} if privacy is None else {"privacy": privacy, "confidence": confidence}
        self.ratio = check_positive("ratio", float(self._ratio_for(privacy, confidence) if ratio is None else ratio))
        factor = cholesky(self.ratio * self.covariance)
        spread = np.diag(factor)
        steps = [default_step(domain, float(s)) for domain, s in zip(self.domains.values(), spread, strict=True)]
        self.steps = np.array(steps)
        self._noises = [
            Gaussian(domain, scale=float(s), step=step)
            for domain, s, step in zip(self.domains.values(), spread, steps, strict=True)
        ]
        self.inputs: tuple[Grid, ...] = tuple(noise.inputs for noise in self._noises)
        weights = (np.eye(len(factor)) - spread[:, None] * np.linalg.inv(factor)) * self.steps / self.steps[:, None]
        self._weights = np.rint(np.tril(weights, -1) * UNIT).astype(np.int64)

    def _ratio_for(self, privacy: float | None, confidence: float) -> float:
        """Return the smallest ratio at which the interval width of every column is ``privacy`` times its domain's."""
        unit = 2 * normal_quantile((1 + check_confidence(confidence)) / 2)
        ranges = np.array([domain.width for domain in self.domains.values()])
        wanted = check_positive("privacy", privacy or 0.0) * ranges
        return float(((wanted / unit) ** 2 / np.diag(self.covariance)).max())

    @property
    def levels(self) -> Mapping[str | None, Channel]:
        """An empty mapping: several numbers at once have no table of a single value; see ``marginal(name)``."""
        return {}

    # --- drawing reports ----------------------------------------------------------------------------------------

    def randomize(
        self, values: Any, rng: Rng = None, *, level: Any = None, key: Key = None, question: str = ""
    ) -> Any:
        """Draw a report for every person: a row of noisy numbers; a missing value makes the person's whole row missing.

        ``values``: a mapping from column name to values, which gives a mapping; or an array with one row a person.
        ``level``: has no meaning here. ``rng``, ``key`` and ``question`` are those of ``Channel.randomize``.
        """
        if isinstance(values, Mapping):
            missing = [name for name in self.domains if name not in values]
            if missing:
                raise ValueError(f"column {missing[0]!r} is missing; give one column for each of {list(self.domains)}")
            table = np.column_stack([np.atleast_1d(as_numbers(values[name])) for name in self.domains])
            reports = self.randomize(table, rng, key=key, question=question).T
            single = all(np.ndim(values[name]) == 0 for name in self.domains)
            return {name: part[0].item() if single else part for name, part in zip(self.domains, reports, strict=True)}
        codes, complete = self.encode(values)
        reports = codes + self._draw(codes, self._source(rng, key, question))
        numbers = np.column_stack([grid.number(column) for grid, column in zip(self.inputs, reports.T, strict=True)])
        return np.where(complete[:, None], numbers, np.nan)

    def encode(self, values: Any) -> tuple[Codes, Any]:
        """Return the codes of true ``values`` on the columns' grids, and which rows have no missing value.

        Two arrays: codes [person, column], and one truth value a person.
        """
        table = as_numbers(values)
        if table.ndim != 2 or table.shape[1] != len(self.domains):
            raise ValueError(f"values has shape {table.shape}; give one row a person and {len(self.domains)} columns")
        cleaned = np.column_stack([d.clean(c) for d, c in zip(self.domains.values(), table.T, strict=True)])
        codes = np.column_stack([grid.encode(column) for grid, column in zip(self.inputs, cleaned.T, strict=True)])
        return np.maximum(codes, 0), ~np.isnan(cleaned).any(axis=1)

    def _draw(self, codes: Codes, source: WordSource) -> Codes:
        """Draw the noise for every row of true codes: an array [person, column] of steps of the columns' grids.

        ``source``: of the random words that the noise is drawn with.
        """
        identity = row_codes(codes) if isinstance(source, KeyedWords) else np.zeros(len(codes), dtype=np.int64)
        return self.noise_of(source.rows(identity, 2 * len(self.domains)))

    def noise_of(self, words: Any) -> Codes:
        """Return the noise that random words lead to: an array [person, column] of steps of the columns' grids.

        ``words``: one row of 64-bit words for each person, two words for each column.
        """
        steps = np.zeros((len(words), len(self._noises)), dtype=np.int64)
        for j, noise in enumerate(self._noises):
            drawn = noise.steps()[0].noise.draw(words[:, 2 * j]).astype(np.int64) - noise.reach
            steps[:, j] = drawn + ((self._centre(steps, j) + (words[:, 2 * j + 1] >> 32).astype(np.int64)) >> 32)
        return steps

    @cached_property
    def reach(self) -> tuple[int, ...]:
        """How many grid steps the noise of each column has at most: r_j + 1 + ⌊Σ_{i<j} |W_ji| · reach_i⌋ for column j.

        r_j is how far the column's own noise e_j reaches, the sum what noise of earlier columns adds.
        """
        reaches: list[int] = []
        for row, noise in zip(np.abs(self._weights).tolist(), self._noises, strict=True):
            reaches.append(noise.reach + 1 + sum(w * k for w, k in zip(row, reaches, strict=False)) // UNIT)
        return tuple(reaches)

    def _centre(self, steps: Codes, column: int) -> Codes:
        """Return around which number of steps the noise of one column j is drawn, given that of the columns before it.

        2^32·c_j = 2^32·Σ_{i<j} W_ji·k_i, a whole number for every row of ``steps``, the noise drawn so far.
        """
        return np.asarray(steps[:, :column] @ self._weights[column, :column])

    def program(self) -> dict[str, Any]:
        """Return the drawing program as plain data; see "Several numbers at once" in docs/programs.md."""
        columns = [
            {
                **read_space(noise.inputs),
                "noise": noise.steps()[0].noise.to_list(),
                "offset": noise.reach,
                "weights": self._weights[j, :j].tolist(),
            }
            for j, noise in enumerate(self._noises)
        ]
        return {"program": 1, "words": 2 * len(columns), "columns": columns}

    # --- the law ------------------------------------------------------------------------------------------------

    def conditional_chances(self, reports: ArrayLike, values: ArrayLike) -> tuple[Floats, Floats]:
        """Return how likely the noise between values and reports was: two arrays [person, column].

        P[noise below that of the report] and P[noise equal to it], each conditional on the noise of the columns before.
        ``reports`` and ``values`` hold one row of numbers a person.
        """
        steps = self._codes(reports) - self._codes(values)
        below, equal = np.zeros(steps.shape), np.zeros(steps.shape)
        for j, noise in enumerate(self._noises):
            centre = self._centre(steps, j)
            up = (centre & (UNIT - 1)) / UNIT
            cumulative = np.concatenate([[0.0], np.minimum(np.cumsum(noise.noise), 1.0)])
            for rounded, share in ((0, 1 - up), (1, up)):
                index = steps[:, j] - (centre >> 32) - rounded + noise.reach
                ends = cumulative[np.clip(np.stack([index, index + 1]), 0, noise.noise.size)]
                below[:, j] += share * ends[0]
                equal[:, j] += share * (ends[1] - ends[0])
        return below, equal

    @cached_property
    def agreement(self) -> float:
        """An upper bound of the chance that two reports of one row of answers are equal: Π_j Σ_k q_j[k]²."""
        return math.prod(float(noise.noise @ noise.noise) for noise in self._noises)

    def probability(self, reports: ArrayLike, values: ArrayLike) -> Floats:
        """Return P[row of reports | row of values], one chance for every person.

        ``reports`` and ``values`` hold one row of numbers a person.
        """
        return np.asarray(self.conditional_chances(reports, values)[1].prod(axis=1))

    def _codes(self, rows: ArrayLike) -> Codes:
        """Return the codes of rows of numbers on the columns' grids, an array of the same shape, not clipped.

        Numbers beyond the domain have codes below 0 or above the last.
        """
        table = np.atleast_2d(np.asarray(rows, dtype=float))
        scaled = [(column - grid.origin) / grid.step for grid, column in zip(self.inputs, table.T, strict=True)]
        return np.asarray(np.rint(np.column_stack(scaled)), dtype=np.int64)

    @cached_property
    def noise_covariance(self) -> Floats:
        """The covariance of the noise as drawn, in units of the domains.

        Rounding at random adds h²·E[f(1 − f)] to the conditional variance of a column with steps of h.
        """
        mixing = np.linalg.inv(np.eye(len(self.steps)) - self._weights / UNIT * self.steps[:, None] / self.steps)
        own = np.array([noise.noise_variance for noise in self._noises])
        rounded = [self.steps[j] ** 2 * self._rounding(j) for j in range(len(self.steps))]
        return np.asarray(mixing * (own + rounded) @ mixing.T)

    def _rounding(self, column: int) -> float:
        """Return the variance, in squared steps, that rounding at random adds to one column: E[f(1 − f)].

        0 for the first column, exact for the second, 1/6 (as for f even on 0..1) for others. ``column``: its number.
        """
        if column != 1:
            return 1 / 6 if column else 0.0
        first = self._noises[0]
        up = ((np.arange(-first.reach, first.reach + 1) * self._weights[1, 0]) & (UNIT - 1)) / UNIT
        return float(first.noise @ (up * (1 - up)))

    def marginal(self, name: str) -> Gaussian:
        """Return the channel of the column ``name`` by itself: gaussian noise of the column's own variance."""
        if name not in self.domains:
            raise ValueError(f"column {name!r} is unknown; there are {', '.join(self.domains)}")
        column = list(self.domains).index(name)
        scale = math.sqrt(self.ratio * self.covariance[column, column])
        return Gaussian(self.domains[name], scale=scale, step=float(self.steps[column]))

    def moments(self, reports: ArrayLike) -> tuple[Floats, Floats]:
        """Return an estimate of the mean and the covariance of the true values, without bias: Cov(x) = Cov(w) − Cov(e).

        Two arrays, [column] and [column, column], of which the noise's covariance is taken off. ``reports``: w, one row
        of numbers a person; rows with a missing value are left out.
        """
        rows = np.asarray(reports, dtype=float)
        rows = rows[~np.isnan(rows).any(axis=1)]
        return rows.mean(axis=0), np.asarray(np.cov(rows, rowvar=False) - self.noise_covariance)

    # --- statements ---------------------------------------------------------------------------------------------

    def guarantee(self, prior: Any = None, *, language: str = "en") -> CombinedGuarantee:
        """Return the statement of what all columns of a report can reveal together.

        ``prior``: what is believed of each column beforehand, by its name, in the forms that ``Channel.guarantee``
        takes. ``language``: of its sentences, "en", "de" or "fr".
        """
        believed, say = prior or {}, voice(language)
        parts = {name: self.marginal(name).guarantee(believed.get(name), language=language) for name in self.domains}
        return CombinedGuarantee(parts, (say("note.covariance", ratio=say.number(self.ratio)),), language=language)

    def parameters(self) -> dict[str, Any]:
        return {"covariance": self.covariance.tolist(), **self._given}

    @classmethod
    def parameter_names(cls) -> list[str]:
        return ["covariance", "ratio", "privacy", "confidence"]

    @classmethod
    def from_parameters(cls, domain: Domain, arguments: dict[str, Any]) -> CorrelatedNoise:
        if not isinstance(domain, Row):
            raise ValueError("correlated noise needs columns; give low and high for each name under columns")
        if "covariance" not in arguments:
            raise ValueError("covariance is missing; give the covariance of the columns as a list of rows")
        return cls(domain, **arguments)

    def __repr__(self) -> str:
        return f"CorrelatedNoise({', '.join(self.domains)}; ratio={self.ratio:.4g})"


def _check_covariance(covariance: ArrayLike, size: int) -> Floats:
    """Return a covariance as an array; raise an error unless it is symmetric and positive definite, of this size.

    ``size``: the number of columns.
    """
    given = np.asarray(covariance, dtype=float)
    if size < 2 or given.shape != (size, size):
        raise ValueError(f"covariance has shape {given.shape} for {size} columns; give one row and column for each")
    deviations = np.sqrt(np.maximum(np.diag(given), 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations = given / deviations / deviations[:, None]  # columns may be in units of their own
    if not np.allclose(correlations, correlations.T) or np.linalg.eigvalsh(correlations).min() <= 1e-12 * size:
        raise ValueError("covariance is not symmetric with positive eigenvalues; drop columns that others determine")
    return np.asarray((given + given.T) / 2)
