"""The JavaScript interpreter passes the cases that every interpreter must pass, in Node and in Chromium."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from playwright.sync_api import Page
from tests.browser.chromium import in_node
from tests.vectors import make_baskets, make_programs

import sfumato as sf
from sfumato.channels.base import Mechanism
from sfumato.channels.baskets.program import read_program
from sfumato.channels.words import KeyedWords
from sfumato.client.questions import blur_of
from sfumato.domain import Categories, Items, Row, domain_to_spec

HERE = Path(__file__).parent


def expected_gammas() -> dict[str, dict[str, str | None]]:
    """γ of what is remembered, of every mechanism and level in the cases."""
    found: dict[str, dict[str, str | None]] = {}
    for name, mechanism in make_programs.MECHANISMS.items():
        levels = mechanism.levels or {None: None}
        found[name] = {level or "": text(blur_of(mechanism, level).gamma) for level in levels}
    for name in make_baskets.PROGRAMS:
        parts = read_program(make_baskets.program_of(name))
        found[name] = {"": text(max(part.gamma for part in parts.values()))}
    return found


def text(gamma: Fraction | str | None) -> str | None:
    return None if gamma is None else "{}/{}".format(*Fraction(gamma).as_integer_ratio())


def check(result: dict[str, Any]) -> None:
    assert result["differing"] == []
    assert result["counted"] >= 1700
    assert result["gammas"] == expected_gammas()


def test_node_passes_every_case_and_reads_the_exact_gammas() -> None:
    check(in_node(HERE / "run.js"))


def test_chromium_passes_every_case_and_reads_the_exact_gammas(page: Page, origin: str) -> None:
    page.goto(f"{origin}/tests/vectors/programs.json")
    run = "async (cases) => { const { run } = await import('/tests/vectors/run.js'); return run(...cases); }"
    check(page.evaluate(run, [json.loads((HERE / f"{name}.json").read_text()) for name in ("programs", "baskets")]))


# --- keyed answers --------------------------------------------------------------------------------------------------

SECRET, QUESTION = bytes(range(32)), '["https://town.example","é – 年"]'
BASKETS = sf.SelectASize.design(sf.Items(["tea", "milk", "rice", "salt", "soap"]), sizes=[2, 3], gamma=19, up_to=2)
MANY = sf.SelectASize.design(sf.Items(1000), sizes=[3], gamma=19, up_to=2)
KEYED = make_programs.MECHANISMS | {"labelled baskets": BASKETS, "many items": MANY}


def values_of(mechanism: Mechanism) -> list[Any]:
    domain = mechanism.domain
    if isinstance(domain, Categories):
        return list(domain.labels[:5])
    if isinstance(domain, Items):
        return [list(domain.labels[:3]), [domain.labels[0], domain.labels[2], domain.labels[4]]]
    if isinstance(domain, Row):
        ends = [(each.low, each.high) for each in domain.columns.values()]
        return [dict(zip(domain.columns, row, strict=True)) for row in zip(*ends, strict=True)]
    return [domain.low, domain.high, round((domain.low + 2 * domain.high) / 3)]


def test_a_secret_draws_in_javascript_what_it_draws_in_python() -> None:
    asked, expected = [], []
    for mechanism in KEYED.values():
        for level in mechanism.levels or [None]:
            values = values_of(mechanism)
            spec = {"domain": domain_to_spec(mechanism.domain), "program": mechanism.program()}
            asked.append({**spec, "level": level, "values": values, "secret": SECRET.hex(), "question": QUESTION})
            blur, words = blur_of(mechanism, level), KeyedWords(SECRET, "")
            expected.append([blur.draw(value, words, QUESTION) for value in values])
    found = in_node(HERE / "device.js", "keyed", given=asked)
    assert [each["answer"] for each in found] == expected
