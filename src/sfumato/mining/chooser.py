"""Reconstruct, or mine the reports directly? The chooser tells from the reports alone.

Every recipe is fitted on two thirds of the reports and judged on the last third, three times: how much do its answers
on true values, as far as the reports tell them, say about the classes of held-out people? Nobody's true value is
needed, and no recipe is judged by the noise that it was fitted to.

    score = max_λ mean log[λ · P(h(x) = y | w) + (1 − λ) · P(y)]

over held-out records (w, y). P(x | w) comes from a mixture fitted to the reports without their classes, so that the
judge favours no classifier; h(x) are the classifier's answers on draws from it, right with probability λ and else no
better than the classes' shares. Only answers count, not how sure a classifier is of them: a direct classifier that
noise made too shy to leave the larger class tells nothing by its answers, and scores so.

Of recipes within a standard error of the best, the first is taken: name the simplest first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from sfumato.channels.base import Channel
from sfumato.counts import Fold, Reports
from sfumato.domain import Floats, Interval
from sfumato.domain.checked import given, given_numbers, given_one_of, given_rows, given_table
from sfumato.mining import LEARNERS
from sfumato.mining.direct import DirectClassifier
from sfumato.mining.discriminant import LinearDiscriminant
from sfumato.mining.estimator import Channels, Column, Learner, class_codes_in, given_channels, learner_named
from sfumato.mining.joint.grid import Resolution, draw_columns, shift_of
from sfumato.mining.joint.mixture import MixtureFit
from sfumato.mining.joint.model import MIXTURE_RESOLUTION, MixtureModel
from sfumato.reconstruction import Axis

FOLDS, TRIES, DRAWS, MOST_JUDGED = 3, 32, 40, 1_500
SMOOTH, DETAILED = (120, 2.0), (60, 0.2)
RIGHT = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)


class Chooser(Learner):
    """The recipe that will serve best on true values, chosen and fitted on reports.

    channels, label_channel: as in JointModel.
    recipes: classifiers by name, fitted on reports; None takes mixtures of two smoothnesses (and a linear discriminant
        for numbers) on the side of reconstruction, naive Bayes, a tree and logistic regression on the direct side.
        Classifiers of scikit-learn are taken as `DirectClassifier`.

    Fitted: ``scores_`` (held-out log-likelihood a record, by recipe), ``chosen_`` (the best one), ``estimator_``
    (the best one, fitted on all reports).
    """

    form = "chooser"

    def __init__(
        self, channels: Channels = None, *, recipes: Mapping[str, Any] | None = None,
        label_channel: Channel | None = None, random_state: Any = None,
    ) -> None:
        self.channels = channels
        self.recipes = recipes
        self.label_channel = label_channel
        self.random_state = random_state

    def _learn(self, reports: Reports, rng: np.random.Generator) -> None:
        recipes = self._recipes()
        logs = judged_recipes(recipes, reports.sampled(), self.classes_, rng)
        self.scores_ = {name: float(each.mean()) for name, each in logs.items()}
        best = max(self.scores_, key=lambda name: self.scores_[name])
        self.chosen_ = next(name for name in recipes if about_as_good(logs[name], logs[best]))
        self.estimator_ = fitted(recipes[self.chosen_], reports, self.classes_)

    def _recipes(self) -> dict[str, Learner]:
        if self.recipes is None:
            return {**reconstructing(self.channels, self.label_channel), **direct(self.channels)}
        if not self.recipes:
            raise ValueError("recipes is empty; name at least one classifier, or leave it out for the usual ones")
        return {
            name: each if isinstance(each, Learner) else DirectClassifier(each, self.channels)
            for name, each in self.recipes.items()
        }

    @property
    def reconstructs_(self) -> bool:
        """Whether the chosen recipe reconstructs."""
        check_is_fitted(self)
        return not isinstance(self.estimator_, DirectClassifier)

    def _probabilities(self, columns: list[Column]) -> Floats:
        return self.estimator_._probabilities(columns)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Classes of true values by the chosen recipe."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def verdict(self) -> str:
        """The choice in words, with the held-out scores."""
        check_is_fitted(self)
        way = "Reconstruct" if self.reconstructs_ else "Mine the reports directly"
        ranked = sorted(self.scores_.items(), key=lambda pair: -pair[1])
        scores = ", ".join(f"{name} {score:.4f}" for name, score in ranked)
        return f"{way}: {self.chosen_}. Log-likelihood of held-out classes, a record: {scores}."

    def _state(self) -> dict[str, Any]:
        kind, model = type(self.estimator_).__name__, self.estimator_.to_dict()
        return {"scores": self.scores_, "chosen": self.chosen_, "kind": kind, "estimator": model}

    @classmethod
    def _from_state(cls, data: Mapping[str, Any]) -> Self:
        model = cls()
        scores = given_table(data, "scores")
        numbers = given_numbers({"scores": list(scores.values())}, "scores", (len(scores),))
        model.scores_ = dict(zip(scores, numbers.tolist(), strict=True))
        model.chosen_ = str(given(data, "chosen"))
        chosen = given_table(data, "estimator")
        for key in ("attributes", "classes"):
            if list(given_rows(chosen, key)) != list(data[key] or ()):
                raise ValueError(f"{key} of the chosen model differ from those of the chooser")
        kinds = [kind for kind in LEARNERS if kind != "Chooser"]
        model.estimator_ = learner_named(given_one_of(data, "kind", kinds)).from_dict(chosen)
        return model


def about_as_good(logs: Floats, best: Floats) -> bool:
    """Whether the mean is within a standard error of the difference of the best one's."""
    behind = best - logs
    return bool(behind.mean() <= behind.std() / np.sqrt(behind.size))


def fitted(recipe: Learner, reports: Reports, classes: npt.NDArray[Any]) -> Learner:
    """A copy of the recipe that learned from reports; it speaks of the classes by their names."""
    model: Learner = clone(recipe).fit(reports)
    model.classes_ = classes
    return model


def judged_recipes(
    recipes: Mapping[str, Learner], reports: Reports, classes: npt.NDArray[Any], rng: np.random.Generator
) -> dict[str, Floats]:
    """The log-likelihoods of held-out records under each recipe, in the same order."""
    judge = Judge(reports, rng)
    codes = class_codes_in(reports)
    found: dict[str, list[Floats]] = {name: [] for name in recipes}
    for fold in folds_of(reports, codes):
        held = rng.permutation(np.flatnonzero(reports.chosen(fold)))[:MOST_JUDGED]
        rest = reports.of_records(np.flatnonzero(reports.chosen(~fold)))
        draws = judge.draws(held, DRAWS)
        for name, recipe in recipes.items():
            model = clone(recipe).fit(rest)
            answers = np.argmax(model._probabilities(draws), axis=1).reshape(held.size, -1)
            found[name].append(held_out_logs(answers, codes[held], classes.size))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def folds_of(reports: Reports, codes: npt.NDArray[np.int64]) -> list[Fold]:
    """Folds that each leave records of every class to learn from: the first of a few ways to cut that do."""
    known = np.unique(codes).size
    for salt in range(4, 4 + TRIES):
        folds = [Fold(number, FOLDS, salt=salt) for number in range(FOLDS)]
        parts = [reports.chosen(fold) for fold in folds]
        if all(held.any() and np.unique(codes[~held]).size == known for held in parts):
            return folds
    records = f"{len(reports)} sample{'s' if len(reports) > 1 else ''}"
    raise ValueError(f"{records} cannot be split into {FOLDS} folds with every class to judge recipes by; give more")


class Judge:
    """Draws of the true values behind reports, given the reports only."""

    def __init__(self, reports: Reports, rng: np.random.Generator) -> None:
        axes = [Axis(reports.column(name)) for name in reports.names]
        cut = Resolution(MIXTURE_RESOLUTION.cells, MIXTURE_RESOLUTION.coarseness, shift_of(0))
        self.rng = rng
        self.fit = MixtureFit(reports, axes, cut, rng, by_class=False)
        self.fit.run()

    def draws(self, rows: npt.NDArray[np.int64], each: int) -> list[Column]:
        """`each` draws of the true values behind each of these records, one record after another, by column."""
        fit, cells = self.fit, self.fit.cells
        reports = fit.rows_of(rows)
        p_report = fit.p_report()
        log_mass = np.log(fit.prior) + sum(np.log(p_report[j, reports[:, j]]) for j in range(len(cells)))
        mass = np.exp(log_mass - log_mass.max(axis=1, keepdims=True))
        records = np.repeat(np.arange(rows.size), each)
        component = draw_columns(mass.T, records, self.rng)
        columns = []
        for j, cut in enumerate(cells):
            posterior = fit.tables[j][reports[records, j]] * fit.thetas[j][component]
            below = np.cumsum(posterior, axis=1, dtype=np.float64)
            place = (below < self.rng.random(records.size)[:, None] * below[:, -1:]).sum(axis=1)
            columns.append(cut.draw(np.minimum(place, cut.size - 1).astype(np.int64), self.rng))
        return columns


def held_out_logs(answers: npt.NDArray[np.int64], y: npt.NDArray[np.int64], classes: int) -> Floats:
    """The log-likelihood of each record's class y, from `answers[record, draw]`, at the best λ."""
    agreeing = (answers == y[:, None]).mean(axis=1)
    share = (np.bincount(y, minlength=classes) / max(y.size, 1))[y]
    found = [np.log(right * agreeing + (1.0 - right) * share) for right in RIGHT]
    return np.asarray(max(found, key=lambda logs: float(logs.mean()) if logs.size else 0.0))


def reconstructing(channels: Channels, label_channel: Channel | None = None) -> dict[str, Learner]:
    """Recipes that reconstruct: mixtures of two smoothnesses, and moments where all columns are numbers."""
    given = given_channels(channels)
    numbers = given and all(isinstance(getattr(one, "domain", None), Interval) for one in given)
    linear = {"reconstruct, linear": LinearDiscriminant(channels)} if numbers and label_channel is None else {}
    mixtures = {
        f"reconstruct, {words}": MixtureModel(
            channels, label_channel=label_channel, components=components, pseudo_count=pseudo_count, members=3,
            random_state=0,
        )
        for words, (components, pseudo_count) in {"smooth": SMOOTH, "in detail": DETAILED}.items()
    }
    return {**linear, **mixtures}


def direct(channels: Channels) -> dict[str, Learner]:
    """Recipes that take reports as true values."""
    tree = DecisionTreeClassifier(min_samples_leaf=0.01, random_state=0)
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    return {
        "direct, naive Bayes": DirectClassifier(None, channels),
        "direct, tree": DirectClassifier(tree, channels),
        "direct, logistic regression": DirectClassifier(logistic, channels),
    }
