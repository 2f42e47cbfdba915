"""The outbox: a queue on disk of reports for collectors, which survives the end of a process and of a connection.

A report is in the file before ``put`` returns, and leaves the queue only when the collector has named its id. Until
then it may be sent any number of times: the id stays the same, so that the collector keeps it once.

    waiting ──accepted──▶ sent        withdrawing ──done, or not there──▶ gone
        └────refused────▶ refused          ▲ withdraw, from any state; gone at once where nothing was ever sent

No connection, a request to wait (429), an error of the server's own (5xx) and nonsense leave a report waiting; any
other refusal (4xx) is final. A batch that is refused without a word about its reports is sent again in halves.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from sfumato.client.wire import LONGEST_PAUSE, NOT_THERE, Answer, check_address, request
from sfumato.prose import counted, visible
from sfumato.tables.files import held_alone, own_file

State = Literal["waiting", "sent", "refused", "withdrawing"]
KIND = 0x5366756D
"""SQLite's application_id of an outbox: "Sfum" in ASCII, by which any other database is told apart."""
VERSION = 2
"""SQLite's user_version of the tables below; version 1 had no invitations and is brought up to it."""
BATCH = 100
"""The most reports in one request. By judgement: more save nothing on a connection that stays open, and a request that
fails is sent again whole."""
LONGEST_BACKOFF = 60.0
"""The most seconds between two tries of one call of ``send``. By judgement: a person waits for the call; longer pauses
are left to the next call."""
BUSY_SECONDS = 30.0
"""The seconds that SQLite waits for another process to leave the file. By judgement: a transaction takes milliseconds,
on a slow disk a second."""
TABLES = (
    """CREATE TABLE reports (
    id TEXT PRIMARY KEY CHECK (length(id) = 32), submit TEXT NOT NULL, plan TEXT NOT NULL, report TEXT NOT NULL,
    seal TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'refused', 'withdrawing')),
    tried INTEGER NOT NULL DEFAULT 0 CHECK (tried IN (0, 1)), note TEXT NOT NULL DEFAULT '') WITHOUT ROWID""",
    INVITED := "ALTER TABLE reports ADD COLUMN invitation TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX queues ON reports (state, submit, plan)",
    "CREATE TABLE pauses (submit TEXT PRIMARY KEY, until REAL NOT NULL) WITHOUT ROWID",
    f"PRAGMA application_id = {KIND}",
    NUMBERED := f"PRAGMA user_version = {VERSION}",
)

Ask = Callable[..., Answer]
"""(submit, body, id="") → Answer: a POST of the body, or a DELETE of the id where there is none."""


class OutboxError(ValueError):
    """The error raised for a queue's file that cannot be used, or a report that it cannot take; the file is kept."""


@dataclass(frozen=True)
class Entry:
    """One report in the queue of reports to be sent, with its state."""

    id: str
    submit: str  # the address that it goes to
    plan: str  # the plan's identity
    report: dict[str, Any]
    state: State
    note: str  # the day on which it was accepted, or the reason why it was refused; else empty
    invitation: str = ""  # the code that the collector asks for with a report, if any


@dataclass
class Sending:
    """The result of one call that sends the queue: ids by outcome, how many reports are left, and why."""

    accepted: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)  # the reason by id
    withdrawn: list[str] = field(default_factory=list)
    waiting: int = 0  # reports that are left, withdrawals too
    problem: str | None = None  # why some are left, with the address; None: no address has a problem

    def __str__(self) -> str:
        named = {"accepted": len(self.accepted), "refused": len(self.refused), "withdrawn": len(self.withdrawn)}
        counts = [f"{counted(count, 'report')} {what}" for what, count in named.items() if count]
        why = f" ({self.problem})" if self.problem else ""
        left = [f"{counted(self.waiting, 'report')} left for later{why}"] if self.waiting else []
        return ", ".join(counts + left) or "nothing to send"


class Outbox:
    """The queue of reports that wait to be sent to collectors, in a file that only its owner reads.

    Threads and processes may share it.

    ``path``: the file, made where there is none, and opened anew by every call; ``insecure`` permits plain HTTP to
    other machines, which everybody on the way can read.
    """

    def __init__(self, path: str | Path, *, insecure: bool = False) -> None:
        self.path, self.insecure = Path(path), insecure
        own_file(self.path)
        with self._writing() as store:
            kind, version = (_single(store, f"PRAGMA {name}") for name in ("application_id", "user_version"))
            if kind == version == _single(store, "SELECT count(*) FROM sqlite_schema") == 0:
                for statement in TABLES:
                    store.execute(statement)
            elif (kind, version) == (KIND, 1):
                store.execute(INVITED)
                store.execute(NUMBERED)
            elif (kind, version) != (KIND, VERSION):
                what = f"an outbox of version {version}; this one reads {VERSION}" if kind == KIND else "not an outbox"
                raise OutboxError(f"{self.path.name}: {what}; it is left as it is")
            elif _single(store, "PRAGMA quick_check(1)") != "ok":
                raise sqlite3.DatabaseError("the file is damaged")

    # --- what it holds ------------------------------------------------------------------------------------------

    def put(self, submit: str, plan: str, id: str, report: Mapping[str, Any], invitation: str = "") -> State:
        """Put a report into the queue for an address, and return its state ("waiting" if new); it is then on the disk.

        ``submit``: the address; ``plan``: the plan's identity; ``id`` and ``report``: of the device's reply. A report
        that is there already stays as it is, except that a refused one waits again with another ``invitation``, the
        code that some collectors ask for.
        """
        check_address(submit, insecure=self.insecure)
        if not re.fullmatch("[0-9a-f]{32}", id):
            raise OutboxError("the id of a report is 32 hexadecimal digits; take it from the device's reply")
        body = (submit, plan, _json(report))
        with self._writing() as store:
            query = "SELECT submit, plan, report, state, invitation FROM reports WHERE id = ?"
            row = store.execute(query, [id]).fetchone()
            if row is None:
                names = "id, submit, plan, report, seal, invitation"
                values = [id, *body, _seal(id, *body), invitation]
                store.execute(f"INSERT INTO reports ({names}) VALUES (?, ?, ?, ?, ?, ?)", values)
            elif tuple(row[:3]) != body:
                raise OutboxError(f"another report has the id {id}, or goes elsewhere; withdraw it before this one")
            elif row[3] == "refused" and invitation not in ("", row[4]):
                again = "UPDATE reports SET state = 'waiting', note = '', invitation = ? WHERE id = ?"
                store.execute(again, [invitation, id])
                row = None
        state: State = row[3] if row else "waiting"
        return state

    def entries(self, state: State | None = None) -> list[Entry]:
        """Return the reports in the queue, with their states, as a list ordered by address, plan and id.

        ``state``: only those in this state: "waiting", "sent", "refused" or "withdrawing"; None: all.
        """
        return self._read("WHERE ?1 IS NULL OR state = ?1 ORDER BY submit, plan, id", state)

    def withdraw(self, id: str) -> bool:
        """Withdraw the report with this ``id``; return whether it is gone: one that was never sent is deleted at once.

        One that may have arrived is never sent again, and the next ``send`` asks the collector to delete it.
        """
        with self._writing() as store:
            row = store.execute("SELECT tried FROM reports WHERE id = ?", [id]).fetchone()
            if row is None:
                raise OutboxError(f"no report has the id {visible(id)}; the ledger lists those there are")
            if row[0]:
                store.execute("UPDATE reports SET state = 'withdrawing' WHERE id = ?", [id])
            else:
                store.execute("DELETE FROM reports WHERE id = ?", [id])
        return not row[0]

    # --- sending ------------------------------------------------------------------------------------------------

    def send(
        self, *, tries: int = 5, seconds: float = 60.0, timeout: float = 15.0, pause: float = 0.5
    ) -> Sending:
        """Send the waiting reports and ask collectors to delete the withdrawn ones; return what became of them.

        ``tries`` and ``seconds``: how often and how long it tries at most; ``timeout``: seconds for one request.
        Between tries it waits ``pause`` · 2^k seconds, of which up to half is left off at random, or as long as the
        collector asks; what there is no time for stays for the next call. Only one process sends at a time; others wait
        for it.
        """
        deadline, done = time.monotonic() + seconds, Sending()

        def ask(submit: str, body: bytes | None, id: str = "") -> Answer:
            left = deadline - time.monotonic()
            answer = request(submit, body, id, min(timeout, left)) if left > 0 else Answer(reason="out of time")
            if answer.wait:
                self._run("REPLACE INTO pauses VALUES (?, ?)", submit, time.time() + answer.wait)
            return answer

        with self._only_sender(seconds) as alone:
            done.problem = None if alone else "another process is sending"
            for attempt in range(tries if alone else 0):
                problems = self._try_all(ask, done)
                done.problem = next((f"{urlsplit(submit).netloc}: {why}" for submit, why in problems.items()), None)
                backoff = min(pause * 2**attempt, LONGEST_BACKOFF) * random.uniform(0.5, 1)
                wait = max(backoff, min(map(self._pause, problems), default=0.0))
                if not problems or attempt == tries - 1 or time.monotonic() + wait > deadline:
                    break
                time.sleep(wait)
        done.waiting = self._run("SELECT count(*) FROM reports WHERE state IN ('waiting', 'withdrawing')")[0][0]
        return done

    def _try_all(self, ask: Ask, done: Sending) -> dict[str, str]:
        """Send the waiting reports and try every withdrawal, once; return the problems in words, by address.

        ``ask``: makes one request; ``done``: the result, to which outcomes are added.
        """
        problems: dict[str, str] = {}
        for submit, plan, id in self._run(
            "SELECT DISTINCT submit, plan, '' FROM reports WHERE state = 'waiting' "
            "UNION ALL SELECT submit, plan, id FROM reports WHERE state = 'withdrawing'"
        ):
            if self._pause(submit):
                problems.setdefault(submit, "asks to wait")
            elif why := self._send_deletion(ask, submit, id, done) if id else self._send_queue(ask, submit, plan, done):
                problems[submit] = why
        return problems

    def _send_queue(self, ask: Ask, submit: str, plan: str, done: Sending) -> str | None:
        """Send the waiting reports of one plan to one address, batch by batch; return the problem in words, or None.

        It stops when none is left, or when a batch settles no report. ``ask``: makes one request; ``submit``: the
        address; ``done``: the result, to which outcomes are added.
        """
        while batch := self._next_batch(submit, plan):
            settled, problem = self._send_batch(ask, submit, plan, batch, done)
            if problem and not settled:
                return problem
        return None

    def _next_batch(self, submit: str, plan: str) -> list[Entry]:
        """Return the next waiting reports of one plan for one address, and mark them in the file as tried.

        A report that was tried may have arrived, so that it is never deleted without a word to the collector.
        ``submit``: the address.
        """
        where = "WHERE submit = ? AND plan = ? AND state = 'waiting' ORDER BY id LIMIT ?"
        batch = self._read(where, submit, plan, BATCH)
        with self._writing() as store:
            store.executemany("UPDATE reports SET tried = 1 WHERE id = ? AND tried = 0", [[each.id] for each in batch])
        return batch

    def _send_batch(
        self, ask: Ask, submit: str, plan: str, batch: list[Entry], done: Sending
    ) -> tuple[int, str | None]:
        """Send a batch of reports; return (how many were accepted or refused, the others' problem or None).

        A batch that is refused without a word about its reports is sent again in halves. ``ask``: makes one request;
        ``done``: the result, to which outcomes are added.
        """
        reports = [
            {"id": each.id, "report": each.report, **({"invitation": each.invitation} if each.invitation else {})}
            for each in batch
        ]
        answer = ask(submit, _json({"plan": plan, "reports": reports}).encode())
        accepted, refused = answer.sort_reports([each.id for each in batch])
        if answer.final and not accepted and not refused:
            if len(batch) > 1:
                middle = len(batch) // 2
                halves = [self._send_batch(ask, submit, plan, half, done) for half in (batch[:middle], batch[middle:])]
                return halves[0][0] + halves[1][0], halves[0][1] or halves[1][1]
            refused = {batch[0].id: answer.description}
        self._settle(accepted, refused)
        done.accepted += accepted
        done.refused |= refused
        settled = len(accepted) + len(refused)
        return settled, None if settled == len(batch) else answer.description

    def _settle(self, accepted: Sequence[str], refused: Mapping[str, str]) -> None:
        """Write into the file which waiting reports the collector accepted (ids), and which it refused (reasons by id).
        """
        rows = [("sent", date.today().isoformat(), id) for id in accepted]
        rows += [("refused", reason, id) for id, reason in refused.items()]
        with self._writing() as store:
            store.executemany("UPDATE reports SET state = ?, note = ? WHERE id = ? AND state = 'waiting'", rows)

    def _send_deletion(self, ask: Ask, submit: str, id: str, done: Sending) -> str | None:
        """Ask a collector to delete a withdrawn report; return the problem if it has to be tried again, else None.

        ``ask``: makes one request; ``submit``: the address; ``done``: the result, to which the outcome is added.
        """
        answer = ask(submit, None, id)
        if answer.good or answer.status in NOT_THERE:
            self._run("DELETE FROM reports WHERE id = ?", id)
            done.withdrawn.append(id)
        elif answer.final:
            done.refused[id] = f"not withdrawn: {answer.description}"
            self._run("UPDATE reports SET state = 'refused', note = ? WHERE id = ?", done.refused[id], id)
        else:
            return answer.description
        return None

    def _pause(self, submit: str) -> float:
        """Return for how many more seconds an address has asked not to be sent to; 0 where it has not.

        A time beyond LONGEST_PAUSE counts as 0.
        """
        rows = self._run("SELECT until FROM pauses WHERE submit = ?", submit)
        left = rows[0][0] - time.time() if rows else 0.0
        return left if 0 < left <= LONGEST_PAUSE else 0.0

    # --- the file -----------------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Open the queue's file inside one transaction, which is on the disk when it ends; an error undoes it."""
        with self._translate_errors(), closing(_connect(self.path, BUSY_SECONDS)) as store:
            store.execute("PRAGMA synchronous = EXTRA")  # survives a loss of power, the folder's entry too
            store.execute("PRAGMA secure_delete = ON")  # a withdrawn report leaves no trace in the file
            store.execute("BEGIN IMMEDIATE")
            yield store
            store.execute("COMMIT")

    def _run(self, statement: str, *parts: Any) -> list[Any]:
        """Execute one SQL statement on the queue's file in a transaction of its own, and return its rows as a list.

        ``parts``: the values for its placeholders.
        """
        with self._writing() as store:
            return store.execute(statement, parts).fetchall()

    def _read(self, where: str, *parts: Any) -> list[Entry]:
        """Return the reports in the queue that an SQL clause (WHERE …) chooses; OutboxError if one has been damaged.

        ``parts``: the values for the clause's placeholders.
        """
        names = "id, submit, plan, report, state, note, invitation, seal"
        rows = self._run(f"SELECT {names} FROM reports {where}", *parts)
        with self._translate_errors():
            if any(_seal(*row[:4]) != row[7] for row in rows):
                raise sqlite3.DatabaseError("a report in the file is damaged")
        return [
            Entry(id, submit, plan, json.loads(text), state, note, invitation)
            for id, submit, plan, text, state, note, invitation, _ in rows
        ]

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn SQLite's errors raised inside this context into OutboxError, which names the file and says what to do.
        """
        try:
            yield
        except sqlite3.OperationalError as error:
            hint = "nothing was changed, try again when that is mended"
            raise OutboxError(f"{self.path.name}: {error}; {hint}") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # of a damaged name in SQLite's own words
            why = error if isinstance(error, sqlite3.Error) else "the file is damaged"
            raise OutboxError(f"{self.path.name}: {why}; it is left as it is: mend it, or move it away") from None

    @contextmanager
    def _only_sender(self, seconds: float) -> Iterator[bool]:
        """Wait at most so many seconds until no other process sends, and yield whether this one may now send alone.

        It locks a file beside the queue's.
        """
        with self._translate_errors(), held_alone(self.path.with_name(f"{self.path.name}.sender"), seconds) as alone:
            yield alone


def _connect(path: Path, seconds: float) -> sqlite3.Connection:
    """Open a connection to an existing SQLite file, without implicit transactions.

    ``seconds``: how long it waits for another process's lock.
    """
    store = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=seconds, isolation_level=None)
    store.text_factory = lambda text: text.decode("utf-8", "replace")  # a damaged one is found by its seal
    return store


def _single(store: sqlite3.Connection, query: str) -> Any:
    """Return the one value that an SQL query gives."""
    return store.execute(query).fetchone()[0]


def _json(value: Any) -> str:
    """Write plain data as JSON text, the same text for equal data; OutboxError for what JSON cannot hold."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError):
        raise OutboxError("a report is not plain data; give the device's reply as it is") from None


def _seal(*parts: str) -> str:
    """Return the hash of a report's columns, stored beside them so that damage to the file is noticed."""
    return hashlib.sha256(_json([str(part) for part in parts]).encode()).hexdigest()
