"""The same reports from every maker; Spark's cluster is started by the first test that needs it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

import sfumato as sf
from tests.engines import makers
from tests.engines.cluster import INSTALL_JAVA, Cluster, cluster, has_java


@pytest.fixture(params=makers.MAKERS)
def make(request, tmp_path, monkeypatch):
    """A function from columns to `Reports` held by one engine."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    makers.small_batches(monkeypatch)
    number = count()

    def made(columns, *args, **options):
        source, engine = makers.MAKERS[request.param](makers.arrow(columns), tmp_path / str(next(number)))
        return sf.Reports(source, *args, **engine, **options)

    return made


@pytest.fixture(scope="session")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if not has_java():
        pytest.skip(INSTALL_JAVA)
    own = tmp_path_factory.getbasetemp()
    run = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with cluster(run / "spark") as started, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(started.folder))
        yield started


@pytest.fixture(scope="session")
def spark(spark_cluster: Cluster) -> Iterator[Any]:
    """A session with the cluster."""
    from sfumato.tables.spark import session_at

    session = session_at(spark_cluster.address)
    yield session
    session.stop()
