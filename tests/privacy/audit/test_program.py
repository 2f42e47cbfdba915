"""Another program is audited as sfumato's own is; one that does not keep to the protocol is a sentence."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.privacy.audit.program import AuditedProgram, ProgramError, command_of
from sfumato.privacy.subject import subject_of

DRIVER = Path(__file__).with_name("driver.py")
QUICK = {"samples": 20_000, "people": 50}
SMALL = {
    "age": {"low": 20, "high": 80, "integer": True, "channel": "gaussian", "privacy": 1.0},
    "smokes": {"categories": ["yes", "no"], "channel": "randomized-response", "gamma": 3},
    "town": {"categories": ["A", "B"], "role": "class"},
}
LEVELS = {
    "weight": {
        "low": 0, "high": 1, "channel": "two-phase", "noise": {"channel": "gaussian", "privacy": 1.0},
        "levels": {"normal": 30, "careful": 10},
    },
    "body": {
        "columns": {"a": {"low": 0, "high": 1}, "b": {"low": 0, "high": 5}}, "channel": "correlated-gaussian",
        "covariance": [[0.04, 0.1], [0.1, 1.0]], "ratio": 1.5,
    },
}  # fmt: skip


@pytest.fixture
def driver(tmp_path: Path):
    """A plan, and the command of a driver for it."""

    def made(attributes: dict, fault: str = "") -> tuple[sf.Plan, list[str]]:
        plan = sf.Plan.from_dict({"name": "town", "attributes": attributes})
        (tmp_path / "plan.json").write_text(json.dumps(plan.to_dict()))
        return plan, [sys.executable, str(DRIVER), str(tmp_path / "plan.json"), fault]

    return made


@pytest.mark.usefixtures("two_starts")
def test_a_sound_program_passes_and_nothing_is_left_out(driver) -> None:
    plan, command = driver({**LEVELS, "town": SMALL["town"]})
    told = sf.audit(plan, implementation=command, **QUICK)
    assert told.passed and told.unaudited == () and told.subject.startswith("town (program ")
    names = {check.attribute for check in told.checks}
    assert names == {"weight (normal)", "weight (careful)", "a, b", "all answers"}
    assert {"key", "keyed records", "fresh noise", "small calls"} <= {check.name for check in told.checks}


@pytest.mark.usefixtures("two_starts")
def test_baskets_travel_as_hexadecimal_digits(driver) -> None:
    channel = sf.SelectASize.design(sf.Items(20), sizes=[3], gamma=9, up_to=2)
    spec = {"items": 20, **{name: value for name, value in channel.to_spec().items() if name != "items"}}
    plan, command = driver({"basket": spec})
    told = sf.audit(plan, implementation=command, **QUICK)
    assert told.passed and "basket" in {check.attribute for check in told.checks}


def test_a_stream_that_begins_anew_with_every_start_is_found(driver) -> None:
    plan, command = driver({"age": SMALL["age"]}, "one stream")
    told = sf.audit(plan, implementation=command, **QUICK)
    (fresh,) = (check for check in told.broken if check.name == "fresh noise")
    assert "after a new start" in fresh.text


@pytest.mark.usefixtures("two_starts")
def test_what_a_program_leaves_out_is_said(driver) -> None:
    plan, command = driver(SMALL, "little")
    told = sf.audit(plan, implementation=command, **QUICK)
    said = "\n".join(told.unaudited)
    assert told.passed
    for words in ("smokes: another program showed nothing", "Whole records of the other program", "age: the impl"):
        assert words in said


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("dies", "ended without an answer to age (exit code 1: 'out of noise')"),
        ("nonsense", r"answered age with '<html>\x1b[2J', which is not JSON"),
        ("a list", "answered age with [1, 2], which is not a JSON object"),
        ("refuses", "refused age: 'no such attribute'"),
        ("short", "gave 1 report of age for 2 answers"),
        ("no list", "answered age with 5 in place of a list of reports"),
        ("text", "gave '5' as a report of age"),
        ("no reports", "answered age with None in place of a list of reports"),
    ],
)
def test_a_program_that_does_not_answer_is_one_sentence(driver, fault: str, words: str) -> None:
    plan, command = driver(SMALL, fault)
    with AuditedProgram(command, plan) as program, pytest.raises(ProgramError) as raised:
        program.attribute_callables(subject_of(plan))["age"]([20, 30])
    assert words in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize("within", [[], ["sh", "-c", '"$@"; exit', "sh"]])
def test_a_program_that_hangs_is_waited_for_and_ended_with_what_it_started(driver, within: list[str]) -> None:
    plan, command = driver(SMALL, "hangs")
    refused = pytest.raises(ProgramError, match="age within 1 seconds")
    with AuditedProgram([*within, *command], plan) as program, refused:
        program.patience = 1
        program.attribute_callables(subject_of(plan))["age"]([20])


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("no-such-program --fast", "program 'no-such-program --fast' cannot be started: No such file"),
        ("", "program is empty"),
        ("node 'drive.mjs", "is not a command line: No closing quotation"),
        ("echo {}", 'did not answer the survey with {"audit": 1}'),
        ("true", "ended without an answer to the survey (exit code 0)"),
        ("echo hello", "answered the survey with 'hello', which is not JSON"),
    ],
)
def test_a_program_that_is_none_is_one_sentence(program: str, words: str) -> None:
    with pytest.raises(ProgramError) as raised:
        sf.audit(sf.RandomizedResponse(sf.Categories(["a", "b"]), gamma=3), implementation=program)
    assert words in str(raised.value)


def test_no_shell_reads_the_command_line() -> None:
    assert command_of("node 'my drive.mjs' $HOME; ls") == ["node", "my drive.mjs", "$HOME;", "ls"]
    assert command_of("javascript")[0] == "node" and command_of("javascript")[1].endswith("drive.mjs")
