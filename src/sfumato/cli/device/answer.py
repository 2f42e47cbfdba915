"""`sfumato device answer`: ask a plan's questions, blur the answers, show the reports, and send them.

Questions are printed on stderr and answers read from stdin, so that stdout has the results alone.
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
"""The exit code when the person did not agree, or the collector refused the report."""
OUTCOMES = {
    "sent": "sent, and accepted as report {id}",
    "waiting": "report {id} is queued ({note}); send it later with: sfumato device ledger --send",
    "refused": "report {id} was refused: {note}",
    "withdrawing": "report {id} is being withdrawn; finish that first with: sfumato device ledger --send",
    "written": "report {id} is remembered; hand the file over yourself",
}
"""What is printed at the end, by the state of the report in the outbox; "written": it was not to be sent."""
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
    """The options that say where a person's report is sent or written, and how."""

    submit: Submit = None
    collector: Collector = None
    output: Output = None
    invitation: Invitation = ""
    offline: Offline = False
    insecure: Insecure = False

    def receiver(self) -> str:
        """Return the address of the collector that receives the report. ValueError: none is named."""
        if self.submit is None and self.output is None:
            raise ValueError("the report has nowhere to go; give --submit https://… to send it, or -o report.json")
        if self.submit is None and not self.collector:
            raise ValueError("nobody is named who receives the report; give --collector, as an address")
        if self.submit is not None:
            check_address(self.submit, insecure=self.insecure)
        return self.collector or origin_of(self.submit or "")

    def send(self, outbox: Outbox | None, reply: Reply) -> tuple[str, str]:
        """Put the report into the device's outbox and, unless offline, send it; return (its state, why) in words.

        ``outbox``: None where the report is only written to a file, state "written"; ``reply``: has the report.
        """
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
    loaded, device_home = _load_plan(plan), Home(home)
    whom, output = posting.receiver(), posting.output
    if output is not None:
        check_target(output, (".json",), apart=[plan, answers])
    levels, document = _levels_of(loaded, level or []), survey(loaded, collector=whom)
    secret, ledger = device_home.secret, device_home.ledger
    outbox = None if posting.submit is None else device_home.outbox(insecure=posting.insecure)
    drawn = Device(secret, ledger).asks(loaded, collector=whom)
    truth = read_person(answers, loaded, loaded.columns) if answers else _ask(loaded, document, ledger, levels, drawn)
    trial = Ledger.loads(ledger.dumps())
    trial.language = loaded.language
    reply = Device(secret, trial).reply(loaded, truth, collector=whom, levels=levels)
    if not (yes and as_json):
        _summarize(loaded, document, reply, trial.total(whom), tell if as_json else say)
    if not yes and not confirmed(voice(loaded.language)("ask.confirm"), loaded.language):
        tell("nothing was remembered or sent")
        raise typer.Exit(NOT_SENT)
    _take_over(ledger, trial)
    if output is not None:
        message = {"plan": reply.plan, "reports": [{"id": reply.id, "report": reply.report}]}
        write_text(json_text(message) + "\n", output)
    state, note = posting.send(outbox, reply)
    if as_json:
        posted = {"plan": reply.plan, "id": reply.id, "report": reply.report}
        emit_json({**posted, "collector": whom, "state": state, "note": note, "total": trial.total(whom).to_dict()})
    else:
        say_written(output)
        say(OUTCOMES[state].format(id=reply.id, note=note))
    if state == "refused":
        raise typer.Exit(NOT_SENT)


def _load_plan(path: Path) -> Plan:
    """Read the plan in a file. ValueError: it is a survey.json, what browsers read, from which no plan can be made."""
    if path.suffix == ".json" and path.is_file() and b'"survey"' in path.read_bytes()[:200]:
        raise ValueError(f"{path}: is the survey that browsers read; open its page, or answer its plan")
    return load_plan(path)


def _levels_of(plan: Plan, texts: Iterable[str]) -> dict[str, str]:
    """Read how strongly to blur each answer (its level), by question, from texts such as age=cautious.

    ValueError: a question leaves no choice.
    """
    levels = {name: level for name, _, level in (text.rpartition("=") for text in texts)}
    for name in levels:
        if name not in plan.attributes or not plan.attributes[name].has_levels:
            raise ValueError(f"--level: there is nothing to choose for {name!r}; write for example age=cautious")
    return levels


def _ask(
    plan: Plan, document: dict[str, Any], ledger: Ledger, levels: dict[str, str], drawn: tuple[str, ...]
) -> dict[str, Any]:
    """Ask a person the questions that the device has drawn, one by one; return the answers by column.

    ``document``: the survey as devices read it. ``levels``: gets the levels (strengths of blur) that the person
    chooses, by question. ``ledger``: the device's record of earlier reports, whose levels stay. ``drawn``: the names of
    the questions.
    """
    speak, whom, answers = voice(plan.language), document["collector"], dict[str, Any]()
    tell(plan.name, *([plan.description] if plan.description else []), speak("ask.whom", whom=whom))
    questions = [question for question in document["questions"] if question["name"] in drawn]
    for place, question in enumerate(questions, 1):
        name, attribute = question["name"], plan.attributes[question["name"]]
        tell("", speak("device.place", place=place, count=len(questions)), attribute.question or name)
        sentences = {level: _sentences_of(spec) for level, spec in question["levels"].items()}
        tell(*sentences.get("", ()))
        answers |= ask_answer(attribute, plan.language)
        if attribute.has_levels and name not in levels:
            earlier = next((past.level for past in ledger.reports_of(whom, name) if past.level in sentences), None)
            if earlier:
                tell(speak("device.level.locked", whom=whom, level=earlier))
            levels[name] = earlier or ask_level(sentences, question["default"], plan.language)
    return answers


def _sentences_of(level: dict[str, Any]) -> list[str]:
    """Return the sentences that a survey document has on a level (strength of blur): what is sent and what it tells."""
    return [level["words"][kind] for kind in ("sent", "worst", "visible") if level["words"][kind]]


def _summarize(
    plan: Plan, document: dict[str, Any], reply: Reply, total: Total, write: Callable[[str], None]
) -> None:
    """Write, line by line, what will be sent, and what the collector then has been told in all.

    ``reply``: the report; ``total``: what all reports to the collector reveal; ``write``: the function that prints a
    line.
    """
    speak = voice(plan.language)
    write(speak("device.summary"))
    for attribute in plan.attributes.values():
        level = reply.report.get(attribute.name + LEVEL_SUFFIX)
        at_level = f" ({speak('device.at', level=level)})" if level else ""
        for column in attribute.columns:
            write(f"  {column}: {_shown(reply.report[column], speak)}{at_level}")
    for line in ("", *document["together"], "", speak("device.with", whom=document["collector"]), str(total)):
        write(line)


def _shown(report: Any, speak: Voice) -> str:
    """Return a report to one question as text for the person; None is an unanswered question."""
    if report is None:
        return speak("device.unanswered")
    if isinstance(report, dict):
        return speak("device.basket", size=report["size"], code=report.get("seed") or report.get("bitmap"))
    return speak.shown(report)


def _take_over(ledger: Ledger, trial: Ledger) -> None:
    """Add to a device's ledger (its record of sent reports) the entries and receipt of one reply.

    ``trial``: a copy of the ledger to which the reply was made.
    """
    receipts = trial.receipts[len(ledger.receipts) :]
    ledger.add(trial.entries[len(ledger.entries) :], receipts[0] if receipts else None)
