"""Checks of the arguments that come with reports: channels, classes and weights."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels import Channel, Mechanism
from sfumato.domain import Codes, Floats, Items, as_array, as_numbers, codes_of_labels, is_missing
from sfumato.tables import naming

WEIGHTS = (1e-100, 1e100)
"""The smallest and the largest weight of a record, in people. Chosen so that squares of weights, summed over any number
of records, stay within the range of floats (1e−308 to 1e308)."""


def channels_by_name(channels: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the channel of every column by its name, None for a clear column.

    ``channels`` is a sequence with one entry a column, a mapping from column name to channel, or None (all clear).
    """
    if channels is None:
        return dict.fromkeys(names)
    if isinstance(channels, Mapping):
        unknown = [str(key) for key in channels if key not in names]
        if unknown:
            raise ValueError(f"channels names column {unknown[0]!r}, which is not there; the columns are {list(names)}")
        return {name: channels.get(name) for name in names}
    if isinstance(channels, Channel) or not isinstance(channels, Sequence):
        raise TypeError(f"channels={channels!r} is neither a list with one entry a column nor a mapping by column name")
    if len(channels) != len(names):
        raise ValueError(f"channels has {len(channels)} entries for {len(names)} columns; give one channel a column")
    return dict(zip(names, channels, strict=True))


def check_mechanism(channel: Any) -> Mechanism:
    """Return ``channel`` unchanged if it blurs answers (a channel, a choice of channels, …); else raise TypeError."""
    if not isinstance(channel, Mechanism):
        shown = repr(channel) if isinstance(channel, str | int | float) else type(channel).__name__
        raise TypeError(f"channel={shown} is not a channel; pass the one that made the reports")
    return channel


def check_channel(channel: Any) -> Channel:
    """Return ``channel`` unchanged if it is a single one whose reports can be counted by code; else raise TypeError."""
    mechanism = check_mechanism(channel)
    if not isinstance(mechanism, Channel):
        raise TypeError(f"{channel.kind} is not a single channel; count each of its columns or levels")
    if isinstance(channel.domain, Items):
        raise TypeError(f"{channel.kind} reports sets of items; use sf.frequent_itemsets for them")
    return mechanism


def channels_by_level(channel: Any) -> dict[Any, Channel]:
    """Return the channel of every level of a mechanism (a strength of blurring that people choose), by level.

    The one level is called None where there is nothing to choose. Raises TypeError where the reports of a level cannot
    be counted by code.
    """
    channels = {level: check_channel(level_channel) for level, level_channel in check_mechanism(channel).levels.items()}
    if not channels:
        raise TypeError(f"{channel.kind} blurs several columns together; give each of them channel.marginal(name)")
    return channels


def classes_of(by: ArrayLike | None, size: int) -> tuple[tuple[Hashable, ...] | None, Codes | None]:
    """Return (the different classes, the number of every report's class among them).

    ``by``: the class label of each of ``size`` reports; the classes are counted apart. (None, None) where ``by`` is
    None. A missing label raises ValueError.
    """
    if by is None:
        return None, None
    if isinstance(by, str):
        raise ValueError(f"by={by!r} is one text; give the class of each report, or count a whole table by its plan")
    labels = as_array(by).reshape(-1)
    check_length("by", labels.size, size)
    if labels.dtype.kind in "Of" and any(is_missing(label) for label in labels.tolist()):
        raise ValueError("by has a missing class; drop those reports or give them a class of their own")
    names, group = codes_of_labels(labels)
    return tuple(names.tolist()), group


def weights_of(weights: ArrayLike | None, size: int, name: str = "weights") -> Floats | None:
    """Return the weights of ``size`` reports, how many people each stands for, as floats, after checking them.

    None stays None: every report stands for one person. ``name`` is how errors call the argument.
    """
    if weights is None:
        return None
    with naming(name):
        people = as_numbers(weights).reshape(-1)
    check_length(name, people.size, size)
    bad = people[~((people == 0) | (people >= WEIGHTS[0]) & (people <= WEIGHTS[1]))]
    if bad.size:
        wrong = "missing" if np.isnan(bad[0]) else f"{bad[0]:g}"
        raise ValueError(f"{name} has an entry that is {wrong}; give how many people each report stands for")
    return people


def whole_weights(weights: Floats, largest: float, records: int) -> Floats:
    """Round weights to multiples of a power of two, so that their sums are exact in whatever order they are made.

    unit = 2^(⌈log₂(largest·records)⌉ − 52): every sum is below 2⁵² units, which a float holds exactly.
    ``largest`` is the largest weight and ``records`` the number of records of the whole table.
    """
    if not largest:
        return weights
    unit = 2.0 ** (np.ceil(np.log2(largest * records)) - 52)
    return np.asarray(np.rint(weights / unit) * unit)


def check_length(name: str, length: int, size: int) -> None:
    """Raise ValueError unless an argument called ``name`` has one entry for each of ``size`` reports."""
    if length != size:
        raise ValueError(f"{name} has {length} entries for {size} reports; give one per report")
