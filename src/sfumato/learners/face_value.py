"""Direct mining (LKT08 §6): any scikit-learn classifier on the reports, as if they were true values.

What it learns is P(y | w). On true values that is biased: noise flattens what depends on a column, roughly by the
factor Var x / Var w, and hides what is narrower than the noise. It costs no reconstruction, and with few records or
little noise it may serve better; `Chooser` tells from the reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sfumato.counts import Reports, encode_known
from sfumato.domain import Floats, as_numbers
from sfumato.domain.checked import given_labels, given_numbers, given_one_of, given_rows, given_table, given_wholes
from sfumato.learners.discriminant import linear_scores
from sfumato.learners.estimator import Channels, Column, Learner, class_codes_in
from sfumato.learners.moments import LEAST_VARIANCE, TINY
from sfumato.learners.naive_bayes import NormalDensity, given_logs, log_joint

Labels = tuple[Any, ...] | None


class FaceValueClassifier(Learner):
    """A scikit-learn classifier fitted on reports, and applied to true values (or to reports) as they are.

    estimator: any classifier; None takes gaussian naive Bayes, whose class means noise leaves unbiased, of scaled
        columns: by itself it adds a part of the largest variance to all of them.
    channels: only used to know which columns ``<name>.level`` are levels, which are left out.

    Numbers go in as they are (missing: the mean of the reports), labels as one column each. Decision trees, (scaled)
    gaussian naive Bayes and (scaled) logistic regression can be shipped.
    """

    form = "face-value"

    def __init__(self, estimator: Any = None, channels: Channels = None) -> None:
        self.estimator = estimator
        self.channels = channels

    def _takes_reports_as_true(self) -> bool:
        return True

    def _learn(self, reports: Reports, rng: np.random.Generator) -> None:
        reports = reports.sampled()
        columns = [reports.values(name) for name in reports.names]
        self.labels_: list[Labels] = [reports.column(name).labels for name in reports.names]
        self.fill_ = [filling(column) for column in columns]
        model = clone(make_pipeline(StandardScaler(), GaussianNB()) if self.estimator is None else self.estimator)
        weight = {} if reports.weights is None else weight_argument(model, reports.weights)
        self.estimator_ = model.fit(self._encoded(columns), class_codes_in(reports), **weight)
        if self.estimator is None:  # where no column varies, it has nothing to add a part of
            model[-1].var_ = np.maximum(model[-1].var_, LEAST_VARIANCE)

    def _encoded(self, columns: list[Column]) -> Floats:
        parts = []
        for column, labels, fill in zip(columns, self.labels_, self.fill_, strict=True):
            if labels is None:
                numbers = as_numbers(column)
                parts.append(np.where(np.isnan(numbers), fill, numbers)[:, None])
            else:
                parts.append((encode_known(labels, column)[:, None] == np.arange(len(labels))).astype(float))
        return np.hstack(parts)

    def _probabilities(self, columns: list[Column]) -> Floats:
        """The estimator's class probabilities, with values taken as reports."""
        found = np.zeros((columns[0].size, self.classes_.size))
        found[:, self.estimator_.classes_] = self.estimator_.predict_proba(self._encoded(columns))
        return found

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The estimator's classes."""
        check_is_fitted(self)
        columns = self._columns(X, reset=False)[1]
        return np.asarray(self.classes_[self.estimator_.predict(self._encoded(columns))])

    def _state(self) -> dict[str, Any]:
        labels = [None if each is None else list(each) for each in self.labels_]
        return {"labels": labels, "fill": self.fill_, "estimator": plain_answers(self.estimator_)}

    @classmethod
    def _from_state(cls, data: Mapping[str, Any]) -> Self:
        model = cls()
        columns, classes = len(data["attributes"]), len(given_rows(data, "classes"))
        model.labels_ = [
            None if each is None else given_labels({"labels": each}, "labels")
            for each in given_rows(data, "labels", columns)
        ]
        model.fill_ = given_numbers(data, "fill", (columns,)).tolist()
        encoded = sum(1 if each is None else len(each) for each in model.labels_)
        model.estimator_ = PlainAnswers(given_table(data, "estimator"), encoded, classes)
        return model


def filling(column: Column) -> float:
    """What stands for a missing number: the mean of the others."""
    if column.dtype.kind not in "iuf":
        return 0.0
    known = column[~np.isnan(column.astype(np.float64))]
    return float(known.mean()) if known.size else 0.0


def weight_argument(model: Any, weight: Floats) -> dict[str, Floats]:
    """`sample_weight` for a classifier, or for the last step of a pipeline."""
    name, last = model.steps[-1] if isinstance(model, Pipeline) else ("", model)
    if not has_fit_parameter(last, "sample_weight"):
        raise TypeError(
            f"{type(last).__name__} takes no sample_weight; leave the weights out or use another classifier"
        )
    return {f"{name}__sample_weight" if name else "sample_weight": weight}


class PlainAnswers:
    """A fitted classifier as numbers: what `plain_answers` wrote, answering as the classifier did."""

    def __init__(self, data: Mapping[str, Any], columns: int, classes: int) -> None:
        self.form = given_one_of(data, "form", ("tree", "normal", "linear"))
        self.classes_ = given_wholes(data, "classes", 0, classes - 1)
        known = self.classes_.size
        if len(set(self.classes_.tolist())) < max(known, 1):
            raise ValueError("classes of the estimator are none, or one of them stands there twice")
        if self.form == "tree":
            self.data = _nodes(data, columns, known)
        elif self.form == "normal":
            self.data = {"log_prior": _log_prior(data, known)}
            self.densities = _densities(data, columns, known)
        else:
            self.data = {"coef": given_numbers(data, "coef", (known, columns))}
            self.data["intercept"] = given_numbers(data, "intercept", (known,))

    def scores(self, X: Floats) -> Floats:
        """Shares of classes in leaves, or logarithms up to what all classes have in common."""
        if self.form == "tree":
            return np.asarray(self.data["shares"][self._leaves(X)])
        if self.form == "normal":
            return log_joint(self.data["log_prior"], self.densities, list(X.T))
        return linear_scores(X, self.data["coef"], self.data["intercept"])

    def predict_proba(self, X: Floats) -> Floats:
        scores = self.scores(X)
        return scores if self.form == "tree" else np.asarray(softmax(scores, axis=1))

    def predict(self, X: Floats) -> npt.NDArray[Any]:
        return np.asarray(self.classes_[np.argmax(self.scores(X), axis=1)])

    def _leaves(self, X: Floats) -> npt.NDArray[np.int64]:
        left, right, column = self.data["left"], self.data["right"], self.data["column"]
        place = np.zeros(len(X), np.int64)
        while (going := np.flatnonzero(left[place] >= 0)).size:
            node = place[going]
            value = X[going, column[node]].astype(np.float32)  # scikit-learn's trees compare so
            place[going] = np.where(value <= self.data["cut"][node], left[node], right[node])
        return place


def _log_prior(data: Mapping[str, Any], classes: int) -> Floats:
    prior = given_numbers(data, "prior", (classes,), 0.0)
    return given_logs(data, "log_prior", np.log(np.maximum(prior, TINY)))


def _densities(data: Mapping[str, Any], columns: int, classes: int) -> list[NormalDensity]:
    """One normal density a column."""
    mean = given_numbers(data, "mean", (classes, columns))
    variance = given_numbers(data, "variance", (classes, columns), TINY)
    peak = given_logs(data, "peak", NormalDensity.of(mean, variance).peak)
    return [NormalDensity(*column) for column in zip(mean.T, variance.T, peak.T, strict=True)]


def _nodes(data: Mapping[str, Any], columns: int, classes: int) -> dict[str, npt.NDArray[Any]]:
    """The nodes of a tree: children after their parents, and every test of a column there is."""
    nodes = len(given_rows(data, "left"))
    left, right = (given_wholes(data, side, -1, nodes - 1, nodes) for side in ("left", "right"))
    inner = np.flatnonzero(left >= 0)
    column = given_wholes(data, "column", -2, columns - 1, nodes)
    if not nodes or (left[inner] <= inner).any() or (right[inner] <= inner).any() or (column[inner] < 0).any():
        raise ValueError("a node of the tree does not come before its children, or tests no column")
    cut = given_numbers(data, "cut", (nodes,))
    shares = given_numbers(data, "shares", (nodes, classes), 0.0)
    return {"left": left, "right": right, "column": column, "cut": cut, "shares": shares}


def plain_answers(model: Any) -> dict[str, Any]:
    """A fitted decision tree, (scaled) gaussian naive Bayes or (scaled) logistic regression as plain data."""
    scaled = isinstance(model, Pipeline) and [type(step) for _, step in model.steps[:-1]] == [StandardScaler]
    last = model.steps[-1][1] if scaled else model
    if isinstance(last, LogisticRegression):
        found = _plain_linear(last, model.steps[0][1] if scaled else None)
    elif isinstance(last, GaussianNB):
        found = _plain_normal(last, model.steps[0][1] if scaled else None)
    elif isinstance(model, DecisionTreeClassifier):
        found = _plain_tree(model.tree_)
    else:
        usable = "a decision tree, (scaled) gaussian naive Bayes or (scaled) logistic regression"
        raise TypeError(f"a {type(last).__name__} cannot be shipped; use {usable}")
    found["classes"] = last.classes_
    return {name: part if isinstance(part, str) else np.asarray(part).tolist() for name, part in found.items()}


def _plain_normal(model: GaussianNB, scaler: StandardScaler | None) -> dict[str, Any]:
    """Densities of values as they are."""
    mean = model.theta_ if scaler is None else model.theta_ * scaler.scale_ + scaler.mean_
    variance = model.var_ if scaler is None else model.var_ * scaler.scale_**2
    prior = {"prior": model.class_prior_, "log_prior": np.log(np.maximum(model.class_prior_, TINY))}
    peak = NormalDensity.of(mean, variance).peak
    return {"form": "normal", "mean": mean, "variance": variance, "peak": peak, **prior}


def _plain_linear(model: LogisticRegression, scaler: StandardScaler | None) -> dict[str, Any]:
    """One row of coefficients a class, of values as they are; of two classes the first has none."""
    coef = model.coef_ if scaler is None else model.coef_ / scaler.scale_
    intercept = model.intercept_ if scaler is None else model.intercept_ - coef @ scaler.mean_
    if len(model.classes_) == 2:
        coef, intercept = np.vstack([np.zeros_like(coef), coef]), np.append(0.0, intercept)
    return {"form": "linear", "coef": coef, "intercept": intercept}


def _plain_tree(tree: Any) -> dict[str, Any]:
    shares = tree.value[:, 0] / tree.value[:, 0].sum(axis=1, keepdims=True)
    nodes = {"left": tree.children_left, "right": tree.children_right, "column": tree.feature, "cut": tree.threshold}
    return {"form": "tree", "shares": shares, **nodes}
