"""What all learners share: tables become `Reports`, classes and weights are checked, answers follow from probabilities.

A learner states how it learns from `Reports` and how probable each class is for records of true values; reading tables,
scikit-learn's contract and plain data are here.
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
from sfumato.learners.classes import check_at_face_value, class_codes
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
KNOWN_TO_SKLEARN = ("pandas", "polars", "pyarrow")


@cache
def threads() -> ThreadpoolController:
    """Say how many threads a piece of work may have.

    Ours is many small pieces: a second thread doubles the work and gains nothing, and waits where other programs run.
    """
    return ThreadpoolController()


class Learner(ClassifierMixin, BaseEstimator, ABC):
    """A classifier of true values that learns from reports.

    ``channels``: one entry (channel, choice, or None for a clear column) a column, or a mapping from column name; a
    column ``<name>.level`` says which level of a choice each person took.

    ``random_state``: of what is drawn and of who is held out; None is 0. Who is held out follows from a record's place,
    so that records in another order are other folds.

    Fitted: ``classes_``, ``attribute_names_``, ``n_features_in_``, and ``feature_names_in_`` where columns have names.
    """

    form: ClassVar[str]
    keeps_weightless: ClassVar[bool] = False
    _from_plain_data = False  # which says nothing of channels: whether a column holds labels is the learner's to know
    classes_: npt.NDArray[Any]
    channels: Channels = None
    label_channel: Channel | None = None
    random_state: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- what a learner states ----------------------------------------------------------------------------------

    @abstractmethod
    def _learn(self, reports: Reports, rng: np.random.Generator) -> None:
        """Fit on reports; records of no weight are left out already, unless `keeps_weightless`."""

    @abstractmethod
    def _probabilities(self, columns: list[Column]) -> Floats:
        """P(class | true values), one row a record."""

    def _scores(self, columns: list[Column]) -> Floats:
        """What the predicted class has most of, one row a record: the probabilities, or numbers that rise with them.

        Computed from the numbers of the shipped document by +, −, ·, / and comparisons alone, in a stated order: every
        language that does so names the same class, also where two classes are next to equal.
        """
        return self._probabilities(columns)

    def columns_read(self) -> list[int]:
        """The columns that answers depend on."""
        return list(range(len(self.attribute_names_)))

    @abstractmethod
    def device_form(self, say: Voice) -> DeviceForm:
        """Return what a device evaluates of the fitted model; rules of a tree in the voice's language."""

    def deciding_tree(self) -> tuple[Any, list[Any]] | None:
        """Return the tree that decides and the columns as it sees them; None where the model is no tree."""
        return None

    def device_classes(self) -> list[Any] | None:
        """Return the classes that the model may name; None where it was fitted without any."""
        return self.classes_.tolist() if hasattr(self, "classes_") else None

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """What was learned, as plain data."""

    @classmethod
    @abstractmethod
    def _from_state(cls, data: Mapping[str, Any]) -> Self:
        """A learner that has learned what `_state` wrote, its ``attributes`` and ``classes`` checked already."""

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit on reports X and classes y; X may be `sf.Reports`, and y the name of their class column."""
        if self._takes_reports_as_true():
            check_at_face_value(X.channels if isinstance(X, Reports) else self.channels)
        rng = generator(self.random_state)
        seed = int(rng.integers(SEEDS))
        if isinstance(X, Reports):
            reports = self._aimed(X, y, sample_weight)
            reports = reports.as_clear() if self._takes_reports_as_true() else reports
        else:
            reports = self._reports(X, y, sample_weight, seed)
        self.attribute_names_ = list(reports.names)
        with threads().limit(limits=None if self._takes_reports_as_true() else 1, user_api="blas"):
            self._learn(reports, rng)
        return self

    def _reports(self, X: Any, y: Any, sample_weight: Any, seed: int) -> Reports:
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
        """Remember the classes, the columns and the kind of table that another learner was fitted on."""
        self.classes_ = other.classes_
        self.attribute_names_, self._table_kind = other.attribute_names_, other._table_kind
        remember_names(self, other.attribute_names_, hasattr(other, "feature_names_in_"))

    def _takes_reports_as_true(self) -> bool:
        """Whether it learns from reports as if nothing had been blurred."""
        return False

    def _channels(self) -> Channels:
        return None if self._takes_reports_as_true() else self.channels

    def _class_codes(self, y: Any, records: int) -> Codes | None:
        """Every record's reported class as its place among the classes, which are remembered."""
        if y is None:
            if self.__sklearn_tags__().target_tags.required:
                raise ValueError("requires y to be passed, but the target y is None; give the class of every record")
            return None
        labels = column_or_1d(as_array(y) if not isinstance(y, np.ndarray) else y, warn=True)
        if labels.size != records:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {records}, y has {labels.size}"
            )
        self.classes_, codes = class_codes(labels, self.label_channel)
        return codes

    def _aimed(self, reports: Reports, target: Any, sample_weight: Any) -> Reports:
        """Reports that came as such, with the class and the weights that are wanted."""
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
        """Names and columns of X, checked against what was fitted unless `reset`; `levels`: with those of levels."""
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
        """An array of numbers, as scikit-learn checks it; of true values its error would print one."""
        try:
            return np.asarray(validate_data(self, X, reset=reset, dtype="numeric", ensure_all_finite="allow-nan"))
        except ValueError as error:
            if reset or "could not convert" not in str(error):
                raise
            raise ValueError("X holds a text where the model reads numbers; give a table with named columns") from None

    def _columns_of_table(self, X: Any, *, reset: bool, levels: bool) -> tuple[list[str], list[Column]]:
        names = column_names(X)
        apart = [*level_columns(names, self.channels), *(name for name in names if name == PLAN_COLUMN)]
        others = [name for name in names if name not in apart]
        if kind_of(X) in KNOWN_TO_SKLEARN and hasattr(X, "shape"):
            values = map_table(X, lambda given: {name: given[name] for name in others}) if apart else X
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
        """P(class | true values) of each record, in the order of ``classes_``."""
        check_is_fitted(self)
        return self._probabilities(self._columns(X, reset=False)[1])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each record of true values."""
        check_is_fitted(self)
        winners = np.argmax(self._scores(self._columns(X, reset=False)[1]), axis=1)
        return np.asarray(self.classes_[winners])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of records (of their weights) whose class is the predicted one."""
        right = np.asarray(self.predict(X), dtype=object) == as_array(y).astype(object).reshape(-1)
        return float(np.average(right, weights=sample_weight))

    def as_given(self, columns: list[Column]) -> Any:
        """Columns of records in the form that X had: the same kind of table, or an array."""
        if self._table_kind is not None:
            return frame_like(self._table_kind, dict(zip(self.attribute_names_, columns, strict=True)))
        numeric = all(column.dtype.kind in "iufb" for column in columns)
        return np.column_stack([column.astype(float if numeric else object) for column in columns])

    # --- plain data ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The fitted model as plain data for JSON; `from_dict` gives back a model that answers the same."""
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
        """The model that ``to_dict`` wrote; what does not fit together is refused."""
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
    """A Generator from anything scikit-learn takes as random_state; None is 0, so that the same reports always teach
    the same, as a reader of an answer expects and nobody has to ask for."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    state = check_random_state(0 if random_state is None else random_state)
    return np.random.default_rng(state.randint(0, SEEDS))


def remember_names(estimator: Any, names: Sequence[str], named: bool) -> None:
    """What scikit-learn remembers of X."""
    estimator.n_features_in_ = len(names)
    if named:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def level_columns(names: Sequence[str], channels: Any) -> list[str]:
    """The columns ``<name>.level`` that tell the level of a column that is there too."""
    given = channels if isinstance(channels, Mapping) else {}
    bases = {name: name.removesuffix(LEVEL_SUFFIX) for name in names if name.endswith(LEVEL_SUFFIX)}
    return [
        name
        for name, base in bases.items()
        if base in names and (base not in given or given[base].has_levels)
    ]


def given_channels(channels: Any) -> list[Any]:
    """The channels of a list or of a mapping."""
    return list(channels.values()) if isinstance(channels, Mapping) else list(channels or ())


def holds_labels(X: Any, channels: Any) -> bool:
    """Whether an array holds labels of columns that are categories."""
    categorical = any(isinstance(getattr(one, "domain", None), Categories) for one in given_channels(channels))
    return categorical and np.asarray(X).dtype.kind in "OUS"


def record_weights(sample_weight: Any, records: int) -> Floats | None:
    """One weight a record, None where all count the same."""
    weight = weights_of(None if np.isscalar(sample_weight) else sample_weight, records, "sample_weight")
    if weight is not None and not weight.any():
        raise ValueError("every sample_weight is zero; give at least one record a weight above zero")
    return weight


def learner_named(kind: str) -> Any:
    """The class of a learner."""
    if kind not in LEARNERS:
        raise ValueError(f"learner {kind!r} is unknown; the learners are {', '.join(LEARNERS)}")
    return getattr(import_module(LEARNERS[kind]), kind)
