"""`FaceValueClassifier`: any scikit-learn classifier, fitted to reports as if they were true values (LKT08 §6).

It learns P(class | report) instead of P(class | true value). On true values that is biased: noise flattens the effect
of a column, roughly by the factor Var x / Var w, and hides what is narrower than the noise. It costs no reconstruction,
and with few records or little noise it may predict better; `Chooser` compares the two by the reports alone.
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
from sfumato.learners.face_value.plain import EncodedColumn, PlainClassifier, plain_data
from sfumato.learners.moments import LEAST_VARIANCE
from sfumato.learners.tree.model import Feature, Tree
from sfumato.learners.tree.text import device_form
from sfumato.prose import Voice

Labels = tuple[Any, ...] | None


class FaceValueClassifier(Learner):
    """A scikit-learn classifier that is fitted to reports and applied to true values as if both were the same.

    estimator: any classifier; None: gaussian naive Bayes, whose class means noise leaves unbiased, of scaled columns,
        because by itself it adds a part of the largest variance to all of them.
    channels: one entry a column, or a mapping from column name; they only say which columns ``<name>.level`` are levels
        and are left out, and which reports cannot be read as values. None: all columns are used.

    The estimator reads numbers as they are (missing: the mean of the reports) and labels as one column of 0 and 1 each.
    Decision trees, (scaled) gaussian naive Bayes and (scaled) logistic regression can be shipped. Random numbers are
    the estimator's own.

    >>> import numpy as np, sfumato as sf
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> age, rng = sf.Gaussian(sf.Interval(20, 80), privacy=0.2), np.random.default_rng(1)
    >>> ages = rng.uniform(20, 80, 2000)
    >>> model = sf.FaceValueClassifier(DecisionTreeClassifier(max_depth=1), {"age": age})
    >>> model = model.fit({"age": age.randomize(ages, rng)}, ages > 50)
    >>> model.predict({"age": [30.0, 70.0]}).tolist()
    [False, True]
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
        self.fill_ = [fill_value(column) for column in columns]
        model = clone(make_pipeline(StandardScaler(), GaussianNB()) if self.estimator is None else self.estimator)
        weight = {} if reports.weights is None else weight_argument(model, reports.weights)
        self.estimator_ = model.fit(self._encode(columns), class_codes_in(reports), **weight)
        if self.estimator is None:  # where no column varies, GaussianNB leaves variances of 0
            model[-1].var_ = np.maximum(model[-1].var_, LEAST_VARIANCE)

    def _encode(self, columns: list[Column]) -> Floats:
        """Return the numbers that the estimator reads: one column for numbers, one for each label."""
        parts = []
        for column, labels, fill in zip(columns, self.labels_, self.fill_, strict=True):
            if labels is None:
                numbers = as_numbers(column)
                parts.append(np.where(np.isnan(numbers), fill, numbers)[:, None])
            else:
                parts.append((encode_known(labels, column)[:, None] == np.arange(len(labels))).astype(float))
        return np.hstack(parts)

    def _probabilities(self, columns: list[Column]) -> Floats:
        """Return the estimator's class probabilities of true values; 0 for classes that it did not see."""
        p_class = np.zeros((columns[0].size, self.classes_.size))
        p_class[:, self.estimator_.classes_] = self.estimator_.predict_proba(self._encode(columns))
        return p_class

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each record by the estimator's own ``predict``.

        X: a table or array of true values (or of reports), with the columns that were fitted.
        """
        check_is_fitted(self)
        columns = self._columns(X, reset=False)[1]
        return np.asarray(self.classes_[self.estimator_.predict(self._encode(columns))])

    # --- on devices ---------------------------------------------------------------------------------------------

    def device_form(self, say: Voice) -> DeviceForm:
        plain, classes = self._plain(), self.device_classes()
        if plain.form == "tree":
            return device_form(*self._tree(plain), classes, say)
        terms = (plain.device_term(index, source) for index, source in enumerate(self._encodings()))
        return DeviceForm.sum(classes, plain.start, terms)

    def deciding_tree(self) -> tuple[Tree, list[Feature]] | None:
        """Return (the estimator as a tree, its columns); None where the estimator is no decision tree."""
        plain = self._plain()
        return self._tree(plain) if plain.form == "tree" else None

    def device_classes(self) -> list[Any]:
        """Return the classes that the estimator saw."""
        return list(self.classes_[self.estimator_.classes_].tolist())

    def _plain(self) -> PlainClassifier:
        """Return the estimator as numbers; TypeError if it is of a kind that cannot be shipped."""
        estimator = self.estimator_
        if isinstance(estimator, PlainClassifier):
            return estimator
        return PlainClassifier(plain_data(estimator), len(self._encodings()), len(self.classes_))

    def _encodings(self) -> list[EncodedColumn]:
        """Return, for each number that the estimator reads, the column that it comes from."""
        return [
            source
            for j, labels in enumerate(self.labels_)
            for source in (
                [EncodedColumn(j, self.fill_[j])] if labels is None
                else [EncodedColumn(j, 0.0, code, label) for code, label in enumerate(labels)]
            )
        ]

    def _tree(self, plain: PlainClassifier) -> tuple[Tree, list[Feature]]:
        """Return (a decision tree with tests of the original columns, these columns)."""
        features = [
            Feature(name, np.array([0.0, 1.0]) if labels is None else None, labels)
            for name, labels in zip(self.attribute_names_, self.labels_, strict=True)
        ]
        return plain.as_tree(features, self._encodings()), features

    # --- plain data ---------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        labels = [None if of_column is None else list(of_column) for of_column in self.labels_]
        return {"labels": labels, "fill": self.fill_, "estimator": plain_data(self.estimator_)}

    @classmethod
    def _from_state(cls, data: Mapping[str, Any]) -> Self:
        model = cls()
        columns, classes = len(data["attributes"]), len(given_rows(data, "classes"))
        model.labels_ = [
            None if of_column is None else given_labels({"labels": of_column}, "labels")
            for of_column in given_rows(data, "labels", columns)
        ]
        model.fill_ = given_numbers(data, "fill", (columns,)).tolist()
        encoded = sum(1 if labels is None else len(labels) for labels in model.labels_)
        model.estimator_ = PlainClassifier(given_table(data, "estimator"), encoded, classes)
        return model


def fill_value(column: Column) -> float:
    """Return the number that replaces a missing one: the mean of the others; 0 where a column has no numbers."""
    if column.dtype.kind not in "iuf":
        return 0.0
    present = column[~np.isnan(column.astype(np.float64))]
    return float(present.mean()) if present.size else 0.0


def weight_argument(model: Any, weight: Floats) -> dict[str, Floats]:
    """Return the keyword argument by which a classifier, or the last step of a pipeline, takes weights of records."""
    name, last = model.steps[-1] if isinstance(model, Pipeline) else ("", model)
    if not has_fit_parameter(last, "sample_weight"):
        raise TypeError(
            f"{type(last).__name__} takes no sample_weight; leave the weights out or use another classifier"
        )
    return {f"{name}__sample_weight" if name else "sample_weight": weight}
