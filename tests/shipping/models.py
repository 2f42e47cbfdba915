"""One shipped model of every kind and form, learned from small mixed data, and people to apply it to.

The people include some on every cut of the model and as near to it, on both sides, as a double can be.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato import shipping
from sfumato.shipping.training import estimator

RECORDS, PEOPLE = 2_000, 5_000
CITIES = [f"city {place}" for place in range(20)]
MIXED: dict[str, Any] = {
    "name": "town", "language": "de",
    "attributes": {
        "age": {"low": 20, "high": 80, "channel": "gaussian", "privacy": 0.25, "outside": "clamp"},
        "children": {"low": 0, "high": 12, "integer": True, "channel": "laplace", "scale": 1.0},
        "school": {"categories": ["none", "some", "much"], "channel": "randomized-response", "gamma": 19},
        "stars": {"categories": [0, 1, 2, 3], "channel": "randomized-response", "gamma": 9, "missing": "refuse"},
        "rooms": {"low": 1, "high": 9, "integer": True, "role": "clear"},
        "height": {"low": 1.2, "high": 2.2, "role": "clear"},
        "city": {"categories": CITIES, "role": "clear"},
        "owner": {"categories": [True, False], "role": "clear"},
        "group": {"categories": ["A", "B", "C"], "role": "class"},
    },
}
NUMBERS: dict[str, Any] = {
    "name": "wages",
    "attributes": {
        "age": {"low": 20, "high": 80, "channel": "gaussian", "privacy": 0.25},
        "salary": {"low": 20_000, "high": 150_000, "channel": "uniform", "privacy": 0.25},
        "children": {"low": 0, "high": 12, "integer": True, "role": "clear"},
        "decile": {"categories": list(range(9)), "role": "class"},
    },
}


def mixed_people(n: int, rng: np.random.Generator) -> dict[str, Any]:
    age, school, city = rng.uniform(20, 80, n), rng.choice(["none", "some", "much"], n), rng.choice(CITIES, n)
    rooms, height = rng.integers(1, 10, n).astype(float), rng.uniform(1.2, 2.2, n).round(2)
    group = np.where((age < 45) ^ (school == "much"), "A", np.where((rooms > 5) | (city < "city 3"), "B", "C"))
    people = {"age": age, "children": rng.integers(0, 13, n).astype(float), "school": school.astype(object)}
    people |= {"rooms": rooms, "height": height, "city": city.astype(object), "owner": rng.random(n) < 0.5}
    people["owner"] = people["owner"].astype(object)
    for column in people.values():
        column[rng.random(n) < 0.05] = np.nan if column.dtype.kind == "f" else None
    return {**people, "stars": rng.integers(0, 4, n), "group": group}


def number_people(n: int, rng: np.random.Generator) -> dict[str, Any]:
    age, salary = rng.uniform(20, 80, n), rng.uniform(20_000, 150_000, n)
    decile = np.clip((salary / 20_000 + (age < 40)).astype(int), 0, 8)
    people = {"age": age, "salary": salary, "children": rng.integers(0, 13, n).astype(float)}
    for column in people.values():
        column[rng.random(n) < 0.05] = np.nan
    return {**people, "decile": decile}


DATA: dict[str, tuple[dict[str, Any], Callable[..., dict[str, Any]]]] = {
    "mixed": (MIXED, mixed_people), "numbers": (NUMBERS, number_people),
}
TREE = DecisionTreeClassifier(max_depth=5, random_state=0)
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))


def choosing(recipe: Callable[[sf.Plan], Any]) -> Callable[[sf.Plan], Any]:
    """A chooser that takes this one; the other tells what true values may be, and is soon fitted."""

    def made(plan: sf.Plan) -> sf.Chooser:
        other = sf.ProductMixtureClassifier(plan.channels, components=2, members=1, random_state=0)
        chooser = sf.Chooser(plan.channels, recipes={"wanted": recipe(plan), "other": other}, random_state=0)
        chooser._weights = lambda judged: np.array([1.0, 0.0])
        return chooser

    return made


def pooling(plan: sf.Plan) -> sf.Chooser:
    """A chooser that takes all it is offered, in every form that devices read."""
    recipes = {
        "tree": TREE, "bayes": sf.NaiveBayesClassifier(plan.channels),
        "mixture": sf.ProductMixtureClassifier(plan.channels, components=9, random_state=0),
    }
    chooser = sf.Chooser(plan.channels, recipes=recipes, random_state=0)
    chooser._weights = lambda judged: np.array([0.3, 0.2, 0.5])
    return chooser


def method(name: str) -> Callable[[sf.Plan], Any]:
    return lambda plan: estimator(name, plan, 0)


MODELS: dict[str, tuple[str, Callable[[sf.Plan], Any]]] = {
    "tree, joint": ("mixed", method("joint")),
    "tree, byclass": ("mixed", method("byclass")),
    "tree, none": ("numbers", method("none")),
    "tree, grown fully": ("mixed", lambda plan: sf.TreeClassifier(None, "none", max_depth=9)),
    "additive": ("mixed", method("additive")),
    "additive, numbers": ("numbers", method("additive")),
    "joint model": ("numbers", lambda plan: sf.JointModel(plan.channels, members=2, random_state=0)),
    "joint model, few columns": ("mixed", lambda plan: sf.JointModel(plan.channels, members=2, random_state=0)),
    "joint model, mixture": (
        "numbers",
        lambda plan: sf.JointModel(plan.channels, structure="mixture", members=2, random_state=0),
    ),
    "mixture": (
        "mixed",
        lambda plan: sf.ProductMixtureClassifier(plan.channels, components=20, members=2, random_state=0),
    ),
    "mixture classifier": ("mixed", method("gaussian-mixture")),
    "mixture classifier, numbers": (
        "numbers",
        lambda plan: sf.GaussianMixtureClassifier(plan.channels, components=3, shrinkage=1, random_state=0),
    ),
    "naive Bayes, each column's own density": ("mixed", method("naive-bayes")),
    "naive Bayes, reconstructed": ("mixed", lambda plan: sf.NaiveBayesClassifier(plan.channels, "reconstructed")),
    "naive Bayes, moments": ("mixed", lambda plan: sf.NaiveBayesClassifier(plan.channels, "moments")),
    "naive Bayes, direct": ("numbers", lambda plan: sf.NaiveBayesClassifier(plan.channels, "direct")),
    "direct": ("mixed", method("face-value")),
    "direct, tree": ("mixed", lambda plan: sf.FaceValueClassifier(TREE, plan.channels)),
    "direct, logistic": ("mixed", lambda plan: sf.FaceValueClassifier(LOGISTIC, plan.channels)),
    "chooser, naive Bayes": ("numbers", choosing(lambda plan: sf.NaiveBayesClassifier(plan.channels))),
    "chooser, mixture": (
        "numbers",
        choosing(lambda plan: sf.ProductMixtureClassifier(plan.channels, components=9, random_state=0)),
    ),
    "chooser, tree": ("mixed", choosing(lambda plan: TREE)),
    "chooser, pool": ("mixed", pooling),
}


@dataclass
class Case:
    """A model as its file's text and as it arrives in Python, and people as columns."""

    text: str
    shipped: shipping.Shipped
    people: dict[str, Any]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The people one by one, as a device holds their answers."""
        columns = {name: [plain(value) for value in column.tolist()] for name, column in self.people.items()}
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def plain(value: Any) -> Any:
    return None if value != value else value


@cache
def case(name: str, folder: Path) -> Case:
    """A model, fitted and saved by the first process that asks for it."""
    data, make = MODELS[name]
    spec, draw = DATA[data]
    plan = sf.Plan.from_dict(spec)
    path = folder / f"{name}.json"
    with open(folder / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            save_fitted(make(plan), plan, draw(RECORDS, np.random.default_rng(0)), path)
    people = draw(PEOPLE, np.random.default_rng(2))
    del people[str(plan.target)]
    arrived = shipping.load(path)
    return Case(path.read_text(), arrived, with_cuts(people, plan, cuts_in(json.loads(path.read_text()))))


def save_fitted(model: Any, plan: sf.Plan, people: dict[str, Any], path: Path) -> None:
    reports = pd.DataFrame(plan.randomize(people, rng=1))
    model.fit(reports[list(plan.channels)], reports[str(plan.target)].to_numpy())
    shipping.save(model, path, plan=plan)


def cuts_in(document: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Every number that a model compares an answer with, by attribute."""
    names = [each["name"] for each in document["device"]["reads"]]
    learned = document["model"]
    models = [each["model"] for each in learned["members"]] if document["kind"] == "Chooser" else [learned]
    for part, model in zip(document["device"].get("parts", [document["device"]]), models, strict=True):
        yield from cuts_of(part, model, names)


def cuts_of(device: dict[str, Any], joint: dict[str, Any], names: list[str]) -> Iterator[tuple[str, float]]:
    for node in device.get("nodes", ()):
        if isinstance(node.get("cut"), float):
            yield names[node["column"]], node["cut"]
    for term in device.get("terms", ()):
        yield from ((names[term["column"]], edge) for edge in term.get("edges", ()))
    for member in joint.get("members", ()):
        for cells, j in zip(member["cells"], joint["selected"], strict=True):
            yield from ((names[j], edge) for edge in cells.get("edges", ()))


def with_cuts(people: dict[str, Any], plan: sf.Plan, cuts: Iterator[tuple[str, float]]) -> dict[str, Any]:
    """People and, for every cut, three of them with the cut and its neighbours as their answer."""
    added: list[tuple[str, float]] = []
    for name, cut in dict.fromkeys(cuts):
        domain = plan.attributes[name].domain
        near = (np.nextafter(cut, -np.inf), cut, np.nextafter(cut, np.inf))
        whole = isinstance(domain, sf.Interval) and domain.integer
        for value in {np.floor(cut), np.ceil(cut)} if whole else near:
            if not isinstance(domain, sf.Interval) or domain.low <= value <= domain.high:
                added.append((name, float(value)))
    chosen = np.arange(len(added)) % PEOPLE
    found = {name: np.concatenate([column, column[chosen]]) for name, column in people.items()}
    for place, (name, value) in enumerate(added):
        found[name][PEOPLE + place] = value
    return found
