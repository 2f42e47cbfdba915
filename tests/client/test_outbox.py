"""The queue on disk: nothing is lost, nothing arrives twice, whatever fails."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sfumato.client import Outbox, OutboxError
from sfumato.client import outbox as outbox_module
from sfumato.client.wire import check_address, origin_of
from tests.client.collector import Collector, collecting

PLAN, OTHER_PLAN = "a" * 64, "b" * 64
QUICK: dict[str, Any] = {"pause": 0.01, "seconds": 300.0, "timeout": 60.0}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(tmp_path / "outbox.sqlite")


def id_of(number: int) -> str:
    return f"{(number + 1) * 0x9E3779B97F4A7C15 % 2**64:016x}" * 2


def put(outbox: Outbox, collector: Collector, count: int, plan: str = PLAN, start: int = 0) -> list[str]:
    ids = [id_of(number) for number in range(start, start + count)]
    for number, id in enumerate(ids):
        assert outbox.put(collector.submit, plan, id, {"age": number, "group": "ä"}) == "waiting"
    return ids


def states(outbox: Outbox) -> dict[str, str]:
    return {entry.id: entry.state for entry in outbox.entries()}


# --- put ------------------------------------------------------------------------------------------------------------


def test_a_report_is_on_the_disk_and_its_owners_only_before_put_returns(tmp_path: Path) -> None:
    first = Outbox(tmp_path / "outbox.sqlite")
    first.put("https://town.example/submit", PLAN, id_of(1), {"age": 47, "basket": {"size": 3, "seed": "0f"}})
    (entry,) = Outbox(tmp_path / "outbox.sqlite").entries("waiting")
    assert entry.report == {"age": 47, "basket": {"size": 3, "seed": "0f"}} and entry.plan == PLAN
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o600}


def test_the_same_report_is_queued_once_and_another_under_its_id_refused(outbox: Outbox) -> None:
    address = "https://town.example/submit"
    for _ in range(3):
        assert outbox.put(address, PLAN, id_of(1), {"a": 1, "b": None}) == "waiting"
        assert outbox.put(address, PLAN, id_of(1), {"b": None, "a": 1}) == "waiting"
    for other in ((address, PLAN, {"a": 2, "b": None}), (address, OTHER_PLAN, {"a": 1, "b": None})):
        with pytest.raises(OutboxError, match="another report has the id"):
            outbox.put(*other[:2], id_of(1), other[2])
    assert len(outbox.entries()) == 1


@pytest.mark.parametrize("id", ["", "A" * 32, "0" * 31, "0" * 33, "../" + "0" * 29])
def test_an_id_is_32_hexadecimal_digits(outbox: Outbox, id: str) -> None:
    with pytest.raises(OutboxError, match="32 hexadecimal digits"):
        outbox.put("https://town.example", PLAN, id, {})


@pytest.mark.parametrize("report", [{"a": float("nan")}, {"a": {1, 2}}, {"a": b"x"}])
def test_a_report_is_plain_data(outbox: Outbox, report: dict[str, Any]) -> None:
    with pytest.raises(OutboxError, match="not plain data"):
        outbox.put("https://town.example", PLAN, id_of(1), report)


@pytest.mark.parametrize(
    "address",
    ["", "town", "ftp://a.example/x", "file:///etc/passwd", "https://", "https://a.example:x/", "https://me@a.example/",
     "https://a.example/#x", "https://a.example/a b", "https://a.example/\r\nX: y", "https://[::1", "//a.example"],
)  # fmt: skip
def test_what_is_no_address_is_refused(outbox: Outbox, address: str) -> None:
    with pytest.raises(ValueError, match="reports cannot be sent to this address"):
        outbox.put(address, PLAN, id_of(1), {})


def test_plain_http_stays_on_this_machine_unless_told_otherwise(tmp_path: Path) -> None:
    for address in ("http://127.0.0.1:8000/s", "http://localhost/s", "http://[::1]:1/s", "https://town.example/s"):
        check_address(address)
    for address in ("http://town.example/s", "http://127.0.0.1.example/s", "http://10.0.0.1/s"):
        with pytest.raises(ValueError, match="can be read by everybody on the way; use https"):
            Outbox(tmp_path / "o").put(address, PLAN, id_of(1), {})
        assert Outbox(tmp_path / "o", insecure=True).put(address, PLAN, id_of(len(address)), {}) == "waiting"


def test_a_collector_is_named_as_browsers_name_it() -> None:
    assert origin_of("HTTPS://Town.Example:443/a/b?c") == "https://town.example"
    assert origin_of("http://[::1]:8000/a") == "http://[::1]:8000"


# --- send -----------------------------------------------------------------------------------------------------------


def test_reports_go_in_batches_and_their_receipts_are_kept(outbox: Outbox, collector: Collector) -> None:
    ids = put(outbox, collector, 130) + put(outbox, collector, 20, OTHER_PLAN, start=500)
    done = outbox.send(**QUICK)
    assert sorted(done.accepted) == sorted(ids) == sorted(collector.store)
    assert (done.waiting, done.problem, len(collector.requests)) == (0, None, 3)
    assert str(done) == "150 reports accepted" and str(outbox.send()) == "nothing to send"
    assert set(states(outbox).values()) == {"sent"} and all(len(each.note) == 10 for each in outbox.entries("sent"))
    assert outbox.put(collector.submit, PLAN, ids[0], {"age": 0, "group": "ä"}) == "sent"


def test_a_request_tells_the_reports_and_nothing_else(outbox: Outbox, collector: Collector) -> None:
    put(outbox, collector, 1)
    outbox.send(**QUICK)
    head, _, body = collector.requests[0].partition("\n\n\n")
    assert body == f'{{"plan":"{PLAN}","reports":[{{"id":"{id_of(0)}","report":{{"age":0,"group":"\\u00e4"}}}}]}}'
    names = {line.partition(":")[0] for line in head.splitlines()[1:] if line}
    assert names == {"Accept-Encoding", "Content-Length", "Host", "User-Agent", "Content-Type", "Accept", "Connection"}
    assert "User-Agent: sfumato\n" in head


FAULTS = ["before", "after", "nonsense", "other nonsense", "empty", "foreign", "endless", "busy", "away", "redirect",
          "truncated", "closed", "closed late", "slow"]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_leaves_reports_queued_until_they_are_acknowledged_once(
    outbox: Outbox, collector: Collector, fault: str
) -> None:
    ids, how = put(outbox, collector, 3), {**QUICK, "tries": 50} | ({"timeout": 0.3} if fault == "slow" else {})
    collector.faults = [fault]
    done = outbox.send(**how | {"tries": 1})
    assert (done.accepted, done.refused, done.waiting) == ([], {}, 3) and done.problem and "\n" not in str(done)
    assert set(states(outbox).values()) == {"waiting"}
    collector.faults = [fault, fault]
    assert sorted(outbox.send(**how).accepted) == sorted(ids) == sorted(collector.store)
    assert set(collector.acknowledged.values()) == {1}


def test_every_report_is_acknowledged_once_through_a_storm_of_faults(outbox: Outbox, collector: Collector) -> None:
    dice = random.Random(12)
    ids = put(outbox, collector, 40) + put(outbox, collector, 40, OTHER_PLAN, start=100)
    storm = [fault for fault in FAULTS if fault != "slow"]
    collector.faults = [dice.choice([*storm, ""]) for _ in range(30)]
    accepted = []
    while outbox.entries("waiting"):
        accepted += outbox.send(tries=3, **QUICK).accepted
    assert sorted(accepted) == sorted(ids) == sorted(collector.store)
    assert set(collector.acknowledged.values()) == {1}


def test_nobody_there_is_said_and_loses_nothing(outbox: Outbox) -> None:
    outbox.put("http://127.0.0.1:9/submit", PLAN, id_of(1), {"a": 1})
    done = outbox.send(tries=2, **QUICK)
    assert done.waiting == 1 and done.problem == "127.0.0.1:9: no connection ([Errno 111] Connection refused)"


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long an outbox has waited between tries: by its own clocks, which go on when it sleeps and else as always."""
    slept: list[float] = []
    clocks = {name: getattr(time, name) for name in ("monotonic", "time")}
    ahead = {name: lambda clock=clock: clock() + sum(slept) for name, clock in clocks.items()}
    monkeypatch.setattr(outbox_module, "time", SimpleNamespace(sleep=slept.append, **ahead))
    return slept


def test_tries_grow_apart(outbox: Outbox, collector: Collector, waits: list[float]) -> None:
    put(outbox, collector, 1)
    collector.faults = ["before"] * 10
    outbox.send(tries=5, pause=3, seconds=1_000)
    assert len(collector.requests) == 5 and len(waits) == 4
    for k, wait in enumerate(waits):
        assert 3 * 2**k / 2 <= wait <= 3 * 2**k


def test_the_time_is_bounded(outbox: Outbox, collector: Collector, waits: list[float]) -> None:
    put(outbox, collector, 1)
    collector.faults = ["before"] * 50
    assert outbox.send(tries=50, seconds=1_000, pause=50).waiting == 1
    assert 500 < sum(waits) <= 1_000 and len(collector.requests) == len(waits) + 1


def test_no_answer_is_waited_for_longer_than_there_is_time(outbox: Outbox, collector: Collector) -> None:
    put(outbox, collector, 1)
    collector.delay = 1_000
    assert outbox.send(tries=50, seconds=0.3, pause=0.01).waiting == 1
    collector.gate.set()


def test_retry_after_is_honoured_by_this_call_and_by_the_next(
    outbox: Outbox, collector: Collector, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.client import collector as faults

    put(outbox, collector, 1)
    monkeypatch.setitem(faults.ANSWERS, "busy", (429, {"Retry-After": "2000"}, b""))
    collector.faults = ["busy"]
    assert len(outbox.send(pause=0.01, seconds=10_000).accepted) == 1
    assert len(waits) == 1 and 1_000 < waits[0] <= 2_000

    put(outbox, collector, 1, start=7)
    later = "Fri, 31 Dec 9999 23:59:59 GMT"
    monkeypatch.setitem(faults.ANSWERS, "busy", (429, {"Retry-After": later}, b""))
    collector.faults = ["busy"]
    assert "429 Too Many Requests" in str(outbox.send())
    for _ in range(3):
        assert "asks to wait" in str(outbox.send()) and len(collector.requests) == 3


def test_one_collector_that_fails_does_not_hold_up_another(outbox: Outbox, collector: Collector) -> None:
    outbox.put("http://127.0.0.1:9/submit", PLAN, id_of(99), {"a": 1})
    ids = put(outbox, collector, 3)
    done = outbox.send(tries=2, **QUICK)
    assert sorted(done.accepted) == sorted(ids) and done.waiting == 1


# --- refusals -------------------------------------------------------------------------------------------------------


def test_a_refusal_is_final_and_its_reason_kept(outbox: Outbox, collector: Collector) -> None:
    ids = put(outbox, collector, 5)
    collector.refuse = lambda id, report: "the survey \x1b[31mis closed" + "!" * 999 if report["age"] == 2 else ""
    done = outbox.send(**QUICK)
    assert len(done.accepted) == 4 and list(done.refused) == [ids[2]] and done.waiting == 0
    (entry,) = outbox.entries("refused")
    assert entry.note == done.refused[ids[2]] and entry.note.startswith("the survey \\x1b[31mis closed!!")
    assert len(entry.note) < 400
    assert str(outbox.send()) == "nothing to send" and len(collector.requests) == 1


def test_a_409_for_one_report_is_a_refusal(outbox: Outbox, collector: Collector) -> None:
    (id,) = put(outbox, collector, 1)
    collector.faults = ["conflict"]
    assert outbox.send(**QUICK).refused == {id: "answered 409 Conflict"}


def test_a_batch_refused_as_a_whole_is_sent_in_halves(outbox: Outbox, collector: Collector) -> None:
    ids = put(outbox, collector, 90)
    collector.most = 20
    done = outbox.send(**QUICK)
    assert sorted(done.accepted) == sorted(ids) and done.refused == {}
    put(outbox, collector, 8, start=1000)
    collector.faults = ["conflict"]
    assert len(outbox.send(**QUICK).accepted) == 8


# --- withdrawing ----------------------------------------------------------------------------------------------------


def test_what_was_never_sent_is_withdrawn_without_a_word(outbox: Outbox, collector: Collector) -> None:
    ids = put(outbox, collector, 2)
    assert outbox.withdraw(ids[0])
    assert outbox.send(**QUICK).accepted == [ids[1]] and list(collector.store) == [ids[1]]
    with pytest.raises(OutboxError, match="no report has the id"):
        outbox.withdraw(ids[0])


@pytest.mark.parametrize("arrived", [True, False])
def test_what_may_have_arrived_is_taken_back(outbox: Outbox, collector: Collector, arrived: bool) -> None:
    (id,) = put(outbox, collector, 1)
    collector.faults = ["after" if arrived else "before"]
    outbox.send(tries=1)
    assert not outbox.withdraw(id)
    collector.faults = ["away"]
    done = outbox.send(tries=1)
    assert (done.withdrawn, done.waiting) == ([], 1) and states(outbox) == {id: "withdrawing"}
    assert outbox.send(**QUICK).withdrawn == [id]
    assert collector.store == {} and outbox.entries() == [] and collector.withdrawn == [id] * arrived
    assert collector.requests[-1].startswith(f"DELETE /submit/{id} HTTP/1.1")


def test_a_sent_report_is_withdrawn_and_may_be_sent_again(outbox: Outbox, collector: Collector) -> None:
    (id,) = put(outbox, collector, 1)
    outbox.send(**QUICK)
    assert not outbox.withdraw(id)
    assert outbox.send(**QUICK).withdrawn == [id] and collector.store == {}
    put(outbox, collector, 1)
    assert outbox.send(**QUICK).accepted == [id] and list(collector.store) == [id]


def test_a_collector_that_gives_nothing_back_is_said(outbox: Outbox, collector: Collector) -> None:
    (id,) = put(outbox, collector, 1)
    outbox.send(**QUICK)
    outbox.withdraw(id)
    collector.faults = ["conflict"]
    assert outbox.send(**QUICK).refused == {id: "not withdrawn: answered 409 Conflict"}
    assert states(outbox) == {id: "refused"}


def test_a_report_withdrawn_while_it_is_on_its_way_is_taken_back(outbox: Outbox, collector: Collector) -> None:
    (id,) = put(outbox, collector, 1)
    collector.delay = 100
    sender = threading.Thread(target=outbox.send)
    sender.start()
    while not collector.requests:
        time.sleep(0.01)
    assert not outbox.withdraw(id)
    collector.gate.set()
    sender.join()
    assert states(outbox) == {id: "withdrawing"} and list(collector.store) == [id]
    assert outbox.send(**QUICK).withdrawn == [id] and collector.store == {}


# --- processes ------------------------------------------------------------------------------------------------------

NURSERY = """
import json, os, sys
from sfumato.client import Outbox

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

for line in sys.stdin:
    code, count = json.loads(line)
    for _ in range(count):
        if os.fork() == 0:
            say(os.getpid())
            exec(code)
            os._exit(0)
    for _ in range(count):
        os.wait()
    say("done")
"""
SEND = "done = Outbox(sys.argv[1]).send(tries=50, pause=0.01); say(*done.accepted)"
PUT = """
outbox = Outbox(sys.argv[1])
for number in range(10**6):
    outbox.put("https://town.example", "a" * 64, f"{number:032x}", {"n": number})
    say(number)
"""


class Nursery:
    """A process that forks others, which need not load Python's libraries again."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", NURSERY, str(path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, code: str, count: int = 1) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps([code, count]) + "\n")
        self.process.stdin.flush()

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def rest(self) -> list[str]:
        """What is said until all are done."""
        return list(iter(self.line, "done"))


@pytest.fixture
def nursery(outbox: Outbox) -> Iterator[Nursery]:
    found = Nursery(outbox.path)
    yield found
    found.process.communicate()


def test_a_killed_sender_loses_nothing_and_nothing_arrives_twice(
    outbox: Outbox, collector: Collector, nursery: Nursery
) -> None:
    dice, ids = random.Random(5), list[str]()
    collector.delay, collector.most = 0.02, 2  # many requests, so that a kill finds one under way
    for turn in range(20):
        ids += put(outbox, collector, 8, start=100 * turn)
        nursery.start(SEND)
        child = int(nursery.line())
        time.sleep(dice.uniform(0, 0.25))
        with suppress(ProcessLookupError):  # it was done before
            os.kill(child, signal.SIGKILL)
        nursery.rest()
        waiting = {entry.id for entry in Outbox(outbox.path).entries("waiting")}
        assert waiting | set(collector.store) == set(ids)  # each is queued or committed, or both
    outbox.send(tries=50, pause=0.01, seconds=300)
    assert sorted(collector.store) == sorted(ids) and set(states(outbox).values()) == {"sent"}


def test_a_process_killed_while_it_puts_loses_nothing_that_was_confirmed(outbox: Outbox, nursery: Nursery) -> None:
    dice = random.Random(6)
    for _ in range(5):
        nursery.start(PUT)
        child = int(nursery.line())
        time.sleep(dice.uniform(0, 0.3))
        os.kill(child, signal.SIGKILL)
        confirmed = {f"{int(number):032x}" for number in nursery.rest()}
        assert confirmed <= {entry.id for entry in Outbox(outbox.path).entries()}


def test_processes_that_send_at_once_take_turns(outbox: Outbox, collector: Collector, nursery: Nursery) -> None:
    ids = put(outbox, collector, 30) + put(outbox, collector, 30, OTHER_PLAN, start=100)
    collector.delay = 0.1
    nursery.start(SEND, 3)
    told = [word for line in nursery.rest() for word in line.split() if len(word) == 32]
    assert sorted(told) == sorted(ids) == sorted(collector.store)
    assert set(collector.acknowledged.values()) == {1} and collector.most_at_once == 1


def test_outboxes_opened_at_once_are_one(tmp_path: Path) -> None:
    nursery = Nursery(tmp_path / "new.sqlite")
    nursery.start("Outbox(sys.argv[1]); say('opened')", 6)
    assert nursery.rest().count("opened") == 6
    nursery.process.communicate()


def test_whoever_cannot_wait_for_the_other_sender_is_told(outbox: Outbox, collector: Collector) -> None:
    put(outbox, collector, 1)
    collector.delay = 100
    sender = threading.Thread(target=outbox.send)
    sender.start()
    while not collector.requests:
        time.sleep(0.01)
    assert outbox.send(seconds=0.1).problem == "another process is sending"
    outbox.put(collector.submit, PLAN, id_of(50), {"a": 1})  # queueing goes on meanwhile
    collector.gate.set()
    sender.join()


# --- the file -------------------------------------------------------------------------------------------------------


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without root's right to write everywhere."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_folder_that_cannot_be_written_is_said_in_a_sentence_and_nothing_is_lost(collector: Collector) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # where nobody, too, can go
        folder = Path(name)
        folder.chmod(0o777)
        with as_nobody():
            outbox = Outbox(folder / "outbox.sqlite")
            ids = put(outbox, collector, 3)
        folder.chmod(0o555)
        try:
            with as_nobody(), pytest.raises(OutboxError, match=r"^outbox.sqlite: [^\n]+ when that is mended$"):
                outbox.put(collector.submit, PLAN, id_of(9), {})
            with as_nobody(), pytest.raises(PermissionError):
                Outbox(folder / "new.sqlite")
        finally:
            folder.chmod(0o777)
        with as_nobody():
            assert sorted(outbox.send(**QUICK).accepted) == sorted(ids)


FULL = """
import resource, signal, sys
from pathlib import Path
from sfumato.client import Outbox
outbox = Outbox(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
number = 0
while True:
    try:
        outbox.put("https://town.example", "a" * 64, f"{number:032x}", {"n": "x" * 1000})
    except ValueError as error:
        print(number, error)
        break
    number += 1
"""


def test_a_full_disk_is_said_in_a_sentence_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "outbox.sqlite"
    told = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True).stdout
    number, _, sentence = told.partition(" ")
    assert sentence.startswith("outbox.sqlite: ") and "nothing was changed" in sentence and sentence.count("\n") == 1
    assert int(number) > 20 and len(Outbox(path).entries()) == int(number)


@pytest.mark.parametrize("content", [b"not a database, but long enough to be looked at" * 100, b"{}", b"\0" * 4096])
def test_a_foreign_file_is_said_in_a_sentence_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "outbox.sqlite"
    path.write_bytes(content)
    with pytest.raises(OutboxError, match=r"^outbox.sqlite: [^\n]+ left as it is") as told:
        Outbox(path)
    assert path.read_bytes() == content and "\n" not in str(told.value)


def test_another_program_s_database_and_a_newer_outbox_are_left_as_they_are(tmp_path: Path) -> None:
    store = sqlite3.connect(tmp_path / "other.sqlite")
    store.execute("CREATE TABLE reports (x)")
    store.close()
    Outbox(tmp_path / "newer.sqlite")
    store = sqlite3.connect(tmp_path / "newer.sqlite")
    store.execute("PRAGMA user_version = 3")
    store.close()
    for name, words in {"other": "not an outbox", "newer": "an outbox of version 3; this one reads 2"}.items():
        before = (tmp_path / f"{name}.sqlite").read_bytes()
        with pytest.raises(OutboxError, match=words):
            Outbox(tmp_path / f"{name}.sqlite")
        assert (tmp_path / f"{name}.sqlite").read_bytes() == before


def test_damage_anywhere_is_a_sentence_or_harmless(tmp_path: Path, collector: Collector) -> None:
    whole = Outbox(tmp_path / "whole.sqlite")
    put(whole, collector, 60)
    kept, data = {entry.id: entry for entry in whole.entries()}, whole.path.read_bytes()
    dice, path = random.Random(7), tmp_path / "outbox.sqlite"
    for turn in range(100):
        damaged = bytearray(data)
        place = dice.randrange(len(data))
        damaged[place : place + 8] = dice.randbytes(8)
        cut = damaged[: dice.randrange(1, len(data))] if turn % 3 == 0 else damaged
        path.write_bytes(cut)
        try:
            for entry in Outbox(path).entries():
                assert entry.report == kept[entry.id].report and entry.submit == collector.submit
        except OutboxError as error:
            assert str(error).startswith("outbox.sqlite: ") and "\n" not in str(error)
            assert path.read_bytes() == cut


def test_an_outbox_from_before_invitations_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "outbox.sqlite"
    Outbox(path).put("https://town.example/submit", PLAN, "0" * 32, {"a": 1})
    with closing(sqlite3.connect(path)) as store:
        store.executescript("ALTER TABLE reports DROP COLUMN invitation; PRAGMA user_version = 1")
    (entry,) = Outbox(path).entries()
    assert (entry.report, entry.invitation) == ({"a": 1}, "")
