"""Another program as the implementation: it is started, asked in lines of JSON, and answers in lines of JSON.

    ← {"audit": 1, "survey": {…}}                      → {"audit": 1, "keys": true, "people": true}
    ← {"ask": "age", "true": [47, 31]}                 → {"reports": [52.5, 12]}
    ← {"people": {"age": [47], "smokes": ["no"]}}      → {"reports": {"age": [40], "smokes": ["no"]}}

``docs/how-to/audit-a-plan.md`` has the rest, enough to write such a driver in any language; ``client/static/drive.mjs``
is the one of our JavaScript client.
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
READY = {"javascript": ["node", str(files("sfumato") / "client" / "static" / "drive.mjs")]}
PATIENCE = 60.0  # seconds for one line
FEW, MANY = 64, 1 << 17  # answers in a request: at first, at most
BRISK = 0.2  # seconds; a request that took less is followed by one of twice as many answers
COPIES, STARTING = (2, 8), 2.0  # more of them as long as all have started within so many seconds
LONGEST_LINE, QUOTED = 1 << 28, 80  # characters
NUMBERS: frozenset[type] = frozenset({int, float, type(None)})  # no report where there is an answer: the law says never
LABELS: frozenset[type] = NUMBERS | {str, bool}
json_of = lru_cache(1 << 16, typed=True)(json.dumps)  # distinct answers are few


class ProgramError(ValueError):
    """A program that cannot be audited, because it does not answer as it should."""


def command_of(program: str | Sequence[str]) -> list[str]:
    """The words of a command line, which no shell reads; ``javascript`` stands for our own client."""
    try:
        words = shlex.split(program) if isinstance(program, str) else list(program)
    except ValueError as error:
        raise ProgramError(f"program {program!r} is not a command line: {error}") from None
    if not words:
        raise ProgramError("program is empty; give a command line, or javascript for sfumato's own client")
    return READY.get(words[0], words) if len(words) == 1 else words


class Program:
    """A program that runs. It says of itself whether it answers with a device's key (``keys``), whole people at once
    (``people``; None: it does not), and which attributes it knows (``asks``)."""

    def __init__(
        self, program: str | Sequence[str], plan: Plan, *, patience: float = PATIENCE, document: str = ""
    ) -> None:
        self.command, self.plan, self.patience = command_of(program), plan, patience
        self._document = document or json.dumps(survey(plan))
        self.name = program if isinstance(program, str) else shlex.join(program)
        self._size = FEW
        with ExitStack() as closing:
            self._errors = closing.enter_context(tempfile.TemporaryFile())
            self._process = self._started(closing)
            self._talk = closing.enter_context(ThreadPoolExecutor(1))
            closing.callback(_killed, self._process)
            hello = self.ask("the survey", audit=str(VERSION), survey=self._document)
            self.keys, self.asks = hello.get("keys") is True, hello.get("asks", list(plan.attributes))
            if hello.get("audit") != VERSION or not isinstance(self.asks, list):
                raise self._error(f'did not answer the survey with {{"audit": {VERSION}}}')
            self._closing = closing.pop_all()
        self.people = People(self) if hello.get("people") is True else None

    def _started(self, closing: ExitStack) -> subprocess.Popen[bytes]:
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
            closing.callback(_closed, stream)
        return process

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    @cached_property
    def copies(self) -> list[Program]:
        """The same program, started again and again."""
        begun, found = perf_counter(), list[Program]()
        while len(found) < COPIES[0] or (len(found) < COPIES[1] and perf_counter() - begun < STARTING):
            found.append(self._closing.enter_context(self._again()))
        return found

    def _again(self) -> Program:
        return Program(self.command, self.plan, patience=self.patience, document=self._document)

    def parts(self, audited: Subject) -> dict[str, Part]:
        """What it answers, under the names that the audit has for it."""
        rows = {name: Part(self, name, None, row) for name, row in audited.rows.items()}
        found = {key: Part(self, *audited.asked[key], channel) for key, channel in audited.checked.items()}
        return {key: part for key, part in {**found, **rows}.items() if part.name in self.asks}

    # --- a line there, a line back --------------------------------------------------------------------------------

    def ask(self, what: str, **request: str) -> dict[str, Any]:
        """The answer to a request, whose parts are JSON; ``what`` was asked is said in errors."""
        line = "{" + ", ".join(f'"{name}": {text}' for name, text in request.items()) + "}\n"
        try:
            said = self._talk.submit(self._exchange, line.encode()).result(self.patience)
        except TimeoutError:
            raise self._error(f"gave no answer to {what} within {self.patience:g} seconds") from None
        except OSError:
            said = b""
        if not said:
            raise self._error(f"ended without an answer to {what}{self._last_words()}")
        try:
            answer = json.loads(said, parse_constant=_no_number)
        except (ValueError, RecursionError):
            text = said.decode(errors="replace").rstrip("\n")
            raise self._error(f"answered {what} with {_quoted(text)}, which is not JSON") from None
        if not isinstance(answer, dict):
            raise self._error(f"answered {what} with {_quoted(answer)}, which is not a JSON object")
        if "error" in answer:
            raise self._error(f"refused {what}: {_quoted(answer['error'])}")
        return answer

    def _exchange(self, line: bytes) -> bytes:
        assert self._process.stdin and self._process.stdout
        with suppress(BrokenPipeError):  # it may have answered before it ended
            self._process.stdin.write(line)
            self._process.stdin.flush()
        return self._process.stdout.readline(LONGEST_LINE)

    def _last_words(self) -> str:
        """How it ended, with the last line on its standard error that tells of an error, or else the very last."""
        code = self._process.wait(self.patience)
        self._errors.seek(0)
        lines = [line for line in self._errors.read().decode(errors="replace").splitlines() if line.strip()]
        told = [line for line in lines if "Error" in line and not line[0].isspace()] or lines
        return f" (exit code {code}{f': {_quoted(told[-1])}' if told else ''})"

    def _error(self, text: str) -> ProgramError:
        return ProgramError(f"program {self.name!r} {text}")

    # --- reports --------------------------------------------------------------------------------------------------

    def blocks(self, count: int) -> Iterator[slice]:
        """What of a call is asked at once: more as long as the program is brisk."""
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
        """A list of reports; with ``names``, one for each of them."""
        answer = self.ask(what, **request).get("reports")
        if names is not None and (not isinstance(answer, dict) or not set(names) <= set(answer)):
            raise self._error(f"answered {what} without reports of {', '.join(names)}")
        return answer

    def read(self, name: str, mechanism: Mechanism, reports: Any, count: int) -> NDArray[Any]:
        """A column of reports: numbers, labels, or the items of baskets as rows of bits."""
        if isinstance(mechanism, SelectASize):
            return self._items(name, mechanism, self._list(name, reports, count, frozenset({dict})))
        if any(isinstance(each.outputs, Categories) for each in mechanism.levels.values()):
            labels = self._list(name, reports, count, LABELS)
            return np.array(labels, dtype=None if set(map(type, labels)) == {str} else object)
        return self._numbers(name, reports, count)

    def _list(self, name: str, reports: Any, count: int, kinds: frozenset[type]) -> list[Any]:
        """One report an answer, each of a kind that can be one."""
        if not isinstance(reports, list):
            raise self._error(f"answered {name} with {_quoted(reports)} in place of a list of reports")
        if len(reports) != count:
            raise self._error(f"gave {counted(len(reports), 'report')} of {name} for {counted(count, 'answer')}")
        if not kinds.issuperset(map(type, reports)):
            odd = next(each for each in reports if type(each) not in kinds)
            raise self._error(f"gave {_quoted(odd)} as a report of {name}")
        return reports

    def _numbers(self, name: str, reports: Any, count: int) -> NDArray[Any]:
        try:
            return np.array(self._list(name, reports, count, NUMBERS), dtype=float)
        except OverflowError:
            raise self._error(f"gave a number beyond all numbers as a report of {name}") from None

    def _items(self, name: str, channel: SelectASize, reports: list[Any]) -> NDArray[np.bool_]:
        form = "seed" if reports and "seed" in reports[0] else "bitmap"
        try:
            sizes = [report["size"] for report in reports]
            rows = [bytes.fromhex(report[form]) for report in reports]
            found = BasketReports.of_bytes(channel.items, sizes, rows, compressed=form == "seed")
            return unpack_bits(channel.expand(found).words, channel.items.size).astype(bool)
        except (KeyError, TypeError, ValueError, IndexError):
            raise self._error(f"gave {_quoted(reports[0])} or the like as a report of {name}") from None


@dataclass(frozen=True)
class Part:
    """One attribute of a program, at one level, called as the channel's own ``randomize`` is."""

    program: Program
    name: str
    level: str | None
    mechanism: Mechanism

    @property
    def takes_key(self) -> bool:
        return self.program.keys

    def __call__(self, values: Any, *, keys: Sequence[bytes] = (), questions: Sequence[str] = ()) -> Any:
        """With keys, one key and one question for every value."""
        if not isinstance(values, (list, np.ndarray)):
            return self([values])[0]
        blocks = self.program.blocks(len(values))
        return np.concatenate([self._asked(values[at], _keyed(keys[at], questions[at])) for at in blocks])

    def _asked(self, values: Any, keyed: dict[str, str]) -> NDArray[Any]:
        level = {} if self.level is None else {"level": json_of(self.level)}
        head = {"ask": json_of(self.name), **level, **keyed}
        if not isinstance(self.mechanism, CorrelatedNoise):
            reports = self.program.reports(self.name, **head, true=_column(values))
            return self.program.read(self.name, self.mechanism, reports, len(values))
        names = list(self.mechanism.domains)
        reports = self.program.reports(self.name, names, **head, true=_columns(dict(zip(names, values.T, strict=True))))
        return np.column_stack([self.program.read(name, self.mechanism, reports[name], len(values)) for name in names])

    def elsewhere(self, values: Any) -> list[NDArray[Any]]:
        """Reports of the same values by copies of the program, each started anew."""
        return [replace(self, program=copy)(values) for copy in self.program.copies]


@dataclass(frozen=True)
class People:
    """All attributes of a program at once, called as ``plan.randomize`` is; ``one`` person where it is called so."""

    program: Program

    @property
    def takes_key(self) -> bool:
        return self.program.keys

    def __call__(self, table: Mapping[str, Any], *, keys: Sequence[bytes] = (), questions: Any = ()) -> dict[str, Any]:
        """With keys, one for every person; a plan has questions of its own."""
        parts = [
            self._asked({name: column[at] for name, column in table.items()}, _keyed(keys[at]))
            for at in self.program.blocks(len(next(iter(table.values()))))
        ]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def one(self, record: Mapping[str, Any]) -> dict[str, Any]:
        reports = self({name: [value] for name, value in record.items()})
        return {name: column[0] for name, column in reports.items()}

    def _asked(self, table: Mapping[str, Any], head: dict[str, str]) -> dict[str, Any]:
        blurred = {name: each.channel for name, each in self.program.plan.columns.items() if each.channel is not None}
        reports = self.program.reports("people", list(blurred), **head, people=_columns(table))
        count = len(next(iter(table.values())))
        return {name: self.program.read(name, channel, reports[name], count) for name, channel in blurred.items()}


def _killed(process: subprocess.Popen[bytes]) -> None:
    """With the processes that it started, which would keep its pipes open."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()


def _closed(stream: IO[bytes]) -> None:
    with suppress(OSError):  # what the program has not read is lost
        stream.close()


# --- JSON ---------------------------------------------------------------------------------------------------------


def _column(values: Any) -> str:
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    return json.dumps(plain) if isinstance(plain[0], list) else f"[{','.join(map(json_of, plain))}]"


def _keyed(keys: Sequence[bytes], questions: Sequence[str] = ()) -> dict[str, str]:
    found = {"keys": [key.hex() for key in keys], "questions": list(questions)}
    return {name: json.dumps(column) for name, column in found.items() if column}


def _columns(table: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{json_of(name)}: {_column(column)}" for name, column in table.items()) + "}"


def _quoted(value: Any) -> str:
    """Something that a program wrote, cut where it is long, with nothing in it that a terminal obeys."""
    text = repr(value)
    return text if len(text) <= QUOTED else text[:QUOTED] + "…"


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
