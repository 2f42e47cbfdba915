"""How a collector is set up: which surveys it opens, and where it listens."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.collector.run import address_of, listen, opened
from sfumato.collector.store import Store
from tests.collector.serving import PLAN

OTHER = sf.Plan.from_dict({**PLAN.to_dict(), "attributes": {"a": {"low": 0, "high": 1, "role": "clear"}}})


def test_a_survey_is_opened_once_and_stays_as_it_was(store: Store) -> None:
    with store.connected() as connection:
        with connection.transaction():
            first = opened(connection, PLAN, keep_days=3, invited=True)
        connection.close_survey("town")
        again = opened(connection, PLAN)
        assert (first.name, again.keep_days, again.invited, again.is_open) == ("town", 3, True, False)
        for wrong, said in ((OTHER, "another plan"), (PLAN, "keeps its reports for 3 days")):
            with pytest.raises(ValueError, match=said), connection.transaction():
                opened(connection, wrong, keep_days=4)
        opened(connection, OTHER, name="village")
        with pytest.raises(ValueError, match="open to everybody"):
            opened(connection, OTHER, name="village", invited=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_it_listens_on_this_machine(host: str) -> None:
    try:
        with listen(host, 0) as listener:
            assert address_of(listener).startswith(("http://127.0.0.1:", "http://[::1]:"))
    except ValueError as error:
        if host != "::1":
            raise
        pytest.skip(str(error))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "town.example", "192.168.0.1", ""])
def test_it_listens_nowhere_else_unless_that_is_said(host: str) -> None:
    with pytest.raises(ValueError, match="--anywhere"):
        listen(host, 0)


def test_a_taken_port_and_an_impossible_place_are_said() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port} is taken"):
            listen("127.0.0.1", port)
    with pytest.raises(ValueError, match="cannot be listened on"):
        listen("203.0.113.7", 0, anywhere=True)
