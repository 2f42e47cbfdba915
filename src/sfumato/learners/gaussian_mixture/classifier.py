"""A classifier of true values by gaussian mixtures within classes, from reports with the noise taken off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.special import softmax

from sfumato.channels.base import Channel
from sfumato.counts import Reports
from sfumato.domain import Codes, Floats
from sfumato.domain.checked import given_rows, given_wholes
from sfumato.learners.classes import label_table_of
from sfumato.learners.device import DeviceForm
from sfumato.learners.estimator import Channels, Column, Learner
from sfumato.learners.gaussian_mixture.answers import NormalMember
from sfumato.learners.gaussian_mixture.drawing import draws_given, p_class_given
from sfumato.learners.gaussian_mixture.fit import GaussianMixtureFit, Parameters, Shape, log_densities
from sfumato.learners.gaussian_mixture.records import Records, columns_of, records_of
from sfumato.prose import Voice

MOST_READ, MOST_JUDGED_ON, MOST_HELD = 200_000, 12_000, 5_000
FOLDS, SALT = 4, 7
ENOUGH_HELD = 1_000
LEAST_TO_JUDGE = 40
COMPONENTS = (2, 4, 8)
SHRINKAGES = (1.0, 10.0, 100.0, 1000.0)
LEAST, WIDER = 0.1, 3.0
MANY = 5  # columns whose variances together are known far better than each
OF_DENSITY = 0.03
"""How much log P(w) counts beside log P(y' | w) when shapes are judged: it tells whether covariances are right, unless
the noise is not normal; then it tells how well components imitate the noise."""
STEPS, FURTHER_STEPS = 30, 10


class GaussianMixtureClassifier(Learner):
    """Gaussian mixtures within classes, with the noise of reports taken off exactly (extreme deconvolution).

    For many numbers that hang together: a class is one normal distribution or several, with full covariances.
    Categories are independent of the numbers within a component.

    channels: one entry (channel, choice, or None for a clear column) a column, or a mapping from column name.
    label_channel: the channel that class labels went through, None if they are clear.
    components: how many a class has, at most one for each 20 people; None: as many as tell the classes of held-out
        reports best.
    shrinkage: with the weight of how many people a column covariances are drawn together; None: by held-out reports.

    Gaussian noise is taken off exactly; other noise (uniform, square wave) by its first two moments. Without noise and
    with shrinkage=0 this is scikit-learn's GaussianMixture in each class. At most 200,000 records are read, a fixed
    sample.

    Fitted: ``classes_``, ``shape_`` (components and shrinkage), ``parameters_``.
    """

    form = "gaussian-mixture"

    def __init__(
        self, channels: Channels = None, *, label_channel: Channel | None = None, components: int | None = None,
        shrinkage: float | None = None, random_state: Any = None,
    ) -> None:
        self.channels = channels
        self.label_channel = label_channel
        self.components = components
        self.shrinkage = shrinkage
        self.random_state = random_state

    def _learn(self, reports: Reports, rng: np.random.Generator) -> None:
        if (self.components is not None and self.components < 1) or (self.shrinkage or 0) < 0:
            raise ValueError("components must be 1 or more, and shrinkage 0 or more; None chooses")
        reports = reports.sampled(MOST_READ)
        self.columns_ = columns = columns_of(reports)
        records = records_of(reports, columns)
        label_table = label_table_of(reports)
        self.shape_, start = self._chosen(records, reports.folds(FOLDS, SALT), label_table, rng)
        fit = GaussianMixtureFit(records, label_table, self.shape_, rng, start)
        self.parameters_ = fit.run(STEPS if start is None else FURTHER_STEPS)
        self.member_ = NormalMember.of(self.parameters_, columns)

    def _chosen(
        self, records: Records, folds: Codes, label_table: Floats, rng: np.random.Generator
    ) -> tuple[Shape, Parameters | None]:
        """The shape under which held-out reports tell their classes best, and where a fit of it starts."""
        if self.components is not None and self.shrinkage is not None:
            return Shape(self.components, self.shrinkage, least=least_share(records)), None
        if np.unique(records.groups).size < 2 or len(records.values) < LEAST_TO_JUDGE:
            drawn = SHRINKAGES[1] if self.shrinkage is None else self.shrinkage
            return Shape(self.components or 1, drawn, least=least_share(records)), None
        contest = Contest(records, folds, label_table, rng)
        shrinkages = SHRINKAGES if self.shrinkage is None else (self.shrinkage,)
        least = least_share(records)
        first = self.components or 1
        one = [Shape(first, each, diagonal, least) for diagonal in (False, True) for each in shrinkages]
        best = last = contest.best_and_wider(one)
        for components in COMPONENTS if self.components is None else ():
            here = shrinkages.index(best.shrinkage)
            near = shrinkages[max(here - 1, 0) : here + 2] if components == COMPONENTS[0] else (last.shrinkage,)
            shapes = [replace(last, components=components, shrinkage=each, diagonal=best.diagonal) for each in near]
            found = contest.best_and_wider(shapes)
            if components > COMPONENTS[0] and contest.score(found) <= contest.score(last):
                break
            best, last = contest.best([best, found]), found
        return best, contest.fits[best]

    def _probabilities(self, columns: list[Column]) -> Floats:
        return np.asarray(softmax(self._scores(columns), axis=1))

    def _scores(self, columns: list[Column]) -> Floats:
        return self.member_.log_joint(columns)

    # --- behind reports -----------------------------------------------------------------------------------------

    def p_class_given(self, reports: Reports) -> Floats:
        """P(reported class | reports), one row a record."""
        return p_class_given(self.parameters_, records_of(reports, self.columns_), label_table_of(reports))

    def draws_given(
        self, reports: Reports, m: int, rng: np.random.Generator, *, with_class: bool = False
    ) -> list[Column]:
        """m draws of the true record behind each record of reports, whatever its class or given that too.

        One array a column, of len(reports)·m values: the m draws of the first record, then those of the second. Numbers
        are kept in their domains.
        """
        label_table = label_table_of(reports) if with_class else None
        return draws_given(self.parameters_, reports, self.columns_, label_table, m, rng)

    def device_form(self, say: Voice) -> DeviceForm:
        return DeviceForm.joint(self.device_classes(), self.member_.numbers)

    def _state(self) -> dict[str, Any]:
        return {"selected": list(range(len(self.attribute_names_))), "members": [self.member_.to_dict()]}

    @classmethod
    def _from_state(cls, data: Mapping[str, Any]) -> Self:
        columns = len(data["attributes"])
        if given_wholes(data, "selected", 0, columns - 1).tolist() != list(range(columns)):
            raise ValueError("a gaussian mixture reads every column in its order")
        (member,) = given_rows(data, "members", 1)
        model = cls()
        model.member_ = NormalMember.from_dict(member, columns, len(given_rows(data, "classes")))
        return model


class Contest:
    """Shapes judged by log P(y' | w) + λ·log P(w) of held-out people: one fold, or where they are few several."""

    def __init__(self, records: Records, folds: Codes, label_table: Floats, rng: np.random.Generator) -> None:
        self.label_table, self.rng = label_table, rng
        self.of_density = OF_DENSITY if records.columns.normal_noise else 0.0
        self.may_be_even = self.of_density > 0 and records.values.shape[1] >= MANY
        used = int(np.clip(np.ceil(ENOUGH_HELD * FOLDS / len(folds)), 1, FOLDS))
        parts = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(used)]
        self.parts = [
            (records.rows(rng.permutation(rest)[:MOST_JUDGED_ON]), records.rows(rng.permutation(held)[:MOST_HELD]))
            for rest, held in parts
            if held.size
        ]
        self.fits: dict[Shape, Parameters] = {}
        self.scores: dict[Shape, float] = {}

    def best(self, shapes: list[Shape]) -> Shape:
        return max(shapes, key=self.score)

    def best_and_wider(self, shapes: list[Shape]) -> Shape:
        """The best of them, or that with more of the noise's share kept in every direction if this is better; or with
        variances evened out, where there are many and normal noise lets held-out reports judge densities."""
        found = self.best(shapes)
        found = self.best([found, replace(found, least=min(WIDER * found.least, 1.0))])
        return self.best([found, replace(found, even=True)]) if self.may_be_even else found

    def score(self, shape: Shape) -> float:
        if shape not in self.scores:
            total = 0.0
            for rest, held in self.parts:
                found = GaussianMixtureFit(rest, self.label_table, shape, self.rng).run(STEPS)
                self.fits.setdefault(shape, found)
                own, all_ = log_densities(found, held, self.label_table)
                total += float(held.weight @ (own - (1 - self.of_density) * all_))
            self.scores[shape] = total
        return self.scores[shape]


def least_share(records: Records) -> float:
    """No direction varies less than this share of the noise: with few people chance alone leaves more."""
    least = LEAST if records.columns.normal_noise else WIDER * LEAST
    return float(np.clip(1.25 * np.sqrt(records.values.shape[1] / len(records.values)), least, 1.0))
