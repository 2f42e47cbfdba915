"""Random mechanisms of every kind, for properties that must hold whatever a plan asks.

``random_mechanism(rng)`` is of any kind in the registry over any domain; ``random_channel(rng)`` has no levels and one
value. Grids are coarse enough that laws are cheap, and numbers lie anywhere from 1e-9 to 1e12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.channels import Blur, Channel, Mechanism
from sfumato.domain import Grid

Rng = np.random.Generator
MOST_CODES = 150
"""About so many codes has a grid whose step is given."""


def chance(rng: Rng, share: float) -> bool:
    """Say yes with this chance."""
    return bool(rng.random() < share)


def one_of(rng: Rng, choices: Sequence[Any]) -> Any:
    """Draw one of the choices."""
    return choices[int(rng.integers(len(choices)))]


def few_digits(rng: Rng, number: float) -> float:
    """Round a number to one to six digits, or leave it as it is."""
    digits = int(rng.integers(1, 8))
    return float(f"{number:.{digits}g}") if digits < 7 else float(number)


# --- domains ------------------------------------------------------------------------------------------------------


def random_interval(rng: Rng, *, integer: bool | None = None) -> sf.Interval:
    """Numbers of a magnitude from 1e-9 to 1e12, at zero or far from it; whole ones from 1 on."""
    whole = chance(rng, 0.35) if integer is None else integer
    magnitude = 10.0 ** rng.integers(0 if whole else -9, 13)
    width = few_digits(rng, magnitude * rng.uniform(1, 9))
    low = one_of(rng, [0.0, few_digits(rng, width * rng.uniform(-9, 9)), few_digits(rng, -width * rng.uniform(0, 1))])
    if whole:
        bottom = math.floor(low)
        return sf.Interval(bottom, bottom + max(math.ceil(width), 1), integer=True)
    high = few_digits(rng, low + width)
    return sf.Interval(low, high if high > low + width / 2 else low + width)


def random_labels(rng: Rng, count: int) -> list[Any]:
    """So many different labels of one type, or of several."""
    texts = [f"{word} {i}" for i, word in enumerate(np.resize(["tea", "Käse", "0", "", "名", "a\"b", "no"], count))]
    wholes = (rng.permutation(max(3 * count, 10))[:count] - count).tolist()
    floats = [few_digits(rng, number) + i for i, number in enumerate(rng.normal(0, 0.1, count))]
    mixed = [[texts, wholes, floats][i % 3][i] if i else True for i in range(count)]
    choices = [texts, wholes, floats, mixed] + ([[True, False]] if count == 2 else [])
    found = one_of(rng, choices)
    return found if len(set(found)) == count else texts


def random_categories(rng: Rng, least: int = 1, most: int = 40) -> sf.Categories:
    """A few categories, often two; labels of any type, or their numbers."""
    count = int(max(min(one_of(rng, [1, 2, 2, 3, 5, int(rng.integers(1, most + 1))]), most), least))
    return sf.Categories(count if chance(rng, 0.15) else random_labels(rng, count))


# --- channels of numbers ------------------------------------------------------------------------------------------


def random_step(rng: Rng, domain: sf.Interval) -> float:
    """A step that gives at most about MOST_CODES codes."""
    step = few_digits(rng, domain.width / rng.uniform(2, MOST_CODES))
    return max(float(round(step)), 1.0) if domain.integer else min(step, domain.width)


def random_rules(rng: Rng) -> dict[str, str]:
    """What happens to missing answers and to those outside; mostly the usual."""
    rules = {"missing": one_of(rng, ["pass", "refuse"]), "outside": one_of(rng, ["refuse", "clamp"])}
    return rules if chance(rng, 0.2) else {}


def random_noise(rng: Rng, domain: sf.Interval) -> Channel:
    """Additive noise from a twentieth of the range to all of it."""
    kind, how = one_of(rng, [sf.Gaussian, sf.Uniform, sf.Laplace]), {"step": random_step(rng, domain)}
    how |= random_rules(rng)
    amount = few_digits(rng, rng.uniform(0.05, 1.2))
    if kind is sf.Laplace and chance(rng, 0.3):
        return sf.Laplace(domain, gamma=few_digits(rng, rng.uniform(2, 90)), **how)
    if chance(rng, 0.5):
        return kind(domain, privacy=amount, confidence=one_of(rng, [0.95, 0.5, 0.99]), **how)
    return kind(domain, few_digits(rng, max(amount * domain.width, how["step"])), **how)


def random_classes(rng: Rng, domain: sf.Interval) -> sf.Discretize:
    """Value classes, equal or not, whose edges need not lie between a grid's points."""
    if chance(rng, 0.5):
        return sf.Discretize(domain, width=few_digits(rng, domain.width / rng.uniform(0.7, 60)), **random_rules(rng))
    low, high = float(domain.low), float(domain.high)
    inner = [few_digits(rng, number) for number in rng.uniform(low, high, int(rng.integers(0, 9)))]
    ends = [low - one_of(rng, [0, domain.width / 3]), high + one_of(rng, [0, domain.width / 7])]
    return sf.Discretize(domain, edges=sorted({*ends, *(x for x in inner if low < x < high)}))


def random_gamma(rng: Rng) -> dict[str, float]:
    """A bound as γ or as ε."""
    gamma = few_digits(rng, 1 + 10.0 ** rng.uniform(-1, 3))
    if not gamma > 1:
        return {"gamma": 19.0}
    return {"gamma": gamma} if chance(rng, 0.5) else {"epsilon": max(few_digits(rng, math.log(gamma)), 0.01)}


def random_wave(rng: Rng, domain: sf.Interval) -> sf.SquareWave:
    """A square wave with the best window or another one."""
    width = few_digits(rng, domain.width * rng.uniform(0.02, 0.6)) if chance(rng, 0.4) else None
    return sf.SquareWave(domain, **random_gamma(rng), halfwidth=width, step=random_step(rng, domain))


def random_clear(rng: Rng, domain: sf.Interval | sf.Categories) -> sf.Clear:
    """The answer as it is, numbers in steps."""
    return sf.Clear(domain, step=random_step(rng, domain)) if isinstance(domain, sf.Interval) else sf.Clear(domain)


def random_piecewise(rng: Rng, domain: sf.Interval) -> Channel:
    """A report that is right on average; a square wave where the domain is too far from zero to state reports."""
    try:
        return sf.Piecewise(domain, **random_gamma(rng), step=random_step(rng, domain))
    except ValueError:
        return random_wave(rng, domain)


def random_blur(rng: Rng, domain: sf.Interval) -> Blur:
    """Noise, and then any report of an interval."""
    noise = random_numeric(rng, domain, depth=1)
    while not isinstance(noise.outputs, Grid):
        noise = random_numeric(rng, domain, depth=1)
    return Blur(noise, int(rng.integers(1, 300)))


def random_chain(rng: Rng, domain: sf.Interval, depth: int = 2) -> sf.Chain:
    """Two stages, or chains of them, the second over a domain of its own, not aligned with the first's reports."""
    first = random_numeric(rng, domain, depth - 1)
    return first >> random_second(rng, first, depth - 1)


def random_second(rng: Rng, first: Channel, depth: int = 1) -> Channel:
    """A channel that takes every report of the first."""
    if isinstance(first.outputs, sf.Categories):
        return random_categorical(rng, first.outputs, depth)
    values = first.outputs.values
    low, high = float(values[0]), float(values[-1])
    room = max(high - low, float(first.domain.width) / 50)  # type: ignore[union-attr]
    whole = bool((values == np.rint(values)).all()) and abs(low) + abs(high) < 1e15
    if chance(rng, 0.2):
        between = sf.Interval(low + room * 0.2, low + room * rng.uniform(0.5, 0.9))
        clamped = random_numeric(rng, between, 0)
        return type(clamped)(between, **clamped.parameters(), outside="clamp", missing="refuse")  # type: ignore[call-arg]
    ways = ((low, -1), (high, 1))  # up to ten times as wide, so that its own grid is coarse
    below, above = (few_digits(rng, end + room * 10 ** rng.uniform(-0.95, 0.7) * way) for end, way in ways)
    between = sf.Interval(below if below <= low else low - room / 9, above if above >= high else high + room / 9)
    if whole and chance(rng, 0.6):
        between = sf.Interval(math.floor(between.low), math.ceil(between.high), integer=True)
    return random_classes(rng, between) if chance(rng, 0.4) else random_numeric(rng, between, depth)


def random_numeric(rng: Rng, domain: sf.Interval, depth: int = 2) -> Channel:
    """Any channel of one number; ``depth`` bounds how many are put into one another."""
    makers: list[Callable[[Rng, sf.Interval], Channel]] = [random_noise, random_noise, random_classes, random_wave,
                                                           random_piecewise, random_clear]  # fmt: skip
    if depth > 0:
        makers += [random_blur, lambda rng, domain: random_chain(rng, domain, depth)]
        makers += [lambda rng, domain: random_longitudinal(rng, domain)]
    return one_of(rng, makers)(rng, domain)


# --- channels of categories ---------------------------------------------------------------------------------------


def random_response(rng: Rng, domain: sf.Categories) -> Channel:
    """Randomized response, from a lie to the truth."""
    if chance(rng, 0.4):
        return sf.RandomizedResponse(domain, keep=one_of(rng, [0.0, 1.0, few_digits(rng, rng.random())]))
    return sf.RandomizedResponse(domain, **random_gamma(rng))


def random_subset(rng: Rng, domain: sf.Categories) -> Channel:
    """Subset response."""
    return sf.SubsetResponse(domain, **random_gamma(rng))


def random_table(rng: Rng, rows: int, columns: int) -> np.ndarray:
    """P[reported, true] of any shape: even, peaked, with zero entries, or with entries that hardly ever occur."""
    table = rng.random((rows, columns)) ** one_of(rng, [0.2, 1, 6, 40])
    table[rng.random(table.shape) < one_of(rng, [0, 0, 0.3, 0.9])] = 0
    table[rng.integers(rows, size=columns), np.arange(columns)] += 0.1
    return table / table.sum(axis=0)


def random_tabulated(rng: Rng, domain: sf.Categories) -> sf.Tabulated:
    """A random table, with the domain's labels or with its own."""
    if chance(rng, 0.5):
        return sf.Tabulated(domain, random_table(rng, domain.size, domain.size))
    reports = random_categories(rng, 1, max(domain.size, 5))
    return sf.Tabulated(domain, random_table(rng, reports.size, domain.size), reports=list(reports.labels))


def random_categorical(rng: Rng, domain: sf.Categories, depth: int = 2) -> Channel:
    """Any channel of one category."""
    makers: list[Callable[[Rng, sf.Categories], Channel]] = [random_tabulated, random_clear]
    makers += [random_response, random_response, random_subset] if domain.size > 1 else []
    if depth > 0:
        makers += [_categorical_chain, random_longitudinal]
    return one_of(rng, makers)(rng, domain)


def _categorical_chain(rng: Rng, domain: sf.Categories) -> sf.Chain:
    first = random_categorical(rng, domain, 0)
    while first.outputs.size > 400:
        first = random_categorical(rng, domain, 0)
    return first >> random_categorical(rng, first.outputs, 0)  # type: ignore[arg-type]


def random_longitudinal(rng: Rng, domain: sf.Interval | sf.Categories) -> sf.Longitudinal:
    """A blur that is drawn once, and a fresh one of it."""
    many = isinstance(domain, sf.Categories)
    permanent = random_categorical(rng, domain, 0) if many else random_numeric(rng, domain, 0)  # type: ignore[arg-type]
    if permanent.outputs.size > 400:
        permanent = random_response(rng, domain) if many else random_wave(rng, domain)  # type: ignore[arg-type]
    return sf.Longitudinal(permanent, random_second(rng, permanent, 0))


# --- mechanisms ---------------------------------------------------------------------------------------------------


def random_choice(rng: Rng) -> sf.Choice:
    """One to four levels over one domain."""
    names = [f"level {i}" for i in range(int(rng.integers(1, 5)))]
    if chance(rng, 0.5):
        domain = random_interval(rng)
        levels = {name: random_numeric(rng, domain) for name in names} | ({"open": None} if chance(rng, 0.3) else {})
        return sf.Choice(levels, default=names[-1])
    categories = random_categories(rng, 2)
    makers = [random_response, random_clear]
    makers += [random_subset] if categories.label_array.dtype.kind in "iuf" else []
    return sf.Choice({name: one_of(rng, makers)(rng, categories) for name in names})


def random_two_phase(rng: Rng) -> sf.TwoPhase:
    """One noise, and one to four widths of its second phase."""
    levels = {f"{i}": int(rng.integers(1, 400)) for i in range(int(rng.integers(1, 5)))}
    return sf.TwoPhase(random_noise(rng, random_interval(rng)), levels)


def random_correlated(rng: Rng) -> sf.CorrelatedNoise:
    """Two or three numbers of one person."""
    domains = {f"column {i}": random_interval(rng) for i in range(int(rng.integers(2, 4)))}
    widths = np.array([domain.width for domain in domains.values()])
    mixed = rng.normal(size=(widths.size, widths.size)) + np.eye(widths.size)
    spread = (mixed @ mixed.T + 0.1 * np.eye(widths.size)) * np.outer(widths, widths) / 10
    return sf.CorrelatedNoise(domains, spread, privacy=few_digits(rng, rng.uniform(0.3, 2)))


def random_baskets(rng: Rng, sizes: Sequence[int] | None = None) -> sf.SelectASize:
    """Baskets of a few items."""
    items = sf.Items(int(rng.integers(4, 9)))
    some = [[1], [2], [3], [0], [1, 2], [2, 3], [0, 2]]
    gamma = few_digits(rng, rng.uniform(3, 60))
    return sf.SelectASize.design(items, sizes=sizes or one_of(rng, some), gamma=gamma, up_to=1, resolution=64)


MAKERS: dict[str, Callable[[Rng], Mechanism]] = {
    "gaussian": lambda rng: sf.Gaussian(domain := random_interval(rng), snr=few_digits(rng, rng.uniform(0.1, 9)),
                                        step=random_step(rng, domain)),
    "uniform": lambda rng: sf.Uniform(domain := random_interval(rng), privacy=few_digits(rng, rng.uniform(0.1, 2)),
                                      step=random_step(rng, domain)),
    "laplace": lambda rng: sf.Laplace(domain := random_interval(rng), privacy=few_digits(rng, rng.uniform(0.1, 2)),
                                      step=random_step(rng, domain)),
    "clear": lambda rng: random_clear(rng, random_categories(rng) if chance(rng, 0.5) else random_interval(rng)),
    "discretize": lambda rng: random_classes(rng, random_interval(rng)),
    "square-wave": lambda rng: random_wave(rng, random_interval(rng)),
    "piecewise": lambda rng: random_piecewise(rng, random_interval(rng)),
    "two-phase-level": lambda rng: random_blur(rng, random_interval(rng)),
    "randomized-response": lambda rng: random_response(rng, random_categories(rng, 2, 300)),
    "subset-response": lambda rng: random_subset(rng, random_categories(rng, 2, 300)),
    "tabulated": lambda rng: random_tabulated(rng, random_categories(rng, 1, 300)),
    "chain": lambda rng: random_chain(rng, random_interval(rng)) if chance(rng, 0.7)
             else _categorical_chain(rng, random_categories(rng)),
    "longitudinal": lambda rng: random_longitudinal(rng, random_categories(rng) if chance(rng, 0.5)
                                                    else random_interval(rng)),
    "choice": random_choice,
    "two-phase": random_two_phase,
    "correlated-gaussian": random_correlated,
    "select-a-size": random_baskets,
}  # fmt: skip
"""By kind, a maker of random mechanisms."""

SEVERAL_LAWS = ("choice", "two-phase", "correlated-gaussian", "select-a-size")
"""Kinds that are no channel of one value: levels, several numbers at once, baskets."""


def random_mechanism(rng: Rng, kind: str | None = None) -> Mechanism:
    """A mechanism of a kind, or of any."""
    return MAKERS[one_of(rng, sorted(MAKERS)) if kind is None else kind](rng)


def random_channel(rng: Rng, kind: str | None = None) -> Channel:
    """A channel of one value, of a kind or of any."""
    kinds = [name for name in sorted(MAKERS) if name not in SEVERAL_LAWS]
    return MAKERS[one_of(rng, kinds) if kind is None else kind](rng)  # type: ignore[return-value]


def random_values(rng: Rng, channel: Channel, count: int) -> np.ndarray:
    """Answers that people over the channel's domain may have, between the grid's points too."""
    if isinstance(channel.domain, sf.Interval):
        low, high = float(channel.domain.low), float(channel.domain.high)
        numbers = np.clip(rng.uniform(low, high, count), low, high)
        return np.rint(numbers) if channel.domain.integer else numbers
    labels = np.empty(channel.domain.size, dtype=object)
    labels[:] = list(channel.domain.labels)
    return labels[rng.integers(labels.size, size=count)]
