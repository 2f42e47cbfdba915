"""`sfumato device ledger`: what was told to whom, what may be told, and the reports on their way."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import emit_json, say, say_table, say_written
from sfumato.cli.device.asking import Folder, Yes, confirmed
from sfumato.cli.plans import AsJson
from sfumato.client import Entry, Home, Ledger, LedgerEntry
from sfumato.client.home import read_saved
from sfumato.prose import in_words
from sfumato.tables import check_source, check_target

REPLACES = "This device has told things under a secret of its own, which will be replaced. Restore?"
EXAMPLES = """Examples:

  sfumato device ledger --limit "5% to 50%" --reports 2

  sfumato device ledger --send

  sfumato device ledger --withdraw 0123456789abcdef0123456789abcdef

  sfumato device ledger --export device.json       [dim]secret and ledger; keep the file to yourself[/dim]"""

Whom = Annotated[str | None, typer.Option("--collector", help="Only what this one was told.")]
NewLimit = Annotated[
    str | None, typer.Option("--limit", help='What a collector may learn: "5% to 50%", a factor on the odds, or none.')
]
MostReports = Annotated[
    int | None, typer.Option("--reports", min=1, help="How many reports of one answer a collector may get.")
]
Send = Annotated[bool, typer.Option("--send", help="Send what is waiting.")]
Withdraw = Annotated[list[str] | None, typer.Option(help="Take a report back, by its id; may be repeated.")]
Export = Annotated[Path | None, typer.Option(help="Save secret and ledger: .json. Keep the file to yourself.")]
Restore = Annotated[Path | None, typer.Option(help="Take over a saved secret and ledger: .json.")]


def ledger(
    collector: Whom = None,
    limit: NewLimit = None,
    reports: MostReports = None,
    send: Send = False,
    withdraw: Withdraw = None,
    export: Export = None,
    restore: Restore = None,
    home: Folder = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """What was told to whom and what it adds up to; limits, waiting reports, withdrawal, a copy of the device."""
    place = Home(home)
    if restore is not None:
        _restore(place, restore, yes)
    if limit is not None or reports is not None:
        place.make()
        _set_limit(place.ledger, limit, reports)
    if export is not None:
        place.export(check_target(export, (".json",)))
    outbox = place.outbox() if send or withdraw or place.has_outbox else None
    sending = None
    if outbox and (send or withdraw):
        for id in withdraw or []:
            outbox.withdraw(id)
        sending = outbox.send()
    book, entries = place.ledger, outbox.entries() if outbox else []
    if as_json:
        emit_json(_plain_ledger(book, entries, collector))
        return
    _tell_ledger(book, entries, collector)
    if sending is not None:
        say(f"\n{sending}")
    say_written(export)


def _restore(place: Home, path: Path, yes: bool) -> None:
    secret, _ = read_saved(check_source(path))
    if place.ledger.entries and secret != place.secret and not yes and not confirmed(REPLACES, "en"):
        raise ValueError("nothing was restored, and nothing has changed")
    place.restore(path)


def _set_limit(book: Ledger, limit: str | None, reports: int | None) -> None:
    how: dict[str, Any] = {"gamma": book.limit.gamma}
    belief = re.fullmatch(r"\s*(\d+\.?\d*)\s*%\s*to\s*(\d+\.?\d*)\s*%\s*", limit or "")
    if belief:
        how = {"belief": (float(belief[1]) / 100, float(belief[2]) / 100)}
    elif limit is not None:
        how = {"gamma": None if limit == "none" else _factor(limit)}
    book.set_limit(**how, reports=reports or book.limit.reports)


def _factor(limit: str) -> float:
    try:
        return float(limit)
    except ValueError:
        raise ValueError(f"--limit {limit} is unclear; write '5% to 50%', a factor such as 19, or none") from None


def _collectors(book: Ledger, collector: str | None) -> list[str]:
    return [collector] if collector else list(dict.fromkeys(each.collector for each in book.entries))


def _tell_ledger(book: Ledger, entries: list[Entry], collector: str | None) -> None:
    if not book.entries:
        say(str(book.total()))
    for whom in _collectors(book, collector):
        total = book.total(whom)
        say(f"{total}\n")
        rows = [(each.day, each.survey, each.attribute, each.level or "", _odds(each)) for each in total.entries]
        say_table(rows, ["day", "survey", "question", "level"], ["odds at most"])
        say()
    say(f"Your limit: {book.limit}.")
    if entries:
        say()
    for each in entries:
        say(f"{each.id}  {each.state}  {each.submit}  {each.note}".rstrip())


def _odds(entry: LedgerEntry) -> str:
    return in_words(math.inf if entry.exact_gamma is None else entry.exact_gamma, up=True)


def _plain_ledger(book: Ledger, entries: list[Entry], collector: str | None) -> dict[str, Any]:
    told = {whom: book.total(whom).to_dict() for whom in _collectors(book, collector)}
    sent = [{name: getattr(each, name) for name in ("id", "plan", "submit", "state", "note")} for each in entries]
    limit = {"gamma": None if book.limit.gamma is None else str(book.limit.gamma), "reports": book.limit.reports}
    return {"collectors": told, "limit": {**limit, "words": str(book.limit)}, "reports": sent}
