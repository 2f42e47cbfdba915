"""Synthetic records keep what is known of single columns."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.learners.joint.marginals import Marginal
from sfumato.reconstruction.reconstruct import shares

AGE, CITY = sf.Interval(20, 80, integer=True), sf.Categories(["Bonn", "Pisa", "Rome", "Ulm"])
CHANNELS: dict[str, Any] = {
    "age": sf.SquareWave(AGE, gamma=19), "pay": sf.SquareWave(sf.Interval(0, 1), gamma=19),
    "city": sf.RandomizedResponse(CITY, gamma=19),
}
MODELS: dict[str, Any] = {
    "joint": lambda: sf.JointModel(CHANNELS, random_state=0),
    "mixture": lambda: sf.ProductMixtureClassifier(CHANNELS, members=1, random_state=0),
}


@pytest.fixture(scope="module")
def people() -> tuple[pd.DataFrame, Any, pd.DataFrame]:
    rng = np.random.default_rng(1)
    y = rng.random(10_000) < 0.3
    pay = np.clip(rng.beta(2, 8, y.size) + 0.3 * y, 0, 1)
    age = np.clip(np.rint(30 + 30 * pay + rng.exponential(5, y.size)), 20, 80).astype(int)
    city = np.array(CITY.labels)[np.minimum((4 * pay).astype(int), rng.integers(0, 4, y.size))]
    true = pd.DataFrame({"age": age, "pay": pay, "city": city})
    reports = pd.DataFrame({name: one.randomize(true[name].to_numpy(), rng) for name, one in CHANNELS.items()})
    return true, y, reports


@pytest.mark.parametrize("classes", [True, False], ids=["with classes", "without"])
@pytest.mark.parametrize("kind", MODELS)
def test_single_columns_are_as_close_to_the_truth_as_their_reconstruction(
    people: Any, kind: str, classes: bool
) -> None:
    true, y, reports = people
    model = MODELS[kind]().fit(reports, y if classes else None)
    drawn = model.sample(40_000, random_state=0)
    records = drawn[0] if classes else drawn
    for name, channel in CHANNELS.items():
        edges = None if name == "city" else np.linspace(19.5, 80.5, 62) if name == "age" else np.linspace(0, 1, 21)
        known = sf.reconstruct(reports[name], channel, intervals=edges).probabilities
        truth = shares(true[name].to_numpy(), channel.domain, edges)
        error = np.abs(shares(records[name].to_numpy(), channel.domain, edges) - truth).sum()
        assert error <= 1.2 * np.abs(known - truth).sum() + 1e-3, name
    assert np.corrcoef(records["age"], records["pay"])[0, 1] > 0.4
    if classes:
        assert drawn[1].mean() == pytest.approx(y.mean(), abs=1e-3)
        assert records["pay"][drawn[1]].mean() - records["pay"][~drawn[1]].mean() > 0.2


def test_few_records_keep_what_belongs_together_and_a_file_keeps_the_marginals(people: Any) -> None:
    _, y, reports = people
    model = MODELS["mixture"]().fit(reports, y)
    again = sf.ProductMixtureClassifier.from_dict(json.loads(json.dumps(model.to_dict())))
    few, group = model.sample(300, random_state=3)
    columns, same = again.sample(300, random_state=3)
    np.testing.assert_array_equal(group, same)
    np.testing.assert_allclose(columns[:, 1].astype(float), few["pay"])
    assert few["pay"][group].mean() - few["pay"][~group].mean() > 0.15


def test_numbers_keep_their_order_and_as_few_labels_as_possible_change() -> None:
    rng = np.random.default_rng(2)
    fine = Marginal.over("x", np.array([0.5, 0.0, 0.5]), np.array([0.0, 1.0, 2.0, 3.0]), None)
    found = fine.impose_on(np.array([5.0, 1.0, 3.0, 2.0]), rng)
    np.testing.assert_array_equal(np.argsort(found), [1, 3, 2, 0])
    np.testing.assert_array_equal(np.sort(found) > 1.5, [False, False, True, True])
    labels = Marginal.over("c", np.array([0.5, 0.25, 0.25]), None, ("a", "b", "c"))
    codes = np.array([0, 0, 0, 0, 0, 0, 1, 1])
    changed = labels.impose_on_codes(codes, rng)
    np.testing.assert_array_equal(np.bincount(changed), [4, 2, 2])
    assert (changed != codes).sum() == 2
