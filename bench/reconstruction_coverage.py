"""Do the bars hold what they promise? Coverage of 90 % bars, and stated against actual error, case by case.

    python bench/reconstruction_coverage.py --only plateau,heaps --sizes 1e4 --runs 50
    python bench/reconstruction_coverage.py --held      shapes that no choice ever saw
    python bench/reconstruction_coverage.py --quick     n = 1e4, one shape of each kind

A run is a seed.

Estimand: the population that the respondents were drawn from, its exact probabilities in 20 intervals. A cell is a
shape, a channel and a size; reports are drawn as counts, multinomial with the law channel · shape, which is exact.

    covered   share of intervals and seeds in which ``interval(0.9)`` holds the truth
    together  share of seeds in which ``interval(0.9, simultaneous=True)`` holds all of them
    stated    median over intervals of √(mean stderr²) / √(mean error²), both over seeds
    tells     share of seeds in which the diagnosis does not say that the data cannot tell
    L1        mean L1 error relative to AS00's recipe (first seeds only)

Limits: a shape and channel covers 86–95 % on average, a cell 80 % or more; stated is .8–2 in the median and at most 4
in a cell. Where the diagnosis says that the data cannot tell wide bars are honest: there only the lower limits hold.
"""

from argparse import ArgumentParser
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from harness import Bench, main
from reconstruction_grid import SHAPES, Shape, adult_columns, adult_shapes, channels, shape_of
from scipy.stats import beta, laplace, lognorm, norm

import sfumato as sf
from sfumato.counts import Counts, Tally

SIZES = (1_000, 10_000, 100_000, 1_000_000)
INTERVALS = 20
QUICK = ("plateau", "comb", "one value", "normal ages")
COMPARED = 3  # seeds in which AS00's recipe runs beside
EMPTY = 1e-4  # intervals with a smaller true share are left out of stated over actual: they have no error to speak of
TELLS = 0.5  # a cell counts as told if the diagnosis says nothing else in more seeds than this


def with_atoms(name: str, cdf, atoms: dict[float, float]) -> Shape:
    """A density on [0, 1] with people at single values beside it."""
    places, masses = np.array(list(atoms)), np.array(list(atoms.values()))

    def between(edges):
        spread = np.diff(cdf(edges)) / (cdf(1.0) - cdf(0.0)) * (1 - masses.sum())
        return spread + np.histogram(places, edges, weights=masses)[0]

    return Shape(name, sf.Interval(0, 1), None, between)


def integers(name: str, low: int, high: int, shares) -> Shape:
    """Whole numbers with these shares."""
    values, shares = np.arange(low, high + 1), np.asarray(shares) / np.sum(shares)
    domain = sf.Interval(low, high, integer=True)
    return Shape(name, domain, None, lambda edges: np.histogram(values, edges, weights=shares)[0])


def rounded_normal(low: int, high: int, mean: float, sd: float) -> np.ndarray:
    """Shares of whole numbers: a normal one rounded and clipped to the ends."""
    inner = norm.cdf(np.arange(low, high) + 0.5, mean, sd)
    return np.diff(np.concatenate([[0.0], inner, [1.0]]))


def heaped(shares: np.ndarray, low: int, heaps: dict[int, float]) -> np.ndarray:
    """Some people name the nearest multiple of 5, or of 10."""
    values = low + np.arange(shares.size)
    told = (1 - sum(heaps.values())) * shares
    for multiple, part in heaps.items():
        nearest = np.clip(np.rint(values / multiple) * multiple, values[0], values[-1]).astype(int)
        np.add.at(told, nearest - low, part * shares)
    return told


def gaussians(x, *parts):
    return sum(weight * norm.cdf(x, mean, sd) for weight, mean, sd in parts)


def near_flat(x):
    return x + 0.05 * (1 - np.cos(2 * np.pi * x)) / (2 * np.pi)


def gains(values: np.ndarray, top: float) -> Shape:
    """Amounts on [0, top], in the thousandths that a channel sends."""
    rounded = np.rint(np.clip(values, 0, top) / top * 1000) / 1000 * top
    return Shape(
        "capital gain", sf.Interval(0, top), None, lambda edges: np.histogram(rounded, edges)[0] / rounded.size
    )


def chosen_shapes() -> list[Shape]:
    """The shapes on which the bars were calibrated."""
    mixture = ((0.5, 0.3, 0.08), (0.3, 0.6, 0.05), (0.2, 0.8, 0.04))
    return [
        *SHAPES,
        shape_of("near-flat", None, near_flat),
        shape_of("gaussians", None, lambda x: gaussians(x, *mixture)),
        shape_of("skewed", None, lambda x: beta.cdf(x, 1.6, 6)),
        with_atoms("sparse", lambda x: x, {0.11: 0.25, 0.36: 0.15, 0.5: 0.3, 0.683: 0.1, 0.92: 0.2}),
        integers("clipped", 16, 90, rounded_normal(16, 90, 37, 13)),
        integers("heaps", 0, 100, heaped(rounded_normal(0, 100, 42, 17), 0, {5: 0.3, 10: 0.15})),
        integers("normal ages", 20, 80, rounded_normal(20, 80, 45, 9)),
        *adult_shapes(),
        *(gains(values, 100_000) for values in adult_columns("capital-gain")),
    ]


def held_shapes() -> list[Shape]:
    """Shapes that no choice ever saw."""
    steep = lognorm(0.6, scale=0.22)
    return [
        shape_of("cusp", None, lambda x: laplace.cdf(x, 0.55, 0.12)),
        shape_of("two stretches", None, lambda x: np.interp(x, [0, 0.1, 0.35, 0.6, 0.8, 1], [0, 0, 0.6, 0.6, 1, 1])),
        shape_of("wide and narrow", None, lambda x: gaussians(x, (0.7, 0.5, 0.2), (0.3, 0.35, 0.025))),
        with_atoms("incomes", steep.cdf, {1.0: float(steep.sf(1.0)), 0.0: 0.06}),
        integers("rounded to tens", 0, 60, heaped(rounded_normal(0, 60, 33, 12), 0, {10: 0.5})),
        integers("clipped below", 18, 70, rounded_normal(18, 70, 26, 14)),
    ]


@lru_cache(maxsize=1)
def _law(channel: sf.Channel) -> np.ndarray:
    return channel.law()


def report_law(shape: Shape, channel: sf.Channel) -> np.ndarray:
    """The law of a report of somebody drawn from the shape."""
    values = channel.inputs.values
    halves = (values[1:] + values[:-1]) / 2
    law = _law(channel) @ shape.between(np.concatenate([values[:1], halves, values[-1:]]))
    return law / law.sum()


@dataclass
class Cell:
    """What the seeds of one shape, channel and size gave."""

    truth: np.ndarray
    covered: list
    together: list
    errors: list
    stated: list
    tells: list
    against: list

    @property
    def coverage(self) -> float:
        return float(np.mean(self.covered))

    @property
    def ratio(self) -> float:
        """Stated over actual error of the middle interval, of those that hold anybody."""
        actual = np.sqrt(np.mean(np.square(self.errors), axis=0))
        stated = np.sqrt(np.mean(np.square(self.stated), axis=0))
        return float(np.median((stated / np.maximum(actual, 1e-12))[self.truth > EMPTY]))

    @property
    def told(self) -> float:
        return float(np.mean(self.tells))


def cell_of(shape: Shape, channel: sf.Channel, n: int, seeds: range, name: str = "") -> Cell:
    law, cell = report_law(shape, channel), Cell(np.zeros(0), [], [], [], [], [], [])
    for number, seed in enumerate(seeds):
        rng = np.random.default_rng([seed, n, *map(ord, shape.name + name)])
        counts = Counts({None: Tally(channel, rng.multinomial(n, law)[None], np.zeros(1, np.int64))})
        estimate = sf.reconstruct(counts, intervals=INTERVALS)
        truth = shape.between(estimate.edges)
        add(cell, estimate, truth)
        if number < COMPARED:
            theirs = sf.reconstruct(counts, intervals=INTERVALS, method="as00")
            cell.against.append([np.abs(each.probabilities - truth).sum() for each in (estimate, theirs)])
    return cell


def holds(bars: tuple, truth: np.ndarray) -> np.ndarray:
    return (bars[0] <= truth + 1e-9) & (truth <= bars[1] + 1e-9)


def add(cell: Cell, estimate: sf.Estimate, truth: np.ndarray) -> None:
    cell.truth = truth
    cell.covered.append(holds(estimate.interval(0.9), truth))
    cell.together.append(holds(estimate.interval(0.9, simultaneous=True), truth).all())
    cell.errors.append(estimate.probabilities - truth)
    cell.stated.append(estimate.stderr)
    cell.tells.append(not estimate.diagnostics.cannot_tell)


def cells_of(bench: Bench, shapes: list[Shape], sizes: list[int], seeds: range, only: tuple[str, ...] = ()) -> dict:
    """Every cell, by (shape, channel, size)."""
    cells = {}
    for shape in shapes:
        for name, channel in channels(shape.domain).items():
            if only and name not in only:
                continue
            for n in sizes:
                cell = cells[shape.name, name, n] = cell_of(shape, channel, n, seeds, name)
                l1 = np.divide(*np.mean(cell.against, axis=0))
                case = f"{shape.name}, {name}, n = {n:,}"
                bench.row(case, cell.coverage, np.mean(cell.together), cell.ratio, cell.told, l1)
    return cells


def report(bench: Bench, cells: dict) -> None:
    """The limits, and every cell that breaks one."""
    pairs = defaultdict(list)
    for (shape, channel, _), cell in cells.items():
        pairs[shape, channel].append(cell)
    told = {key: cell for key, cell in cells.items() if cell.told > TELLS}
    sure = {key: [cell for cell in found if cell.told > TELLS] for key, found in pairs.items()}
    means = {key: np.mean([cell.coverage for cell in found]) for key, found in pairs.items()}
    high = {key: np.mean([cell.coverage for cell in found]) for key, found in sure.items() if found}
    bench.table("Limits", {"break it": "d", "of": "d"})
    bench.row("cells in which the diagnosis does not tell", len(cells) - len(told), len(cells))
    bench.row("pairs below 86 %", sum(mean < 0.86 for mean in means.values()), len(pairs))
    bench.row("pairs above 95 % where told", sum(mean > 0.95 for mean in high.values()), len(high))
    bench.row("cells below 80 %", sum(cell.coverage < 0.8 for cell in cells.values()), len(cells))
    wide = sum(cell.ratio > 4 for cell in told.values())
    bench.row("told cells stated more than 4 × the actual error", wide, len(told))
    ratios = np.array([cell.ratio for cell in cells.values()])
    sure_ratios = np.array([cell.ratio for cell in told.values()])
    bench.table("Overall", {"figure": ".3f", "limit": "s"})
    bench.row("stated ÷ actual error, median", np.median(ratios), ".8–2")
    bench.row("the same where told", np.median(sure_ratios) if sure_ratios.size else None, ".8–2")
    together = [np.mean(cell.together) for cell in cells.values()]
    bench.row("simultaneous 90 % bands hold all 20, share of runs", np.mean(together), None)
    bench.row("the same in the worst cell", min(together), None)
    l1 = np.array([np.divide(*np.mean(cell.against, axis=0)) for cell in cells.values()])
    bench.row("L1 ÷ that of AS00's recipe, geometric mean", np.exp(np.log(l1).mean()), None)
    bench.row("the worst", l1.max(), None)


def measure(bench: Bench) -> None:
    asked = bench.options
    shapes = held_shapes() if asked.held else chosen_shapes()
    shapes = [shape for shape in shapes if bench.wants(shape.name)]
    if bench.quick and not bench.only:
        shapes = [shape for shape in shapes if shape.name in QUICK]
    sizes = [int(float(n)) for n in asked.sizes.split(",") if n] or ([10_000] if bench.quick else list(SIZES))
    only = tuple(name for name in asked.channels.split(",") if name)
    heads = {"covered": ".1%", "together": ".0%", "stated": ".2f", "tells": ".0%", "L1": ".2f"}
    bench.table(f"{bench.runs} seeds a cell", heads)
    report(bench, cells_of(bench, shapes, sizes, range(bench.seed, bench.seed + bench.runs), only))


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--channels", default="", help="names, with commas between")
    parser.add_argument("--sizes", default="", help="numbers of reports, with commas between")
    parser.add_argument("--held", action="store_true", help="the shapes that no choice ever saw")


if __name__ == "__main__":
    main(measure, seed=5001, runs=200, options=options)
