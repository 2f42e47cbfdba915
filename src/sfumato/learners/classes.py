"""Which reports are values or classes of their own, the classes of records, and how many people each has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from sfumato.channels import Chain, Channel, Mechanism, SubsetResponse
from sfumato.counts import Reports
from sfumato.domain import Categories, Codes, Floats, Items, are_mixed, array_of_labels, codes_of_labels, is_missing


def check_at_face_value(channels: Any) -> None:
    """Refuse columns whose reports cannot be taken for values."""
    for name, channel in channels.items() if isinstance(channels, Mapping) else enumerate(channels or ()):
        if channel is not None and not at_face_value(channel):
            raise ValueError(
                f"column {name!r}: reports of {channel.kind} are no values of its domain and cannot be taken for true "
                "ones; use a method that reconstructs"
            )


def at_face_value(channel: Mechanism | None) -> bool:
    """Whether a report can be taken for a value: not where it names a set, or is a word of the channel's own."""
    return channel is None or all(map(reports_values, channel.levels.values()))


def reports_values(channel: Channel) -> bool:
    """Whether what a channel reports are values of its domain, or numbers like them."""
    last = channel
    while isinstance(last, Chain):
        last = last.second
    if isinstance(last, SubsetResponse) or isinstance(channel.domain, Items):
        return False
    outputs, domain = channel.outputs, channel.domain
    if isinstance(domain, Categories) and isinstance(outputs, Categories):
        return set(outputs.labels) <= set(domain.labels)
    return True


def class_codes(labels: npt.NDArray[Any], channel: Channel | None = None) -> tuple[npt.NDArray[Any], Codes]:
    """The classes in order, and every record's class as its place among them; a channel's are its categories."""
    if channel is None and labels.dtype.kind == "O":
        if any(map(is_missing, labels.tolist())):
            raise ValueError("a class label is missing; drop records without a class")
        if are_mixed(labels.tolist()):
            return codes_of_labels(labels)
        labels = array_of_labels(labels.tolist())
    if channel is None and labels.dtype.kind in "iu" and labels.size and labels.min() >= 0 and labels.max() <= 1_000:
        present = np.flatnonzero(np.bincount(labels.astype(np.int64)))  # much faster than sorting
        code_of = np.zeros(int(present[-1]) + 1, np.int64)
        code_of[present] = np.arange(present.size)
        return present.astype(labels.dtype), code_of[labels]
    if channel is None:
        check_classification_targets(labels)
        classes = np.unique(labels)
        return classes, np.searchsorted(classes, labels)  # sorts no record
    check_reports_classes(channel)
    codes = channel.encode_reports(labels)
    if (codes < 0).any():
        raise ValueError("a class label is missing; drop records without a class")
    return channel.domain.label_array, codes  # type: ignore[union-attr]


def class_codes_in(reports: Reports) -> Codes:
    """The reported class of every record, as its place among the classes."""
    assert reports.class_codes is not None
    return reports.class_codes


def check_reports_classes(channel: Channel) -> Channel:
    """Learners need a reported class for every true one."""
    classes = isinstance(channel, Channel) and isinstance(channel.domain, Categories) and reports_values(channel)
    if not classes or channel.outputs.size != channel.inputs.size:
        raise ValueError(f"the class went through {channel.kind}, whose reports are no classes; use RandomizedResponse")
    return channel


def label_table_of(reports: Reports) -> Floats:
    """P[reported class, true class]."""
    channel = reports.label_channel
    return np.eye(len(reports.classes or ())) if channel is None else check_reports_classes(channel).matrix()


def true_class_shares(reports: Reports) -> Floats:
    """How much of a record that reported class y' counts for each true class: rows of L⁻¹ᵀ.

    Summed over any set of records that is an unbiased count of the true classes; clear labels count for themselves.
    """
    if reports.label_channel is None:
        return np.eye(len(reports.classes or ()))
    return np.asarray(np.linalg.pinv(check_reports_classes(reports.label_channel).matrix()).T)


def class_people(reports: Reports) -> Floats:
    """How many people each true class has."""
    squares = reports.counts(squared=True) if reports.weighted else None
    return likely_people(reports.counts(), true_class_shares(reports), squares)


def likely_people(counts: Floats, of_class: Floats, squares: Floats | None = None) -> Floats:
    """How many people each true class has, by counts of the reported ones (and of squared weights, where people have
    any): no fewer than the standard error that blurred labels leave in it, and never quite nobody."""
    error = np.sqrt((counts if squares is None else squares) @ of_class**2)
    people = np.maximum(counts @ of_class, np.where((of_class < 0).any(axis=0), error, 0.0))
    return np.asarray(np.maximum(people, np.finfo(float).eps * people.sum()))
