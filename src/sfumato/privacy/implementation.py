"""The implementation under audit: a black box that turns true values into reports.

By default it is the channel's own ``randomize`` with secure noise. Anything else can be put in its place: a function of
values, or a mapping from true value to the reports that some other program (such as a browser client) gave for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.channels import Channel
from sfumato.domain import Categories, Codes, as_array

Randomize = Callable[[Any], Any]
SEVERAL = 9
FEW = 48


@dataclass(frozen=True, eq=False)
class Samples:
    """Report codes for each tested true code; ``strange`` holds reports that the channel does not know."""

    channel: Channel
    tested: Codes
    codes: tuple[Codes, ...]
    strange: tuple[Any, ...] = ()

    @property
    def smallest(self) -> int:
        return min((codes.size for codes in self.codes), default=0)


def tested_codes(channel: Channel) -> Codes:
    """All true codes where they are few, else several over the domain, the two ends included."""
    size = channel.inputs.size
    if size <= FEW:
        return np.arange(size)
    return np.unique(np.linspace(0, size - 1, SEVERAL).round().astype(np.int64))


def own_implementation(channel: Channel, rng: np.random.Generator | None) -> Randomize:
    """The channel's public ``randomize``: secure unless a generator is given."""
    return lambda values: channel.randomize(values, rng)


def draw_samples(channel: Channel, randomize: Randomize | Mapping[Any, Any], total: int) -> Samples:
    """About ``total`` reports, spread evenly over the tested true values."""
    if isinstance(randomize, Mapping):
        return _given_samples(channel, randomize)
    tested = tested_codes(channel)
    each = max(total // tested.size, 2000)
    columns, strange = [], []
    for code in tested:
        values = channel.inputs.decode(np.full(each, code))
        found, odd = known_codes(channel, randomize(values))
        columns.append(found)
        strange.extend(odd)
    return Samples(channel, tested, tuple(columns), tuple(strange))


def _given_samples(channel: Channel, reports: Mapping[Any, Any]) -> Samples:
    if not reports:
        raise ValueError("samples is empty; map each tested true value to its reports")
    tested = channel.encode(np.array(list(reports), dtype=object if isinstance(channel.inputs, Categories) else None))
    read = [known_codes(channel, found) for found in reports.values()]
    return Samples(channel, tested, tuple(codes for codes, _ in read), tuple(odd for _, more in read for odd in more))


def known_codes(channel: Channel, reports: Any) -> tuple[Codes, list[Any]]:
    """Codes of reports that lie exactly on the channel's reports; the others as they are."""
    array = as_array(reports).ravel()
    if isinstance(channel.outputs, Categories):
        known = np.array([label in set(channel.outputs.labels) for label in array.tolist()], dtype=bool)
        return channel.encode_reports(array[known]), array[~known].tolist()
    codes = channel.encode_reports(array)
    exact = (codes >= 0) & (channel.outputs.decode(codes) == array)
    return codes[exact], array[~exact].tolist()
