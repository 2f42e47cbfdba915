"""Write HTML: text of the class ``Html`` stands as it is, all other text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

VOID = ("br", "hr", "img", "input", "link", "meta")  # elements without an end tag (HTML Standard, "Void elements")


class Html(str):
    """Text that is HTML already, so that it stands in a page as it is; all other text is escaped."""

    __slots__ = ()


def safe(*parts: object) -> Html:
    """Join parts to one text of HTML; parts that are not `Html` are escaped, parts that are None left out."""
    return Html("".join(part if isinstance(part, Html) else escape(str(part)) for part in parts if part is not None))


def tag(name: str, *parts: object, **attributes: object) -> Html:
    """Return an HTML element of this name with its parts inside; parts that are not `Html` are escaped.

    ``class_`` is the attribute class; attributes that are None are left out.

    >>> tag("p", "a < b", class_="lead")
    '<p class="lead">a &lt; b</p>'
    """
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    opened = "".join([f"<{name}", *(f' {key}="{escape(str(value))}"' for key, value in given.items()), ">"])
    return Html(opened if name in VOID else f"{opened}{safe(*parts)}</{name}>")


def paragraphs(text: str) -> Html:
    """Return a text as HTML paragraphs, one for each line; empty lines are left out."""
    return safe(*(tag("p", line) for line in text.splitlines() if line.strip()))


def bullets(lines: Iterable[object]) -> Html:
    """Return lines as an HTML list with bullets; empty HTML where there are no lines."""
    items = [tag("li", line) for line in lines]
    return tag("ul", *items) if items else Html()


def breakable(name: object) -> Html:
    """Return a name as HTML in which a line may break after each underscore, so that long names fit narrow columns.

    >>> breakable("hours_per_week")
    'hours_<wbr>per_<wbr>week'
    """
    return Html(safe(name).replace("_", "_<wbr>"))
