"""What the pages and the files of `deploy/` tell people to run is what there is."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command

from sfumato.cli import application

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
PAGES = [ROOT / "README.md", ROOT / "docs" / "how-to" / "run-a-collector.md"]
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def told() -> list[str]:
    """Every command line that these pages and files have."""
    lines = [line for page in PAGES for block in BLOCK.findall(page.read_text()) for line in block.splitlines()]
    found = [line.partition("#")[0].strip() for line in lines if line.startswith("sfumato ")]
    started = unit()["ExecStart"].removeprefix("/opt/sfumato/bin/")
    words = json.loads(re.search(r"^CMD (.*)$", container(), re.MULTILINE)[1])
    return [*found, started, shlex.join(["sfumato", *words])]


def unit() -> dict[str, str]:
    parser = configparser.RawConfigParser(strict=False, comment_prefixes="#")
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / "sfumato.service")
    return dict(parser["Service"])


def container() -> str:
    return (DEPLOY / "Containerfile").read_text()


@pytest.mark.parametrize("line", told())
def test_every_command_that_is_told_can_be_given(line: str) -> None:
    command, words = get_command(application()), shlex.split(line)[1:]
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context("sfumato", words)


def test_the_services_print_no_token_and_are_nobody() -> None:
    assert "--no-token" in unit()["ExecStart"] and "--no-token" in container()
    assert unit()["User"] == "sfumato" and unit()["NoNewPrivileges"] == "yes" and unit()["UMask"] == "0077"
    assert re.search(r"^USER 10001$", container(), re.MULTILINE)


def test_what_the_container_copies_is_there() -> None:
    for line in re.findall(r"^COPY (?!--from)(.*)$", container(), re.MULTILINE):
        for name in line.split()[:-1]:
            assert (ROOT / name).exists(), name


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_understands_the_unit() -> None:
    done = subprocess.run(
        ["systemd-analyze", "verify", str(DEPLOY / "sfumato.service")], capture_output=True, text=True, check=False
    )
    complaints = [line for line in done.stderr.splitlines() if "is not executable" not in line and "sfumato" in line]
    assert complaints == []


def test_the_proxy_writes_nothing_down_and_ends_what_is_slow() -> None:
    text = (DEPLOY / "nginx.conf").read_text()
    servers = text.count("server {")
    assert text.count("access_log off;") == text.count("error_log /dev/null emerg;") == servers == 2
    for setting in ("client_header_timeout", "client_body_timeout", "limit_req ", "limit_conn ", "session_tickets off"):
        assert setting in text
    for kept_in_memory in ("client_body_buffer_size 1m;", "proxy_max_temp_file_size 0;"):
        assert kept_in_memory in text, "reports and exports would lie in its temporary files"
