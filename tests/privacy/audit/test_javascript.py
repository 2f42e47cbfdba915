"""The shipped JavaScript passes the audit, and copies of it with one line changed do not.

``bench/audit.py --javascript`` runs them at default settings.
"""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.privacy.audit import SAMPLES
from tests.privacy.audit.javascript import CHANGES, plan_of


def test_the_shipped_javascript_passes_with_every_kind_of_mechanism() -> None:
    told = sf.audit(plan_of(), implementation="javascript", samples=20_000, people=50)
    assert told.broken == () and told.unaudited == ()
    assert {check.attribute for check in told.checks} == {
        "age", "share", "smokes", "drinks", "sport", "hours", "income (normal)", "income (careful)", "habit",
        "height, weight, waist", "basket", "basket (baskets of 2)", "basket (baskets of 3)", "all answers",
    }  # fmt: skip


@pytest.mark.usefixtures("two_starts")
@pytest.mark.parametrize("name", [name for name, change in CHANGES.items() if change.samples < SAMPLES])
def test_one_line_that_is_changed_is_found(name: str, tmp_path) -> None:
    change = CHANGES[name]
    plan = plan_of(*change.attributes)
    subject = plan if len(change.attributes) > 1 else plan.attributes[change.attributes[0]].channel
    assert sf.audit(subject, implementation=change.into(tmp_path / "copy"), samples=change.samples, people=50).broken
