"""`Learner`, the base class of all learners: it reads tables, checks classes and keeps scikit-learn's rules.

A learner itself states how it learns from `Reports`, how probable each class is for records of true values, and what it
learned as plain data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data
from threadpoolctl import ThreadpoolController

from sfumato.channels import Channel, Mechanism
from sfumato.counts import Reports
from sfumato.counts.arguments import weights_of
from sfumato.domain import (
    Categories,
    Codes,
    Floats,
    array_of_labels,
    as_array,
)
from sfumato.domain.checked import given, given_flag, given_labels, given_names
from sfumato.learners import LEARNERS
from sfumato.learners.classes import check_at_face_value, encode_classes
from sfumato.learners.device import DeviceForm
from sfumato.prose import Voice
from sfumato.tables import (
    LEVEL_SUFFIX,
    PLAN_COLUMN,
    column_names,
    frame_like,
    is_table,
    kind_of,
    map_table,
    read_columns,
    too_deep,
)

Column = npt.NDArray[Any]
Channels = Sequence[Mechanism | None] | Mapping[str, Mechanism | None] | None
SEEDS = 2**31 - 1
"""Seeds are drawn below this number, which fits in the signed 32 bits of NumPy's `RandomState.randint`."""
KNOWN_TO_SKLEARN = ("pandas", "polars", "pyarrow")
"""Kinds of tables whose column names scikit-learn reads itself."""


@cache
def threads() -> ThreadpoolController:
    """Return the controller that limits the threads of NumPy's linear algebra.

    Learners do many small pieces of work: a second thread doubles the processor time, gains nothing, and waits where
    other programs run.
    """
    return ThreadpoolController()


class Learner(ClassifierMixin, BaseEstimator, ABC):
    """A classifier of true values that learns from reports.

    channels: one entry (channel, choice, or None for a clear column) a column, or a mapping from column name; a column
        ``<name>.level`` says which level of a choice each person took. None: nothing is blurred.
    label_channel: the channel that class labels went through; None: they are clear.
    random_state: a whole number, or a NumPy generator, by which random numbers are drawn and people are held out; None:
        0. Who is held out follows from the index of a record, so that records in another order are other folds.

    Fitted: ``classes_``, ``attribute_names_``, ``n_features_in_``, and ``feature_names_in_`` where columns have names.

    form: the kind of model in its document. keeps_weightless: `_learn` reads records of weight 0 too.
    """

    form: ClassVar[str]
    keeps_weightless: ClassVar[bool] = False
    _from_plain_data = False  # a document says nothing of channels: the learner knows which columns hold labels
    classes_: npt.NDArray[Any]
    channels: Channels = None
    label_channel: Channel | None = None
    random_state: Any = None

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that values may be missing."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- what a learner states ----------------------------------------------------------------------------------

    @abstractmethod
    def _learn(self, reports: Reports, rng: np.random.Generator) -> None:
        """Fit to reports; records of weight 0 are left out already, unless `keeps_weightless`."""

    @abstractmethod
    def _probabilities(self, columns: list[Column]) -> Floats:
        """Return P(class | true values), one row a record; ``columns``: their values, one array a column."""

    def _scores(self, columns: list[Column]) -> Floats:
        """Return the score of each class, one row a record; the class with the largest score is predicted.

        Scores are the probabilities, or numbers that rise with them. They are computed from the numbers of the shipped
        document by +, −, ·, / and comparisons alone, in a stated order, so that every language predicts the same class,
        also where two classes are next to equal.
        """
        return self._probabilities(columns)

    def columns_read(self) -> list[int]:
        """Return the indices of the columns that predictions depend on."""
        return list(range(len(self.attribute_names_)))

    @abstractmethod
    def device_form(self, say: Voice) -> DeviceForm:
        """Return the fitted model as a device evaluates it.

        say: the voice in whose language the rules of a tree are written.
        """

    def deciding_tree(self) -> tuple[Any, list[Any]] | None:
        """Return (the tree that decides, its columns as `tree.model.Feature`); None where the model is no tree."""
        return None

    def device_classes(self) -> list[Any] | None:
        """Return the classes that the model may predict; None where it was fitted without classes."""
        return self.classes_.tolist() if hasattr(self, "classes_") else None

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """Return what was learned as plain data for JSON."""

    @classmethod
    @abstractmethod
    def _from_state(cls, data: Mapping[str, Any]) -> Self:
        """Return a fitted learner from what `_state` wrote; ``attributes`` and ``classes`` are checked already."""

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to reports and return the fitted learner itself.

        X: reports: a table (pandas, Polars, PyArrow, DuckDB, Spark), an array, or `sf.Reports`.
        y: the class of every record; where X is `sf.Reports` also the name of their class column, or None if that is
            known already.
        sample_weight: how much every record counts; None: all the same.
        """
        if self._takes_reports_as_true():
            check_at_face_value(X.channels if isinstance(X, Reports) else self.channels)
        rng = generator(self.random_state)
        seed = int(rng.integers(SEEDS))
        if isinstance(X, Reports):
            reports = self._with_target(X, y, sample_weight)
            reports = reports.as_clear() if self._takes_reports_as_true() else reports
        else:
            reports = self._read_reports(X, y, sample_weight, seed)
        self.attribute_names_ = list(reports.names)
        with threads().limit(limits=None if self._takes_reports_as_true() else 1, user_api="blas"):
            self._learn(reports, rng)
        return self

    def _read_reports(self, X: Any, y: Any, sample_weight: Any, seed: int) -> Reports:
        """Return a table or array of reports as `Reports`, with their classes and weights."""
        names, columns = self._columns(X, reset=True, levels=True)
        records = len(columns[0])
        self._table_kind = None if isinstance(X, np.ndarray) or not is_table(X) else kind_of(X)
        codes = self._class_codes(y, records)
        weight = record_weights(sample_weight, records)
        reports = Reports(dict(zip(names, columns, strict=True)), self._channels(), weights=weight, seed=seed)
        reports.kind = self._table_kind or "array"
        if codes is not None:
            reports = reports.aimed(codes, classes=range(len(self.classes_)), label_channel=self.label_channel)
        if weight is None or weight.all() or self.keeps_weightless:
            return reports
        return reports.of_records(np.flatnonzero(weight))

    def _remember_as(self, other: Learner) -> None:
        """Take over the classes, the columns and the kind of table that another learner was fitted on."""
        self.classes_ = other.classes_
        self.attribute_names_, self._table_kind = other.attribute_names_, other._table_kind
        remember_names(self, other.attribute_names_, hasattr(other, "feature_names_in_"))

    def _takes_reports_as_true(self) -> bool:
        """Say whether the learner reads reports as if nothing had been blurred."""
        return False

    def _channels(self) -> Channels:
        return None if self._takes_reports_as_true() else self.channels

    def _class_codes(self, y: Any, records: int) -> Codes | None:
        """Return the index of every record's class in ``classes_``, which is set here; None without classes."""
        if y is None:
            if self.__sklearn_tags__().target_tags.required:
                raise ValueError("requires y to be passed, but the target y is None; give the class of every record")
            return None
        labels = column_or_1d(as_array(y) if not isinstance(y, np.ndarray) else y, warn=True)
        if labels.size != records:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {records}, y has {labels.size}"
            )
        self.classes_, codes = encode_classes(labels, self.label_channel)
        return codes

    def _with_target(self, reports: Reports, target: Any, sample_weight: Any) -> Reports:
        """Return `Reports` with this class and these weights; None leaves the class or weights that they have."""
        weight = record_weights(sample_weight, len(reports))
        if target is not None or weight is not None:
            reports = reports.aimed(target, weights=weight, label_channel=self.label_channel)
        if reports.classes is None and self.__sklearn_tags__().target_tags.required:
            raise ValueError("these reports have no class; name its column, or give the class of every record")
        kind = reports.kind if reports.in_memory else "pyarrow"
        self._table_kind = None if kind == "array" else kind
        if reports.classes is not None:
            self.classes_ = array_of_labels(reports.classes)
        remember_names(self, reports.names, self._table_kind is not None)
        return reports

    def _columns(self, X: Any, *, reset: bool, levels: bool = False) -> tuple[list[str], list[Column]]:
        """Return the names and the values of the columns of X.

        reset: X is fitted on; else it is checked against what was fitted. levels: with the columns ``<name>.level``.
        """
        if not isinstance(X, np.ndarray) and is_table(X):
            return self._columns_of_table(X, reset=reset, levels=levels)
        if holds_labels(X, self.channels) or (self._from_plain_data and np.asarray(X).dtype.kind in "OUS"):
            array = check_array(X, dtype=object, ensure_all_finite=False)
            validate_data(self, array, skip_check_array=True, reset=reset)
        else:
            array = self._numeric(X, reset)
            if np.isinf(array).any():
                raise ValueError("Input X contains infinity; mark such values as missing (NaN) or correct them")
        return [f"x{j}" for j in range(array.shape[1])], list(np.ascontiguousarray(array.T))

    def _numeric(self, X: Any, reset: bool) -> npt.NDArray[Any]:
        """Return X as an array of numbers that scikit-learn has checked.

        The error for a text among true values is replaced, because scikit-learn's prints the value.
        """
        try:
            return np.asarray(validate_data(self, X, reset=reset, dtype="numeric", ensure_all_finite="allow-nan"))
        except ValueError as error:
            if reset or "could not convert" not in str(error):
                raise
            raise ValueError("X holds a text where the model reads numbers; give a table with named columns") from None

    def _columns_of_table(self, X: Any, *, reset: bool, levels: bool) -> tuple[list[str], list[Column]]:
        """Return the names and the values of the columns of a table, as `_columns` does."""
        names = column_names(X)
        about_reports = [*level_columns(names, self.channels), *(name for name in names if name == PLAN_COLUMN)]
        others = [name for name in names if name not in about_reports]
        if kind_of(X) in KNOWN_TO_SKLEARN and hasattr(X, "shape"):
            values = map_table(X, lambda table: {name: table[name] for name in others}) if about_reports else X
            validate_data(self, values, skip_check_array=True, reset=reset)
        elif reset:
            remember_names(self, others, named=True)
        else:
            others = self.attribute_names_
        columns = read_columns(X, [name for name in names if name != PLAN_COLUMN] if levels else others)
        records = len(next(iter(columns.values()), ()))
        if not others or not records:
            raise ValueError(
                f"Found array with {records} sample(s) and {len(others)} feature(s); a minimum of 1 is required of each"
            )
        if reset:
            self.n_features_in_ = len(others)
        return list(columns), list(columns.values())

    # --- answers ------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | true values) of each record, in the order of ``classes_``.

        X: a table or array of true values, with the columns that were fitted.
        """
        check_is_fitted(self)
        return self._probabilities(self._columns(X, reset=False)[1])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each record.

        X: a table or array of true values, with the columns that were fitted.
        """
        check_is_fitted(self)
        winners = np.argmax(self._scores(self._columns(X, reset=False)[1]), axis=1)
        return np.asarray(self.classes_[winners])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of records whose class is predicted.

        X: records of true values. y: their true classes. sample_weight: how much each counts; None: all the same.
        """
        right = np.asarray(self.predict(X), dtype=object) == as_array(y).astype(object).reshape(-1)
        return float(np.average(right, weights=sample_weight))

    def as_given(self, columns: list[Column]) -> Any:
        """Return columns of records in the form of the X that was fitted: the same kind of table, or an array."""
        if self._table_kind is not None:
            return frame_like(self._table_kind, dict(zip(self.attribute_names_, columns, strict=True)))
        numeric = all(column.dtype.kind in "iufb" for column in columns)
        return np.column_stack([column.astype(float if numeric else object) for column in columns])

    # --- plain data ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted model as plain data for JSON; `from_dict` makes a model of it that predicts the same."""
        check_is_fitted(self)
        return {
            "model": self.form,
            "named": hasattr(self, "feature_names_in_"),
            "attributes": self.attribute_names_,
            "classes": Learner.device_classes(self),
            **self._state(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the model that ``to_dict`` wrote; data that do not fit together raise ValueError."""
        names = given_names(data, "attributes")
        classes = None if given(data, "classes") is None else given_labels(data, "classes")
        try:
            model = cls._from_state({**data, "attributes": names, "classes": classes})
        except RecursionError:
            raise too_deep("the model") from None
        model.attribute_names_ = names
        remember_names(model, names, given_flag(data, "named"))
        if classes is not None:
            model.classes_ = array_of_labels(classes)
        model._table_kind, model._from_plain_data = None, True
        return model


def generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy Generator from anything that scikit-learn takes as random_state.

    None is 0, so that fitting to the same reports twice gives the same model.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    state = check_random_state(0 if random_state is None else random_state)
    return np.random.default_rng(state.randint(0, SEEDS))


def remember_names(estimator: Any, names: Sequence[str], named: bool) -> None:
    """Set the attributes in which scikit-learn keeps the number of columns and, if X had names, their names."""
    estimator.n_features_in_ = len(names)
    if named:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def level_columns(names: Sequence[str], channels: Any) -> list[str]:
    """Return the columns ``<name>.level`` whose column ``<name>`` is there and, if its channel is given, has levels."""
    given = channels if isinstance(channels, Mapping) else {}
    bases = {name: name.removesuffix(LEVEL_SUFFIX) for name in names if name.endswith(LEVEL_SUFFIX)}
    return [
        name
        for name, base in bases.items()
        if base in names and (base not in given or given[base].has_levels)
    ]


def given_channels(channels: Any) -> list[Any]:
    """Return the channels of a list or a mapping as a list; None has none."""
    return list(channels.values()) if isinstance(channels, Mapping) else list(channels or ())


def holds_labels(X: Any, channels: Any) -> bool:
    """Say whether an array holds texts or objects, and a channel is of categories."""
    categorical = any(isinstance(getattr(channel, "domain", None), Categories) for channel in given_channels(channels))
    return categorical and np.asarray(X).dtype.kind in "OUS"


def record_weights(sample_weight: Any, records: int) -> Floats | None:
    """Return one weight a record; None where all count the same."""
    weight = weights_of(None if np.isscalar(sample_weight) else sample_weight, records, "sample_weight")
    if weight is not None and not weight.any():
        raise ValueError("every sample_weight is zero; give at least one record a weight above zero")
    return weight


def learner_named(kind: str) -> Any:
    """Return the class of a learner by its name in `sf`; ValueError lists the names."""
    if kind not in LEARNERS:
        raise ValueError(f"learner {kind!r} is unknown; the learners are {', '.join(LEARNERS)}")
    return getattr(import_module(LEARNERS[kind]), kind)
