"""`sfumato survey` on a store: the life of a survey, who may do what, reports out, copies in and out."""

from __future__ import annotations

import csv
import json
import os
import pty
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from sfumato import cli
from sfumato.channels.baskets import SelectASize
from sfumato.collector.access import refusal_of
from sfumato.collector.form import ReportForm
from sfumato.collector.simulate import draw_people, reports_of
from sfumato.collector.store import Arrival, Store, open_store
from sfumato.domain import Items
from tests.cli.conftest import PLAN
from tests.collector.conftest import postgres

__all__ = ["postgres"]  # the fixture of a temporary cluster


@pytest.fixture
def town(sfumato, folder):
    """A store with a survey and forty reports."""
    assert sfumato("survey open plan.toml").code == 0
    store = open_store(str(folder / "sfumato.db"))
    take(store, "town", 40)
    return store


def take(store: Store, name: str, people: int) -> None:
    """Reports of people who are drawn at random."""
    with store.connected() as connection, connection.transaction():
        survey = connection.require_survey(name)
        form = ReportForm(survey.plan)
        reports = reports_of(survey.plan, draw_people(survey.plan, people, np.random.default_rng(4)))
        rows = [form.pack(dict(zip(reports, row, strict=True))) for row in zip(*reports.values(), strict=True)]
        assert not any(connection.take([Arrival(survey.number, secrets.token_bytes(16), row) for row in rows]))


def listed(sfumato, store: str = "sfumato.db") -> dict:
    return json.loads(sfumato(f"survey list --json --store {store}").out)


def test_a_survey_is_opened_listed_closed_and_opened_again(sfumato, town):
    assert listed(sfumato)["surveys"]["town"]["reports"] == 40
    assert sfumato("survey close town").out == "survey 'town' is closed\n"
    assert listed(sfumato)["surveys"]["town"]["state"] == "closed"
    assert "is open" in sfumato("survey open plan.toml").out
    assert listed(sfumato)["surveys"]["town"]["state"] == "open"
    assert "town" in sfumato("survey list").out


def test_what_is_not_there_is_said(refused, sfumato):
    assert "there is no store" in refused("survey list")
    assert "there is no store" in refused("survey close town --store elsewhere.db")
    assert sfumato("survey open plan.toml").code == 0
    for command in ("close village", "export village -o r.parquet", "delete village --yes", "token village",
                    "invite village --number 3 --link https://town.example/ -o i.csv"):  # fmt: skip
        assert "there is no survey 'village' in this store; there are: town" in refused(f"survey {command}")
    assert "has no report yet" in refused("survey export town -o r.parquet")
    assert "cannot stand in an address" in refused("survey open plan.toml --name metrics")


def test_invitations_are_links_that_only_the_owner_of_the_file_can_read(sfumato, refused, folder):
    assert sfumato("survey open plan.toml --invited").code == 0
    command = "survey invite town --number 30 --link https://town.example/town/ -o invitations.csv"
    assert "30 invitations" in sfumato(command).out
    path = folder / "invitations.csv"
    links = [row["link"] for row in csv.DictReader(path.open())]
    assert len(set(links)) == 30 and all(link.startswith("https://town.example/town/#invitation=") for link in links)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert listed(sfumato)["surveys"]["town"]["invitations"] == [30, 0]
    kept = b"".join(part.read_bytes() for part in folder.path.glob("sfumato.db*"))
    assert not any(link.partition("=")[2].encode() in kept for link in links)
    assert "cannot be made again" in refused(command)
    assert "no address" in refused("survey invite town --number 3 --link town.example -o more.csv")
    assert listed(sfumato)["surveys"]["town"]["invitations"] == [30, 0]


def test_a_survey_for_everybody_has_no_invitations(sfumato, refused, town):
    assert "open to everybody" in refused("survey invite town --number 3 --link https://town.example/ -o i.csv")


def test_a_token_is_shown_once_and_ends_when_it_is_revoked(sfumato, refused, town):
    token = sfumato("survey token town --scope read --scope jobs --days 3").out.strip()
    other = sfumato("survey token").out.strip()
    with town.connected() as connection:
        number = connection.require_survey("town").number
        reasons = [refusal_of(connection, token, number, scope) for scope in ("read", "jobs", "export")]
        assert reasons == ["", "", "scope"]
        assert refusal_of(connection, other, number, "export") == refusal_of(connection, other, None, "metrics") == ""
    found = {each["id"]: each for each in listed(sfumato)["tokens"]}
    assert found[token.partition(".")[0]]["scopes"] == ["read", "jobs"]
    assert found[other.partition(".")[0]]["survey"] is None
    assert sfumato(f"survey revoke {token}").code == 0
    with town.connected() as connection:
        assert refusal_of(connection, token, number, "read") == "token"
    assert "there is no token" in refused("survey revoke 0123456789abcdef")
    assert "did you mean" in refused("survey token town --scope reads")
    assert len(listed(sfumato)["tokens"]) == 1


def test_exported_reports_are_read_by_the_other_commands_and_have_no_order(sfumato, refused, folder, town):
    orders = set()
    for name in ("a.parquet", "b.parquet"):
        assert sfumato(f"survey export town -o {name}").out == f"40 reports written to {name}\n"
        orders.add(str(parquet.read_table(folder / name).to_pylist()))
    assert len(orders) == 2  # the same by chance: 1 in 40!
    assert sfumato("reconstruct plan.toml a.parquet -a district --json").code == 0
    folder.write("other.toml", PLAN.replace("0.7", "0.6"))
    assert "made by the plan 'town'" in refused("reconstruct other.toml a.parquet")
    assert sfumato("survey export town -o c.csv").code == 0
    assert sfumato("reconstruct plan.toml c.csv -a district --json").code == 0


def test_exported_baskets_are_mined_from_either_kind_of_file(sfumato, folder):
    channel = SelectASize.design(Items(100), sizes=[2], gamma=19)
    plan = {"name": "shop", "attributes": {"basket": {"items": 100, **channel.to_spec()}}}
    folder.write("shop.json", json.dumps(plan))
    sfumato("survey open shop.json")
    take(open_store(str(folder / "sfumato.db")), "shop", 300)
    for name in ("b.parquet", "b.csv"):
        assert sfumato(f"survey export shop -o {name}").code == 0
        mined = sfumato(f"itemsets mine shop.json {name} --min-support 0.5 --max-len 1 --json")
        assert mined.code == 0 and "itemsets" in json.loads(mined.out)


def test_a_copy_is_whole_private_and_comes_back(sfumato, refused, folder, town):
    sfumato("survey token town")
    assert sfumato("survey backup -o copy.db").code == 0
    assert stat.S_IMODE((folder / "copy.db").stat().st_mode) == 0o600
    assert sfumato("survey restore copy.db --store back.db").out == "1 survey with 40 reports restored\n"
    assert listed(sfumato, "back.db") == listed(sfumato)
    assert "holds surveys already" in refused("survey restore copy.db --store back.db")
    assert "same file" in refused("survey backup -o sfumato.db")
    assert "no such file" in refused("survey restore nothing.db --store new.db")
    folder.write("text.db", "no database at all, and long enough to look like one\n" * 20)
    assert "is it a store" in refused("survey restore text.db --store new.db")
    Path("empty.db").touch()
    assert "what sfumato survey backup has written" in refused("survey restore empty.db --store new.db")
    assert sfumato("survey backup -o copy.db").code == 0, "a newer copy replaces an older one"


def test_a_survey_is_deleted_only_when_that_is_meant_and_leaves_nothing(sfumato, refused, folder, town):
    with town.connected() as connection:
        number = connection.require_survey("town").number
        some = next(iter(connection.reports(number)))[0]
    assert "was not deleted" in refused("survey delete town")
    assert sfumato("survey delete town --yes").out == "survey 'town' and its 40 reports are deleted\n"
    assert listed(sfumato)["surveys"] == {}
    assert not any(some in part.read_bytes() for part in folder.path.glob("sfumato.db*"))


def test_tidying_keeps_everything(sfumato, town):
    before = listed(sfumato)
    assert sfumato("survey tidy").code == 0
    assert listed(sfumato) == before


def test_the_end_of_a_survey_is_said(sfumato):
    sfumato("survey open plan.toml --keep-days 0 --name fleeting")
    assert "it is deleted on 20" in sfumato("survey close fleeting").out


def test_a_store_moves_to_postgresql_and_back(sfumato, refused, town, postgres):
    address = postgres.new_database("moved")
    assert sfumato(f"survey restore sfumato.db --store {address}").out == "1 survey with 40 reports restored\n"
    assert listed(sfumato, address) == listed(sfumato)
    assert sfumato(f"survey export town -o r.parquet --store {address}").code == 0
    assert sfumato(f"survey close town --store {address}").code == 0
    assert "holds surveys already" in refused(f"survey backup -o {address}")
    assert sfumato(f"survey backup -o back.db --store {address}").code == 0
    assert listed(sfumato, "back.db")["surveys"]["town"]["state"] == "closed"
    assert sfumato(f"survey delete town --yes --store {address}").code == 0
    away = address.replace(address.split(":")[2].split("/")[0], "9")
    assert "PostgreSQL cannot be reached" in refused(f"survey list --store {away}")


def test_deleting_is_asked_at_a_terminal(folder, town):
    pid, handle = pty.fork()
    if pid == 0:
        os.chdir(folder.path)
        os.environ["PYTHONPATH"] = str(Path(cli.__file__).parents[2])
        os.execv(sys.executable, [sys.executable, "-m", "sfumato.cli", "survey", "delete", "town"])
    said = b""
    while b"[y/N]" not in said:
        said += os.read(handle, 1000)
    os.write(handle, b"n\n")
    with suppress(OSError):  # the end, as Linux tells it
        while part := os.read(handle, 1000):
            said += part
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
    assert b"its 40 reports cannot be brought back" in said and b"was not deleted" in said
    with town.connected() as connection:
        assert connection.count_reports(connection.require_survey("town").number) == 40
