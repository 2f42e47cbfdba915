"""HTML and charts for every report: one style, light and dark, any width; readable without script and network."""

from sfumato.pages.html import Html, tag
from sfumato.pages.page import Card, Page, folded, table

__all__ = ["Page", "Card", "folded", "table", "Html", "tag"]
