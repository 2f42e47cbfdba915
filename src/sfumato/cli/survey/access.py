"""`sfumato survey invite`, `token` and `revoke`: issue invitations, and issue and end tokens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from sfumato.cli import note, say
from sfumato.cli.serve.stores import DEFAULT, Name, StoreAddress, store_at
from sfumato.tables import check_target, write_whole

if TYPE_CHECKING:
    from sfumato.collector.store import Connection, Survey

FRAGMENT = "#invitation="
"""What stands before the code in a link: browsers do not send what follows #."""

Number = Annotated[int, typer.Option(min=1, max=1_000_000, help="How many.")]
Link = Annotated[str, typer.Option(help="The respondent's page, https://…/survey/", show_default=False)]
Output = Annotated[Path, typer.Option("--output", "-o", help="The links, one a row: .csv.", show_default=False)]
OneOrAll = Annotated[str | None, typer.Argument(metavar="[SURVEY]", help="The survey; without it, all of them.")]
Scopes = Annotated[
    list[str] | None, typer.Option("--scope", help="read, export, jobs, ship, metrics; repeatable.  \\[default: all]")
]
Days = Annotated[int, typer.Option(min=1, max=3660, help="How long it is valid.")]
Token = Annotated[str, typer.Argument(metavar="TOKEN", help="The token, or its part before the dot.")]


def invite(survey: Name, number: Number, link: Link, output: Output, address: StoreAddress = DEFAULT) -> None:
    """Make single-use invitations: links to hand out. The store keeps only their hashes, apart from reports."""
    check_target(output, (".csv",))
    if output.exists():
        raise ValueError(f"{output}: is there, and invitations cannot be made again; write to another file")
    parts = urlsplit(link)
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.fragment:
        raise ValueError(f"--link {link} is no address of a page; give for example https://town.example/{survey}/")
    with store_at(address) as store, store.connected() as connection, connection.transaction():
        _write_invitations(connection, connection.require_survey(survey), number, link, output)
    say(f"{number:,} invitations written to {output}; whoever reads it can use them")


def _write_invitations(connection: Connection, survey: Survey, number: int, link: str, output: Path) -> None:
    """Issue single-use invitations, and write their links into a file that only its owner can read.

    ``number``: how many; ``link``: the respondent's page; ``output``: the file.
    """
    from sfumato.collector.access import issue_invitations

    codes = issue_invitations(connection, survey, number)
    text = "\n".join(["link", *(f"{link}{FRAGMENT}{code}" for code in codes)]) + "\n"
    write_whole(output, lambda part: part.write_text(text, encoding="utf-8"), mode=0o600)


def token(
    survey: OneOrAll = None, scope: Scopes = None, days: Days = 30, address: StoreAddress = DEFAULT
) -> None:
    """Make a token for an analyst. It is shown once; the store keeps its hash."""
    from sfumato.collector.access import SCOPES, issue_token

    with store_at(address) as store, store.connected() as connection, connection.transaction():
        stored = None if survey is None else connection.require_survey(survey)
        new = issue_token(connection, stored, scope or SCOPES, days)
    say(new)
    note(f"valid for {days} days; it is not shown again. End it with: sfumato survey revoke {new.partition('.')[0]}")


def revoke(token: Token, address: StoreAddress = DEFAULT) -> None:
    """End a token, at once."""
    id = token.partition(".")[0]
    with store_at(address) as store, store.connected() as connection, connection.transaction():
        if not connection.revoke_token(id):
            raise ValueError(f"there is no token {id!r}; `sfumato survey list` has those that are valid")
    say(f"token {id} is revoked")
