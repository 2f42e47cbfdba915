"""CONTRIBUTING's recipe for a new channel works as it stands, and its walks name what there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.channels.mechanism import Mechanism
from tests.conftest import is_there
from tests.laws.laws import check_mechanism

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
RECIPE = re.search(r"```python\n(.*?)```", TEXT, re.S)


@pytest.fixture
def recipe() -> Iterator[type[sf.Channel]]:
    assert RECIPE is not None
    names: dict[str, type[sf.Channel]] = {"__name__": "contributed"}  # type: ignore[dict-item]
    exec(RECIPE[1], names)
    yield names["Neighbours"]
    del Mechanism.registry["neighbours"]


def test_the_recipe_for_a_channel_obeys_every_law(recipe: type[sf.Channel]) -> None:
    for labels in (["a", "b", "c"], range(7)):
        check_mechanism(recipe(sf.Categories(labels)))


def test_the_channel_of_the_recipe_stands_in_a_plan(recipe: type[sf.Channel]) -> None:
    plan = sf.Plan.loads('[attributes.wind]\ncategories = ["n", "e", "s", "w"]\nchannel = "neighbours"\n')
    assert isinstance(plan.attributes["wind"].channel, recipe)
    assert plan.randomize({"wind": "n"})["wind"] in ("n", "e", "w")
    assert sf.Plan.from_dict(plan.to_dict()).identity == plan.identity


def test_every_step_of_the_walks_is_where_it_is_said_to_be() -> None:
    walks = TEXT.partition("## Nine walks")[2].partition("\n## ")[0]
    steps = re.findall(r"`([\w/-]+\.\w+)`(?:\s+\[`([\w.]+)`\])?", walks)
    assert len(steps) > 40
    for path, name in steps:
        defined = rf"(class|def|function|const) {name.rpartition('.')[2]}\b|^{name}\b" if name else ""
        assert re.search(defined, (ROOT / "src" / "sfumato" / path).read_text("utf-8"), re.M), (path, name)


def test_every_test_that_is_listed_as_slow_is_there() -> None:
    listed = (ROOT / "tests" / "slow.txt").read_text("utf-8").split()
    assert [name for name in listed if not is_there(name)] == []
