"""A plan's survey is opened once, and stays as it was opened."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.collector.store import Store
from sfumato.collector.surveys import ensure_survey
from tests.collector.serving import PLAN

OTHER = sf.Plan.from_dict({**PLAN.to_dict(), "attributes": {"a": {"low": 0, "high": 1, "role": "clear"}}})


def test_a_survey_is_opened_once_and_stays_as_it_was(store: Store) -> None:
    with store.connected() as connection:
        with connection.transaction():
            first = ensure_survey(connection, PLAN, keep_days=3, invited=True)
        connection.close_survey("town")
        again = ensure_survey(connection, PLAN)
        assert (first.name, again.keep_days, again.invited, again.is_open) == ("town", 3, True, False)
        for wrong, said in ((OTHER, "another plan"), (PLAN, "keeps its reports for 3 days")):
            with pytest.raises(ValueError, match=said), connection.transaction():
                ensure_survey(connection, wrong, keep_days=4)
        ensure_survey(connection, OTHER, name="village")
        with pytest.raises(ValueError, match="open to everybody"):
            ensure_survey(connection, OTHER, name="village", invited=True)
