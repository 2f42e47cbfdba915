"""The collector under load: durable submits against a validated no-op, one process, 64 connections, one report each.
The ratio, p99 ÷ median, a training job beside it, and memory while a million reports arrive in batches of 100. A run
is a round. `--store postgresql://…` takes that store.

The no-op is the same application with a writer that says yes without writing: reading, decoding, checking against the
plan and answering are the same. Rounds alternate, and the median of their ratios counts. The generator is a process of
its own with prepared requests; where it needs more than half a core it is said, since then it may be what is measured.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import Bench, main

from sfumato import collector
from sfumato.collector.access import SCOPES, issue_token
from sfumato.collector.background.writer import Writer
from sfumato.collector.store import file_of, open_store
from sfumato.demo import credit

CONNECTIONS, SECONDS = 64, 3.0
PLAN = credit.plan()
HEAD = b"POST /credit/reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def serve(address: str, port: int, durable: bool) -> None:
    """The service; without ``durable`` nothing is written."""
    if not durable:

        async def accept(writer, arrivals):
            return [""] * len(arrivals)

        Writer.take = accept
    with collector.start(PLAN, address, collector.Settings(port=port, signals=True)) as running:
        running.wait()


def start(address: str, durable: bool) -> tuple[subprocess.Popen, int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, __file__, "--serve", address, str(port), str(int(durable))])
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return process, port
        except OSError:
            time.sleep(0.05)


def requests(number: int, size: int) -> list[bytes]:
    """Requests that have never been sent, each with so many reports."""
    people = credit.people(min(number * size, 20_000), np.random.default_rng())
    blurred = {name: column.tolist() for name, column in PLAN.randomize(people).items()}
    rows = list(map(dict, zip(*[[(name, value) for value in column] for name, column in blurred.items()], strict=True)))
    made = []
    for _ in range(number):
        reports = [{"id": secrets.token_hex(16), "report": random.choice(rows)} for _ in range(size)]
        body = json.dumps({"plan": PLAN.identity, "reports": reports}).encode()
        made.append(HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return made


class Line(asyncio.Protocol):
    """One connection that sends a request as soon as the last one was answered."""

    def __init__(self, waiting: list[bytes], times: list[float], over: asyncio.Event) -> None:
        self.waiting, self.times, self.over = waiting, times, over
        self.seen = b""

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        if self.over.is_set() or not self.waiting:
            self.over.set()
            self.transport.close()
            return
        self.began = time.perf_counter()
        self.transport.write(self.waiting.pop())

    def data_received(self, data: bytes) -> None:
        self.seen += data
        head, _, body = self.seen.partition(b"\r\n\r\n")
        if not _ or len(body) < int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]):
            return
        assert head.startswith(b"HTTP/1.1 200") and b'"refused":[]' in body, self.seen
        self.seen = b""
        self.times.append(time.perf_counter() - self.began)
        self.send()


async def load(port: int, waiting: list[bytes], seconds: float) -> tuple[float, list[float]]:
    """Requests a second, and the time of each."""
    times, over = [], asyncio.Event()
    loop, began = asyncio.get_running_loop(), time.perf_counter()
    for _ in range(CONNECTIONS):
        await loop.create_connection(lambda: Line(waiting, times, over), "127.0.0.1", port)
    try:
        await asyncio.wait_for(over.wait(), seconds)
    except TimeoutError:
        over.set()
    took = time.perf_counter() - began
    await asyncio.sleep(0.2)
    return len(times) / took, times


def one_round(port: int, seconds: float = SECONDS) -> tuple[float, float, float]:
    """(requests a second, median, p99); warns where the generator may be the slower side."""
    import uvloop

    waiting = requests(int(12_000 * seconds), 1)
    before = resource.getrusage(resource.RUSAGE_SELF)
    rate, times = uvloop.run(load(port, waiting, seconds))
    after = resource.getrusage(resource.RUSAGE_SELF)
    busy = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / seconds
    if busy > 0.5:
        print(f"  (the generator needed {busy:.0%} of a core)")
    times.sort()
    return rate, statistics.median(times), times[int(0.99 * len(times))]


def ratio(bench: Bench, address: str) -> None:
    durable, port = start(address, True)
    noop, other = start(address if file_of(address) is None else f"{address}-noop", False)
    try:
        one_round(port, 1.0), one_round(other, 1.0)
        ratios, tails, alone = [], [], []
        for _ in range(bench.runs):
            free, _, _ = one_round(other)
            rate, median, late = one_round(port)
            ratios.append(rate / free)
            tails.append(late / median)
            alone.append(late)
        bench.table(f"Medians of {bench.runs} rounds", {"ratio": ".2f", "limit": "g"})
        bench.row("durable ÷ no-op, requests a second (at least)", statistics.median(ratios), 0.7)
        bench.row("p99 ÷ median", statistics.median(tails), 10)
        beside_a_job(bench, address, port, statistics.median(alone))
    finally:
        for process in (durable, noop):
            process.send_signal(signal.SIGTERM)
            process.wait()


def beside_a_job(bench: Bench, address: str, port: int, alone: float) -> None:
    """p99 while a training job runs, against p99 without it."""
    import http.client

    with open_store(address).connected() as connection, connection.transaction():
        header = {"Authorization": "Bearer " + issue_token(connection, None, SCOPES)}

    def ask(method: str, path: str, body=None):
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        line.request(method, path, body, header)
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())

    late = []
    status, job = ask("POST", "/credit/api/jobs", json.dumps({"kind": "train", "options": {}}))
    assert status in (200, 201, 202), job
    while ask("GET", f"/credit/api/jobs/{job['id']}")[1]["state"] in ("waiting", "running") and len(late) < bench.runs:
        late.append(one_round(port, 2.0)[2])
    bench.row("p99 beside a training job ÷ without", statistics.median(late) / alone if late else None, 2)


def memory(bench: Bench, address: str) -> None:
    """Resident memory of the service at every tenth of a million reports."""
    import uvloop

    process, port = start(address, True)
    try:
        sizes = []
        bench.table("Memory while reports arrive", {"MiB": ".0f"})
        for _ in range(10):
            uvloop.run(load(port, requests(1000, 100), 600))
            status = Path(f"/proc/{process.pid}/status").read_text()
            sizes.append(int(status.split("VmRSS:")[1].split()[0]) / 1024)
            bench.row(f"{len(sizes) * 100_000:,} reports", sizes[-1])
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def measure(bench: Bench) -> None:
    if bench.options.serve:
        address, port, durable = bench.options.serve
        serve(address, int(port), durable == "1")
        return
    parts = {"load": ratio, "memory": memory}
    for name in ("load",) if bench.quick and not bench.only else parts:
        if bench.wants(name):
            with tempfile.TemporaryDirectory() as folder:
                where = bench.options.store or os.path.join(folder, "store.db")
                parts[name](bench, where)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--store", help="address of a store, in place of a file")


if __name__ == "__main__":
    main(measure, runs=7, options=options)
