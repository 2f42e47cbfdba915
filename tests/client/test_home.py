"""The device in a folder: one secret, made once; saved and restored with its ledger."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.client import Home
from sfumato.client.home import read_saved, usual_folder

SMOKES = {"categories": ["yes", "no"], "channel": "randomized-response", "gamma": 19}
PLAN = sf.Plan.from_dict({"name": "town", "attributes": {"smokes": SMOKES}})


def test_nothing_is_written_before_it_is_needed(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    assert home.ledger.entries == () and not home.has_outbox and not home.folder.exists()
    assert len(home.secret) == 32 and stat.S_IMODE((home.folder / "secret").stat().st_mode) == 0o600


def test_the_secret_is_made_once_whoever_comes_first(tmp_path: Path) -> None:
    program = (
        "import os, sys; from sfumato.client import Home\n"
        "for _ in range(8): os.fork() or (os.write(1, Home(sys.argv[1]).secret.hex().encode() + b'\\n'), os._exit(0))\n"
        "for _ in range(8): os.wait()"
    )
    told = subprocess.run([sys.executable, "-c", program, str(tmp_path / "home")], capture_output=True, text=True)
    secrets = told.stdout.split()
    assert len(secrets) == 8 and set(secrets) == {Home(tmp_path / "home").secret.hex()}
    assert os.listdir(tmp_path / "home") == ["secret"]


def test_a_secret_that_is_gone_is_not_made_anew_where_something_was_told(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.device.reply(PLAN, {"smokes": "yes"}, collector="t")
    (tmp_path / "secret").unlink()
    with pytest.raises(ValueError, match="the secret of this ledger is gone; restore it"):
        _ = home.secret


def test_a_saved_device_gives_the_same_report_elsewhere(tmp_path: Path) -> None:
    one, two = Home(tmp_path / "one"), Home(tmp_path / "two")
    told = one.device.reply(PLAN, {"smokes": "yes"}, collector="t")
    one.export(tmp_path / "saved.json")
    assert stat.S_IMODE((tmp_path / "saved.json").stat().st_mode) == 0o600
    secret, ledger = read_saved(tmp_path / "saved.json")
    assert secret == one.secret and ledger.entries == one.ledger.entries
    two.restore(tmp_path / "saved.json")
    two.restore(tmp_path / "saved.json")
    assert two.device.reply(PLAN, {"smokes": "yes"}, collector="t") == told and len(two.ledger.entries) == 1


def test_what_either_device_has_told_stays_told(tmp_path: Path) -> None:
    one, two = Home(tmp_path / "one"), Home(tmp_path / "two")
    one.device.reply(PLAN, {"smokes": "yes"}, collector="t")
    two.device.reply(PLAN, {"smokes": "no"}, collector="u")
    two.ledger.set_limit(gamma=19, reports=3)
    two.export(tmp_path / "saved.json")
    one.restore(tmp_path / "saved.json")
    assert one.secret == two.secret and {each.collector for each in one.ledger.entries} == {"t", "u"}
    assert one.ledger.limit == two.ledger.limit and len(one.ledger.receipts) == 2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"device": 1}', "\xff", "null", "[" * 100_000])
def test_what_is_no_saved_device_is_said_and_changes_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "saved.json").write_bytes(text.encode("latin-1"))
    home = Home(tmp_path / "home")
    with pytest.raises(ValueError, match=r"^saved.json: [^\n]+; nothing was changed$"):
        home.restore(tmp_path / "saved.json")
    assert not home.folder.exists()


def test_a_saved_device_is_the_browser_s_form(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.device.reply(PLAN, {"smokes": "yes"}, collector="t")
    home.export(tmp_path / "saved.json")
    saved = json.loads((tmp_path / "saved.json").read_text())
    assert saved == {"device": 1, "secret": home.secret.hex(), "ledger": json.loads(home.ledger.dumps())}


def test_the_usual_folder_follows_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert usual_folder() == tmp_path / "sfumato" == Home().folder
    monkeypatch.delenv("XDG_DATA_HOME")
    for platform, folder in {"linux": ".local/share", "darwin": "Library/Application Support"}.items():
        monkeypatch.setattr(sys, "platform", platform)
        assert usual_folder() == Path.home() / folder / "sfumato"
