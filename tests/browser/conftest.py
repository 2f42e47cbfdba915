"""The browser tests share one way to reach a browser and a server."""

from tests.browser.chromium import chromium, origin, page

__all__ = ["chromium", "origin", "page"]
