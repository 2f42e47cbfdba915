"""`sfumato serve`: run a collector on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import emit_json, say
from sfumato.cli.plans import AsJson, load_plan
from sfumato.cli.serve.stores import DEFAULT, Invited, KeepDays, StoreAddress, store_at
from sfumato.tables import naming

if TYPE_CHECKING:
    from sfumato.collector import Collector

EXAMPLES = """Examples:

  sfumato serve plan.toml

  sfumato serve town.toml village.toml --store surveys.db --port 8080

  sfumato serve --store postgresql://collector@localhost/surveys      [dim]what is open there[/dim]"""

Plans = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[PLAN]…", help="Plans: .toml or .json; a new one is opened as a survey of its name."),
]
Host = Annotated[str, typer.Option(help="Where to listen.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 is any free one.")]
Anywhere = Annotated[bool, typer.Option("--anywhere", help="Listen beyond this machine; a proxy with TLS is in front.")]
NoToken = Annotated[bool, typer.Option("--no-token", help="Make no analyst's token, where output is logged.")]


def serve(
    plans: Plans = None,
    address: StoreAddress = DEFAULT,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    invited: Invited = False,
    keep_days: KeepDays = None,
    anywhere: Anywhere = False,
    no_token: NoToken = False,
    as_json: AsJson = False,
) -> None:
    """Serve surveys until stopped with Ctrl-C: take reports, show the dashboard, send the model to devices."""
    from sfumato.collector import Settings, UnservablePlanError, start

    loaded = {path: load_plan(path) for path in plans or []}
    settings = Settings(
        host=host, port=port, anywhere=anywhere, invited=invited, keep_days=keep_days, token=not no_token, signals=True
    )
    with store_at(address, new=bool(loaded)) as store:
        try:
            collector = start(loaded.values(), store, settings)
        except UnservablePlanError as error:
            with naming(next(path for path, plan in loaded.items() if plan is error.plan)):
                raise ValueError(str(error)) from None
        with collector:
            _say_links(_links(collector), as_json)
            collector.wait()
    if not as_json:
        say("stopped")


def _links(collector: Collector) -> dict[str, Any]:
    """Return the addresses of a running collector as a dict: for respondents, analysts and the dashboard.

    With them stand the analyst's token and the names of closed surveys.
    """
    pages = {each.name: collector.page(each.name) for each in collector.surveys}
    return {
        "address": collector.address, "respondents": pages,
        "analysts": {name: f"{page}api/" for name, page in pages.items()},
        "dashboard": f"{collector.address}/login" + (f"#{collector.token}" if collector.token else ""),
        "token": collector.token, "closed": [each.name for each in collector.surveys if not each.is_open],
    }  # fmt: skip


def _say_links(links: dict[str, Any], as_json: bool) -> None:
    """Print the addresses of a running collector at once, as JSON or for a person."""
    emit_json(links) if as_json else _show_links(links)
    sys.stdout.flush()  # a program that reads the output waits for it


def _show_links(links: dict[str, Any]) -> None:
    """Print each address of a collector on a line of its own, which no terminal breaks, and what to do next."""
    rows = [("respondents", link) for name, link in links["respondents"].items() if name not in links["closed"]]
    rows += [("dashboard", links["dashboard"]), *(("analysts", link) for link in links["analysts"].values())]
    for what, link in [*rows, ("described in", f"{links['address']}/openapi.json")]:
        print(f"{what:12} {link}")
    if not links["respondents"]:
        say("There is no survey yet; open one with: sfumato survey open plan.toml")
    for name in links["closed"]:
        say(f"Survey {name!r} is closed; open it again with: sfumato survey open")
    if links["token"]:
        print(f"{'token':12} {links['token']}")
        say("The token is the analyst's, is valid for 30 days and is not shown again.")
    else:
        say("A token for an analyst: sfumato survey token")
    say("Stop with Ctrl-C.")
