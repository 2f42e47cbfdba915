"""`sfumato survey export`, `tidy`, `backup` and `restore`: write reports to files, tidy and copy the store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import say
from sfumato.cli.plans import write_reports
from sfumato.cli.serve.stores import DEFAULT, Name, StoreAddress, store_at
from sfumato.collector.store import file_of
from sfumato.prose import counted
from sfumato.tables import check_source, check_target, write_whole

Output = Annotated[Path, typer.Option("--output", "-o", help="The reports: .csv or .parquet.", show_default=False)]
Copy = Annotated[str, typer.Option("--output", "-o", help="The copy: a file, or postgresql://…", show_default=False)]
Saved = Annotated[str, typer.Argument(metavar="COPY", help="A copy of a store: a file, or postgresql://…")]


def export(survey: Name, output: Output, address: StoreAddress = DEFAULT) -> None:
    """Write the reports of a survey to a file that every other command reads; shuffled, so that no order is left."""
    from sfumato.collector.form import ReportForm

    check_target(output, apart=[file_of(address)])
    with store_at(address) as store, store.connected() as connection:
        stored = connection.require_survey(survey)
        rows = connection.shuffled_reports(stored.number)
    if not rows:
        raise ValueError(f"survey {survey!r} has no report yet")
    write_reports(ReportForm(stored.plan).table(rows), stored.plan, output)
    say(f"{counted(len(rows), 'report')} written to {output}")


def tidy(address: StoreAddress = DEFAULT) -> None:
    """Write the store anew, so that its files show neither the order of arrival nor what was deleted."""
    with store_at(address) as store:
        store.tidy()
    say(f"{store.shown} is tidy")


def backup(output: Copy, address: StoreAddress = DEFAULT) -> None:
    """Copy the whole store, of whichever kind, as it is at one moment; a service may go on writing."""
    path = file_of(output)
    with store_at(address) as store:
        if path is None:
            _copy(address, output)
        else:
            check_target(path, (".db",), apart=[file_of(address)])
            write_whole(path, lambda part: _copy(address, str(part)), mode=0o600)
    say(f"{store.shown} is copied to {path or 'the other database'}")


def restore(copy: Saved, address: StoreAddress = DEFAULT) -> None:
    """Restore a copy into a store that is not there or holds nothing; whole or not at all."""
    path = file_of(copy)
    if path is not None:
        check_source(path, "what sfumato survey backup has written")
    with store_at(address, new=True):
        copied = _copy(copy, address)
    say(f"{counted(copied['surveys'], 'survey')} with {counted(copied['reports'], 'report')} restored")


def _copy(source: str, target: str) -> dict[str, int]:
    """Copy the store (a collector's database) at one address to another; return the number of rows copied, by table."""
    from sfumato.collector.store import copy_store, open_store

    return copy_store(open_store(source), open_store(target))
