"""The examples in docstrings run."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import sfumato

SOURCE = Path(sfumato.__file__).parent
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_examples_in_docstrings_run(path):
    name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    outcome = doctest.testmod(import_module(name))
    assert outcome.failed == 0
    assert outcome.attempted > 0
