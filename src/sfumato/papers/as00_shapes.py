"""AS00 Figure 2: two shapes on [0, 1], blurred and reconstructed in intervals of width 0.05.

    plateau    uniform on the middle half
    triangles  two triangles, on the first and the last 2/5 of the interval

The noise is gaussian with deviation 0.25, or uniform on ±0.5. The shapes themselves were only drawn in the figure,
which is lost; these are our reading of their names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.channels import Channel, Gaussian, Uniform
from sfumato.domain import Interval
from sfumato.reconstruction import reconstruct

Floats = npt.NDArray[np.float64]
DOMAIN = Interval(0, 1)
INTERVALS = 20
NOISES: dict[str, Channel] = {"gaussian": Gaussian(DOMAIN, scale=0.25), "uniform": Uniform(DOMAIN, halfwidth=0.5)}
METHODS = ("as00", "smooth")


def draw_plateau(n: int, rng: np.random.Generator) -> Floats:
    return rng.uniform(0.25, 0.75, n)


def draw_triangles(n: int, rng: np.random.Generator) -> Floats:
    start = rng.choice([0.0, 0.6], n)
    return np.asarray(start + rng.triangular(0.0, 0.2, 0.4, n))


SHAPES: dict[str, Callable[[int, np.random.Generator], Floats]] = {"plateau": draw_plateau, "triangles": draw_triangles}


def shape_rows(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """One row an interval of each shape under each noise: truth, reports inside it, and both reconstructions."""
    rng = np.random.default_rng(seed)
    return [row for shape in SHAPES for noise in NOISES for row in _rows(shape, noise, n, rng)]


def _rows(shape: str, noise: str, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    channel = NOISES[noise]
    values = SHAPES[shape](n, rng)
    reports = channel.randomize(values, rng)
    edges = np.linspace(0, 1, INTERVALS + 1)
    found = {"truth": np.histogram(values, edges)[0] / n, "randomized": np.histogram(reports, edges)[0] / n}
    found |= {method: reconstruct(reports, channel, edges, method).probabilities for method in METHODS}
    places = {"shape": shape, "noise": noise}
    numbers = zip(edges[:-1].tolist(), edges[1:].tolist(), *(column.tolist() for column in found.values()), strict=True)
    return [{**places, **dict(zip(("low", "high", *found), row, strict=True))} for row in numbers]


def shape_error(rows: list[dict[str, Any]], shape: str, noise: str, method: str) -> float:
    """½ Σ |reconstructed − truth| over the intervals."""
    chosen = [row for row in rows if (row["shape"], row["noise"]) == (shape, noise)]
    return float(sum(abs(row[method] - row["truth"]) for row in chosen) / 2)
