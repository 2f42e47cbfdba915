"""What `sfumato device` takes: one person's answers, asked in the plan's language or read from a file, and options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from sfumato.channels import Mechanism
from sfumato.cli.plans import naming, read_answers
from sfumato.domain import Interval, Items, Row
from sfumato.plan import Attribute, Plan
from sfumato.prose import Voice, visible, voice
from sfumato.tables import check_source, read_json

MOST_LISTED = 40
"""So many categories are listed with numbers to choose by; of more, one is typed."""

Folder = Annotated[
    Path | None,
    typer.Option("--home", envvar="SFUMATO_HOME", help="Where the device is kept.  \\[default: your data folder]"),
]
AnswersFile = Annotated[
    Path | None,
    typer.Option("--answers", help="One person's answers instead of questions: .json, or one row of .csv or .parquet."),
]
Insecure = Annotated[bool, typer.Option("--insecure", help="Plain HTTP, too: everybody on the way can read along.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def tell(*lines: str) -> None:
    """Lines of the conversation, on stderr: standard output is for results."""
    for line in lines:
        typer.echo(visible(line), err=True)


def confirmed(question: str, language: str) -> bool:
    say = voice(language)
    yes, no = say("ask.yes"), say("ask.no")
    while True:
        reply = _typed(f"{question} ({yes}/{no})").casefold()
        if reply and (yes.startswith(reply) or no.startswith(reply)):
            return yes.startswith(reply)


def ask_answer(each: Attribute, language: str) -> dict[str, Any]:
    """The answer to one question by column, asked until it is one; None where it is left out."""
    say = voice(language)
    needed = getattr(each.channel, "missing", "") == "refuse"
    domains = each.domain.columns if isinstance(each.domain, Row) else {each.name: each.domain}
    found = {}
    for column, domain in domains.items():
        form = _form(domain, each.channel, say)
        tell(form.hint + ("" if needed else " " + say("ask.empty")), *form.listed)
        prompt = say("device.answer") + (f" ({column})" if len(domains) > 1 else "")
        found[column] = _asked(prompt, form, say, needed=needed)
    return found


def ask_level(levels: Mapping[str, list[str]], default: str, language: str) -> str:
    """A level by its number or name; nothing is the default. ``levels``: what is said of each."""
    say = voice(language)
    hint = say("device.level") + " " + say("ask.default", level=default)
    tell(hint, *(f"  {place}  {name}: {' '.join(words)}" for place, (name, words) in enumerate(levels.items(), 1)))
    return str(_asked(say("ask.level"), Form(hint, [], _choice(levels, numbered=True)), say, empty=default))


class Form(NamedTuple):
    """What may be typed, and how it is read; what cannot be is a ``ValueError`` or a ``KeyError``."""

    hint: str
    listed: list[str]
    read: Callable[[str], Any]


def _asked(prompt: str, form: Form, say: Voice, *, needed: bool = False, empty: Any = None) -> Any:
    """What was typed, read; asked again, without repeating it, where it cannot be."""
    while True:
        text = _typed(prompt)
        try:
            if text or not needed:
                return form.read(text) if text else empty
            tell(say("device.error.needed"))
        except (ValueError, KeyError):
            tell(say("device.error.wrong", hint=form.hint))


def _typed(prompt: str) -> str:
    typer.echo(f"{visible(prompt)}: ", err=True, nl=False)
    try:
        return input().strip()
    except EOFError:
        tell("")
        raise typer.Abort from None


def _form(domain: Any, channel: Mechanism | None, say: Voice) -> Form:
    if isinstance(domain, Interval):
        return _form_of_numbers(domain, getattr(channel, "outside", "") == "clamp", say)
    texts = [str(label) for label in domain.labels]
    numbered = len(texts) <= MOST_LISTED and not any(re.fullmatch(r"[-+.\d]+", text) for text in texts)
    short = texts if len(texts) <= MOST_LISTED else [*texts[:5], "…", texts[-1]]
    hint = say("ask.choose") if numbered else say("ask.typed", labels=", ".join(short))
    listed = [f"  {place}  {text}" for place, text in enumerate(texts, 1)] if numbered else []
    one, sizes = _choice(domain.labels, numbered), getattr(channel, "sizes", ())
    if not isinstance(domain, Items):
        return Form(hint, listed, one)

    def several(text: str) -> list[Any]:
        found = list(dict.fromkeys(one(part.strip()) for part in text.split(",")))
        if sizes and len(found) not in sizes:
            raise ValueError("not so many")
        return found

    how_many = [say("ask.sizes", sizes=say.listed(sizes, "or"))] if sizes else []
    return Form(" ".join([hint, say("ask.several"), *how_many]), listed, several)


def _form_of_numbers(domain: Interval, clamp: bool, say: Voice) -> Form:
    bounds = {"low": say.number(domain.low, 12), "high": say.number(domain.high, 12)}
    hints = [say("device.range.whole" if domain.integer else "device.range", **bounds)]
    hints += [say("device.range.clamp", **bounds)] if clamp else []
    mark = say("number.decimal")
    return Form(" ".join(hints), [], lambda text: domain.clean(float(text.replace(mark, ".")), clamp=clamp).item())


def _choice(labels: Iterable[Any], numbered: bool) -> Callable[[str], Any]:
    """A label by its text, or by its place in the list."""
    places = {str(place): label for place, label in enumerate(labels, 1)} if numbered else {}
    return {**places, **{str(label): label for label in labels}}.__getitem__


# --- a file of one person -------------------------------------------------------------------------------------------


def read_person(path: Path, plan: Plan | None, columns: Iterable[str]) -> dict[str, Any]:
    """One person's answers by column: an object in .json, one row in .csv or .parquet."""
    if path.suffix.lower() != ".json":
        table = read_answers(path, plan, columns, reports=False)
        if table.num_rows != 1:
            raise ValueError(f"{path}: holds {table.num_rows:,} people; a device answers for one")
        return {name: table.column(name)[0].as_py() for name in table.column_names}
    check_source(path)
    with naming(path):
        found = read_json(path.read_bytes().decode("utf-8", "replace"), "the file")
        if not isinstance(found, dict):
            raise ValueError('is not an object of answers; write {"name": answer, …}')
        return found
