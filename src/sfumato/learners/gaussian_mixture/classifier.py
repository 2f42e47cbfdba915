"""`GaussianMixtureClassifier`: predict classes by gaussian mixtures, fitted to reports with the noise subtracted."""

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
from sfumato.learners.moments import LEAST_KEPT
from sfumato.prose import Voice

MOST_READ = 200_000
"""Records that are read, a fixed sample of more. By judgement: the error of a mean is then 1/√200,000, .2 % of a
deviation; more cost time and memory in proportion."""
MOST_FITTED = 12_000
"""People to whom a shape is fitted when shapes are judged. By judgement, for time: dozens of shapes are."""
MOST_HELD_OUT = 5_000
"""Held-out people of a fold on whom a shape is judged. By judgement, for time."""
FOLDS = 4
"""Parts of the people, one of which is held out. By judgement; more leave more people to fit and fewer to judge."""
SALT = 7
"""Which folds: other ones than `evidence.held_out` names, so that no choice is made twice on the same people."""
ENOUGH_HELD_OUT = 1_000
"""Held-out people from which on one fold is enough; with fewer, several folds are held out in turn. By judgement."""
LEAST_TO_JUDGE = 40
"""People below which no shape is judged: a fold of them has ten. By judgement."""
COMPONENTS = (2, 4, 8)
"""Numbers of components a class that are judged after one. By judgement: doubled, until one more doubling does not
help."""
SHRINKAGES = (1.0, 10.0, 100.0, 1000.0)
"""Strengths of shrinkage that are judged, in people a column. By judgement: factors of ten, from hardly any to one
covariance for all classes."""
WIDER = 3.0
"""Factor of the share of the noise that every direction keeps, for a second trial, and for noise that is not normal. By
judgement; the first trial is `LEAST_KEPT`."""
MANY_COLUMNS = 5
"""Columns from which on the sum of variances has a far smaller error than each of them, so that variances may be evened
out. By judgement; fewer columns have little to even out."""
DENSITY_WEIGHT = 0.03
"""Weight of log P(w) beside log P(y' | w) when shapes are judged. By judgement: small, because classes are predicted;
log P(w) says whether covariances are right. It is 0 where noise is not normal, because log P(w) then says how well
components imitate the noise."""
STEPS = 30
"""The most steps of EM for a shape that is judged, or for the whole fit where none was. By judgement; most stop earlier
by the likelihood."""
FURTHER_STEPS = 10
"""The most steps of EM on everybody after a fit to a part of them. By judgement; a good start needs few."""


class GaussianMixtureClassifier(Learner):
    """A classifier by gaussian mixtures within classes, with the noise of reports subtracted (extreme deconvolution).

    For many numbers that depend on each other: a class is one normal distribution or several, with full covariances.
    Categories are independent of the numbers within a component.

    channels: one entry (channel, choice, or None for a clear column) a column, or a mapping from column name; a column
        ``<name>.level`` says which level of a choice each person took. None: nothing is blurred.
    label_channel: the channel that class labels went through; None: they are clear.
    components: the number of normal distributions of a class, at most one for each 20 people; None: the number by which
        the classes of held-out people are predicted best.
    shrinkage: with the weight of how many people a column covariances are drawn together; None: by held-out reports.
    random_state: a whole number or a NumPy generator, by which components are started; None: 0.

    Gaussian noise is subtracted exactly; other noise (uniform, square wave) by its first two moments. Without noise and
    with shrinkage=0 this is scikit-learn's GaussianMixture in each class. At most 200,000 records are read, a fixed
    sample.

    Fitted: ``classes_``, ``shape_`` (components and shrinkage), ``parameters_``.

    >>> import numpy as np, sfumato as sf
    >>> noisy, rng = sf.Gaussian(sf.Interval(-10, 10), privacy=0.2), np.random.default_rng(1)
    >>> together = rng.random(1000) < 0.5  # the class: whether the second column rises with the first
    >>> first = rng.normal(0, 3, 1000)
    >>> second = np.where(together, first, -first) + rng.normal(0, 1, 1000)
    >>> reports = np.column_stack([noisy.randomize(column.clip(-10, 10), rng) for column in (first, second)])
    >>> model = sf.GaussianMixtureClassifier([noisy, noisy], components=1, shrinkage=0).fit(reports, together)
    >>> model.predict([[4.0, 4.0], [4.0, -4.0]]).tolist()
    [True, False]
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
        self.shape_, start = self._choose_shape(records, reports.folds(FOLDS, SALT), label_table, rng)
        fit = GaussianMixtureFit(records, label_table, self.shape_, rng, start)
        self.parameters_ = fit.run(STEPS if start is None else FURTHER_STEPS)
        self.member_ = NormalMember.of(self.parameters_, columns)

    def _choose_shape(
        self, records: Records, folds: Codes, label_table: Floats, rng: np.random.Generator
    ) -> tuple[Shape, Parameters | None]:
        """Return (the shape that predicts the classes of held-out people best, the parameters where its fit starts).

        The parameters are None where no shape was judged.
        """
        if self.components is not None and self.shrinkage is not None:
            return Shape(self.components, self.shrinkage, least=least_share(records)), None
        if np.unique(records.groups).size < 2 or len(records.values) < LEAST_TO_JUDGE:
            drawn = SHRINKAGES[1] if self.shrinkage is None else self.shrinkage
            return Shape(self.components or 1, drawn, least=least_share(records)), None
        contest = Contest(records, folds, label_table, rng)
        shrinkages = SHRINKAGES if self.shrinkage is None else (self.shrinkage,)
        least = least_share(records)
        first = self.components or 1
        shapes = [Shape(first, shrinkage, diagonal, least) for diagonal in (False, True) for shrinkage in shrinkages]
        best = last = contest.best_and_wider(shapes)
        for components in COMPONENTS if self.components is None else ():
            index = shrinkages.index(best.shrinkage)
            near = shrinkages[max(index - 1, 0) : index + 2] if components == COMPONENTS[0] else (last.shrinkage,)
            shapes = [replace(last, components=components, shrinkage=each, diagonal=best.diagonal) for each in near]
            larger = contest.best_and_wider(shapes)
            if components > COMPONENTS[0] and contest.score(larger) <= contest.score(last):
                break
            best, last = contest.best([best, larger]), larger
        return best, contest.fits[best]

    def _probabilities(self, columns: list[Column]) -> Floats:
        return np.asarray(softmax(self._scores(columns), axis=1))

    def _scores(self, columns: list[Column]) -> Floats:
        return self.member_.log_joint(columns)

    # --- classes and true records behind reports ----------------------------------------------------------------

    def p_class_given(self, reports: Reports) -> Floats:
        """Return P(reported class | reports of the columns), one row a record of `sf.Reports`."""
        return p_class_given(self.parameters_, records_of(reports, self.columns_), label_table_of(reports))

    def draws_given(
        self, reports: Reports, m: int, rng: np.random.Generator, *, with_class: bool = False
    ) -> list[Column]:
        """Draw m records of true values for each record of reports, from P(true values | reports).

        Return one array a column, of len(reports)·m values: the m draws of the first record, then those of the second.
        Numbers are kept in their domains.

        reports: `sf.Reports` with the columns that were fitted. m: draws a record. rng: random numbers.
        with_class: the draws are given the class that each record reported too; else the columns' reports alone.
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
    """A contest of shapes, judged by Σ log P(y' | w) + λ·log P(w) over held-out people; λ is `DENSITY_WEIGHT`, or 0.

    records: people who are fitted and judged. folds: the fold of each; one is held out, or several in turn where people
    are few. label_table: P[reported class, true class]. rng: draws the people and the starts.
    """

    def __init__(self, records: Records, folds: Codes, label_table: Floats, rng: np.random.Generator) -> None:
        self.label_table, self.rng = label_table, rng
        self.density_weight = DENSITY_WEIGHT if records.columns.normal_noise else 0.0
        self.may_be_even = self.density_weight > 0 and records.values.shape[1] >= MANY_COLUMNS
        used = int(np.clip(np.ceil(ENOUGH_HELD_OUT * FOLDS / len(folds)), 1, FOLDS))
        parts = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(used)]
        self.parts = [
            (records.rows(rng.permutation(train)[:MOST_FITTED]), records.rows(rng.permutation(test)[:MOST_HELD_OUT]))
            for train, test in parts
            if test.size
        ]
        self.fits: dict[Shape, Parameters] = {}
        self.scores: dict[Shape, float] = {}

    def best(self, shapes: list[Shape]) -> Shape:
        """Return the shape with the highest score."""
        return max(shapes, key=self.score)

    def best_and_wider(self, shapes: list[Shape]) -> Shape:
        """Return the best of these shapes, or a variant of it that scores higher.

        Variants keep more of the noise's variance in every direction and, where there are many columns with normal
        noise, even variances out.
        """
        best = self.best(shapes)
        best = self.best([best, replace(best, least=min(WIDER * best.least, 1.0))])
        return self.best([best, replace(best, even=True)]) if self.may_be_even else best

    def score(self, shape: Shape) -> float:
        """Return the score of a shape in nats; it is fitted when it is asked for first."""
        if shape not in self.scores:
            total = 0.0
            for train, test in self.parts:
                parameters = GaussianMixtureFit(train, self.label_table, shape, self.rng).run(STEPS)
                self.fits.setdefault(shape, parameters)
                with_class, without = log_densities(parameters, test, self.label_table)
                total += float(test.weight @ (with_class - (1 - self.density_weight) * without))
            self.scores[shape] = total
        return self.scores[shape]


def least_share(records: Records) -> float:
    """Return the share of the noise's variance that every direction keeps: larger for few people and other noise.

        clip(1.25·√(columns / people), 0.1 for normal noise or 0.3 for other, 1)

    By judgement: chance alone leaves that much of the noise in the narrowest direction.
    """
    least = LEAST_KEPT if records.columns.normal_noise else WIDER * LEAST_KEPT
    return float(np.clip(1.25 * np.sqrt(records.values.shape[1] / len(records.values)), least, 1.0))
