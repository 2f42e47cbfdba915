"""AS00, Section 3: the shapes of Figure 2 under both noises, and where each stopping rule leaves them.

Two shapes on [0, 1] are blurred and reconstructed in intervals of width 0.05; the noise is gaussian with deviation
0.25, or uniform on ±0.5. They were only drawn in the figure, which is lost; these are our reading of their names:

    plateau    uniform on the middle half
    triangles  two triangles, on the first and the last 2/5 of the interval
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

import sfumato as sf
from reproductions import Rows
from reproductions.as00.equations import Equation, Observed, solve
from sfumato.domain import Floats
from sfumato.evidence import ENOUGH, ChiSquare

UNIT = sf.Interval(0, 1)
INTERVALS, METHODS = 20, ("as00", "smooth")
EDGES = np.linspace(0, 1, INTERVALS + 1)
SHAPES: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "plateau": lambda n, rng: rng.uniform(0.25, 0.75, n),
    "triangles": lambda n, rng: np.asarray(rng.choice([0.0, 0.6], n) + rng.triangular(0.0, 0.2, 0.4, n)),
}
NOISES: dict[str, sf.Channel] = {
    "gaussian": sf.Gaussian(UNIT, scale=0.25),
    "uniform": sf.Uniform(UNIT, halfwidth=0.5),
}
STOPS: dict[str, Any] = {
    "1 % of χ²": ChiSquare(0.01), "0.25 %": ChiSquare(0.0025), "0.1 %": ChiSquare(0.001), "0.01 %": ChiSquare(0.0001),
    "observed against re-randomized": Observed(), "change of likelihood": ENOUGH,
}  # fmt: skip
EQUATIONS: tuple[Equation, ...] = ("Equation 3", "Equation 2")
"""The paper's algorithm on intervals of reports, and on every record."""
BY_NUMBER = ((5_000, 0.95), (10_000, 0.95), (10_000, 0.99), (100_000, 0.95))
"""Values, and the confidence of the χ² threshold."""
SHARES = (0.01, 0.001, 0.0001, 0.00001)


@dataclass(frozen=True)
class Drawn:
    """What Figure 2 draws: a row an interval, a row a stopping rule, and a row a number of values."""

    intervals: Rows
    stops: Rows
    by_number: Rows


def drawn(n: int, runs: int) -> Drawn:
    """Figure 2 of n values; its triangles of fewer values are drawn so often."""
    some = [one for one in BY_NUMBER if one[0] <= n] or [(n, 0.95)]
    return Drawn(shape_rows(n), stop_rows(n), number_rows(some, runs))


def shape_rows(n: int, seed: int = 0) -> Rows:
    """One row an interval of each shape under each noise: truth, reports inside it, and both reconstructions."""
    rng = np.random.default_rng(seed)
    return [row for shape in SHAPES for noise in NOISES for row in _one_shape(shape, noise, n, rng)]


def _one_shape(shape: str, noise: str, n: int, rng: np.random.Generator) -> Rows:
    channel = NOISES[noise]
    values = SHAPES[shape](n, rng)
    reports = channel.randomize(values, rng)
    found = {"truth": _shares(values), "randomized": np.histogram(reports, EDGES)[0] / n}
    found |= {method: sf.reconstruct(reports, channel, EDGES, method).probabilities for method in METHODS}
    places = {"shape": shape, "noise": noise}
    numbers = zip(EDGES[:-1].tolist(), EDGES[1:].tolist(), *(column.tolist() for column in found.values()), strict=True)
    return [{**places, **dict(zip(("low", "high", *found), row, strict=True))} for row in numbers]


def _shares(values: Floats) -> Floats:
    return np.asarray(np.histogram(values, EDGES)[0] / values.size)


def stop_rows(n: int, seed: int = 0) -> Rows:
    """How far from the truth both equations end by every stopping rule, and after how many steps."""
    rng, rows = np.random.default_rng([seed, 1]), []
    for (shape, draw), (noise, channel) in product(SHAPES.items(), NOISES.items()):
        values = draw(n, rng)
        reports, truth = channel.randomize(values, rng), _shares(values)
        for equation, (rule, stop) in product(EQUATIONS, STOPS.items()):
            found = solve(reports, channel, EDGES, stop, equation)
            facts = {"shape": shape, "noise": noise, "equation": equation, "stop": rule}
            rows.append({**facts, "steps": found.steps, "error": wrong(found.probabilities, truth)})
    return rows


def number_rows(numbers: list[tuple[int, float]], runs: int, seed: int = 0) -> Rows:
    """The triangles under gaussian noise by Equation 3: mean error at each stop and its deviation over runs."""
    rows, channel = [], NOISES["gaussian"]
    for n, confidence in numbers:
        stops, errors = [ChiSquare(share, confidence) for share in SHARES], np.zeros((runs, len(SHARES)))
        for run in range(runs):
            rng = np.random.default_rng([seed, 2, n, run])
            values = SHAPES["triangles"](n, rng)
            reports, truth = channel.randomize(values, rng), _shares(values)
            found = [solve(reports, channel, EDGES, stop).probabilities for stop in stops]
            errors[run] = [wrong(p, truth) for p in found]
        row: dict[str, Any] = {"values": n, "confidence": confidence, "runs": runs}
        for share, mean, deviation in zip(SHARES, errors.mean(axis=0), errors.std(axis=0), strict=True):
            row |= {f"{100 * share:g} %": float(mean), f"± at {100 * share:g} %": float(deviation)}
        rows.append(row)
    return rows


def wrong(found: Floats, truth: Floats) -> float:
    """The share of values in a wrong interval, ½ Σ |found − truth|."""
    return float(np.abs(found - truth).sum() / 2)


def shape_error(rows: Rows, shape: str, noise: str, method: str) -> float:
    """`wrong` of a shape's rows."""
    chosen = [row for row in rows if (row["shape"], row["noise"]) == (shape, noise)]
    return wrong(*(np.array([row[name] for row in chosen]) for name in (method, "truth")))
