"""The process that answers analysts: asked once for all, never by too many, and replaced when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop

from sfumato.collector import processes
from sfumato.collector.messages import RefusedError
from sfumato.collector.processes import MOST_WAITING, Views
from sfumato.collector.service import Service
from sfumato.collector.store import open_store
from tests.collector.serving import PLAN


class Counted(Views):
    """Counts how often the process is asked."""

    asked = 0

    async def ask(self, do: str, **given: Any) -> bytes:
        self.asked += 1
        return await super().ask(do, **given)


def play(folder: Path, scene: Callable[[Service, Counted], Awaitable[None]], loop: Any = None) -> None:
    """A scene at a service with an empty survey "town"."""

    async def whole() -> None:
        service = Service(store, log=lambda facts: None)
        service.views = Counted(service)
        await service.start()
        try:
            await scene(service, service.views)
        finally:
            await service.stop()

    store = open_store(str(folder / "store.db"))
    with store.connected() as connection, connection.transaction():
        connection.open_survey("town", PLAN)
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(whole(), 120))


def test_a_figure_is_computed_once_for_all_who_ask_and_again_when_something_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "SECONDS_FRESH", 0.0)
    monkeypatch.setattr(processes, "REST", 0)

    async def scene(service: Service, views: Counted) -> None:
        town = service.served("town")
        answers = await asyncio.gather(*(views.told(town, "counts") for _ in range(40)))
        assert len(set(answers)) == 1 and views.asked == 1
        assert await views.told(town, "counts") == answers[0] and views.asked == 1, "nothing has changed"
        await service.writer.run(lambda connection: connection.tally(town.survey.number, "accepted", 1))
        await views.told(town, "counts")
        assert views.asked == 2
        await asyncio.gather(views.told(town, "counts"), views.told(town, "estimates", question="age"))
        assert views.asked == 3, "another question is another figure"

    play(tmp_path, scene)


def test_too_many_questions_at_once_are_refused_and_the_others_answered(tmp_path: Path) -> None:
    async def scene(service: Service, views: Counted) -> None:
        wanted = [views.ask("counts", survey="town") for _ in range(2 * MOST_WAITING)]
        answers = await asyncio.gather(*wanted, return_exceptions=True)
        assert sum(isinstance(each, bytes) for each in answers) == MOST_WAITING
        assert {each.reason for each in answers if isinstance(each, RefusedError)} == {"busy"}

    play(tmp_path, scene)


def test_what_takes_too_long_is_given_up_and_the_next_question_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(service: Service, views: Counted) -> None:
        with monkeypatch.context() as hurried:
            hurried.setattr(processes, "SECONDS_OF_AN_ANSWER", 0.001)
            with pytest.raises(RefusedError, match="could not be computed"):
                await views.ask("counts", survey="town")
        assert b'"reports": 0' in await views.ask("counts", survey="town")

    play(tmp_path, scene)


def test_a_refusal_leaves_the_process_as_it_is(tmp_path: Path) -> None:
    async def scene(service: Service, views: Counted) -> None:
        await views.ask("counts", survey="town")
        before = views._child
        with pytest.raises(ValueError, match="deleted"):
            await views.ask("counts", survey="village")
        assert before is not None and views._child is before

    play(tmp_path, scene)


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_process_that_ended_before_it_was_asked_again_is_replaced(tmp_path: Path, loop: Any) -> None:
    """The loop knows that its pipe is closed, which uvloop says with an error of its own."""

    async def scene(service: Service, views: Counted) -> None:
        await views.ask("counts", survey="town")
        assert views._child is not None
        views._child._process.kill()
        await views._child._process.wait()
        await asyncio.sleep(0.1)
        with pytest.raises(RefusedError, match="could not be computed"):
            await views.ask("counts", survey="town")
        assert b'"reports": 0' in await views.ask("counts", survey="town")

    play(tmp_path, scene, loop)
