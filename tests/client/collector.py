"""A small collector on loopback, which fails in whatever way a test asks for, and knows what it has committed."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWERS: dict[str, tuple[int, dict[str, str], bytes]] = {
    "before": (500, {}, b"failed before anything was done"),
    "after": (500, {}, b"failed after the commit"),
    "nonsense": (200, {}, b"<html>Welcome to our hotel</html>"),
    "other nonsense": (200, {}, b'{"accepted": 7, "refused": "all"}'),
    "empty": (200, {}, b""),
    "foreign": (200, {}, b'{"accepted": ["' + b"0" * 32 + b'"], "refused": []}'),
    "endless": (200, {}, b" " * (3 << 20)),
    "busy": (429, {"Retry-After": "0"}, b""),
    "away": (503, {}, b""),
    "redirect": (302, {"Location": "http://127.0.0.1:9/"}, b""),
    "conflict": (409, {}, b'{"reason": "no"}'),
}
COMMITS = {"after", "nonsense", "empty", "truncated", "closed late", "slow"}
"""Faults that come after the reports are safe: the device does not know, and sends them again."""


class Collector:
    """What arrived, and how the next requests fail: ``faults`` are used up from the front; "" is no fault.

    It answers after ``delay`` seconds, or as soon as ``gate`` is set."""

    def __init__(self) -> None:
        self.store: dict[str, str] = {}
        self.acknowledged: Counter[str] = Counter()
        self.requests: list[str] = []
        self.faults: list[str] = []
        self.refuse: Callable[[str, Any], str] = lambda id, report: ""
        self.withdrawn: list[str] = []
        self.delay, self.gate = 0.0, threading.Event()
        self.most = 1000
        self.lock = threading.Lock()
        self.busy = self.most_at_once = 0
        self.submit = ""

    def take(self, body: bytes) -> dict[str, Any]:
        """The answer to a batch, which is committed: the same id and report once, another report under an id never."""
        accepted, refused = [], []
        for each in json.loads(body)["reports"]:
            text = json.dumps(each["report"], sort_keys=True)
            reason = self.refuse(each["id"], each["report"])
            if not reason and self.store.setdefault(each["id"], text) != text:
                reason = "another report has this id"
            accepted += [] if reason else [each["id"]]
            refused += [{"id": each["id"], "reason": reason}] if reason else []
        return {"accepted": accepted, "refused": refused}


class Handler(BaseHTTPRequestHandler):
    collector: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        found = self.collector
        with found.lock:
            found.requests.append(f"{self.requestline}\n{self.headers}\n{body.decode()}")
            found.busy += 1
            found.most_at_once = max(found.most_at_once, found.busy)
            fault = found.faults.pop(0) if found.faults else ""
        try:
            self.answer_or_fail(fault, body)
        finally:
            with found.lock:
                found.busy -= 1

    def answer_or_fail(self, fault: str, body: bytes) -> None:
        found = self.collector
        if len(json.loads(body)["reports"]) > found.most:
            return self.reply(413, {}, b"too much")
        with found.lock:
            answer = found.take(body) if not fault or fault in COMMITS else {}
        found.gate.wait(1.0 if fault == "slow" else found.delay)
        if fault in ("closed", "closed late"):
            return self.connection.close()
        if fault in ANSWERS:
            return self.reply(*ANSWERS[fault])
        text = json.dumps(answer).encode()
        if fault == "truncated":
            return self.reply(200, {}, text[: len(text) // 2], len(text))
        if fault != "slow":
            with found.lock:
                found.acknowledged.update(answer["accepted"])
        self.reply(200, {}, text)

    def do_DELETE(self) -> None:
        found, id = self.collector, self.path.rpartition("/")[2]
        with found.lock:
            fault = found.faults.pop(0) if found.faults else ""
            found.requests.append(f"{self.requestline}\n{self.headers}\n")
        if fault in ANSWERS:
            return self.reply(*ANSWERS[fault])
        known = found.store.pop(id, None) is not None
        found.withdrawn += [id] if known else []
        self.reply(200 if known else 404, {}, b"")

    def reply(self, status: int, headers: dict[str, str], body: bytes, length: int | None = None) -> None:
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body) if length is None else length))
            self.end_headers()
            self.wfile.write(body)
        except OSError:  # the device has hung up
            pass

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector at work on a free port of 127.0.0.1."""
    collector = Collector()
    server = Server(("127.0.0.1", 0), type("Bound", (Handler,), {"collector": collector}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    collector.submit = f"http://127.0.0.1:{server.server_port}/submit"
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
