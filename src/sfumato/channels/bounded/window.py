"""Channels with one window of likely reports, all others equally unlikely: randomized response and the square wave.

Around the true code lies a window of w report codes; each has probability γ·q, each of the m others q, and
q = 1/(γ·w + m). Both are one ``Window`` step, whose γ in whole numbers is at most the one asked for.
"""

from __future__ import annotations

from typing import Any

from sfumato.channels.base import Channel
from sfumato.channels.program import Window


class WindowChannel(Channel):
    """What both share: the one step and the parameters as given."""

    window: Window
    _given: dict[str, Any]

    def steps(self) -> tuple[Window]:
        return (self.window,)

    def parameters(self) -> dict[str, Any]:
        return {name: value for name, value in self._given.items() if value is not None}
