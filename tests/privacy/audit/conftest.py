"""What audits of other programs share."""

from __future__ import annotations

import sys

import pytest

from sfumato.privacy.audit.program import Program


@pytest.fixture
def two_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program is started anew twice and not up to eight times: one stream that begins anew shows in the first."""
    monkeypatch.setattr(sys.modules[Program.__module__], "COPIES", (2, 2))
