"""Options that belong together reach a command as one value."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import pytest

from sfumato.cli.options import with_options


@dataclass(frozen=True)
class Place:
    name: str = "here"
    far: bool = False


def go(who: str, *, place: Place, times: int = 1) -> None:
    seen.append((who, place, times))


seen: list[object] = []


def test_fields_stand_in_the_place_of_their_dataclass() -> None:
    command = with_options(go)
    assert list(inspect.signature(command).parameters) == ["who", "name", "far", "times"]
    assert inspect.signature(command).parameters["name"].default == "here"
    command(who="anna", name="there", far=True, times=2)
    assert seen == [("anna", Place("there", True), 2)]


@pytest.mark.parametrize("command", [print, lambda: None])
def test_a_command_without_dataclasses_is_left_as_it_is(command: object) -> None:
    assert with_options(command) is command  # type: ignore[arg-type]
