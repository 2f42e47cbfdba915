"""Tables that somebody wrote down: the same channel however often they are written and read."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from tests.laws.chance_channels import random_categories, random_table

SHAPES = [(1, 1), (2, 1), (1, 3), (2, 2), (5, 3), (3, 40), (300, 300)]


def written(attribute: sf.Channel | sf.Choice) -> tuple[str, dict[str, Any]]:
    """The identity and the text of a plan with this question, as it is written."""
    name = "q"
    plan = sf.Plan("one", {name: sf.Attribute(name, attribute.domain, attribute)})
    return plan.identity, json.loads(plan.to_json())


def tables(seed: int) -> sf.Tabulated:
    rng = np.random.default_rng(seed)
    rows, columns = SHAPES[seed % len(SHAPES)]
    labels = random_categories(rng, columns, columns)
    return sf.Tabulated(labels, random_table(rng, rows, columns), reports=[f"said {i}" for i in range(rows)])


@pytest.mark.parametrize("seed", range(21))
def test_a_table_keeps_its_identity_however_often_it_is_written(seed: int) -> None:
    channel = tables(seed)
    again = sf.Tabulated(channel.outputs, np.eye(channel.outputs.size))
    parts = [channel, channel >> again, sf.Longitudinal(channel, again), sf.Choice({"a": channel, "b": channel})]
    for part in parts[: 1 if channel.outputs.size > 100 else 4]:
        identity, text = written(part)
        for _ in range(3):
            read = sf.Plan.from_dict(text)
            assert read.identity == identity and json.loads(read.to_json()) == text


@pytest.mark.parametrize("seed", range(7))
def test_the_stated_law_is_the_drawn_one(seed: int) -> None:
    channel = tables(seed)
    np.testing.assert_array_equal(channel.law(), channel.drawing.law())


def test_an_entry_that_is_never_drawn_is_stated_as_none() -> None:
    rare = sf.Tabulated(sf.Categories(["a", "b"]), [[1 - 1e-25, 0.5], [1e-25, 0.5]])
    assert rare.law()[1, 0] == 0 and rare.gamma == np.inf
