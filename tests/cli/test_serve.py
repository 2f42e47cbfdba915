"""`sfumato serve` as a real process: links, privacy of files, one service a store, an orderly end."""

from __future__ import annotations

import json
import signal
import socket
import stat
from pathlib import Path

import pytest

from sfumato.client.wire import ask
from tests.cli.conftest import PLAN
from tests.cli.service import PATIENCE, Running, service, start

OTHER = PLAN.replace("keep = 0.7", "keep = 0.6")


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("served")
    (made / "plan.toml").write_text(PLAN)
    (made / "village.toml").write_text("questions_each = 2\n" + PLAN.replace('"town"', '"My village, 2026"'))
    return made


@pytest.fixture(scope="module")
def running(place: Path):
    with service(place, "plan.toml", "village.toml", "--store", "kept/town.db") as found:
        yield found


def test_one_command_serves_the_plans_and_prints_every_link(running: Running):
    links = running.links
    assert set(links["respondents"]) == {"town", "my-village-2026"}
    assert links["dashboard"] == f"{running.address}/login#{links['token']}"
    for link in links["respondents"].values():
        assert ask(link).data.startswith(b"<!doctype html>")
    assert running.get("/town/plan")[1]["state"] == "open"
    assert running.get("/health") == (200, {"status": "ok"})
    assert ask(running.address + "/metrics", token=links["token"]).status == 200


def test_the_store_is_its_owners_alone(running: Running, place: Path):
    kept = place / "kept"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    for name in ("town.db", "town.db-wal", "town.db-shm"):
        assert stat.S_IMODE((kept / name).stat().st_mode) == 0o600


def test_a_second_service_on_the_same_file_is_refused(running: Running, place: Path):
    (place / "link.db").unlink(missing_ok=True)
    (place / "link.db").symlink_to(place / "kept" / "town.db")
    second = start(place, "serve", "--store", "link.db", "--port", "0")
    out, said = second.communicate(timeout=PATIENCE)
    assert (second.returncode, out) == (2, "")
    assert said == "sfumato: link.db is served by another process; stop that one first\n"


def test_a_port_that_is_taken_is_said(running: Running, place: Path):
    port = running.address.rpartition(":")[2]
    second = start(place, "serve", "plan.toml", "--store", "other.db", "--port", port)
    out, said = second.communicate(timeout=PATIENCE)
    assert (second.returncode, out) == (2, "")
    assert said == f"sfumato: 127.0.0.1 port {port} is taken by another program; choose another one with --port\n"
    assert not (place / "other.db").exists()


def test_no_header_tells_what_serves_and_none_is_believed(running: Running):
    host, port = running.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as wire:
        wire.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 6.6.6.6\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: wire.recv(4096), b"")).lower()
    assert answer.startswith(b"http/1.1 200") and b"\nserver:" not in answer


def test_headers_without_end_are_hung_up_on_and_long_ones_answered(running: Running):
    port = int(running.address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as wire:
        wire.settimeout(PATIENCE)
        for length in (40_000, 50_000):
            wire.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nCookie: %s\r\n\r\n" % (b"x" * length))
            assert _answer(wire).startswith(b"HTTP/1.1 200")
        wire.sendall(b"POST /town/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n" + b" " * 300_000)
        assert b"not of the form" in _answer(wire)
    chunked = b"POST /town/reports HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    for begun in (b"GET /health HTTP/1.1\r\nHost: ", chunked + b"0\r\nTrailer: ", chunked + b"5;extended="):
        with socket.create_connection(("127.0.0.1", port)) as wire, pytest.raises(ConnectionError):
            wire.sendall(begun)
            for _ in range(2_000):
                wire.sendall(b"x" * 10_000)


def _answer(wire: socket.socket) -> bytes:
    answer = b""
    while not answer.endswith(b"}"):
        answer += wire.recv(4096)
    return answer


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(folder, how: int):
    with service(folder.path, "plan.toml") as running:
        token = running.links["token"]
        for _ in range(3):  # and one line about them, which does not tell when they came
            with socket.create_connection(("127.0.0.1", int(running.address.rpartition(":")[2]))) as wire:
                wire.sendall(b"what is this\r\n\r\n")
                assert wire.recv(100).startswith(b"HTTP/1.1 400")
        code, said = running.stop(how)
    events = [json.loads(line)["event"] for line in said.splitlines()]
    assert (code, events) == (0, ["started", "server", "stopped"])
    assert "127.0.0.1" not in said and token not in said
    if how == signal.SIGINT:  # the token that was printed is still valid, and no second one is made
        with service(folder.path) as again:
            assert again.links["token"] is None and again.links["dashboard"].endswith("/login")


def test_a_survey_may_be_opened_while_it_runs(folder, sfumato):
    assert sfumato("survey open plan.toml").code == sfumato("survey delete town --yes").code == 0
    with service(folder.path, "--no-token") as running:
        assert running.links["respondents"] == {} and running.links["token"] is None
        assert running.get("/town/plan")[0] == 404
        assert sfumato("survey open plan.toml").code == 0
        while running.get("/town/plan")[0] == 404:  # until it has noticed
            pass
        assert running.get("/town/plan")[1]["state"] == "open"


def test_it_listens_on_this_machine_only_unless_told_otherwise(refused):
    said = refused("serve plan.toml --host 0.0.0.0")
    assert "proxy with TLS" in said and "--anywhere" in said
    assert "cannot be listened on" in refused("serve plan.toml --host 203.0.113.7 --anywhere")


def test_an_opened_plan_does_not_change(sfumato, refused, folder):
    folder.write("other.toml", OTHER)
    folder.write("sfumato.db.lock", "")
    assert sfumato("survey open plan.toml").code == 0
    assert "other.toml: survey 'town' is there with another plan" in refused("serve other.toml --port 0")
    assert "open to everybody" in refused("serve plan.toml --invited --port 0")
    assert "that stays so" in refused("serve plan.toml --keep-days 3 --port 0")


def test_nothing_is_left_of_a_store_that_was_not_opened(refused, folder):
    folder.write("health.toml", PLAN.replace("integer = true", "integers = true"))
    assert "integers" in refused("serve health.toml --port 0")
    folder.write("other.toml", OTHER)
    assert "another plan" in refused("serve plan.toml other.toml --port 0")
    assert "there is no store" in refused("serve --port 0")
    folder.write("text.db", "this is no database, and it is longer than a header of one\n" * 20)
    assert "is it a store of sfumato" in refused("serve plan.toml --store text.db --port 0")
