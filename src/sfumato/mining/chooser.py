"""Reconstruct, or mine the reports directly? The chooser tells from the reports alone.

Every recipe is fitted on two thirds of the reports and judged on the last third, three times (see `judge`): how much do
its answers on true values, as far as the reports tell them, say about the classes of held-out people? Nobody's true
value is needed, and no recipe is judged by the noise that it was fitted to. Of recipes within a standard error of the
best, the first is taken: name the simplest first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from sfumato.channels.base import Channel
from sfumato.domain import Floats, Interval, as_array
from sfumato.mining.direct import DirectClassifier
from sfumato.mining.discriminant import LinearDiscriminant
from sfumato.mining.estimator import Channels
from sfumato.mining.joint.mixture_model import MixtureModel
from sfumato.mining.joint.model import generator
from sfumato.mining.judge import Judge, held_out_logs

FOLDS, DRAWS, MOST_JUDGED = 3, 40, 1_500
SMOOTH, DETAILED = (120, 2.0), (60, 0.2)


class Chooser(ClassifierMixin, BaseEstimator):
    """The recipe that will serve best on true values, chosen and fitted on reports.

    channels, label_channel: as in JointModel.
    recipes: classifiers by name, fitted on reports; None takes mixtures of two smoothnesses (and a linear discriminant
        for numbers) on the side of reconstruction, naive Bayes, a tree and logistic regression on the direct side.

    Fitted: ``scores_`` (held-out log-likelihood a record, by recipe), ``chosen_`` (the best one), ``estimator_``
    (the best one, fitted on all reports).
    """

    def __init__(
        self,
        channels: Channels = None,
        *,
        recipes: Mapping[str, Any] | None = None,
        label_channel: Channel | None = None,
        random_state: Any = None,
    ) -> None:
        self.channels = channels
        self.recipes = recipes
        self.label_channel = label_channel
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Judge every recipe, and fit the best one on all reports."""
        recipes, labels = self._recipes(), np.asarray(as_array(y))
        logs = self._judged(recipes, X, labels, generator(self.random_state))
        self.scores_ = {name: float(each.mean()) for name, each in logs.items()}
        best = max(self.scores_, key=lambda name: self.scores_[name])
        self.chosen_ = next(name for name in recipes if about_as_good(logs[name], logs[best]))
        self.estimator_ = clone(recipes[self.chosen_]).fit(X, y)
        self.classes_ = self.estimator_.classes_
        self.n_features_in_ = self.estimator_.n_features_in_
        return self

    def _judged(
        self, recipes: dict[str, Any], X: Any, y: npt.NDArray[Any], rng: np.random.Generator
    ) -> dict[str, Floats]:
        """The log-likelihoods of held-out records under each recipe, in the same order."""
        judge = Judge(self.channels, X, rng)
        found: dict[str, list[Floats]] = {name: [] for name in recipes}
        splits = StratifiedKFold(FOLDS, shuffle=True, random_state=int(rng.integers(2**31 - 1)))
        for fitted, held in splits.split(np.zeros(y.size), y):
            held = rng.permutation(held)[:MOST_JUDGED]
            records = judge.draws(held, DRAWS)
            for name, recipe in recipes.items():
                found[name].append(judged(clone(recipe).fit(rows_of(X, fitted), y[fitted]), records, y[held]))
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def _recipes(self) -> dict[str, Any]:
        if self.recipes is None:
            return {**reconstructing(self.channels, self.label_channel), **direct(self.channels)}
        if not self.recipes:
            raise ValueError("recipes is empty; name at least one classifier, or leave it out for the usual ones")
        return dict(self.recipes)

    @property
    def reconstructs_(self) -> bool:
        """Whether the chosen recipe reconstructs."""
        check_is_fitted(self, "estimator_")
        return not isinstance(self.estimator_, DirectClassifier)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Classes of true values by the chosen recipe."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict(X))

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Class probabilities of true values by the chosen recipe."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_proba(X))

    def verdict(self) -> str:
        """The choice in words, with the estimated accuracies."""
        check_is_fitted(self, "estimator_")
        way = "Reconstruct" if self.reconstructs_ else "Mine the reports directly"
        ranked = sorted(self.scores_.items(), key=lambda pair: -pair[1])
        listed = ", ".join(f"{name} {score:.4f}" for name, score in ranked)
        return f"{way}: {self.chosen_}. Log-likelihood of held-out classes, a record: {listed}."


def about_as_good(logs: Floats, best: Floats) -> bool:
    """Whether the mean is within a standard error of the difference of the best one's."""
    behind = best - logs
    return bool(behind.mean() <= behind.std() / np.sqrt(behind.size))


def judged(model: Any, records: Any, y: npt.NDArray[Any]) -> Floats:
    """Log-likelihoods of classes y under a fitted model's answers on draws of the true values behind the records."""
    answers = np.searchsorted(model.classes_, model.predict(records)).reshape(y.size, -1)
    return held_out_logs(answers, np.searchsorted(model.classes_, y), model.classes_.size)


def rows_of(X: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Some records of an array or a frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.take(rows) if hasattr(X, "take") and not isinstance(X, np.ndarray) else X[rows]


def reconstructing(channels: Channels, label_channel: Channel | None = None) -> dict[str, Any]:
    """Recipes that reconstruct: mixtures of two smoothnesses, and moments where all columns are numbers."""
    given = list(channels.values()) if isinstance(channels, Mapping) else list(channels or ())
    numbers = given and all(isinstance(getattr(one, "domain", None), Interval) for one in given)
    linear = {"reconstruct, linear": LinearDiscriminant(channels)} if numbers and label_channel is None else {}
    mixtures = {
        f"reconstruct, {words}": MixtureModel(
            channels,
            label_channel=label_channel,
            components=components,
            pseudo_count=pseudo_count,
            members=3,
            random_state=0,
        )
        for words, (components, pseudo_count) in {"smooth": SMOOTH, "in detail": DETAILED}.items()
    }
    return {**linear, **mixtures}


def direct(channels: Channels) -> dict[str, DirectClassifier]:
    """Recipes that take reports as true values."""
    tree = DecisionTreeClassifier(min_samples_leaf=0.01, random_state=0)
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    return {
        "direct, naive Bayes": DirectClassifier(None, channels),
        "direct, tree": DirectClassifier(tree, channels),
        "direct, logistic regression": DirectClassifier(logistic, channels),
    }
