import subprocess
import sys
from importlib.metadata import version

import pytest

from sfumato.cli import COMMANDS


def shell(*words, cwd):
    return subprocess.run([sys.executable, "-m", "sfumato.cli", *words], capture_output=True, text=True, cwd=cwd)


def test_the_whole_flow_works_in_a_shell(folder):
    assert shell("randomize", "plan.toml", "people.csv", "-o", "reports.parquet", cwd=folder.path).returncode == 0
    answer = shell("reconstruct", "plan.toml", "reports.parquet", "-a", "district", "--json", cwd=folder.path)
    assert answer.returncode == 0
    assert answer.stdout.startswith("{")
    assert answer.stderr == ""


def test_bad_input_in_a_shell_is_one_line_and_code_2(folder):
    answer = shell("randomize", "plan.toml", "nobody.csv", "-o", "r.csv", cwd=folder.path)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == "sfumato: nobody.csv: no such file\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(sfumato, command):
    answer = sfumato(f"{command} --help")
    assert answer.code == 0
    assert f"sfumato {command}" in answer.out.split("Example", 1)[1]


def test_the_version_is_the_package_s_own(sfumato):
    assert sfumato("--version").out == f"sfumato {version('sfumato')}\n"


def test_no_command_shows_the_help(sfumato):
    assert "reconstruct" in sfumato("").out


def test_a_defect_of_ours_keeps_its_traceback(sfumato, monkeypatch):
    def broken(path):
        raise RuntimeError("a defect")

    monkeypatch.setattr("sfumato.cli.check.load_plan", broken)
    with pytest.raises(RuntimeError, match="a defect"):
        sfumato("check plan.toml")
