"""The thread that writes goes on, whatever happens to its connection."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sfumato.collector.background.writer import BusyError, Writer
from sfumato.collector.settings import Settings
from sfumato.collector.store import Arrival, Connection, Store, StoreError
from tests.collector.serving import PLAN


def written(store: Store, *works: Any) -> list[Any]:
    """What came of each work, in turn; and of a report after all of them."""

    async def go() -> list[Any]:
        writer = Writer(store, Settings())
        writer.start()
        found = [(await asyncio.gather(writer.run(work), return_exceptions=True))[0] for work in works]
        found.append(await writer.take([Arrival(town, b"1" * 16, b"row")]))
        await writer.stop()
        return found

    with store.connected() as connection, connection.transaction():
        town = connection.open_survey("town", PLAN).number
    return asyncio.run(go())


def fail(connection: Connection) -> None:
    raise RuntimeError("a defect")


def spoil(connection: Connection) -> None:
    """Leave the connection in a state in which nothing works on it any more."""
    connection.execute("ROLLBACK")
    connection.execute("BEGIN")
    fail(connection)


def cut(connection: Connection) -> None:
    connection.close()
    connection.execute("SELECT 1")


@pytest.mark.parametrize("work", [fail, spoil, cut])
def test_it_goes_on_after_a_failure_of_any_kind(store: Store, work: Any) -> None:
    failed, verdict = written(store, work)
    assert isinstance(failed, Exception) and verdict == [""]


def test_what_fails_is_undone(store: Store) -> None:
    def half(connection: Connection) -> None:
        connection.close_survey("town")
        fail(connection)

    _, verdict = written(store, half)
    assert verdict == [""], "the survey is open still"


def test_more_than_can_be_written_soon_is_turned_away(store: Store) -> None:
    async def go() -> None:
        writer = Writer(store, Settings())
        writer.start()
        with pytest.raises(BusyError):
            await writer.take([Arrival(1, b"1" * 16, b"row")] * (Settings().waiting_reports + 1))
        await writer.stop()

    asyncio.run(go())
    assert issubclass(BusyError, StoreError)
