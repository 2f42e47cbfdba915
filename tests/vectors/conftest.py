"""The cases are run in Node and in a browser: the browser tests say how."""

from tests.browser.chromium import chromium, origin, page

__all__ = ["chromium", "origin", "page"]
