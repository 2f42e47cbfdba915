"""The base class of channels with a window of likely reports: randomized response, the square wave and piecewise.

Around the true code lies a window of w report codes; each has probability γ·q, each of the m others q, and
q = 1/(γ·w + m). The program draws this by one ``Window`` step, whose γ in whole numbers is at most the one given.
"""

from __future__ import annotations

from typing import Any

from sfumato.channels.base import Channel
from sfumato.channels.program import Window


class WindowChannel(Channel):
    """A channel that reports a code in a window around the true one γ times as likely as any other; a base class.

    Its program is one ``Window`` step; its parameters are kept as they were given, for plans.
    """

    window: Window
    _given: dict[str, Any]

    def steps(self) -> tuple[Window]:
        return (self.window,)

    def parameters(self) -> dict[str, Any]:
        return {name: value for name, value in self._given.items() if value is not None}
