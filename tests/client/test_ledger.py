"""The ledger as a file: plain JSON, its owner's only, written whole, and never forgotten."""

from __future__ import annotations

import contextlib
import json
import random
import stat
from fractions import Fraction
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.client import Ledger, LedgerEntry, LedgerError, Limit
from sfumato.guarantee.amplification import gamma_text

PLAN = sf.Plan.from_dict(
    {
        "name": "town",
        "attributes": {
            "smokes": {"categories": ["yes", "no"], "channel": "randomized-response", "gamma": 19},
            "höhe": {"low": 0, "high": 1, "channel": "gaussian", "privacy": 1.0},
        },
    }
)
ANSWERS = {"smokes": "yes", "höhe": 0.25}
RECEIPT = ("collector", "survey", "plan", "id", "digest", "day")


def answered(path: Path) -> Ledger:
    ledger = Ledger.open(path)
    sf.Device(b"k" * 16, ledger).answer(PLAN, ANSWERS, collector="town.example")
    return ledger


def test_a_file_is_its_owners_only_and_holds_plain_json(tmp_path: Path) -> None:
    ledger = answered(tmp_path / "ledger.json")
    place = tmp_path / "ledger.json"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600 and [each.name for each in tmp_path.iterdir()] == [place.name]
    data = json.loads(place.read_text(encoding="utf-8"))
    assert data["ledger"] == 1 and data["told"][1]["attribute"] == "höhe" and data["told"][1]["gamma"] is None
    again = Ledger.open(place)
    assert again.entries == ledger.entries and again.limit == ledger.limit == Limit()
    assert Ledger.loads(again.dumps()).entries == again.entries


def test_the_true_value_is_not_in_the_file(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "l.json")
    categories = [f"answer {i}" for i in range(1000)]
    plan = sf.Plan.from_dict(
        {"attributes": {"a": {"categories": categories, "channel": "randomized-response", "keep": 0}}}
    )
    sf.Device(b"k" * 16, ledger).answer(plan, {"a": "answer 77"}, collector="c")
    told = json.loads((tmp_path / "l.json").read_text())["told"][0]
    assert "answer 77" not in json.dumps({**told, "domain": None})


def test_a_report_leaves_only_after_it_is_saved(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "gone" / "ledger.json")
    with pytest.raises(OSError):
        sf.Device(b"k" * 16, ledger).answer(PLAN, ANSWERS, collector="c")
    assert ledger.entries == ()


def test_a_ledger_that_another_program_wrote_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "ledger.json"
    stale = Ledger.open(place)
    answered(place)
    with pytest.raises(LedgerError, match="changed since it was read"):
        sf.Device(b"k" * 16, stale).answer(PLAN, ANSWERS, collector="other")
    assert stale.entries == () and len(Ledger.open(place).entries) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: "", "not valid JSON"),
        (lambda d: "[" * 100_000, "not valid JSON"),
        (lambda d: json.dumps(d)[:-9], "not valid JSON"),
        (lambda d: json.dumps({**d, "ledger": 2}), "version 2"),
        (lambda d: json.dumps({"told": []}), "not a ledger"),
        (lambda d: json.dumps({**d, "told": [*d["told"], {}]}), "entry 3 has not the keys"),
        (lambda d: json.dumps({**d, "told": [{**d["told"][0], "gamma": "1/0"}]}), "entry 1: gamma is not a fraction"),
        (lambda d: json.dumps({**d, "told": [{**d["told"][0], "gamma": "1/2"}]}), "below 1"),
        (lambda d: json.dumps({**d, "told": [{**d["told"][0], "gamma": "1/00"}]}), "entry 1: gamma is not a fraction"),
        (lambda d: json.dumps({**d, "told": [{**d["told"][0], "gamma": float("nan")}]}), "not valid JSON"),
        (lambda d: json.dumps({**d, "told": [{**d["told"][0], "level": 3}]}), "level is neither"),
        (lambda d: json.dumps({**d, "told": [{**d["told"][0], "collector": None}]}), "collector is not text"),
        (lambda d: json.dumps({**d, "limit": {"gamma": "19", "reports": 0}}), "not a count"),
        (lambda d: json.dumps({**d, "limit": None}), "limit has not"),
        (lambda d: json.dumps({**d, "told": {}}), "told and receipts are lists"),
        (lambda d: json.dumps({**d, "receipts": [{"id": 3}]}), "receipt 1 has not the keys"),
        (lambda d: json.dumps({**d, "receipts": [dict.fromkeys(RECEIPT, 3)]}), "receipt 1: collector is not text"),
        (lambda d: json.dumps({**d, "notes": []}), "not a ledger"),
    ],
)
def test_a_garbled_file_is_an_error_and_left_as_it_is(tmp_path: Path, change, message: str) -> None:  # type: ignore[no-untyped-def]
    place = tmp_path / "ledger.json"
    answered(place)
    place.write_text(change(json.loads(place.read_text())))
    before = place.read_bytes()
    with pytest.raises(LedgerError, match=message):
        Ledger.open(place)
    assert place.read_bytes() == before


def test_any_damage_is_an_error_or_changes_nothing_silently(tmp_path: Path) -> None:
    place = tmp_path / "ledger.json"
    answered(place)
    whole, rng = place.read_bytes(), random.Random(5)
    for _ in range(2000):
        damaged = bytearray(whole)
        for _ in range(rng.choice([1, 3, 30])):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        place.write_bytes(damaged[: rng.randrange(len(damaged))] if rng.random() < 0.3 else damaged)
        with contextlib.suppress(LedgerError):
            assert len(Ledger.open(place).entries) == 2


def test_receipts_are_kept_beside_what_was_told_and_a_ledger_without_any_reads(tmp_path: Path) -> None:
    ledger = answered(tmp_path / "ledger.json")
    assert "receipts" not in json.loads(ledger.dumps())
    reply = sf.Device(b"k" * 16, ledger).reply(PLAN, ANSWERS, collector="town.example")
    again = Ledger.open(tmp_path / "ledger.json")
    (receipt,) = again.receipts
    assert receipt.id == reply.id and receipt.plan == PLAN.identity and again.entries == ledger.entries
    assert set(json.loads(again.dumps())["receipts"][0]) == set(RECEIPT)


def test_a_long_gamma_is_written_short_and_never_below_what_it_is() -> None:
    exact = Fraction(19**400 + 1, 19**399)
    assert len(gamma_text(exact)) < 50 and exact <= Fraction(gamma_text(exact)) < exact + Fraction(1, 10**19)
    assert gamma_text(Fraction(57, 2)) == "57/2" and gamma_text(Fraction(19)) == "19" and gamma_text(None) is None


def test_totals_are_exact_per_collector_and_attribute() -> None:
    def told(collector: str, attribute: str, gamma: str | None) -> LedgerEntry:
        return LedgerEntry(collector, "s", attribute, {"low": 0, "high": 1}, "m", None, "mark", 1, gamma, "2026-05-12")

    ledger = Ledger([told("a", "x", "19"), told("a", "y", "3/2"), told("b", "X ", "5"), told("b", "z", None)])
    assert ledger.total("a").gamma == Fraction(57, 2) and ledger.total(attribute="x").gamma == 95
    assert ledger.total("b").gamma is None and ledger.total("nobody").gamma == 1
    said = str(ledger.total("a"))
    assert "by at most 28.5" in said and "You have told a your blurred or clear answers to x and y." in said
    assert str(ledger.total("nobody")) == "Nothing has been told."
    both = str(ledger.total("b"))
    assert "no bound on what the reports of z reveal" in both and "a factor of at most 5 on the odds." in both
    assert "odds" not in str(ledger.total("b", "z")) and "%" not in both


def test_a_total_beyond_all_floats_is_still_said() -> None:
    one = LedgerEntry("a", "s", "x", {"low": 0, "high": 1}, "m", None, "mark", 1, "19", "2026-05-12")
    said = str(Ledger([one] * 300).total("a"))
    assert "by at most 4.228e+383: a suspicion of 5 % grows to 100 % at worst" in said


def test_names_are_listed_in_the_ledgers_language() -> None:
    named = {"survey": "s", "domain": {"low": 0, "high": 1}, "mechanism": "m", "level": None, "mark": "", "report": 1}
    named |= {"gamma": "3", "day": "2026-05-12"}
    entries = [LedgerEntry(**named, collector=c, attribute=a) for c, a in (("a", "x"), ("b", "y"))]
    said = {language: str(Ledger(entries, language=language).total()) for language in ("de", "fr")}
    assert "a und b" in said["de"] and "x et y" in said["fr"]


def test_a_limit_is_said_in_three_ways_and_kept_in_the_file(tmp_path: Path) -> None:
    assert Limit.of(belief=(0.05, 0.5)) == Limit.of(19) == Limit(Fraction(19))
    assert float(Limit.of(epsilon=1).gamma or 0) == pytest.approx(2.71828, rel=1e-5)
    ledger = Ledger.open(tmp_path / "ledger.json")
    ledger.set_limit(belief=(0.05, 0.5), reports=3)
    assert Ledger.open(tmp_path / "ledger.json").limit == Limit(Fraction(19), 3)
    assert str(ledger.limit) == "odds multiplied by at most 19 and reports of each answer for one collector: at most 3"
    for wrong in ({"gamma": 0.5}, {"gamma": 3, "epsilon": 1}, {"belief": (0.5, 0.1)}, {"reports": 0}):
        with pytest.raises(ValueError, match=r"give|for example"):
            Limit.of(**wrong)  # type: ignore[arg-type]


def test_a_total_is_plain_data_for_machines(tmp_path: Path) -> None:
    told = answered(tmp_path / "ledger.json").total("town.example").to_dict()
    assert json.loads(json.dumps(told)) == told and told["gamma"] is None and len(told["words"]) > 1
    assert [each["attribute"] for each in told["told"]] == ["smokes", "höhe"]
    assert not {"mark", "report"} & set(told["told"][0])
