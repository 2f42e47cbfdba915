"""What a store promises, for SQLite and PostgreSQL alike: exactly once, no order, no trace of what is gone."""

from __future__ import annotations

import re
import secrets
import sqlite3
import threading
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.client import Outbox
from sfumato.collector.access import SCOPES, invitation_hash, issue_invitations, issue_token, refusal_of
from sfumato.collector.store import (
    ACCEPTED,
    Arrival,
    Connection,
    Store,
    StoreError,
    copy_store,
    day,
    name_of,
    open_store,
)
from sfumato.collector.store.connection import CLOSED, CONFLICT, TABLES, UNINVITED, WITHDRAWN
from sfumato.collector.store.postgresql import PostgresStore
from sfumato.collector.store.sqlite import SqliteStore
from sfumato.collector.store.store import SCHEMA
from tests.collector.postgres import Cluster

PLAN = sf.Plan.loads(
    """
name = "town"
[attributes.smokes]
categories = ["yes", "no"]
channel = "randomized-response"
gamma = 19
"""
)
OTHER = sf.Plan.loads('name = "town"\n[attributes.a]\nlow = 0\nhigh = 1\nchannel = "square-wave"\ngamma = 9\n')


def take(store: Store, *arrivals: Arrival) -> list[str]:
    with store.connected() as connection, connection.transaction():
        return connection.take(arrivals)


def opened(store: Store, name: str = "town", invited: bool = False) -> int:
    with store.connected() as connection, connection.transaction():
        return connection.open_survey(name, PLAN, invited=invited).number


def rows(store: Store, survey: int) -> list[bytes]:
    with store.connected() as connection:
        return [row for page in connection.reports(survey, page_rows=7) for row in page]


def test_a_report_is_stored_once_however_often_it_comes(store: Store) -> None:
    town = opened(store)
    one, two = Arrival(town, b"1" * 16, b"one"), Arrival(town, b"2" * 16, b"two")
    assert take(store, one, two, one) == [ACCEPTED] * 3
    assert take(store, two, one) == [ACCEPTED] * 2
    assert sorted(rows(store, town)) == [b"one", b"two"]
    with store.connected() as connection:
        assert connection.count_reports(town) == 2
        assert [(what, number) for _, what, number in connection.tallies(town)] == [("accepted", 2)]


def test_another_report_under_the_same_id_is_refused(store: Store) -> None:
    town = opened(store)
    first, second = Arrival(town, b"1" * 16, b"one"), Arrival(town, b"1" * 16, b"other")
    assert take(store, first, second) == [ACCEPTED, CONFLICT]
    assert take(store, second) == [CONFLICT]
    assert rows(store, town) == [b"one"]


def test_the_same_id_in_another_survey_is_another_report(store: Store) -> None:
    town, village = opened(store), opened(store, "village")
    assert take(store, Arrival(town, b"1" * 16, b"one"), Arrival(village, b"1" * 16, b"other")) == [ACCEPTED] * 2
    assert rows(store, village) == [b"other"]


def test_what_is_withdrawn_is_gone_and_does_not_come_back(store: Store) -> None:
    town = opened(store)
    one = Arrival(town, b"1" * 16, b"one")
    take(store, one)
    with store.connected() as connection:
        with connection.transaction():
            assert connection.withdraw(town, one.id)
        with connection.transaction():
            assert not connection.withdraw(town, one.id) and not connection.withdraw(town, b"2" * 16)
    assert take(store, one) == [WITHDRAWN]
    assert rows(store, town) == []


def test_a_closed_survey_takes_nothing_new_and_knows_what_it_has(store: Store) -> None:
    town = opened(store)
    one, two = Arrival(town, b"1" * 16, b"one"), Arrival(town, b"2" * 16, b"two")
    take(store, one)
    with store.connected() as connection, connection.transaction():
        connection.close_survey("town")
    assert take(store, one, two) == [ACCEPTED, CLOSED]
    with store.connected() as connection, connection.transaction():
        assert connection.withdraw(town, one.id)
        connection.open_survey("town", PLAN)
    assert take(store, two) == [ACCEPTED]


def test_an_opened_plan_does_not_change(store: Store) -> None:
    opened(store)
    with store.connected() as connection, pytest.raises(ValueError, match="another plan"):
        connection.open_survey("town", OTHER)


@pytest.mark.parametrize("name", ["", "Town", "a b", "-a", "a/b", "health", "é", "a" * 65])
def test_a_name_must_fit_into_an_address(store: Store, name: str) -> None:
    with store.connected() as connection, pytest.raises(ValueError, match="cannot stand in an address"):
        connection.open_survey(name, PLAN)


def test_a_plans_name_becomes_one_that_fits() -> None:
    named = {"Crédit: Été 2026!": "cr-dit-t-2026", "!!": "survey", "health": "survey", "a" * 70: "a" * 64}
    for name, expected in named.items():
        assert name_of(sf.Plan(name, PLAN.attributes)) == expected


def test_an_invitation_lets_one_report_in_and_no_second_one(store: Store) -> None:
    town = opened(store, invited=True)
    with store.connected() as connection, connection.transaction():
        code, other = issue_invitations(connection, connection.require_survey("town"), 2)
    first = Arrival(town, b"1" * 16, b"one", invitation_hash(code))
    assert take(store, first) == [ACCEPTED]
    assert take(store, first) == [ACCEPTED], "the answer was lost, and the device sends again"
    assert take(store, Arrival(town, b"2" * 16, b"two", invitation_hash(code))) == [UNINVITED]
    uninvited = Arrival(town, b"3" * 16, b"three"), Arrival(town, b"4" * 16, b"four", b"x" * 16)
    assert take(store, *uninvited) == [UNINVITED] * 2
    twice = [Arrival(town, bytes([place]) * 16, b"five", invitation_hash(other)) for place in (5, 6)]
    assert sorted(take(store, *twice)) == [ACCEPTED, UNINVITED]
    with store.connected() as connection:
        assert connection.invitations(town) == (2, 2) and connection.count_reports(town) == 2


def test_invitations_belong_to_one_survey(store: Store) -> None:
    opened(store, invited=True)
    village = opened(store, "village", invited=True)
    with store.connected() as connection, connection.transaction():
        (code,) = issue_invitations(connection, connection.require_survey("town"), 1)
    assert take(store, Arrival(village, b"1" * 16, b"one", invitation_hash(code))) == [UNINVITED]


def test_nobody_is_invited_to_what_is_open_to_all(store: Store) -> None:
    opened(store)
    with store.connected() as connection, pytest.raises(ValueError, match="open to everybody"):
        issue_invitations(connection, connection.require_survey("town"), 1)


def test_a_failed_transaction_leaves_nothing(store: Store) -> None:
    town = opened(store)
    with store.connected() as connection, pytest.raises(RuntimeError), connection.transaction():
        connection.take([Arrival(town, b"1" * 16, b"one")])
        raise RuntimeError
    assert rows(store, town) == [] and take(store, Arrival(town, b"1" * 16, b"other")) == [ACCEPTED]


def test_rows_come_by_their_ids_whatever_the_order_of_arrival(store: Store) -> None:
    town = opened(store)
    ids = [secrets.token_bytes(16) for _ in range(40)]
    for id in ids:
        take(store, Arrival(town, id, id))
    assert rows(store, town) == sorted(ids)
    store.tidy()
    assert rows(store, town) == sorted(ids)


def test_tidying_leaves_everything_but_the_traces(store: Store) -> None:
    town = opened(store, invited=True)
    with store.connected() as connection, connection.transaction():
        codes = issue_invitations(connection, connection.require_survey("town"), 30)
    for place, code in enumerate(codes[:20]):
        take(store, Arrival(town, secrets.token_bytes(16), bytes([place]), invitation_hash(code)))
    with store.connected() as connection:
        before = connection.tallies(town), connection.invitations(town), connection.surveys()
    store.tidy()
    with store.connected() as connection:
        assert (connection.tallies(town), connection.invitations(town), connection.surveys()) == before
        if not Path(store.address).exists():
            for table in ("reports", "invitations"):
                assert len(connection.rows(f"SELECT DISTINCT xmin::text FROM {table}")) == 1, "they show the order"


def test_a_deleted_survey_leaves_nothing(store: Store) -> None:
    town, village = opened(store, invited=True), opened(store, "village")
    take(store, Arrival(village, b"1" * 16, b"one"))
    with store.connected() as connection, connection.transaction():
        (code,) = issue_invitations(connection, connection.require_survey("town"), 1)
        issue_token(connection, connection.require_survey("town"))
        connection.add_job("j", town, "train", {})
    take(store, Arrival(town, b"1" * 16, b"secret row", invitation_hash(code)))
    with store.connected() as connection, connection.transaction():
        assert connection.delete_survey("town") == 1
        for table in ("reports", "invitations", "tallies", "jobs", "tokens"):
            assert connection.rows(f"SELECT 1 FROM {table} WHERE survey = ?", town) == []
    assert rows(store, village) == [b"one"]
    with store.connected() as connection, pytest.raises(ValueError, match="there are: village"):
        connection.require_survey("town")


def test_it_is_known_when_a_store_was_tidied(store: Store) -> None:
    with store.connected() as connection:
        assert connection.tidied() == ""
        store.tidy()
        assert connection.tidied() == day()
        connection.open_survey("town", PLAN)
        connection.delete_survey("town")
        assert connection.tidied() == "", "what was deleted may still be in the files"


@pytest.mark.parametrize("days", [-1, 36_501, 10**12])
def test_a_survey_is_kept_for_some_days_of_the_calendar(store: Store, days: int) -> None:
    with store.connected() as connection:
        with pytest.raises(ValueError, match="36,500 days"), connection.transaction():
            connection.open_survey("town", PLAN, keep_days=days)
        assert connection.surveys() == []


def test_a_survey_opened_again_is_not_deleted_any_more(store: Store) -> None:
    with store.connected() as connection, connection.transaction():
        for name in ("old", "again"):
            connection.open_survey(name, PLAN, keep_days=30)
            connection.close_survey(name, today="2020-01-01")
        connection.open_survey("again", PLAN)
        assert connection.delete_expired("2020-01-30") == {}
        assert connection.delete_expired("2020-01-31") == {"old": 0}


def test_what_is_written_to_a_file_that_is_gone_is_not_acknowledged(tmp_path: Path) -> None:
    place, away = tmp_path / "store.db", tmp_path / "away.db"
    store = open_store(str(place))
    town = opened(store)
    with store.connected() as connection:
        with connection.transaction():
            connection.take([Arrival(town, b"1" * 16, b"one")])
        place.rename(away)
        with pytest.raises(StoreError, match="moved"), connection.transaction():
            connection.take([Arrival(town, b"2" * 16, b"two")])
        with pytest.raises(StoreError, match="moved"):
            connection.revisions()
    with pytest.raises(StoreError):
        store.connect()
    assert not place.exists(), "no empty store takes its place"
    away.rename(place)
    assert rows(store, town)[0] == b"one"


def test_a_number_is_never_used_again(store: Store) -> None:
    """A service that has not heard of it yet would put reports of the old plan among those of the new one."""
    town = opened(store)
    with store.connected() as connection:
        with connection.transaction():
            before = connection.revisions()
            connection.delete_survey("town")
        with connection.transaction():
            village = connection.open_survey("village", OTHER)
            connection.tally(town, "refused: plan", 1)
        assert village.number != town and connection.revisions() != before
        assert connection.tallies(town) == [], "nothing is counted of what is gone"
    assert take(store, Arrival(town, b"1" * 16, b"one")) == [CLOSED]


def test_what_arrives_while_a_survey_is_deleted_does_not_stay(store: Store) -> None:
    town, done = opened(store), []

    def delete() -> None:
        with store.connected() as connection, connection.transaction():
            done.append(connection.delete_survey("town"))

    deleting = threading.Thread(target=delete)
    with store.connected() as connection:
        with connection.transaction():
            assert connection.take([Arrival(town, b"1" * 16, b"one")]) == [ACCEPTED]
            deleting.start()
            deleting.join(0.3)
        deleting.join(60)
        assert done == [1] and connection.rows("SELECT id FROM reports") == []


def test_a_backup_restores_into_either_kind(store: Store, tmp_path: Path) -> None:
    town = opened(store, invited=True)
    with store.connected() as connection, connection.transaction():
        (code,) = issue_invitations(connection, connection.require_survey("town"), 1)
        token = issue_token(connection, connection.require_survey("town"), ["read"])
        connection.ship_model("town", "{}")
    one = Arrival(town, b"1" * 16, b"one", invitation_hash(code))
    take(store, one)
    backup = open_store(str(tmp_path / "backup.db"))
    assert copy_store(store, backup)["reports"] == 1
    again = open_store(str(tmp_path / "again.db"))
    copy_store(backup, again)
    with again.connected() as connection:
        assert connection.require_survey("town").model == "{}"
        assert refusal_of(connection, token, town, "read") == ""
        assert connection.invitations(town) == (1, 1)
    assert take(again, one) == [ACCEPTED] and rows(again, town) == [b"one"]
    with pytest.raises(ValueError, match="empty store"):
        copy_store(backup, again)


def test_a_copy_is_of_one_moment_and_holds_up_nobody(store: Store) -> None:
    town = opened(store)
    take(store, Arrival(town, b"1" * 16, b"one"))
    with store.connected() as reading, reading.snapshot():
        assert reading.count_reports(town) == 1
        assert take(store, Arrival(town, b"2" * 16, b"two")) == [ACCEPTED]
        assert reading.count_reports(town) == 1
    assert sorted(rows(store, town)) == [b"one", b"two"]


def test_tokens_expire_are_revoked_and_reach_only_so_far(store: Store) -> None:
    town, village = opened(store), opened(store, "village")
    with store.connected() as connection, connection.transaction():
        token = issue_token(connection, connection.require_survey("town"), ["read", "jobs"])
        everywhere = issue_token(connection, None, SCOPES)
        short = issue_token(connection, None, ["read"], days=1e-9)
    with store.connected() as connection:
        assert refusal_of(connection, token, town, "read") == ""
        assert refusal_of(connection, everywhere, village, "export") == ""
        assert refusal_of(connection, token, town, "export") == "scope"
        assert refusal_of(connection, token, village, "read") == "scope"
        assert refusal_of(connection, token, None, "read") == "scope"
        wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
        for bad in ("", "x", wrong, short, token + " ", "0" * 16 + token[16:], token.upper()):
            assert refusal_of(connection, bad, town, "read") == "token", bad
        assert token.partition(".")[2] not in str(connection.rows("SELECT * FROM tokens"))
        with connection.transaction():
            assert connection.revoke_token(token.partition(".")[0]) and not connection.revoke_token("0" * 16)
        assert refusal_of(connection, token, town, "read") == "token"
    for scopes, days in ((["reed"], 1), ([], 1), (["read"], 0), (["read"], 99999)):
        with store.connected() as connection, pytest.raises(ValueError, match="scope"):
            issue_token(connection, None, scopes, days)


def test_a_store_of_a_later_version_is_not_touched(store: Store) -> None:
    with store.connected() as connection, connection.transaction():
        store.set_version(connection, SCHEMA + 1)
    with pytest.raises(StoreError, match="update sfumato"):
        open_store(store.address)


def test_opening_a_store_again_changes_nothing(store: Store) -> None:
    town = opened(store)
    take(store, Arrival(town, b"1" * 16, b"one"))
    assert rows(open_store(store.address), town) == [b"one"]


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.db").write_text("this is a letter, not a database; it is long enough to look like a file")
    with pytest.raises(StoreError, match="not a database"):
        open_store(str(tmp_path / "other.db"))


def test_a_password_is_not_shown() -> None:
    assert PostgresStore("postgresql://me:secret@host/db").shown == "postgresql://me:***@host/db"
    assert PostgresStore("postgresql://host:5432/db").shown == "postgresql://host:5432/db"
    assert PostgresStore("postgresql://me:se/cr@et@host/db").shown == "postgresql://me:***@host/db"
    assert PostgresStore("postgresql://me@host/db?password=secret&a=b").shown == "postgresql://me@host/db?password=***&a=b"
    with pytest.raises(StoreError, match="cannot be read") as refused:
        open_store("postgresql://me:sec%ret@host/db")
    assert "sec" not in str(refused.value)


def test_settings_of_an_address_hold_unless_they_would_lose_reports(postgres: Cluster) -> None:
    wanted = "-c%20search_path%3Dpg_temp%20-c%20synchronous_commit%3Doff"
    with PostgresStore(f"{postgres.address}?options={wanted}").connected() as connection:
        assert connection.row("SHOW search_path") == ("pg_temp",)
        assert connection.row("SHOW synchronous_commit") == ("on",)


def test_a_database_that_may_not_be_written_is_a_fault_of_the_store(postgres: Cluster) -> None:
    """As a former primary is; the service then connects anew, and devices send again."""
    address = postgres.new_database(f"t{secrets.token_hex(6)}")
    town = opened(open_store(address))
    store = PostgresStore(f"{address}?options=-c%20default_transaction_read_only%3Don")
    with pytest.raises(StoreError, match="read-only"):
        take(store, Arrival(town, b"1" * 16, b"one"))


def test_a_copy_that_begins_while_a_store_is_tidied_is_whole(postgres: Cluster) -> None:
    """What is emptied and filled by another transaction looks empty to a copy that has begun before its end."""
    store = open_store(postgres.new_database(f"t{secrets.token_hex(6)}"))
    town, found = opened(store), list[int]()
    take(store, Arrival(town, b"1" * 16, b"one"))

    def copy() -> None:
        with store.connected() as connection, connection.snapshot():
            connection.surveys()
            found.append(connection.count_reports(town))

    copying = threading.Thread(target=copy)
    with store.connected() as tidying, tidying.transaction():
        tidying.execute("LOCK TABLE reports IN ACCESS EXCLUSIVE MODE")
        tidying.execute("CREATE TEMPORARY TABLE anew ON COMMIT DROP AS SELECT * FROM reports")
        tidying.execute("TRUNCATE reports")
        copying.start()
        copying.join(0.3)
        tidying.execute("INSERT INTO reports SELECT * FROM anew")
    copying.join(60)
    assert found == [1]


def test_a_database_that_is_not_there_is_said_to_be_so() -> None:
    with pytest.raises(StoreError, match="cannot be reached"):
        open_store("postgresql://nobody@127.0.0.1:9/none")


def test_a_note_is_what_was_written_last(store: Store) -> None:
    with store.connected() as connection:
        for content in (b"one", b"two"):
            with connection.transaction():
                connection.write_note("canary", content)
            assert isinstance(connection, Connection) and connection.read_note("canary") == content
        assert connection.read_note("nobody wrote this") == b""


@pytest.mark.parametrize("kind", [SqliteStore, PostgresStore])
def test_the_files_of_sql_have_the_tables_and_their_keys(kind: type[Store]) -> None:
    sql = (files("sfumato.collector.store") / kind.tables).read_text(encoding="utf-8")
    made = {}
    for name, columns in re.findall(r"CREATE TABLE (\w+) \((.*?)^\)", sql, re.DOTALL | re.MULTILINE):
        key = re.search(r"^ *PRIMARY KEY \((.*?)\)|^ *(\w+) .*PRIMARY KEY", columns, re.MULTILINE)
        made[name] = key and (key[1] or key[2])
    made.pop("sfumato_version", None)
    assert made == TABLES


def test_a_database_of_somebody_else_is_left_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "notes.db"
    with closing(sqlite3.connect(place)) as other, other:
        other.execute("CREATE TABLE notes (text TEXT)")
    Outbox(tmp_path / "outbox.db")
    for path in (place, tmp_path / "outbox.db"):
        before = path.read_bytes()
        with pytest.raises(StoreError, match="another database, not a store of sfumato"):
            open_store(str(path))
        assert path.read_bytes() == before


def test_one_process_holds_a_file_and_the_next_one_after_it(tmp_path: Path) -> None:
    first, second = (open_store(str(tmp_path / "store.db")) for _ in range(2))
    with first.exclusive(), pytest.raises(StoreError, match="served by another process"), second.exclusive():
        raise AssertionError
    with second.exclusive():
        pass
