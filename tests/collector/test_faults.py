"""Exactly once, whatever fails: the service killed at random moments, answers lost, a restarted database, a full disk.

Every report is unique (a serial number in the clear), so that one stored twice, even under another id, would show.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.collector.form import ReportForm
from sfumato.collector.store import open_store
from tests.collector.ports import free_port
from tests.collector.postgres import cluster
from tests.collector.serving import PLAN as TOWN
from tests.collector.serving import ROOT, Running, batch, reports, serving

KILLS = 50
SENDERS = 4
PLAN = sf.Plan.loads(
    """
name = "town"
[attributes.smokes]
categories = ["yes", "no"]
channel = "randomized-response"
gamma = 19
[attributes.serial]
low = 0
high = 1000000000
integer = true
role = "clear"
"""
)


class Senders:
    """Devices that send reports in small batches, each batch again and again until it is acknowledged."""

    def __init__(self, port: int, most: int = 1 << 30) -> None:
        self.port, self.most = port, most
        self.acknowledged: dict[str, int] = {}
        self.tried = 0
        self.wrong: list[str] = []
        self.ending = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._send, daemon=True) for _ in range(SENDERS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """Let every batch under way be acknowledged."""
        self.ending.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()

    def _batch(self) -> dict[str, int]:
        with self._lock:
            size = random.randint(1, 5)
            self.tried += size
            return {secrets.token_hex(16): self.tried - place for place in range(size)}

    def _send(self) -> None:
        line: http.client.HTTPConnection | None = None
        while not self.ending.is_set() and self.tried < self.most:
            made = self._batch()
            sent = [{"id": id, "report": {"smokes": "no", "serial": serial}} for id, serial in made.items()]
            body = json.dumps({"plan": PLAN.identity, "reports": sent})
            while True:
                try:
                    line = line or http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
                    line.request("POST", "/town/reports", body, {"Content-Type": "application/json"})
                    answer = line.getresponse()
                    data = answer.read()
                except (OSError, http.client.HTTPException):
                    if line is not None:
                        line.close()
                    line = None
                    time.sleep(0.01)
                    continue
                if answer.status == 200:
                    break
                if answer.status < 500:
                    self.wrong.append(f"{answer.status} {data!r}")
                    return
                time.sleep(0.02)
            with self._lock:
                self.acknowledged |= {id: made[id] for id in json.loads(data)["accepted"]}


def check_exactly_once(address: str, senders: Senders) -> None:
    assert not senders.wrong, senders.wrong[:3]
    with open_store(address).connected() as connection:
        survey = connection.require_survey("town").number
        ids = {bytes(id).hex() for (id,) in connection.rows("SELECT id FROM reports WHERE survey = ?", survey)}
        table = ReportForm(PLAN).table([row for page in connection.reports(survey) for row in page])
        accepted = sum(number for _, what, number in connection.tallies(survey) if what == "accepted")
    assert len(senders.acknowledged) > 100, "there was no load"
    assert set(senders.acknowledged) <= ids, "an acknowledged report is lost"
    serials = Counter(map(int, table["serial"].to_pylist()))
    assert max(serials.values()) == 1, "a report is stored twice"
    assert set(senders.acknowledged.values()) <= set(serials) and accepted == len(ids) == table.num_rows


def open_town(address: str) -> None:
    with open_store(address).connected() as connection, connection.transaction():
        connection.open_survey("town", PLAN)


def test_killed_at_random_moments_it_loses_nothing_and_doubles_nothing(address: str) -> None:
    open_town(address)
    port, chance = free_port(), random.Random(11)
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    command = [sys.executable, "-m", "tests.collector.lives", address, str(port), "0.1"]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    lives = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, text=True, **pipes)
    assert lives.stdin and lives.stdout
    senders = Senders(port)
    senders.start()
    child = 0
    try:
        for life in range(KILLS + 1):
            lives.stdin.write("live\n")
            lives.stdin.flush()
            child = int(lives.stdout.readline())
            before, until = len(senders.acknowledged), time.monotonic() + 60
            while len(senders.acknowledged) < before + 20 and not senders.wrong:
                assert time.monotonic() < until, f"no report was acknowledged in life {life}"
                time.sleep(0.001)
            if life < KILLS:
                time.sleep(chance.expovariate(1 / 0.02))
                os.kill(child, signal.SIGKILL)
        senders.finish()
        check_exactly_once(address, senders)
    finally:
        senders.ending.set()
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        lives.stdin.close()
        lives.wait(20)


def test_a_database_that_is_restarted_under_load_loses_nothing() -> None:
    with cluster() as server:
        address = server.new_database("town")
        open_town(address)
        with serving(address, plan=PLAN) as running:
            senders = Senders(running.port)
            senders.start()
            for how in ("immediate", "fast"):
                _wait_for(senders, 100)
                server.stop(how)
                time.sleep(0.3)
                server.start()
            _wait_for(senders, 100)
            senders.finish()
            assert running.ask("GET", "/health").status == 200
        assert running.log.count(b'"event":"store"') == 1, "a line a request would tell when they came"
        check_exactly_once(address, senders)


def _wait_for(senders: Senders, more: int) -> None:
    goal, until = len(senders.acknowledged) + more, time.monotonic() + 60
    while len(senders.acknowledged) < goal:
        assert time.monotonic() < until and not senders.wrong, senders.wrong[:1]
        time.sleep(0.005)


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root alone")
def test_a_full_disk_refuses_politely_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=True)
    try:
        address = str(disk / "store.db")
        ballast = disk / "ballast"
        with serving(address) as running:
            (first,) = reports(1)
            assert running.ask("POST", "/town/reports", batch(first)).status == 200
            _fill(ballast)
            refused = [running.ask("POST", "/town/reports", batch(*reports(500))) for _ in range(4)]
            assert refused[-1].status == 503 and refused[-1].headers["retry-after"]
            assert running.ask("GET", "/health").status == 503
            ballast.unlink()
            later = reports(5)
            assert running.ask("POST", "/town/reports", batch(*later)).status == 200
        kept = sum(500 for answer in refused if answer.status == 200)
        with open_store(address).connected() as connection:
            assert connection.count_reports(connection.require_survey("town").number) == 1 + kept + 5
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def _fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"\0" * 4096) == 4096:
            pass


def test_two_versions_of_a_plan_do_not_mix(address: str) -> None:
    with serving(address) as running:
        old, new = reports(2)
        assert running.ask("POST", "/town/reports", batch(old)).status == 200
        refused = running.ask("POST", "/town/reports", batch(new, plan=PLAN.identity))
        assert refused.status == 409 and "another plan" in refused.json["reason"]
        with open_store(address).connected() as connection:
            with pytest.raises(ValueError, match="another plan"):
                connection.open_survey("town", PLAN)
            assert connection.require_survey("town").plan.identity == TOWN.identity


def test_when_it_is_told_to_stop_it_answers_what_it_has_begun(tmp_path: Path) -> None:
    address = str(tmp_path / "store.db")
    open_town(address)
    with serving(address, plan=PLAN) as running:
        senders = Senders(running.port)
        senders.start()
        _wait_for(senders, 101)
        said = running.end().decode()
        senders.ending.set()
    assert running.process is not None and running.process.exitcode in (0, -signal.SIGTERM)
    assert '"event":"stopped"' in said
    again = Running(address, running.port).start()
    senders.finish()
    again.end()
    check_exactly_once(address, senders)
