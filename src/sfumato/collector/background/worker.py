"""The program of the processes that compute for analysts: `python -m sfumato.collector.background.worker`.

The store's address and the settings are in its environment. It reads requests from stdin, a line of JSON each, and
answers on stdout with a line of JSON: ``size`` and as many bytes after it, or ``refused``, ``store`` or ``failed`` with
the reason. It has the lowest priority, and ends when the service that started it has ended.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from sfumato.channels.baskets import SelectASize
from sfumato.collector.form import ReportForm
from sfumato.collector.settings import Settings
from sfumato.collector.store import REFUSED, Connection, Store, StoreError, Survey, open_store
from sfumato.plan import Plan
from sfumato.prose import counted, json_text
from sfumato.tables import PLAN_COLUMN

STORE = "SFUMATO_STORE"
"""The environment's variable with the store's address."""
SETTINGS = "SFUMATO_SETTINGS"
"""The environment's variable with the settings as JSON."""
MOST_LETTERS = 2_000
"""The longest message, in letters, that is passed on to an analyst or kept with a job. Judgement: some twenty lines.
More lets an error that repeats its input fill the store, less cuts off what training says about a model."""

Say = Callable[[str], None]
"""A function that a job calls with a sentence on where it stands, which the analyst sees."""


def read_table(connection: Connection, survey: Survey) -> Any:
    """Return all reports of a survey as a PyArrow table, in the order of their random ids."""
    return ReportForm(survey.plan).table(row for page in connection.reports(survey.number) for row in page)


# --- jobs -----------------------------------------------------------------------------------------------------------


def train(plan: Plan, table: Any, say: Say, method: str = "joint", holdout: float = 0.2, seed: int = 0) -> str:
    """Train a model on the reports that have a class; return its file as JSON, with its measured accuracy.

    ``holdout``: the share of reports kept out of training to measure with. ``seed``: that of the split and the fit.
    """
    from sfumato.counts import from_codes
    from sfumato.shipping.forms import dumps
    from sfumato.shipping.training import measured_in_words
    from sfumato.shipping.training import train as learn

    def progress(steps: Iterable[Any], what: str) -> Iterator[Any]:
        say(what)
        return iter(steps)

    reports = from_codes(table, plan)
    classed_reports = reports.filter(reports[plan.target].is_valid())
    if not classed_reports.num_rows:
        raise ValueError("there are no reports with a class yet")
    trained = learn(plan, classed_reports, method, holdout=holdout, seed=seed, progress=progress)
    say(" ".join(measured_in_words(trained.measured)))
    return dumps(trained.model, plan=plan, measured=trained.measured)


def itemsets(
    plan: Plan, table: Any, say: Say, min_support: float, max_len: int = 3, rules: float | None = None,
    question: str | None = None,
) -> str:
    """Find frequent itemsets in the reported baskets; return them as `sfumato itemsets mine --json` writes them.

    ``min_support``: the smallest share of people. ``max_len``: the most items of an itemset. ``rules``: the smallest
    confidence of rules, None for no rules. ``question``: the one that asks for the basket, None where only one does.
    """
    from sfumato.findings import baskets_in
    from sfumato.itemsets import mine

    name, channel = basket_of(plan, question)
    baskets, _ = baskets_in(table, name, channel)
    if not len(baskets):
        raise ValueError("there are no baskets yet")
    say(f"looking for itemsets in {counted(len(baskets), 'basket')}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mined = mine(baskets, channel, min_support, max_len, rules)
    counts = [f"{counted(len(rows), what[:-1])} found" for what, rows in mined.items()]
    say("; ".join([*counts, *(str(warning.message) for warning in caught)]))
    return json_text(mined)


def audit(plan: Plan, table: Any, say: Say, samples: int | None = None, times: int = 1) -> str:
    """Attack a survey's plan and check its implementation; return the audit as JSON text.

    ``table``: reports, which are not used. ``say``: is told where the job stands. ``samples``: reports drawn of each
    question, None: as many as usual. ``times``: how often each person answers.
    """
    from sfumato.privacy.audit import SAMPLES
    from sfumato.privacy.audit import audit as attack

    say("attacking the plan")
    audited = attack(plan, samples=samples or SAMPLES, times=times)
    say(audited.headline())
    return json_text(audited.to_dict())


KINDS: dict[str, Callable[..., str]] = {"train": train, "itemsets": itemsets, "audit": audit}
"""The function that does a job, by the job's kind."""


def check_job(plan: Plan, kind: str, options: Mapping[str, Any]) -> None:
    """Raise a ValueError if a job cannot be done under a plan, for instance without a class to predict.

    ``kind``: a key of ``KINDS``; ``options``: the job's.
    """
    if kind == "train":
        from sfumato.shipping.training import check_learnable, estimator

        check_learnable(plan, with_class=True)
        estimator(options.get("method", "joint"), plan, 0)
    if kind == "itemsets":
        basket_of(plan, options.get("question"))


def basket_of(plan: Plan, question: str | None = None) -> tuple[str, SelectASize]:
    """Return (name, channel) of the question of a plan that asks for a basket: the one named, or the only one (None).

    ValueError: no such question, or several.
    """
    channels = {name: each.channel for name, each in plan.attributes.items() if isinstance(each.channel, SelectASize)}
    name = next(iter(channels)) if question is None and len(channels) == 1 else question
    if name not in channels:
        raise ValueError(f"choose the question that asks for a basket; there are: {', '.join(channels) or 'none'}")
    return name, channels[name]


# --- requests -------------------------------------------------------------------------------------------------------


class Worker:
    """The computations on a store's reports that a worker process does, a method for each request.

    The table read last and its estimates are kept for the next request.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._stamp: Any = None
        self._table: Any = None
        self._estimates: dict[str, Any] = {}

    def answer(self, do: str, survey: str | int, **options: Any) -> bytes:
        """Return the answer to a request of the service, as bytes: ``do`` names one of the ``REQUESTS``.

        ``survey``: its name or its number; ``options``: the request's arguments. ValueError: the survey has been
        deleted.
        """
        with self.store.connected() as connection:
            stored = next((each for each in connection.surveys() if survey in (each.name, each.number)), None)
            if stored is None:
                raise ValueError("the survey has been deleted")
            body = REQUESTS[do](self, connection, stored, **options)
            return body.encode() if isinstance(body, str) else body

    def table(self, connection: Connection, survey: Survey) -> Any:
        """Return all reports of a survey as a PyArrow table, which is kept until reports are accepted or withdrawn."""
        tallies = [row for row in connection.tallies(survey.number) if not row[1].startswith(REFUSED)]
        if self._stamp != (survey.number, tallies):
            self._stamp, self._table, self._estimates = None, None, {}
            self._table = read_table(connection, survey)
            self._stamp = survey.number, tallies
        return self._table

    def all_estimates(self, connection: Connection, survey: Survey) -> dict[str, Any]:
        """Return the estimates of every question as a dict, computed once for each state of the reports."""
        from sfumato.findings import estimates

        table = self.table(connection, survey)
        self._estimates = self._estimates or estimates(table, survey.plan)
        return self._estimates

    def counts(self, connection: Connection, survey: Survey) -> str:
        """Return the numbers of reports, question by question, as JSON text."""
        from sfumato.findings import counts

        return json_text(counts(self.table(connection, survey), survey.plan))

    def estimates(
        self, connection: Connection, survey: Survey, question: str = "", by: str = "", intervals: int | None = None
    ) -> str:
        """Return estimates of questions' shares as JSON text.

        ``question``: only this one, "": all. ``by``: "class" or "level" leaves out the comparison by the other; "" has
        both. ``intervals``: how many for numbers, None: as many as reports decide.
        """
        from sfumato.findings import estimates

        if question or intervals:
            estimated = estimates(self.table(connection, survey), survey.plan, question, intervals)
        else:
            estimated = self.all_estimates(connection, survey)
        left_out = {"class": "by_level", "level": "by_class"}.get(by)
        questions = {
            name: {key: part for key, part in each.items() if key != left_out}
            for name, each in estimated["questions"].items()
        }
        return json_text(estimated | {"questions": questions})

    def joint(self, connection: Connection, survey: Survey, first: str, second: str) -> str:
        """Return the estimated shares of all pairs of answers to two questions as JSON text."""
        from sfumato.findings import joint

        return json_text(joint(self.table(connection, survey), survey.plan, first, second))

    def dashboard(self, connection: Connection, survey: Survey, first: str = "", second: str = "") -> str:
        """Return the survey's dashboard as HTML text; with the names of two questions, their pairs of answers too."""
        from sfumato.findings import page_of

        table, figures = self.table(connection, survey), self.all_estimates(connection, survey)
        together = (first, second) if first or second else None
        state = standing(connection, survey)
        return page_of(table, survey.plan, state, figures=figures, together=together).html()

    def export(self, connection: Connection, survey: Survey) -> bytes:
        """Return all reports of a survey as the bytes of a Parquet file, in random order."""
        import pyarrow as pa
        from pyarrow import parquet

        table = ReportForm(survey.plan).table(connection.shuffled_reports(survey.number))
        buffer = pa.BufferOutputStream()
        parquet.write_table(table.replace_schema_metadata({PLAN_COLUMN: survey.plan.origin}), buffer)
        return buffer.getvalue()  # type: ignore[no-any-return]

    def model(self, connection: Connection, survey: Survey, text: str) -> str:
        """Check a model's JSON and return it as JSON text for devices.

        What a device executes is computed here from the model, whatever the text has in its place. ValueError: it is no
        model, or it was learned by another plan.
        """
        from sfumato import shipping
        from sfumato.shipping.forms import device_part

        shipped = shipping.loads(text)
        if shipped.plan is None or shipped.plan.identity != survey.plan.identity:
            raise ValueError("the model was learned by another plan; ship one of this survey's own")
        return json_text(json.loads(text) | {"device": device_part(shipped.model, survey.plan)})

    def check(self, connection: Connection, survey: Survey, kind: str, options: Mapping[str, Any]) -> str:
        """Return "" if a job can be done under the survey's plan. ValueError: it cannot; the message says why."""
        check_job(survey.plan, kind, options)
        return ""

    def job(self, connection: Connection, survey: Survey, id: str) -> str:
        """Do a job, given by its id, and write its result into the store; return "".

        ValueError: it cannot be done, or was stopped.
        """
        job = next(job for job in connection.jobs(survey.number) if job["id"] == id)
        message = ""

        def say(sentence: str, state: str = "running", result: bytes | None = None) -> None:
            nonlocal message
            message = sentence[:MOST_LETTERS]
            with self.store.connected() as writing, writing.transaction():
                if not writing.move_job(id, "running", state, message, result):
                    raise ValueError("it was stopped")

        say(f"reading {counted(connection.count_reports(survey.number), 'report')}")
        result = KINDS[job["kind"]](survey.plan, read_table(connection, survey), say, **job["options"]).encode()
        most = self.store.settings.result_bytes
        if len(result) > most:
            raise ValueError(f"the result is {len(result):,} bytes long; {most:,} can be kept")
        say(message, "done", result)
        return ""


REQUESTS: dict[str, Callable[..., str | bytes]] = {
    "counts": Worker.counts,
    "estimates": Worker.estimates,
    "joint": Worker.joint,
    "dashboard": Worker.dashboard,
    "export": Worker.export,
    "model": Worker.model,
    "check": Worker.check,
    "job": Worker.job,
}
"""The method that answers a request, by its name ``do``; the other fields of the request are its arguments."""


def standing(connection: Connection, survey: Survey) -> Any:
    """Return the state of a survey that its dashboard shows: days, refusals, invitations, jobs, model and itemsets."""
    from sfumato.findings import Standing

    days: dict[str, Counter[str]] = {}
    for day, what, number in connection.tallies(survey.number):
        days.setdefault(day, Counter())[what] += number
    refused = sum(days.values(), Counter())
    jobs = connection.jobs(survey.number)
    mined = [job["id"] for job in jobs if job["kind"] == "itemsets" and job["state"] == "done"]
    itemsets = connection.job_result(mined[-1]) if mined else None
    return Standing(
        survey.name, survey.state,
        days=[(day, tally["accepted"], tally["withdrawn"]) for day, tally in days.items()],
        rejections={what.removeprefix(REFUSED): refused[what] for what in refused if what.startswith(REFUSED)},
        invitations=connection.invitations(survey.number) if survey.invited else None,
        model=None if survey.model is None else json.loads(survey.model),
        itemsets=None if itemsets is None else json.loads(itemsets), jobs=jobs,
    )  # fmt: skip


def main() -> None:
    """Answer requests from stdin until the service that started this process has ended."""
    settings = Settings(**json.loads(os.environ[SETTINGS]))
    with suppress(OSError, AttributeError):
        os.nice(settings.niceness)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=(requests,), daemon=True).start()
    worker: Worker | None = None
    while True:
        body = b""
        try:
            request = json.loads(requests.get())
            worker = worker or Worker(open_store(os.environ[STORE], settings))
            body = worker.answer(**request)
            head: dict[str, Any] = {"size": len(body)}
        except StoreError as error:
            head = {"store": str(error)[:MOST_LETTERS]}
        except (ValueError, TypeError) as error:
            head = {"refused": str(error)[:MOST_LETTERS]}
        except Exception as error:
            head = {"failed": type(error).__name__}
        answers.write(json.dumps(head).encode() + b"\n")
        answers.write(body)
        answers.flush()


def _read_requests(requests: queue.SimpleQueue[bytes]) -> None:
    """Put every line of stdin, a request each, into the queue, and end the process when stdin ends.

    It ends even in the middle of a computation: the service that started it has ended.
    """
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
