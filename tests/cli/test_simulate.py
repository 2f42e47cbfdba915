"""`sfumato simulate` against a real service, and what commands do while that runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from sfumato.cli import run
from tests.cli.conftest import PLAN
from tests.cli.service import Running, service


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("served")
    (made / "plan.toml").write_text(PLAN)
    (made / "other.toml").write_text(PLAN.replace("0.7", "0.6"))
    return made


@pytest.fixture(scope="module")
def running(place: Path):
    with service(place, "plan.toml", "--store", "town.db") as found:
        yield found


@pytest.fixture
def command(running: Running, place: Path, capsys, monkeypatch):
    """Run a command beside the service; {town} is the survey's address."""
    monkeypatch.chdir(place)

    def command(line: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(line.format(town=f"{running.address}/town").split())
        return code, *capsys.readouterr()

    return command


def count(command) -> int:
    return json.loads(command("survey list --store town.db --json")[1])["surveys"]["town"]["reports"]


def test_everybody_is_counted_once_however_often_a_seed_is_sent(command):
    before = count(command)
    for _ in range(2):
        code, said, _ = command("simulate plan.toml {town} --people 700 --batch 300 --seed 5")
        assert code == 0 and "700 people, drawn at random" in said and "700 reports accepted" in said
    assert count(command) == before + 700
    assert command("simulate plan.toml {town} --people 10 --json")[0] == 0
    assert count(command) == before + 710


def test_the_answers_of_a_file_arrive_blurred(command, place):
    rng = np.random.default_rng(1)
    people = {"age": rng.integers(20, 80, 3000), "elevel": rng.integers(0, 5, 3000),
              "district": np.full(3000, "north"), "group": rng.choice(["A", "B"], 3000)}  # fmt: skip
    parquet.write_table(pyarrow.table(people), place / "people.parquet")
    code, said, _ = command("simulate plan.toml {town} --answers people.parquet --people 2000")
    assert code == 0 and "with the answers of people.parquet" in said
    bad = pyarrow.table({**people, "age": np.where(np.arange(3000) == 17, 99, people["age"])})
    parquet.write_table(bad, place / "bad.parquet")
    before = count(command)
    code, _, said = command("simulate plan.toml {town} --answers bad.parquet")
    assert code == 2 and "bad.parquet: row 18, column 'age'" in said and "99" not in said
    assert "holds 3,000 people" in command("simulate plan.toml {town} --answers people.parquet --people 4000")[2]
    assert count(command) == before


def test_an_invitation_lets_one_report_in(command, running, place):
    assert command("survey open plan.toml --name closed-circle --invited --store town.db")[0] == 0
    link = f"{running.address}/closed-circle/"
    invite = f"survey invite closed-circle --number 20 --link {link} -o invitations.csv --store town.db"
    assert command(invite)[0] == 0
    town = f"{running.address}/closed-circle"
    wait_for(running, "/closed-circle/plan")
    sent = f"simulate plan.toml {town} --people 20 --invitations invitations.csv"
    assert command(sent)[0] == 0
    code, said, _ = command(sent)
    assert code == 1 and "20 reports refused: the invitation is missing, unknown or used already" in said
    assert "20 invitations for 21 people" in command(sent.replace("20 ", "21 "))[2]


def test_another_plan_and_another_place_are_refused_before_anything_is_sent(command, running):
    code, said, line = command("simulate other.toml {town} --people 10")
    assert (code, said) == (2, "") and "has another plan" in line
    assert "there is no such survey here" in command("simulate plan.toml {town}x")[2]
    assert "no connection" in command("simulate plan.toml http://127.0.0.1:9/town")[2]
    assert "use https" in command("simulate plan.toml http://town.example/town")[2]


def test_a_running_service_notices_that_a_survey_is_closed(command, running):
    assert command("survey open plan.toml --name brief --store town.db")[0] == 0
    wait_for(running, "/brief/plan")
    assert command("survey close brief --store town.db")[0] == 0
    code, said, _ = command(f"simulate plan.toml {running.address}/brief --people 3")
    assert code == 1 and "3 reports refused: the survey is closed" in said


def wait_for(running: Running, path: str) -> None:
    """Until the service has noticed."""
    for _ in range(10_000):
        if running.get(path)[0] == 200:
            return
    raise AssertionError(f"{path} is not there")
