"""What many plans teach a collector about 200 people who hold one device key each: more than one plan does?

The collector asks everybody the same attribute 1, 10 and 50 times and guesses from all reports it gets by the largest
product of their likelihoods (for numbers, the posterior median under a flat prior); of a key alone it counts reports
that repeat once or every time, whichever guesses better. Plans are

    renamed       the same channel under other survey names
    respelt       γ = 19, 19.0001, …; another step; labels in another order
    re-levelled   γ from 2 up to 19

A *key alone* is `plan.randomize(answers, key=)`; a *device* is `sf.Device` with its ledger, at the default limit of one
report an attribute. *One draw for all* is a design that was not chosen: words keyed on the question and the value
alone, whatever the channel. A plan that is refused teaches nothing; how many were is shown in brackets. A run is a
person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
from harness import Bench, main

import sfumato as sf
from sfumato.channels.program.random_words import KeyedWords
from sfumato.client import LimitError

COLOURS = ["red", "green", "blue"]
ASKED = (1, 10, 50)
Reports = list[list[Any]]  # a row a person, a column a plan
Answer = Callable[[bytes, sf.Plan, Any], Any]  # of a key, a plan and the true value; None where refused


def plan_of(name: str, **attribute: Any) -> sf.Plan:
    return sf.Plan.from_dict({"name": name, "attributes": {"x": attribute}})


def renamed(**attribute: Any) -> list[sf.Plan]:
    return [plan_of(f"survey {i}", **attribute) for i in range(ASKED[-1])]


def respelt(key: str, values: Any, **attribute: Any) -> list[sf.Plan]:
    return [plan_of("survey", **{**attribute, key: value}) for value in values]


RESPONSE = {"categories": COLOURS, "channel": "randomized-response", "gamma": 19}
WAVE = {"low": 20, "high": 80, "integer": True, "channel": "square-wave", "gamma": 19}
NOISE = {"low": 20, "high": 80, "integer": True, "channel": "gaussian", "privacy": 1.0}
NEAR = [19 + i / 1e4 for i in range(50)]
LEVELS = [19 - 17 * i / 49 for i in range(50)]
ORDERS = [list(order) for order in permutations(COLOURS)] * 9
PLANS: dict[str, list[sf.Plan]] = {
    "response, renamed": renamed(**RESPONSE),
    "response, respelt γ": respelt("gamma", NEAR, **RESPONSE),
    "response, respelt labels": respelt("categories", ORDERS[:50], **RESPONSE),
    "response, re-levelled": respelt("gamma", LEVELS, **RESPONSE),
    "square wave, renamed": renamed(**WAVE),
    "square wave, respelt γ": respelt("gamma", NEAR, **WAVE),
    "square wave, re-levelled": respelt("gamma", LEVELS, **WAVE),
    "gaussian, renamed": renamed(**NOISE),
    "gaussian, respelt noise": respelt("privacy", [1 + i / 1e4 for i in range(50)], **NOISE),
    "gaussian, re-levelled": respelt("privacy", [1 + i / 25 for i in range(50)], **NOISE),
}
TELLING = ("response, respelt labels", "gaussian, re-levelled")


# --- how a device answers ---------------------------------------------------------------------------------------------


def by_key(key: bytes, plan: sf.Plan, value: Any) -> Any:
    return plan.randomize({"x": value}, key=key)["x"]


def from_one_draw(key: bytes, plan: sf.Plan, value: Any) -> Any:
    """The words of the question and the value alone, whatever the channel."""
    channel = plan.attributes["x"].channel
    assert isinstance(channel, sf.Channel)
    mark = COLOURS.index(value) if value in COLOURS else int(value)
    words = KeyedWords(key, "x").row(mark, channel.drawing.words)
    return channel.outputs.value_of(channel.drawing.draw(channel.encode_one(value), words))


class Remembering:
    """A device with a ledger for every key."""

    def __init__(self) -> None:
        self.devices: dict[bytes, sf.Device] = {}

    def __call__(self, key: bytes, plan: sf.Plan, value: Any) -> Any:
        device = self.devices.setdefault(key, sf.Device(key, sf.Ledger()))
        try:
            return device.answer(plan, {"x": value}, collector="collector")["x"]
        except LimitError:
            return None


# --- what the collector makes of it -----------------------------------------------------------------------------------


def beliefs(plans: list[sf.Plan], reports: Reports, values: list[Any], *, once: bool = False) -> np.ndarray:
    """log P(reports | value), a row a person, of independent reports; ``once``: those that repeat are one."""
    found = np.zeros((len(reports), len(values)))
    for place, plan in enumerate(plans):
        channel = plan.attributes["x"].channel
        assert isinstance(channel, sf.Channel)
        law = np.log(np.maximum(channel.law(), 1e-300))[:, channel.encode(values)]
        for person, told in enumerate(reports):
            if told[place] is not None and not (once and place and told[place] == told[place - 1]):
                found[person] += law[channel.encode_reports([told[place]])[0]]
    return found


def labels_never_told(plans: list[sf.Plan], reports: Reports, values: list[Any]) -> np.ndarray:
    """Against one draw: if reports differ the answer was not kept, and it is the label that nobody saw."""
    return np.array([[(label in told) == (len(set(told)) == 1) for label in values] for told in reports], dtype=float)


def noise_of_the_word(plans: list[sf.Plan], reports: Reports, values: list[Any]) -> np.ndarray:
    """Against one draw: how many words lead to the noise that each value would take, in the first and the last plan."""
    ends = [0, len(plans) - 1]
    steps = [plans[place].attributes["x"].channel.steps()[0] for place in ends]  # type: ignore[union-attr]
    words = np.random.default_rng(1).integers(0, 1 << 64, 2_000_000, dtype=np.uint64)
    drawn = [step.noise.draw(words).astype(int) - step.offset for step in steps]
    counts = Counter(zip(*(each.tolist() for each in drawn), strict=True))
    origins = [round(plans[place].attributes["x"].channel.outputs.origin) for place in ends]  # type: ignore[union-attr]
    own = [[counts[tuple(round(told[e]) - o - (v - 20) for e, o in zip(ends, origins, strict=True))] for v in values] for told in reports]  # fmt: skip  # noqa: E501
    return np.log(np.array(own) + 1e-9)


def recovered(plans: list[sf.Plan], answer: Answer, people: int, seed: int) -> tuple[list[str], list[float]]:
    """For each number of plans, the share of people recovered (or the mean error in years) by the best guess."""
    rng, categories = np.random.default_rng(seed), "categories" in plans[0].to_dict()["attributes"]["x"]
    values: list[Any] = COLOURS if categories else list(range(20, 81))
    truth = [values[i] for i in rng.integers(len(values), size=people)]
    keys = [rng.bytes(16) for _ in truth]
    reports = [[answer(key, plan, value) for plan in plans] for key, value in zip(keys, truth, strict=True)]
    shown, scores = [], []
    for asked in ASKED:
        some, told = plans[:asked], [row[:asked] for row in reports]
        guesses = [beliefs(some, told, values, once=True)]
        if not isinstance(answer, Remembering):  # whose reports are known to be one
            guesses.append(beliefs(some, told, values))
        if answer is from_one_draw and asked > 1:
            guesses.append((labels_never_told if categories else noise_of_the_word)(some, told, values))
        found = [score_of(guess, values, truth, categories) for guess in guesses]
        scores.append(max(found) if categories else min(found))
        refused = np.mean([sum(report is None for report in row) for row in told])
        figure = f"{100 * scores[-1]:.1f} %" if categories else f"± {scores[-1]:.1f}"
        shown.append(figure + (f" ({refused:.0f} refused)" if refused else ""))
    return shown, scores


def score_of(belief: np.ndarray, values: list[Any], truth: list[Any], categories: bool) -> float:
    if categories:
        guesses = [values[place] for place in belief.argmax(axis=1)]
        return float(np.mean([guess == value for guess, value in zip(guesses, truth, strict=True)]))
    share = np.exp(belief - belief.max(axis=1, keepdims=True))
    middle = (np.cumsum(share, axis=1) >= share.sum(axis=1, keepdims=True) / 2).argmax(axis=1)
    return float(np.abs(np.array(values)[middle] - np.array(truth)).mean())


def measure(bench: Bench) -> None:
    title = f"{bench.runs} people, one key each; share recovered, or mean error in years"
    bench.table(title, {f"{asked} plan{'s' if asked > 1 else ''}": "s" for asked in ASKED})
    for name, plans in PLANS.items():
        ways: dict[str, Answer] = {"a key alone": by_key, "a device": Remembering()}
        ways |= {"one draw for all": from_one_draw} if name in TELLING else {}
        for way, answer in ways.items():
            shown, scores = recovered(plans, answer, bench.runs, bench.seed)
            bench.row(f"{name}: {way}", *shown)
            sign = -1 if shown[0].startswith("±") else 1
            if way == "a device" and max(sign * score for score in scores) > sign * scores[0]:
                bench.fail(f"{name}: many plans taught more than one")


if __name__ == "__main__":
    main(measure, seed=7, runs=200)
