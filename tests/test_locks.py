"""The locks hold everything that is declared, by hash, and name no place to fetch it from."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
RUN_TIME = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]


def name_of(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def declared(extra: str) -> set[str]:
    """The names behind an extra, with the extras that it includes."""
    names: set[str] = set()
    for requirement in EXTRAS[extra]:
        inner = re.match(r"sfumato\[(.*)\]", requirement)
        names |= set().union(*map(declared, inner[1].split(","))) if inner else {name_of(requirement)}
    return names


def locked(path: Path) -> dict[str, str]:
    """Each locked package with its block of text."""
    blocks = re.split(r"\n(?=\S)", path.read_text())
    return {name_of(block): block for block in blocks if block.strip()}


@pytest.mark.parametrize("extra", ["dev", "bench", "collector"])
def test_a_lock_holds_every_declared_package_by_hash(extra):
    packages = locked(ROOT / "requirements" / f"{extra}.txt")
    assert (declared(extra) | {name_of(one) for one in RUN_TIME}) - set(packages) == set()
    assert [name for name, block in packages.items() if "==" not in block or "--hash=sha256:" not in block] == []


@pytest.mark.parametrize("path", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.name)
def test_no_lock_names_a_place_to_fetch_from(path):
    assert re.findall(r"\w+://|--(?:extra-)?index|--find-links|@ ", path.read_text()) == []


def test_all_is_every_extra_that_users_may_want_but_the_half_gigabyte_of_spark():
    wanted = set(EXTRAS) - {"dev", "docs", "bench", "spark"}
    assert declared("all") >= set().union(*map(declared, wanted))
