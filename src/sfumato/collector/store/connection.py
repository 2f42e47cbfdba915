"""What a collector keeps, in whichever database: surveys, reports, invitations, tokens, tallies by day, jobs.

A report is its id and its row (`ReportForm`), nothing else: no time, no counter, no address. Its place is its id, which
is random, so that the order of rows says nothing about the order of arrival; `tidy` writes the tables anew so that the
files say nothing about it either. A withdrawn report leaves its id and no row behind: sent again, it is refused.

SQL is written once, with ? for values; a dialect says how to run it, to insert many and to see one moment.
"""

from __future__ import annotations

import json
import random
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from sfumato.collector.settings import Settings
from sfumato.plan import Plan

Row = tuple[Any, ...]
EMPTY_BODY = b""
"""The body of a report that was withdrawn."""
LARGEST_NUMBER = 2**31 - 1
MOST_DAYS = 36_500
CANARY, TIDIED = "canary", "tidied"
"""Names of notes: what /health writes and reads, and the day of the last tidying."""
NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
RESERVED = {"health", "metrics", "login", "logout", "static", "surveys"}

# what a collector says to a device, by reason
ACCEPTED = ""
REFUSED = "refused: "
"""Tallies of refusals begin so."""
CONFLICT, WITHDRAWN, CLOSED, UNINVITED = "conflict", "withdrawn", "closed", "invitation"

TABLES = {
    "surveys": "number", "reports": "survey, id", "invitations": "survey, code", "tallies": "survey, day, what",
    "tokens": "id", "jobs": "id", "notes": "name",
}  # fmt: skip
"""The primary key of every table; sqlite.sql and postgresql.sql make them."""


class StoreError(OSError):
    """The store cannot be reached, written or understood just now."""


@dataclass(frozen=True)
class Survey:
    """A survey as it stands; its plan does not change any more."""

    number: int
    name: str
    plan: Plan
    state: str
    opened: str
    closed: str | None
    keep_days: int | None
    invited: bool
    model: str | None
    revision: int

    @property
    def is_open(self) -> bool:
        """Whether it takes reports."""
        return self.state == "open"

    @property
    def expires(self) -> str | None:
        """The day on which it is deleted."""
        if self.closed is None or self.keep_days is None:
            return None
        return (date.fromisoformat(self.closed) + timedelta(days=self.keep_days)).isoformat()


class Arrival(NamedTuple):
    """A report that has come in, checked."""

    survey: int
    id: bytes
    body: bytes
    invitation: bytes | None = None


class Connection(ABC):
    """One connection to a database; used by one thread at a time."""

    lock_rows = ""
    """Behind a SELECT within a transaction: nobody changes or deletes these rows before its end."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @abstractmethod
    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Run one statement; a cursor with the rows and ``rowcount``."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""

    @contextmanager
    @abstractmethod
    def transaction(self) -> Iterator[None]:
        """Everything inside is written, durably, or nothing."""

    @contextmanager
    @abstractmethod
    def snapshot(self) -> Iterator[None]:
        """Everything read inside is as it was at one moment; nobody who writes is held up."""

    @abstractmethod
    def insert_reports(self, survey: int, rows: Sequence[tuple[bytes, bytes]]) -> int:
        """Insert (id, body) pairs of different ids; how many of them were not there yet."""

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """All rows of a SELECT."""
        return list(self.execute(sql, values).fetchall())

    def row(self, sql: str, *values: Any) -> Row | None:
        """The first row of a SELECT; None where there is none."""
        found = self.rows(sql, *values)
        return found[0] if found else None

    def change(self, sql: str, *values: Any) -> int:
        """Run a statement; how many rows it changed."""
        return int(self.execute(sql, values).rowcount)

    # --- surveys ------------------------------------------------------------------------------------------------

    def open_survey(
        self, name: str, plan: Plan, *, keep_days: int | None = None, invited: bool = False, today: str | None = None
    ) -> Survey:
        """A new survey; the plan is frozen. The same plan under the same name again opens it again.

        Its number is random: one that is deleted leaves none behind that another survey could get.
        """
        check_name(name)
        if keep_days is not None and not 0 <= keep_days <= MOST_DAYS:
            raise ValueError(f"a survey can be kept for up to {MOST_DAYS:,} days after its end, not {keep_days:,}")
        found = self.survey(name)
        if found is not None:
            if found.plan.identity != plan.identity:
                raise ValueError(
                    f"survey {name!r} is there with another plan ({found.plan.identity[:16]}); an opened plan does not "
                    "change: close that survey, and open this one under another name"
                )
            set_open = "UPDATE surveys SET state = 'open', closed = NULL, revision = revision + 1"
            self.change(f"{set_open} WHERE name = ?", name)
        else:
            self.change(
                "INSERT INTO surveys VALUES (?, ?, ?, 'open', ?, NULL, ?, ?, NULL, 0)",
                secrets.randbelow(LARGEST_NUMBER), name, plan.to_json(), today or day(), keep_days, int(invited),
            )  # fmt: skip
        return self.known_survey(name)

    def close_survey(self, name: str, today: str | None = None) -> None:
        """No report is accepted any more; reports can still be withdrawn."""
        self.known_survey(name)
        set_closed = "UPDATE surveys SET state = 'closed', closed = ?, revision = revision + 1"
        self.change(f"{set_closed} WHERE name = ? AND state = 'open'", today or day(), name)

    def delete_survey(self, name: str) -> int:
        """Delete a survey and everything of it; how many reports that were. What is being taken is waited for."""
        number = self.known_survey(name).number
        self.change("DELETE FROM surveys WHERE number = ?", number)
        reports = self.change("DELETE FROM reports WHERE survey = ?", number)
        for table in ("invitations", "tallies", "tokens", "jobs"):
            self.change(f"DELETE FROM {table} WHERE survey = ?", number)
        self.note_tidied("")
        return reports

    def delete_expired(self, today: str) -> dict[str, int]:
        """Delete the surveys whose time is over; by name, how many reports each had."""
        over = [each.name for each in self.surveys() if each.expires is not None and each.expires <= today]
        return {name: self.delete_survey(name) for name in over}

    def ship_model(self, name: str, model: str | None) -> None:
        """The model that goes home to the devices."""
        self.known_survey(name)
        self.change("UPDATE surveys SET model = ?, revision = revision + 1 WHERE name = ?", model, name)

    def survey(self, name: str) -> Survey | None:
        """The survey of this name, if there is one."""
        found = self.row("SELECT * FROM surveys WHERE name = ?", name)
        return None if found is None else _survey(found)

    def known_survey(self, name: str) -> Survey:
        """The survey of this name. ValueError: there is none."""
        found = self.survey(name)
        if found is None:
            there = ", ".join(row[0] for row in self.rows("SELECT name FROM surveys ORDER BY name")) or "none yet"
            raise ValueError(f"there is no survey {name!r} in this store; there are: {there}")
        return found

    def surveys(self) -> list[Survey]:
        """All surveys, by name."""
        return [_survey(row) for row in self.rows("SELECT * FROM surveys ORDER BY name")]

    def revisions(self) -> list[Row]:
        """What changes when any survey does."""
        return self.rows("SELECT number, revision FROM surveys ORDER BY number")

    # --- reports ------------------------------------------------------------------------------------------------

    def take(self, arrivals: Sequence[Arrival], today: str | None = None) -> list[str]:
        """Store reports within a transaction; for each of them "" or the reason why not.

        The same id with the same row is accepted again; with another row it is refused, as is one that was withdrawn.
        They are written in the order of their ids: of two services with the same reports one waits for the other.
        """
        verdicts = dict[int, str]()
        by_survey: dict[int, list[int]] = {}
        for index, each in enumerate(arrivals):
            by_survey.setdefault(each.survey, []).append(index)
        for number, indices in sorted(by_survey.items()):
            state = self.row(f"SELECT state, invited FROM surveys WHERE number = ?{self.lock_rows}", number)
            verdicts |= self._take(number, state, {index: arrivals[index] for index in indices}, today or day())
        return [verdicts[index] for index in range(len(arrivals))]

    def _take(self, survey: int, state: Row | None, arrivals: dict[int, Arrival], today: str) -> dict[int, str]:
        first = {each.id: each for each in reversed(arrivals.values())}
        closed = state is None or state[0] != "open"
        invited = bool(state and state[1])
        stored = self._bodies(survey, first) if closed or invited else {}
        welcome = [] if closed else sorted(each for each in first.values() if each.id not in stored)
        if invited:
            welcome = [each for each in welcome if self._invite(survey, each.invitation)]
        fresh = self.insert_reports(survey, [(each.id, each.body) for each in welcome])
        self.tally(survey, "accepted", fresh, today)
        if fresh == len(welcome):
            stored |= {each.id: each.body for each in welcome}
        stored |= self._bodies(survey, [id for id in first if id not in stored])
        refusal = CLOSED if closed else UNINVITED
        return {index: _verdict(each, stored.get(each.id), refusal) for index, each in arrivals.items()}

    def _bodies(self, survey: int, ids: Iterable[bytes]) -> dict[bytes, bytes]:
        found = dict[bytes, bytes]()
        for id in ids:
            row = self.row("SELECT body FROM reports WHERE survey = ? AND id = ?", survey, id)
            if row is not None:
                found[id] = bytes(row[0])
        return found

    def _invite(self, survey: int, code: bytes | None) -> bool:
        """Use up an invitation; it is not written down for what."""
        use_up = "UPDATE invitations SET used = 1 WHERE survey = ? AND code = ? AND used = 0"
        return code is not None and self.change(use_up, survey, code) == 1

    def withdraw(self, survey: int, id: bytes, today: str | None = None) -> bool:
        """Take a report back; whether it was there."""
        empty = "UPDATE reports SET body = ? WHERE survey = ? AND id = ? AND body <> ?"
        found = self.change(empty, EMPTY_BODY, survey, id, EMPTY_BODY) == 1
        self.tally(survey, "withdrawn", int(found), today or day())
        return found

    def reports(self, survey: int, page_rows: int | None = None) -> Iterator[list[bytes]]:
        """The rows of all reports in the order of their ids, in short reads that hold nobody up."""
        last = b""
        while True:
            page = self.rows(
                "SELECT id, body FROM reports WHERE survey = ? AND id > ? ORDER BY id LIMIT ?", survey, last,
                page_rows or self.settings.page_rows,
            )
            if not page:
                return
            last = bytes(page[-1][0])
            yield [bytes(body) for _, body in page if len(body)]

    def shuffled(self, survey: int) -> list[bytes]:
        """The rows of all reports in an order of chance: their place says nothing about their ids either."""
        rows = [row for page in self.reports(survey) for row in page]
        random.SystemRandom().shuffle(rows)
        return rows

    def how_many(self, survey: int) -> int:
        """The number of reports that were not withdrawn."""
        found = self.row("SELECT COUNT(*) FROM reports WHERE survey = ? AND body <> ?", survey, EMPTY_BODY)
        return int(found[0]) if found else 0

    # --- tallies, invitations, notes --------------------------------------------------------------------------------

    def tally(self, survey: int, what: str, number: int, today: str | None = None) -> None:
        """Count something of a day, by the day and no finer; nothing of a survey that is gone."""
        if number:
            self.change(
                "INSERT INTO tallies SELECT number, ?, ?, ? FROM surveys WHERE number = ? "
                "ON CONFLICT (survey, day, what) DO UPDATE SET number = tallies.number + excluded.number",
                today or day(), what, number, survey,
            )  # fmt: skip

    def tallies(self, survey: int) -> list[tuple[str, str, int]]:
        """(day, what, number), by day."""
        found = self.rows("SELECT day, what, number FROM tallies WHERE survey = ? ORDER BY day, what", survey)
        return [(row[0], row[1], int(row[2])) for row in found]

    def add_invitations(self, survey: int, codes: Iterable[bytes]) -> None:
        """Permit a report for each of these hashes."""
        for code in codes:
            self.change("INSERT INTO invitations VALUES (?, ?, 0)", survey, code)

    def invitations(self, survey: int) -> tuple[int, int]:
        """How many were issued, and how many were used."""
        found = self.row("SELECT COUNT(*), COALESCE(SUM(used), 0) FROM invitations WHERE survey = ?", survey)
        return (int(found[0]), int(found[1])) if found else (0, 0)

    def write_note(self, name: str, content: bytes) -> None:
        """Write something about the store itself."""
        write = "INSERT INTO notes VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET content = excluded.content"
        self.change(write, name, content)

    def read_note(self, name: str) -> bytes:
        """What was written last; nothing where nothing was."""
        row = self.row("SELECT content FROM notes WHERE name = ?", name)
        return bytes(row[0]) if row else b""

    def note_tidied(self, today: str) -> None:
        """Note the day on which the store was tidied; "" when something was deleted since."""
        self.write_note(TIDIED, today.encode())

    def tidied(self) -> str:
        """The day on which the store was last tidied; "" for never, and when something was deleted since."""
        return self.read_note(TIDIED).decode()

    # --- jobs and tokens ----------------------------------------------------------------------------------------

    def add_job(self, id: str, survey: int, kind: str, options: dict[str, Any]) -> None:
        """Add a job that waits."""
        self.change("INSERT INTO jobs VALUES (?, ?, ?, ?, 'waiting', '', NULL)", id, survey, kind, json.dumps(options))

    def move_job(self, id: str, old: str, new: str, said: str = "", result: bytes | None = None) -> bool:
        """From one state to another; whether it was in that state."""
        set_state = "UPDATE jobs SET state = ?, said = ?, result = ? WHERE id = ? AND state = ?"
        return self.change(set_state, new, said, result, id, old) == 1

    def delete_job(self, id: str) -> None:
        """Delete a job with its result."""
        self.change("DELETE FROM jobs WHERE id = ?", id)

    def jobs(self, survey: int | None = None) -> list[dict[str, Any]]:
        """Jobs without their results, by id."""
        where, values = ("", ()) if survey is None else (" WHERE survey = ?", (survey,))
        names = ("id", "survey", "kind", "options", "state", "said")
        found = self.rows(f"SELECT {', '.join(names)} FROM jobs{where} ORDER BY id", *values)
        return [dict(zip(names, row, strict=True)) | {"options": json.loads(row[3])} for row in found]

    def job_result(self, id: str) -> bytes | None:
        """What came of a job, if anything did."""
        found = self.row("SELECT result FROM jobs WHERE id = ?", id)
        return None if found is None or found[0] is None else bytes(found[0])

    def add_token(self, id: str, hash: bytes, survey: int | None, scopes: Iterable[str], expires: str) -> None:
        """Permit what a token of this hash asks, until it ends."""
        self.change("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, 0)", id, hash, survey, " ".join(scopes), expires)

    def token(self, id: str) -> Row | None:
        """(hash, survey, scopes, expires, revoked)."""
        return self.row("SELECT hash, survey, scopes, expires, revoked FROM tokens WHERE id = ?", id)

    def tokens(self) -> list[Row]:
        """(id, survey, scopes, expires, revoked) of every token."""
        return self.rows("SELECT id, survey, scopes, expires, revoked FROM tokens ORDER BY id")

    def revoke_token(self, id: str) -> bool:
        """End a token; whether there is one."""
        return self.change("UPDATE tokens SET revoked = 1 WHERE id = ?", id) == 1


def check_name(name: str) -> str:
    """A name that can stand in an address."""
    if not NAME.fullmatch(name) or name in RESERVED:
        raise ValueError(f"survey name {name!r} cannot stand in an address; use letters a-z, digits, - (town-2026)")
    return name


def day() -> str:
    """Today, in UTC."""
    return datetime.now(UTC).date().isoformat()


def _survey(row: Row) -> Survey:
    number, name, plan, state, opened, closed, keep_days, invited, model, revision = row
    return Survey(
        number, name, Plan.loads(plan, "json"), state, opened, closed, keep_days, bool(invited), model, revision
    )


def _verdict(arrived: Arrival, stored: bytes | None, refusal: str) -> str:
    if stored is None:
        return refusal
    if stored == arrived.body:
        return ACCEPTED
    return WITHDRAWN if stored == EMPTY_BODY else CONFLICT
