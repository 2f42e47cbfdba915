"""Maximum likelihood by EM: AS00's Equation 3, through exact tables, for one problem or many at once.

    p'_t = (1/n) Σ_s N_s · P[s,t]·p_t / Σ_u P[s,u]·p_u,

N_s the reports counted in cell s. The log-likelihood Σ_s N_s·log (P p)_s never falls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.reconstruction.acceleration import TINY, Acceleration, Anderson
from sfumato.reconstruction.operators import Table
from sfumato.reconstruction.stopping import ENOUGH, Done, Stop, Trace

Chosen = Done | Codes  # some problems of a batch, by mask or by place


@dataclass(frozen=True)
class EMFit:
    """Estimates (one a row), their log-likelihoods, and what they cost."""

    probabilities: Floats
    log_likelihood: Floats
    iterations: int
    applications: int
    converged: bool
    trace: Trace


class Likelihood:
    """Counts seen through a table: the log-likelihood of an estimate and EM's image of it, one a row."""

    def __init__(self, table: Table, counts: Floats) -> None:
        self.table, self.counts = table, counts
        self.reports = counts.sum(axis=-1)
        self.applications = 0

    def of(self, p: Floats) -> tuple[Floats, Floats]:
        """(Σ_s N_s·log (P p)_s, N_s/(P p)_s)."""
        predicted = np.maximum(self.table.apply(p), TINY)
        self.applications += p.shape[0]
        return (self.counts * np.log(predicted)).sum(axis=-1), self.counts / predicted

    def image(self, p: Floats, surprise: Floats) -> Floats:
        """EM's next estimate, p_t/n · Σ_s P[s,t]·N_s/(P p)_s."""
        self.applications += p.shape[0]
        return np.asarray(p * self.table.adjoint(surprise) / self.reports[:, None])

    def only(self, chosen: Chosen) -> Likelihood:
        """The same for some of the problems."""
        return Likelihood(self.table, self.counts[chosen])


def maximise_likelihood(
    table: Table,
    counts: Floats,
    *,
    start: Floats | None = None,
    stop: Stop = ENOUGH,
    acceleration: Acceleration | None = None,
) -> EMFit:
    """EM from ``start`` (uniform unless given) until ``stop``; ``counts`` has one problem a row.

    >>> from sfumato.reconstruction.operators import DenseTable
    >>> fit = maximise_likelihood(DenseTable(np.eye(2)), np.array([[30.0, 10.0]]))
    >>> fit.probabilities.tolist()
    [[0.75, 0.25]]
    """
    problems = Likelihood(table, counts)
    accelerate = Anderson() if acceleration is None else acceleration
    p = (
        np.full((counts.shape[0], table.shape[1]), 1 / table.shape[1])
        if start is None
        else np.array(start, dtype=float)
    )
    accelerate.start(*p.shape)
    run = _Run(problems, accelerate, p)
    while run.going.size and run.trace.steps < stop.limit:
        run.step()
        run.retire(stop)
    return run.result()


class _Run:
    """One EM run over a batch; problems that are done leave it."""

    def __init__(self, problems: Likelihood, accelerate: Acceleration, p: Floats) -> None:
        self.problems, self.accelerate = problems, accelerate
        self.p, self.best = p, p.copy()
        self.likelihood, surprise = problems.of(p)
        self.image = problems.image(p, surprise)
        self.best_likelihood = self.likelihood.copy()
        self.going = np.arange(p.shape[0])
        self.applications = 0
        self.trace = Trace(problems.reports)
        self.trace.record(self.best_likelihood, self.best, self.best)
        self.exhausted = np.zeros(p.shape[0], dtype=bool)

    def step(self) -> None:
        """Take the proposal where the likelihood does not fall, EM's own step elsewhere."""
        proposal = self.accelerate.propose(self.p, self.image)
        if proposal is None:
            return self._take_image(np.ones(self.going.size, dtype=bool))
        likelihood, surprise = self.problems.of(proposal)
        rise = likelihood >= self.likelihood
        self._accept(np.flatnonzero(rise), proposal[rise], likelihood[rise], surprise[rise])
        if not rise.all():
            self.accelerate.forget(~rise)
            self._take_image(~rise)

    def _take_image(self, chosen: Done) -> None:
        target = self.image[chosen]
        some = self.problems.only(chosen)
        likelihood, surprise = some.of(target)
        self.problems.applications += some.applications
        rise = likelihood >= self.likelihood[chosen]
        places = np.flatnonzero(chosen)
        self._accept(places[rise], target[rise], likelihood[rise], surprise[rise])
        self.exhausted[places[~rise]] = True  # nothing left above rounding error

    def _accept(self, places: Codes, p: Floats, likelihood: Floats, surprise: Floats) -> None:
        if places.size == self.going.size:
            self.p, self.likelihood, self.image = p, likelihood, self.problems.image(p, surprise)
        elif places.size:
            some = self.problems.only(places)
            self.p[places], self.likelihood[places], self.image[places] = p, likelihood, some.image(p, surprise)
            self.problems.applications += some.applications

    def retire(self, stop: Stop) -> None:
        """Note the step, and let the problems that are done leave."""
        before = self.best
        self.best = before.copy()
        self.best[self.going], self.best_likelihood[self.going] = self.p, self.likelihood
        self.trace.record(self.best_likelihood, before, self.best)
        done = stop.reached(self.trace)[self.going] | self.exhausted
        if done.any():
            stay = np.flatnonzero(~done)
            self.applications += self.problems.applications
            self.going, self.problems = self.going[stay], self.problems.only(stay)
            self.p, self.likelihood, self.image = self.p[stay], self.likelihood[stay], self.image[stay]
            self.exhausted = self.exhausted[stay]
            self.accelerate.keep(stay)

    def result(self) -> EMFit:
        applications = self.applications + self.problems.applications
        return EMFit(self.best, self.best_likelihood, self.trace.steps, applications, not self.going.size, self.trace)
