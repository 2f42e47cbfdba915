"""`sfumato device`: answer as a person does, see what was told to whom, apply a model to one's own answers.

Questions go to stderr and answers come from stdin, so that results stand alone on stdout.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.asking import ask_answer, ask_level, confirmed, read_person, tell
from sfumato.cli.device_page import EXAMPLES as PAGE
from sfumato.cli.device_page import page
from sfumato.cli.plans import AsJson, PlanFile, ShowValues, load_plan
from sfumato.cli.terminal import emit_json, say, say_table, say_written
from sfumato.client import Device, Entry, Ledger, Outbox, Reply, Total, survey
from sfumato.client.home import Home, read_saved
from sfumato.client.wire import check_address, origin_of
from sfumato.plan import Attribute, Plan
from sfumato.prose import Voice, json_text, voice
from sfumato.tables import LEVEL_SUFFIX, check_source, check_target, write_text

NOT_SENT = 1
REPLACES = "This device has told things under a secret of its own, which will be replaced. Restore?"
OUTCOMES = {
    "sent": "sent, and accepted as report {id}",
    "waiting": "report {id} is queued ({note}); send it later with: sfumato device ledger --send",
    "refused": "report {id} was refused: {note}",
    "withdrawing": "report {id} is being withdrawn; finish that first with: sfumato device ledger --send",
    "written": "report {id} is remembered; hand the file over yourself",
}
EXAMPLES = """Examples:

  sfumato device answer plan.toml --submit https://town.example/submit

  sfumato device ledger

  sfumato device predict model.json"""
ANSWER = """Examples:

  sfumato device answer plan.toml --submit https://town.example/submit

  sfumato device answer plan.toml --answers me.json --level age=cautious --collector town -o report.json --yes"""
LEDGER = """Examples:

  sfumato device ledger --limit "5% to 50%" --reports 2

  sfumato device ledger --send

  sfumato device ledger --withdraw 0123456789abcdef0123456789abcdef

  sfumato device ledger --export device.json       [dim]secret and ledger; keep the file to yourself[/dim]"""
PREDICT = """Examples:

  sfumato device predict model.json

  sfumato device predict model.json --answers me.json --json"""

device = typer.Typer(
    help="A person's own device: answer plans, see what was told, apply models.", epilog=EXAMPLES, no_args_is_help=True
)

Folder = Annotated[
    Path | None,
    typer.Option("--home", envvar="SFUMATO_HOME", help="Where the device is kept.  [default: your data folder]"),
]
Answers = Annotated[
    Path | None, typer.Option(help="One person's answers instead of questions: .json, or one row of .csv or .parquet.")
]
Levels = Annotated[
    list[str] | None, typer.Option("--level", help="How much to hide, e.g. age=cautious; may be repeated.")
]
Submit = Annotated[str | None, typer.Option(help="Where the report is sent: https://…")]
Collector = Annotated[
    str | None, typer.Option(help="Who receives the report, as an address.  [default: that of --submit]")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write what is sent: .json.")]
Offline = Annotated[bool, typer.Option("--offline", help="Queue the report, and send it later.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Plain HTTP, too: everybody on the way can read along.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Whom = Annotated[str | None, typer.Option("--collector", help="Only what this one was told.")]
NewLimit = Annotated[
    str | None, typer.Option("--limit", help='What a collector may learn: "5% to 50%", a factor on the odds, or none.')
]
MostReports = Annotated[
    int | None, typer.Option("--reports", min=1, help="How many reports of one answer a collector may get.")
]
Send = Annotated[bool, typer.Option("--send", help="Send what is waiting.")]
Withdraw = Annotated[list[str] | None, typer.Option(help="Take a report back, by its id; may be repeated.")]
Export = Annotated[Path | None, typer.Option(help="Save secret and ledger: .json. Keep the file to yourself.")]
Restore = Annotated[Path | None, typer.Option(help="Take over a saved secret and ledger: .json.")]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that was sent home: .json.", show_default=False)
]


# --- answer -----------------------------------------------------------------------------------------------------------


@device.command(epilog=ANSWER)
def answer(
    plan: PlanFile,
    answers: Answers = None,
    level: Levels = None,
    submit: Submit = None,
    collector: Collector = None,
    output: Output = None,
    offline: Offline = False,
    insecure: Insecure = False,
    home: Folder = None,
    yes: Yes = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Answer a plan's questions: blurred here, shown, remembered, and sent once you agree."""
    loaded, place = load_plan(plan), Home(home)
    whom = _receiver(submit, collector, output, insecure)
    if output is not None:
        check_target(output, (".json",), apart=[plan, answers])
    levels, speak = _levels_of(loaded, level or []), voice(loaded.language)
    secret, ledger = place.secret, place.ledger
    outbox = None if submit is None else place.outbox(insecure=insecure)
    given = read_person(answers, loaded, loaded.columns) if answers else _ask(loaded, ledger, whom, levels, speak)
    trial = Ledger.loads(ledger.dumps())
    trial.language = loaded.language
    reply = Device(secret, trial).reply(loaded, given, collector=whom, levels=levels)
    if not (yes and as_json):
        _summary(loaded, reply, trial.total(whom), whom, tell if as_json else say)
    if not yes and not confirmed(speak("ask.confirm"), speak):
        say("nothing was remembered or sent")
        raise typer.Exit(NOT_SENT)
    _remember(ledger, trial)
    if output is not None:
        message = {"plan": reply.plan, "reports": [{"id": reply.id, "report": reply.report}]}
        write_text(json_text(message) + "\n", output)
    state, note = ("written", "") if outbox is None else _send(outbox, submit or "", reply, offline)
    if as_json:
        sent = {"plan": reply.plan, "id": reply.id, "report": reply.report}
        emit_json({**sent, "collector": whom, "state": state, "note": note, "total": _plain_total(trial.total(whom))})
    else:
        say_written(output)
        say(OUTCOMES[state].format(id=reply.id, note=note))
    if state == "refused":
        raise typer.Exit(NOT_SENT)


def _receiver(submit: str | None, collector: str | None, output: Path | None, insecure: bool) -> str:
    if submit is None and output is None:
        raise ValueError("the report has nowhere to go; give --submit https://… to send it, or -o report.json")
    if submit is None and not collector:
        raise ValueError("nobody is named who receives the report; give --collector, as an address")
    if submit is not None:
        check_address(submit, insecure=insecure)
    return collector or origin_of(submit or "")


def _levels_of(plan: Plan, chosen: Iterable[str]) -> dict[str, str]:
    levels = {name: level for name, _, level in (each.rpartition("=") for each in chosen)}
    for name in levels:
        if name not in plan.attributes or not plan.attributes[name].has_levels:
            raise ValueError(f"--level: there is nothing to choose for {name!r}; write for example age=cautious")
    return levels


def _ask(plan: Plan, ledger: Ledger, whom: str, levels: dict[str, str], speak: Voice) -> dict[str, Any]:
    """The answers to all questions, asked one by one; the levels that people choose are added to ``levels``."""
    tell(plan.name, *([plan.description] if plan.description else []), speak("device.start.whom", whom=whom))
    given: dict[str, Any] = {}
    for place, (each, asked) in enumerate(zip(plan.attributes.values(), survey(plan)["questions"], strict=True), 1):
        tell("", speak("device.place", place=place, count=len(plan.attributes)), each.question or each.name)
        words = {name: " ".join(_words(level)) for name, level in asked["levels"].items()}
        if not each.has_levels:
            tell(*_words(asked["levels"][""]))
        given |= ask_answer(each, speak)
        if each.has_levels and each.name not in levels:
            levels[each.name] = _level(each, asked["default"], words, ledger, whom, speak)
    return given


def _words(level: dict[str, Any]) -> list[str]:
    return [level["words"][kind] for kind in ("sent", "worst", "visible") if level["words"][kind]]


def _level(
    each: Attribute, default: str, words: dict[str, str], ledger: Ledger, whom: str, speak: Voice
) -> str:
    """The level of an earlier report, which stays, or the one that the person chooses."""
    earlier = [told.level for told in ledger.reports_of(whom, each.name) if told.level in words]
    if earlier and earlier[-1]:
        tell(speak("device.level.locked", whom=whom, level=earlier[-1]))
        return earlier[-1]
    return ask_level(words, default, speak)


def _summary(plan: Plan, reply: Reply, total: Total, whom: str, write: Callable[[str], None]) -> None:
    """What will be sent, and what that reveals."""
    speak = voice(plan.language)
    write(speak("device.summary"))
    for each in plan.attributes.values():
        level = reply.report.get(each.name + LEVEL_SUFFIX)
        chosen = f" ({speak('device.at', level=level)})" if level else ""
        for column in each.columns:
            write(f"  {column}: {_shown(reply.report[column], speak)}{chosen}")
    write("")
    for sentence in survey(plan)["together"]:
        write(sentence)
    write("\n" + speak("device.with", whom=whom))
    write(str(total))


def _shown(report: Any, speak: Voice) -> str:
    if report is None:
        return speak("device.unanswered")
    if isinstance(report, dict):
        return speak("device.basket", size=report["size"], code=report.get("seed") or report.get("bitmap"))
    return speak.shown(report)


def _remember(ledger: Ledger, trial: Ledger) -> None:
    """What the trial has told is told from now on."""
    new = trial.receipts[len(ledger.receipts) :]
    ledger.add(trial.told[len(ledger.told) :], new[0] if new else None)


def _send(outbox: Outbox, submit: str, reply: Reply, offline: bool) -> tuple[str, str]:
    """The state of the report after it was queued and, unless offline, sent; and why."""
    outbox.put(submit, reply.plan, reply.id, reply.report)
    problem = "offline" if offline else outbox.send().problem
    (entry,) = (each for each in outbox.entries() if each.id == reply.id)
    return entry.state, entry.note or problem or ""


# --- ledger -----------------------------------------------------------------------------------------------------------


@device.command(epilog=LEDGER)
def ledger(
    collector: Whom = None,
    limit: NewLimit = None,
    reports: MostReports = None,
    send: Send = False,
    withdraw: Withdraw = None,
    export: Export = None,
    restore: Restore = None,
    insecure: Insecure = False,
    home: Folder = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """What was told to whom and what it adds up to; limits, waiting reports, withdrawal, a copy of the device."""
    place = Home(home)
    if restore is not None:
        _restore(place, restore, yes)
    if limit is not None or reports is not None:
        place.make()
        _set_limit(place.ledger, limit, reports)
    if export is not None:
        place.export(check_target(export, (".json",)))
    outbox = place.outbox(insecure=insecure) if send or withdraw or place.has_outbox else None
    sending = None
    if outbox and (send or withdraw):
        for id in withdraw or []:
            outbox.withdraw(id)
        sending = outbox.send()
    book, entries = place.ledger, outbox.entries() if outbox else []
    if as_json:
        emit_json(_plain_ledger(book, entries, collector))
        return
    _tell_ledger(book, entries, collector)
    if sending is not None:
        say(f"\n{sending}")
    say_written(export)


def _restore(place: Home, path: Path, yes: bool) -> None:
    secret, _ = read_saved(check_source(path))
    speak = voice("en")
    if place.ledger.told and secret != place.secret and not yes and not confirmed(REPLACES, speak):
        raise ValueError("nothing was restored, and nothing has changed")
    place.restore(path)


def _set_limit(book: Ledger, limit: str | None, reports: int | None) -> None:
    how: dict[str, Any] = {"gamma": book.limit.gamma}
    belief = re.fullmatch(r"\s*([\d.]+)\s*%\s*to\s*([\d.]+)\s*%\s*", limit or "")
    if belief:
        how = {"belief": (float(belief[1]) / 100, float(belief[2]) / 100)}
    elif limit is not None:
        how = {"gamma": None if limit == "none" else _factor(limit)}
    book.set_limit(**how, reports=reports or book.limit.reports)


def _factor(limit: str) -> float:
    try:
        return float(limit)
    except ValueError:
        raise ValueError(f"--limit {limit} is unclear; write '5% to 50%', a factor such as 19, or none") from None


def _collectors(book: Ledger, collector: str | None) -> list[str]:
    return [collector] if collector else list(dict.fromkeys(each.collector for each in book.told))


def _tell_ledger(book: Ledger, entries: list[Entry], collector: str | None) -> None:
    speak = voice(book.language)
    if not book.told:
        say(str(book.total()))
    for whom in _collectors(book, collector):
        total = book.total(whom)
        say(f"{total}\n")
        odds = [_odds(each.exact_gamma, speak) for each in total.told]
        named = [(each.day, each.survey, each.attribute, each.level or "") for each in total.told]
        rows = [(*names, most) for names, most in zip(named, odds, strict=True)]
        say_table(rows, ["day", "survey", "question", "level"], ["odds at most"])
        say()
    say(f"Your limit: {book.limit}.")
    if entries:
        say()
    for each in entries:
        say(f"{each.id}  {each.state}  {each.submit}  {each.note}".rstrip())


def _odds(gamma: Any, speak: Voice) -> str:
    return speak("number.unlimited") if gamma is None else speak.number(gamma, up=True)


def _plain_ledger(book: Ledger, entries: list[Entry], collector: str | None) -> dict[str, Any]:
    told = {whom: _plain_total(book.total(whom)) for whom in _collectors(book, collector)}
    sent = [{name: getattr(each, name) for name in ("id", "plan", "submit", "state", "note")} for each in entries]
    limit = {"gamma": None if book.limit.gamma is None else str(book.limit.gamma), "reports": book.limit.reports}
    return {"collectors": told, "limit": {**limit, "words": str(book.limit)}, "reports": sent}


def _plain_total(total: Total) -> dict[str, Any]:
    told = [
        {"day": each.day, "survey": each.survey, "question": each.attribute, "level": each.level, "gamma": each.gamma}
        for each in total.told
    ]
    return {"gamma": None if total.gamma is None else str(total.gamma), "words": str(total).splitlines(), "told": told}


# --- predict ----------------------------------------------------------------------------------------------------------


@device.command(epilog=PREDICT)
def predict(
    model: ModelFile, answers: Answers = None, as_json: AsJson = False, show_values: ShowValues = False
) -> None:
    """Apply a model to your own true answers, here: nothing leaves this machine and nothing is kept."""
    from sfumato import shipping

    shipped = shipping.load(model)
    plan, names = shipped.plan, shipped.model.attribute_names_
    speak = voice("en" if plan is None else plan.language)
    if answers is not None:
        given = read_person(answers, plan, names)
    elif plan is None or not set(names) <= set(plan.columns):
        raise ValueError(f"{model}: comes without its questions; give the answers to {', '.join(names)} with --answers")
    else:
        tell(speak("device.model.here"))
        given = {}
        for each in dict.fromkeys(plan.columns[name] for name in names):
            tell("", each.question or each.name)
            given |= ask_answer(each, speak)
    person = {name: given[name] for name in names if name in given}
    label, shares = shipped.predict(person), shipped.predict_proba(person)[0]
    found = dict(zip(map(str, shipped.model.classes_), shares.tolist(), strict=True))
    rule = shipped.rule(person)
    name = (plan and plan.target) or "class"
    if as_json:
        emit_json({name: label, "probabilities": found, "rule": rule})
        return
    say(speak("device.model.says", name=name, label=label, share=speak.percent(found[str(label)])))
    if rule:
        say(speak("device.model.rule") + ":")
        for condition in rule:
            say(f"  {condition}")


device.command(epilog=PAGE)(page)
