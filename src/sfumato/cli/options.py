"""Options that belong together are a dataclass of a command: typer reads its fields as options of their own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the fields of its dataclass parameters in their place.

    A parameter annotated with a dataclass gives way to one parameter a field, with the field's annotation and default;
    the command is called with the dataclass made of them.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    if not groups:
        return command
    parameters = dict[str, inspect.Parameter]()
    for name, each in inspect.signature(command).parameters.items():
        if name in groups:
            for field in fields(groups[name]):
                hint = get_type_hints(groups[name], include_extras=True)[field.name]
                parameters[field.name] = each.replace(name=field.name, annotation=hint, default=field.default)
        else:
            parameters[name] = each.replace(annotation=hints[name])

    @wraps(command)
    def called(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters.values()]
    called.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in keyword}
    return called
