"""Many respondents at once, to try a collector out: true answers, their reports, and batches of them over HTTP.

What is sent is what devices send (docs/survey.md), under ids of chance; a batch is sent again until it is answered.
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
TRIES, SECONDS = 9, 60.0
PAUSE, LONGEST_PAUSE = 0.1, 10.0


# --- people, and what their devices send ----------------------------------------------------------------------------


def drawn_people(plan: Plan, n: int, rng: np.random.Generator) -> dict[str, Any]:
    """People whose answers are anything that the plan's domains allow, all equally likely."""
    people: dict[str, Any] = {}
    for name, each in plan.attributes.items():
        domains = each.domain.columns if isinstance(each.domain, Row) else {name: each.domain}
        people |= {column: _drawn(domain, n, rng, each.channel) for column, domain in domains.items()}
    return people


def _drawn(domain: Any, n: int, rng: np.random.Generator, channel: Any) -> Any:
    if isinstance(domain, Interval) and domain.integer:
        return rng.integers(int(domain.low), int(domain.high), n, endpoint=True)
    if isinstance(domain, Interval):
        return rng.uniform(domain.low, domain.high, n)
    if isinstance(domain, Categories):
        return domain.decode(rng.integers(0, domain.size, n))
    sizes = rng.choice(list(channel.sizes), n).tolist()
    return [[domain.labels[code] for code in rng.choice(domain.size, size, replace=False)] for size in sizes]


def drawn_levels(plan: Plan) -> dict[str, dict[str, float]]:
    """Everywhere that people choose, each level as often as the others."""
    chosen = {name: each.channel for name, each in plan.attributes.items() if each.channel and each.has_levels}
    return {name: {str(level): 1 / len(one.levels) for level in one.levels} for name, one in chosen.items()}


def reports_of(
    plan: Plan, people: Mapping[str, Any], rng: np.random.Generator | None = None,
    levels: Mapping[str, Any] | None = None,
) -> dict[str, list[Any]]:
    """What the devices of these people send: every column as plain data. Without ``rng`` the noise is secure."""
    baskets = {name: each.channel for name, each in plan.attributes.items() if isinstance(each.channel, SelectASize)}
    others = {name: each for name, each in plan.attributes.items() if name not in baskets}
    reports: dict[str, list[Any]] = {}
    if others:
        answers = {name: column for name, column in people.items() if name not in baskets}
        blurred = replace(plan, attributes=others).randomize(answers, rng, levels=levels)
        reports = {name: plain(column) for name, column in blurred.items()}
    return reports | {name: _baskets(channel, people[name], rng) for name, channel in baskets.items()}


def plain(column: Any) -> list[Any]:
    """A column of reports as devices send it."""
    return [None if is_missing(value) else value for value in as_array(column).tolist()]


def _baskets(channel: SelectASize, baskets: Any, rng: np.random.Generator | None) -> list[Any]:
    """A seed in as many bytes as its size's has, or a bitmap in whole words."""
    form = "seed" if channel.has_seeds else "bitmap"
    drawn = channel.randomize(baskets, rng, compress=channel.has_seeds)
    width = {size: -(-channel.seed_bits[size] // 8) if channel.has_seeds else None for size in channel.sizes}
    pairs = zip(drawn.sizes.tolist(), drawn.to_bytes(), strict=True)
    return [{"size": size, form: data[: width[size]].hex()} for size, data in pairs]


# --- on the way to the collector ------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What became of the reports."""

    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    unanswered: int = 0
    bytes: int = 0
    seconds: float = 0.0
    problem: str = ""

    @property
    def sent(self) -> int:
        return self.accepted + sum(self.refused.values()) + self.unanswered

    @property
    def rate(self) -> float:
        """Reports accepted a second."""
        return self.accepted / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        lines = [f"{counted(self.accepted, 'report')} accepted, {self.rate:,.0f} a second"]
        lines += [f"{counted(number, 'report')} refused: {reason}" for reason, number in self.refused.most_common()]
        lines += [f"{counted(self.unanswered, 'report')} without an answer: {self.problem}"] if self.unanswered else []
        return "\n".join(lines)


class Crowd:
    """Devices that send their reports of one plan, in batches over a few connections at once.

    The survey at the address must be that of the plan. ``outcome`` sums up what was sent.
    """

    def __init__(self, plan: Plan, address: str, *, batch: int = 500, connections: int = 4) -> None:
        if not 1 <= batch <= MOST_REPORTS:
            raise ValueError(f"a batch of {batch} is not taken; send 1 to {MOST_REPORTS:,} reports at once")
        self.plan, self.batch, self.connections = plan, batch, connections
        self.submit = _submit_of(plan, address)
        self.outcome = Outcome()
        self._counting = threading.Lock()

    def send(
        self, reports: Mapping[str, Sequence[Any]], *, rng: np.random.Generator | None = None,
        invitations: Iterator[str] | None = None,
    ) -> None:
        """Send reports, column by column as ``reports_of`` gives them; with ``rng`` their ids are repeatable."""
        began, names = time.perf_counter(), list(reports)
        sent = [
            {"id": _id(rng), "report": dict(zip(names, row, strict=True))}
            | ({} if invitations is None else {"invitation": next(invitations)})
            for row in zip(*reports.values(), strict=True)
        ]
        batches = [sent[start : start + self.batch] for start in range(0, len(sent), self.batch)]
        with ThreadPoolExecutor(self.connections) as pool:
            list(pool.map(self._deliver, batches))
        self.outcome.seconds += time.perf_counter() - began

    def _deliver(self, batch: list[dict[str, Any]]) -> None:
        """Send a batch until each of its reports is settled; where nobody answers for long, give up for all."""
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
        """Count what is settled; the others."""
        accepted, refused = answer.sort_reports([each["id"] for each in batch])
        if answer.final and not accepted and not refused:
            refused = dict.fromkeys((each["id"] for each in batch), _reason(answer))
        with self._counting:
            self.outcome.bytes += size
            self.outcome.accepted += len(accepted)
            self.outcome.refused.update(refused.values())
        settled = {*accepted, *refused}
        return [each for each in batch if each["id"] not in settled]


def _id(rng: np.random.Generator | None) -> str:
    return secrets.token_hex(16) if rng is None else rng.bytes(16).hex()


def _submit_of(plan: Plan, address: str) -> str:
    """Where the survey at an address takes reports, if it is the plan's."""
    check_address(address)
    page = address.rstrip("/") + "/"
    answer = ask(page + "survey.json", most=LARGEST_SURVEY)
    try:
        document = json.loads(answer.data) if answer.good else {}
        identity, submit = document["plan"], document["submit"]
    except (ValueError, KeyError, TypeError):
        said = _reason(answer) if not answer.good else "what is there is no survey that takes reports"
        raise ValueError(f"{address}: {said}") from None
    if identity != plan.identity:
        raise ValueError(
            f"{address}: the survey there has another plan ({str(identity)[:16]}) than {plan.name!r} "
            f"({plan.identity[:16]}); give the plan that it was opened with"
        )
    found = urljoin(page, str(submit))
    if origin_of(found) != origin_of(page):
        raise ValueError(f"{address}: reports would be sent elsewhere, to {origin_of(found)}; name that collector")
    return found


def _reason(answer: Answer) -> str:
    """What a collector says about a request that it refuses."""
    try:
        return str(json.loads(answer.data)["reason"])
    except (ValueError, KeyError, TypeError):
        return answer.description
