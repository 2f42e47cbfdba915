"""Estimates and models from every maker: the same document, to the last digit."""

import json

import numpy as np
import pytest

import sfumato as sf
from sfumato.domain import Interval
from sfumato.learners.choose import Chooser
from sfumato.learners.face_value import FaceValueClassifier
from sfumato.learners.product_mixture import ProductMixtureClassifier

AGE = sf.Gaussian(Interval(20, 80), privacy=0.5)
PAY = sf.Choice({"a": sf.Uniform(Interval(0, 10), privacy=0.5), "b": sf.Uniform(Interval(0, 10), privacy=1.0)})
LEVEL = sf.RandomizedResponse(sf.Categories([0, 1, 2, 3]), gamma=19)
CHANNELS = {"age": AGE, "pay": PAY, "level": LEVEL}


def people(n: int, seed: int = 8) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    age, pay, level = rng.uniform(20, 80, n), rng.uniform(0, 10, n), rng.integers(0, 4, n)
    group = np.where((age < 40) == (pay < 5), "A", "B").astype(object)
    chosen = rng.choice(["a", "b"], n).astype(object)
    reports = {
        "age": AGE.randomize(age, rng=rng), "pay": PAY.randomize(pay, rng=rng, level=chosen), "pay.level": chosen,
        "level": LEVEL.randomize(level, rng=rng).astype(float), "height": np.round(rng.normal(170, 9, n), 1),
        "town": rng.choice(["north", "south", "west"], n).astype(object), "group": group,
    }  # fmt: skip
    for name in ("age", "level", "height"):
        reports[name][rng.random(n) < 0.03] = np.nan
    return reports


ENGINE = pytest.mark.parametrize("make", ["duckdb relation"], indirect=True)  # others count alike: test_counts

LEARNERS = {
    "joint tree": lambda: sf.TreeClassifier(random_state=1),
    "byclass": lambda: sf.TreeClassifier(None, "byclass"),
    "local": lambda: sf.TreeClassifier(None, "local"),
    "local, three levels": lambda: sf.TreeClassifier(None, "local", max_depth=3),
    "global": lambda: sf.TreeClassifier(None, "global", prune=False),
    "taken as true": lambda: sf.TreeClassifier(None, "none", min_samples_leaf=20),
    "joint": lambda: sf.JointModel(random_state=1, members=2),
    "mixture": lambda: ProductMixtureClassifier(random_state=1, members=1, components=6),
    "densities of their own": lambda: sf.NaiveBayesClassifier(),
    "moments": lambda: sf.NaiveBayesClassifier(density="moments"),
    "densities": lambda: sf.NaiveBayesClassifier(density="reconstructed"),
    "direct": lambda: FaceValueClassifier(),
}


@pytest.mark.parametrize(
    ("make", "learner"),
    [*(("duckdb relation", learner) for learner in LEARNERS), ("spark", "joint tree"),
     ("spark", "local, three levels"), ("spark", "moments")],
    indirect=["make"],
)
def test_a_learner_learns_the_same_from_every_maker(make, learner):
    given = people(2_000)
    held, memory = make(given, CHANNELS, seed=4), sf.Reports(given, CHANNELS, seed=4)
    one, other = LEARNERS[learner]().fit(held, "group"), LEARNERS[learner]().fit(memory, "group")
    assert json.dumps(one.to_dict()) == json.dumps(other.to_dict())
    assert 1 < held.passes <= 40


@ENGINE
def test_a_direct_learner_and_the_chooser_too(make):
    given = {name: people(1_500)[name] for name in ("age", "height", "group")}
    held, memory = make(given, {"age": AGE}), sf.Reports(given, {"age": AGE})
    recipes = {
        "tree": sf.TreeClassifier(None, "likelihood", random_state=0), "sum": sf.AdditiveClassifier(),
        "mixture": sf.GaussianMixtureClassifier(components=2, shrinkage=1, random_state=0),
    }
    for learner in (sf.FaceValueClassifier, lambda: Chooser({"age": AGE}, recipes=recipes, random_state=2)):
        one, other = learner().fit(held, "group"), learner().fit(memory, "group")
        assert json.dumps(one.to_dict()) == json.dumps(other.to_dict())


@ENGINE
def test_estimates_of_all_columns(make):
    given = {name: people(2_000)[name] for name in ("age", "pay", "pay.level", "level")}
    found = sf.reconstruct(make(given, CHANNELS), intervals=5)
    wishes = {"age": 5, "pay": 5, "level": None}
    known = {
        name: sf.reconstruct(given[name], CHANNELS[name], wish, level=given.get(name + ".level"))
        for name, wish in wishes.items()
    }
    assert list(found) == list(CHANNELS)
    assert all(np.array_equal(found[name].probabilities, known[name].probabilities) for name in known)


@ENGINE
def test_joint_estimates(make):
    given = {name: people(2_000)[name] for name in ("age", "level")}
    channels = {"age": AGE, "level": LEVEL}
    one = sf.reconstruct_joint(make(given, channels), channels)
    assert np.array_equal(one.probabilities, sf.reconstruct_joint(given, channels).probabilities)
