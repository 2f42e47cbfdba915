"""Debian's Chromium and a loopback server of static files: what tests of the device's JavaScript run in.

Where the form of it that draws no windows is installed, it is taken: opening a page takes a fifth of the time.

Another folder takes the fixtures by a ``conftest.py`` like that of ``tests/browser``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

__all__ = ["ROOT", "STATIC", "chromium", "chromium_program", "in_node", "origin", "page", "serving"]

ROOT = Path(__file__).parents[2]
STATIC = "src/sfumato/client/static"
"""The folder of the device's JavaScript, below the root and below ``origin``."""


class Files(SimpleHTTPRequestHandler):
    """A folder's files, never kept in a cache; nothing is printed."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".js": "text/javascript", ".mjs": "text/javascript"}

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving(folder: Path, handler: type[SimpleHTTPRequestHandler] = Files) -> Iterator[str]:
    """The address of a server of the folder's files on a free port of 127.0.0.1."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """The address of a server of the whole repository: relative imports between tests and sources hold in a browser."""
    with serving(ROOT) as address:
        yield address


def chromium_program() -> str:
    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if found is None and not os.environ.get("CI"):
        pytest.skip("there is no chromium here; on Debian: apt-get install chromium")
    assert found, "there is no chromium; requirements/debian.txt names the package"
    return found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_program())
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page with a storage of its own; an error that no script caught fails the test."""
    context = chromium.new_context()
    opened, errors = context.new_page(), []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert not errors, errors


def in_node(script: Path, *arguments: str, given: Any = None, seconds: float = 300) -> Any:
    """What a script printed as JSON; ``given`` is its standard input as JSON."""
    node = shutil.which("node")
    if node is None and not os.environ.get("CI"):
        pytest.skip("there is no node here; on Debian: apt-get install nodejs")
    assert node, "there is no node; requirements/debian.txt names the package"
    done = subprocess.run(
        [node, str(script), *arguments], input=json.dumps(given), capture_output=True, text=True, timeout=seconds
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
