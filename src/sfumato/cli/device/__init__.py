"""`sfumato device`: answer plans as a person does, show what was told to whom, apply models to one's own answers.

A command of the group is a module of this folder with a function of the same name and its ``EXAMPLES``.
"""

from __future__ import annotations

from importlib import import_module

import typer

from sfumato.cli.options import with_options

COMMANDS = ("answer", "ledger", "predict", "page")
EXAMPLES = """Examples:

  sfumato device answer plan.toml --submit https://town.example/submit

  sfumato device ledger

  sfumato device predict model.json"""

device = typer.Typer(
    help="A person's own device: answer plans, see what was told, apply models.", epilog=EXAMPLES, no_args_is_help=True
)
for name in COMMANDS:
    module = import_module(f"{__name__}.{name}")
    device.command(epilog=module.EXAMPLES)(with_options(getattr(module, name)))
