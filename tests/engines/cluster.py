"""A Spark cluster of one's own: a standalone master with two workers on loopback, one for a whole test run.

The first process of a run that needs it starts a keeper, which starts the cluster, brings workers back that died, and
ends everything when nobody uses it any more. Whoever uses it holds a lock, which ends with the process.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]
INSTALL_JAVA = "Spark needs Java 17 or later; install it with: apt-get install default-jre-headless"
SETTINGS = """
spark.cores.max 2
spark.executor.cores 1
spark.executor.memory 640m
spark.driver.memory 640m
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.executor.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.sql.shuffle.partitions 2
spark.sql.files.maxPartitionBytes 64k
spark.sql.files.openCostInBytes 64k
spark.task.maxFailures 2
spark.sql.adaptive.enabled false
spark.sql.codegen.wholeStage false
spark.sql.codegen.factoryMode NO_CODEGEN
"""


@dataclass
class Cluster:
    """Where it is, and which processes its workers are."""

    folder: Path

    @property
    def address(self) -> str:
        return str(self._state()["address"])

    def kill_the_worker_of(self, process: int) -> None:
        """The one that started this process, its whole process group at once: the worker and what it has started."""
        workers = self._state()["workers"]
        while process not in workers:
            process = _parent(process)
        os.killpg(process, signal.SIGKILL)

    def workers(self) -> int:
        """How many the master knows."""
        with urlopen(f"http://127.0.0.1:{self._state()['page']}/json", timeout=5) as page:
            return int(json.load(page)["aliveworkers"])

    def _state(self) -> dict:
        return json.loads((self.folder / "state.json").read_text())


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """The cluster of this run, for as long as it is used."""
    folder.mkdir(exist_ok=True)
    (folder / "spark-defaults.conf").write_text(SETTINGS)
    with open(folder / "users", "w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        with open(folder / "starting", "w") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            if not (folder / "state.json").exists():
                with open(folder / "keeper.log", "w") as log:
                    keeper = ["setsid", "--fork", sys.executable, __file__, str(folder)]
                    subprocess.run(keeper, check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            started = Cluster(folder)
            _wait_for(started)
        yield started


def _wait_for(started: Cluster) -> None:
    give_up = time.monotonic() + 120
    while time.monotonic() < give_up:
        with suppress(OSError, ValueError):  # nobody listens yet, or the page is not the one that it will be
            if started.workers() == 2:
                return
        time.sleep(0.1)
    raise AssertionError(f"no Spark cluster after two minutes; {started.folder}/master.log and worker.log say why")


def _parent(process: int) -> int:
    """The process that started this one."""
    status = Path(f"/proc/{process}/stat").read_text()
    return int(status.rpartition(")")[2].split()[1])


# --- the keeper ---------------------------------------------------------------------------------------------------


def keep(folder: Path) -> None:
    """Run a cluster until nobody holds the lock of its users."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        port, page = one.getsockname()[1], other.getsockname()[1]
    address = f"spark://127.0.0.1:{port}"
    master = daemon(folder, "master", "--port", str(port), "--webui-port", str(page))
    workers = [worker(folder, address) for _ in range(2)]
    try:
        with open(folder / "users") as users:
            while not _is_free(users) and master.poll() is None:
                workers = [one if one.poll() is None else worker(folder, address) for one in workers]
                pids = [one.pid for one in workers]
                _write(folder / "state.json", {"address": address, "page": page, "workers": pids})
                time.sleep(0.3)
            (folder / "state.json").unlink()
    finally:
        for one in (*workers, master):
            with suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)


def worker(folder: Path, address: str) -> subprocess.Popen:
    """A machine with room for the two processes of a test run: an executor of one core for each."""
    room = ("--cores", "2", "--memory", "2g", "--work-dir", str(folder / "work"))
    return daemon(folder, "worker", address, *room, "--webui-port", "0")


def daemon(folder: Path, kind: str, *arguments: str) -> subprocess.Popen:
    """A part of the cluster, in a process group of its own."""
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ, "SPARK_HOME": str(home), "SPARK_CONF_DIR": str(folder), "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
    }  # fmt: skip
    program = f"org.apache.spark.deploy.{kind}.{kind.capitalize()}"
    with open(folder / f"{kind}.log", "ab") as log:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), program, *arguments, "--host", "127.0.0.1"],
            env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip


def _is_free(users: object) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)  # type: ignore[arg-type]
    except BlockingIOError:
        return False
    return True


def _write(path: Path, state: dict) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(state))
    part.replace(path)


def has_java() -> bool:
    return shutil.which("java") is not None or "JAVA_HOME" in os.environ


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
