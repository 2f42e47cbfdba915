"""The same reports from every maker."""

from __future__ import annotations

from itertools import count

import pytest
from tests.engines import makers

import sfumato as sf


@pytest.fixture(params=makers.MAKERS)
def make(request, tmp_path, monkeypatch):
    """A function from columns to `Reports` held by one engine."""
    makers.small_batches(monkeypatch)
    number = count()

    def made(columns, *args, **options):
        source, engine = makers.MAKERS[request.param](makers.arrow(columns), tmp_path / str(next(number)))
        return sf.Reports(source, *args, **engine, **options)

    return made
