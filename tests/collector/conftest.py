"""Both stores run the same tests: SQLite in a file, PostgreSQL in a temporary cluster."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfumato.collector.store import Store, open_store
from tests.collector.postgres import Cluster, cluster


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    with cluster() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    server: Cluster = request.getfixturevalue("postgres")
    return server.new_database(f"t{secrets.token_hex(6)}")


@pytest.fixture
def store(address: str) -> Store:
    return open_store(address)
