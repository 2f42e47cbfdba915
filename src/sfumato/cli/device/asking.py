"""Read one person's answers for `sfumato device`, asked in the plan's language or from a file; and shared options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from sfumato.channels import Mechanism
from sfumato.cli.plans import read_answers
from sfumato.domain import Interval, Items, Row
from sfumato.plan import Attribute, Plan
from sfumato.prose import Voice, visible, voice
from sfumato.tables import check_source, naming, read_json

MOST_LISTED = 40
"""The most categories that are listed with numbers to choose by; of more, one is typed. Judgement: about what a
terminal shows; more scroll away, fewer make people type more often."""

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
    """Print lines of the conversation with the person on stderr: standard output is for results."""
    for line in lines:
        typer.echo(visible(line), err=True)


def confirmed(question: str, language: str) -> bool:
    """Ask a yes-or-no question until it is answered; return whether the answer is yes.

    ``language``: the one in which yes and no are typed.
    """
    say = voice(language)
    yes, no = say("ask.yes"), say("ask.no")
    while True:
        reply = _type(f"{question} ({yes}/{no})").casefold()
        if reply and (yes.startswith(reply) or no.startswith(reply)):
            return yes.startswith(reply)


def ask_answer(attribute: Attribute, language: str) -> dict[str, Any]:
    """Ask one question until what is typed is an answer; return a dict of the answer by column.

    None stands for an answer that is left out. A question about several numbers has several columns.
    """
    say = voice(language)
    needed = getattr(attribute.channel, "missing", "") == "refuse"
    domains = attribute.domain.columns if isinstance(attribute.domain, Row) else {attribute.name: attribute.domain}
    answers = {}
    for column, domain in domains.items():
        prompt = _prompt_for(domain, attribute.channel, say)
        tell(prompt.hint + ("" if needed else " " + say("ask.empty")), *prompt.choices)
        label = say("device.answer") + (f" ({column})" if len(domains) > 1 else "")
        answers[column] = _read_typed(label, prompt, say, needed=needed)
    return answers


def ask_level(levels: Mapping[str, list[str]], default: str, language: str) -> str:
    """Ask the person for a level, how strongly to blur, by number or name.

    Returns its name, the default if nothing is typed. ``levels``: the sentences on each level, by its name.
    """
    say = voice(language)
    hint = say("device.level") + " " + say("ask.default", level=default)
    tell(hint, *(f"  {place}  {name}: {' '.join(words)}" for place, (name, words) in enumerate(levels.items(), 1)))
    prompt = AnswerPrompt(hint, [], _choice(levels, numbered=True))
    return str(_read_typed(say("ask.level"), prompt, say, empty=default))


class AnswerPrompt(NamedTuple):
    """What a person may type for an answer, and the function that reads it."""

    hint: str
    """A sentence on what may be typed."""
    choices: list[str]
    """The lines of numbered categories to choose from; empty if they are not listed."""
    read: Callable[[str], Any]
    """Returns the answer that a text means. ValueError or KeyError: it means none."""


def _read_typed(label: str, prompt: AnswerPrompt, say: Voice, *, needed: bool = False, empty: Any = None) -> Any:
    """Ask until what is typed can be read; return the answer, or ``empty`` for nothing unless it is ``needed``.

    ``label``: what stands before the place to type; ``prompt``: how to read; ``say``: texts in the person's language.
    What was typed is never repeated.
    """
    while True:
        text = _type(label)
        try:
            if text or not needed:
                return prompt.read(text) if text else empty
            tell(say("device.error.needed"))
        except (ValueError, KeyError):
            tell(say("device.error.wrong", hint=prompt.hint))


def _type(label: str) -> str:
    """Print a label and return the line that is typed after it; the command is aborted at the end of input."""
    typer.echo(f"{visible(label)}: ", err=True, nl=False)
    try:
        return input().strip()
    except EOFError:
        tell("")
        raise typer.Abort from None


def _prompt_for(domain: Any, channel: Mechanism | None, say: Voice) -> AnswerPrompt:
    """Return the prompt for a value of a domain: a number, a category, or the items of a basket."""
    if isinstance(domain, Interval):
        return _number_prompt(domain, getattr(channel, "outside", "") == "clamp", say)
    texts = [str(label) for label in domain.labels]
    numbered = len(texts) <= MOST_LISTED and not any(re.fullmatch(r"[-+.\d]+", text) for text in texts)
    short = texts if len(texts) <= MOST_LISTED else [*texts[:5], "…", texts[-1]]
    hint = say("ask.choose") if numbered else say("ask.typed", labels=", ".join(short))
    choices = [f"  {place}  {text}" for place, text in enumerate(texts, 1)] if numbered else []
    choose, sizes = _choice(domain.labels, numbered), getattr(channel, "sizes", ())
    if not isinstance(domain, Items):
        return AnswerPrompt(hint, choices, choose)

    def choose_several(text: str) -> list[Any]:
        items = list(dict.fromkeys(choose(part.strip()) for part in text.split(",")))
        if sizes and len(items) not in sizes:
            raise ValueError("not so many")
        return items

    size_hint = [say("ask.sizes", sizes=say.listed(sizes, "or"))] if sizes else []
    return AnswerPrompt(" ".join([hint, say("ask.several"), *size_hint]), choices, choose_several)


def _number_prompt(domain: Interval, clamp: bool, say: Voice) -> AnswerPrompt:
    """Return the prompt for a number within an interval; ``clamp``: numbers beyond its ends are moved to them."""
    bounds = {"low": say.number(domain.low, 12), "high": say.number(domain.high, 12)}
    hints = [say("device.range.whole" if domain.integer else "device.range", **bounds)]
    hints += [say("device.range.clamp", **bounds)] if clamp else []
    mark = say("number.decimal")

    def read(text: str) -> Any:
        return domain.clean(float(text.replace(mark, ".")), clamp=clamp).item()

    return AnswerPrompt(" ".join(hints), [], read)


def _choice(labels: Iterable[Any], numbered: bool) -> Callable[[str], Any]:
    """Return a function from a typed text to the label that it names, or whose number it is if ``numbered``.

    Numbers start at 1. The function raises a KeyError for other texts.
    """
    places = {str(place): label for place, label in enumerate(labels, 1)} if numbered else {}
    return {**places, **{str(label): label for label in labels}}.__getitem__


# --- a file of one person -------------------------------------------------------------------------------------------


def read_person(path: Path, plan: Plan | None, columns: Iterable[str]) -> dict[str, Any]:
    """Read one person's answers from a file, as a dict by column: an object in .json, one row in .csv or .parquet.

    ``plan``: decides which columns are numbers, None: none; ``columns``: those that must be there.
    """
    if path.suffix.lower() != ".json":
        table = read_answers(path, plan, columns, reports=False)
        if table.num_rows != 1:
            raise ValueError(f"{path}: holds {table.num_rows:,} people; a device answers for one")
        return {name: table.column(name)[0].as_py() for name in table.column_names}
    check_source(path)
    with naming(path):
        answers = read_json(path.read_bytes().decode("utf-8", "replace"), "the file")
        if not isinstance(answers, dict):
            raise ValueError('is not an object of answers; write {"name": answer, …}')
        return answers
