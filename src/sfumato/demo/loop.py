"""The whole loop around a collector of its own: people answer it over HTTP, an analyst reads the picture and learns a
model from it, and the model goes home to the devices."""

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
PATIENCE = 600.0
BETWEEN_LOOKS = 0.2


@contextmanager
def serving(plan: Plan, store: Path) -> Iterator[Analyst]:
    """A collector in a process of its own, so that it shares no interpreter with those who answer, and its analyst."""
    processes = get_context("spawn")
    ours, theirs = processes.Pipe()
    process = processes.Process(target=_serve, args=(plan.to_json(), str(store), theirs))
    process.start()
    theirs.close()
    try:
        try:
            started = ours.recv()
        except EOFError:
            raise ValueError("the collector did not start; what is above says why") from None
        yield Analyst(*started)
    finally:
        ours.close()
        process.join(PATIENCE)


def _serve(plan: str, store: str, parent: Connection) -> None:
    """Serve until whoever started this process has ended, in whatever way."""
    with start(Plan.loads(plan, "json"), store, Settings(log=False, signals=True)) as collector:
        parent.send((collector.address, collector.token, collector.surveys[0].name))
        with suppress(EOFError):
            parent.recv()


class Analyst:
    """Asks a running collector about one of its surveys, with the token that was made when it started."""

    def __init__(self, address: str, token: str, survey: str) -> None:
        self.address, self.token = address, token
        self.survey = f"{address}/{survey}/"
        self.api = f"{self.survey}api/"

    def reports(self) -> Any:
        """All reports, as a PyArrow table."""
        from pyarrow import parquet

        return parquet.read_table(io.BytesIO(self._ask("reports.parquet").data))

    def train(self, seed: int) -> str:
        """Start to learn a model, in a process beside the service; the job's id."""
        wanted = json.dumps({"kind": "train", "options": {"seed": seed}})
        return str(json.loads(self._ask("jobs", "POST", wanted).data)["id"])

    def ship(self, job: str) -> str:
        """Wait until a job is done, and send its model home; what the job said."""
        end = time.monotonic() + PATIENCE
        while (found := json.loads(self._ask(f"jobs/{job}").data))["state"] in ("waiting", "running"):
            if time.monotonic() > end:
                raise ValueError("the model is not learned within ten minutes")
            time.sleep(BETWEEN_LOOKS)
        if found["state"] != "done":
            raise ValueError(f"no model was learned: {found['said']}")
        self._ask("model", "PUT", json.dumps({"job": job}))
        return str(found["said"])

    def shipped(self) -> str:
        """The model as a device gets it: from the survey's page, without a token."""
        return _good(ask(self.survey + "model.json", seconds=PATIENCE, most=LARGEST)).data.decode()

    def _ask(self, path: str, method: str = "GET", body: str | None = None) -> Answer:
        sent = None if body is None else body.encode()
        return _good(ask(self.api + path, method, sent, PATIENCE, token=self.token, most=LARGEST))


def _good(answer: Answer) -> Answer:
    if not answer.good:
        raise ValueError(f"the collector {answer.description}: {answer.data[:300].decode(errors='replace')}")
    return answer


@dataclass(frozen=True)
class Story:
    """What went over the wire, what the collector has in the end, and what came home."""

    sent: Outcome
    accepted: int
    refused: int
    bytes_kept: int
    id: str
    row: str
    in_browser: str
    learned: str
    verdict: str


def look_inside(path: Path, token: str) -> dict[str, Any]:
    """What a store holds of its one survey; its token is revoked, and it is tidied as at the end of a day."""
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
    """The loop as a part of a page."""
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
