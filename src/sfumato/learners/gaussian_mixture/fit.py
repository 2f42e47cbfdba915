"""Gaussian mixtures within classes, fitted to reports by EM with the noise subtracted (extreme deconvolution).

    P(w, y') = Σ_z π_z · L[y', y_z] · N(w; μ_z, Σ_z + S) · Π_j (C_j θ_j)(w_j | z),    y_z the class of component z,

S the noise variances of a person's reports; a missing report is left out of the normal. E-step: P(z | w, y') and, where
noise or missing reports differ between people, E[x | w, z] = μ_z + Σ_z(Σ_z + S)⁻¹(w − μ_z) with its covariance. Where
all have the same noise no x has to be estimated: given P(z | w, y'), Σ_z + S is the reports' own covariance, and EM is
that of an ordinary mixture.

A component's covariance is drawn to that of its class, and this to the common one (or to its own diagonal), each with
the weight of `shrinkage`·d people, d the number of columns: with much of it this is the linear discriminant with the
noise subtracted (or naive Bayes), with none the quadratic one or, with several components, a full mixture. Noise that
is not normal enters by its variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.evidence import DenseTable, LikelihoodGain, repeat
from sfumato.evidence.held_out import LEAST_PEOPLE
from sfumato.evidence.observed import LEAST_DOUBLE
from sfumato.learners.gaussian_mixture.records import Block, Records
from sfumato.learners.joint.mixture import LEAST_CHANCE, PEOPLE_PER_COMPONENT, PSEUDO_COUNT, inner_steps
from sfumato.learners.moments import LEAST_VARIANCE, subtract_noise

FIRST_STEPS = 8
"""Steps of EM with one component a class, before it is split. By judgement; EM goes on after the split."""
TOLERANCE = 2e-4
"""Nats a person by which a step has to raise the likelihood for EM to go on. By judgement: a larger number leaves
components where they started, a smaller one takes steps that fit chance."""
SPLIT = 0.6
"""Factor of the class's covariance with which its components start, around random people: together, with the spread of
their means, they are then about as wide as the class. By judgement; a start only."""


@dataclass(frozen=True)
class Shape:
    """The number of components and the regularisation of their covariances, as a fit uses them.

    components: the most of each class. shrinkage: people a column by whose weight covariances are drawn together.
    diagonal: classes are drawn to their own diagonals instead of to the common covariance. least: every direction
    varies by at least this share of the noise, in units of the reports' deviations. even: what that adds to narrow
    directions is subtracted from wide ones, so that the variance of all together stays.
    """

    components: int = 1
    shrinkage: float = 0.0
    diagonal: bool = False
    least: float = 0.3
    even: bool = False


@dataclass(frozen=True)
class Parameters:
    """Components of a mixture, in the order of their classes; numbers in the units of `Columns`.

    weights: π. classes: the class code of each. means, covariances: μ and Σ. thetas: P(label | component) of each
    category, one row a component. groups: the number of classes.
    """

    weights: Floats
    classes: Codes
    means: Floats
    covariances: Floats
    thetas: tuple[Floats, ...]
    groups: int


@dataclass
class Sums:
    """Sums over people by component, each weighed by P(component | report), from which the M-step follows.

    people: Σ 1. first: Σ(x − μ). second: Σ(x − μ)(x − μ)'. counts: of the reports of each category.
    """

    people: Floats
    first: Floats
    second: Floats
    counts: list[Floats]

    @classmethod
    def none(cls, parameters: Parameters, tables: Sequence[DenseTable]) -> Sums:
        """Return sums over nobody, for these components and tables of categories."""
        size, d = parameters.means.shape
        counts = [np.zeros((size, table.shape[0])) for table in tables]
        return cls(np.zeros(size), np.zeros((size, d)), np.zeros((size, d, d)), counts)


class GaussianMixtureFit:
    """A gaussian mixture within classes in the course of its fit by EM.

    records: the people. label_table: P[reported class, true class]. shape: components and regularisation. rng: chooses
    the people around whom components start. start: parameters where EM starts; None: one component a class, split.
    """

    def __init__(
        self, records: Records, label_table: Floats, shape: Shape, rng: np.random.Generator,
        start: Parameters | None = None,
    ) -> None:
        self.label_table, self.shape = label_table, shape
        self.blocks = records.blocks(rng)
        self.noise = mean_noise_of(self.blocks, len(records.columns.numbers))
        self.alike = all(block.observed.size == self.noise.size for block in self.blocks) and len(records.noise) == 1
        self.tables = [DenseTable(cut.table_with_missing(True)) for cut in records.columns.cells]
        self.people = sum(float(block.weight.sum()) for block in self.blocks)
        self.parameters = self._started(rng) if start is None else start

    # --- the start ----------------------------------------------------------------------------------------------

    def _started(self, rng: np.random.Generator) -> Parameters:
        """Return where EM starts: a fit of one component a class, then split around random people of the class."""
        groups = self.label_table.shape[1]
        d = self.noise.size
        thetas = tuple(np.full((groups, table.shape[1]), 1 / table.shape[1]) for table in self.tables)
        equal, centred, round_ = np.ones(groups) / groups, np.zeros((groups, d)), np.tile(np.eye(d), (groups, 1, 1))
        self.parameters = Parameters(equal, np.arange(groups), centred, round_, thetas, groups)
        for _ in range(1 if self._direct else FIRST_STEPS):
            self.step()
        return self.parameters if self.shape.components == 1 else self._split(rng)

    def _split(self, rng: np.random.Generator) -> Parameters:
        """Return the parameters of several components a class, which start from the fit of one component a class."""
        single = self.parameters
        people = single.weights * self.people
        counts = np.clip(people / PEOPLE_PER_COMPONENT, 1, self.shape.components).astype(int)
        classes = np.repeat(single.classes, counts)
        offsets = np.concatenate([self._offsets(group, count, rng) for group, count in enumerate(counts.tolist())])
        narrower = np.where(counts > 1, SPLIT, 1.0)[classes]
        return Parameters(
            (single.weights / counts)[classes], classes, single.means[classes] + offsets,
            single.covariances[classes] * narrower[:, None, None], tuple(theta[classes] for theta in single.thetas),
            single.groups,
        )

    def _offsets(self, group: int, count: int, rng: np.random.Generator) -> Floats:
        """Return, for each component of a class, E[x | w] − μ of a random person: its mean's start from the class's."""
        mean, covariance = self.parameters.means[group], self.parameters.covariances[group]
        if count == 1:
            return np.zeros((1, mean.size))
        likely = np.concatenate([block.weight * self.label_table[block.group, group] for block in self.blocks])
        chosen = rng.choice(likely.size, count, p=likely / likely.sum(), replace=bool(np.sum(likely > 0) < count))
        ends = np.cumsum([block.weight.size for block in self.blocks])
        offsets = np.zeros((count, mean.size))
        for component, person in enumerate(chosen):
            number = int(np.searchsorted(ends, person, side="right"))
            block = self.blocks[number]
            values, seen = block.values[person - ends[number]], block.observed  # counted from the block's end
            total = covariance[np.ix_(seen, seen)] + np.diag(block.noise)
            offsets[component] = covariance[:, seen] @ np.linalg.lstsq(total, values - mean[seen])[0]
        return offsets

    @property
    def _direct(self) -> bool:
        """Say whether one step fits one component a class: all people have the same noise, and classes are clear."""
        return self.alike and not self.tables and bool((self.label_table == np.eye(len(self.label_table))).all())

    # --- EM -----------------------------------------------------------------------------------------------------

    def run(self, limit: int) -> Parameters:
        """Take steps of EM, at most ``limit``, while the mean log-likelihood rises; return the parameters."""
        exact = self._direct and self.shape.components == 1
        repeat(lambda: self.step() / self.people, LikelihoodGain(TOLERANCE, steps=1, limit=0 if exact else limit))
        return self.parameters

    def step(self) -> float:
        """Take one step of EM; return the log-likelihood before it."""
        sums = Sums.none(self.parameters, self.tables)
        likelihood = sum(self._gather(block, sums) for block in self.blocks)
        self._maximise(sums)
        return likelihood

    def _gather(self, block: Block, sums: Sums) -> float:
        """Add the people of a block to the sums (the E-step); return their log-likelihood."""
        view = BlockComponents(self.parameters, self.tables, block, self.label_table)
        components, likelihood = view.components, 0.0
        people, first, second = np.zeros(components.size), np.zeros(view.means.shape), np.zeros(view.totals.shape)
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
                for z, row in zip(components, share, strict=True):
                    counts[z] += np.bincount(part.codes[:, j], row, counts.shape[1])
        sums.people[components] += people
        if self.alike:
            sums.first[components] += first
            sums.second[components] += second
        else:
            gain = view.gain()
            unseen = view.covariances - gain @ np.swapaxes(view.covariances[:, :, block.observed], 1, 2)
            sums.first[components] += (gain @ first[:, :, None])[:, :, 0]
            sums.second[components] += gain @ second @ np.swapaxes(gain, 1, 2) + people[:, None, None] * unseen
        return likelihood

    def _maximise(self, sums: Sums) -> None:
        """Set the parameters that the sums make likeliest, regularised by the shape (the M-step)."""
        before, people = self.parameters, np.maximum(sums.people, LEAST_PEOPLE)
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
            drawn = subtract_noise(drawn, noise, shape.least, of=self.noise, even=shape.even)
        self.parameters = replace(
            before, weights=people / people.sum(), means=before.means + moved, covariances=drawn, thetas=thetas
        )

    def _shrunk(self, covariances: Floats, people: Floats, classes: Codes) -> Floats:
        """Return components' covariances after shrinkage.

        Each is drawn to that of its class, and this to that of all classes or to its own diagonal.
        """
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
            target = of_class / np.maximum(total, LEAST_PEOPLE) * np.eye(self.noise.size)
        within = (of_class + strength * target) / (total + strength)
        return np.asarray((mass + strength * within[classes]) / (people[:, None, None] + strength))


class BlockComponents:
    """The components that the people of a block may belong to, as distributions of their reports.

    components: indices of those whose class the people's reported class allows. means, totals: μ_z and Σ_z + S in the
    observed columns. covariances: Σ_z. whitening: W with W'W = (Σ_z + S)⁻¹.
    """

    def __init__(
        self, parameters: Parameters, tables: Sequence[DenseTable], block: Block, label_table: Floats
    ) -> None:
        label = label_table[block.group][parameters.classes]
        self.components = possible = np.flatnonzero(label > 0)
        self.covariances, seen = parameters.covariances[possible], block.observed
        self.means = parameters.means[np.ix_(possible, seen)]
        self.totals = self.covariances[:, seen[:, None], seen] + np.diag(block.noise)
        self.observed = seen
        self.whitening = np.linalg.inv(np.linalg.cholesky(self.totals)) if seen.size else self.totals
        peak = np.log(np.diagonal(self.whitening, axis1=1, axis2=2)).sum(axis=1) - seen.size / 2 * np.log(2 * np.pi)
        self.start = np.log(np.maximum(parameters.weights[possible] * label[possible], LEAST_DOUBLE)) + peak
        pairs = zip(tables, parameters.thetas, strict=True)
        self.log_codes = [np.log(theta[possible] @ table.dense().T + LEAST_CHANCE) for table, theta in pairs]

    def logs(self, part: Block) -> tuple[Floats, Floats]:
        """Return (log P(reports, z) of people, [component, person]; w − μ_z, [component, person, column])."""
        away = part.values[None] - self.means[:, None]
        whitened = away @ np.swapaxes(self.whitening, 1, 2)
        logs = self.start[:, None] - 0.5 * np.einsum("zij,zij->zi", whitened, whitened)
        for j, of_code in enumerate(self.log_codes):
            logs += of_code[:, part.codes[:, j]]
        return logs, away

    def gain(self) -> Floats:
        """Return Σ_z(Σ_z + S)⁻¹ of each component: how far E[x | w, z] follows w."""
        precision = np.swapaxes(self.whitening, 1, 2) @ self.whitening
        return np.asarray(self.covariances[:, :, self.observed] @ precision)


def log_densities(parameters: Parameters, records: Records, label_table: Floats) -> tuple[Floats, Floats]:
    """Return (log P(w, y'), log P(w)) of every person's reports w and reported class y'."""
    tables = [DenseTable(cut.table_with_missing(True)) for cut in records.columns.cells]
    with_class, without = np.zeros((2, len(records.values)))
    for block in records.blocks():
        labels = (label_table, np.ones_like(label_table))
        views = [BlockComponents(parameters, tables, block, label) for label in labels]
        for part in block.chunks():
            with_class[part.rows], without[part.rows] = (log_sum(view.logs(part)[0]) for view in views)
    return with_class, without


def mean_noise_of(blocks: Sequence[Block], columns: int) -> Floats:
    """Return the mean noise variance of the reports in each of so many columns."""
    total, people = np.zeros(columns), np.full(columns, LEAST_PEOPLE)
    for block in blocks:
        total[block.observed] += block.weight.sum() * block.noise
        people[block.observed] += block.weight.sum()
    return np.asarray(total / people)


def log_sum(logs: Floats) -> Floats:
    """Return log Σ exp(logs) over the rows, without overflow."""
    largest = logs.max(axis=0)
    return np.asarray(largest + np.log(np.exp(logs - largest).sum(axis=0)))
