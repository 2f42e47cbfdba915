"""`sfumato check`: is the plan sound, and what does it promise?"""

from __future__ import annotations

from typing import Any

import typer

from sfumato.channels import Mechanism
from sfumato.cli.plans import AsJson, PlanFile, asked, load_plan
from sfumato.cli.terminal import console, emit_json, say
from sfumato.plan import Plan


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: [bold]sfumato check plan.toml[/bold]")(check)


def check(plan: PlanFile, as_json: AsJson = False) -> None:
    """Validate a plan and say in words what each answer can reveal, and all of them together."""
    loaded = load_plan(plan)
    if as_json:
        emit_json(_for_machines(loaded))
    else:
        _in_words(loaded)


def _for_machines(plan: Plan) -> dict[str, Any]:
    attributes = {
        name: {
            "role": attribute.role,
            "domain": str(attribute.domain),
            "channel": None if attribute.channel is None else attribute.channel.to_spec(),
            "guarantee": None if attribute.channel is None else attribute.channel.guarantee().to_dict(),
        }
        for name, attribute in plan.attributes.items()
    }
    return {"plan": plan.name, "attributes": attributes, "total": plan.guarantee().to_dict()}


def _in_words(plan: Plan) -> None:
    screen = console()
    screen.print(f"[bold]{plan.name}[/bold]: {len(plan.attributes)} attributes, {len(asked(plan))} of them randomized")
    for name, attribute in plan.attributes.items():
        channel = attribute.channel
        how = "in the clear" if channel is None else channel.kind
        screen.print(f"\n[bold]{name}[/bold] ({attribute.domain}, {how})")
        _promise(channel)
    screen.print("\n[bold]All answers of one person together[/bold]")
    say(str(plan.guarantee()))


def _promise(channel: Mechanism | None) -> None:
    if channel is None:
        say("Sent as it is, without any protection.")
    elif channel.has_levels:
        for level in channel.levels:
            say(f"If you choose {level!r}: {channel.guarantee(level)}")
    else:
        say(str(channel.guarantee()))
