"""Reconstruction against its peers, one thread, in the same run.

1. Time of reconstructing a million reports at k = 100, counting included, relative to `np.histogram(x, range=…)`.
   Also of weekly hours, most of them round numbers, at 20 intervals.
2. Error (L1 on 20 intervals) and time against PyUnfold and scikit-image's Richardson–Lucy on the same counts.
3. Cost of one EM step through a large table, relative to the dense one.

Parts: histogram, heaped, peers, dense. A run is a pair of timings.
"""

import statistics
import time
import warnings

import numpy as np
from harness import Bench, main
from pyunfold import iterative_unfold
from reconstruction_grid import adult_shapes, channels
from skimage.restoration import richardson_lucy

import sfumato as sf
from sfumato.counts import Counts
from sfumato.evidence import DenseTable
from sfumato.evidence.laws import observe
from sfumato.reconstruction.layout import layout_for
from sfumato.reconstruction.request import request_of

N = 1_000_000
UNIT = sf.Interval(0, 1)
CHANNELS = {"gaussian .25": sf.Gaussian(UNIT, scale=0.25), "uniform .5": sf.Uniform(UNIT, halfwidth=0.5)}
SHAPES = {
    "plateau": lambda rng, n: rng.uniform(0.25, 0.75, n),
    "triangles": lambda rng, n: rng.triangular(0, 0.25, 0.5, n) + 0.5 * (rng.random(n) < 0.5),
}


def seconds(call) -> float:
    """Processor time, which a busy machine changes little."""
    start = time.process_time()
    call()
    return time.process_time() - start


def ratio(ours, theirs, rounds: int) -> float:
    """Median of paired ratios: both sides are timed one after the other, so that a busy machine slows both."""
    ours()
    theirs()
    return statistics.median(seconds(ours) / seconds(theirs) for _ in range(rounds))


def measured(call, rounds: int) -> tuple[np.ndarray, float]:
    """(what a call returns, its median time); the slowest peer takes a minute, so it runs once."""
    results, times = [], []
    for _ in range(rounds):
        times.append(seconds(lambda: results.append(call())))
    return results[-1], statistics.median(times)


def against_histogram(bench: Bench, rng: np.random.Generator) -> None:
    bench.table("1e6 reports, k = 100, counting included", {"× np.histogram": ".2f", "limit": "g"})
    for channel_name, channel in CHANNELS.items():
        for shape_name, draw in SHAPES.items():
            reports = channel.randomize(draw(rng, N), rng=rng)
            ends = float(reports.min()), float(reports.max())
            for method, limit in (("em", 2), ("smooth", 15)):
                cost = ratio(
                    lambda w=reports, c=channel, m=method: sf.reconstruct(w, c, 100, m),
                    lambda w=reports, e=ends: np.histogram(w, bins=100, range=e),
                    bench.runs,
                )
                bench.row(f"{method}, {channel_name}, {shape_name}", cost, limit)


def heaped_against_histogram(bench: Bench, rng: np.random.Generator) -> None:
    bench.table("1e6 reports of round numbers, 20 intervals", {"× np.histogram": ".2f", "limit": "g"})
    for shape in adult_shapes():
        for channel_name, channel in channels(shape.domain).items():
            reports = channel.randomize(shape.draw(rng, N), rng=rng)
            ends = float(reports.min()), float(reports.max())
            cost = ratio(
                lambda w=reports, c=channel: sf.reconstruct(w, c, 20),
                lambda w=reports, e=ends: np.histogram(w, bins=100, range=e),
                max(1, bench.runs // 2),
            )
            bench.row(f"smooth, {channel_name}, {shape.name}", cost, 6)


def against_peers(bench: Bench, rng: np.random.Generator) -> None:
    """Peers get our exact table ready-made, and counts; everybody's time includes counting, theirs by np.histogram."""
    names = ("em", "smooth", "PyUnfold", "Richardson–Lucy")
    bench.table("L1 error on 20 intervals | milliseconds", dict.fromkeys(names, ".4f"))
    errors = []
    for channel_name, channel in CHANNELS.items():
        for shape_name, draw in SHAPES.items():
            people = draw(rng, N)
            reports = channel.randomize(people, rng=rng)
            truth = np.histogram(people, 20, (0, 1))[0] / N
            problem = request_of(Counts.of(reports, channel), 100)
            table, counts = problem.table.dense(), problem.counts[0]
            calls = (
                lambda w=reports, c=channel: sf.reconstruct(w, c, 100, "em").probabilities,
                lambda w=reports, c=channel: sf.reconstruct(w, c, 100, "smooth").probabilities,
                lambda a=table, h=counts: pyunfold(a, h),
                lambda a=table, h=counts: richardson(a, h),
            )
            counting = seconds(lambda w=reports: np.histogram(w, bins=100, range=(-2, 3)))
            timed = [measured(call, rounds) for call, rounds in zip(calls, (5, 5, 1, 5), strict=True)]
            error = [float(np.abs(p.reshape(20, 5).sum(axis=1) - truth).sum()) for p, _ in timed]
            cost = [1000 * (t + (counting if i > 1 else 0)) for i, (_, t) in enumerate(timed)]
            errors.append(error)
            cells = [f"{e:.4f} | {t:.0f}" for e, t in zip(error, cost, strict=True)]
            bench.row(f"{channel_name}, {shape_name}", *cells)
    bench.row("geometric mean of errors", *np.exp(np.log(errors).mean(axis=0)))


def pyunfold(table: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """PyUnfold's D'Agostini iteration with its default stop."""
    k = table.shape[1]
    tiny = np.full(k, 1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = iterative_unfold(
            data=counts,
            data_err=np.sqrt(np.maximum(counts, 1)),
            response=table,
            response_err=np.full_like(table, 1e-12),
            efficiencies=np.ones(k),
            efficiencies_err=tiny,
        )["unfolded"]
    return found / found.sum()


def richardson(table: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """scikit-image's Richardson–Lucy with its default 50 iterations, the kernel read off the table's middle column."""
    m, k = table.shape
    before = int(np.argmax(np.cumsum(table[:, k // 2]) >= 0.5)) - k // 2
    middle = k // 2 + before
    reach = min(middle, m - 1 - middle)
    kernel = table[middle - reach : middle + reach + 1, k // 2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = richardson_lucy(counts / counts.max(), kernel / kernel.sum(), num_iter=50, clip=False)
    inside = found[before : before + k]
    return inside / inside.sum()


def against_dense(bench: Bench, rng: np.random.Generator) -> None:
    bench.table("One EM step, relative to the dense table", {"ratio": ".4f", "limit": "g"})
    for name, channel in {
        "gaussian": sf.Gaussian(UNIT, scale=0.25, step=0.0005),
        "uniform": sf.Uniform(UNIT, halfwidth=0.5, step=0.0005),
        "square wave": sf.SquareWave(UNIT, gamma=19, step=0.0005),
    }.items():
        for k in (500, 1000, 2000):
            layout = layout_for(UNIT, k, channel.inputs.step)
            fast = observe(channel, layout.cells).table
            dense = DenseTable(fast.dense())
            p, r = rng.dirichlet(np.ones(k)), rng.random(fast.shape[0])
            cost = (
                ratio(
                    lambda t=fast, p=p, r=r: [(t.apply(p), t.adjoint(r)) for _ in range(20)],
                    lambda t=dense, p=p, r=r: (t.apply(p), t.adjoint(r)),
                    bench.runs,
                )
                / 20
            )
            limit = 0.05 if name == "gaussian" and k >= 1000 else None
            kind = type(fast).__name__.removesuffix("Table")
            bench.row(f"{name}, k = {k} ({kind}, {fast.shape[0]} rows)", cost, limit)


PARTS = {
    "histogram": against_histogram, "heaped": heaped_against_histogram, "peers": against_peers, "dense": against_dense
}  # fmt: skip


def measure(bench: Bench) -> None:
    for name in ("histogram", "dense") if bench.quick and not bench.only else PARTS:
        if bench.wants(name):
            PARTS[name](bench, np.random.default_rng(bench.seed))


if __name__ == "__main__":
    main(measure, seed=11, runs=15)
