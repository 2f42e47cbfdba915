"""What audits of other programs share."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.fixture
def two_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program is started anew twice and not up to eight times: one stream that begins anew shows in the first."""
    monkeypatch.setattr(import_module("sfumato.privacy.audit.program"), "COPIES", (2, 2))
