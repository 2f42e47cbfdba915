"""The page of a guarantee for the people who are asked: for each question what is sent and what that can reveal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.guarantee.total import CombinedGuarantee
from sfumato.pages import Html, Page, tag
from sfumato.prose import Voice


def page_of(headings: Mapping[str, str], total: CombinedGuarantee, tested: bool | None = None) -> Page:
    """Build the HTML page (a ``Page``) that tells people, question by question, what is sent and what that can reveal.

    ``headings``: the text of each question by its name. ``total``: the statement for all questions together.
    ``tested``: True: the page says that the program that blurs was audited and does what is stated; False: that it does
    not; None: there was no audit, and the page says nothing.
    """
    say = total.voice
    page = Page(say("page.title"), language=total.language)
    if tested is not None:
        page.note(say("page.good" if tested else "page.bad"), good=tested)
    for name, heading in headings.items():
        page.section(heading).add(guarantee_list(total.parts.get(name), say))
    page.section(say("page.together"))
    return page.items(_held_together(str(total)).splitlines())


def guarantee_list(part: Any, say: Voice) -> Html:
    """Return the guarantee of one question as an HTML list: what is sent, what it can reveal, what else is visible.

    ``part``: the question's guarantee; None: its answer is sent as it is. ``say``: the writer of the language.
    """
    sentences = {
        "page.sent": part.sent if part else say("sent.clear"),
        "page.worst": part.worst if part else say("worst.clear"),
        "page.visible": part.besides if part else say("visible.clear"),
    }
    lines = [(tag("dt", say(head)), tag("dd", _held_together(sentence))) for head, sentence in sentences.items()]
    return tag("dl", *(part for line in lines for part in line), class_="told")


def _held_together(text: str) -> str:
    """Return a text in which a line cannot break between a number and its %: a no-break space stands there."""
    return text.replace(" %", "\u00a0%")
