"""A survey on a loopback server: its page, and a collector that stores what it gets or fails as it is told to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page

import sfumato as sf
from tests.browser.chromium import Files, serving

STOPS = ["Market", "Station", "Harbour", "Hospital", "Old Mill", "School", "Stadium", "Museum", "North Gate"]
YES_NO = ["yes", "no"]
PATIENCE, POLLING = 30, 10  # seconds that a busy machine may take, and milliseconds until one looks again
ANSWERS = {
    "age": 47,
    "income": 31337.125,
    "fare": "yes",
    "stops": ["Harbour", "Museum"],
    "district": "Old Town",
    "bus": "no",
}


def town(**changes: Any) -> sf.Plan:
    """Every kind of question: levels, a range that clamps, a needed answer, a basket, a long list, the class."""
    baskets = sf.SelectASize.design(sf.Items(STOPS), [1, 2, 3], 19, 2)
    waves = {name: {"channel": "square-wave", "gamma": gamma} for name, gamma in (("open", 99), ("private", 4))}
    attributes: dict[str, Any] = {
        "age": {
            "question": "How old are you?", "low": 18, "high": 90, "integer": True, "channel": "choice",
            "levels": waves, "default": "private",
        },
        "income": {
            "question": "What do you earn in a year?", "low": 0, "high": 200_000, "channel": "square-wave", "gamma": 19,
            "outside": "clamp",
        },
        "fare": {
            "question": "Have you travelled without a ticket?", "categories": YES_NO,
            "channel": "randomized-response", "gamma": 9, "missing": "refuse",
        },
        "stops": {"question": "Which stops do you use?", "items": STOPS, **baskets.to_spec()},
        "district": {
            "question": "Where do you live?", "role": "clear",
            "categories": ["Centre", "North", "East", "South", "West", "Harbour", "Hillside", "Riverside", "Old Town"],
        },
        "bus": {
            "question": "Would you take a night bus?", "categories": YES_NO, "role": "class",
            "channel": "randomized-response", "gamma": 9,
        },
    }  # fmt: skip
    return sf.Plan.from_dict({"name": "How our town gets around", "attributes": attributes, **changes})


@dataclass
class Collector:
    """Keeps what it is sent, and every request; ``behave`` answers the next ones in its stead.

    It answers after ``delay`` seconds, or as soon as ``gate`` is set."""

    stored: dict[str, Any] = field(default_factory=dict)
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    behave: list[Callable[[], tuple[int, dict[str, str], str]]] = field(default_factory=list)
    delay: float = 0.0
    gate: threading.Event = field(default_factory=threading.Event)

    def answer(self, method: str, path: str, body: str) -> tuple[int, dict[str, str], str]:
        self.requests.append((method, path, body))
        self.gate.wait(self.delay)
        if self.behave:
            return self.behave.pop(0)()
        if method == "DELETE":
            found = self.stored.pop(path.rpartition("/")[2], None)
            return (404 if found is None else 204), {}, ""
        for one in json.loads(body)["reports"]:
            self.stored[one["id"]] = one["report"]
        return 200, {}, json.dumps({"accepted": [one["id"] for one in json.loads(body)["reports"]], "refused": []})

    @property
    def posted(self) -> list[Any]:
        return [json.loads(body) for method, _, body in self.requests if method == "POST"]


def says(status: int, text: str = "", **headers: str) -> Callable[[], tuple[int, dict[str, str], str]]:
    return lambda: (status, headers, text)


@contextmanager
def collecting(folder: Path) -> Iterator[tuple[str, Collector]]:
    """The address of a server of the folder that collects at /reports."""
    collector = Collector()

    class Handler(Files):
        def collect(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            collector.headers.append(dict(self.headers))
            status, headers, text = collector.answer(self.command, self.path, body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_POST = do_DELETE = collect  # noqa: N815 (the names that the library calls)

    with serving(folder, Handler) as address:
        yield address, collector


class Respondent:
    """A person at the page: answers question by question as people do."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        page.set_default_timeout(1_000 * PATIENCE)

    def open(self) -> Respondent:
        self.page.goto(self.address)
        self.page.wait_for_selector("#all:not([hidden]), #broken.note:not([hidden])")
        return self

    def next(self) -> Respondent:
        """Press the main button and wait until the next step has the focus."""
        self.press("#next")
        return self

    @property
    def title(self) -> str:
        return self.page.title()

    @property
    def letters(self) -> str:
        return self.page.locator("#letters").text_content() or ""

    @property
    def trouble(self) -> str:
        return self.page.inner_text("#trouble")

    @property
    def receipts(self) -> str:
        return self.page.inner_text("#receipts")

    def wait_for(self, text: str) -> Respondent:
        self.page.wait_for_function(
            "text => document.getElementById('receipts').innerText.includes(text)", arg=text, polling=POLLING
        )
        return self

    def answer(self, answers: dict[str, Any] = ANSWERS, level: str | None = "open") -> Respondent:
        """From the start to the summary; an answer of None is left out."""
        return self.next().answer_rest(answers, level)

    def answer_rest(self, answers: dict[str, Any] = ANSWERS, level: str | None = None) -> Respondent:
        """From the first question to the summary."""
        for name, value in answers.items():
            if name == "age" and level is not None:
                self.page.check(f"#level >> text={level}")
            if value is None:
                self.press("#skip")
                continue
            self.fill(value)
            self.next()
        return self

    def fill(self, value: Any) -> None:
        if isinstance(value, list):
            for label in value:
                self.page.check(f"#asked .items >> text={label}")
        elif isinstance(value, str):
            self.page.check(f"#asked >> text={value}")
        else:
            self.page.fill("#asked input", str(value))

    def press(self, selector: str) -> None:
        before = self.title
        self.page.bring_to_front()
        self.page.click(selector)
        self.page.wait_for_function("before => document.title !== before", arg=before, polling=POLLING)

    def send(self) -> Respondent:
        self.next()
        return self


def another_tab(context: BrowserContext, address: str) -> Respondent:
    return Respondent(context.new_page(), address).open()


def saved_device(page: Page) -> Path:
    """The file of secret and ledger, as the page saves it."""
    page.evaluate("document.getElementById('device').open = true")
    with page.expect_download() as download:
        page.click("#save")
    return Path(download.value.path())


def eventually(condition: Callable[[], bool], page: Page, seconds: float = PATIENCE) -> None:
    """Wait, while the browser goes on, for what must come."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        page.wait_for_timeout(POLLING)


__all__ = [
    "ANSWERS",
    "Collector",
    "Respondent",
    "another_tab",
    "collecting",
    "eventually",
    "saved_device",
    "says",
    "town",
]
