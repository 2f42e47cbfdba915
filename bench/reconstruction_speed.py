"""Reconstruction against its peers, one thread, in the same run.

1. Time of reconstructing a million reports at k = 100, counting included, relative to `np.histogram(x, range=…)`.
   Also of weekly hours, most of them round numbers, at 20 intervals.
2. Error (L1 on 20 intervals) and time against PyUnfold and scikit-image's Richardson–Lucy on the same counts.
3. Cost of one EM step through a large table, relative to the dense one.
"""

import statistics
import time
import warnings

import numpy as np
from pyunfold import iterative_unfold
from reconstruction_grid import adult_shapes, channels
from skimage.restoration import richardson_lucy

import sfumato as sf
from sfumato.counts import Counts
from sfumato.reconstruction import DenseTable
from sfumato.reconstruction.cells import layout_for, observe
from sfumato.reconstruction.methods import problem_of

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


def ratio(ours, theirs, rounds: int = 15) -> float:
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


def against_histogram(rng: np.random.Generator) -> None:
    print(f"{'1e6 reports, k = 100, counting included':42}{'x np.histogram':>16}{'limit':>8}")
    for channel_name, channel in CHANNELS.items():
        for shape_name, draw in SHAPES.items():
            reports = channel.randomize(draw(rng, N), rng=rng)
            ends = float(reports.min()), float(reports.max())
            for method, limit in (("em", "2"), ("smooth", "15")):
                cost = ratio(
                    lambda w=reports, c=channel, m=method: sf.reconstruct(w, c, 100, m),
                    lambda w=reports, e=ends: np.histogram(w, bins=100, range=e),
                )
                print(f"{f'{method}, {channel_name}, {shape_name}':42}{cost:16.2f}{limit:>8}", flush=True)


def heaped_against_histogram(rng: np.random.Generator) -> None:
    for shape in adult_shapes():
        for channel_name, channel in channels(shape.domain).items():
            reports = channel.randomize(shape.draw(rng, N), rng=rng)
            ends = float(reports.min()), float(reports.max())
            cost = ratio(
                lambda w=reports, c=channel: sf.reconstruct(w, c, 20),
                lambda w=reports, e=ends: np.histogram(w, bins=100, range=e),
                rounds=7,
            )
            print(f"{f'smooth, {channel_name}, {shape.name}':42}{cost:16.2f}{'6':>8}", flush=True)


def against_peers(rng: np.random.Generator) -> None:
    """Peers get our exact table ready-made, and counts; everybody's time includes counting, theirs by np.histogram."""
    names = ("em", "smooth", "PyUnfold", "Richardson–Lucy")
    head = "".join(f"{name:>18}" for name in names)
    print(f"\n{'L1 error on 20 intervals | milliseconds':32}{head}")
    errors = []
    for channel_name, channel in CHANNELS.items():
        for shape_name, draw in SHAPES.items():
            people = draw(rng, N)
            reports = channel.randomize(people, rng=rng)
            truth = np.histogram(people, 20, (0, 1))[0] / N
            problem = problem_of(Counts.of(reports, channel), 100)
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
            row = "".join(f"{f'{e:.4f} | {t:.0f}':>18}" for e, t in zip(error, cost, strict=True))
            print(f"{f'{channel_name}, {shape_name}':32}{row}", flush=True)
    means = np.exp(np.log(errors).mean(axis=0))
    print(f"{'geometric mean of errors':32}" + "".join(f"{mean:18.4f}" for mean in means))


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


def against_dense(rng: np.random.Generator) -> None:
    print(f"\n{'one EM step, relative to the dense table':42}{'ratio':>16}{'limit':>8}")
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
                    rounds=9,
                )
                / 20
            )
            limit = "0.05" if name == "gaussian" and k >= 1000 else "-"
            kind = type(fast).__name__.removesuffix("Table")
            print(f"{f'{name}, k = {k} ({kind}, {fast.shape[0]} rows)':42}{cost:16.4f}{limit:>8}", flush=True)


if __name__ == "__main__":
    generator = np.random.default_rng(11)
    against_histogram(generator)
    heaped_against_histogram(generator)
    against_peers(generator)
    against_dense(generator)
