"""What an attack says of itself."""

from __future__ import annotations

import pytest

from sfumato.privacy.attacks.finding import Finding


def test_a_finding_says_how_far_below_the_stated_privacy_it_is() -> None:
    width = Finding("a", "x", "width", 60, 15, 60)
    hits = Finding("a", "x", "hits", 0.2, 0.9, 0.6)
    assert width.below_stated == 0.75 and hits.below_stated == pytest.approx(0.75)
    assert "75 % below what is stated" in str(width)
    assert "(19 % by knowing the crowd alone)" in str(Finding("a", "x", "width", 48.87, 34.94, 60))
    assert Finding("a", "x", "width", 60, 70, 60).below_stated == 0 == Finding("a", "x", "hits", 0.1, 0.2).below_stated
