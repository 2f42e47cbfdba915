"""Shipped models are applied in Node and in a browser too: the browser tests say how."""

from pathlib import Path

import pytest
from tests.browser.chromium import chromium, origin, page

__all__ = ["chromium", "origin", "page"]


@pytest.fixture(scope="session")
def models_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the models that several tests apply are fitted to, once."""
    return tmp_path_factory.mktemp("models")
