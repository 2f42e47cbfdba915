"""Utility: how well learners predict when they are trained on a release, measured on records that it was not made of.

In each of several splits a third of the records is set aside, class by class, and the others are released by the same
recipe. Every learner is trained on that release, and on the true records that it was made of; both predict the true
records set aside. The order of categories, which trees cut, comes from the training records too.

Splits overlap, so their mean is less certain than that of separate trials. The standard error is that of Nadeau and
Bengio (2003): s·√(1/J + m/l), with J splits, l records to learn from and m to test on.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.kept.measures import vary
from sfumato.microdata.methods.sequence import SHRINKAGE
from sfumato.microdata.patterns.pattern import grow_number_tree, grow_tree
from sfumato.microdata.releasing import Release, release_part
from sfumato.microdata.table.fields import Microdata
from sfumato.microdata.table.points import points

MOST_RECORDS = 20_000
"""The most records that a split uses, to bound the time; 6,700 to test on have a standard error of .6 points at
most."""

FEWEST_RECORDS = 20
"""The fewest records of a table whose utility is measured: fewer than seven to test on say nothing."""

SPLITS = 8
"""Splits of tables up to RECORDS / SPLITS = 3,000 records. Chosen by judgement: more cost time and overlap more."""

FEWEST_SPLITS = 3
"""Splits of large tables, from RECORDS / 3 = 8,000 records on: the fewest with a standard deviation worth stating."""

RECORDS = 24_000
"""Records that all splits together are made of, about, to bound the time."""

UNEQUAL = 2.0
"""AUC and recall are stated where the largest class has at least so many times the records of the smallest: accuracy
alone would then hide how the smallest is predicted. By judgement."""

CLASSIFIERS = ("tree", "naive Bayes", "logistic regression", "nearest neighbours")
LEARNERS = (*CLASSIFIERS, "boosting")
REGRESSORS = ("tree", "linear regression", "nearest neighbours", "boosting")
NEIGHBOURS = 15
"""Neighbours of the nearest-neighbour learners. Chosen by judgement: an odd number between scikit-learn's 5, which
follows noise, and those that blur small classes."""


@dataclass(frozen=True)
class Score:
    """How well a learner predicts unseen records, trained on the original and on the release.

    ``measure``: accuracy, AUC, recall of the rarest class, or R². ``original`` and ``released``: means over ``splits``
    splits. ``error``: the standard error of their difference.
    """

    learner: str
    measure: str
    original: float
    released: float
    error: float
    splits: int

    @property
    def lost(self) -> float:
        """How much lower the score is for training on the release instead of the original."""
        return self.original - self.released

    def in_points(self) -> str:
        """Return the loss as text, such as "0.4 ± 0.6 points lost"."""
        change = "gained" if self.lost < -0.0005 else "lost"
        return f"{abs(100 * self.lost):.1f} ± {100 * self.error:.1f} points {change}"

    def to_dict(self) -> dict[str, Any]:
        """Return the score as plain data for JSON."""
        return {**asdict(self), "lost": self.lost}


def held_out(
    release: Release, draws: Draws, splits: int | None = None, learners: Sequence[str] = LEARNERS
) -> list[Score]:
    """Measure every learner on held-out records, by training it on releases of the others.

    ``splits``: how often records are held out (None: 3 to 8 times). Returns nothing without a target, or for fewer than
    FEWEST_RECORDS records.
    """
    original, n = release.original, len(release.original.y)
    if release.recipe is None or original.target is None or n < FEWEST_RECORDS:
        return []
    rarest, versions = rarest_class(original), []
    count = splits or int(np.clip(RECORDS // n, FEWEST_SPLITS, SPLITS))
    for learn, test in [split(original.y, draws) for _ in range(count)]:
        released = release_part(release.recipe, learn, draws, release.terms.attempts)
        unseen = original.take(test)
        if min(np.unique(y).size for y in (original.y[learn], released.y)) > 1:
            versions.append([_measured(data, unseen, learners, rarest) for data in (original.take(learn), released)])
    return _summed_up(versions, test.size / learn.size)


def _summed_up(versions: list[list[dict[tuple[str, str], float]]], share: float) -> list[Score]:
    """Return the mean scores of learners over several splits of the records, with standard errors.

    ``versions[split]``: the scores trained on the original and on the release, by learner and measure. A split whose
    rarest class is all on one side has no AUC and no recall (NaN). ``share``: m/l, records to test by those to learn
    from.
    """
    scores = []
    for learner, measure in versions[0][0] if versions else ():
        pairs = np.array([[version[learner, measure] for version in split_versions] for split_versions in versions])
        pairs = pairs[~np.isnan(pairs).any(axis=1)]
        if len(pairs):
            before, after = pairs.mean(axis=0).tolist()
            spread = np.diff(pairs, axis=1).std(ddof=1) if len(pairs) > 1 else np.inf
            error = float(spread * np.sqrt(1 / len(pairs) + share))
            scores.append(Score(learner, measure, before, after, error, len(pairs)))
    return sorted(scores, key=lambda score: [split_versions.measure for split_versions in scores].index(score.measure))


def split(y: Codes, draws: Draws) -> tuple[Codes, Codes]:
    """Divide records at random; return (the indices of those to learn from, the indices of those to test on).

    To learn from are two thirds of every class; of large tables a sample is divided. ``y``: the classes.
    """
    sample = np.argsort(draws.uniform(y.size))[:MOST_RECORDS]
    turn = np.empty(sample.size, dtype=np.int64)
    turn[np.argsort(y[sample], kind="stable")] = np.arange(sample.size) + int(3 * draws.uniform(1)[0])
    return sample[turn % 3 > 0], sample[turn % 3 == 0]


def rarest_class(data: Microdata) -> int | None:
    """Return the index of the smallest class where classes are unequal (UNEQUAL), None otherwise."""
    counts = np.bincount(data.y)
    counts = np.where(counts > 0, counts, counts.max())
    unequal = data.response is None and counts.max() >= UNEQUAL * counts.min()
    return int(counts.argmin()) if unequal else None


# --- learners ---------------------------------------------------------------------------------------------------------


def scores(training: Microdata, unseen: Microdata, learners: Sequence[str] = CLASSIFIERS) -> list[float]:
    """Return a list of each learner's accuracy on unseen records; of R² of regressors for a numeric target."""
    return list(_measured(training, unseen, learners, None).values())


def _measured(
    training: Microdata, unseen: Microdata, learners: Sequence[str], rarest: int | None
) -> dict[tuple[str, str], float]:
    """Train each learner and return its scores on unseen records by (learner, measure).

    ``rarest``: the class for AUC and recall (None: accuracy alone).
    """
    from sfumato.learners.estimator import threads

    training = training.arranged()
    unseen = unseen.like(training.fields)
    with warnings.catch_warnings(), threads().limit(limits=1):
        warnings.simplefilter("ignore")
        if training.response is not None:
            return {(name, "R²"): _explained(name, training, unseen, training.response) for name in REGRESSORS}
        measured = {}
        for name in learners:
            chances = _chances(name, training, unseen)
            measured[name, "accuracy"] = float((chances.argmax(axis=1) == unseen.y).mean())
            if rarest is not None:
                measured |= {(name, measure): value for measure, value in _of_class(chances, unseen, rarest).items()}
    return measured


def _of_class(chances: Floats, unseen: Microdata, rarest: int) -> dict[str, float]:
    """Return a dict of AUC and recall of the rarest class, which accuracy alone would hide.

    NaN where the unseen records do not have the class, or have no other. ``chances[record, class]``: predictions.
    """
    from sklearn.metrics import roc_auc_score

    own, label = unseen.y == rarest, unseen.classes[rarest]
    both = own.any() and not own.all()
    recall = float((chances.argmax(axis=1)[own] == rarest).mean()) if own.any() else np.nan
    of = "" if len(unseen.classes) == 2 else f" of {label}"
    auc = float(roc_auc_score(own, chances[:, rarest])) if both else np.nan
    return {f"AUC{of}": auc, f"recall of {label}": recall}


def _chances(learner: str, training: Microdata, unseen: Microdata) -> Floats:
    """Train a classifier by its name and return its chance of every class for every unseen record, [record, class]."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    training_inputs, unseen_inputs = _inputs(learner, training, unseen)
    people = np.bincount(training.y, minlength=len(training.classes))
    if not vary(training_inputs).any():  # nothing to learn from but how often each class is
        return np.tile(people / len(training_inputs), (len(unseen_inputs), 1))
    if learner == "tree":
        model = grow_tree(training_inputs, training.y)
    else:
        early = "auto" if (people != 1).all() else False  # a class of one person cannot be divided
        model = {
            "naive Bayes": GaussianNB(),
            "logistic regression": LogisticRegression(max_iter=500),
            "nearest neighbours": KNeighborsClassifier(min(NEIGHBOURS, len(training_inputs))),
            "boosting": HistGradientBoostingClassifier(
                l2_regularization=SHRINKAGE, early_stopping=early, random_state=0
            ),
        }[learner].fit(training_inputs, training.y)
    chances = np.zeros((len(unseen_inputs), len(training.classes)))
    chances[:, model.classes_] = model.predict_proba(unseen_inputs)
    return chances


def _explained(learner: str, training: Microdata, unseen: Microdata, index: int) -> float:
    """Train a regressor of the field ``index`` and return its R² on unseen records."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.neighbors import KNeighborsRegressor

    training_inputs, unseen_inputs = _inputs(learner, training.without(index), unseen.without(index))
    if learner == "tree":
        model = grow_number_tree(training_inputs, training.X[:, index])
    else:
        model = {
            "linear regression": LinearRegression(),
            "nearest neighbours": KNeighborsRegressor(min(NEIGHBOURS, len(training_inputs))),
            "boosting": HistGradientBoostingRegressor(l2_regularization=SHRINKAGE, random_state=0),
        }[learner].fit(training_inputs, training.X[:, index])
    return float(model.score(unseen_inputs, unseen.X[:, index]))


def _inputs(learner: str, training: Microdata, unseen: Microdata) -> tuple[Floats, Floats]:
    """Return the columns that a learner reads, of the training and of the unseen records: two arrays [record, input].

    Codes of categories for trees; for others points, scaled by the training records' deviations.
    """
    if learner in ("tree", "boosting"):
        telling = ~np.isnan(training.X).all(axis=0)  # the library takes no column without any value
        if not telling.any():
            return np.zeros((len(training.y), 1)), np.zeros((len(unseen.y), 1))
        return training.X[:, telling], unseen.X[:, telling]
    return points(training, training), points(unseen, training)
