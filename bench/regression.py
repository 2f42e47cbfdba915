"""Regression with blurred columns: do two standard errors hold the truth, and what does the blur cost?

Every design is simulated so many times with seeds of its own. One row a coefficient:
    held      share of surveys whose coefficient is within two standard errors of the truth (95.4 % if errors are right)
    stated    mean standard error by the actual root mean square error
    bias      mean error in actual standard errors of one survey
    clean     actual error by that of the same regression on the true values, in the same surveys

Then why lines are fitted by moments: the coefficient of one answer beside that of a likelihood which takes the errors
of the outcome for normal (EM over the two kinds of people, knowing that the answer does not go with the other column),
where they are and where they are skewed. Root mean square errors by the clean ones, and bias in the clean one's errors.
A run is a survey of 3,000 people.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from harness import Bench, main

import sfumato as sf

PEOPLE = 3_000
COIN = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.8)
HABIT = sf.RandomizedResponse(sf.Categories(["often", "seldom", "never"]), gamma=9)
AGE = sf.Gaussian(sf.Interval(20, 80), privacy=0.5)
WAVE = sf.SquareWave(sf.Interval(0, 1), gamma=19)
LEVELS = sf.Choice({"open": sf.RandomizedResponse(COIN.domain, keep=0.95), "shy": COIN})
Table = dict[str, np.ndarray]


@dataclass(frozen=True)
class Design:
    """``draw(people, rng)``: the true table; ``channels``: of what is blurred; ``truth``: the coefficients."""

    draw: Callable[[int, np.random.Generator], Table]
    channels: dict[str, sf.Channel]
    outcome: str
    on: list[str]
    truth: dict[str, float]
    weights: str | None = None


def odds(chance: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-chance))


def people(n: int, rng: np.random.Generator) -> Table:
    """Age, a habit and an answer that hang together."""
    age = rng.uniform(20, 80, n)
    yes = rng.random(n) < odds(0.04 * (age - 50) - 0.5)
    pull = np.column_stack([0.03 * (age - 40), np.full(n, 0.4), np.zeros(n)])
    chance = np.exp(pull) / np.exp(pull).sum(axis=1, keepdims=True)
    habit = np.array(["often", "seldom", "never"])[(rng.random(n)[:, None] > chance.cumsum(axis=1)).sum(axis=1)]
    return {"age": age, "answer": np.where(yes, "yes", "no"), "habit": habit, "part": rng.beta(2, 3, n)}


def linear(n: int, rng: np.random.Generator) -> Table:
    found = people(n, rng)
    skewed = rng.gamma(1.5, 1.0, n) - 1.5
    found["income"] = (
        2 + 1.5 * (found["answer"] == "yes") + 0.8 * (found["habit"] == "often") - 0.4 * (found["habit"] == "seldom")
        + 0.03 * found["age"] + 2 * found["part"] + skewed * (0.5 + found["age"] / 80)
    )  # fmt: skip
    return found


def weighted(n: int, rng: np.random.Generator) -> Table:
    found = linear(n, rng)
    return {**found, "w": rng.lognormal(0, 0.8, n)}


def chosen(n: int, rng: np.random.Generator) -> Table:
    found = linear(n, rng)
    return {**found, "answer.level": rng.choice(["open", "shy"], n)}


BOTH = {"answer = yes": 1.5, "age": 0.03}
EVERY = {**BOTH, "habit = often": 0.8, "habit = seldom": -0.4, "part": 2.0}
AGAINST = {"answer": "no", "habit": "never"}
ON = ["answer", "age", "habit", "part"]
DESIGNS = {
    "linear on an answer": Design(linear, {"answer": COIN}, "income", ON, EVERY),
    "linear on everything blurred": Design(
        linear, {"answer": COIN, "habit": HABIT, "age": AGE, "part": WAVE}, "income", ON, EVERY
    ),
    "linear of a blurred outcome": Design(
        linear, {"answer": COIN, "income": sf.Laplace(sf.Interval(-10, 40), scale=2.0)}, "income", ON, EVERY
    ),
    "linear with weights": Design(weighted, {"answer": COIN, "habit": HABIT}, "income", ON, EVERY, "w"),
    "linear with levels": Design(chosen, {"answer": LEVELS}, "income", ON, EVERY),
    "logistic": Design(people, {"answer": COIN}, "answer", ["age"], {"age": 0.04, "(constant)": -2.5}),
    "logistic with weights": Design(
        weighted, {"answer": COIN}, "answer", ["age"], {"age": 0.04, "(constant)": -2.5}, "w"
    ),
    "logistic with levels": Design(chosen, {"answer": LEVELS}, "answer", ["age"], {"age": 0.04, "(constant)": -2.5}),
    "logistic of three": Design(
        people, {"habit": HABIT}, "habit", ["age"],
        {"often: age": 0.03, "often: (constant)": -1.2, "seldom: age": 0.0, "seldom: (constant)": 0.4},
    ),
}  # fmt: skip


def blurred(design: Design, truth: Table, rng: np.random.Generator) -> Table:
    levels = {name: truth.get(f"{name}.level") for name in design.channels}
    return truth | {
        name: channel.randomize(truth[name], rng, **({} if levels[name] is None else {"level": levels[name]}))
        for name, channel in design.channels.items()
    }


def survey(design: Design, people: int, seed: int) -> np.ndarray:
    """(coefficient, its standard error, clean coefficient) of everything that the truth names."""
    rng = np.random.default_rng(seed)
    truth = design.draw(people, rng)
    against = {name: label for name, label in AGAINST.items() if name in (design.outcome, *design.on)}
    asked = design.outcome, design.on
    found = sf.regress(blurred(design, truth, rng), design.channels, *asked, weights=design.weights, reference=against)
    bare = {name: column for name, column in truth.items() if not name.endswith(".level")}
    clean = sf.regress(bare, {}, *asked, weights=design.weights, reference=against)
    return np.array([[found[name], found[name].stderr, clean[name]] for name in design.truth])


def measured(design: Design, surveys: int, people: int, first: int) -> dict[str, tuple[float, ...]]:
    """By coefficient: held, stated, bias, clean."""
    drawn = np.array([survey(design, people, first + seed) for seed in range(surveys)])
    truth = np.array(list(design.truth.values()))
    off, stated, clean = drawn[:, :, 0] - truth, drawn[:, :, 1], drawn[:, :, 2] - truth
    actual, bare = np.sqrt((off**2).mean(axis=0)), np.sqrt((clean**2).mean(axis=0))
    held = (np.abs(off) < 2 * stated).mean(axis=0)
    columns = held, stated.mean(axis=0) / actual, off.mean(axis=0) / actual, actual / bare
    return dict(zip(design.truth, zip(*(column.tolist() for column in columns), strict=True), strict=True))


def by_normal_likelihood(y: np.ndarray, chances: np.ndarray, z: np.ndarray) -> float:
    """y = a + b·z + effect·[yes] + N(0, s²), the answer hidden: EM."""
    clear = np.column_stack([np.ones(y.size), z])
    rest, effect, spread, share = y - y.mean(), 0.5, float(y.std()), 0.3
    for _ in range(400):
        yes = chances[:, 0] * share * np.exp(-0.5 * ((rest - effect) / spread) ** 2)
        no = chances[:, 1] * (1 - share) * np.exp(-0.5 * (rest / spread) ** 2)
        yes = yes / (yes + no)
        design = np.column_stack([clear, yes])
        gram = design.T @ design
        gram[-1, -1] = yes.sum()
        *line, effect = np.linalg.solve(gram, design.T @ y)
        rest, share = y - clear @ line, float(yes.mean())
        spread = float(np.sqrt((yes * (rest - effect) ** 2 + (1 - yes) * rest**2).mean()))
    return float(effect)


def beside_likelihood(effect: float, skewed: bool, surveys: int, people: int, first: int) -> np.ndarray:
    """Errors of the moments, of the normal likelihood and of the clean regression, survey by survey."""
    found = []
    for seed in range(first, first + surveys):
        rng = np.random.default_rng(seed)
        yes, z = rng.random(people) < 0.3, rng.normal(size=people)
        y = 1 + effect * yes + 0.5 * z + (rng.gamma(1.0, 1.0, people) - 1 if skewed else rng.normal(size=people))
        truth = np.where(yes, "yes", "no")
        report = COIN.randomize(truth, rng)
        lines = [
            float(sf.regress({"a": each, "z": z, "y": y}, channels, "y", ["a", "z"], reference={"a": "no"})["a = yes"])
            for each, channels in ((report, {"a": COIN}), (truth, {}))
        ]
        likely = by_normal_likelihood(y, COIN.matrix()[COIN.encode_reports(report)], z)
        found.append([lines[0], likely, lines[1]])
    return np.array(found) - effect


def measure(bench: Bench) -> None:
    surveys, people, first = bench.runs, PEOPLE, bench.seed
    heads = {"held": ".1%", "stated": ".2f", "bias": ".2f", "clean": ".2f"}
    bench.table(f"{surveys} surveys of {people:,} people", heads)
    every = []
    for name, design in DESIGNS.items():
        if bench.wants(name):
            for coefficient, figures in measured(design, surveys, people, first).items():
                bench.row(f"{name}, {coefficient}", *figures)
                every.append(figures[0])
    bench.row("all of them", np.mean(every), None, None, None)
    bench.row("the worst of them", min(every), None, None, None)
    bench.table(
        "By moments, and by a likelihood that takes errors for normal",
        {"moments": ".2f", "likelihood": ".2f", "bias of moments": ".2f", "bias of likelihood": ".2f"},
    )
    for effect in (0.5, 1.5, 3.0):
        for skewed in (False, True):
            off = beside_likelihood(effect, skewed, surveys, people, first)
            error, bias = np.sqrt((off**2).mean(axis=0)), off.mean(axis=0)
            name = f"effect {effect}, {'skewed' if skewed else 'normal'} errors"
            bench.row(name, *(error[:2] / error[2]), *(bias[:2] / error[2]))


if __name__ == "__main__":
    main(measure, seed=1_000, runs=200)
