"""Every interpreter of basket programs draws the reports in baskets.json."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from sfumato.channels.baskets import seeds as seeds_module
from sfumato.channels.baskets.program import basket_program, read_program
from sfumato.channels.baskets.reports import bitmap_width
from sfumato.channels.program import Words
from sfumato.channels.program.random_words import row_codes
from sfumato.plan import program_schema
from tests.channels.baskets.examples import two_level
from tests.vectors import make_baskets

VECTORS = json.loads(make_baskets.FILE.read_text())


def words(text: str) -> Words:
    return np.array([[int(text[start : start + 16], 16) for start in range(0, len(text), 16)]], dtype=np.uint64)


@pytest.mark.parametrize("compiled", [True, False], ids=["numba", "NumPy"])
def test_every_case_is_drawn(monkeypatch: pytest.MonkeyPatch, compiled: bool) -> None:
    if not compiled:
        monkeypatch.setattr(seeds_module, "_compiled", lambda: None)
    for case in VECTORS["cases"]:
        program = VECTORS["programs"][case["program"]]
        drawing = read_program(program)[case["size"]]
        draw = drawing.bitmaps if case["form"] == "bitmap" else drawing.seeds
        report = draw(np.array([case["members"]]), words(case["words"]))
        assert np.array_equal(report, words(case["report"])), case
        if case["form"] == "seed":
            shown = drawing.generator.expand(report)
            assert np.array_equal(shown, words(case["shows"])), case


def test_every_basket_has_its_code() -> None:
    for case in VECTORS["codes"]:
        assert int(row_codes(np.array([case["members"]]))[0]) % (1 << 64) == int(case["code"], 16)


def test_the_programs_obey_the_schema_and_bad_ones_do_not() -> None:
    schema = Draft202012Validator(program_schema())
    for program in VECTORS["programs"].values():
        schema.validate(program)
    bare = basket_program([two_level(2, 0.5, 9.0, 2)], 1 << 23, 2)
    schema.validate(bare)
    for wrong in ({**bare, "items": 0}, {**bare, "kind": "gaussian"}, {**bare, "sizes": []}, {**bare, "gamma": 19.0}):
        assert not schema.is_valid(wrong)
    bare["sizes"][0]["kept"][0] = 0
    assert not schema.is_valid(bare)


def test_the_script_writes_the_file() -> None:
    assert make_baskets.text() == make_baskets.FILE.read_text()


def test_the_cases_cover_constructions_sizes_and_outcomes() -> None:
    seen: Counter[object] = Counter()
    for case in VECTORS["cases"]:
        program = VECTORS["programs"][case["program"]]
        part = next(part for part in program["sizes"] if part["size"] == case["size"])
        kept = sum(int(case["words"][:16], 16) >= int(bound, 16) for bound in part["kept"])
        outcome = "noise" if kept > case["size"] else "none" if kept == 0 else "all" if kept == case["size"] else "some"
        seen.update([case["size"], (case["form"], outcome), part["seed"]["construction"], program["items"]])
        assert len(case["words"]) == 16 * part["words"][case["form"]]
        assert len(case["report"]) == 16 * bitmap_width(
            program["items"] if case["form"] == "bitmap" else part["seed"]["bits"]
        )
    outcomes = [(form, outcome) for form in ("bitmap", "seed") for outcome in ("noise", "none", "some", "all")]
    assert all(seen[value] >= 5 for value in (*range(1, 7), "bch", "polynomial", *outcomes))
    assert len(VECTORS["cases"]) >= 150
    assert make_baskets.FILE.stat().st_size < 300_000
