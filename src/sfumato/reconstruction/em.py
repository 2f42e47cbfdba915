"""Counts seen through a table, and maximum likelihood by EM: AS00's Equation 3, for one problem or many at once.

    apply(p)   = P p      the distribution of reports that a true distribution p predicts
    adjoint(r) = Pᵀ r     what weights on reports say about each true cell
    p'_t = (1/n) Σ_s N_s · P[s,t]·p_t / Σ_u P[s,u]·p_u = p_t·f_t,

N_s the reports counted in cell s. The log-likelihood L = Σ_s N_s·log (P p)_s never falls. It is concave, so that no
distribution q is better than p by more than its slope promises, L(q) − L(p) ≤ n·(max_t f_t − 1).

A table stands as it is, is the tables of several levels on top of each other, or is the product of those of several
attributes, applied axis by axis; `sfumato.reconstruction.tables` has those that are too large to build. This is the one
EM of the house: the table's dtype is that of the arithmetic, rules for stopping and for stepping further than EM does
are objects beside the loop (`sfumato.reconstruction.rules`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.channels.program.interpreter import kernels_in
from sfumato.domain import Codes, Floats
from sfumato.reconstruction.rules import (
    ENOUGH,
    TINY,
    Anderson,
    Array,
    ChiSquare,
    Chosen,
    Guided,
    OverRelaxed,
    StepRule,
    Steps,
    Stop,
)

LARGEST = 1e20  # of a factor in float32: to the power of 1.9 it still is a number
FEW_ENTRIES = 100_000  # up to here a dense table stays in the cache, and the compiled loop beats the matrix product


# --- tables P[reported, true] ---------------------------------------------------------------------------------------


class Table(ABC):
    """P[reported, true] as a linear map."""

    shape: tuple[int, int]
    dtype: npt.DTypeLike = np.float64

    @abstractmethod
    def apply(self, p: Floats) -> Floats:
        """P p for every row p of the argument."""

    @abstractmethod
    def adjoint(self, r: Floats) -> Floats:
        """Pᵀ r for every row r of the argument."""

    @abstractmethod
    def dense(self) -> Floats:
        """The table itself."""


class DenseTable(Table):
    """The table as it stands."""

    def __init__(self, matrix: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> None:
        self._matrix: npt.NDArray[Any] = np.ascontiguousarray(matrix, dtype=dtype)
        self.dtype = self._matrix.dtype
        self.shape = (self._matrix.shape[0], self._matrix.shape[1])

    @cached_property
    def _transposed(self) -> Floats:
        return np.ascontiguousarray(self._matrix.T)

    def apply(self, p: Floats) -> Floats:
        return np.asarray(self._matrix @ p if p.ndim == 1 else p @ self._transposed)

    def adjoint(self, r: Floats) -> Floats:
        return np.asarray(self._transposed @ r if r.ndim == 1 else r @ self._matrix)

    def dense(self) -> Floats:
        return self._matrix


class StackedTable(Table):
    """People at several levels: each level's table, weighted by its share of the people, one below the other."""

    def __init__(self, parts: list[Table], shares: Floats) -> None:
        self._parts, self._shares = parts, [float(share) for share in shares]
        self._cuts = np.cumsum([part.shape[0] for part in parts])
        self.shape = (int(self._cuts[-1]), parts[0].shape[1])

    def apply(self, p: Floats) -> Floats:
        pairs = zip(self._parts, self._shares, strict=True)
        return np.concatenate([share * part.apply(p) for part, share in pairs], axis=-1)

    def adjoint(self, r: Floats) -> Floats:
        pieces = zip(self._parts, self._shares, np.split(r, self._cuts[:-1], axis=-1), strict=True)
        return np.asarray(sum(share * part.adjoint(piece) for part, share, piece in pieces))

    def dense(self) -> Floats:
        return np.vstack([share * part.dense() for part, share in zip(self._parts, self._shares, strict=True)])


def stack(tables: list[Table], shares: Floats) -> Table:
    """One table for people at several levels."""
    if len(tables) == 1:
        return tables[0]
    stacked = StackedTable(tables, shares)
    return DenseTable(stacked.dense()) if all(isinstance(table, DenseTable) for table in tables) else stacked


class ProductTable(Table):
    """P[(s₁, …, s_d), (t₁, …, t_d)] = Π_j P_j[s_j, t_j], over all combinations of report cells.

    With a class y besides, whose own table ``label`` is L[reported, true] (None: clear, of ``classes`` classes), p is
    P(y, t₁, …, t_d) and reports are R(s₁, …, s_d, y'): the class goes in first and comes out last.
    """

    def __init__(
        self, factors: Sequence[npt.ArrayLike], label: npt.ArrayLike | None = None, classes: int = 1,
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        self.factors: list[npt.NDArray[Any]] = [np.ascontiguousarray(factor, dtype=dtype) for factor in factors]
        self.label = None if label is None else np.ascontiguousarray(label, dtype=dtype)
        self.dtype = np.dtype(dtype)
        reported, true = (classes, classes) if self.label is None else self.label.shape
        self.report_shape = (*(factor.shape[0] for factor in self.factors), reported)
        self.true_shape = (true, *(factor.shape[1] for factor in self.factors))
        self.shape = (prod(self.report_shape), prod(self.true_shape))

    def apply(self, p: npt.NDArray[Any]) -> npt.NDArray[Any]:
        array: npt.NDArray[Any] = p.reshape(-1)
        array = array if self.factors or self.label is not None else array.copy()  # never p itself
        for factor in reversed(self.factors):  # contracts the last axis and puts its report axis in front
            array = factor @ array.reshape(-1, factor.shape[1]).T
        if self.label is not None:
            array = array.reshape(-1, self.true_shape[0]) @ self.label.T
        if p.ndim > 1 and len(p) > 1:  # problems came along last but for the class; they go first
            array = array.reshape(-1, len(p), self.report_shape[-1]).transpose(1, 0, 2)
        return np.ascontiguousarray(array).reshape(*p.shape[:-1], -1)

    def adjoint(self, r: npt.NDArray[Any]) -> npt.NDArray[Any]:
        array = r
        if r.ndim > 1 and len(r) > 1:
            array = np.ascontiguousarray(r.reshape(len(r), -1, self.report_shape[-1]).transpose(1, 0, 2)).reshape(-1)
        if self.label is not None:
            array = array.reshape(-1, self.label.shape[0]) @ self.label
        for factor in self.factors:
            array = array.reshape(factor.shape[0], -1).T @ factor
        return array.reshape(*r.shape[:-1], -1)

    def dense(self) -> Floats:
        whole: npt.NDArray[Any] = np.ones((1, 1), self.dtype)
        for factor in self.factors:
            whole = np.asarray(np.kron(whole, factor))
        label = np.eye(self.true_shape[0]) if self.label is None else self.label
        return np.asarray(np.einsum("st,zy->szyt", whole, label).reshape(self.shape), dtype=float)


# --- EM -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EMFit:
    """Estimates (one a row), and what they cost; ``likelihoods`` step by step where EM looked at them."""

    probabilities: Floats
    iterations: int
    applications: int
    converged: bool
    problems: Likelihood
    likelihoods: Sequence[Floats] = ()

    @cached_property
    def log_likelihood(self) -> Floats:
        """Σ_s N_s·log (P p)_s of each estimate."""
        return self.likelihoods[-1] if self.likelihoods else self.problems.of(self.probabilities)[0]


def maximise_likelihood(
    table: Table, counts: npt.ArrayLike, *, start: npt.ArrayLike | None = None,
    stop: Stop | StepRule = ENOUGH, acceleration: Anderson | OverRelaxed | None = None,
    smoothing: float = 0.0,
) -> EMFit:
    """EM from ``start`` (uniform unless given) until ``stop``; ``counts`` has one problem a row.

    EM runs plain or over-relaxed to a number of steps or to a rule about successive estimates (AS00's is one), and by
    Anderson's proposals to a rule about the likelihood. ``smoothing`` reports spread evenly over the cells keep each of
    them off zero (plain and over-relaxed steps only).

    >>> from sfumato.reconstruction import DenseTable
    >>> fit = maximise_likelihood(DenseTable(np.eye(2)), np.array([[30.0, 10.0]]))
    >>> fit.probabilities.tolist()
    [[0.75, 0.25]]
    """
    problems = Likelihood(table, np.asarray(counts, dtype=table.dtype).reshape(-1, table.shape[0]))
    shape = (problems.reports.size, table.shape[1])
    p: Array = np.full(shape, 1 / shape[1]) if start is None else np.array(start).reshape(shape)
    p = p.astype(table.dtype, copy=False)
    if isinstance(stop, StepRule):
        if isinstance(acceleration, Anderson):
            raise ValueError("Anderson's proposals follow the likelihood; stop by LikelihoodGain(…)")
        return _stepped(problems, p, stop, acceleration or OverRelaxed(1.0), smoothing)
    if smoothing or isinstance(acceleration, OverRelaxed):
        raise ValueError("smoothing and over-relaxation do not follow the likelihood; stop by Steps(…) or ChiSquare(…)")
    run = Guided(problems, acceleration or Anderson(), p)
    while run.going.size and run.steps < stop.limit:
        run.step()
        run.retire(stop)
    return EMFit(run.best, run.steps, problems.applications, not run.going.size, problems, run.likelihoods)


class Likelihood:
    """Counts seen through a table: the log-likelihood of an estimate and EM's image of it, one a row."""

    def __init__(self, table: Table, counts: Array, whole: Likelihood | None = None) -> None:
        self.table, self.counts = table, counts
        self.reports: Floats = counts.sum(axis=-1, dtype=np.float64)
        self.tiny = np.asarray(TINY if counts.dtype == np.float64 else 1e-30, counts.dtype)
        self.applications = 0
        self._whole = whole or self

    def only(self, chosen: Chosen) -> Likelihood:
        """The same for some of the problems; what it costs is counted with the whole."""
        return Likelihood(self.table, self.counts[chosen], self._whole)

    def apply(self, p: Array) -> Array:
        self._whole.applications += p.shape[0]
        return self.table.apply(p)

    def adjoint(self, r: Array) -> Array:
        self._whole.applications += r.shape[0]
        return self.table.adjoint(r)

    def of(self, p: Array) -> tuple[Floats, Array]:
        """(Σ_s N_s·log (P p)_s, N_s/(P p)_s)."""
        predicted = np.maximum(self.apply(p), self.tiny)
        return (self.counts * np.log(predicted)).sum(axis=-1, dtype=np.float64), self.counts / predicted

    def factor(self, surprise: Array) -> Array:
        """f_t = (1/n) Σ_s P[s,t]·N_s/(P p)_s, by which EM multiplies p_t."""
        factor = self.adjoint(surprise)
        factor *= (1 / np.maximum(self.reports, TINY)).astype(factor.dtype)[:, None]
        return factor

    def step(self, p: Array, power: float = 1.0, smoothing: float = 0.0) -> Array:
        """EM's next estimate p·f^power, with ``smoothing`` reports spread evenly, made a distribution."""
        surprise = self.apply(p)
        np.maximum(surprise, self.tiny, out=surprise)
        with np.errstate(over="ignore"):
            surprise = self._bounded(np.divide(self.counts, surprise, out=surprise))
        if power == 1.0:  # n·f does as well as f, because what comes out is made a distribution
            image = self._bounded(self.adjoint(surprise)) * p
            if smoothing:
                image += image.dtype.type(smoothing / p.shape[1])
        else:
            image = self._bounded(self.factor(surprise))
            np.power(image, image.dtype.type(power), out=image)
            image *= p
            if smoothing:
                image += (smoothing / self.reports / p.shape[1]).astype(p.dtype)[:, None]
        image /= image.sum(axis=-1, keepdims=True)
        return image

    def _bounded(self, factor: Array) -> Array:
        """The factor, in float32 kept from overflowing: an emptied cell stays empty instead of becoming no number."""
        return factor if factor.dtype == np.float64 else np.minimum(factor, np.float32(LARGEST), out=factor)


def _stepped(problems: Likelihood, p: Array, stop: StepRule, relaxed: OverRelaxed, smoothing: float) -> EMFit:
    """EM without a look at the likelihood; problems without a report stay where they are."""
    going = np.flatnonzero(problems.reports > 0)
    steps = 0
    if isinstance(stop, ChiSquare) and relaxed.power == 1.0 and not smoothing:
        steps, going = _compiled_steps(problems, p, stop, going)
    some, now = problems.only(going), p[going]
    while going.size and steps < stop.limit:
        before, now = now, some.step(now, relaxed.power if steps >= relaxed.after else 1.0, smoothing)
        steps += 1
        if (done := stop.reached(some, before, now)).any():
            p[going] = now
            going, some, now = going[~done], some.only(~done), now[~done]
    p[going] = now
    converged = isinstance(stop, Steps) or not going.size
    return EMFit(p, steps, problems.applications, converged, problems)


def _compiled_steps(problems: Likelihood, p: Array, stop: ChiSquare, going: Codes) -> tuple[int, Codes]:
    """Where the compiled loop is quicker and installed, all problems one by one, in place.

    (Most steps that one took, problems that were not done in time.)
    """
    table = problems.table
    small = isinstance(table, DenseTable) and table.shape[0] * table.shape[1] <= FEW_ENTRIES
    kernels = kernels_in("sfumato.reconstruction.kernels") if small else None
    if not kernels:
        return 0, going
    law, enough = table.dense(), stop.threshold(p.shape[1])
    taken = [kernels.equation_3(law, problems.counts[i], p[i], enough, stop.limit) for i in going]
    problems.applications += 2 * sum(taken)
    return max(taken, default=0), going[np.array(taken, dtype=int) >= stop.limit]
