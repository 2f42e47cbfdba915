"""Every public name says what it is for: all its parameters, and an example (which `test_doctests` runs)."""

import inspect
import re

import pytest

import sfumato as sf

MADE_BY_OTHERS = ("Channel",)
"""A base class, whose example is each of its subclasses."""


@pytest.mark.parametrize("name", sf.__all__)
def test_a_public_name_explains_its_parameters(name: str) -> None:
    public = getattr(sf, name)
    text = inspect.getdoc(public) or ""
    parameters = [each for each in inspect.signature(public).parameters if each not in ("args", "kwargs", "options")]
    assert [each for each in parameters if not re.search(rf"\b{each}\b", text)] == []


@pytest.mark.parametrize("name", [name for name in sf.__all__ if name not in MADE_BY_OTHERS])
def test_a_public_name_has_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(getattr(sf, name)) or "")
