"""A device in Python, in Node and in Chromium sends, remembers and says the same."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from playwright.sync_api import Page

import sfumato as sf
from sfumato.client import Ledger, survey_schema
from sfumato.client.ledger import same_name
from sfumato.guarantee.amplification import gamma_text
from sfumato.prose import plain
from tests.browser.chromium import in_node
from tests.vectors import make_devices

HERE = Path(__file__).parent
CASES: dict[str, Any] = json.loads((HERE / "devices.json").read_text(encoding="utf-8"))


def test_the_cases_are_those_that_the_script_makes() -> None:
    assert json.loads(make_devices.text(make_devices.make())) == CASES


@pytest.mark.parametrize("name", CASES["plans"])
def test_a_survey_is_of_the_published_form(name: str) -> None:
    jsonschema.Draft202012Validator(survey_schema()).validate(CASES["plans"][name]["survey"])


@pytest.mark.parametrize("name", CASES["devices"])
def test_python_passes_every_case(name: str) -> None:
    case = CASES["devices"][name]
    device = sf.Device(bytes.fromhex(case["secret"]), Ledger.loads(case["before"]), today=lambda: make_devices.TODAY)
    for step in case["steps"]:
        assert {**step, **make_devices.outcome(device, step)} == step
    found = make_devices.after(device.ledger, case["steps"])
    assert found == {part: case[part] for part in found}


def test_python_reads_names_alike() -> None:
    assert [[name, same_name(name)] for name, _ in CASES["names"]] == CASES["names"]


def check(result: dict[str, Any]) -> None:
    """Nothing differs, and Python reads every ledger that was written and answers with it as with its own."""
    assert result["differing"] == []
    assert result["counted"] > 500
    for name, case in CASES["devices"].items():
        ledger = Ledger.loads(result["ledgers"][name])
        mine = Ledger.loads(json.dumps(plain(case["ledger"])).replace('"digest": null', '"digest": ""'))
        assert ledger.entries == mine.entries and ledger.limit == mine.limit
        assert [each.id for each in ledger.receipts] == [each.id for each in mine.receipts]
        assert gamma_text(ledger.total().gamma) == case["gammas"][""]
        device = sf.Device(bytes.fromhex(case["secret"]), ledger, today=lambda: make_devices.TODAY)
        for step in case["steps"]:
            if "id" in step and "afresh" not in step and "limit" not in str(case["steps"]):
                assert {**step, **make_devices.outcome(device, step)} == step


def test_node_passes_every_case() -> None:
    check(in_node(HERE / "devices.js"))


def test_node_and_python_agree_on_people_drawn_at_random(tmp_path: Path) -> None:
    rng, people = random.Random(12), {}
    for i in range(40):
        steps = [{"limit": {"reports": rng.randint(1, 3)}}]
        for _ in range(4):
            plan = rng.choice([name for name in CASES["plans"] if name != "habit"])
            answers = {name: some_answer(each, rng) for name, each in make_devices.plan_of(plan).columns.items()}
            steps.append(make_devices.ask(plan, answers, rng.choice(["a", "b"])))
        people[f"person {i}"] = make_devices.scenario(f"person {i}", steps, rng.randbytes(rng.randint(16, 70)))
    (tmp_path / "people.json").write_text(json.dumps({**CASES, "devices": people}), encoding="utf-8")
    found = in_node(HERE / "devices.js", str(tmp_path / "people.json"))
    assert found["differing"] == []


def some_answer(each: sf.Attribute, rng: random.Random) -> Any:
    """An answer that fits, or none."""
    domain = getattr(each.domain, "columns", {"": each.domain})
    low_high = next(iter(domain.values()))
    if rng.random() < 0.1:
        return None
    if isinstance(low_high, sf.Interval):
        number = rng.uniform(low_high.low, low_high.high)
        return round(number, 0 if low_high.integer else rng.randint(0, 6))
    if isinstance(low_high, sf.Items):
        return rng.sample(list(low_high.labels), rng.randint(2, 3))
    return rng.choice(low_high.labels)


def test_chromium_passes_every_case(page: Page, origin: str) -> None:
    page.goto(f"{origin}/tests/vectors/devices.json")
    check(page.evaluate("async (cases) => (await import('/tests/vectors/devices.js')).run(cases)", CASES))
