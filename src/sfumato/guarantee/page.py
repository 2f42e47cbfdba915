"""The page for the people who are asked: question by question what is sent, what it can reveal, what is visible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.guarantee.total import CombinedGuarantee
from sfumato.pages import Html, Page, tag
from sfumato.prose import Voice


def page_of(headings: Mapping[str, str], total: CombinedGuarantee, tested: bool | None = None) -> Page:
    """Show the guarantee question by question under the texts of the questions.

    ``tested``: whether the program that blurs was found to do what is stated; None: it was not looked at.
    """
    say = total.voice
    page = Page(say("page.title"), language=total.language)
    if tested is not None:
        page.note(say("page.good" if tested else "page.bad"), good=tested)
    for name, heading in headings.items():
        page.section(heading).add(told_of(total.parts.get(name), say))
    page.section(say("page.together"))
    return page.items(_held_together(str(total)).splitlines())


def told_of(part: Any, say: Voice) -> Html:
    """What is sent of one question, what it can reveal at worst and what is visible besides; None: sent as it is."""
    told = {
        "page.sent": part.sent if part else say("sent.clear"),
        "page.worst": part.worst if part else say("worst.clear"),
        "page.visible": part.besides if part else say("visible.clear"),
    }
    lines = [(tag("dt", say(head)), tag("dd", _held_together(sentence))) for head, sentence in told.items()]
    return tag("dl", *(part for line in lines for part in line), class_="told")


def _held_together(text: str) -> str:
    """No line ends between a number and its %."""
    return text.replace(" %", "\u00a0%")
