"""Simulate many respondents to try a collector out: draw true answers, blur them, and send the reports over HTTP.

Reports have the form that devices send (docs/survey.md) and random ids; a batch is sent again until it is answered.
"""

from __future__ import annotations

import json
import random
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urljoin

import numpy as np

from sfumato.channels.baskets import SelectASize
from sfumato.client.wire import Answer, ask, check_address, origin_of
from sfumato.collector.http.messages import MOST_REPORTS
from sfumato.domain import Categories, Interval, Row, as_array, is_missing
from sfumato.plan import Plan
from sfumato.prose import counted

LARGEST_SURVEY = 1 << 26
"""The most bytes of survey.json that are read. Judgement: more would let a wrong address fill the memory, less refuses
plans with very many categories."""
TRIES = 9
"""How often a batch is sent. Judgement: the pauses between are 25 seconds on average together; more tries tell later
that a collector is away, fewer give up while one restarts."""
SECONDS = 60.0
"""Seconds until an answer to a batch is given up on. Judgement: less sends a batch again that a collector was about
to answer, which it counts once; more waits longer for one that hangs."""
PAUSE = 0.1
"""Seconds before the second try, doubled with every further one. Judgement: less loads a busy collector more, more
lets the crowd wait longer."""
LONGEST_PAUSE = 10.0
"""The longest pause between two tries, in seconds, unless the collector asks for more. Judgement, as ``PAUSE``."""


# --- true answers and reports ---------------------------------------------------------------------------------------


def draw_people(plan: Plan, n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Draw the true answers of n simulated people, as a dict by column; all answers of a domain are equally likely."""
    people: dict[str, Any] = {}
    for name, attribute in plan.attributes.items():
        domains = attribute.domain.columns if isinstance(attribute.domain, Row) else {name: attribute.domain}
        people |= {column: _draw_column(domain, n, rng, attribute.channel) for column, domain in domains.items()}
    return people


def _draw_column(domain: Any, n: int, rng: np.random.Generator, channel: Any) -> Any:
    """Draw n values of a domain, all equally likely, as an array.

    Of items a list of baskets with the channel's sizes.
    """
    if isinstance(domain, Interval) and domain.integer:
        return rng.integers(int(domain.low), int(domain.high), n, endpoint=True)
    if isinstance(domain, Interval):
        return rng.uniform(domain.low, domain.high, n)
    if isinstance(domain, Categories):
        return domain.decode(rng.integers(0, domain.size, n))
    sizes = rng.choice(list(channel.sizes), n).tolist()
    return [[domain.labels[code] for code in rng.choice(domain.size, size, replace=False)] for size in sizes]


def equal_levels(plan: Plan) -> dict[str, dict[str, float]]:
    """Return equal shares of people for all levels (strengths of blur) of a question, as {question: {level: share}}."""
    channels = {name: each.channel for name, each in plan.attributes.items() if each.channel and each.has_levels}
    return {name: {str(level): 1 / len(each.levels) for level in each.levels} for name, each in channels.items()}


def reports_of(
    plan: Plan, people: Mapping[str, Any], rng: np.random.Generator | None = None,
    levels: Mapping[str, Any] | None = None,
) -> dict[str, list[Any]]:
    """Blur people's answers and return their reports as devices send them: a dict of lists by column.

    ``people``: true answers by column. ``rng``: None for secure noise. ``levels``: by question the levels (strengths of
    blur) that people choose, or their shares.
    """
    baskets = {name: each.channel for name, each in plan.attributes.items() if isinstance(each.channel, SelectASize)}
    others = {name: each for name, each in plan.attributes.items() if name not in baskets}
    reports: dict[str, list[Any]] = {}
    if others:
        answers = {name: column for name, column in people.items() if name not in baskets}
        blurred = replace(plan, attributes=others).randomize(answers, rng, levels=levels)
        reports = {name: as_sent(column) for name, column in blurred.items()}
    return reports | {name: _basket_reports(channel, people[name], rng) for name, channel in baskets.items()}


def as_sent(column: Any) -> list[Any]:
    """Return a column of reports as a list for JSON, with None for missing ones."""
    return [None if is_missing(value) else value for value in as_array(column).tolist()]


def _basket_reports(channel: SelectASize, baskets: Any, rng: np.random.Generator | None) -> list[Any]:
    """Blur baskets and return their reports as devices send them: dicts of the size, and a seed or a bitmap.

    Both are in hexadecimal digits. A seed has as many bytes as those of its size need, a bitmap whole words of 8 bytes.
    ``rng``: None for secure noise.
    """
    form = "seed" if channel.has_seeds else "bitmap"
    blurred = channel.randomize(baskets, rng, compress=channel.has_seeds)
    widths = {size: -(-channel.seed_bits[size] // 8) if channel.has_seeds else None for size in channel.sizes}
    pairs = zip(blurred.sizes.tolist(), blurred.to_bytes(), strict=True)
    return [{"size": size, form: data[: widths[size]].hex()} for size, data in pairs]


# --- sending --------------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """The numbers of reports that a collector has accepted, refused and not answered, and what sending them took."""

    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """How many were refused, by the reason."""
    unanswered: int = 0
    bytes: int = 0
    """Bytes of all bodies that were sent, repeated ones included."""
    seconds: float = 0.0
    problem: str = ""
    """Why sending was given up; "": it was not."""

    @property
    def sent(self) -> int:
        """The number of all reports that were to be sent: accepted, refused and not answered."""
        return self.accepted + sum(self.refused.values()) + self.unanswered

    @property
    def rate(self) -> float:
        """The number of reports accepted in a second."""
        return self.accepted / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        lines = [f"{counted(self.accepted, 'report')} accepted, {self.rate:,.0f} a second"]
        lines += [f"{counted(number, 'report')} refused: {reason}" for reason, number in self.refused.most_common()]
        lines += [f"{counted(self.unanswered, 'report')} without an answer: {self.problem}"] if self.unanswered else []
        return "\n".join(lines)


class Crowd:
    """Many simulated devices that send reports of one plan to a collector; ``outcome`` sums up what was sent.

    ``address``: that of the survey's page. ``batch``: reports in one request. ``connections``: requests at the same
    time. ValueError: the survey at the address has another plan, or cannot be reached.
    """

    def __init__(self, plan: Plan, address: str, *, batch: int = 500, connections: int = 4) -> None:
        if not 1 <= batch <= MOST_REPORTS:
            raise ValueError(f"a batch of {batch} is not taken; send 1 to {MOST_REPORTS:,} reports at once")
        self.plan, self.batch, self.connections = plan, batch, connections
        self.submit = _submit_address(plan, address)
        self.outcome = Outcome()
        self._counting = threading.Lock()

    def send(
        self, reports: Mapping[str, Sequence[Any]], *, rng: np.random.Generator | None = None,
        invitations: Iterator[str] | None = None,
    ) -> None:
        """Send reports to the survey and wait until each is accepted, refused or given up on.

        They are counted in ``outcome``. ``reports``: by column, as `reports_of` returns them. ``rng``: draws their ids,
        None for secure ones. ``invitations``: the codes that they use, one each; None: none.
        """
        began, names = time.perf_counter(), list(reports)
        messages = [
            {"id": (secrets.token_bytes(16) if rng is None else rng.bytes(16)).hex()}
            | {"report": dict(zip(names, row, strict=True))}
            | ({} if invitations is None else {"invitation": next(invitations)})
            for row in zip(*reports.values(), strict=True)
        ]
        batches = [messages[start : start + self.batch] for start in range(0, len(messages), self.batch)]
        with ThreadPoolExecutor(self.connections) as pool:
            list(pool.map(self._deliver, batches))
        self.outcome.seconds += time.perf_counter() - began

    def _deliver(self, batch: list[dict[str, Any]]) -> None:
        """Send a batch of reports again and again until each is accepted or refused.

        After ``TRIES`` tries this batch and all later ones are given up.
        """
        for attempt in range(TRIES):
            if self.outcome.problem:
                break
            body = json.dumps({"plan": self.plan.identity, "reports": batch}, separators=(",", ":")).encode()
            answer = ask(self.submit, "POST", body, SECONDS)
            batch = self._settle(batch, answer, len(body))
            if not batch:
                return
            time.sleep(max(answer.wait, min(PAUSE * 2**attempt, LONGEST_PAUSE) * random.uniform(0.5, 1)))
        else:
            self.outcome.problem = answer.description
        with self._counting:
            self.outcome.unanswered += len(batch)

    def _settle(self, batch: list[dict[str, Any]], answer: Answer, size: int) -> list[dict[str, Any]]:
        """Count the reports of a batch that a collector's answer accepts or refuses; return the others.

        ``size``: the bytes of the request's body, which are counted too.
        """
        accepted, refused = answer.sort_reports([message["id"] for message in batch])
        if answer.final and not accepted and not refused:
            refused = dict.fromkeys((message["id"] for message in batch), _reason(answer))
        with self._counting:
            self.outcome.bytes += size
            self.outcome.accepted += len(accepted)
            self.outcome.refused.update(refused.values())
        settled = {*accepted, *refused}
        return [message for message in batch if message["id"] not in settled]



def _submit_address(plan: Plan, address: str) -> str:
    """Read the survey at an address and return the URL to which its reports are sent.

    ValueError: it has another plan.
    """
    check_address(address)
    page = address.rstrip("/") + "/"
    answer = ask(page + "survey.json", most=LARGEST_SURVEY)
    try:
        document = json.loads(answer.data) if answer.good else {}
        identity, submit = document["plan"], document["submit"]
    except (ValueError, KeyError, TypeError):
        problem = _reason(answer) if not answer.good else "what is there is no survey that takes reports"
        raise ValueError(f"{address}: {problem}") from None
    if identity != plan.identity:
        raise ValueError(
            f"{address}: the survey there has another plan ({str(identity)[:16]}) than {plan.name!r} "
            f"({plan.identity[:16]}); give the plan that it was opened with"
        )
    submit_address = urljoin(page, str(submit))
    if origin_of(submit_address) != origin_of(page):
        elsewhere = origin_of(submit_address)
        raise ValueError(f"{address}: reports would be sent elsewhere, to {elsewhere}; name that collector")
    return submit_address


def _reason(answer: Answer) -> str:
    """Return why a collector refused a request: its own words, or what the HTTP status means."""
    try:
        return str(json.loads(answer.data)["reason"])
    except (ValueError, KeyError, TypeError):
        return answer.description
