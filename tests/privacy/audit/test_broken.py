"""What adversaries hid from an audit is found, and sound channels with rare answers raise no alarm.

``bench/audit.py`` runs every broken implementation at default settings and counts alarms in 200 sound runs.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module

import numpy as np
import pytest

import sfumato as sf
from sfumato.privacy.audit.fresh import detectable_sizes, first_repeat
from sfumato.privacy.audit.probe import Effort
from tests.privacy.audit.broken import cases, sound

FAINT = {"a bias of 1e-3", "1e-4 of answers raw", "1e-4 of answers raw, a fine grid"}
ENOUGH = 6_000_000  # reports; 2,000 calls
CASES = cases()


@pytest.mark.parametrize("name", [name for name in CASES if name not in FAINT])
def test_a_fault_that_was_hidden_is_found(name: str) -> None:
    subject, implementation = CASES[name]
    samples = ENOUGH if any(word in name for word in ("bits", "pad", "lowest")) else 200_000
    assert not sf.audit(subject, implementation=implementation, samples=samples, people=50).passed


@pytest.mark.parametrize("name", sorted(FAINT))
def test_a_faint_fault_is_found_at_default_settings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By as many reports as the default asks for, however slow a busy machine draws them."""
    monkeypatch.setattr(import_module("sfumato.privacy.audit.audit"), "Effort", partial(Effort, seconds=300.0))
    subject, implementation = CASES[name]
    assert not sf.audit(subject, implementation=implementation, people=50).passed


@pytest.mark.parametrize("name", list(sound()))
def test_sound_implementations_raise_no_alarm(name: str) -> None:
    assert sf.audit(sound()[name], samples=300_000, people=50).broken == ()


def test_a_run_that_comes_twice_is_found_wherever_it_lies() -> None:
    rng = np.random.default_rng(0)
    streams = [rng.integers(0, 20, size) for size in (300, 40, 500)]
    assert first_repeat(streams, 12) is None
    streams[2][77:92] = streams[0][200:215]
    found = first_repeat(streams, 12)
    assert found is not None and {which for which, _ in found} == {0, 2}
    assert first_repeat([np.zeros(20, dtype=int)], 12) is None  # a run that only overlaps itself


def test_seeds_that_are_said_to_be_seen_come_twice() -> None:
    calls = 1000
    seeds, _ = detectable_sizes(calls, 34)
    drawn = np.random.default_rng(1).integers(0, seeds, (2000, calls))
    twice = [np.unique(row).size < calls for row in drawn]
    assert np.mean(twice) > 0.98


def test_a_function_in_place_of_a_plan_is_audited_as_a_whole() -> None:
    ages = sf.Interval(20, 80)
    plan = sf.Plan("one", {"age": sf.Attribute("age", ages, sf.Gaussian(ages, privacy=1.0))})
    told = sf.audit(plan, implementation=lambda table: table, samples=20_000, people=50)
    assert "all answers" in {check.attribute for check in told.broken}
    assert "tested on whole records" in told.unaudited[0]
