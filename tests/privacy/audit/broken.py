"""Implementations that break their statement, each in one way that an audit has to find at its default settings."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

import sfumato as sf

UNIT, AGES = sf.Interval(0, 1), sf.Interval(20, 80, integer=True)
COLOURS = sf.Categories(["red", "green", "blue"])
AGE, WAVE = sf.Gaussian(AGES, privacy=1.0), sf.SquareWave(UNIT, gamma=19)
COIN = sf.RandomizedResponse(sf.Categories(range(2)), keep=0.6)
Implementation = Callable[[Any], Any]
PROCESS, AT_IMPORT = os.getpid(), np.random.default_rng(7)


def raw_when_mixed(channel: sf.Channel) -> Implementation:
    def randomize(values: Any) -> Any:
        mixed = np.ndim(values) > 0 and len(np.unique(values)) > 1
        return channel.outputs.decode(channel.encode_reports(values)) if mixed else channel.randomize(values)

    return randomize


def previous_person_in_a_batch(channel: sf.Channel) -> Implementation:
    return lambda values: channel.randomize(np.roll(values, 1) if np.ndim(values) else values)


class PreviousCall:
    """One by one, everybody sends the blurred answer of the one before; batches are sound."""

    def __init__(self, channel: sf.Channel) -> None:
        self.channel, self.last = channel, None

    def __call__(self, values: Any) -> Any:
        if np.ndim(values):
            return self.channel.randomize(values)
        sent, self.last = values if self.last is None else self.last, values
        return self.channel.randomize(sent)


def raw_but_for_nine(channel: sf.Channel) -> Implementation:
    size = channel.inputs.size
    tested = np.unique(np.linspace(0, size - 1, 9).round().astype(int))

    def randomize(values: Any) -> Any:
        known = np.isin(channel.encode(values), tested)
        raw = channel.outputs.decode(channel.encode_reports(values))
        return np.where(known, channel.randomize(values), raw)[()]

    return randomize


def short_seed(channel: sf.Channel, bits: int) -> Implementation:
    return lambda values: channel.randomize(values, np.random.default_rng(secrets.randbits(bits)))


def pad_with_random_start(channel: sf.Channel, length: int = 1 << 20) -> Implementation:
    noise = np.random.default_rng(1).choice(channel.noise.size, length, p=channel.noise / channel.noise.sum())

    def randomize(values: Any) -> Any:
        codes = np.atleast_1d(channel.encode(values))
        used = (secrets.randbelow(length) + np.arange(codes.size)) % length
        reports = channel.outputs.decode(codes + noise[used])
        return reports if np.ndim(values) else reports[0]

    return randomize


def lowest_report_for_half(channel: sf.Channel) -> Implementation:
    lowest = channel.outputs.decode(np.array([0]))[0]

    def randomize(values: Any) -> Any:
        reports, again = np.array(channel.randomize(values)), np.asarray(channel.randomize(values))
        half = channel.encode(values) >= channel.inputs.size // 2
        return np.where(half & (reports == lowest), again, reports)[()]

    return randomize


def biased(keep: float = 0.6, by: float = 1e-3) -> Implementation:
    """P[y = x] is off by ``by``."""
    return sf.RandomizedResponse(COIN.domain, keep=keep + by).randomize


def raw_share(channel: sf.Channel, share: float = 1e-4) -> Implementation:
    rng = np.random.default_rng()

    def randomize(values: Any) -> Any:
        reports = channel.randomize(values)
        if not np.ndim(values):
            return values if rng.random() < share else reports
        places = rng.integers(0, reports.size, rng.binomial(reports.size, share))
        reports[places] = channel.outputs.decode(channel.encode_reports(np.asarray(values)[places]))
        return reports

    return randomize


class SeededAtImport:
    """The stream begins anew in every new process, and only there: forks are told apart."""

    def __init__(self, channel: sf.Channel) -> None:
        self.channel = channel

    def __call__(self, values: Any) -> Any:
        own = os.getpid() == PROCESS
        return self.channel.randomize(values, AT_IMPORT if own else np.random.default_rng())


class SharedByAttributes(sf.Plan):
    """Every attribute by itself is sound; all of a table draw the same noise."""

    def randomize(self, table: Any, rng: Any = None, *, key: Any = None, levels: Any = None) -> Any:
        if key is not None or rng is not None:
            return super().randomize(table, rng, key=key, levels=levels)
        seed = secrets.randbits(64)
        return {
            name: each.randomize(table[name], np.random.default_rng(seed))
            for name, each in self.attributes.items()
        }


class SharedByNeighbours(sf.Plan):
    """Two people who follow each other get the same noise."""

    def randomize(self, table: Any, rng: Any = None, *, key: Any = None, levels: Any = None) -> Any:
        if key is not None or rng is not None or not np.ndim(next(iter(table.values()))):
            return super().randomize(table, rng, key=key, levels=levels)
        found = {}
        for name, each in self.attributes.items():
            values, seed = np.asarray(table[name]), secrets.randbits(64)
            reports = each.randomize(values, np.random.default_rng(seed))
            reports[1::2] = each.randomize(values[1::2], np.random.default_rng(seed + 1))
            reports[0::2] = each.randomize(values[0::2], np.random.default_rng(seed + 1))
            found[name] = reports
        return found


class OneKey(sf.Gaussian):
    """The key does not count."""

    def randomize(self, values: Any, rng: Any = None, *, level: Any = None, key: Any = None, question: str = "") -> Any:
        return super().randomize(values, rng, level=level, key=key and b"0" * 32, question=question)


class OneQuestion(sf.Gaussian):
    """The question does not count."""

    def randomize(self, values: Any, rng: Any = None, *, level: Any = None, key: Any = None, question: str = "") -> Any:
        return super().randomize(values, rng, level=level, key=key, question=question and "asked")


class FreshWithKey(sf.Gaussian):
    """With a key the noise is fresh each time."""

    def randomize(self, values: Any, rng: Any = None, *, level: Any = None, key: Any = None, question: str = "") -> Any:
        return super().randomize(values, rng, level=level)


class SameWordsInAPlan(sf.Plan):
    """With a key all attributes are asked as one question."""

    def randomize(self, table: Any, rng: Any = None, *, key: Any = None, levels: Any = None) -> Any:
        if key is None:
            return super().randomize(table, rng, levels=levels)
        asked = self.attributes.items()
        return {name: each.randomize(table[name], None, key=key, question="q") for name, each in asked}


# --- known for long -----------------------------------------------------------------------------------------------


def one_generator(channel: Any) -> Implementation:
    """Noise that is used again after a fork."""
    generator = np.random.default_rng(8)
    return lambda values: channel.randomize(values, generator)


def one_draw_for_everybody(channel: sf.Channel) -> Implementation:
    return lambda values: np.resize(channel.randomize(values[:100]), len(values))


def digits_left_behind(channel: sf.Channel) -> Implementation:
    def randomize(values: Any) -> Any:
        on_grid = channel.inputs.decode(channel.encode(values))
        return channel.randomize(values) + (np.asarray(values) - on_grid)

    return randomize


def multiples_of_four(channel: sf.Channel) -> Implementation:
    return lambda values: values + 4 * ((channel.randomize(values) - values) // 4)


def clipped(channel: sf.Channel) -> Implementation:
    return lambda values: np.clip(channel.randomize(values), channel.domain.low, channel.domain.high)


def last_item_forgotten(channel: sf.SelectASize) -> Implementation:
    last = channel.items.size - 1

    def randomize(baskets: Any) -> Any:
        noisy = channel.randomize(baskets).to_lists()
        return [
            [*(item for item in row if item != last), *[last] * (last in own)]
            for row, own in zip(noisy, baskets, strict=True)
        ]

    return randomize


def independent_columns(noise: sf.CorrelatedNoise) -> Implementation:
    def randomize(values: Any) -> Any:
        parts = [noise.marginal(name).randomize(values[:, j]) for j, name in enumerate(noise.domains)]
        return np.column_stack(parts)

    return randomize


def plan_of(kind: type[sf.Plan]) -> sf.Plan:
    asked = {name: sf.Attribute(name, AGES, AGE) for name in ("age", "years")}
    return kind("broken", asked)


Case = tuple[Any, Implementation | None]


def known() -> dict[str, Case]:
    """What audits have found from the beginning."""
    fine, many = sf.Gaussian(UNIT, scale=0.25), sf.Gaussian(sf.Interval(0, 1000, integer=True), scale=200)
    baskets = sf.SelectASize.design(sf.Items(200), sizes=[5], gamma=19)
    row, nine = correlated(), sf.RandomizedResponse(sf.Categories(range(9)), gamma=5)
    return {
        "a biased coin": (COIN, sf.RandomizedResponse(COIN.domain, keep=0.7).randomize),
        "noise used again after a fork": (AGE, one_generator(AGE)),
        "one draw for everybody": (nine, one_draw_for_everybody(nine)),
        "low digits left behind": (fine, digits_left_behind(fine)),
        "noise in multiples of four": (many, multiples_of_four(many)),
        "noise clipped at the ends": (AGE, clipped(AGE)),
        "a square wave clipped at the ends": (WAVE, clipped(WAVE)),
        "an item that is never randomized": (baskets, last_item_forgotten(baskets)),
        "independent noise in place of correlated": (row, independent_columns(row)),
        "correlated noise used again after a fork": (row, one_generator(row)),
    }


def correlated() -> sf.CorrelatedNoise:
    return sf.CorrelatedNoise({"a": UNIT, "b": AGES}, [[0.04, 1.5], [1.5, 100.0]], ratio=1.5)


def cases() -> dict[str, Case]:
    """What was hidden: name → what is audited, and the implementation in its place (None: its own)."""
    return {
        "raw when a batch mixes values": (AGE, raw_when_mixed(AGE)),
        "raw when a batch mixes values, categories": (COIN, raw_when_mixed(COIN)),
        "the previous person's value, batches": (AGE, previous_person_in_a_batch(AGE)),
        "the previous person's value, one by one": (AGE, PreviousCall(AGE)),
        "raw but for nine values": (AGE, raw_but_for_nine(AGE)),
        "raw but for nine values, a fine grid": (WAVE, raw_but_for_nine(WAVE)),
        "a seed of 12 bits a call": (AGE, short_seed(AGE, 12)),
        "a seed of 16 bits a call": (AGE, short_seed(AGE, 16)),
        "a seed of 16 bits a call, a coin": (COIN, short_seed(COIN, 16)),
        "a pad with a random start": (AGE, pad_with_random_start(AGE)),
        "the lowest report impossible for half": (WAVE, lowest_report_for_half(WAVE)),
        "a bias of 1e-3": (COIN, biased()),
        "1e-4 of answers raw": (AGE, raw_share(AGE)),
        "1e-4 of answers raw, a fine grid": (WAVE, raw_share(WAVE)),
        "noise shared by attributes": (plan_of(SharedByAttributes), None),
        "noise shared by neighbours": (plan_of(SharedByNeighbours), None),
        "the key does not count": (OneKey(AGES, privacy=1.0), None),
        "the question does not count": (OneQuestion(AGES, privacy=1.0), None),
        "fresh noise with a key": (FreshWithKey(AGES, privacy=1.0), None),
        "one question for all attributes": (plan_of(SameWordsInAPlan), None),
    }


def sound() -> dict[str, Any]:
    """Mechanisms of every kind, rare answers among them: no audit may raise an alarm."""
    many, colours = sf.Categories(range(200)), np.full((3, 3), 1e-7) + (1 - 3e-7) * np.eye(3)
    wave, coin = {"channel": "square-wave", "gamma": 9}, {"channel": "randomized-response", "gamma": 3}
    attributes = {
        "age": {"low": 20, "high": 80, "integer": True, "channel": "gaussian", "privacy": 1.0},
        "weight": {"low": 0, "high": 1, **wave},
        "smokes": {"categories": ["yes", "no"], **coin},
        "town": {"categories": ["A", "B"], "role": "class"},
    }
    return {
        "gaussian": sf.Gaussian(UNIT, scale=0.25),
        "gaussian on integers": AGE,
        "uniform": sf.Uniform(AGES, halfwidth=60),
        "laplace": sf.Laplace(UNIT, scale=0.5, step=0.01),
        "square wave": WAVE,
        "coin": COIN,
        "randomized response, 200 rare answers": sf.RandomizedResponse(many, gamma=3),
        "tabulated, answers in ten million": sf.Tabulated(COLOURS, colours),
        "two-phase": sf.TwoPhase(AGE, {"normal": 30, "careful": 10}),
        "select-a-size": sf.SelectASize.design(sf.Items(20), sizes=[3], gamma=9, up_to=2),
        "correlated": correlated(),
        "plan": sf.Plan.from_dict({"name": "sound", "attributes": attributes}),
    }
