"""Programs in any language as audited implementations: each is started and answers lines of JSON with lines of JSON.

    ← {"audit": 1, "survey": {…}}                      → {"audit": 1, "keys": true, "people": true}
    ← {"ask": "age", "true": [47, 31]}                 → {"reports": [52.5, 12]}
    ← {"people": {"age": [47], "smokes": ["no"]}}      → {"reports": {"age": [40], "smokes": ["no"]}}

``docs/how-to/audit-a-plan.md`` has the whole protocol, enough to write such a driver in any language;
``client/static/drive.mjs`` is the driver of our JavaScript client.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib.resources import files
from time import perf_counter
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import CorrelatedNoise, Mechanism, SelectASize
from sfumato.channels.baskets import BasketReports, unpack_bits
from sfumato.domain import Categories
from sfumato.plan import Plan, survey
from sfumato.privacy.subject import Subject
from sfumato.prose import counted

VERSION = 1
"""The version of the protocol, which both sides name in their first line (docs/how-to/audit-a-plan.md)."""
READY = {"javascript": ["node", str(files("sfumato") / "client" / "static" / "drive.mjs")]}
PATIENCE = 60.0
"""Seconds for one line, as docs/how-to/audit-a-plan.md promises to drivers: requests adapt to BRISK, so that only a
program that hangs takes as long."""
FEW = 64
"""Answers in the first request, small enough for a program that takes a tenth of a second for each."""
MANY = 1 << 17
"""Answers in a request at most, as docs/how-to/audit-a-plan.md promises: lines of about a megabyte."""
BRISK = 0.2
"""Seconds; after a faster request the next one has twice as many answers, after one four times as slow half. By
judgement: a line's time is then spent on answers, and the audit's end is missed by less than a second."""
COPIES = (2, 8)
"""Copies of a program that are started, at least and at most: noise seeded by the time or by a process number repeats
among few starts. More of them as long as all have started within STARTING."""
STARTING = 2.0
"""Seconds within which further copies are started. By judgement: a tenth of an audit's half a minute at most."""
LONGEST_LINE = 1 << 28
"""The most bytes of an answer that are read, against a program that never ends its line: a thousand a report."""
QUOTED = 80
"""The most characters of a program's words that an error repeats, so that it stays about one line."""
NUMBERS: frozenset[type] = frozenset({int, float, type(None)})  # no report where there is an answer: the law says never
LABELS: frozenset[type] = NUMBERS | {str, bool}
json_of = lru_cache(1 << 16, typed=True)(json.dumps)  # distinct answers are few


class ProgramError(ValueError):
    """The error of a program that cannot be audited, because it does not answer as the protocol says."""


def command_of(program: str | Sequence[str]) -> list[str]:
    """Return the words of a command line, split without a shell.

    "javascript" stands for the driver of our own client.
    """
    try:
        words = shlex.split(program) if isinstance(program, str) else list(program)
    except ValueError as error:
        raise ProgramError(f"program {program!r} is not a command line: {error}") from None
    if not words:
        raise ProgramError("program is empty; give a command line, or javascript for sfumato's own client")
    return READY.get(words[0], words) if len(words) == 1 else words


class AuditedProgram:
    """A program in any language that is running to be audited: it is asked for reports in lines of JSON.

    A context manager. ``program``: a command line, as a text or as words; ``plan``: what it is to answer; ``patience``:
    seconds for a line; ``document``: the plan's survey as JSON, where it was made before. By its first answer the
    program states ``keys`` (it answers with a device's key), ``people`` (a function of whole tables; None where it
    answers none) and ``asks`` (the attributes that it knows).
    """

    def __init__(
        self, program: str | Sequence[str], plan: Plan, *, patience: float = PATIENCE, document: str = ""
    ) -> None:
        self.command, self.plan, self.patience = command_of(program), plan, patience
        self._document = document or json.dumps(survey(plan))
        self.name = program if isinstance(program, str) else shlex.join(program)
        self._size = FEW
        with ExitStack() as closing:
            self._errors = closing.enter_context(tempfile.TemporaryFile())
            self._process = self._start(closing)
            self._talk = closing.enter_context(ThreadPoolExecutor(1))
            closing.callback(_kill, self._process)
            hello = self.ask("the survey", audit=str(VERSION), survey=self._document)
            self.keys, self.asks = hello.get("keys") is True, hello.get("asks", list(plan.attributes))
            if hello.get("audit") != VERSION or not isinstance(self.asks, list):
                raise self._error(f'did not answer the survey with {{"audit": {VERSION}}}')
            self._closing = closing.pop_all()
        self.people = People(self) if hello.get("people") is True else None

    def _start(self, closing: ExitStack) -> subprocess.Popen[bytes]:
        """Start the program as a process in a session of its own, and return the process.

        ``closing``: a stack that will close its pipes and wait for its end.
        """
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                self.command, stdin=pipe, stdout=pipe, stderr=self._errors, start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise self._error(f"cannot be started: {getattr(error, 'strerror', None) or error}") from None
        closing.callback(process.wait)
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            closing.callback(_close_stream, stream)
        return process

    def __enter__(self) -> AuditedProgram:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    @cached_property
    def copies(self) -> list[AuditedProgram]:
        """Further running copies of the program, started when first needed, to see whether they share their noise."""
        begun, copies = perf_counter(), list[AuditedProgram]()
        while len(copies) < COPIES[0] or (len(copies) < COPIES[1] and perf_counter() - begun < STARTING):
            copies.append(self._closing.enter_context(self._start_copy()))
        return copies

    def _start_copy(self) -> AuditedProgram:
        """Start the program once more, with the same plan; return it."""
        return AuditedProgram(self.command, self.plan, patience=self.patience, document=self._document)

    def attribute_callables(self, audited: Subject) -> dict[str, ProgramAttribute]:
        """Return a function from values to reports for every attribute that the program knows, by name.

        The names are the audit's: "age", or "age (cautious)" where people choose a level (how strongly to blur).
        """
        rows = {name: ProgramAttribute(self, name, None, row) for name, row in audited.rows.items()}
        levels = audited.attribute_levels
        singles = {key: ProgramAttribute(self, *levels[key], each) for key, each in audited.level_channels.items()}
        return {key: part for key, part in {**singles, **rows}.items() if part.name in self.asks}

    # --- a line there, a line back --------------------------------------------------------------------------------

    def ask(self, what: str, **request: str) -> dict[str, Any]:
        """Send a request and return the program's answer, a JSON object.

        ``request``: the fields of the request, each as JSON; ``what``: the request's name in errors. ProgramError where
        the program ends, takes longer than ``patience``, refuses, or answers with anything else.
        """
        line = "{" + ", ".join(f'"{name}": {text}' for name, text in request.items()) + "}\n"
        try:
            reply = self._talk.submit(self._exchange, line.encode()).result(self.patience)
        except TimeoutError:
            raise self._error(f"gave no answer to {what} within {self.patience:g} seconds") from None
        except OSError:
            reply = b""
        if not reply:
            raise self._error(f"ended without an answer to {what}{self._describe_end()}")
        try:
            answer = json.loads(reply, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            text = reply.decode(errors="replace").rstrip("\n")
            raise self._error(f"answered {what} with {_quote(text)}, which is not JSON") from None
        if not isinstance(answer, dict):
            raise self._error(f"answered {what} with {_quote(answer)}, which is not a JSON object")
        if "error" in answer:
            raise self._error(f"refused {what}: {_quote(answer['error'])}")
        return answer

    def _exchange(self, line: bytes) -> bytes:
        """Write a line to the program and return the line that it answers; empty where it ended."""
        assert self._process.stdin and self._process.stdout
        with suppress(BrokenPipeError):  # it may have answered before it ended
            self._process.stdin.write(line)
            self._process.stdin.flush()
        return self._process.stdout.readline(LONGEST_LINE)

    def _describe_end(self) -> str:
        """Write the program's exit code and the last line on its standard error with "Error" in it, or any last one."""
        code = self._process.wait(self.patience)
        self._errors.seek(0)
        lines = [line for line in self._errors.read().decode(errors="replace").splitlines() if line.strip()]
        errors = [line for line in lines if "Error" in line and not line[0].isspace()] or lines
        return f" (exit code {code}{f': {_quote(errors[-1])}' if errors else ''})"

    def _error(self, text: str) -> ProgramError:
        """Return a `ProgramError` with the program's name before the text."""
        return ProgramError(f"program {self.name!r} {text}")

    # --- reports --------------------------------------------------------------------------------------------------

    def blocks(self, count: int) -> Iterator[slice]:
        """Cut ``count`` true values into slices, one for each request to the program.

        Slices grow while requests take less than BRISK seconds, and shrink where they take long.
        """
        done = 0
        while done < count:
            size, start = self._size, perf_counter()
            yield slice(done, done + size)
            seconds, done = perf_counter() - start, done + size
            if seconds < BRISK:
                self._size = min(2 * size, MANY)
            elif seconds > 4 * BRISK:
                self._size = max(size // 2, 1)

    def reports(self, what: str, names: Sequence[str] | None = None, **request: str) -> Any:
        """Ask for reports and return them as the program gave them: a list, or with ``names`` a dict of lists.

        ``what``: the request's name in errors; ``request``: its fields as JSON.
        """
        answer = self.ask(what, **request).get("reports")
        if names is not None and (not isinstance(answer, dict) or not set(names) <= set(answer)):
            raise self._error(f"answered {what} without reports of {', '.join(names)}")
        return answer

    def read_column(self, name: str, mechanism: Mechanism, reports: Any, count: int) -> NDArray[Any]:
        """Read a program's reports of one attribute as an array: numbers, labels, or rows of booleans over items.

        ``name``: the attribute's; ``mechanism``: its channel; ``count``: how many reports there must be.
        """
        if isinstance(mechanism, SelectASize):
            return self._read_baskets(name, mechanism, self._check_list(name, reports, count, frozenset({dict})))
        if any(isinstance(each.outputs, Categories) for each in mechanism.levels.values()):
            labels = self._check_list(name, reports, count, LABELS)
            return np.array(labels, dtype=None if set(map(type, labels)) == {str} else object)
        return self._read_numbers(name, reports, count)

    def _check_list(self, name: str, reports: Any, count: int, kinds: frozenset[type]) -> list[Any]:
        """Return a list of reports as it is.

        ProgramError unless it has ``count`` reports, each of one of the types ``kinds``.
        """
        if not isinstance(reports, list):
            raise self._error(f"answered {name} with {_quote(reports)} in place of a list of reports")
        if len(reports) != count:
            raise self._error(f"gave {counted(len(reports), 'report')} of {name} for {counted(count, 'answer')}")
        if not kinds.issuperset(map(type, reports)):
            odd = next(each for each in reports if type(each) not in kinds)
            raise self._error(f"gave {_quote(odd)} as a report of {name}")
        return reports

    def _read_numbers(self, name: str, reports: Any, count: int) -> NDArray[Any]:
        """Read reports as floats; NaN where the program gave null."""
        try:
            return np.array(self._check_list(name, reports, count, NUMBERS), dtype=float)
        except OverflowError:
            raise self._error(f"gave a number beyond all numbers as a report of {name}") from None

    def _read_baskets(self, name: str, channel: SelectASize, reports: list[Any]) -> NDArray[np.bool_]:
        """Read reports of baskets (seeds or bitmaps in hexadecimal digits) as an array, rows of booleans over items."""
        form = "seed" if reports and "seed" in reports[0] else "bitmap"
        try:
            sizes = [report["size"] for report in reports]
            rows = [bytes.fromhex(report[form]) for report in reports]
            baskets = BasketReports.of_bytes(channel.items, sizes, rows, compressed=form == "seed")
            return unpack_bits(channel.expand(baskets).words, channel.items.size).astype(bool)
        except (KeyError, TypeError, ValueError, IndexError):
            raise self._error(f"gave {_quote(reports[0])} or the like as a report of {name}") from None


@dataclass(frozen=True)
class ProgramAttribute:
    """One attribute of an audited program at one level (strength of blur), called as a function: values to reports."""

    program: AuditedProgram
    name: str
    level: str | None  # None where people choose none
    mechanism: Mechanism

    @property
    def takes_key(self) -> bool:
        """Whether the program answers with a device's key."""
        return self.program.keys

    def __call__(self, values: Any, *, keys: Sequence[bytes] = (), questions: Sequence[str] = ()) -> Any:
        """Return the reports of values, or of a single value; with ``keys``, a key and a question for every value."""
        if not isinstance(values, (list, np.ndarray)):
            return self([values])[0]
        blocks = self.program.blocks(len(values))
        return np.concatenate([self._ask_block(values[at], _key_fields(keys[at], questions[at])) for at in blocks])

    def _ask_block(self, values: Any, key_fields: dict[str, str]) -> NDArray[Any]:
        """Ask the program for the reports of one block of values; return them as an array.

        ``key_fields``: the request's fields with keys and questions, as JSON.
        """
        program, count = self.program, len(values)
        level = {} if self.level is None else {"level": json_of(self.level)}
        head = {"ask": json_of(self.name), **level, **key_fields}
        if not isinstance(self.mechanism, CorrelatedNoise):
            reports = program.reports(self.name, **head, true=_column_json(values))
            return program.read_column(self.name, self.mechanism, reports, count)
        names = list(self.mechanism.domains)
        true = _table_json(dict(zip(names, values.T, strict=True)))
        reports = program.reports(self.name, names, **head, true=true)
        return np.column_stack([program.read_column(name, self.mechanism, reports[name], count) for name in names])

    def randomize_in_copies(self, values: Any) -> list[NDArray[Any]]:
        """Return the reports of the same values by each of several copies of the program: a list of arrays.

        Every copy is started anew, so that noise which depends on the start shows.
        """
        return [replace(self, program=copy)(values) for copy in self.program.copies]


@dataclass(frozen=True)
class People:
    """All attributes of an audited program at once, called as a function: columns of answers to columns of reports."""

    program: AuditedProgram

    @property
    def takes_key(self) -> bool:
        """Whether the program answers with a device's key."""
        return self.program.keys

    def __call__(self, table: Mapping[str, Any], *, keys: Sequence[bytes] = (), questions: Any = ()) -> dict[str, Any]:
        """Return the reports of a table of people, as columns.

        ``keys``: a device's key for each person, or none; ``questions`` is ignored, because the plan has its own.
        """
        parts = [
            self._ask_block({name: column[at] for name, column in table.items()}, _key_fields(keys[at]))
            for at in self.program.blocks(len(next(iter(table.values()))))
        ]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def randomize_record(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reports of one person, by attribute."""
        reports = self({name: [value] for name, value in record.items()})
        return {name: column[0] for name, column in reports.items()}

    def _ask_block(self, table: Mapping[str, Any], key_fields: dict[str, str]) -> dict[str, Any]:
        """Ask the program for the reports of one block of people; return them as columns.

        ``key_fields``: the request's field with keys, as JSON.
        """
        program, count = self.program, len(next(iter(table.values())))
        blurred = {name: each.channel for name, each in program.plan.columns.items() if each.channel is not None}
        reports = program.reports("people", list(blurred), **key_fields, people=_table_json(table))
        return {name: program.read_column(name, channel, reports[name], count) for name, channel in blurred.items()}


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with the processes that it started, which would keep its pipes open."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()


def _close_stream(stream: IO[bytes]) -> None:
    """Close a pipe, whether or not the program has read it."""
    with suppress(OSError):  # what the program has not read is lost
        stream.close()


# --- JSON ---------------------------------------------------------------------------------------------------------


def _column_json(values: Any) -> str:
    """Write a column of values as a JSON list; the texts of distinct values are cached."""
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    return json.dumps(plain) if isinstance(plain[0], list) else f"[{','.join(map(json_of, plain))}]"


def _key_fields(keys: Sequence[bytes], questions: Sequence[str] = ()) -> dict[str, str]:
    """Return the fields "keys" and "questions" of a request, each as JSON; without the ones that are empty."""
    fields = {"keys": [key.hex() for key in keys], "questions": list(questions)}
    return {name: json.dumps(column) for name, column in fields.items() if column}


def _table_json(table: Mapping[str, Any]) -> str:
    """Write a dict of columns as a JSON object of lists."""
    return "{" + ", ".join(f"{json_of(name)}: {_column_json(column)}" for name, column in table.items()) + "}"


def _quote(value: Any) -> str:
    """Quote a value that a program wrote, cut where it is long, with nothing in it that a terminal obeys."""
    text = repr(value)
    return text if len(text) <= QUOTED else text[:QUOTED] + "…"


def _refuse_constant(name: str) -> None:
    """Raise ValueError for NaN and Infinity, which Python's reader takes and JSON does not have."""
    raise ValueError(f"{name} is not JSON")
