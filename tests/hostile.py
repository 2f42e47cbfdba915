"""Files changed at random, as a careless copy or somebody with bad intent would: what is done with them must stay tame.

Tame is: an answer, or a ValueError or TypeError of one line, within five seconds and without much memory.
"""

from __future__ import annotations

import copy
import json
import resource
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from sfumato import shipping
from sfumato.shipping.training import estimator

SECONDS = 5
FOR_PLANS = 60  # their programs are tables of up to a million whole numbers
MEMORY = 6 << 30
STRANGE: list[Any] = [
    None, True, False, 0, 1, -1, -2, 2, 3, 7, 63, 64, 10**4, 10**6, 2**31, 2**53, 2**63, -(2**63), 10**30, 10**400,
    0.5, -0.5, 1e-300, 1e-9, 1e9, 1e300, float("inf"), float("-inf"), float("nan"), "", "x", "\x1b[31m", "</script>",
    "infinity", [], [[]], [0], [None], [1, [2]], {}, {"a": 1}, "9" * 100, ["a"] * 100,
]


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything inside."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inside:
        yield (*path, key)
        yield from places(value, (*path, key))


def mutated(data: Any, rng: np.random.Generator) -> Any:
    """A copy with one to three things changed."""
    changed = copy.deepcopy(data)
    for _ in range(int(rng.integers(1, 4))):
        found = list(places(changed))
        if not found:
            return changed
        shallow = [place for place in found if len(place) <= rng.integers(1, 9)] or found
        _change(changed, shallow[int(rng.integers(len(shallow)))], rng)
    return changed


def _change(data: Any, place: tuple[Any, ...], rng: np.random.Generator) -> None:
    for key in place[:-1]:
        data = data[key]
    key, old = place[-1], data[place[-1]]
    ways: list[Callable[[], Any]] = [
        lambda: data.__setitem__(key, copy.deepcopy(STRANGE[int(rng.integers(len(STRANGE)))])),
        lambda: data.pop(key),
    ]
    if isinstance(old, list):
        ways += [lambda: old.reverse(), lambda: old.extend(copy.deepcopy(old[:3])), lambda: old.pop() if old else None]
        ways += [lambda: rng.shuffle(old)]
    if isinstance(old, (int, float)) and not isinstance(old, bool):
        ways += [lambda: data.__setitem__(key, old + int(rng.integers(-3, 4)))] * 2
        ways += [lambda: data.__setitem__(key, -old)]
        ways += [lambda: data.__setitem__(key, old * 10 ** int(rng.integers(1, 7)))]
    if isinstance(data, dict):
        keys = list(data)
        ways.append(lambda: data.__setitem__(keys[int(rng.integers(len(keys)))], copy.deepcopy(old)))
    ways[int(rng.integers(len(ways)))]()


class TooSlowError(Exception):
    """More than the seconds allowed."""


@contextmanager
def bounded(seconds: int = SECONDS) -> Iterator[None]:
    """Stop what takes too long."""

    def stop(*_: Any) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def little_memory(most: int = MEMORY) -> Iterator[None]:
    """A MemoryError instead of a machine that swaps."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def complaint(use: Callable[[], Any], seconds: int = SECONDS) -> str | None:
    """What is wrong about how it went; None: it was tame."""
    try:
        with bounded(seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use()
    except (ValueError, TypeError) as error:
        text = str(error)
        return f"{type(error).__name__} of {len(text.splitlines())} lines" if len(text.splitlines()) != 1 else None
    except TooSlowError:
        return f"more than {seconds} s"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return None


# --- models -------------------------------------------------------------------------------------------------------

NUMBERS = {
    "name": "town",
    "attributes": {
        "age": {"low": 20, "high": 80, "channel": "gaussian", "privacy": 0.25},
        "salary": {"low": 0, "high": 100, "channel": "uniform", "privacy": 0.25},
        "group": {"categories": ["A", "B"], "role": "class"},
    },
}
MIXED = {
    "name": "town",
    "attributes": {
        "age": {"low": 20, "high": 80, "channel": "gaussian", "privacy": 0.25},
        "school": {"categories": ["none", "some", "much"], "channel": "randomized-response", "gamma": 19},
        "rooms": {"low": 1, "high": 9, "integer": True, "role": "clear"},
        "group": {"categories": ["A", "B"], "role": "class"},
    },
}


def people(numbers: bool, n: int, rng: np.random.Generator) -> dict[str, Any]:
    age, salary = rng.uniform(20, 80, n), rng.uniform(0, 100, n)
    school = rng.choice(["none", "some", "much"], n)
    group = np.where(age + salary < 100, "A", "B") if numbers else np.where((age < 45) ^ (school == "much"), "A", "B")
    rest = {"salary": salary} if numbers else {"school": school, "rooms": rng.integers(1, 10, n)}
    return {"age": age, **rest, "group": group}


def documents(folder: Path, methods: list[str] | None = None) -> dict[str, tuple[Any, dict[str, Any]]]:
    """{method: (its shipped model as data, some people)}, of every method."""
    found = {}
    for method in methods or shipping.METHODS:
        numbers = method == "product-mixture"
        plan, rng = sf.Plan.from_dict(NUMBERS if numbers else MIXED), np.random.default_rng(0)
        table = people(numbers, 1500, rng)
        reports = plan.randomize(table, rng=1)
        labels = reports.pop("group")
        import pandas as pd

        model = estimator(method, plan, 0)
        if isinstance(model, sf.Chooser):
            model.set_params(recipes=some_recipes(plan, model.readable))
        model.fit(pd.DataFrame(reports), labels)
        shipping.save(model, folder / "model.json", plan=plan, measured={"method": method})
        table.pop("group")
        found[method] = json.loads((folder / "model.json").read_text()), {k: v[:40] for k, v in table.items()}
    return found


def some_recipes(plan: sf.Plan, readable: bool) -> dict[str, Any]:
    """What a chooser chooses from here: the file of every other learner is changed for itself."""
    mixture = sf.ProductMixtureClassifier(plan.channels, components=4, members=1, random_state=0)
    trees = {"tree": sf.TreeClassifier(plan.channels, "byclass"), "mixture": mixture}
    return trees if readable else {**trees, "bayes": sf.NaiveBayesClassifier(plan.channels)}


def use_model(path: Path, table: dict[str, Any]) -> None:
    """Load and predict, as a device does."""
    shipped = shipping.load(path)
    shipped.predict(table)
    shipped.predict_proba(table)


# --- plans --------------------------------------------------------------------------------------------------------

QUESTIONS: dict[str, Any] = {
    "a": {"low": 0, "high": 10, "channel": "laplace", "scale": 1, "step": 0.5},
    "b": {"low": 0, "high": 10, "integer": True, "channel": "square-wave", "gamma": 19},
    "c": {"low": 0, "high": 10, "channel": "discretize", "edges": [0, 1, 5, 10]},
    "d": {"categories": ["x", "y"], "channel": "tabulated", "table": [[0.6, 0.4], [0.4, 0.6]]},
    "e": {
        "low": 0, "high": 10, "channel": "two-phase", "noise": {"channel": "gaussian", "scale": 3, "step": 0.2},
        "levels": {"normal": 20, "careful": 5}, "default": "normal",
    },
    "f": {
        "categories": ["x", "y"], "channel": "choice", "default": "l",
        "levels": {"l": {"channel": "randomized-response", "gamma": 9}},
    },
    "g": {
        "channel": "correlated-gaussian", "covariance": [[100, 60], [60, 80]], "ratio": 1.0,
        "columns": {"height": {"low": 140, "high": 210}, "weight": {"low": 40, "high": 160}},
    },
    "h": {
        "low": 0, "high": 10, "channel": "chain",
        "stages": [
            {"low": 0, "high": 10, "channel": "gaussian", "scale": 1, "step": 0.5},
            {"low": -10, "high": 20, "channel": "discretize", "width": 1, "outside": "clamp"},
        ],
    },
    "i": {
        "items": 30, "channel": "select-a-size", "up_to": 2,
        "designs": [{"size": 3, "rho": 0.25, "kept": [0.1, 0.2, 0.3, 0.4]}],
    },
}
QUESTIONS |= {"j": NUMBERS["attributes"]["age"], "k": MIXED["attributes"]["school"]}  # type: ignore[index]
PLANS = [{"name": "one", "attributes": {name: each}} for name, each in QUESTIONS.items()]


def use_plan(spec: Any) -> None:
    """Read a plan, make its identity, and state what it guarantees."""
    plan = sf.Plan.from_dict(spec)
    assert len(plan.identity) == 64
    channels = [each.channel for each in plan.attributes.values() if each.channel is not None]
    if channels and not any(channel.has_levels for channel in channels):
        str(plan.guarantee())
