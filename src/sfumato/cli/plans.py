"""A plan from a file, and what the commands ask of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.channels import Channel, Choice
from sfumato.domain import Categories
from sfumato.plan import Plan
from sfumato.plan.document import LEVEL_SUFFIX

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="The plan: a .toml or .json file.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def load_plan(path: Path) -> Plan:
    """The plan in a file; every error starts with the file's name."""
    if path.is_dir() or not path.exists():
        raise ValueError(f"{path}: {'is a folder; name a file' if path.is_dir() else 'no such file'}")
    with naming(path):
        return Plan.load(path)


@contextmanager
def naming(subject: object) -> Iterator[None]:
    """Errors about bad input inside are prefixed with what they are about."""
    try:
        yield
    except (ValueError, TypeError) as error:
        text = str(error)
        raise type(error)(text if text.startswith(str(subject)) else f"{subject}: {text}") from None


def text_columns(plan: Plan) -> list[str]:
    """Columns of text, which must not be read as numbers from CSV: categories that are all text, and level names."""
    labels = [name for name, attribute in plan.attributes.items() if _is_text(attribute.domain)]
    return labels + [name + LEVEL_SUFFIX for name in asked(plan) if isinstance(plan.attributes[name].channel, Choice)]


def _is_text(domain: Any) -> bool:
    return isinstance(domain, Categories) and all(isinstance(label, str) for label in domain.labels)


def asked(plan: Plan, names: list[str] | None = None) -> dict[str, Channel | Choice]:
    """The channels of the attributes that have one: all of them, or those named."""
    randomized = {name: one.channel for name, one in plan.attributes.items() if one.channel is not None}
    if not names:
        return randomized
    for name in names:
        if name not in plan.attributes:
            raise ValueError(f"attribute {name!r} is not in the plan; it has {', '.join(plan.attributes)}")
        if name not in randomized:
            raise ValueError(f"attribute {name!r} is sent in the clear; there is nothing to reconstruct")
    return {name: randomized[name] for name in names}


def columns_of(channels: dict[str, Channel | Choice]) -> list[str]:
    """The columns that reports of these attributes need: their own, and the level where people chose one."""
    levels = [name + LEVEL_SUFFIX for name, channel in channels.items() if isinstance(channel, Choice)]
    return [*channels, *levels]


def check_columns(table: Any, wanted: list[str], path: Path) -> None:
    """Every wanted column is there; a missing one is named beside what there is."""
    for name in wanted:
        if name not in table.column_names:
            raise ValueError(f"{path}: column {name!r} is missing; the file has {', '.join(table.column_names)}")
