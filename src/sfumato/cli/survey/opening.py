"""`sfumato survey open`, `close`, `list` and `delete`: the life of a survey."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import emit_json, say, say_table
from sfumato.cli.plans import AsJson, PlanFile, load_plan, naming
from sfumato.cli.serve.stores import DEFAULT, Invited, KeepDays, Name, StoreAddress, store_at
from sfumato.prose import counted

if TYPE_CHECKING:
    from sfumato.collector.store import Connection, Survey

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
NewName = Annotated[str, typer.Option("--name", help="The survey's name in addresses.  \\[default: the plan's]")]


def open_survey(
    plan: PlanFile,
    name: NewName = "",
    invited: Invited = False,
    keep_days: KeepDays = None,
    address: StoreAddress = DEFAULT,
) -> None:
    """Open a survey, or open a closed one again. From here on its plan does not change."""
    from sfumato.collector.surveys import ensure_survey

    loaded = load_plan(plan)
    with store_at(address, new=True) as store, store.connected() as connection, connection.transaction():
        with naming(plan):
            found = ensure_survey(connection, loaded, name=name, keep_days=keep_days, invited=invited)
        if not found.is_open:
            connection.open_survey(found.name, loaded)
    say(f"survey {found.name!r} is open, with the plan {loaded.origin!r}")


def close(survey: Name, address: StoreAddress = DEFAULT) -> None:
    """Take no more reports. People can still withdraw theirs, and analysts still read."""
    with store_at(address) as store:
        with store.connected() as connection, connection.transaction():
            connection.close_survey(survey)
            found = connection.require_survey(survey)
        store.tidy()
    say(f"survey {survey!r} is closed" + (f"; it is deleted on {found.expires}" if found.expires else ""))


def list_surveys(address: StoreAddress = DEFAULT, as_json: AsJson = False) -> None:
    """What the store holds: surveys with their numbers of reports, and the tokens that are valid."""
    from sfumato.collector.access import valid_tokens

    with store_at(address) as store, store.connected() as connection:
        found = connection.surveys()
        surveys = {each.name: _standing(connection, each) for each in found}
        tokens = valid_tokens(connection)
    names: dict[int | None, str] = {each.number: each.name for each in found}
    if as_json:
        listed = [
            {"id": id, "survey": names.get(reach), "scopes": scopes.split(), "until": end}
            for id, reach, scopes, end in tokens
        ]
        emit_json({"surveys": surveys, "tokens": listed})
        return
    rows = [(name, each["state"], each["opened"], each["plan"][:16], f"{each['reports']:,}", _used(each["invitations"]))
            for name, each in surveys.items()]  # fmt: skip
    say_table(rows, ["survey", "state", "opened", "plan"], ["reports", "invitations used"])
    if tokens:
        say()
        shown = [(id, names.get(reach, "all"), scopes, end[:10]) for id, reach, scopes, end in tokens]
        say_table(shown, ["token", "survey", "scopes", "until"])


def _standing(connection: Connection, each: Survey) -> dict[str, Any]:
    return {
        "state": each.state, "plan": each.plan.identity, "opened": each.opened, "closed": each.closed,
        "deleted": each.expires, "reports": connection.count_reports(each.number),
        "invitations": connection.invitations(each.number) if each.invited else None,
        "model": each.model is not None,
    }  # fmt: skip


def _used(invitations: tuple[int, int] | None) -> str:
    return "" if invitations is None else f"{invitations[1]:,} of {invitations[0]:,}"


def delete(survey: Name, address: StoreAddress = DEFAULT, yes: Yes = False) -> None:
    """Delete a survey and everything of it: plan, reports, invitations, tokens, jobs, model."""
    with store_at(address) as store:
        with store.connected() as connection:
            reports = connection.count_reports(connection.require_survey(survey).number)
        question = f"Survey {survey!r} and its {counted(reports, 'report')} cannot be brought back. Delete?"
        if not yes and not (sys.stdin.isatty() and typer.confirm(question, err=True)):
            raise ValueError(f"survey {survey!r} was not deleted; confirm it, or give --yes")
        with store.connected() as connection, connection.transaction():
            gone = connection.delete_survey(survey)
        store.tidy()
    say(f"survey {survey!r} and its {counted(gone, 'report')} are deleted")
