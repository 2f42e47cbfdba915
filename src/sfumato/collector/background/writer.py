"""One thread writes: what arrives while a commit is under way is committed together by the next one.

A report is acknowledged after the commit that holds it has reached the disk, and only then. When the store fails, the
whole group is told so; devices send again, and a report that had been committed after all is found under its id.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from sfumato.collector.settings import Settings
from sfumato.collector.store import REFUSED, Arrival, Connection, ReconnectingConnection, Store, StoreError

Work = Callable[[Connection], Any]
Task = tuple[Sequence[Arrival] | Work | None, asyncio.Future[Any] | None]
"""What is to be written and who waits for it; None: write no more."""


class BusyError(StoreError):
    """More reports wait than can be written soon."""


class Writer:
    """The thread that writes, and how the event loop hands work to it.

    ``on_commit(reports, seconds)`` is called after every commit of reports.
    """

    def __init__(
        self, store: Store, settings: Settings, on_commit: Callable[[int, float], None] = lambda reports, seconds: None
    ) -> None:
        self.settings, self.on_commit = settings, on_commit
        self.waiting = 0
        self._handed: list[Task] = []
        self._queue: queue.SimpleQueue[list[Task]] = queue.SimpleQueue()
        self._refused: Counter[tuple[int, str]] = Counter()
        self._counting = threading.Lock()
        self._connection = ReconnectingConnection(store)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    def start(self) -> None:
        """Called on the event loop that will wait for what is written."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Write what is waiting, and end."""
        self._hand_over()
        self._queue.put([(None, None)])
        await asyncio.to_thread(self._thread.join)

    async def take(self, arrivals: Sequence[Arrival]) -> list[str]:
        """The verdicts on reports, once they are safe."""
        if self.waiting + len(arrivals) > self.settings.waiting_reports:
            raise BusyError("too many reports are waiting to be written")
        self.waiting += len(arrivals)
        try:
            return await self._hand(arrivals)  # type: ignore[no-any-return]
        finally:
            self.waiting -= len(arrivals)

    async def run(self, work: Work) -> Any:
        """Do some work on the writer's connection, within a transaction of its own."""
        return await self._hand(work)

    def refuse(self, survey: int, reason: str, number: int = 1) -> None:
        """Count a refusal; it is written with the next commit, or within about a second."""
        with self._counting:
            self._refused[survey, reason] += number

    async def _hand(self, task: Sequence[Arrival] | Work) -> Any:
        """Give a task to the thread, with all others of this turn of the loop: waking the thread is dear."""
        loop = asyncio.get_running_loop()
        if not self._handed:
            loop.call_soon(self._hand_over)
        future = loop.create_future()
        self._handed.append((task, future))
        return await future

    def _hand_over(self) -> None:
        handed, self._handed = self._handed, []
        self._queue.put(handed)

    # --- on the thread ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            group = self._group()
            ended = any(task is None for task, _ in group)
            reports = [(task, future) for task, future in group if task is not None and not callable(task)]
            answers = self._write_reports(reports)
            for task, future in group:
                if callable(task):
                    answers.append((future, self._safely(task)))
            if self._loop is not None and answers:
                with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
                    self._loop.call_soon_threadsafe(_answer, answers)
            if ended:
                self._connection.close()
                return

    def _group(self) -> list[Task]:
        """Everything that waits; nothing after a while of stillness."""
        try:
            group = self._queue.get(timeout=self.settings.refusal_seconds)
        except queue.Empty:
            return []
        with suppress(queue.Empty):
            while sum(map(_size, group)) < self.settings.commit_reports:
                group += self._queue.get_nowait()
        return group

    def _write_reports(self, tasks: list[Any]) -> list[tuple[Any, Any]]:
        with self._counting:
            refused, self._refused = self._refused, Counter()
        if not tasks and not refused:
            return []
        arrivals = [each for task, _ in tasks for each in task]
        began = time.perf_counter()

        def write(connection: Connection) -> list[str]:
            for (survey, reason), number in refused.items():
                connection.tally(survey, REFUSED + reason, number)
            return connection.take(arrivals)

        verdicts = self._safely(write)
        if isinstance(verdicts, BaseException):
            with self._counting:
                self._refused += refused
            return [(future, verdicts) for _, future in tasks]
        self.on_commit(len(arrivals), time.perf_counter() - began)
        answers, start = [], 0
        for task, future in tasks:
            answers.append((future, verdicts[start : start + len(task)]))
            start += len(task)
        return answers

    def _safely(self, work: Work) -> Any:
        """What the work gives, or how it failed."""
        try:
            return self._connection.run(partial(_within, work))
        except BaseException as error:
            return error


def _within(work: Work, connection: Connection) -> Any:
    """Work inside a transaction."""
    with connection.transaction():
        return work(connection)


def _size(given: Task) -> int:
    """How many reports or works a task has."""
    task = given[0]
    return 1 if task is None or callable(task) else len(task)


def _answer(answers: list[tuple[asyncio.Future[Any], Any]]) -> None:
    """Hand results to those who wait for them, on their event loop."""
    for future, answer in answers:
        if future.done():  # whoever asked has gone away
            continue
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)
