"""Shipped models are applied in Node and in a browser too: the browser tests say how."""

import os
from pathlib import Path

import pytest

from tests.browser.chromium import chromium, origin, page

__all__ = ["chromium", "origin", "page"]


@pytest.fixture(scope="session")
def models_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the models that several tests apply are saved: one folder for all processes of a run."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shipped-models"
    folder.mkdir(exist_ok=True)
    return folder
