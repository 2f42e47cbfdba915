"""Text that is HTML already, and everything else, which is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

VOID = ("br", "hr", "img", "input", "link", "meta")


class Html(str):
    """Text that may stand in a page as it is."""

    __slots__ = ()


def safe(*parts: object) -> Html:
    """The parts one after the other; those that are not `Html` are escaped, None is nothing."""
    return Html("".join(part if isinstance(part, Html) else escape(str(part)) for part in parts if part is not None))


def tag(name: str, *parts: object, **attributes: object) -> Html:
    """An element; ``class_`` is the attribute class, and attributes that are None are left out.

    >>> tag("p", "a < b", class_="lead")
    '<p class="lead">a &lt; b</p>'
    """
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    opened = "".join([f"<{name}", *(f' {key}="{escape(str(value))}"' for key, value in given.items()), ">"])
    return Html(opened if name in VOID else f"{opened}{safe(*parts)}</{name}>")


def paragraphs(text: str) -> Html:
    """One paragraph a line."""
    return safe(*(tag("p", line) for line in text.splitlines() if line.strip()))


def bullets(lines: Iterable[object]) -> Html:
    items = [tag("li", line) for line in lines]
    return tag("ul", *items) if items else Html()


def breakable(name: object) -> Html:
    """A name that may go on in the next line after an underscore.

    >>> breakable("hours_per_week")
    'hours_<wbr>per_<wbr>week'
    """
    return Html(safe(name).replace("_", "_<wbr>"))
