"""The options of commands that work on a store: its address, a survey's name, and options of new surveys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sfumato.collector.store import Store

DEFAULT = "sfumato.db"
"""The file of the store if none is named."""

StoreAddress = Annotated[
    str, typer.Option("--store", envvar="SFUMATO_STORE", help="The store: a file, or postgresql://user@host/database.")
]
Name = Annotated[str, typer.Argument(metavar="SURVEY", help="The survey's name.", show_default=False)]
Invited = Annotated[bool, typer.Option("--invited", help="Take reports with a single-use invitation only.")]
KeepDays = Annotated[
    int | None, typer.Option(min=0, help="Delete the survey so many days after it is closed.  \\[default: never]")
]


@contextmanager
def store_at(address: str, *, new: bool = False) -> Iterator[Store]:
    """Open the store (a collector's database) at an address, for a with block. ValueError: there is none to open.

    ``new``: a SQLite file that is not there is made; it is removed if the block fails before it has a survey.
    """
    from sfumato.collector.store import file_of, open_store

    path = file_of(address)
    missing = path is not None and not path.exists()
    if missing and not new:
        raise ValueError(f"{path}: there is no store; make one with: sfumato survey open plan.toml --store {path}")
    store = open_store(address)
    try:
        yield store
    except Exception:
        if missing and path is not None and not _holds_surveys(store):
            remove_store(path)
        raise


def remove_store(path: Path) -> None:
    """Remove a collector's database in SQLite: its file, and those that SQLite and the collector put beside it."""
    for ending in ("", "-wal", "-shm", ".lock"):
        Path(f"{path}{ending}").unlink(missing_ok=True)


def _holds_surveys(store: Store) -> bool:
    """Return whether a store, a collector's database, has any survey."""
    with store.connected() as connection:
        return bool(connection.revisions())
