"""Words that no list holds, asked by a plan: the lengths are its questions, of which a device draws one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.collector.form import ReportForm
from sfumato.findings import counts, estimates
from sfumato.findings.analysis import MOST_ROWS

SLANG = sf.Words("abcdefghijklmnopqrstuvwxyz", longest=6, gamma=19)
PLAN = sf.Plan.from_dict({"name": "slang", **SLANG.questions("slang")})
TOML = """
name = "slang"
questions_each = 1
[attributes.slang-3]
categories = 524288
channel = "subset-response"
gamma = 19
[attributes.slang-5]
categories = 524288
channel = "subset-response"
gamma = 19
[attributes.slang-6]
categories = 524288
channel = "subset-response"
gamma = 19
"""
TYPED = np.random.default_rng(3).choice(["lit", "selfie", "yeet"], 4_000, p=[0.4, 0.35, 0.25]).tolist()


def stored(reports: dict[str, Any]) -> Any:
    """The reports as a collector keeps them and gives them out again."""
    form = ReportForm(PLAN)
    rows = zip(*(np.asarray(reports[name]).tolist() for name in PLAN.columns), strict=True)
    plain = ({name: None if x != x else int(x) for name, x in zip(PLAN.columns, row, strict=True)} for row in rows)
    return form.table([form.pack(report) for report in plain])


@pytest.fixture(scope="module")
def table() -> Any:
    return stored(PLAN.randomize(SLANG.answers("slang", TYPED), 1))


def test_a_plan_of_words_is_written_in_a_few_lines_and_read_again() -> None:
    assert sf.Plan.loads(TOML).identity == PLAN.identity
    assert sf.Plan.loads(PLAN.to_json(), "json").identity == PLAN.identity and len(PLAN.to_json()) < 500


def test_one_report_has_the_gamma_of_one_set_whatever_the_number_of_lengths() -> None:
    assert PLAN.guarantee().gamma == SLANG.guarantee().gamma == 19


def test_answers_are_the_buckets_of_the_beginnings() -> None:
    one = SLANG.answers("slang", "lit")
    assert one == {f"slang-{n}": SLANG.bucket("lit".ljust(n, "\0")) for n in SLANG.lengths}
    assert SLANG.answers("slang", ["lit", None]) == {name: [bucket, None] for name, bucket in one.items()}
    assert SLANG.answers("slang", None) == dict.fromkeys(one)
    with pytest.raises(ValueError, match="row 2: 'ß' is not in the alphabet"):
        SLANG.answers("slang", ["lit", "ß"])


def test_words_of_one_length_are_one_question_that_nobody_draws() -> None:
    short = sf.Words("ab", longest=3, gamma=19)
    plan = sf.Plan.from_dict({"name": "short", **short.questions("short")})
    assert plan.questions_each is None and list(plan.attributes) == ["short-3"]


def test_a_device_tells_one_length_once_and_its_ledger_counts_gamma() -> None:
    device = sf.Device(b"sixteen bytes or more", sf.Ledger())
    first, again = (device.reply(PLAN, SLANG.answers("slang", "yeet"), collector="town") for _ in range(2))
    assert first == again and len(device.ledger.entries) == 1
    assert device.total("town").gamma == SLANG.buckets.exact_gamma
    (name,) = (name for name, report in first.report.items() if report is not None)
    assert name in device.asks(PLAN, collector="town")
    with pytest.raises(ValueError, match="as many reports"):
        device.reply(PLAN, SLANG.answers("slang", "selfie"), collector="town")


def test_words_are_found_from_what_a_collector_stores(table: Any) -> None:
    found = sf.frequent_words(PLAN.counts(table), SLANG)
    assert found["word"].tolist() == ["lit", "selfie", "yeet"]
    for share, stderr, true in zip(found["share"], found["stderr"], (0.4, 0.35, 0.25), strict=True):
        assert abs(share - true) < 6 * stderr


def test_weights_that_are_all_the_same_change_nothing(table: Any) -> None:
    weighed = sf.frequent_words(PLAN.counts(table, weights=np.full(len(TYPED), 2.0)), SLANG)
    assert weighed.equals(sf.frequent_words(PLAN.counts(table), SLANG))


def test_counts_of_other_questions_are_refused(table: Any) -> None:
    found = PLAN.counts(table)
    with pytest.raises(ValueError, match="the counts hold 2 questions of these words, not 3; pass theirs"):
        sf.frequent_words({name: found[name] for name in ("slang-3", "slang-5")}, SLANG)
    with pytest.raises(ValueError, match="hold 0 questions"):
        sf.frequent_words(found, sf.Words("abc", longest=6, gamma=9))


def test_the_picture_counts_them_and_says_that_it_shows_no_list(table: Any) -> None:
    told = estimates(table, PLAN)["questions"]
    answered = [each["answered"] for each in counts(table, PLAN)["questions"].values()]
    assert sum(answered) == len(TYPED) and [each["reports"] for each in told.values()] == answered
    for each in told.values():
        assert each["rows"] == [] and each["messages"][0].startswith(f"More than {MOST_ROWS:,} categories are too many")
