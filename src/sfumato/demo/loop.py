"""The demo's collector and its analyst: start it, read the reports, train a model on them, and ship it to devices."""

from __future__ import annotations

import io
import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sfumato.client.wire import Answer, ask
from sfumato.collector import Settings, start
from sfumato.collector.simulate import Outcome
from sfumato.collector.store import REFUSED, open_store
from sfumato.pages import Page, tag
from sfumato.plan import Plan

LARGEST = 1 << 30
"""The most bytes of an answer that are read, such as an export. Judgement: a million people's reports take some 60 MB;
less would refuse larger demos, more would take that memory."""
TIMEOUT = 600.0
"""Seconds to wait for an answer of the collector, for a model, and for the end of its process. Judgement: less gives up
on the models of many people on a slow machine, more waits longer for a collector that hangs."""
LOOK_SECONDS = 0.2
"""Seconds between two looks whether the model is trained. Judgement: more delays the demo by up to as much, less asks
more often."""


@contextmanager
def serving(plan: Plan, store: Path) -> Iterator[Analyst]:
    """Run a collector (the service that takes reports) of a plan in another process, for a with block.

    Yields an `Analyst` with a token for it. ``store``: the file in which it keeps the reports. In a process of its own
    the collector shares no interpreter with the simulated people.
    """
    processes = get_context("spawn")
    ours, theirs = processes.Pipe()
    process = processes.Process(target=_serve, args=(plan.to_json(), str(store), theirs))
    process.start()
    theirs.close()
    try:
        try:
            address, token, survey = ours.recv()
        except EOFError:
            raise ValueError("the collector did not start; what is above says why") from None
        yield Analyst(address, token, survey)
    finally:
        ours.close()
        process.join(TIMEOUT)


def _serve(plan: str, store: str, parent: Connection) -> None:
    """Serve a plan until the parent process has closed the connection or ended; run in the collector's process.

    ``plan``: as JSON; ``store``: the file of reports; ``parent``: gets the address, a token and the survey's name.
    """
    with start(Plan.loads(plan, "json"), store, Settings(log=False, signals=True)) as collector:
        parent.send((collector.address, collector.token, collector.surveys[0].name))
        with suppress(EOFError):
            parent.recv()


class Analyst:
    """A client of a running collector that reads one survey's reports and trains models there, by an analyst's token.

    ``address``: the collector's URL. ``token``: one that permits everything. ``survey``: the survey's name.
    """

    def __init__(self, address: str, token: str, survey: str) -> None:
        self.address, self.token = address, token
        self.survey = f"{address}/{survey}/"
        self.api = f"{self.survey}api/"

    def reports(self) -> Any:
        """Return all reports that the collector holds as a PyArrow table."""
        from pyarrow import parquet

        return parquet.read_table(io.BytesIO(self._ask("reports.parquet").data))

    def train(self, seed: int) -> str:
        """Start a job at the collector that trains a model on the reports; return the job's id."""
        job = json.dumps({"kind": "train", "options": {"seed": seed}})
        return str(json.loads(self._ask("jobs", "POST", job).data)["id"])

    def ship(self, job: str) -> str:
        """Wait until a training job is done and ship its model to devices.

        Returns the job's last message about the model. ``job``: its id. ValueError: it failed, or took ten minutes.
        """
        end = time.monotonic() + TIMEOUT
        while (status := json.loads(self._ask(f"jobs/{job}").data))["state"] in ("waiting", "running"):
            if time.monotonic() > end:
                raise ValueError("the model is not learned within ten minutes")
            time.sleep(LOOK_SECONDS)
        if status["state"] != "done":
            raise ValueError(f"no model was learned: {status['said']}")
        self._ask("model", "PUT", json.dumps({"job": job}))
        return str(status["said"])

    def shipped_model(self) -> str:
        """Return the model's JSON as devices get it: from the survey's page, without a token."""
        return _checked(ask(self.survey + "model.json", seconds=TIMEOUT, most=LARGEST)).data.decode()

    def _ask(self, path: str, method: str = "GET", body: str | None = None) -> Answer:
        """Send a request to the survey's /api/ with the token; return the collector's answer.

        ValueError: it was refused. ``path``: below /api/; ``method``: of HTTP; ``body``: None for none.
        """
        data = None if body is None else body.encode()
        return _checked(ask(self.api + path, method, data, TIMEOUT, token=self.token, most=LARGEST))


def _checked(answer: Answer) -> Answer:
    """Return a collector's answer if it is good. ValueError: it is a refusal."""
    if not answer.good:
        raise ValueError(f"the collector {answer.description}: {answer.data[:300].decode(errors='replace')}")
    return answer


@dataclass(frozen=True)
class Story:
    """The figures and sentences on a demo's collector and model, for the demo's page."""

    sent: Outcome
    accepted: int
    refused: int
    bytes_kept: int
    """The bytes of the store after tidying."""
    id: str
    """The id of one stored report, in hexadecimal digits."""
    row: str
    """The row of bytes of that report, in hexadecimal digits."""
    in_browser: str
    """A sentence on the person who answered in a browser."""
    learned: str
    """What the training job said of its model."""
    verdict: str
    """A sentence on how the model was applied on devices."""


def look_inside(path: Path, token: str) -> dict[str, Any]:
    """Revoke the demo's token, tidy its store, and return what the store holds: a dict with fields of `Story`.

    ``path``: the store's file. Fields: reports accepted and refused, the store's bytes, and one stored report.
    """
    store, tallies = open_store(str(path)), Counter[str]()
    with store.connected() as connection, connection.transaction():
        (survey,) = connection.surveys()
        for _, what, number in connection.tallies(survey.number):
            tallies["refused" if what.startswith(REFUSED) else what] += number
        id, row = connection.row("SELECT id, body FROM reports WHERE body <> ? LIMIT 1", b"") or (b"", b"")
        connection.revoke_token(token.partition(".")[0])
    store.tidy()
    return {"accepted": tallies["accepted"], "refused": tallies["refused"], "bytes_kept": store.size()["file"],
            "id": bytes(id).hex(), "row": bytes(row).hex()}  # fmt: skip


def show_story(page: Page, story: Story) -> None:
    """Add a section on the collector and the model to the demo's page: figures, sentences and one stored report."""
    sent, everybody = story.sent, max(story.accepted, 1)
    page.section(
        "How the reports came here",
        "A collector ran on this machine. Devices sent it their reports over HTTP, it kept them in one file, and its "
        "analyst read them from there.",
    )
    page.facts(
        [
            (f"{story.accepted:,}", f"reports accepted, {story.refused:,} refused"),
            (f"{sent.rate:,.0f}", "reports a second, each safely on the disk before it was acknowledged"),
            (f"{sent.bytes / max(sent.sent, 1):,.0f} bytes", "of a report on the wire, its id included"),
            (f"{story.bytes_kept / everybody:,.0f} bytes", "of a report in the store, with everything around it"),
        ]
    )
    learned = f"A model was learned beside the service, and said of itself: “{story.learned}”"
    page.items([story.in_browser, learned, story.verdict])
    page.paragraph(
        "This is all that the collector keeps of one of these people: an id, which is random and says nothing about "
        "when or from where, and a row of answers as they were sent. No time, no address and no order of arrival is "
        "with it."
    )
    page.table([[tag("code", story.id), tag("code", story.row)]], ["id", "row"])
