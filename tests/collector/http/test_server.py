"""Where a collector listens."""

from __future__ import annotations

import pytest

from sfumato.collector.http.server import address_of, listen
from sfumato.collector.settings import Settings


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_it_listens_on_this_machine(host: str) -> None:
    try:
        with listen(Settings(host=host)) as listener:
            assert address_of(listener).startswith(("http://127.0.0.1:", "http://[::1]:"))
    except ValueError as error:
        if host != "::1":
            raise
        pytest.skip(str(error))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "town.example", "192.168.0.1", ""])
def test_it_listens_nowhere_else_unless_that_is_said(host: str) -> None:
    with pytest.raises(ValueError, match="--anywhere"):
        listen(Settings(host=host))


def test_a_taken_port_and_an_impossible_place_are_said() -> None:
    with listen(Settings()) as first:
        port = first.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port} is taken"):
            listen(Settings(port=port))
    with pytest.raises(ValueError, match="cannot be listened on"):
        listen(Settings(host="203.0.113.7", anywhere=True))
