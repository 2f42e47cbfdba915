"""Draw plans and tables by chance: mostly a handful of ordinary columns and a class, now and then something odd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.random import Generator

import sfumato as sf
from sfumato.domain import Categories, Interval, domain_to_spec
from tests.laws.chance import FRAMES, Case, Column
from tests.laws.chance_channels import MAKERS, random_mechanism

PEOPLE = {5: 0.1, 12: 0.1, 40: 0.15, 150: 0.2, 600: 0.2, 2_500: 0.15, 8_000: 0.07, 20_000: 0.03}
COLUMNS = {1: 0.15, 2: 0.25, 3: 0.3, 5: 0.18, 9: 0.1, 30: 0.02}
WEIGHTS = {"None": 0.75, "r(99).integers(0, 4, n) * 1.0": 0.1, "r(99).uniform(.1, 9, n)": 0.15}
KINDS = [kind for kind in sorted(MAKERS) if kind not in ("correlated-gaussian", "select-a-size")]
"""Mechanisms of one column of a table."""
LEARNERS = [
    "sf.TreeClassifier()", "sf.Chooser()", "sf.NaiveBayesClassifier()", "sf.AdditiveClassifier()",
    "sf.GaussianMixtureClassifier()", "sf.JointModel()", "sf.ProductMixtureClassifier()",
    "sf.FaceValueClassifier()",
    *(f"sf.TreeClassifier(reconstruction={way!r})" for way in ("joint", "byclass", "local", "global", "none")),
    *(f"sf.NaiveBayesClassifier(density={way!r})" for way in ("moments", "reconstructed", "direct")),
]  # fmt: skip


def one_of(rng: Generator, choices: Any) -> Any:
    """Draw one of a list, or one of a mapping from choice to chance."""
    if isinstance(choices, Mapping):
        return list(choices)[int(rng.choice(len(choices), p=list(choices.values())))]
    return choices[int(rng.integers(len(choices)))]


def random_case(rng: Generator, *, most_people: int = 20_000, most_columns: int = 30) -> Case:
    """A plan and a table: mostly a handful of ordinary columns and a class, now and then something odd."""
    people, count = one_of(rng, PEOPLE), one_of(rng, COLUMNS)
    columns = {f"x{place}": random_column(rng) for place in range(min(count, most_columns))}
    if rng.random() < 0.1 and len(columns) > 1:
        columns = disjoint(columns)
    if rng.random() < 0.85:
        columns["y"] = random_class(rng, columns)
    frames = ["mapping", "pandas"] if any(is_mixed(each.attribute) for each in columns.values()) else list(FRAMES)
    asked = [each for each in columns.values() if "role" not in each.attribute]
    head = {"questions_each": 1} if rng.random() < 0.07 and len(asked) > 1 else {}
    learner, design = one_of(rng, LEARNERS), random_design(rng)
    return Case(min(people, most_people), columns, one_of(rng, frames), one_of(rng, WEIGHTS), head, learner, design)


def random_design(rng: Generator) -> str:
    """An operator for baskets of a few sizes, empty ones too."""
    sizes = sorted(rng.choice(5, int(rng.integers(1, 4)), replace=False).tolist())
    gamma, items = one_of(rng, [3.0, 19.0, 60.0]), one_of(rng, [5, 8, 40])
    return f"sf.SelectASize.design(sf.Items({items}), sizes={sizes}, gamma={gamma}, up_to=1, resolution=64)"


def is_mixed(spec: Any) -> bool:
    """Say whether labels of an attribute, or of its reports, are of several kinds: no column of Arrow holds such."""
    if isinstance(spec, Mapping):
        own = [spec[key] for key in ("categories", "reports") if isinstance(spec.get(key), list)]
        return any(len(set(map(type, labels))) > 1 for labels in own) or any(map(is_mixed, spec.values()))
    return isinstance(spec, list) and any(map(is_mixed, spec))


def random_column(rng: Generator) -> Column:
    """A blurred column, or now and then a clear one, with or without gaps."""
    if rng.random() < 0.2:
        return random_clear_column(rng)
    mechanism = ordinary_mechanism(rng) if rng.random() < 0.6 else random_mechanism(rng, one_of(rng, KINDS))
    attribute = {**domain_to_spec(mechanism.domain), **mechanism.to_spec()}
    return Column(with_gaps(rng, mechanism.domain, values_of(rng, mechanism.domain)), attribute)


def ordinary_mechanism(rng: Generator) -> Any:
    """What surveys mostly ask: a whole number, an amount, or one of a few labels, with noise or randomized response."""
    privacy, gamma, low = one_of(rng, [0.25, 0.5, 1.0]), one_of(rng, [3.0, 19.0]), one_of(rng, [0, 1, 18, -5])
    whole = sf.Interval(low, low + one_of(rng, [1, 5, 30, 80, 499]), integer=True)
    interval = sf.Interval(0, one_of(rng, [1.0, 10.0, 150_000.0])) if rng.random() < 0.4 else whole
    few = sf.Categories(random_labels(rng, one_of(rng, {2: 0.3, 3: 0.3, 5: 0.2, 12: 0.15, 300: 0.05})))
    kinds = [
        lambda: sf.Gaussian(interval, privacy=privacy), lambda: sf.Uniform(interval, privacy=privacy),
        lambda: sf.SquareWave(interval, gamma=gamma), lambda: sf.RandomizedResponse(few, gamma=gamma),
    ]  # fmt: skip
    return one_of(rng, dict(zip(kinds, (0.35, 0.15, 0.15, 0.35), strict=True)))()


def random_clear_column(rng: Generator) -> Column:
    """A column that is sent as it is: numbers of some magnitude, or labels."""
    low, high = random_ends(rng)
    labels = random_labels(rng, one_of(rng, [1, 2, 3, 12, 60]))
    domain = sf.Interval(low, high) if rng.random() < 0.6 else sf.Categories(labels)
    return Column(with_gaps(rng, domain, values_of(rng, domain)), {**domain_to_spec(domain), "role": "clear"})


def random_ends(rng: Generator) -> tuple[float, float]:
    """The ends of an interval of some magnitude, negative or not."""
    size = float(10.0 ** rng.integers(-9, 13))
    low = one_of(rng, [0.0, -1.0, 0.25, 3.0]) * size
    return low, low + size


def random_labels(rng: Generator, size: int) -> list[Any]:
    """So many labels of one kind, now and then of several."""
    texts, numbers = [f"w{i}" for i in range(size)], [i - size // 2 for i in range(size)]
    kinds: list[list[Any]] = [texts, texts, list(range(size)), numbers, [i / 4 for i in range(size)]]
    kinds += [[f'ä {i}, "b"' for i in range(size)], [True, False] if size == 2 else texts]
    mixed: list[list[Any]] = [[f"{i}" if i % 2 else i for i in range(size)], [True, "yes"] if size == 2 else texts]
    return one_of(rng, mixed if rng.random() < 0.1 else kinds)


def values_of(rng: Generator, domain: Any) -> str:
    """An expression that draws values of a domain: even, peaked, or the same for everybody."""
    seed, shape = int(rng.integers(1000)), one_of(rng, {"even": 0.5, "peaked": 0.42, "constant": 0.08})
    if isinstance(domain, Categories):
        codes = {
            "even": f"r({seed}).integers(0, {domain.size}, n)",
            "peaked": f"r({seed}).binomial({domain.size - 1}, .3, n)",
            "constant": "np.zeros(n, int)",
        }[shape]
        if isinstance(domain.labels, range):
            return codes
        kind = "" if len({type(label) for label in domain.labels}) == 1 else ", object"
        return f"np.array({list(domain.labels)!r}{kind})[{codes}]"
    assert isinstance(domain, Interval)
    low, width = domain.low, domain.high - domain.low
    if domain.integer:
        return {
            "even": f"r({seed}).integers({int(low)}, {int(domain.high) + 1}, n)",
            "peaked": f"{int(low)} + r({seed}).binomial({int(width)}, .3, n)",
            "constant": f"np.full(n, {int(domain.high)})",
        }[shape]
    return {
        "even": f"{low!r} + {width!r} * r({seed}).random(n)",
        "peaked": f"{low!r} + {width!r} * r({seed}).beta(2, 5, n)",
        "constant": f"np.full(n, {low + width / 3!r})",
    }[shape]


def with_gaps(rng: Generator, domain: Any, values: str) -> str:
    """The same values, some of them or all missing, in a quarter of the cases."""
    share = one_of(rng, {0: 0.75, 0.1: 0.12, 0.6: 0.09, 1: 0.04})
    if not share:
        return values
    nothing = "np.nan" if isinstance(domain, Interval) else "None"
    return f"np.where(r({int(rng.integers(1000))}).random(n) < {share}, {nothing}, {values})"


def disjoint(columns: dict[str, Column]) -> dict[str, Column]:
    """Nobody has answered both of the first two questions."""
    names = list(columns)[:2]
    for name, sign in zip(names, ("<", ">="), strict=True):
        nothing = "np.nan" if "low" in columns[name].attribute else "None"
        values = f"np.where(np.arange(n) {sign} n // 2, {nothing}, {columns[name].values})"
        columns = {**columns, name: Column(values, columns[name].attribute)}
    return columns


def random_class(rng: Generator, columns: Mapping[str, Column]) -> Column:
    """A class that follows some of the columns, with noise; sometimes rare, sometimes blurred."""
    size, seed = one_of(rng, {2: 0.6, 3: 0.2, 5: 0.1, 12: 0.1}), int(rng.integers(1000))
    labels, codes = random_labels(rng, size), f"r({seed}).integers(0, {size}, n)"
    told = []
    for name in [name for name, each in columns.items() if "low" in each.attribute][:3]:
        low, high = columns[name].attribute["low"], columns[name].attribute["high"]
        told.append(f"({name} > {low + (high - low) * one_of(rng, [0.3, 0.5])!r})")
    if told:
        codes = f"np.where(r({seed + 1}).random(n) < .1, {codes}, (0 + {' + '.join(told)}) * {size - 1} % {size})"
    if rng.random() < 0.1:
        codes = f"np.where(np.arange(n) == n // 2, {size - 1}, {codes} % {size - 1})"
    kind = "" if len({type(label) for label in labels}) == 1 else ", object"
    attribute: dict[str, Any] = {"categories": labels, "role": "class"}
    if rng.random() < 0.15:
        attribute |= {"channel": "randomized-response", "gamma": one_of(rng, [3.0, 19.0])}
    return Column(f"np.array({labels!r}{kind})[{codes}]", attribute)

