"""`sfumato survey`: open, close and delete surveys, issue invitations and tokens, export reports, back the store up.

Every command works on the store, also while a service runs on it, which notices within a second.
"""

from __future__ import annotations

import typer

from sfumato.cli.survey import access, copies, opening

EXAMPLES = """Examples:

  sfumato survey open plan.toml --invited

  sfumato survey invite town --number 100 --link https://town.example/town/ -o invitations.csv

  sfumato survey export town -o reports.parquet"""

survey = typer.Typer(
    help="The surveys of a store: open, invite, export, close, back up, delete.", epilog=EXAMPLES, no_args_is_help=True
)
COMMANDS = (
    ("open", opening.open_survey, "plan.toml --name town-2026 --keep-days 90"),
    ("close", opening.close, "town"),
    ("list", opening.list_surveys, "--json"),
    ("invite", access.invite, "town --number 100 --link https://town.example/town/ -o invitations.csv"),
    ("token", access.token, "town --scope read --scope jobs --days 30"),
    ("revoke", access.revoke, "0123456789abcdef"),
    ("export", copies.export, "town -o reports.parquet"),
    ("tidy", copies.tidy, "--store surveys.db"),
    ("backup", copies.backup, "-o 2026-11-16.db"),
    ("restore", copies.restore, "2026-11-16.db --store postgresql://collector@localhost/surveys"),
    ("delete", opening.delete, "town"),
)
for name, command, arguments in COMMANDS:
    survey.command(name, epilog=f"Example: [bold]sfumato survey {name} {arguments}[/bold]")(command)
