import signal
import subprocess
import sys
import time
from importlib.metadata import version

import pytest
from rich.text import Text
from typer.main import get_command

from sfumato.cli import COMMANDS, application


def shell(*words, cwd):
    return subprocess.run([sys.executable, "-m", "sfumato", *words], capture_output=True, text=True, cwd=cwd)


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


def every_text(command):
    """The help of a command, of its options and of those below it."""
    yield from filter(None, [command.help, *(getattr(each, "help", None) for each in command.params)])
    for inner in getattr(command, "commands", {}).values():
        yield from every_text(inner)


def test_nothing_in_brackets_is_taken_for_markup_and_left_out_of_a_help():
    """`--roles` told of a file "with  and column"."""
    texts = list(every_text(get_command(application())))
    assert len(texts) > 100
    assert [Text.from_markup(text).plain for text in texts] == [text.replace("\\[", "[") for text in texts]


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


def loaded_by(*words, cwd) -> set[str]:
    """The modules that a command loads."""
    program = "import sys; from sfumato.cli import run; run(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    answer = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, cwd=cwd)
    return set(answer.stderr.split())


def test_the_version_is_said_before_anything_heavy_is_loaded(folder):
    command = [sys.executable, "-X", "importtime", "-m", "sfumato.cli", "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=folder.path)
    assert answer.stdout.startswith("sfumato ")
    for heavy in ("numpy", "scipy", "typer", "rich", "sfumato.domain"):
        assert f" {heavy}\n" not in answer.stderr


def test_a_command_loads_no_other_command_and_nothing_that_it_does_not_use(folder):
    loaded = loaded_by("check", "plan.toml", cwd=folder.path)
    assert "sfumato.cli.check" in loaded
    assert not {f"sfumato.cli.{name}" for name in COMMANDS if name != "check"} & loaded
    assert not {"pyarrow", "sklearn", "matplotlib", "sfumato.learners", "sfumato.privacy"} & loaded


# It says that it has started when it listens to Ctrl-C: until then Python answers itself.
STARTED = """
import os, signal
from sfumato.cli import main

listen = signal.signal
signal.signal = lambda *how: listen(*how) and os.write(1, b".")
main()
"""


def interrupted(words, seconds, cwd) -> subprocess.CompletedProcess:
    """A command that is sent Ctrl-C so many seconds after it has started."""
    command = [sys.executable, "-c", STARTED, *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd)
    assert process.stdout is not None
    process.stdout.read(1)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@pytest.mark.parametrize("seconds", [0.1, 0.4, 0.8, 1.4])
def test_ctrl_c_ends_with_one_line_whatever_is_going_on(folder, seconds):
    folder.people("many.csv", n=200_000)
    before = folder.names()
    answer = interrupted(["train", "plan.toml", "many.csv", "-o", "model.json"], seconds, folder.path)
    if answer.returncode == 0:
        pytest.fail(f"the command was done within {seconds} s; give it more to do")
    assert answer.returncode == 130
    assert answer.stderr == "sfumato: interrupted; nothing half-written is left behind\n"
    assert folder.names() == before


def test_ctrl_c_in_the_middle_of_a_file_leaves_the_old_one_whole(folder):
    program = (
        "import signal, os, sys; from pathlib import Path; from sfumato.cli import _stop; "
        "from sfumato.tables import write_whole; signal.signal(signal.SIGINT, _stop); "
        "write_whole(Path('kept.txt'), lambda part: (part.write_text('half'), os.kill(os.getpid(), signal.SIGINT)))"
    )
    folder.write("kept.txt", "whole")
    before = folder.names()
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder.path)
    assert (answer.returncode, len(answer.stderr.splitlines())) == (130, 1)
    assert folder.names() == before
    assert (folder / "kept.txt").read_text() == "whole"


def test_run_inside_another_program_says_that_it_was_interrupted(sfumato, monkeypatch):
    def stops(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.cli.check.load_plan", stops)
    answer = sfumato("check plan.toml")
    assert (answer.code, answer.err) == (130, "sfumato: interrupted; nothing half-written is left behind\n")
