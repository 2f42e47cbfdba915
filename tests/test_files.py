"""Files are whole, keep their modes, and what a killed run left is removed by the next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.tables.files import held_alone, write_whole

KILLED = """
import os, signal, sys
from pathlib import Path
from sfumato.tables.files import write_whole
write_whole(Path(sys.argv[1]), lambda part: (part.write_text("half"), os.kill(os.getpid(), signal.SIGKILL)))
"""


def write(path: Path, text: str = "whole") -> None:
    write_whole(path, lambda part: part.write_text(text))


def test_a_file_keeps_its_mode_and_a_new_one_gets_the_usual(tmp_path: Path) -> None:
    for mode in (0o600, 0o644, 0o664, 0o440):
        place = tmp_path / f"{mode:o}.csv"
        place.write_text("old")
        place.chmod(mode)
        write(place)
        assert place.read_text() == "whole" and place.stat().st_mode & 0o7777 == mode
    before = os.umask(0o027)
    try:
        write(tmp_path / "new.csv")
    finally:
        os.umask(before)
    assert (tmp_path / "new.csv").stat().st_mode & 0o7777 == 0o640


def test_a_part_is_never_more_readable_than_the_file(tmp_path: Path) -> None:
    place, modes = tmp_path / "private.csv", []
    place.write_text("old")
    place.chmod(0o600)
    write_whole(place, lambda part: (part.write_text("new"), modes.append(part.stat().st_mode & 0o777)))
    assert modes == [0o600]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    write(tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "real.csv").read_text() == "whole"


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "a.csv")], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    write(tmp_path / "b.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["b.csv"]


def test_what_another_run_still_writes_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".notes-abc.part.csv").write_text("mine")

    def meanwhile(part: Path) -> None:
        part.write_text("first")
        write(tmp_path / "b.csv")
        assert part.exists()

    write_whole(tmp_path / "a.csv", meanwhile)
    assert (tmp_path / "a.csv").read_text() == "first"
    assert (tmp_path / ".notes-abc.part.csv").exists()


def test_a_failed_run_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("old")
    with pytest.raises(RuntimeError):
        write_whole(tmp_path / "a.csv", lambda part: (_ for _ in ()).throw(RuntimeError()))
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_a_file_is_held_by_one_at_a_time_and_nothing_else_is_left_beside_it(tmp_path: Path) -> None:
    place = tmp_path / "held"
    with held_alone(place) as first, held_alone(place) as second:
        assert (first, second) == (True, False)
    with held_alone(place) as again:
        assert again
    assert [each.name for each in tmp_path.iterdir()] == ["held"] and place.stat().st_mode & 0o777 == 0o600
