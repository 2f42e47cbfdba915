"""A million reports of the JavaScript interpreter follow the law of every mechanism and level."""

from __future__ import annotations

import itertools
import json
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.base import Channel
from sfumato.channels.baskets.program import read_program
from sfumato.channels.mechanism import Mechanism
from sfumato.domain import Categories, Interval, domain_to_spec
from tests.browser.chromium import in_node
from tests.laws.test_laws import EXAMPLES
from tests.statistics import assert_fits
from tests.vectors import make_programs

HERE = Path(__file__).parent
REPORTS, ROWS, BASKETS = 1_000_000, 500_000, 100_000
PROGRAMS = json.loads((HERE / "baskets.json").read_text(encoding="utf-8"))["programs"]
LEVELS = [
    pytest.param(mechanism, level, id=f"{name}-{level or ''}")
    for name, mechanism in make_programs.MECHANISMS.items()
    for level in mechanism.levels
]
SMALL = sf.Interval(0, 9, integer=True)
TOGETHER = {
    "two": sf.CorrelatedNoise({"a": SMALL, "b": SMALL}, [[9, 6], [6, 8]], ratio=0.5),
    "three": sf.CorrelatedNoise({"a": SMALL, "b": SMALL, "c": SMALL}, np.eye(3) * 2 + 2, ratio=0.3),
}


def draw(command: str, *asked: dict[str, Any]) -> list[Any]:
    return [told["answer"] for told in in_node(HERE / "interpreter.js", command, given=asked)]


def spec(mechanism: Mechanism) -> dict[str, Any]:
    return {"domain": domain_to_spec(mechanism.domain), "program": mechanism.program()}


def test_every_kind_is_here() -> None:
    kinds = {channel.kind for each in make_programs.MECHANISMS.values() for channel in (each, *each.levels.values())}
    assert kinds | {"select-a-size"} == set(EXAMPLES)


@pytest.mark.parametrize(("mechanism", "level"), LEVELS)
def test_reports_follow_the_law(mechanism: Mechanism, level: str | None) -> None:
    channel = mechanism.level(level)
    law = channel.law()
    values, asked = two_values(channel), {**spec(mechanism), "level": level, "times": REPORTS // 2}
    for value, counts in zip(values, draw("counts", *({**asked, "value": value} for value in values)), strict=True):
        codes = channel.encode_reports([report for report, _ in counts])
        observed = np.bincount(codes, [count for _, count in counts], minlength=channel.outputs.size)
        assert_fits(observed, law[:, int(channel.encode([value])[0])])


def two_values(channel: Channel) -> list[Any]:
    if isinstance(channel.domain, Categories):
        return [channel.domain.labels[0], channel.domain.labels[-1]]
    assert isinstance(channel.domain, Interval)
    return [channel.domain.low, channel.inputs.value_of(channel.inputs.size // 3)]


@pytest.mark.parametrize("name", TOGETHER)
def test_several_numbers_follow_the_law_of_whole_rows(name: str) -> None:
    mechanism = TOGETHER[name]
    value = {column: 4 + place for place, column in enumerate(mechanism.domains)}
    (counts,) = draw("counts", {**spec(mechanism), "value": value, "times": ROWS})
    true = list(value.values())
    reach = [range(min(c) - 1, max(c) + 2) for c in zip(*(row for row, _ in counts), strict=True)]
    rows = list(itertools.product(*reach))
    chances = mechanism.probability(rows, [true] * len(rows))
    observed = dict(zip(map(tuple, (row for row, _ in counts)), (count for _, count in counts), strict=True))
    seen = [observed.pop(row, 0) for row in rows]
    assert not observed
    assert_fits([*seen, 0], [*chances, max(1 - chances.sum(), 0.0)])


@pytest.mark.parametrize("form", ["bitmap", "seed"])
@pytest.mark.parametrize("name", ["halves of 7", "eighths of 65", "1024ths of 130"])
def test_baskets_show_their_items_by_the_law(name: str, form: str) -> None:
    """Those of the basket as often as the program keeps them, others with chance ρ; in a seed any K jointly.

    How many of 100,000 show an item is seen where it is off by 5·√(¼/100,000) = 0.8 %.
    """
    program = PROGRAMS[name]
    size = 3
    drawing = read_program(program)[size]
    basket = [0, 2, program["items"] - 1]
    others = [item for item in range(program["items"]) if item not in basket][: drawing.generator.independence - size]
    items = basket + others
    asked = {"program": program, "form": form, "basket": basket, "items": items, "times": BASKETS}
    (counts,) = draw("shown", asked)
    rho = drawing.threshold / 2**drawing.depth
    chances = []
    for shown in range(1 << len(items)):
        own = (shown & (1 << size) - 1).bit_count()
        inserted = (shown >> size).bit_count()
        chance = float(drawing.kept[own]) / comb(size, own)
        chances.append(chance * rho**inserted * (1 - rho) ** (len(others) - inserted))
    assert_fits(counts, chances)
