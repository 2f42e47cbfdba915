"""A small survey in a folder, and the command line as a person meets it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from sfumato.cli import run

PLAN = """
name = "town"

[attributes.age]
low = 20
high = 80
integer = true
channel = "gaussian"
privacy = 0.5

[attributes.elevel]
categories = [0, 1, 2, 3, 4]
channel = "randomized-response"
gamma = 19

[attributes.district]
categories = ["1", "2", "north"]
channel = "randomized-response"
keep = 0.7

[attributes.group]
categories = ["A", "B"]
role = "class"
"""


@dataclass
class Answer:
    code: int
    out: str
    err: str


@dataclass
class Folder:
    path: Path

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def write(self, name: str, text: str) -> Path:
        (self.path / name).write_text(text)
        return self.path / name

    def people(self, name: str, n: int = 400, **changed) -> Path:
        """A table of people, with columns replaced or (None) left out."""
        rng = np.random.default_rng(n)
        columns = {
            "age": np.clip(rng.normal(45, 8, n).round(), 20, 80).astype(int),
            "elevel": rng.integers(0, 5, n),
            "district": rng.choice(["1", "2", "north"], n),
            "group": rng.choice(["A", "B"], n),
        }
        columns = {key: value for key, value in (columns | changed).items() if value is not None}
        write = csv.write_csv if name.endswith(".csv") else parquet.write_table
        write(pa.table(columns), self.path / name)
        return self.path / name

    def names(self) -> set[str]:
        return {path.name for path in self.path.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.write("plan.toml", PLAN)
    made.people("people.csv")
    return made


@pytest.fixture
def sfumato(folder: Folder, capsys, monkeypatch) -> Callable[..., Answer]:
    """Run a command inside the folder."""
    monkeypatch.chdir(folder.path)

    def command(line: str | list[str]) -> Answer:
        capsys.readouterr()
        code = run(line.split() if isinstance(line, str) else line)
        said = capsys.readouterr()
        return Answer(code, said.out, said.err)

    return command


@pytest.fixture
def refused(sfumato, folder: Folder) -> Callable[..., str]:
    """Run a command that must be refused: exit code 2, one line on stderr, nothing on stdout, nothing left behind."""

    def command(line: str) -> str:
        before = folder.names()
        answer = sfumato(line)
        assert answer.code == 2, answer.out
        assert answer.out == ""
        assert len(answer.err.splitlines()) == 1, answer.err
        assert answer.err.startswith("sfumato: ")
        assert folder.names() == before
        return answer.err

    return command
