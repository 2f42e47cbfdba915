"""What an analyst asks for, computed in a process of its own: `python -m sfumato.collector.background.worker`.

The process has the store's address and the settings in its environment. It reads requests, a line of JSON each, and
answers with a line of JSON: ``size``, and as many bytes after it, or why not. It takes the time that others leave, and
ends when whoever asks has ended.
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

STORE, SETTINGS = "SFUMATO_STORE", "SFUMATO_SETTINGS"
"""Where the environment has the store's address, and the settings as JSON."""
MOST_WORDS = 2_000
"""Letters of a sentence that is handed on."""

Say = Callable[[str], None]


def read_table(connection: Connection, survey: Survey) -> Any:
    """All reports of a survey as a PyArrow table, in the order of their random ids."""
    return ReportForm(survey.plan).table(row for page in connection.reports(survey.number) for row in page)


# --- jobs -----------------------------------------------------------------------------------------------------------


def train(plan: Plan, table: Any, say: Say, method: str = "joint", holdout: float = 0.2, seed: int = 0) -> str:
    """A model in the form of its file, with what was measured of it."""
    from sfumato.counts import from_codes
    from sfumato.shipping.forms import dumps
    from sfumato.shipping.training import measured_in_words
    from sfumato.shipping.training import train as learn

    def progress(steps: Iterable[Any], what: str) -> Iterator[Any]:
        say(what)
        return iter(steps)

    values = from_codes(table, plan)
    classed = values.filter(values[plan.target].is_valid())
    if not classed.num_rows:
        raise ValueError("there are no reports with a class yet")
    trained = learn(plan, classed, method, holdout=holdout, seed=seed, progress=progress)
    say(" ".join(measured_in_words(trained.measured)))
    return dumps(trained.model, plan=plan, measured=trained.measured)


def itemsets(
    plan: Plan, table: Any, say: Say, min_support: float, max_len: int = 3, rules: float | None = None,
    question: str | None = None,
) -> str:
    """What people hold together, as `sfumato itemsets mine --json` writes it."""
    from sfumato.findings import baskets_in
    from sfumato.itemsets import mine

    name, channel = basket_of(plan, question)
    baskets, _ = baskets_in(table, name, channel)
    if not len(baskets):
        raise ValueError("there are no baskets yet")
    say(f"looking for itemsets in {counted(len(baskets), 'basket')}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = mine(baskets, channel, min_support, max_len, rules)
    counts = [f"{counted(len(rows), what[:-1])} found" for what, rows in found.items()]
    say("; ".join([*counts, *(str(warning.message) for warning in caught)]))
    return json_text(found)


def audit(plan: Plan, table: Any, say: Say, samples: int | None = None, times: int = 1) -> str:
    """The plan attacked, and its implementation checked."""
    from sfumato.privacy.audit import SAMPLES
    from sfumato.privacy.audit import audit as attack

    say("attacking the plan")
    audited = attack(plan, samples=samples or SAMPLES, times=times)
    say(audited.headline())
    return json_text(audited.to_dict())


KINDS: dict[str, Callable[..., str]] = {"train": train, "itemsets": itemsets, "audit": audit}


def check_job(plan: Plan, kind: str, options: Mapping[str, Any]) -> None:
    """Refuse what this plan has no answer to."""
    if kind == "train":
        from sfumato.shipping.training import check_learnable, estimator

        check_learnable(plan, with_class=True)
        estimator(options.get("method", "joint"), plan, 0)
    if kind == "itemsets":
        basket_of(plan, options.get("question"))


def basket_of(plan: Plan, question: str | None = None) -> tuple[str, SelectASize]:
    """The question that asks for a basket, and its channel."""
    found = {name: one.channel for name, one in plan.attributes.items() if isinstance(one.channel, SelectASize)}
    name = next(iter(found)) if question is None and len(found) == 1 else question
    if name not in found:
        raise ValueError(f"choose the question that asks for a basket; there are: {', '.join(found) or 'none'}")
    return name, found[name]


# --- requests -------------------------------------------------------------------------------------------------------


class Worker:
    """Answers requests from the store; the table read last, and what it says, are kept for the next request."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._stamp: Any = None
        self._table: Any = None
        self._estimates: dict[str, Any] = {}

    def answer(self, do: str, survey: str | int, **given: Any) -> bytes:
        """Answer one of the ``REQUESTS``; ``survey``: its name or its number."""
        with self.store.connected() as connection:
            found = next((each for each in connection.surveys() if survey in (each.name, each.number)), None)
            if found is None:
                raise ValueError("the survey has been deleted")
            body = REQUESTS[do](self, connection, found, **given)
            return body.encode() if isinstance(body, str) else body

    def table(self, connection: Connection, survey: Survey) -> Any:
        """All reports, read again when there are others."""
        taken = [row for row in connection.tallies(survey.number) if not row[1].startswith(REFUSED)]
        if self._stamp != (survey.number, taken):
            self._stamp, self._table, self._estimates = None, None, {}
            self._table = read_table(connection, survey)
            self._stamp = survey.number, taken
        return self._table

    def all_estimates(self, connection: Connection, survey: Survey) -> dict[str, Any]:
        """What the reports say of every question."""
        from sfumato.findings import estimates

        table = self.table(connection, survey)
        self._estimates = self._estimates or estimates(table, survey.plan)
        return self._estimates

    def counts(self, connection: Connection, survey: Survey) -> str:
        """How many reports there are."""
        from sfumato.findings import counts

        return json_text(counts(self.table(connection, survey), survey.plan))

    def estimates(
        self, connection: Connection, survey: Survey, question: str = "", by: str = "", intervals: int | None = None
    ) -> str:
        """What the reports say, of one question or of all, by class and by level or by one of them."""
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
        """Two questions together."""
        from sfumato.findings import joint

        return json_text(joint(self.table(connection, survey), survey.plan, first, second))

    def dashboard(self, connection: Connection, survey: Survey, first: str = "", second: str = "") -> str:
        """The page of a survey."""
        from sfumato.findings import page_of

        table, figures = self.table(connection, survey), self.all_estimates(connection, survey)
        together = (first, second) if first or second else None
        here = standing(connection, survey)
        return page_of(table, survey.plan, here, figures=figures, together=together).html()

    def export(self, connection: Connection, survey: Survey) -> bytes:
        """All reports as Parquet, in an order of chance."""
        import pyarrow as pa
        from pyarrow import parquet

        table, written = ReportForm(survey.plan).table(connection.shuffled(survey.number)), pa.BufferOutputStream()
        parquet.write_table(table.replace_schema_metadata({PLAN_COLUMN: survey.plan.origin}), written)
        return written.getvalue()  # type: ignore[no-any-return]

    def model(self, connection: Connection, survey: Survey, text: str) -> str:
        """The model as it is shipped: what a device executes follows from it, whatever the text says of that."""
        from sfumato import shipping
        from sfumato.shipping.forms import device_part

        shipped = shipping.loads(text)
        if shipped.plan is None or shipped.plan.identity != survey.plan.identity:
            raise ValueError("the model was learned by another plan; ship one of this survey's own")
        return json_text(json.loads(text) | {"device": device_part(shipped.model, survey.plan)})

    def check(self, connection: Connection, survey: Survey, kind: str, options: Mapping[str, Any]) -> str:
        """Refuse a job that this plan has no answer to."""
        check_job(survey.plan, kind, options)
        return ""

    def job(self, connection: Connection, survey: Survey, id: str) -> str:
        """Do a job; its result goes into the store, if nobody has stopped it meanwhile."""
        job = next(job for job in connection.jobs(survey.number) if job["id"] == id)
        words = ""

        def say(what: str, state: str = "running", result: bytes | None = None) -> None:
            nonlocal words
            words = what[:MOST_WORDS]
            with self.store.connected() as writing, writing.transaction():
                if not writing.move_job(id, "running", state, words, result):
                    raise ValueError("it was stopped")

        say(f"reading {counted(connection.how_many(survey.number), 'report')}")
        result = KINDS[job["kind"]](survey.plan, read_table(connection, survey), say, **job["options"]).encode()
        most = self.store.settings.result_bytes
        if len(result) > most:
            raise ValueError(f"the result is {len(result):,} bytes long; {most:,} can be kept")
        say(words, "done", result)
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
"""By name: what a worker is asked for; the rest of the request are arguments."""


def standing(connection: Connection, survey: Survey) -> Any:
    """What the dashboard shows besides what reports say."""
    from sfumato.findings import Standing

    days: dict[str, Counter[str]] = {}
    for day, what, number in connection.tallies(survey.number):
        days.setdefault(day, Counter())[what] += number
    refused = sum(days.values(), Counter())
    jobs = connection.jobs(survey.number)
    mined = [job["id"] for job in jobs if job["kind"] == "itemsets" and job["state"] == "done"]
    found = connection.job_result(mined[-1]) if mined else None
    return Standing(
        survey.name, survey.state,
        days=[(day, each["accepted"], each["withdrawn"]) for day, each in days.items()],
        rejections={what.removeprefix(REFUSED): refused[what] for what in refused if what.startswith(REFUSED)},
        invitations=connection.invitations(survey.number) if survey.invited else None,
        model=None if survey.model is None else json.loads(survey.model),
        itemsets=None if found is None else json.loads(found), jobs=jobs,
    )  # fmt: skip


def main() -> None:
    """Answer requests until whoever asks has ended."""
    settings = Settings(**json.loads(os.environ[SETTINGS]))
    with suppress(OSError, AttributeError):
        os.nice(settings.niceness)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    worker: Worker | None = None
    while True:
        body = b""
        try:
            request = json.loads(requests.get())
            worker = worker or Worker(open_store(os.environ[STORE], settings))
            body = worker.answer(**request)
            head: dict[str, Any] = {"size": len(body)}
        except StoreError as error:
            head = {"store": str(error)[:MOST_WORDS]}
        except (ValueError, TypeError) as error:
            head = {"refused": str(error)[:MOST_WORDS]}
        except Exception as error:
            head = {"failed": type(error).__name__}
        answers.write(json.dumps(head).encode() + b"\n")
        answers.write(body)
        answers.flush()


def _listen(requests: queue.SimpleQueue[bytes]) -> None:
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
