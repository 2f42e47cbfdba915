"""What callers give beside the reports, checked: channels, classes and weights."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels import Channel, Mechanism
from sfumato.domain import Codes, Floats, Items, as_array, as_numbers, codes_of_labels, is_missing
from sfumato.tables import naming

WEIGHTS = (1e-100, 1e100)  # whose squares are numbers too


def channels_by_name(channels: Any, names: Sequence[str]) -> dict[str, Any]:
    """One channel or None a column, from a sequence or from a mapping by column name."""
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
    """A mechanism, not something else."""
    if not isinstance(channel, Mechanism):
        shown = repr(channel) if isinstance(channel, str | int | float) else type(channel).__name__
        raise TypeError(f"channel={shown} is not a channel; pass the one that made the reports")
    return channel


def check_channel(channel: Any) -> Channel:
    """A channel whose reports can be counted by code."""
    found = check_mechanism(channel)
    if not isinstance(found, Channel):
        raise TypeError(f"{channel.kind} is not a single channel; count each of its columns or levels")
    if isinstance(channel.domain, Items):
        raise TypeError(f"{channel.kind} reports sets of items; use sf.frequent_itemsets for them")
    return found


def channels_by_level(channel: Any) -> dict[Any, Channel]:
    """The channels of a mechanism, each of which can be counted by code."""
    found = {level: check_channel(one) for level, one in check_mechanism(channel).levels.items()}
    if not found:
        raise TypeError(f"{channel.kind} blurs several columns together; give each of them channel.marginal(name)")
    return found


def classes_of(by: ArrayLike | None, size: int) -> tuple[tuple[Hashable, ...] | None, Codes | None]:
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
    """How many people each report stands for; None: one each."""
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
    """Weights as whole multiples of a power of two so small that sums of them are exact, in whatever order.

    The power follows from the largest weight and the number of records alone: every sum is below 2⁵² multiples.
    """
    if not largest:
        return weights
    unit = 2.0 ** (np.ceil(np.log2(largest * records)) - 52)
    return np.asarray(np.rint(weights / unit) * unit)


def check_length(name: str, length: int, size: int) -> None:
    if length != size:
        raise ValueError(f"{name} has {length} entries for {size} reports; give one per report")
