"""`sfumato survey open`, `close`, `list` and `delete`: open surveys, list them, and end them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import emit_json, say, say_table
from sfumato.cli.plans import AsJson, PlanFile, load_plan
from sfumato.cli.serve.stores import DEFAULT, Invited, KeepDays, Name, StoreAddress, store_at
from sfumato.prose import counted
from sfumato.tables import naming

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
            stored = ensure_survey(connection, loaded, name=name, keep_days=keep_days, invited=invited)
        if not stored.is_open:
            connection.open_survey(stored.name, loaded)
    say(f"survey {stored.name!r} is open, with the plan {loaded.origin!r}")


def close(survey: Name, address: StoreAddress = DEFAULT) -> None:
    """Close a survey: it takes no more reports. People can still withdraw theirs, and analysts still read."""
    with store_at(address) as store:
        with store.connected() as connection, connection.transaction():
            connection.close_survey(survey)
            stored = connection.require_survey(survey)
        store.tidy()
    say(f"survey {survey!r} is closed" + (f"; it is deleted on {stored.expires}" if stored.expires else ""))


def list_surveys(address: StoreAddress = DEFAULT, as_json: AsJson = False) -> None:
    """List the surveys of the store with their numbers of reports, and the tokens that are valid."""
    from sfumato.collector.access import valid_tokens

    with store_at(address) as store, store.connected() as connection:
        stored = connection.surveys()
        surveys = {each.name: _as_data(connection, each) for each in stored}
        tokens = valid_tokens(connection)
    names: dict[int | None, str] = {each.number: each.name for each in stored}
    if as_json:
        listed = [
            {"id": id, "survey": names.get(number), "scopes": scopes.split(), "until": end}
            for id, number, scopes, end in tokens
        ]
        emit_json({"surveys": surveys, "tokens": listed})
        return
    rows = [(name, each["state"], each["opened"], each["plan"][:16], f"{each['reports']:,}", _used(each["invitations"]))
            for name, each in surveys.items()]  # fmt: skip
    say_table(rows, ["survey", "state", "opened", "plan"], ["reports", "invitations used"])
    if tokens:
        say()
        valid = [(id, names.get(number, "all"), scopes, end[:10]) for id, number, scopes, end in tokens]
        say_table(valid, ["token", "survey", "scopes", "until"])


def _as_data(connection: Connection, survey: Survey) -> dict[str, Any]:
    """Return a survey's state and its numbers of reports and invitations as a dict for JSON."""
    return {
        "state": survey.state, "plan": survey.plan.identity, "opened": survey.opened, "closed": survey.closed,
        "deleted": survey.expires, "reports": connection.count_reports(survey.number),
        "invitations": connection.invitations(survey.number) if survey.invited else None,
        "model": survey.model is not None,
    }  # fmt: skip


def _used(invitations: tuple[int, int] | None) -> str:
    """Return how many invitations are used as text, from (issued, used); "" for a survey without invitations."""
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
            deleted = connection.delete_survey(survey)
        store.tidy()
    say(f"survey {survey!r} and its {counted(deleted, 'report')} are deleted")
