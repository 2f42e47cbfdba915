"""HTML and charts for every report: one style, light and dark, any width, no script, no network."""

from sfumato.pages.charts import distribution, scatter, to_svg
from sfumato.pages.html import Html, tag
from sfumato.pages.page import Card, Page

__all__ = ["Page", "Card", "Html", "tag", "distribution", "scatter", "to_svg"]
