"""What is still learnt from a release, judged on records that neither it nor its tree has seen.

Again and again a third of the records is set aside, class by class, and the others are released by the same recipe.
Every learner trains on that release, and on the true records that it was made of; both predict the true records set
aside. Even the order of categories, which trees cut, comes from what the learner is given.

Splits overlap, so a mean of J of them is less certain than J separate trials would make it. The standard error is that
of Nadeau and Bengio (2003): s·√(1/J + m/l), with l records to learn from and m to test on.
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

MOST_RECORDS, FEWEST_RECORDS = 20_000, 20
SPLITS, FEWEST_SPLITS, RECORDS = 8, 3, 24_000
"""Eight splits up to 3,000 records, three from 8,000: about as many records in all."""
UNEQUAL = 2.0
"""AUC and recall are told where the largest class has at least so many times the records of the smallest."""
CLASSIFIERS = ("tree", "naive Bayes", "logistic regression", "nearest neighbours")
LEARNERS = (*CLASSIFIERS, "boosting")
REGRESSORS = ("tree", "linear regression", "nearest neighbours", "boosting")
NEIGHBOURS = 15


@dataclass(frozen=True)
class Score:
    """How well a learner does on unseen records, trained on the original and on the release: means over splits, and
    the standard error of their difference. The measure is accuracy, AUC, the recall of the rarest class, or R²."""

    learner: str
    measure: str
    original: float
    released: float
    error: float
    splits: int

    @property
    def lost(self) -> float:
        return self.original - self.released

    def in_points(self) -> str:
        """0.4 ± 0.6 points lost, or gained."""
        change = "gained" if self.lost < -0.0005 else "lost"
        return f"{abs(100 * self.lost):.1f} ± {100 * self.error:.1f} points {change}"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "lost": self.lost}


def held_out(
    release: Release, draws: Draws, splits: int | None = None, learners: Sequence[str] = LEARNERS
) -> list[Score]:
    """Every learner and measure; nothing without a target, or of fewer than twenty records."""
    original, n = release.original, len(release.original.y)
    if release.recipe is None or original.target is None or n < FEWEST_RECORDS:
        return []
    rarest, found = rarest_class(original), []
    count = splits or int(np.clip(RECORDS // n, FEWEST_SPLITS, SPLITS))
    for learn, test in [split(original.y, draws) for _ in range(count)]:
        released = release_part(release.recipe, learn, draws, release.terms.attempts)
        unseen = original.take(test)
        if min(np.unique(y).size for y in (original.y[learn], released.y)) > 1:
            found.append([_measured(data, unseen, learners, rarest) for data in (original.take(learn), released)])
    return _summed_up(found, test.size / learn.size)


def _summed_up(found: list[list[dict[tuple[str, str], float]]], share: float) -> list[Score]:
    """Means over the splits; a split whose rarest class is all on one side has no AUC and no recall."""
    scores = []
    for learner, measure in found[0][0] if found else ():
        pairs = np.array([[version[learner, measure] for version in one] for one in found])
        pairs = pairs[~np.isnan(pairs).any(axis=1)]
        if len(pairs):
            before, after = pairs.mean(axis=0).tolist()
            spread = np.diff(pairs, axis=1).std(ddof=1) if len(pairs) > 1 else np.inf
            error = float(spread * np.sqrt(1 / len(pairs) + share))
            scores.append(Score(learner, measure, before, after, error, len(pairs)))
    return sorted(scores, key=lambda score: [one.measure for one in scores].index(score.measure))


def split(y: Codes, draws: Draws) -> tuple[Codes, Codes]:
    """Two thirds of every class to learn from, and the others, in random order; of large tables a sample."""
    sample = np.argsort(draws.uniform(y.size))[:MOST_RECORDS]
    turn = np.empty(sample.size, dtype=np.int64)
    turn[np.argsort(y[sample], kind="stable")] = np.arange(sample.size) + int(3 * draws.uniform(1)[0])
    return sample[turn % 3 > 0], sample[turn % 3 == 0]


def rarest_class(data: Microdata) -> int | None:
    """The smallest class, where classes are unequal."""
    counts = np.bincount(data.y)
    counts = np.where(counts > 0, counts, counts.max())
    unequal = data.response is None and counts.max() >= UNEQUAL * counts.min()
    return int(counts.argmin()) if unequal else None


# --- learners ---------------------------------------------------------------------------------------------------------


def scores(training: Microdata, unseen: Microdata, learners: Sequence[str] = CLASSIFIERS) -> list[float]:
    """Accuracy on unseen records of each learner; of a number, R² of the regressors."""
    return list(_measured(training, unseen, learners, None).values())


def _measured(
    training: Microdata, unseen: Microdata, learners: Sequence[str], rarest: int | None
) -> dict[tuple[str, str], float]:
    from sfumato.learners.estimator import threads

    training = training.arranged()
    unseen = unseen.like(training.fields)
    with warnings.catch_warnings(), threads().limit(limits=1):
        warnings.simplefilter("ignore")
        if training.response is not None:
            return {(name, "R²"): _explained(name, training, unseen, training.response) for name in REGRESSORS}
        found = {}
        for name in learners:
            chances = _chances(name, training, unseen)
            found[name, "accuracy"] = float((chances.argmax(axis=1) == unseen.y).mean())
            if rarest is not None:
                found |= {(name, measure): value for measure, value in _of_class(chances, unseen, rarest).items()}
    return found


def _of_class(chances: Floats, unseen: Microdata, rarest: int) -> dict[str, float]:
    """How well the rarest class is told from the others, and how much of it is found."""
    from sklearn.metrics import roc_auc_score

    own, label = unseen.y == rarest, unseen.classes[rarest]
    both = own.any() and not own.all()
    recall = float((chances.argmax(axis=1)[own] == rarest).mean()) if own.any() else np.nan
    of = "" if len(unseen.classes) == 2 else f" of {label}"
    auc = float(roc_auc_score(own, chances[:, rarest])) if both else np.nan
    return {f"AUC{of}": auc, f"recall of {label}": recall}


def _chances(learner: str, training: Microdata, unseen: Microdata) -> Floats:
    """The probability of every class for every unseen record."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    known, asked = _inputs(learner, training, unseen)
    people = np.bincount(training.y, minlength=len(training.classes))
    if not vary(known).any():  # nothing to learn from but how often each class is
        return np.tile(people / len(known), (len(asked), 1))
    if learner == "tree":
        model = grow_tree(known, training.y)
    else:
        early = "auto" if (people != 1).all() else False  # a class of one person cannot be divided
        model = {
            "naive Bayes": GaussianNB(),
            "logistic regression": LogisticRegression(max_iter=500),
            "nearest neighbours": KNeighborsClassifier(min(NEIGHBOURS, len(known))),
            "boosting": HistGradientBoostingClassifier(
                l2_regularization=SHRINKAGE, early_stopping=early, random_state=0
            ),
        }[learner].fit(known, training.y)
    chances = np.zeros((len(asked), len(training.classes)))
    chances[:, model.classes_] = model.predict_proba(asked)
    return chances


def _explained(learner: str, training: Microdata, unseen: Microdata, place: int) -> float:
    """R² on unseen records."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.neighbors import KNeighborsRegressor

    known, asked = _inputs(learner, training.without(place), unseen.without(place))
    if learner == "tree":
        model = grow_number_tree(known, training.X[:, place])
    else:
        model = {
            "linear regression": LinearRegression(),
            "nearest neighbours": KNeighborsRegressor(min(NEIGHBOURS, len(known))),
            "boosting": HistGradientBoostingRegressor(l2_regularization=SHRINKAGE, random_state=0),
        }[learner].fit(known, training.X[:, place])
    return float(model.score(asked, unseen.X[:, place]))


def _inputs(learner: str, training: Microdata, unseen: Microdata) -> tuple[Floats, Floats]:
    """Codes for trees, points for the others, in the training records' own deviations."""
    if learner in ("tree", "boosting"):
        telling = ~np.isnan(training.X).all(axis=0)  # the library takes no column without any value
        if not telling.any():
            return np.zeros((len(training.y), 1)), np.zeros((len(unseen.y), 1))
        return training.X[:, telling], unseen.X[:, telling]
    return points(training, training), points(unseen, training)
