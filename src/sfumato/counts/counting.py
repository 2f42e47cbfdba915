"""One pass from reports to the counts of their codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.channels import Channel
from sfumato.channels.drawing import kernels_in
from sfumato.domain import Categories, Codes, Floats, Grid, as_array

WORTH_COMPILING = 1 << 16


def compiled() -> Any:
    """The numba kernels, or None where numba is missing."""
    return kernels_in("sfumato.counts.compiled")


def count_codes(reports: ArrayLike, channel: Channel) -> tuple[Codes, int]:
    """(how often each report code occurs, how many reports are missing)."""
    array = as_array(reports)
    grid = channel.outputs
    large = array.dtype.kind in "fiu" and array.size >= WORTH_COMPILING
    if large and isinstance(grid, Grid) and compiled():
        counts = np.zeros(grid.size, dtype=np.int64)
        missing, infinite = compiled().count_on_grid(
            np.ascontiguousarray(array, dtype=np.float64).ravel(), grid.origin, grid.step, counts
        )
        if infinite:
            refuse_infinite()
        return counts, int(missing)
    codes = codes_of(array, channel)
    known = codes[codes >= 0]
    return np.bincount(known, minlength=grid.size), int(codes.size - known.size)


def codes_of(reports: NDArray[Any], channel: Channel) -> Codes:
    """Report codes in one row, −1 for missing; an infinite report is refused."""
    if reports.dtype.kind == "f" and not isinstance(channel.outputs, Categories) and np.isinf(reports).any():
        refuse_infinite()
    return np.atleast_1d(channel.encode_reports(reports)).ravel()


def weighted_counts(codes: Codes, group: Codes, groups: int, size: int, weights: Floats | None) -> NDArray[Any]:
    """counts[group, code] of known codes, each report counted ``weights`` times (once when None)."""
    known = codes >= 0
    place = group[known] * size + codes[known]
    weighed = None if weights is None else weights[known]
    return np.bincount(place, weighed, minlength=groups * size).reshape(groups, size)


def refuse_infinite() -> None:
    raise ValueError("a report is infinite; mark it as missing (NaN) or drop it")
