"""The JavaScript interpreter passes the cases that every interpreter must pass, in Node and in Chromium."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from playwright.sync_api import Page
from tests.browser.chromium import in_node
from tests.vectors import make_baskets, make_programs

from sfumato.channels.baskets.program import read_program
from sfumato.client.questions import blur_of

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
