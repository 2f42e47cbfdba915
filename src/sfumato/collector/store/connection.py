"""The statements on a store's tables, for either database: surveys, reports, invitations, tokens, tallies by day, jobs.

Of a report the store keeps its id and its row of bytes (`ReportForm.pack`), nothing else: no time, no counter, no
address. The tables are ordered by the ids, which are random, so that the order of rows says nothing about the order of
arrival; `Store.tidy` writes the tables anew so that the files say nothing about it either. A withdrawn report leaves
its id and an empty row behind, so that the same report sent again is refused (docs/decisions/0022).

SQL is written once, with ? for values. The subclasses `SqliteConnection` and `PostgresConnection` run it, insert many
rows at once and read all tables as they are at one moment.
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
"""The largest number of a survey: PostgreSQL's INTEGER has 32 bits with a sign."""
MOST_DAYS = 36_500
"""The longest time, in days, that a survey is kept after its end: a hundred years. Judgement; Python's dates end with
the year 9999, so a much larger number could not be added to a day."""
CANARY = "canary"
"""The name of the note that /health writes and reads back."""
TIDIED = "tidied"
"""The name of the note with the day of the last tidying."""
NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
"""The form of a survey's name: up to 64 letters, digits and hyphens, none of which an address has to escape. The length
is judgement: a name stands in links that people read."""
RESERVED = {"health", "metrics", "login", "logout", "static", "surveys"}
"""Names that no survey can have, because addresses of the collector itself begin with them."""

# verdicts on a report: "" or the reason for its refusal, a key of `refusals.REASONS`
ACCEPTED = ""
CONFLICT = "conflict"
WITHDRAWN = "withdrawn"
CLOSED = "closed"
UNINVITED = "invitation"
REFUSED = "refused: "
"""How the names of tallies of refusals begin; the reason follows."""

TABLES = {
    "surveys": "number", "reports": "survey, id", "invitations": "survey, code", "tallies": "survey, day, what",
    "tokens": "id", "jobs": "id", "notes": "name",
}  # fmt: skip
"""The primary key of every table; sqlite.sql and postgresql.sql make them."""


class StoreError(OSError):
    """The error that says that the store cannot be reached, written or read at the moment."""


@dataclass(frozen=True)
class Survey:
    """A survey of a store: a plan under a name, as it was when it was read. Its plan never changes."""

    number: int
    """A random key, by which the other tables refer to the survey."""
    name: str
    plan: Plan
    state: str
    """"open" or "closed"."""
    opened: str
    """The day in UTC on which it was opened, as 2026-11-16."""
    closed: str | None
    """The day in UTC on which it was closed; None while it is open."""
    keep_days: int | None
    """Days after closing on which it is deleted; None: never."""
    invited: bool
    """Whether each report needs a single-use invitation."""
    model: str | None
    """The model that devices load, as JSON; None: there is none."""
    revision: int
    """A counter that grows with every change to the survey."""

    @property
    def is_open(self) -> bool:
        """Whether the survey takes reports."""
        return self.state == "open"

    @property
    def expires(self) -> str | None:
        """The day on which the survey is deleted, as 2026-11-16; None if it is open or kept for ever."""
        if self.closed is None or self.keep_days is None:
            return None
        return (date.fromisoformat(self.closed) + timedelta(days=self.keep_days)).isoformat()


class Arrival(NamedTuple):
    """A report that was received and checked: its survey's number, id, row of bytes, and invitation's hash or None."""

    survey: int
    id: bytes
    body: bytes
    invitation: bytes | None = None


class Connection(ABC):
    """A connection to the database of a collector, with a method for every statement; used by one thread at a time."""

    lock_rows = ""
    """What a SELECT ends with so that nobody changes or deletes the rows read before the transaction ends."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @abstractmethod
    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Run one SQL statement with values for its ?; return the database's cursor, with the rows and ``rowcount``."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    @contextmanager
    @abstractmethod
    def transaction(self) -> Iterator[None]:
        """Run a with block in a transaction: at its end everything in it is on the disk; after an error nothing is."""

    @contextmanager
    @abstractmethod
    def snapshot(self) -> Iterator[None]:
        """Run a with block on the tables as they are at its beginning; others can write meanwhile."""

    @abstractmethod
    def insert_reports(self, survey: int, rows: Sequence[tuple[bytes, bytes]]) -> int:
        """Insert reports into a survey and return how many ids were new; rows whose id exists stay as they are.

        ``survey``: its number; ``rows``: pairs (id, row of bytes) with distinct ids.
        """

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """Return all rows of a SELECT as tuples. ``values``: for the ? in the statement."""
        return list(self.execute(sql, values).fetchall())

    def row(self, sql: str, *values: Any) -> Row | None:
        """Return the first row of a SELECT as a tuple, or None if it has no rows. ``values``: for its ?."""
        rows = self.rows(sql, *values)
        return rows[0] if rows else None

    def change(self, sql: str, *values: Any) -> int:
        """Run an INSERT, UPDATE or DELETE; return how many rows it changed. ``values``: for the ? in the statement."""
        return int(self.execute(sql, values).rowcount)

    # --- surveys ------------------------------------------------------------------------------------------------

    def open_survey(
        self, name: str, plan: Plan, *, keep_days: int | None = None, invited: bool = False, today: str | None = None
    ) -> Survey:
        """Open a new survey of a plan, or open the closed one of this name and plan again.

        ``keep_days``: days after its end on which it is deleted; None: never. ``invited``: each report needs an
        invitation. ``today``: the day in UTC, for tests. ValueError: a survey of this name has another plan. The
        survey's number is random, so that no later survey gets the number of a deleted one.
        """
        check_name(name)
        if keep_days is not None and not 0 <= keep_days <= MOST_DAYS:
            raise ValueError(f"a survey can be kept for up to {MOST_DAYS:,} days after its end, not {keep_days:,}")
        survey = self.survey(name)
        if survey is not None:
            if survey.plan.identity != plan.identity:
                raise ValueError(
                    f"survey {name!r} is there with another plan ({survey.plan.identity[:16]}); an opened plan does "
                    "not change: close that survey, and open this one under another name"
                )
            set_open = "UPDATE surveys SET state = 'open', closed = NULL, revision = revision + 1"
            self.change(f"{set_open} WHERE name = ?", name)
        else:
            self.change(
                "INSERT INTO surveys VALUES (?, ?, ?, 'open', ?, NULL, ?, ?, NULL, 0)",
                secrets.randbelow(LARGEST_NUMBER), name, plan.to_json(), today or day(), keep_days, int(invited),
            )  # fmt: skip
        return self.require_survey(name)

    def close_survey(self, name: str, today: str | None = None) -> None:
        """Close a survey, given by name: no report is accepted any more; reports can still be withdrawn.

        ``today``: the day in UTC, for tests.
        """
        self.require_survey(name)
        set_closed = "UPDATE surveys SET state = 'closed', closed = ?, revision = revision + 1"
        self.change(f"{set_closed} WHERE name = ? AND state = 'open'", today or day(), name)

    def delete_survey(self, name: str) -> int:
        """Delete a survey, given by name, with all that belongs to it; return the number of its reports.

        These are reports, invitations, tallies, tokens and jobs. Transactions that are adding reports to the survey are
        waited for.
        """
        number = self.require_survey(name).number
        self.change("DELETE FROM surveys WHERE number = ?", number)
        reports = self.change("DELETE FROM reports WHERE survey = ?", number)
        for table in ("invitations", "tallies", "tokens", "jobs"):
            self.change(f"DELETE FROM {table} WHERE survey = ?", number)
        self.note_tidied("")
        return reports

    def delete_expired(self, today: str) -> dict[str, int]:
        """Delete the surveys that expire on this day or before; return how many reports each had, by survey's name."""
        expired = [survey.name for survey in self.surveys() if survey.expires is not None and survey.expires <= today]
        return {name: self.delete_survey(name) for name in expired}

    def ship_model(self, name: str, model: str | None) -> None:
        """Set the model (JSON text) that devices of a survey load; None takes it away.

        ValueError: there is no such survey.
        """
        self.require_survey(name)
        self.change("UPDATE surveys SET model = ?, revision = revision + 1 WHERE name = ?", model, name)

    def survey(self, name: str) -> Survey | None:
        """Return the survey of this name, or None if there is none."""
        row = self.row("SELECT * FROM surveys WHERE name = ?", name)
        return None if row is None else _survey_of(row)

    def require_survey(self, name: str) -> Survey:
        """Return the survey of this name. ValueError: there is none."""
        survey = self.survey(name)
        if survey is None:
            names = ", ".join(row[0] for row in self.rows("SELECT name FROM surveys ORDER BY name")) or "none yet"
            raise ValueError(f"there is no survey {name!r} in this store; there are: {names}")
        return survey

    def surveys(self) -> list[Survey]:
        """Return all surveys, ordered by name."""
        return [_survey_of(row) for row in self.rows("SELECT * FROM surveys ORDER BY name")]

    def revisions(self) -> list[Row]:
        """Return a list of (number, revision) of every survey, which differs after any change to a survey."""
        return self.rows("SELECT number, revision FROM surveys ORDER BY number")

    # --- reports ------------------------------------------------------------------------------------------------

    def take(self, arrivals: Sequence[Arrival], today: str | None = None) -> list[str]:
        """Store reports; return a verdict for each: "" if it is accepted, else the reason for its refusal.

        Called within a transaction. A report whose id and row are stored already is accepted again; one whose id is
        stored with another row, or was withdrawn, is refused. Reports are written in the order of their ids, so that
        of two services that write the same reports one waits for the other.
        """
        verdicts = dict[int, str]()
        by_survey: dict[int, list[int]] = {}
        for index, arrival in enumerate(arrivals):
            by_survey.setdefault(arrival.survey, []).append(index)
        for number, indices in sorted(by_survey.items()):
            state = self.row(f"SELECT state, invited FROM surveys WHERE number = ?{self.lock_rows}", number)
            verdicts |= self._take(number, state, {index: arrivals[index] for index in indices}, today or day())
        return [verdicts[index] for index in range(len(arrivals))]

    def _take(self, survey: int, state: Row | None, arrivals: dict[int, Arrival], today: str) -> dict[int, str]:
        """Store the reports of one survey; return the verdict on each ("" or the reason for its refusal) by its index.

        ``arrivals``: the reports by index; ``state``: the survey's row (state, invited), or None if it has been
        deleted. Of several reports with one id the first counts.
        """
        first = {arrival.id: arrival for arrival in reversed(arrivals.values())}
        closed = state is None or state[0] != "open"
        invited = bool(state and state[1])
        stored = self._bodies(survey, first) if closed or invited else {}
        admitted = [] if closed else sorted(arrival for arrival in first.values() if arrival.id not in stored)
        if invited:
            admitted = [arrival for arrival in admitted if self._use_invitation(survey, arrival.invitation)]
        inserted = self.insert_reports(survey, [(arrival.id, arrival.body) for arrival in admitted])
        self.tally(survey, "accepted", inserted, today)
        if inserted == len(admitted):
            stored |= {arrival.id: arrival.body for arrival in admitted}
        stored |= self._bodies(survey, [id for id in first if id not in stored])
        refusal = CLOSED if closed else UNINVITED
        return {index: _verdict(arrival, stored.get(arrival.id), refusal) for index, arrival in arrivals.items()}

    def _bodies(self, survey: int, ids: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the stored rows of bytes of those ``ids`` that the survey has, as a dict by id."""
        bodies = dict[bytes, bytes]()
        for id in ids:
            row = self.row("SELECT body FROM reports WHERE survey = ? AND id = ?", survey, id)
            if row is not None:
                bodies[id] = bytes(row[0])
        return bodies

    def _use_invitation(self, survey: int, code: bytes | None) -> bool:
        """Mark an invitation as used; return whether it was valid. Which report used it is not stored.

        ``code``: its hash, None where the report has none.
        """
        use_up = "UPDATE invitations SET used = 1 WHERE survey = ? AND code = ? AND used = 0"
        return code is not None and self.change(use_up, survey, code) == 1

    def withdraw(self, survey: int, id: bytes, today: str | None = None) -> bool:
        """Empty a report's row at the sender's wish; return whether the report was there and not withdrawn before.

        ``survey``: its number; ``id``: the report's; ``today``: the day in UTC, for tests.
        """
        empty = "UPDATE reports SET body = ? WHERE survey = ? AND id = ? AND body <> ?"
        withdrawn = self.change(empty, EMPTY_BODY, survey, id, EMPTY_BODY) == 1
        self.tally(survey, "withdrawn", int(withdrawn), today or day())
        return withdrawn

    def reports(self, survey: int, page_rows: int | None = None) -> Iterator[list[bytes]]:
        """Yield the rows of bytes of all reports of a survey that were not withdrawn, page by page, by their ids.

        ``page_rows``: the rows of a page, or that of the settings. Every page is a statement of its own, so that no
        writer waits long.
        """
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

    def shuffled_reports(self, survey: int) -> list[bytes]:
        """Return the rows of bytes of all reports of a survey in random order, which tells nothing of their ids."""
        rows = [row for page in self.reports(survey) for row in page]
        random.SystemRandom().shuffle(rows)
        return rows

    def count_reports(self, survey: int) -> int:
        """Return the number of a survey's reports that were not withdrawn."""
        row = self.row("SELECT COUNT(*) FROM reports WHERE survey = ? AND body <> ?", survey, EMPTY_BODY)
        return int(row[0]) if row else 0

    # --- tallies, invitations, notes --------------------------------------------------------------------------------

    def tally(self, survey: int, what: str, number: int, today: str | None = None) -> None:
        """Add a number to one of a survey's daily counts, for instance of accepted reports.

        Nothing if the survey was deleted. ``what``: which count: "accepted", "withdrawn", or ``REFUSED`` with a reason;
        ``today``: the day in UTC, for tests.
        """
        if number:
            self.change(
                "INSERT INTO tallies SELECT number, ?, ?, ? FROM surveys WHERE number = ? "
                "ON CONFLICT (survey, day, what) DO UPDATE SET number = tallies.number + excluded.number",
                today or day(), what, number, survey,
            )  # fmt: skip

    def tallies(self, survey: int) -> list[tuple[str, str, int]]:
        """Return a list of a survey's daily counts, (day, what, number), ordered by day."""
        rows = self.rows("SELECT day, what, number FROM tallies WHERE survey = ? ORDER BY day, what", survey)
        return [(day, what, int(number)) for day, what, number in rows]

    def add_invitations(self, survey: int, codes: Iterable[bytes]) -> None:
        """Add unused invitations to a survey, each by its hash."""
        for code in codes:
            self.change("INSERT INTO invitations VALUES (?, ?, 0)", survey, code)

    def invitations(self, survey: int) -> tuple[int, int]:
        """Return (how many invitations of a survey were issued, how many of them were used)."""
        row = self.row("SELECT COUNT(*), COALESCE(SUM(used), 0) FROM invitations WHERE survey = ?", survey)
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def write_note(self, name: str, content: bytes) -> None:
        """Write a note about the store itself, replacing the note of that name; ``name``: ``CANARY`` or ``TIDIED``."""
        write = "INSERT INTO notes VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET content = excluded.content"
        self.change(write, name, content)

    def read_note(self, name: str) -> bytes:
        """Return the content of a note about the store, by its name; empty if it was never written."""
        row = self.row("SELECT content FROM notes WHERE name = ?", name)
        return bytes(row[0]) if row else b""

    def note_tidied(self, today: str) -> None:
        """Note the day on which the store's tables were written anew.

        "" after something was deleted, so that it is done again.
        """
        self.write_note(TIDIED, today.encode())

    def tidied(self) -> str:
        """Return the day on which the store's tables were last written anew.

        "" if never, or if something was deleted since.
        """
        return self.read_note(TIDIED).decode()

    # --- jobs and tokens ----------------------------------------------------------------------------------------

    def add_job(self, id: str, survey: int, kind: str, options: dict[str, Any]) -> None:
        """Add an analyst's job to a survey in the state "waiting".

        ``kind``: "train", "itemsets" or "audit"; ``options``: the job's.
        """
        self.change("INSERT INTO jobs VALUES (?, ?, ?, ?, 'waiting', '', NULL)", id, survey, kind, json.dumps(options))

    def move_job(self, id: str, old: str, new: str, message: str = "", result: bytes | None = None) -> bool:
        """Move a job from the state ``old`` to ``new``, with a message and a result.

        Returns whether it was in the old state. If not, nothing changes: so of two services only one runs a job.
        """
        set_state = "UPDATE jobs SET state = ?, said = ?, result = ? WHERE id = ? AND state = ?"
        return self.change(set_state, new, message, result, id, old) == 1

    def delete_job(self, id: str) -> None:
        """Delete a job with its result."""
        self.change("DELETE FROM jobs WHERE id = ?", id)

    def jobs(self, survey: int | None = None) -> list[dict[str, Any]]:
        """Return the jobs of a survey, or of all (None), as dicts without their results, the oldest first."""
        where, values = ("", ()) if survey is None else (" WHERE survey = ?", (survey,))
        names = ("id", "survey", "kind", "options", "state", "said")
        rows = self.rows(f"SELECT {', '.join(names)} FROM jobs{where} ORDER BY id", *values)
        return [dict(zip(names, row, strict=True)) | {"options": json.loads(row[3])} for row in rows]

    def job_result(self, id: str) -> bytes | None:
        """Return the result of a job (JSON bytes); None if the job is not there or not done."""
        row = self.row("SELECT result FROM jobs WHERE id = ?", id)
        return None if row is None or row[0] is None else bytes(row[0])

    def add_token(self, id: str, hash: bytes, survey: int | None, scopes: Iterable[str], expires: str) -> None:
        """Add an analyst's token by its hash, for one survey or for all (None), valid until a time in UTC.

        ``scopes``: what it permits.
        """
        self.change("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, 0)", id, hash, survey, " ".join(scopes), expires)

    def token(self, id: str) -> Row | None:
        """Return (hash, survey, scopes, expires, revoked) of the token with this id; None if there is none."""
        return self.row("SELECT hash, survey, scopes, expires, revoked FROM tokens WHERE id = ?", id)

    def tokens(self) -> list[Row]:
        """Return (id, survey, scopes, expires, revoked) of every token."""
        return self.rows("SELECT id, survey, scopes, expires, revoked FROM tokens ORDER BY id")

    def revoke_token(self, id: str) -> bool:
        """End an analyst's token, given by its id; return whether there is one."""
        return self.change("UPDATE tokens SET revoked = 1 WHERE id = ?", id) == 1


def check_name(name: str) -> str:
    """Return a survey's name as it is, if it can stand in an address. ValueError: it cannot."""
    if not NAME.fullmatch(name) or name in RESERVED:
        raise ValueError(f"survey name {name!r} cannot stand in an address; use letters a-z, digits, - (town-2026)")
    return name


def day() -> str:
    """Return the present day in UTC, as 2026-11-16."""
    return datetime.now(UTC).date().isoformat()


def _survey_of(row: Row) -> Survey:
    """Return the survey that a row of the table ``surveys`` holds."""
    number, name, plan, state, opened, closed, keep_days, invited, model, revision = row
    return Survey(
        number, name, Plan.loads(plan, "json"), state, opened, closed, keep_days, bool(invited), model, revision
    )


def _verdict(arrival: Arrival, stored: bytes | None, refusal: str) -> str:
    """Return the verdict on a report, "" or the reason for its refusal, from the row of bytes stored under its id.

    ``stored``: that row, None: there is none, and ``refusal`` is returned.
    """
    if stored is None:
        return refusal
    if stored == arrival.body:
        return ACCEPTED
    return WITHDRAWN if stored == EMPTY_BODY else CONFLICT
