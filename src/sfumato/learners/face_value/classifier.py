"""Take reports at face value (LKT08 §6): any scikit-learn classifier on them, as if they were true values.

What it learns is P(y | w). On true values that is biased: noise flattens what depends on a column, roughly by the
factor Var x / Var w, and hides what is narrower than the noise. It costs no reconstruction, and with few records or
little noise it may serve better; `Chooser` tells from the reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sfumato.counts import Reports, encode_known
from sfumato.domain import Floats, as_numbers
from sfumato.domain.checked import given_labels, given_numbers, given_rows, given_table
from sfumato.learners.classes import class_codes_in
from sfumato.learners.device import DeviceForm
from sfumato.learners.estimator import Channels, Column, Learner
from sfumato.learners.face_value.plain import Encoded, PlainAnswers, plain_answers
from sfumato.learners.moments import LEAST_VARIANCE
from sfumato.learners.tree.model import Feature, Tree
from sfumato.learners.tree.text import device_form
from sfumato.prose import Voice

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

    # --- on devices ---------------------------------------------------------------------------------------------

    def device_form(self, say: Voice) -> DeviceForm:
        plain, classes = self._plain(), self.device_classes()
        if plain.form == "tree":
            return device_form(*self._tree(plain), classes, say)
        terms = (plain.device_term(place, source) for place, source in enumerate(self._encodings()))
        return DeviceForm.sum(classes, plain.start, terms)

    def deciding_tree(self) -> tuple[Tree, list[Feature]] | None:
        plain = self._plain()
        return self._tree(plain) if plain.form == "tree" else None

    def device_classes(self) -> list[Any]:
        return list(self.classes_[self.estimator_.classes_].tolist())

    def _plain(self) -> PlainAnswers:
        """Return the estimator as numbers."""
        found = self.estimator_
        if isinstance(found, PlainAnswers):
            return found
        return PlainAnswers(plain_answers(found), len(self._encodings()), len(self.classes_))

    def _encodings(self) -> list[Encoded]:
        """Return what is behind each number that the estimator reads."""
        return [
            source
            for j, labels in enumerate(self.labels_)
            for source in (
                [Encoded(j, self.fill_[j])] if labels is None
                else [Encoded(j, 0.0, code, label) for code, label in enumerate(labels)]
            )
        ]

    def _tree(self, plain: PlainAnswers) -> tuple[Tree, list[Feature]]:
        features = [
            Feature(name, np.array([0.0, 1.0]) if labels is None else None, labels)
            for name, labels in zip(self.attribute_names_, self.labels_, strict=True)
        ]
        return plain.as_tree(features, self._encodings()), features

    # --- plain data ---------------------------------------------------------------------------------------------

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
