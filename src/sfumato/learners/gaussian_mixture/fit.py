"""Gaussian mixtures within classes with the noise taken off: extreme deconvolution by EM.

    P(w, y') = Σ_z π_z · L[y', y_z] · N(w; μ_z, Σ_z + S) · Π_j (C_j θ_j)(w_j | z),    y_z the class of component z,

S the noise variances of a person's reports; a missing report is left out of the normal. E-step: P(z | w, y'), and where
noise or gaps differ between people E[x | w, z] = μ_z + Σ_z(Σ_z + S)⁻¹(w − μ_z) with its covariance. Where all have the
same noise no x has to be guessed: given P(z | w, y'), Σ_z + S is the reports' own covariance, and EM is that of an
ordinary mixture.

Covariances are drawn to their class's own, and these to the common one (or to their own diagonals), each with the
weight of `shrinkage`·d people: with much of it this is the linear discriminant with the noise taken off (or naive
Bayes), with none the quadratic one or, with several components, a full mixture. Noise that is not normal enters by its
variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.evidence import DenseTable, LikelihoodGain, repeat
from sfumato.learners.gaussian_mixture.records import Block, Records
from sfumato.learners.joint.mixture import inner_steps
from sfumato.learners.moments import LEAST_VARIANCE, less_noise

PEOPLE_PER_COMPONENT = 20
PSEUDO_COUNT = 0.2
FIRST_STEPS = 8
TOLERANCE = 2e-4
SPLIT = 0.6
"""Components start narrower than their class by this factor, around random people's places."""
TINY = 1e-12


@dataclass(frozen=True)
class Shape:
    """How many components a class has at most, and what keeps their covariances from following chance.

    ``least``: no direction varies less than this share of the noise, in units of the reports' deviations; ``even``:
    unless all together vary less, and what that adds to some is taken from others.
    """

    components: int = 1
    shrinkage: float = 0.0
    diagonal: bool = False
    least: float = 0.3
    even: bool = False


@dataclass(frozen=True)
class Parameters:
    """Components in the order of their classes; numbers in the units of `Columns`."""

    weights: Floats
    classes: Codes
    means: Floats
    covariances: Floats
    thetas: tuple[Floats, ...]
    """P(label | component) of each category, one row a component."""
    groups: int
    """How many classes there are."""


@dataclass
class Sums:
    """What the E-step leaves of people, by component: how many, Σ(x − μ), Σ(x − μ)(x − μ)', counts of categories."""

    people: Floats
    first: Floats
    second: Floats
    counts: list[Floats]

    @classmethod
    def none(cls, parameters: Parameters, tables: Sequence[DenseTable]) -> Sums:
        size, d = parameters.means.shape
        counts = [np.zeros((size, table.shape[0])) for table in tables]
        return cls(np.zeros(size), np.zeros((size, d)), np.zeros((size, d, d)), counts)


class GaussianMixtureFit:
    """The EM of one number of components and one shrinkage, on all people of some records."""

    def __init__(
        self, records: Records, label_table: Floats, shape: Shape, rng: np.random.Generator,
        start: Parameters | None = None,
    ) -> None:
        self.label_table, self.shape = label_table, shape
        self.blocks = records.blocks(rng)
        self.noise = mean_noise(self.blocks, len(records.columns.numbers))
        self.alike = all(block.observed.size == self.noise.size for block in self.blocks) and len(records.noise) == 1
        self.tables = [DenseTable(cut.table_with_missing(True)) for cut in records.columns.cells]
        self.people = sum(float(block.weight.sum()) for block in self.blocks)
        self.parameters = self._started(rng) if start is None else start

    # --- the start ----------------------------------------------------------------------------------------------

    def _started(self, rng: np.random.Generator) -> Parameters:
        """One component a class, then as many as wanted at places of random people of the class."""
        groups = self.label_table.shape[1]
        d = self.noise.size
        thetas = tuple(np.full((groups, table.shape[1]), 1 / table.shape[1]) for table in self.tables)
        equal, centred, round_ = np.ones(groups) / groups, np.zeros((groups, d)), np.tile(np.eye(d), (groups, 1, 1))
        self.parameters = Parameters(equal, np.arange(groups), centred, round_, thetas, groups)
        for _ in range(1 if self._direct else FIRST_STEPS):
            self.step()
        return self.parameters if self.shape.components == 1 else self._split(rng)

    def _split(self, rng: np.random.Generator) -> Parameters:
        one = self.parameters
        people = one.weights * self.people
        wanted = np.clip(people / PEOPLE_PER_COMPONENT, 1, self.shape.components).astype(int)
        classes = np.repeat(one.classes, wanted)
        offsets = np.concatenate([self._places(group, count, rng) for group, count in enumerate(wanted.tolist())])
        narrower = np.where(wanted > 1, SPLIT, 1.0)[classes]
        return Parameters(
            (one.weights / wanted)[classes], classes, one.means[classes] + offsets,
            one.covariances[classes] * narrower[:, None, None], tuple(theta[classes] for theta in one.thetas),
            one.groups,
        )

    def _places(self, group: int, count: int, rng: np.random.Generator) -> Floats:
        """Where the means of a class's components start, seen from its mean: E[x | w] − μ of random people."""
        mean, covariance = self.parameters.means[group], self.parameters.covariances[group]
        if count == 1:
            return np.zeros((1, mean.size))
        likely = np.concatenate([block.weight * self.label_table[block.group, group] for block in self.blocks])
        chosen = rng.choice(likely.size, count, p=likely / likely.sum(), replace=bool(np.sum(likely > 0) < count))
        ends = np.cumsum([block.weight.size for block in self.blocks])
        found = np.zeros((count, mean.size))
        for place, person in enumerate(chosen):
            number = int(np.searchsorted(ends, person, side="right"))
            block = self.blocks[number]
            values, seen = block.values[person - ends[number]], block.observed  # counted from the block's end
            total = covariance[np.ix_(seen, seen)] + np.diag(block.noise)
            found[place] = covariance[:, seen] @ np.linalg.lstsq(total, values - mean[seen])[0]
        return found

    @property
    def _direct(self) -> bool:
        """Whether one component a class is known after one step: nothing about a person has to be guessed."""
        return self.alike and not self.tables and bool((self.label_table == np.eye(len(self.label_table))).all())

    # --- EM -----------------------------------------------------------------------------------------------------

    def run(self, limit: int) -> Parameters:
        """The parameters when the mean log-likelihood gains less than a tolerance, or after so many steps."""
        known = self._direct and self.shape.components == 1
        repeat(lambda: self.step() / self.people, LikelihoodGain(TOLERANCE, steps=1, limit=0 if known else limit))
        return self.parameters

    def step(self) -> float:
        """One step of EM; the log-likelihood before it."""
        sums = Sums.none(self.parameters, self.tables)
        likelihood = sum(self._gather(block, sums) for block in self.blocks)
        self._maximise(sums)
        return likelihood

    def _gather(self, block: Block, sums: Sums) -> float:
        """Adds what the people of a block tell; their log-likelihood."""
        view = View(self.parameters, self.tables, block, self.label_table)
        here, likelihood = view.components, 0.0
        people, first, second = np.zeros(here.size), np.zeros(view.means.shape), np.zeros(view.totals.shape)
        for part in block.chunks():
            logs, away = view.logs(part)
            total = log_sum(logs)
            share = np.exp(logs - total) * part.weight
            likelihood += float(part.weight @ total)
            weighted = share[:, :, None] * away
            people += share.sum(axis=1)
            first += weighted.sum(axis=1)
            second += np.swapaxes(weighted, 1, 2) @ away
            for j, counts in enumerate(sums.counts):
                for z, row in zip(here, share, strict=True):
                    counts[z] += np.bincount(part.codes[:, j], row, counts.shape[1])
        sums.people[here] += people
        if self.alike:
            sums.first[here] += first
            sums.second[here] += second
        else:
            gain = view.gain()
            unseen = view.covariances - gain @ np.swapaxes(view.covariances[:, :, block.observed], 1, 2)
            sums.first[here] += (gain @ first[:, :, None])[:, :, 0]
            sums.second[here] += gain @ second @ np.swapaxes(gain, 1, 2) + people[:, None, None] * unseen
        return likelihood

    def _maximise(self, sums: Sums) -> None:
        before, people = self.parameters, np.maximum(sums.people, TINY)
        moved = sums.first / people[:, None]
        second = sums.second / people[:, None, None] - moved[:, :, None] * moved[:, None, :]
        drawn = self._shrunk(second, people, before.classes) + LEAST_VARIANCE * np.eye(self.noise.size)
        noise = self.noise if self.alike else np.zeros_like(self.noise)
        thetas = tuple(
            inner_steps(table, theta, counts, PSEUDO_COUNT)
            for table, theta, counts in zip(self.tables, before.thetas, sums.counts, strict=True)
        )
        shape = self.shape
        if self.noise.size:
            drawn = less_noise(drawn, noise, shape.least, of=self.noise, even=shape.even)
        self.parameters = replace(
            before, weights=people / people.sum(), means=before.means + moved, covariances=drawn, thetas=thetas
        )

    def _shrunk(self, covariances: Floats, people: Floats, classes: Codes) -> Floats:
        """Each component's covariance drawn to its class's, and this to that within all classes or to its diagonal."""
        strength = self.shape.shrinkage * self.noise.size
        if strength == 0:
            return covariances
        mass = people[:, None, None] * covariances
        groups = self.label_table.shape[1]
        of_class = np.zeros((groups, *covariances.shape[1:]))
        np.add.at(of_class, classes, mass)
        total = np.bincount(classes, people, groups)[:, None, None]
        target = of_class.sum(axis=0) / people.sum()
        if self.shape.diagonal:
            target = of_class / np.maximum(total, TINY) * np.eye(self.noise.size)
        within = (of_class + strength * target) / (total + strength)
        return np.asarray((mass + strength * within[classes]) / (people[:, None, None] + strength))


class View:
    """Components as the people of a block see them."""

    def __init__(
        self, parameters: Parameters, tables: Sequence[DenseTable], block: Block, label_table: Floats
    ) -> None:
        label = label_table[block.group][parameters.classes]
        self.components = here = np.flatnonzero(label > 0)
        self.covariances, seen = parameters.covariances[here], block.observed
        self.means = parameters.means[np.ix_(here, seen)]
        self.totals = self.covariances[:, seen[:, None], seen] + np.diag(block.noise)
        self.observed = seen
        self.whitening = np.linalg.inv(np.linalg.cholesky(self.totals)) if seen.size else self.totals
        peak = np.log(np.diagonal(self.whitening, axis1=1, axis2=2)).sum(axis=1) - seen.size / 2 * np.log(2 * np.pi)
        self.start = np.log(np.maximum(parameters.weights[here] * label[here], 1e-300)) + peak
        pairs = zip(tables, parameters.thetas, strict=True)
        self.log_codes = [np.log(theta[here] @ table.dense().T + TINY) for table, theta in pairs]

    def logs(self, part: Block) -> tuple[Floats, Floats]:
        """log of a person's density at each component, one row a component, and w − μ."""
        away = part.values[None] - self.means[:, None]
        whitened = away @ np.swapaxes(self.whitening, 1, 2)
        logs = self.start[:, None] - 0.5 * np.einsum("zij,zij->zi", whitened, whitened)
        for j, of_code in enumerate(self.log_codes):
            logs += of_code[:, part.codes[:, j]]
        return logs, away

    def gain(self) -> Floats:
        """Σ(Σ + S)⁻¹ of each component: how far E[x | w] goes with w."""
        precision = np.swapaxes(self.whitening, 1, 2) @ self.whitening
        return np.asarray(self.covariances[:, :, self.observed] @ precision)


def log_densities(parameters: Parameters, records: Records, label_table: Floats) -> tuple[Floats, Floats]:
    """log P(w, y') and log P(w) of every person."""
    tables = [DenseTable(cut.table_with_missing(True)) for cut in records.columns.cells]
    own, all_ = np.zeros((2, len(records.values)))
    for block in records.blocks():
        views = [View(parameters, tables, block, each) for each in (label_table, np.ones_like(label_table))]
        for part in block.chunks():
            own[part.rows], all_[part.rows] = (log_sum(view.logs(part)[0]) for view in views)
    return own, all_


def mean_noise(blocks: Sequence[Block], columns: int) -> Floats:
    """The mean noise variance in each column."""
    total, people = np.zeros(columns), np.full(columns, TINY)
    for block in blocks:
        total[block.observed] += block.weight.sum() * block.noise
        people[block.observed] += block.weight.sum()
    return np.asarray(total / people)


def log_sum(logs: Floats) -> Floats:
    """log Σ exp over the rows."""
    largest = logs.max(axis=0)
    return np.asarray(largest + np.log(np.exp(logs - largest).sum(axis=0)))
