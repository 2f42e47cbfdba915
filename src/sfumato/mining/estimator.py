"""Tables come in as arrays or frames and are read column by column; channels are matched to columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from sfumato.channels.base import Channel
from sfumato.channels.choice import Choice
from sfumato.domain import Categories, as_array, as_numbers
from sfumato.mining.kernels import split_columns
from sfumato.mining.level_columns import LEVEL_SUFFIX, with_levels

Column = npt.NDArray[Any]
Channels = Sequence[Channel | Choice | None] | Mapping[str, Channel | Choice | None] | None


def is_frame(X: Any) -> bool:
    """pandas, Polars, PyArrow and DuckDB relations all name their columns."""
    return not isinstance(X, np.ndarray) and (hasattr(X, "columns") or hasattr(X, "column_names"))


def column_names(X: Any) -> list[str]:
    return [str(name) for name in (X.column_names if hasattr(X, "column_names") else X.columns)]


def read_columns(estimator: Any, X: Any, *, reset: bool) -> tuple[list[str], list[Column]]:
    """Names and columns of X, checked against what the estimator was fitted on unless `reset`."""
    if type(X).__name__ == "DuckDBPyRelation":
        X = X.arrow()
        X = X.read_all() if hasattr(X, "read_all") else X
    if is_frame(X):
        X, levels = _apart_from_levels(X, getattr(estimator, "channels", None))
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        names = column_names(X)
        columns = [frame_column(_column(X, name), name) for name in _labels(X)]
        _check_size(estimator, names, columns, reset)
        if reset:
            columns = [with_levels(c, levels[n]) if n in levels else c for n, c in zip(names, columns, strict=True)]
        return names, columns
    if _holds_labels(X, getattr(estimator, "channels", None)):
        array = check_array(X, dtype=object, ensure_all_finite=False)
        validate_data(estimator, array, skip_check_array=True, reset=reset)
        return _numbered(array.shape[1]), [frame_column(array[:, j], f"x{j}") for j in range(array.shape[1])]
    array = validate_data(estimator, X, reset=reset, dtype="numeric", ensure_all_finite="allow-nan")
    if np.isinf(array).any():
        raise ValueError("Input X contains infinity; mark such values as missing (NaN) or correct them")
    rows = split_columns(array) if array.dtype == np.float64 else np.ascontiguousarray(array.T)
    return _numbered(array.shape[1]), list(rows)


def _apart_from_levels(X: Any, channels: Any) -> tuple[Any, dict[str, Any]]:
    """The table without the columns `<name>.level` that go with a choice, and those columns by name."""
    names = column_names(X)
    given = channels if isinstance(channels, Mapping) else {}
    if isinstance(channels, Sequence):
        others = [name for name in names if not name.endswith(LEVEL_SUFFIX)]
        given = dict(zip(others, channels, strict=False))
    chosen = [n for n in names if isinstance(given.get(n), Choice) and n + LEVEL_SUFFIX in names]
    if not chosen:
        return X, {}
    levels = {name: _column(X, name + LEVEL_SUFFIX) for name in chosen}
    gone = [name + LEVEL_SUFFIX for name in chosen]
    if hasattr(X, "drop_columns"):
        return X.drop_columns(gone), levels
    return (X.drop(columns=gone) if type(X).__module__.startswith("pandas") else X.drop(gone)), levels


def _column(X: Any, name: Any) -> Any:
    return X.column(name) if hasattr(X, "column_names") else X[name]


def _labels(X: Any) -> list[Any]:
    return list(X.column_names if hasattr(X, "column_names") else X.columns)


def _numbered(count: int) -> list[str]:
    return [f"x{j}" for j in range(count)]


def _check_size(estimator: Any, names: list[str], columns: list[Column], reset: bool) -> None:
    if not names or not columns[0].size:
        raise ValueError(
            f"Found array with {len(columns[0]) if names else 0} sample(s) and {len(names)} feature(s); "
            "a minimum of 1 is required of each"
        )
    if reset:
        estimator.n_features_in_ = len(names)


def _holds_labels(X: Any, channels: Any) -> bool:
    given = list(channels.values()) if isinstance(channels, Mapping) else list(channels or ())
    categorical = any(isinstance(getattr(channel, "domain", None), Categories) for channel in given)
    return categorical and np.asarray(X).dtype.kind in "OUS"


def frame_column(values: Any, name: str) -> Column:
    """A column as numbers where it holds numbers only, else as labels with None for missing."""
    array = as_array(values)
    if array.dtype.kind in "iuf":
        return array
    if array.dtype.kind == "b":
        return array.astype(object)
    if array.dtype.kind == "O":
        try:
            return as_numbers(array)
        except TypeError:
            return array
    if array.dtype.kind in "US":
        return array.astype(object)
    raise TypeError(f"column {name!r} is of type {array.dtype}; convert it to numbers or labels first")


def remember_names(estimator: Any, data: Mapping[str, Any]) -> None:
    """What scikit-learn remembers of X, for a model read from plain data."""
    names = estimator.attribute_names_
    estimator.n_features_in_ = len(names)
    if data["named"]:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def channels_of_columns(channels: Channels, names: list[str]) -> list[Channel | Choice | None]:
    """One channel or None a column, from a sequence or from a mapping by column name."""
    if channels is None:
        return [None] * len(names)
    if isinstance(channels, Mapping):
        unknown = [key for key in channels if key not in names]
        if unknown:
            raise ValueError(f"channels names column {unknown[0]!r}, which X does not have; its columns are {names}")
        return [channels.get(name) for name in names]
    if isinstance(channels, Channel) or not isinstance(channels, Sequence):
        raise TypeError(f"channels={channels!r} is neither a list with one entry a column nor a mapping by column name")
    if len(channels) != len(names):
        raise ValueError(f"channels has {len(channels)} entries but X has {len(names)} columns; give one a column")
    return list(channels)


def class_codes(y: Any, label_channel: Channel | None) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """The classes and every record's reported class code; a label channel's categories are the classes."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None; give the class of every record")
    labels = column_or_1d(as_array(y) if not isinstance(y, np.ndarray) else y, warn=True)
    if label_channel is None:
        return _few_integers(labels) or _sorted_classes(labels)
    check_classification_targets(labels)
    if not isinstance(label_channel.domain, Categories):
        raise TypeError(f"label_channel={label_channel!r} is not over categories; use RandomizedResponse")
    codes = label_channel.encode_reports(labels)
    if (codes < 0).any():
        raise ValueError("a class label is missing; drop records without a class")
    classes = np.array(label_channel.domain.labels)
    return classes, codes


def _sorted_classes(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.int64)


def _few_integers(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]] | None:
    """Classes and codes of small non-negative integers by counting, much faster than sorting."""
    if labels.dtype.kind not in "iu" or not labels.size or labels.min() < 0 or labels.max() > 1_000:
        return None
    present = np.flatnonzero(np.bincount(labels.astype(np.int64)))
    code_of = np.zeros(int(present[-1]) + 1, np.int64)
    code_of[present] = np.arange(present.size)
    return present.astype(labels.dtype), code_of[labels]


def record_weights(sample_weight: Any, records: int) -> npt.NDArray[np.float64]:
    """One weight a record, 1 unless given."""
    if sample_weight is None:
        return np.ones(records)
    if np.isscalar(sample_weight):
        return np.full(records, float(sample_weight))  # type: ignore[arg-type]
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (records,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}, but there are {records} records; give one weight a record"
        )
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight holds a negative or infinite weight; weights are numbers from 0 up")
    if not weight.any():
        raise ValueError("every sample_weight is zero; give at least one record a weight above zero")
    return weight
