"""`sfumato device answer`: asked, blurred, shown, remembered, queued and sent.

Questions go to stderr and answers come from stdin, so that results stand alone on stdout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import emit_json, say, say_written
from sfumato.cli.device.asking import (
    AnswersFile,
    Folder,
    Insecure,
    Yes,
    ask_answer,
    ask_level,
    confirmed,
    read_person,
    tell,
)
from sfumato.cli.plans import AsJson, PlanFile, ShowValues, load_plan
from sfumato.client import Device, Home, Ledger, Outbox, Reply, Total, survey
from sfumato.client.wire import check_address, origin_of
from sfumato.plan import Plan
from sfumato.prose import Voice, json_text, voice
from sfumato.tables import LEVEL_SUFFIX, check_target, write_text

NOT_SENT = 1
OUTCOMES = {
    "sent": "sent, and accepted as report {id}",
    "waiting": "report {id} is queued ({note}); send it later with: sfumato device ledger --send",
    "refused": "report {id} was refused: {note}",
    "withdrawing": "report {id} is being withdrawn; finish that first with: sfumato device ledger --send",
    "written": "report {id} is remembered; hand the file over yourself",
}
EXAMPLES = """Examples:

  sfumato device answer plan.toml --submit https://town.example/submit

  sfumato device answer plan.toml --answers me.json --level age=cautious --collector town -o report.json --yes"""

Levels = Annotated[
    list[str] | None, typer.Option("--level", help="How much to hide, e.g. age=cautious; may be repeated.")
]
Submit = Annotated[str | None, typer.Option(help="Where the report is sent: https://…")]
Collector = Annotated[
    str | None, typer.Option(help="Who receives the report, as an address.  \\[default: that of --submit]")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write what is sent: .json.")]
Invitation = Annotated[str, typer.Option(help="The code of an invitation, where the survey needs one.")]
Offline = Annotated[bool, typer.Option("--offline", help="Queue the report, and send it later.")]


@dataclass(frozen=True)
class Posting:
    """Where a report goes, and how."""

    submit: Submit = None
    collector: Collector = None
    output: Output = None
    invitation: Invitation = ""
    offline: Offline = False
    insecure: Insecure = False

    def receiver(self) -> str:
        """The address of who receives the report."""
        if self.submit is None and self.output is None:
            raise ValueError("the report has nowhere to go; give --submit https://… to send it, or -o report.json")
        if self.submit is None and not self.collector:
            raise ValueError("nobody is named who receives the report; give --collector, as an address")
        if self.submit is not None:
            check_address(self.submit, insecure=self.insecure)
        return self.collector or origin_of(self.submit or "")

    def send(self, outbox: Outbox | None, reply: Reply) -> tuple[str, str]:
        """Queue the report and, unless offline, send it; return its state, and why."""
        if outbox is None:
            return "written", ""
        outbox.put(self.submit or "", reply.plan, reply.id, reply.report, self.invitation)
        problem = "offline" if self.offline else outbox.send().problem
        (entry,) = (each for each in outbox.entries() if each.id == reply.id)
        return entry.state, entry.note or problem or ""


def answer(
    plan: PlanFile,
    answers: AnswersFile = None,
    level: Levels = None,
    *,
    posting: Posting,
    home: Folder = None,
    yes: Yes = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Answer a plan's questions: blurred here, shown, remembered, and sent once you agree."""
    loaded, place = _plan(plan), Home(home)
    whom, output = posting.receiver(), posting.output
    if output is not None:
        check_target(output, (".json",), apart=[plan, answers])
    levels, asked = _levels_of(loaded, level or []), survey(loaded, collector=whom)
    secret, ledger = place.secret, place.ledger
    outbox = None if posting.submit is None else place.outbox(insecure=posting.insecure)
    drawn = Device(secret, ledger).asks(loaded, collector=whom)
    given = read_person(answers, loaded, loaded.columns) if answers else _ask(loaded, asked, ledger, levels, drawn)
    trial = Ledger.loads(ledger.dumps())
    trial.language = loaded.language
    reply = Device(secret, trial).reply(loaded, given, collector=whom, levels=levels)
    if not (yes and as_json):
        _summary(loaded, asked, reply, trial.total(whom), tell if as_json else say)
    if not yes and not confirmed(voice(loaded.language)("ask.confirm"), loaded.language):
        tell("nothing was remembered or sent")
        raise typer.Exit(NOT_SENT)
    _remember(ledger, trial)
    if output is not None:
        message = {"plan": reply.plan, "reports": [{"id": reply.id, "report": reply.report}]}
        write_text(json_text(message) + "\n", output)
    state, note = posting.send(outbox, reply)
    if as_json:
        sent = {"plan": reply.plan, "id": reply.id, "report": reply.report}
        emit_json({**sent, "collector": whom, "state": state, "note": note, "total": trial.total(whom).to_dict()})
    else:
        say_written(output)
        say(OUTCOMES[state].format(id=reply.id, note=note))
    if state == "refused":
        raise typer.Exit(NOT_SENT)


def _plan(path: Path) -> Plan:
    """The plan; what is served to browsers is made from it, and cannot be turned back into it."""
    if path.suffix == ".json" and path.is_file() and b'"survey"' in path.read_bytes()[:200]:
        raise ValueError(f"{path}: is the survey that browsers read; open its page, or answer its plan")
    return load_plan(path)


def _levels_of(plan: Plan, chosen: Iterable[str]) -> dict[str, str]:
    levels = {name: level for name, _, level in (each.rpartition("=") for each in chosen)}
    for name in levels:
        if name not in plan.attributes or not plan.attributes[name].has_levels:
            raise ValueError(f"--level: there is nothing to choose for {name!r}; write for example age=cautious")
    return levels


def _ask(
    plan: Plan, asked: dict[str, Any], ledger: Ledger, levels: dict[str, str], drawn: tuple[str, ...]
) -> dict[str, Any]:
    """The answers to the questions that the device draws, asked one by one; the levels that the person chooses are
    added to ``levels``."""
    speak, whom, given = voice(plan.language), asked["collector"], dict[str, Any]()
    tell(plan.name, *([plan.description] if plan.description else []), speak("ask.whom", whom=whom))
    questions = [(plan.attributes[one["name"]], one) for one in asked["questions"] if one["name"] in drawn]
    for place, (each, question) in enumerate(questions, 1):
        tell("", speak("device.place", place=place, count=len(questions)), each.question or each.name)
        told = {name: _words(level) for name, level in question["levels"].items()}
        tell(*told.get("", ()))
        given |= ask_answer(each, plan.language)
        if each.has_levels and each.name not in levels:
            earlier = next((past.level for past in ledger.reports_of(whom, each.name) if past.level in told), None)
            if earlier:
                tell(speak("device.level.locked", whom=whom, level=earlier))
            levels[each.name] = earlier or ask_level(told, question["default"], plan.language)
    return given


def _words(level: dict[str, Any]) -> list[str]:
    return [level["words"][kind] for kind in ("sent", "worst", "visible") if level["words"][kind]]


def _summary(
    plan: Plan, asked: dict[str, Any], reply: Reply, total: Total, write: Callable[[str], None]
) -> None:
    """What will be sent, and what that reveals."""
    speak = voice(plan.language)
    write(speak("device.summary"))
    for each in plan.attributes.values():
        level = reply.report.get(each.name + LEVEL_SUFFIX)
        chosen = f" ({speak('device.at', level=level)})" if level else ""
        for column in each.columns:
            write(f"  {column}: {_shown(reply.report[column], speak)}{chosen}")
    for line in ("", *asked["together"], "", speak("device.with", whom=asked["collector"]), str(total)):
        write(line)


def _shown(report: Any, speak: Voice) -> str:
    if report is None:
        return speak("device.unanswered")
    if isinstance(report, dict):
        return speak("device.basket", size=report["size"], code=report.get("seed") or report.get("bitmap"))
    return speak.shown(report)


def _remember(ledger: Ledger, trial: Ledger) -> None:
    """What the trial has told is told from now on."""
    new = trial.receipts[len(ledger.receipts) :]
    ledger.add(trial.entries[len(ledger.entries) :], new[0] if new else None)
