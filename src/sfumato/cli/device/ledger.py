"""`sfumato device ledger`: show what was told to whom, set limits, send and withdraw reports, save the device."""

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
    """Show which reports each collector got from this device and what they reveal together.

    Set limits, send waiting reports, withdraw, save a copy.
    """
    device_home = Home(home)
    if restore is not None:
        _restore(device_home, restore, yes)
    if limit is not None or reports is not None:
        device_home.make()
        _set_limit(device_home.ledger, limit, reports)
    if export is not None:
        device_home.export(check_target(export, (".json",)))
    outbox = device_home.outbox() if send or withdraw or device_home.has_outbox else None
    sending = None
    if outbox and (send or withdraw):
        for id in withdraw or []:
            outbox.withdraw(id)
        sending = outbox.send()
    shown, entries = device_home.ledger, outbox.entries() if outbox else []
    if as_json:
        emit_json(_as_data(shown, entries, collector))
        return
    _say_ledger(shown, entries, collector)
    if sending is not None:
        say(f"\n{sending}")
    say_written(export)


def _restore(device_home: Home, path: Path, yes: bool) -> None:
    """Replace the device's secret and ledger (its record of sent reports) by those of a saved file.

    ``yes``: do not ask the person whether to do so.
    """
    secret, _ = read_saved(check_source(path))
    if device_home.ledger.entries and secret != device_home.secret and not yes and not confirmed(REPLACES, "en"):
        raise ValueError("nothing was restored, and nothing has changed")
    device_home.restore(path)


def _set_limit(ledger: Ledger, limit: str | None, reports: int | None) -> None:
    """Set in a device's ledger what a collector may learn, and how many reports of one answer it may get.

    ``limit``: a text such as '5% to 50%', '19' (a factor on the odds) or 'none'. None leaves either as it is.
    """
    bound: dict[str, Any] = {"gamma": ledger.limit.gamma}
    belief = re.fullmatch(r"\s*(\d+\.?\d*)\s*%\s*to\s*(\d+\.?\d*)\s*%\s*", limit or "")
    if belief:
        bound = {"belief": (float(belief[1]) / 100, float(belief[2]) / 100)}
    elif limit is not None:
        bound = {"gamma": None if limit == "none" else _read_factor(limit)}
    ledger.set_limit(**bound, reports=reports or ledger.limit.reports)


def _read_factor(limit: str) -> float:
    """Return a factor on the odds, read from a text such as 19."""
    try:
        return float(limit)
    except ValueError:
        raise ValueError(f"--limit {limit} is unclear; write '5% to 50%', a factor such as 19, or none") from None


def _collectors(ledger: Ledger, collector: str | None) -> list[str]:
    """Return a list of collectors (who receives reports): the one named, or all that the ledger names (None)."""
    return [collector] if collector else list(dict.fromkeys(each.collector for each in ledger.entries))


def _say_ledger(ledger: Ledger, entries: list[Entry], collector: str | None) -> None:
    """Print what each collector was told and what that reveals, the person's limit, and the reports not yet sent.

    ``ledger``: the device's record of sent reports; ``entries``: of the outbox; ``collector``: only this one, None:
    all.
    """
    if not ledger.entries:
        say(str(ledger.total()))
    for whom in _collectors(ledger, collector):
        total = ledger.total(whom)
        say(f"{total}\n")
        rows = [(each.day, each.survey, each.attribute, each.level or "", _odds(each)) for each in total.entries]
        say_table(rows, ["day", "survey", "question", "level"], ["odds at most"])
        say()
    say(f"Your limit: {ledger.limit}.")
    if entries:
        say()
    for entry in entries:
        say(f"{entry.id}  {entry.state}  {entry.submit}  {entry.note}".rstrip())


def _odds(entry: LedgerEntry) -> str:
    """Return the largest factor of one report on the odds of anything, as text; it is infinite for a clear answer."""
    return in_words(math.inf if entry.exact_gamma is None else entry.exact_gamma, up=True)


def _as_data(ledger: Ledger, entries: list[Entry], collector: str | None) -> dict[str, Any]:
    """Return a device's ledger as a dict for JSON: the totals by collector, the limit and the reports in the outbox.

    ``entries``: of the outbox; ``collector``: only this one, None: all.
    """
    totals = {whom: ledger.total(whom).to_dict() for whom in _collectors(ledger, collector)}
    reports = [{name: getattr(each, name) for name in ("id", "plan", "submit", "state", "note")} for each in entries]
    gamma, most = ledger.limit.gamma, ledger.limit.reports
    limit = {"gamma": None if gamma is None else str(gamma), "reports": most, "words": str(ledger.limit)}
    return {"collectors": totals, "limit": limit, "reports": reports}
