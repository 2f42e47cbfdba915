"""Classes of records: their codes, how many people are in each, and which channels' reports can be read as values."""

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
    """Raise ValueError if a column's reports cannot be taken for values of its domain.

    channels: a mapping from column name, one entry a column, or None; an entry None is a clear column.
    """
    for name, channel in channels.items() if isinstance(channels, Mapping) else enumerate(channels or ()):
        if channel is not None and not at_face_value(channel):
            raise ValueError(
                f"column {name!r}: reports of {channel.kind} are no values of its domain and cannot be taken for true "
                "ones; use a method that reconstructs"
            )


def at_face_value(channel: Mechanism | None) -> bool:
    """Say whether reports can be taken for values: not where a report names a set, or a symbol outside the domain."""
    return channel is None or all(map(reports_are_values, channel.levels.values()))


def reports_are_values(channel: Channel) -> bool:
    """Say whether a channel's reports are categories of its domain or, where that is an interval, numbers."""
    last = channel
    while isinstance(last, Chain):
        last = last.second
    if isinstance(last, SubsetResponse) or isinstance(channel.domain, Items):
        return False
    outputs, domain = channel.outputs, channel.domain
    if isinstance(domain, Categories) and isinstance(outputs, Categories):
        return set(outputs.labels) <= set(domain.labels)
    return True


def encode_classes(labels: npt.NDArray[Any], channel: Channel | None = None) -> tuple[npt.NDArray[Any], Codes]:
    """Return (the classes in order, the index of every record's class among them).

    labels: the class of each record; a missing one raises ValueError.
    channel: what the labels went through: the classes are its categories. None: those that occur, sorted.
    """
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
    """Return, for every record, the index of its reported class in ``reports.classes``."""
    assert reports.class_codes is not None
    return reports.class_codes


def check_reports_classes(channel: Channel) -> Channel:
    """Return the channel of class labels; raise ValueError unless it reports the categories of its domain."""
    classes = isinstance(channel, Channel) and isinstance(channel.domain, Categories) and reports_are_values(channel)
    if not classes or channel.outputs.size != channel.inputs.size:
        raise ValueError(f"the class went through {channel.kind}, whose reports are no classes; use RandomizedResponse")
    return channel


def label_table_of(reports: Reports) -> Floats:
    """Return P[reported class, true class]: the table of the class's channel, the identity where classes are clear."""
    channel = reports.label_channel
    return np.eye(len(reports.classes or ())) if channel is None else check_reports_classes(channel).matrix()


def true_class_shares(reports: Reports) -> Floats:
    """Return L⁻¹ᵀ, whose entry [y', y] is what a record that reported class y' counts for the true class y.

    L is P[reported class, true class]. Summed over any set of records these numbers, which may be negative, are an
    unbiased count of the true classes; without a channel L⁻¹ᵀ is the identity.
    """
    if reports.label_channel is None:
        return np.eye(len(reports.classes or ()))
    return np.asarray(np.linalg.pinv(check_reports_classes(reports.label_channel).matrix()).T)


def class_people(reports: Reports) -> Floats:
    """Return how many people are in each true class by `likely_people`, from the counts of reported classes."""
    squares = reports.counts(squared=True) if reports.weighted else None
    return likely_people(reports.counts(), true_class_shares(reports), squares)


def likely_people(counts: Floats, of_class: Floats, squares: Floats | None = None) -> Floats:
    """Return how many people are in each true class: the unbiased count, but no fewer than its standard error.

        max(Σ_y' N_y'·A[y', y], √(Σ_y' S_y'·A[y', y]²)),    A = ``of_class``

    and never zero. The standard error is a bound only where labels are blurred (A has negative entries).
    counts: N, people who reported each class. of_class: A[reported class, true class] of `true_class_shares`.
    squares: S, sums of squared weights in each reported class; None: every person counts once, S = N.
    """
    error = np.sqrt((counts if squares is None else squares) @ of_class**2)
    people = np.maximum(counts @ of_class, np.where((of_class < 0).any(axis=0), error, 0.0))
    return np.asarray(np.maximum(people, np.finfo(float).eps * people.sum()))
