"""The process that answers analysts: asked once for all, never by too many, and replaced when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import uvloop

from sfumato.collector.background.processes import Figures
from sfumato.collector.http.service import Service
from sfumato.collector.refusals import RefusedError
from sfumato.collector.settings import Settings
from sfumato.collector.store import open_store
from tests.collector.serving import PLAN


class Counted(Figures):
    """Counts how often the process is asked."""

    asked = 0

    async def compute(self, do: str, **given: Any) -> bytes:
        self.asked += 1
        return await super().compute(do, **given)


def play(
    folder: Path, scene: Callable[[Service, Counted], Awaitable[None]], loop: Any = None, **settings: float
) -> None:
    """A scene at a service with an empty survey "town"."""

    async def whole() -> None:
        service = Service(store, Settings(**settings, log=False))
        service.figures = figures = Counted(store.address, service.reader, Settings(**settings))
        await service.start()
        try:
            await scene(service, figures)
        finally:
            await service.stop()

    store = open_store(str(folder / "store.db"))
    with store.connected() as connection, connection.transaction():
        connection.open_survey("town", PLAN)
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(whole(), 120))


def test_a_figure_is_computed_once_for_all_who_ask_and_again_when_something_changed(tmp_path: Path) -> None:
    async def scene(service: Service, figures: Counted) -> None:
        town = service.served("town").survey
        answers = await asyncio.gather(*(figures.figure(town, "counts") for _ in range(40)))
        assert len(set(answers)) == 1 and figures.asked == 1
        assert await figures.figure(town, "counts") == answers[0] and figures.asked == 1, "nothing has changed"
        await service.writer.run(lambda connection: connection.tally(town.number, "accepted", 1))
        await figures.figure(town, "counts")
        assert figures.asked == 2
        await asyncio.gather(figures.figure(town, "counts"), figures.figure(town, "estimates", question="age"))
        assert figures.asked == 3, "another question is another figure"

    play(tmp_path, scene, fresh_seconds=0.0, pause_factor=0)


def test_too_many_questions_at_once_are_refused_and_the_others_answered(tmp_path: Path) -> None:
    async def scene(service: Service, figures: Counted) -> None:
        wanted = [figures.compute("counts", survey="town") for _ in range(32)]
        answers = await asyncio.gather(*wanted, return_exceptions=True)
        assert sum(isinstance(each, bytes) for each in answers) == 16
        assert {each.reason for each in answers if isinstance(each, RefusedError)} == {"busy"}

    play(tmp_path, scene, waiting_figures=16)


def test_what_takes_too_long_is_given_up_and_the_next_question_answered(tmp_path: Path) -> None:
    async def scene(service: Service, figures: Counted) -> None:
        figures.settings = replace(figures.settings, answer_seconds=0.001)
        with pytest.raises(RefusedError, match="could not be computed"):
            await figures.compute("counts", survey="town")
        figures.settings = service.settings
        assert b'"reports": 0' in await figures.compute("counts", survey="town")

    play(tmp_path, scene)


def test_a_refusal_leaves_the_process_as_it_is(tmp_path: Path) -> None:
    async def scene(service: Service, figures: Counted) -> None:
        await figures.compute("counts", survey="town")
        before = figures._process
        with pytest.raises(ValueError, match="deleted"):
            await figures.compute("counts", survey="village")
        assert before is not None and figures._process is before

    play(tmp_path, scene)


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_process_that_ended_before_it_was_asked_again_is_replaced(tmp_path: Path, loop: Any) -> None:
    """The loop knows that its pipe is closed, which uvloop says with an error of its own."""

    async def scene(service: Service, figures: Counted) -> None:
        await figures.compute("counts", survey="town")
        assert figures._process is not None
        figures._process._process.kill()
        await figures._process._process.wait()
        await asyncio.sleep(0.1)
        with pytest.raises(RefusedError, match="could not be computed"):
            await figures.compute("counts", survey="town")
        assert b'"reports": 0' in await figures.compute("counts", survey="town")

    play(tmp_path, scene, loop)
