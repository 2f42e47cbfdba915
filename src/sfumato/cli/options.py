"""Turn a command's dataclass parameters, which group options that belong together, into options that typer reads."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command's function with each dataclass parameter replaced by one parameter for each of its fields.

    So typer makes an option of each field. Such a parameter has the field's annotation and default; the command is
    called with the dataclass made of them.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    if not groups:
        return command
    parameters = dict[str, inspect.Parameter]()
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            for field in fields(groups[name]):
                hint = get_type_hints(groups[name], include_extras=True)[field.name]
                parameters[field.name] = parameter.replace(name=field.name, annotation=hint, default=field.default)
        else:
            parameters[name] = parameter.replace(annotation=hints[name])

    @wraps(command)
    def regrouped(**options: Any) -> None:
        for name, group in groups.items():
            options[name] = group(**{field.name: options.pop(field.name) for field in fields(group)})
        command(**options)

    keyword_only = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters.values()]
    regrouped.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    regrouped.__annotations__ = {each.name: each.annotation for each in keyword_only}
    return regrouped
