"""Pages of HTML with charts in one style, light and dark, for any width; readable without script and network."""

from sfumato.pages.html import Html, tag
from sfumato.pages.page import Card, Page, folded, table

__all__ = ["Page", "Card", "folded", "table", "Html", "tag"]
