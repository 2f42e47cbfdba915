"""Methods of release by name, and their options from texts such as ``fewest=20``, for the command line and for
files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from sfumato.microdata.methods.donors import Donors
from sfumato.microdata.methods.gadp import Gadp
from sfumato.microdata.methods.ib04 import IB04
from sfumato.microdata.methods.method import Method, check_name
from sfumato.microdata.methods.swap import Swap
from sfumato.microdata.methods.treatment import Treatment

METHODS: dict[str, type[Donors] | type[IB04] | type[Gadp] | type[Swap]] = {  # every method by its name
    one.name: one for one in (Donors, IB04, Gadp, Swap)
}


def read_method(name: str, settings: Iterable[str] = ()) -> tuple[Method, Treatment]:
    """Make a method and a treatment from a name and texts of options.

    ``name``: "donors", "ib04", "gadp" or "swap". ``settings``: texts NAME=VALUE, the value as in TOML (a word needs no
    quotes); NAME.COLUMN=VALUE is for one column. Options of `Treatment` may be among them.

    >>> read_method("donors", ["fewest=20", "gaps=keep"])[0].fewest
    20
    >>> read_method("ib04", ["leaves.max_depth=3"])[0].leaves
    {'max_depth': 3}
    """
    check_name("method", name, METHODS)
    method, given = METHODS[name], read_settings(settings)
    own, common = ([field.name for field in fields(kind)] for kind in (method, Treatment))
    unknown = [option for option in given if option not in (*own, *common)]
    if unknown:
        has = f"{name} has {', '.join(sorted(own))}; every method has {', '.join(common)}"
        raise ValueError(f"method {name} has no option {unknown[0]!r}; {has}")
    treatment = Treatment(**{option: value for option, value in given.items() if option in common})
    return method(**{option: value for option, value in given.items() if option in own}), treatment


def read_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Read the options of a method from texts NAME=VALUE as a mapping from name to value."""
    options: dict[str, Any] = {}
    for text in settings:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not (name and sign and value):
            raise ValueError(f"setting {text!r} is not NAME=VALUE; write such as labels=ppt")
        for option, part in _read(name, value, text).items():
            both = isinstance(part, dict) and isinstance(options.get(option), dict)
            options[option] = {**options[option], **part} if both else part
    return options


def _read(name: str, value: str, text: str) -> dict[str, Any]:
    """Read one option as TOML reads it, as a mapping of one entry; a value that is no TOML is a word.

    ``text``: the whole setting, for errors.
    """
    value = value.lower() if value in ("True", "False") else value
    for written in (value, json.dumps(value)):
        try:
            return tomllib.loads(f"{name} = {written}")
        except tomllib.TOMLDecodeError:
            continue
    raise ValueError(f"setting {text!r} is not NAME=VALUE; write such as labels=ppt, or fewest.\"my column\"=20")
