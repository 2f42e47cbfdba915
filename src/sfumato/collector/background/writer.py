"""The thread that writes to the store: reports that arrive during one commit are written together by the next.

A report is acknowledged only when the commit that holds it has reached the disk. If a commit fails, all its reports are
refused as busy or away; devices send them again, and a report that had been committed after all is accepted by its id.
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
"""Reports or work to be written (None: end the thread), and the future that gets the result."""


class BusyError(StoreError):
    """The error that refuses reports because too many wait to be written."""


class Writer:
    """A thread that writes to the store, to which coroutines of one event loop hand reports and other work.

    ``on_commit(reports, seconds)`` is called on the thread after every commit of reports.
    """

    def __init__(
        self, store: Store, settings: Settings, on_commit: Callable[[int, float], None] = lambda reports, seconds: None
    ) -> None:
        self.settings, self.on_commit = settings, on_commit
        self.waiting = 0  # reports
        self._handed: list[Task] = []  # tasks of this turn of the event loop
        self._queue: queue.SimpleQueue[list[Task]] = queue.SimpleQueue()
        self._refused: Counter[tuple[int, str]] = Counter()
        self._counting = threading.Lock()
        self._connection = ReconnectingConnection(store)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    def start(self) -> None:
        """Start the thread that writes; called on the event loop whose coroutines will hand work to it."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Write all reports and work that wait, then end the thread."""
        self._hand_over()
        self._queue.put([(None, None)])
        await asyncio.to_thread(self._thread.join)

    async def take(self, arrivals: Sequence[Arrival]) -> list[str]:
        """Store reports; return a list with the verdict on each once the commit is on the disk.

        A verdict is "" for an accepted report, else the reason for its refusal. BusyError: too many reports wait.
        """
        if self.waiting + len(arrivals) > self.settings.waiting_reports:
            raise BusyError("too many reports are waiting to be written")
        self.waiting += len(arrivals)
        try:
            return await self._hand(arrivals)  # type: ignore[no-any-return]
        finally:
            self.waiting -= len(arrivals)

    async def run(self, work: Work) -> Any:
        """Call a function with the writer's connection, on its thread, in a transaction of its own; return its result.

        ``work``: the function.
        """
        return await self._hand(work)

    def refuse(self, survey: int, reason: str, number: int = 1) -> None:
        """Count ``number`` refusals of a survey's reports; they are written with the next commit, for the dashboard.

        A commit comes within ``refusal_seconds`` at most. ``survey``: its number; ``reason``: a key of ``REASONS``.
        """
        with self._counting:
            self._refused[survey, reason] += number

    async def _hand(self, task: Sequence[Arrival] | Work) -> Any:
        """Hand reports or other work to the thread that writes, wait, and return the result.

        All tasks of one turn of the event loop are handed over together, because waking the thread takes long.
        """
        loop = asyncio.get_running_loop()
        if not self._handed:
            loop.call_soon(self._hand_over)
        future = loop.create_future()
        self._handed.append((task, future))
        return await future

    def _hand_over(self) -> None:
        """Put the tasks of this turn of the event loop into the thread's queue, all at once."""
        handed, self._handed = self._handed, []
        self._queue.put(handed)

    # --- on the thread ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        """Write one group of tasks after the other until a task says to end; the thread's main function."""
        while True:
            group = self._next_group()
            ended = any(task is None for task, _ in group)
            reports = [(task, future) for task, future in group if task is not None and not callable(task)]
            results = self._write_reports(reports)
            for task, future in group:
                if callable(task):
                    results.append((future, self._try_to_write(task)))
            if self._loop is not None and results:
                with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
                    self._loop.call_soon_threadsafe(_set_results, results)
            if ended:
                self._connection.close()
                return

    def _next_group(self) -> list[Task]:
        """Wait for tasks and return those that wait, about ``commit_reports`` at most.

        Returns none if no task came within ``refusal_seconds``, so that counted refusals are written.
        """
        try:
            group = self._queue.get(timeout=self.settings.refusal_seconds)
        except queue.Empty:
            return []
        with suppress(queue.Empty):
            while sum(map(_size, group)) < self.settings.commit_reports:
                group += self._queue.get_nowait()
        return group

    def _write_reports(self, tasks: list[Any]) -> list[tuple[Any, Any]]:
        """Commit the reports of all tasks and the counted refusals, in one transaction.

        Returns (future, verdicts or the error) for each task. ``tasks``: (reports, future).
        """
        with self._counting:
            refused, self._refused = self._refused, Counter()
        if not tasks and not refused:
            return []
        arrivals = [arrival for task, _ in tasks for arrival in task]
        began = time.perf_counter()

        def write(connection: Connection) -> list[str]:
            for (survey, reason), number in refused.items():
                connection.tally(survey, REFUSED + reason, number)
            return connection.take(arrivals)

        verdicts = self._try_to_write(write)
        if isinstance(verdicts, BaseException):
            with self._counting:
                self._refused += refused
            return [(future, verdicts) for _, future in tasks]
        self.on_commit(len(arrivals), time.perf_counter() - began)
        results, start = [], 0
        for task, future in tasks:
            results.append((future, verdicts[start : start + len(task)]))
            start += len(task)
        return results

    def _try_to_write(self, work: Work) -> Any:
        """Call a function with the connection in a transaction; return its result, or the error that it raised."""
        try:
            return self._connection.run(partial(_in_transaction, work))
        except BaseException as error:
            return error


def _in_transaction(work: Work, connection: Connection) -> Any:
    """Call a function with the connection in a transaction; return its result. ``work``: the function."""
    with connection.transaction():
        return work(connection)


def _size(task: Task) -> int:
    """Return how many reports a task of the writer has; 1 for other work."""
    content = task[0]
    return 1 if content is None or callable(content) else len(content)


def _set_results(results: list[tuple[asyncio.Future[Any], Any]]) -> None:
    """Give each future its result, or raise its error in whoever waits for it; called on their event loop."""
    for future, result in results:
        if future.done():  # whoever asked has gone away
            continue
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)
