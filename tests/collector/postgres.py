"""A PostgreSQL of one's own: a temporary cluster on loopback, made by an unprivileged user."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from tests.collector.ports import free_port

SETTINGS = (
    "-c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c shared_buffers=16MB -c max_connections=40 "
    "-c fsync=off"  # servers are killed here, machines are not
)


class Cluster:
    """A database server that can be stopped at once and started again."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port

    @property
    def address(self) -> str:
        return f"postgresql://tester@127.0.0.1:{self.port}/postgres"

    def new_database(self, name: str) -> str:
        """An empty database; its address."""
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return f"postgresql://tester@127.0.0.1:{self.port}/{name}"

    def start(self) -> None:
        run("pg_ctl", "-D", str(self.folder), "-w", "-t", "60", "-o", f"-p {self.port} {SETTINGS}",
            "-l", str(self.folder / "log"), "start")  # fmt: skip

    def stop(self, how: str = "fast") -> None:
        run("pg_ctl", "-D", str(self.folder), "-w", "-m", how, "stop")


def program(name: str) -> str:
    """Debian keeps the server's programs out of the way."""
    found = shutil.which(name) or next(map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    assert found, f"{name} is not here; install it with: apt-get install postgresql"
    return found


def run(name: str, *arguments: str) -> None:
    """Run one of them, as nobody where we are root: the server refuses to be run by root."""
    unprivileged = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(
        [program(name), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/",
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}, check=False, **unprivileged,  # type: ignore[arg-type]
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()


@contextmanager
def cluster() -> Iterator[Cluster]:
    folder = Path(mkdtemp(prefix="sfumato-pg-", dir="/tmp"))
    if os.geteuid() == 0:
        os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
    try:
        data = folder / "data"
        run("initdb", "-D", str(data), "-U", "tester", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
        server = Cluster(data, free_port())
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
