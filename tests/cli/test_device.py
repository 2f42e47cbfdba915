"""The device at a terminal: asked in the plan's language, shown before it is sent, remembered, queued, sent once."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.client import Home, Ledger, survey
from tests.client.collector import Collector, collecting

TOWN = """
name = "town"
description = "A few questions about the town."
language = "{language}"

[attributes.age]
low = 20
high = 80
integer = true
channel = "square-wave"
gamma = 19
question = "How old are you?"

[attributes.district]
categories = ["north", "south", "east"]
channel = "choice"
default = "shy"
levels.open = {{channel = "randomized-response", gamma = 19}}
levels.shy = {{channel = "randomized-response", gamma = 3}}

[attributes.kids]
categories = [0, 1, 2, 3]
channel = "randomized-response"
gamma = 19
missing = "refuse"
"""
HOUSE = {"age": 47, "district": "south", "kids": 2}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


@pytest.fixture
def town(folder, monkeypatch):
    """The folder with a plan of three questions, answers to them, and a device of its own."""
    monkeypatch.setenv("SFUMATO_HOME", str(folder / "home"))
    monkeypatch.setattr("sfumato.client.outbox.LONGEST_BACKOFF", 0.01)
    folder.write("town.toml", TOWN.format(language="en"))
    folder.write("me.json", json.dumps(HOUSE))
    return folder


@pytest.fixture
def typing(sfumato, monkeypatch) -> Callable[..., Any]:
    """Run a command and type these lines into it."""

    def command(line: str, *typed: str):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{each}\n" for each in typed)))
        return sfumato(line)

    return command


def ledger(folder) -> Ledger:
    return Home(folder / "home").ledger


# --- answer -------------------------------------------------------------------------------------------------------


def test_questions_are_asked_until_they_are_answered_and_nothing_but_the_report_is_sent(typing, town, collector):
    typed = ["", "old", "17", "47.5", "47", "5", "South", "2", "high", "open", "", "7", "2", "perhaps", "y"]
    answer = typing(f"device answer town.toml --submit {collector.submit}", *typed[1:])
    assert answer.code == 0, answer.err
    assert answer.err.count("This cannot be the answer. A whole number from 20 to 80.") == 3
    assert answer.err.count("This cannot be the answer.") == 7 and "high" not in answer.err
    assert "Please answer: this survey needs an answer here." in answer.err
    (report,) = collector.store.values()
    assert set(json.loads(report)) == {"age", "district", "district.level", "kids"}
    assert json.loads(report)["district.level"] == "open"
    assert f"accepted as report {next(iter(collector.store))}" in answer.out
    assert "What will be sent" in answer.out and "multiply the odds of anything" in answer.out
    assert {each.attribute for each in ledger(town).entries} == {"age", "district", "kids"}
    assert ledger(town).entries[0].collector == collector.submit.removesuffix("/submit")


@pytest.mark.parametrize(("language", "words"), [("de", "Eine ganze Zahl von 20 bis 80."), ("fr", "Un nombre entier")])
def test_questions_are_asked_in_the_plan_s_language(typing, town, language, words):
    town.write("town.toml", TOWN.format(language=language))
    yes = {"de": "ja", "fr": "oui"}[language]
    answer = typing("device answer town.toml --collector t -o r.json", "47", "1", "", "2", yes)
    assert answer.code == 0, answer.err
    assert words in answer.err and f"({yes}/" in answer.err and (town / "r.json").exists()


def test_an_empty_line_is_no_answer_where_that_is_permitted(typing, town):
    answer = typing("device answer town.toml --collector t -o r.json", "", "", "shy", "0", "yes")
    assert answer.code == 0, answer.err
    report = json.loads((town / "r.json").read_text())["reports"][0]["report"]
    assert report["age"] is None and report["district"] is None and report["kids"] is not None


def test_whoever_says_no_tells_nothing(typing, town, collector):
    answer = typing(f"device answer town.toml --answers me.json --submit {collector.submit} -o r.json", "no")
    assert answer.code == 1 and "nothing was remembered or sent" in answer.err
    assert not (town / "r.json").exists() and collector.requests == [] and ledger(town).entries == ()


def test_the_end_of_the_input_is_an_interruption(typing, town, collector):
    answer = typing(f"device answer town.toml --submit {collector.submit}", "47", "1")
    assert answer.code == 130 and answer.err.endswith("sfumato: interrupted; nothing half-written is left behind\n")
    assert collector.requests == [] and ledger(town).entries == ()


def test_the_same_answers_are_the_same_report_and_sent_once(sfumato, town, collector):
    line = f"device answer town.toml --answers me.json --submit {collector.submit} --yes --json"
    first, again = (json.loads(sfumato(line).out) for _ in range(2))
    assert first == again and first["state"] == "sent" and len(collector.requests) == 1
    assert first["total"]["gamma"] and len(first["total"]["told"]) == 3


def test_a_changed_answer_is_refused_beyond_the_limit_and_nothing_is_sent(sfumato, refused, town, collector):
    line = f"device answer town.toml --answers {{}} --submit {collector.submit} --yes"
    assert sfumato(line.format("me.json")).code == 0
    town.write("other.json", json.dumps({**HOUSE, "age": 48}))
    assert "already holds as many reports of age as you permit" in refused(line.format("other.json"))
    assert len(collector.requests) == 1 and len(ledger(town).entries) == 3


def test_no_true_value_is_in_any_request(sfumato, town, collector):
    labels = [f"true answer {i}" for i in range(500)]
    plan = {"attributes": {"a": {"categories": labels, "channel": "randomized-response", "keep": 0}}}
    town.write("plan.json", json.dumps(plan))
    town.write("a.json", json.dumps({"a": "true answer 77"}))
    assert sfumato(f"device answer plan.json --answers a.json --submit {collector.submit} --yes").code == 0
    secret = Home(town / "home").secret.hex()
    assert "true answer 77" not in collector.requests[0] and secret not in collector.requests[0]


def test_a_level_is_chosen_on_the_command_line_and_stays(sfumato, typing, town):
    line = "device answer town.toml --answers me.json --collector t -o r.json --yes --json"
    assert json.loads(sfumato(f"{line} --level district=open").out)["report"]["district.level"] == "open"
    assert json.loads(sfumato(line).out)["report"]["district.level"] == "open"
    answer = typing("device answer town.toml --collector t -o r.json", "47", "south", "2", "yes")
    assert answer.code == 0 and "already told t at the level open" in answer.err


def test_answers_come_from_a_row_of_a_table_too(sfumato, refused, town):
    town.write("me.csv", "age,district,district.level,kids\n47,south,open,2\n")
    line = "device answer town.toml --collector t -o r.json --yes --json --answers"
    assert json.loads(sfumato(f"{line} me.csv").out)["report"]["district.level"] == "open"
    town.write("two.csv", "age,district,kids\n47,south,2\n48,south,2\n")
    assert "holds 2 people; a device answers for one" in refused(f"{line} two.csv")


def test_numbers_together_and_baskets_are_asked_too(typing, town):
    together = {"columns": {"height": {"low": 100, "high": 220}, "weight": {"low": 30, "high": 200}}}
    noise = {"channel": "correlated-gaussian", "covariance": [[100, 50], [50, 100]], "ratio": 1.0}
    design = sf.SelectASize.design(sf.Items(["tea", "milk", "bread", "beer"]), sizes=[2], gamma=19, up_to=2)
    basket = {"items": ["tea", "milk", "bread", "beer"], **design.to_spec()}
    town.write("both.json", json.dumps({"attributes": {"body": {**together, **noise}, "basket": basket}}))
    typed = ["180", "90.5", "tea", "tea, gin", "1, milk", "yes"]
    answer = typing("device answer both.json --collector t -o r.json", *typed)
    assert answer.code == 0, answer.err
    assert answer.err.count("Give 2 of them.") == 3
    report = json.loads((town / "r.json").read_text())["reports"][0]["report"]
    assert set(report) == {"height", "weight", "basket"} and report["basket"]["size"] == 2


def test_offline_reports_wait_and_are_sent_later(sfumato, town, collector):
    answer = sfumato(f"device answer town.toml --answers me.json --submit {collector.submit} --yes --offline")
    assert answer.code == 0 and "send it later with: sfumato device ledger --send" in answer.out
    assert collector.requests == []
    answer = sfumato("device ledger --send")
    assert "1 report accepted" in answer.out and len(collector.store) == 1


@pytest.mark.parametrize("fault", ["before", "after", "nonsense", "closed"])
def test_a_collector_that_fails_leaves_the_report_queued(sfumato, town, collector, fault):
    collector.faults = [fault] * 5
    answer = sfumato(f"device answer town.toml --answers me.json --submit {collector.submit} --yes")
    assert answer.code == 0 and "is queued (127.0.0.1:" in answer.out and answer.err == ""
    assert "1 report accepted" in sfumato("device ledger --send").out
    assert len(collector.store) == 1 and set(collector.acknowledged.values()) == {1}


def test_a_refusal_is_said_with_its_reason(sfumato, town, collector):
    collector.refuse = lambda id, report: "the survey is closed"
    line = f"device answer town.toml --answers me.json --submit {collector.submit} --yes"
    answer = sfumato(line)
    assert answer.code == 1 and "was refused: the survey is closed" in answer.out
    assert sfumato(line).code == 1 and len(collector.requests) == 1


BAD = [
    ("device answer gone.toml --collector t -o r.json", "gone.toml: no such file"),
    ("device answer survey.json --collector t -o r.json", "survey.json: is the survey that browsers read"),
    ("device answer town.toml", "the report has nowhere to go"),
    ("device answer town.toml -o r.json", "nobody is named who receives the report"),
    ("device answer town.toml --submit town.example", "reports cannot be sent to this address"),
    ("device answer town.toml --submit http://town.example/", "can be read by everybody on the way; use https"),
    ("device answer town.toml --collector t -o r.csv", "unknown extension '.csv'"),
    ("device answer town.toml --answers me.json --collector t -o me.json", "is the same file as me.json"),
    ("device answer town.toml --answers gone.json --collector t -o r.json", "gone.json: no such file"),
    ("device answer town.toml --answers cut.json --collector t -o r.json", "cut.json: the file is not a whole JSON"),
    ("device answer town.toml --answers list.json --collector t -o r.json", "list.json: is not an object of answers"),
    ("device answer town.toml --answers old.json --collector t -o r.json", "age: the value is outside"),
    ("device answer town.toml --answers more.json --collector t -o r.json", "column 'shoes' has no channel"),
    ("device answer town.toml --answers me.json --level age=x --collector t -o r.json", "nothing to choose for 'age'"),
    ("device answer town.toml --answers me.json --level district=x --collector t -o r.json", "level 'x' is unknown"),
    ("device ledger --limit much", "--limit much is unclear"),
    ("device ledger --withdraw 77", "no report has the id 77"),
    ("device ledger --restore gone.json", "gone.json: no such file"),
    ("device ledger --restore me.json", "me.json: not a saved device"),
    ("device ledger --export me.txt", "unknown extension '.txt'"),
    ("device predict null.json", "null.json: not a model of sfumato"),
    ("device predict town.toml", "town.toml: the file is not a whole JSON file"),
]


@pytest.mark.parametrize(("line", "words"), BAD, ids=[words for _, words in BAD])
def test_bad_input_is_one_line_and_nothing_is_written(refused, town, line, words):
    town.write("null.json", "null")
    town.write("survey.json", json.dumps(survey(sf.Plan.load(town / "town.toml"))))
    town.write("cut.json", '{"age": 93')
    town.write("list.json", "[93]")
    town.write("old.json", json.dumps({**HOUSE, "age": 93}))
    town.write("more.json", json.dumps({**HOUSE, "shoes": 93}))
    (town / "home").mkdir()
    told = refused(line)
    assert words in told and "93" not in told
    assert ledger(town).entries == ()


def test_a_damaged_home_is_a_sentence_and_left_as_it_is(sfumato, refused, town):
    line = "device answer town.toml --answers me.json --submit http://127.0.0.1:9/ --offline --yes"
    assert sfumato(line).code == 0
    told = {"secret": "secret: is not 32 or more", "ledger.json": "ledger.json: ", "outbox.sqlite": "outbox.sqlite: "}
    for name, words in told.items():
        place = town / "home" / name
        whole = place.read_bytes()
        place.write_bytes(b"\xff damaged " + whole[:30])
        assert words in refused(line)
        assert place.read_bytes() == b"\xff damaged " + whole[:30]
        place.write_bytes(whole)
    (town / "home" / "secret").unlink()
    assert "the secret of this ledger is gone" in refused(line)


def test_what_the_device_keeps_is_its_owners_only(sfumato, town):
    assert sfumato("device answer town.toml --answers me.json --submit http://127.0.0.1:9/ --offline --yes").code == 0
    home = town / "home"
    assert {each.name for each in home.iterdir()} == {"secret", "ledger.json", "outbox.sqlite"}
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in home.iterdir()} == {0o600}


# --- ledger -------------------------------------------------------------------------------------------------------


def test_the_ledger_says_what_was_told_to_whom(sfumato, town, collector):
    assert "Nothing has been told." in sfumato("device ledger").out and not (town / "home").exists()
    sfumato(f"device answer town.toml --answers me.json --submit {collector.submit} --yes")
    sfumato("device answer town.toml --answers me.json --collector city -o r.json --yes")
    out = sfumato("device ledger").out
    whom = collector.submit.removesuffix("/submit")
    assert f"You have told {whom} your blurred or clear answers to age, district and kids." in out
    assert "You have told city your" in out
    assert "Your limit: reports of each answer for one collector: at most 1." in out
    assert "sent" in out and next(iter(collector.store)) in out
    assert whom not in sfumato("device ledger --collector city").out.partition("Your limit")[0]
    told = json.loads(sfumato("device ledger --json").out)
    assert list(told["collectors"]) == [whom, "city"] and told["reports"][0]["state"] == "sent"


def test_a_limit_is_set_and_respected(sfumato, refused, town):
    line = "device answer town.toml --answers me.json --collector t -o r.json --yes"
    assert "odds multiplied by at most 19" in sfumato('device ledger --limit 5%to50% --reports 2').out
    assert "could multiply the odds about you by up to" in refused(line)
    assert json.loads(sfumato("device ledger --limit none --json").out)["limit"] == {
        "gamma": None, "reports": 2, "words": "reports of each answer for one collector: at most 2"
    }  # fmt: skip
    assert "at most 1,083" in sfumato("device ledger --limit 1083").out
    assert sfumato(line).code == 0


def test_a_report_is_withdrawn_by_its_id(sfumato, town, collector):
    sfumato(f"device answer town.toml --answers me.json --submit {collector.submit} --yes")
    (id,) = collector.store
    answer = sfumato(f"device ledger --withdraw {id}")
    assert answer.code == 0 and "1 report withdrawn" in answer.out and collector.store == {}
    assert len(ledger(town).entries) == 3  # what was told stays told


def test_secret_and_ledger_move_to_another_device_and_give_the_same_report(sfumato, typing, town, collector):
    line = f"device answer town.toml --answers me.json --submit {collector.submit} --yes --json"
    first = json.loads(sfumato(line).out)
    assert sfumato("device ledger --export device.json").code == 0
    saved = json.loads((town / "device.json").read_text())
    assert set(saved) == {"device", "secret", "ledger"} and stat.S_IMODE((town / "device.json").stat().st_mode) == 0o600
    assert sfumato("device ledger --restore device.json --home other").code == 0
    again = json.loads(sfumato(f"{line} --home other").out)
    assert again["report"] == first["report"] and again["id"] == first["id"]


def test_restoring_over_a_device_that_has_told_something_is_asked_and_forgets_nothing(sfumato, typing, town):
    line = "device answer town.toml --answers me.json --collector {} -o r.json --yes --home {}"
    sfumato(line.format("t", "one"))
    sfumato(line.format("u", "two"))
    sfumato("device ledger --export two.json --home two")
    secret = Home(town / "one").secret
    answer = typing("device ledger --restore two.json --home one", "no")
    assert answer.code == 2 and Home(town / "one").secret == secret
    assert sfumato("device ledger --restore two.json --home one --yes").code == 0
    assert Home(town / "one").secret == Home(town / "two").secret != secret
    assert {each.collector for each in Home(town / "one").ledger.entries} == {"t", "u"}


@pytest.mark.parametrize(
    "change",
    [{"device": 2}, {"secret": "xyz"}, {"secret": "ab" * 8}, {"secret": 7}, {"ledger": {}}, {"more": 1}],
    ids=str,
)
def test_a_wrong_secret_file_changes_nothing(sfumato, refused, town, change):
    sfumato("device answer town.toml --answers me.json --collector t -o r.json --yes")
    sfumato("device ledger --export device.json")
    town.write("wrong.json", json.dumps({**json.loads((town / "device.json").read_text()), **change}))
    before = {each.name: each.read_bytes() for each in (town / "home").iterdir()}
    assert "nothing was changed" in refused("device ledger --restore wrong.json --yes")
    assert {each.name: each.read_bytes() for each in (town / "home").iterdir()} == before


# --- predict ------------------------------------------------------------------------------------------------------


@pytest.fixture
def model(sfumato, folder):
    ages = np.tile(np.arange(20, 80), 50)
    folder.people("people.parquet", n=3000, age=ages, group=np.where(ages < 45, "A", "B"))
    assert sfumato("randomize plan.toml people.parquet -o reports.parquet --seed 1").code == 0
    assert sfumato("train plan.toml reports.parquet -o model.json --method byclass --holdout 0").code == 0
    return folder


def test_a_model_is_applied_to_one_s_own_answers(typing, sfumato, model):
    model.write("me.json", json.dumps({"age": 30, "elevel": 2, "district": "north"}))
    told = json.loads(sfumato("device predict model.json --answers me.json --json").out)
    assert told["group"] == "A" and sum(told["probabilities"].values()) == pytest.approx(1)
    assert told["rule"] and all(isinstance(each, str) for each in told["rule"])
    answer = typing("device predict model.json", "30", "2", "north")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("group: A (") and told["rule"][0] in answer.out
    assert "Nothing of this is sent." in answer.err


def test_bad_answers_to_a_model_are_refused_without_their_value(refused, model):
    model.write("me.json", json.dumps({"age": 93, "elevel": 2, "district": "north"}))
    assert "93" not in refused("device predict model.json --answers me.json")
    model.write("less.json", json.dumps({"age": 33}))
    assert "is missing" in refused("device predict model.json --answers less.json")


# --- a real terminal ----------------------------------------------------------------------------------------------


def terminal(line: str, cwd, *typed: str, interrupt: bool = False) -> tuple[int, str]:
    """A command in a terminal of its own: every line is typed when a question stands there."""
    pid, handle = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execvp(sys.executable, [sys.executable, "-m", "sfumato.cli", *line.split()])
    said, answers, until = "", list(typed), time.monotonic() + 120
    while time.monotonic() < until:
        if select.select([handle], [], [], 0.2)[0]:
            try:
                said += os.read(handle, 4096).decode(errors="replace")
            except OSError:
                break
        elif said.endswith(": ") and answers:
            os.write(handle, answers.pop(0).encode() + b"\n")
        elif said.endswith(": ") and interrupt:
            os.write(handle, b"\x03")
    else:
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said


def test_a_person_answers_in_a_terminal(town, collector):
    typed = ["47", "2", "shy", "2", "yes"]
    code, said = terminal(f"device answer town.toml --submit {collector.submit}", town.path, *typed)
    assert code == 0, said
    assert "How old are you?" in said and "sent, and accepted as report" in said and len(collector.store) == 1


def test_ctrl_c_at_a_question_ends_with_one_line(town, collector):
    code, said = terminal(f"device answer town.toml --submit {collector.submit}", town.path, "47", interrupt=True)
    assert code == 130
    assert said.rstrip().splitlines()[-1].endswith("sfumato: interrupted; nothing half-written is left behind")
    assert collector.requests == [] and ledger(town).entries == ()


def test_a_killed_answer_is_given_again_as_the_same_report(town, collector):
    collector.delay = 0.2
    line = f"device answer town.toml --answers me.json --submit {collector.submit} --yes"
    for wait in (0.3, 0.9, 1.5, 2.1):  # a slow machine needs so long; a quick one is done before
        process = subprocess.Popen([sys.executable, "-m", "sfumato.cli", *line.split()], cwd=town.path,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        with suppress(subprocess.TimeoutExpired):
            process.wait(wait)
        process.kill()
        process.wait()
    done = subprocess.run([sys.executable, "-m", "sfumato.cli", *line.split()], cwd=town.path, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert len(collector.store) == 1 and len(ledger(town).entries) == 3
