"""A service as people start it: a process of its own, on a free port of this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sfumato
from sfumato.client.wire import ask

PATIENCE = 120


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sfumato.cli", *arguments]
    here = {"PYTHONPATH": str(Path(sfumato.__file__).parents[1])}
    quiet = {**os.environ, **here, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, cwd=folder, env=quiet, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip


class Running:
    """A service that answers, and the links that it printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        lines: list[str] = []
        assert process.stdout is not None and process.stderr is not None
        while line := process.stdout.readline():
            lines.append(line)
            if line == "}\n":
                break
        else:
            raise AssertionError(process.stderr.read())
        self.links: dict[str, Any] = json.loads("".join(lines))
        self.address: str = self.links["address"]

    def get(self, path: str) -> tuple[int, Any]:
        answer = ask(self.address + path, seconds=PATIENCE, most=1 << 26)
        return answer.status, json.loads(answer.data)

    def stop(self, how: int = signal.SIGTERM) -> tuple[int, str]:
        """The exit code and what was said on stderr."""
        self.process.send_signal(how)
        _, said = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said


@contextmanager
def service(folder: Path, *arguments: str) -> Iterator[Running]:
    process = start(folder, "serve", *arguments, "--port", "0", "--json")
    try:
        yield Running(process)
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)
