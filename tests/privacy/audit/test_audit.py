"""The audit as a whole: words, verdict, plain data, pages without network."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import sfumato as sf
from sfumato.privacy import AuditSettings
from sfumato.privacy.audit.check import p_at_least, smallest_excess

AGES = sf.Interval(20, 80, integer=True)
QUICK = {"samples": 20_000, "people": 300}


def correlated_people(n: int = 4000) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    common, own = rng.normal(size=(n, 1)), rng.normal(size=(n, 3))
    z = 0.97 * common + 0.24 * own
    return {
        "age": np.clip(50 + 12 * z[:, 0], 20, 80).round(),
        "salary": np.clip(500 + 150 * z[:, 1], 0, 1000),
        "years": np.clip(25 + 8 * z[:, 2], 0, 50),
        "smokes": rng.choice(["yes", "no"], n, p=[0.2, 0.8]),
        "town": rng.choice(["A", "B", "C"], n),
    }


PLAN = sf.Plan.from_dict(
    {
        "name": "town",
        "attributes": {
            "age": {"low": 20, "high": 80, "integer": True, "channel": "gaussian", "privacy": 1.0},
            "salary": {"low": 0, "high": 1000, "channel": "gaussian", "privacy": 1.0},
            "years": {"low": 0, "high": 50, "channel": "uniform", "privacy": 1.0, "question": "How long?"},
            "smokes": {"categories": ["yes", "no"], "channel": "randomized-response", "gamma": 3},
            "town": {"categories": ["A", "B", "C"], "role": "class"},
        },
    }
)


@pytest.fixture(scope="module")
def rehearsal() -> sf.Audit:
    return sf.audit(PLAN, truth=correlated_people(), targets=["smokes: 5% to 50%"], **QUICK)


def test_uniform_noise_on_age_shows_the_breaching_report_and_property_in_words() -> None:
    told = sf.audit(sf.Uniform(AGES, halfwidth=60), **QUICK)
    sentence = re.search(r"a report of (-?\d+) proves that the value is at (most|least) (\d+)", str(told))
    assert sentence is not None
    report, side, bound = int(sentence[1]), sentence[2], int(sentence[3])
    assert bound == (report + 60 if side == "most" else report - 60)
    assert told.passed


def test_an_implementation_that_breaks_its_law_fails_the_audit() -> None:
    stated, actual = (sf.RandomizedResponse(sf.Categories(["a", "b"]), keep=keep) for keep in (0.6, 0.8))
    told = sf.audit(stated, implementation=actual.randomize, samples=200_000)
    assert not told.passed and {check.name for check in told.broken} >= {"law", "amplification"}
    assert "FAILED" in str(told) and "Do not answer" in told.to_html("respondent")


def test_a_plan_passes_and_says_what_is_not_protected(rehearsal: sf.Audit) -> None:
    assert rehearsal.passed and rehearsal.confidence == 1 - 1e-6
    clear = "Sent as it is, without protection: town."
    for words in (clear, "That you take part at all is visible", "300 people of the true data"):
        assert words in str(rehearsal)


def test_every_attack_is_told_beside_a_guess_without_the_report(rehearsal: sf.Audit) -> None:
    attacks = {finding.attack.split(" by ")[0] for finding in rehearsal.findings}
    assert attacks == {
        "best guess from its own report",
        "10 fresh answers to the same question",
        "spectral filtering",
        "principal components",
        "Bayes estimate from all numbers",
        "pointing out unusual people",
        "finding a record",
    }
    for finding in rehearsal.findings:
        assert finding.without_report > 0 and finding.recovered >= 0
    averaged = {f.attribute: f for f in rehearsal.findings if "fresh answers" in f.attack}
    single = {f.attribute: f for f in rehearsal.findings if "own report" in f.attack}
    assert averaged["age"].recovered < 0.7 * single["age"].recovered
    assert averaged["smokes"].recovered > single["smokes"].recovered


def test_correlated_answers_are_told_to_weaken_the_stated_width(rehearsal: sf.Audit) -> None:
    (age,) = (width for width in rehearsal.account.widths if width.attribute == "age")
    assert age.stated == pytest.approx(rehearsal.guarantees["age"].credible_width())
    assert age.stated == pytest.approx(age.alone, rel=0.05)
    assert age.together < 0.9 * age.alone
    assert "correlation takes" in str(age)
    bayes = next(f for f in rehearsal.findings if f.attack.startswith("Bayes") and f.attribute == "age")
    assert bayes.recovered == pytest.approx(age.together, rel=0.2)


def test_reports_alone_give_nearly_the_same_picture(rehearsal: sf.Audit) -> None:
    reports = PLAN.randomize(correlated_people(), rng=1)
    told = sf.audit(PLAN, reports, **QUICK)
    assert told.passed and "reconstructed from 4,000 reports" in told.assumptions[0]
    for one, other in zip(told.account.widths, rehearsal.account.widths, strict=True):
        assert one.together == pytest.approx(other.together, rel=0.3)


def test_a_missed_target_fails_the_audit_and_shows_why() -> None:
    told = sf.audit(sf.Gaussian(AGES, privacy=1.0), targets="5% to 50%", **QUICK)
    assert not told.passed and not told.broken
    assert "MISSED" in str(told) and "a report of" in told.verdicts[0].text


def test_repeated_answers_multiply() -> None:
    coin = sf.RandomizedResponse(sf.Categories(["a", "b"]), gamma=3)
    told = sf.audit(coin, times=4, targets="5% to 50%", **QUICK)
    assert told.account.gamma == pytest.approx(81)
    assert not told.passed and sf.audit(coin, targets="5% to 50%", **QUICK).passed


def test_levels_and_baskets_are_audited_too() -> None:
    levels = sf.TwoPhase(sf.Gaussian(AGES, privacy=1.0), levels={"normal": 30, "careful": 10})
    told = sf.audit(levels, **QUICK)
    assert told.passed and {check.attribute for check in told.checks} == {
        "answer (normal)", "answer (careful)", "all answers",
    }  # fmt: skip
    assert "Which level you chose for answer is visible." in told.unprotected
    baskets = sf.audit(sf.SelectASize.design(sf.Items(30), sizes=[3], gamma=9, up_to=2), **QUICK)
    assert baskets.passed and "How many items you have (answer) is visible." in baskets.unprotected


def test_reports_at_the_default_level_stand_for_a_choice() -> None:
    levels = {"channel": "two-phase", "noise": {"channel": "gaussian", "privacy": 1.0}}
    age = {"low": 20, "high": 80, "integer": True, **levels, "levels": {"normal": 30, "careful": 10}}
    plan = sf.Plan.from_dict({"name": "levels", "attributes": {"age": age}})
    people = {"age": np.random.default_rng(0).integers(20, 81, 2000)}
    reports = plan.randomize(people, rng=1, levels={"age": {"normal": 0.5, "careful": 0.5}})
    told = sf.audit(plan, reports, **QUICK)
    assert told.passed and "reconstructed from 2,000 reports" in told.assumptions[0]


@pytest.mark.parametrize("reader", ["respondent", "reviewer"])
def test_a_page_is_well_formed_and_needs_no_network(rehearsal: sf.Audit, reader: str) -> None:
    html = rehearsal.to_html(reader)
    opened: list[str] = []

    class Balanced(HTMLParser):
        def handle_starttag(self, tag, attrs):
            assert not any(name == "src" or (name == "href" and value != "data:,") for name, value in attrs)
            if tag not in ("meta", "link"):
                opened.append(tag)

        def handle_endtag(self, tag):
            assert opened.pop() == tag

    Balanced().feed(html)
    assert opened == [] and "http:" not in html and "https:" not in html and "<script" not in html
    titles = re.findall("<h2>(.*?)</h2>", html)
    if reader == "respondent":
        assert "How long?" in titles and "All your answers together" in titles
        assert html.count("What it can reveal at worst") == len(PLAN.attributes)
    else:
        wanted = {"All measures", "Attacks", "Assumptions", "One person&#x27;s reports together", "Targets"}
        assert wanted <= set(titles)


def test_the_run_says_how_small_a_fault_it_could_have_seen(rehearsal: sf.Audit) -> None:
    seen = rehearsal.to_dict()["could_have_seen"]
    assert set(seen) == {"age", "salary", "years", "smokes"}
    for faults in seen.values():
        assert 0.01 < faults["bias"] < 0.1 and 0 < faults["leak"] < 0.5 and faults["seeds"] > 1000
    assert "This run finds, 99 times in 100, a probability that is off by" in str(rehearsal)
    assert "ten times the samples" in rehearsal.to_html("reviewer")
    longer = sf.audit(PLAN, samples=200_000, people=300).could_have_seen["smokes"]
    assert longer["bias"] < 0.4 * seen["smokes"]["bias"]


def test_what_is_said_to_be_seen_is_what_the_test_sees() -> None:
    n, level = 100_000, 1e-8
    excess = smallest_excess(n, 0.25, level)
    hits = np.random.default_rng(0).binomial(n, 0.25 + excess, 4000)
    assert 0.985 < (p_at_least(hits, n, 0.25) <= level).mean() < 0.995


@pytest.mark.parametrize("seed", range(6))
def test_no_attack_is_told_to_beat_the_bound_that_is_stated_beside_it(seed: int) -> None:
    people = {"answer": np.random.default_rng(seed).choice(["a", "b", "c"], 150, p=[0.8, 0.15, 0.05])}
    channel = sf.RandomizedResponse(sf.Categories(["a", "b", "c"]), keep=0.7)
    for given in ({"truth": people}, {}):
        told = sf.audit(channel, **given, samples=2000, people=60, settings=AuditSettings(seed=seed))
        hits = [finding for finding in told.findings if finding.measure == "hits" and finding.stated is not None]
        assert len(hits) == 2 and all(finding.recovered <= finding.stated for finding in hits)


def test_another_program_in_part_of_a_plan_says_what_was_not_audited() -> None:
    smokes = PLAN.attributes["smokes"].channel
    told = sf.audit(PLAN, implementation={"smokes": {"yes": smokes.randomize(["yes"] * 5000)}}, **QUICK)
    said = "\n".join(told.to_dict()["not_audited"])
    assert told.passed and "Not audited" in str(told) and "Not audited" in told.to_html("reviewer")
    for words in ("age, salary and years: another program", "1 of 2 true values", "Whole records of the other program"):
        assert words in said
    assert sf.audit(PLAN, **QUICK).unaudited == ()


def test_another_reader_is_refused(rehearsal: sf.Audit) -> None:
    with pytest.raises(ValueError, match="reader='press' is unknown; use respondent or reviewer"):
        rehearsal.to_html("press")


def test_the_whole_audit_is_plain_data(rehearsal: sf.Audit) -> None:
    told = json.loads(json.dumps(rehearsal.to_dict(), allow_nan=False))
    assert told["passed"] and set(told["guarantees"]) == {"age", "salary", "years", "smokes"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"targets": "soon"}, "target 'soon' is not understood"),
        ({"targets": "height: 5% to 50%"}, "'height', which has no channel"),
        ({"reports": {"age": [1]}}, "column 'salary' is missing"),
        ({"implementation": {"height": len}}, "implementation names 'height'"),
        ({"times": 0}, "times=0"),
    ],
)
def test_bad_arguments_are_named(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        sf.audit(PLAN, **arguments, **QUICK)


def test_what_cannot_be_audited_is_refused_by_type() -> None:
    with pytest.raises(TypeError, match="dict cannot be audited"):
        sf.audit({})
