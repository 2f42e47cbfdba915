"""What analysts are told, and who is not: tokens, scopes, surveys, pages of other sites."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from sfumato.cli import run
from sfumato.collector.access import issue_token
from sfumato.collector.http.analyst import ANALYST
from sfumato.collector.store import open_store
from tests.collector.analysts import Analyst, children, fill, strict, until
from tests.collector.background.test_worker import SHOP
from tests.collector.serving import PLAN, Running, batch, reports, serving

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
OWN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with 2,000 reports to its survey "town", and a second, empty one."""
    address = str(tmp_path_factory.mktemp("store") / "store.db")
    with open_store(address).connected() as connection, connection.transaction():
        connection.open_survey("shop", SHOP)
    with serving(address) as service:
        fill(address, 2000)
        yield service


@pytest.fixture(scope="module")
def analyst(running: Running) -> Analyst:
    return Analyst(running)


def issued(running: Running, survey: str | None, *scopes: str, days: float = 1) -> str:
    with open_store(running.address).connected() as connection, connection.transaction():
        found = None if survey is None else connection.require_survey(survey)
        return issue_token(connection, found, scopes, days)


def paths(scope: str = "") -> list[tuple[str, str]]:
    """Every endpoint of analysts, or those that need this scope."""
    filled = [(each, each.path.format(survey="town", job="0" * 16)) for each in ANALYST]
    return [(each.method, path) for each, path in filled if scope in ("", each.scope)]


def test_only_a_valid_token_of_this_scope_and_survey_is_let_in(running: Running) -> None:
    expired, revoked = issued(running, "town", "read", days=1e-9), issued(running, "town", "read")
    with open_store(running.address).connected() as connection, connection.transaction():
        connection.revoke_token(revoked.partition(".")[0])
    for method, path in paths():
        for wrong in (None, "", "x", expired, revoked, revoked[:-1]):
            header = {} if wrong is None else {"Authorization": f"Bearer {wrong}"}
            answered = running.ask(method, path, **header)
            assert answered.status == 401 and answered.headers["www-authenticate"] == "Bearer", path
    metrics, elsewhere = issued(running, "town", "metrics"), issued(running, "shop", "read", "export", "jobs", "ship")
    for method, path in paths():
        for token in (metrics, elsewhere):
            assert running.ask(method, path, Authorization=f"Bearer {token}").status == 403, path
    for scope in ("read", "export", "jobs", "ship"):
        header = {"Authorization": f"Bearer {issued(running, 'town', scope)}"}
        for method, path in paths(scope):
            assert running.ask(method, path, **header).status not in (401, 403), path


def test_counts_and_estimates_are_told_with_their_errors(analyst: Analyst) -> None:
    counts = strict(analyst.ask("GET", "counts").data)
    assert counts["reports"] == counts["questions"]["age"]["answered"] == 2000
    told = strict(analyst.ask("GET", "estimates").data)["questions"]
    assert list(told) == ["smokes", "age", "group"]
    yes = next(row for row in told["smokes"]["rows"] if row["label"] == "yes")
    assert abs(yes["value"] - 0.5) < 6 * yes["stderr"], "reports are even; a false alarm in 10^9"
    one = strict(analyst.ask("GET", "estimates?question=age&by=class").data)["questions"]
    assert list(one) == ["age"] and one["age"]["by_class"] and "by_level" not in one["age"]
    both = strict(analyst.ask("GET", "joint?first=smokes&second=age").data)
    assert both["questions"] == ["smokes", "age"]
    assert sum(map(sum, both["shares"])) == pytest.approx(1)


def test_numbers_come_in_as_many_intervals_as_are_wanted(analyst: Analyst) -> None:
    age = strict(analyst.ask("GET", "estimates?question=age&intervals=4").data)["questions"]["age"]
    assert len(age["rows"]) == 4


@pytest.mark.parametrize(
    "path",
    ["estimates?question=nix", "estimates?by=nix", "estimates?intervals=1", "estimates?intervals=many",
     "estimates?x=1", "joint", "joint?first=age", "joint?first=age&second=age", "joint?first=age&second=nix"],
)  # fmt: skip
def test_a_question_that_makes_no_sense_is_refused_with_a_sentence(analyst: Analyst, path: str) -> None:
    answered = analyst.ask("GET", path)
    assert answered.status == 400 and len(answered.json["reason"]) > 20


def test_a_survey_without_reports_is_told_of_as_such(running: Running) -> None:
    header = {"Authorization": f"Bearer {issued(running, 'shop', 'read', 'export')}"}
    assert strict(running.ask("GET", "/shop/api/counts", **header).data)["reports"] == 0
    assert strict(running.ask("GET", "/shop/api/estimates", **header).data)["reports"] == 0
    assert running.ask("GET", "/shop/api/reports.parquet", **header).data[:4] == b"PAR1"


def test_an_export_is_a_file_of_reports(
    analyst: Analyst, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    answered = analyst.ask("GET", "reports.parquet")
    assert answered.status == 200 and "town.parquet" in answered.headers["content-disposition"]
    Path("reports.parquet").write_bytes(answered.data)
    Path("plan.json").write_text(PLAN.to_json())
    assert run(["reconstruct", "plan.json", "reports.parquet", "--json"]) == 0
    assert '"smokes"' in capsys.readouterr().out
    Path("other.json").write_text(PLAN.to_json().replace("19", "18"))
    assert run(["reconstruct", "other.json", "reports.parquet"]) == 2, "it says which plan made it"


def test_figures_move_with_the_reports_and_cost_nothing_when_asked_again(running: Running, analyst: Analyst) -> None:
    before = analyst.ask("GET", "counts").json["reports"]
    for _ in range(50):
        assert analyst.ask("GET", "counts").status == 200
    assert running.ask("POST", "/town/reports", batch(*reports(3, seed=7))).status == 200
    until(lambda: analyst.ask("GET", "counts").json["reports"] == before + 3)


def test_a_process_that_is_killed_is_replaced(running: Running, analyst: Analyst) -> None:
    analyst.ask("GET", "joint?first=smokes&second=group")
    (process,) = children(running)
    os.kill(process, signal.SIGKILL)
    until(lambda: analyst.ask("GET", "joint?first=group&second=smokes").status == 200)
    assert children(running) != [process]


def test_what_is_no_model_of_this_plan_is_not_shipped(running: Running, analyst: Analyst) -> None:
    for body, status in (
        (b"{", 400), ([], 400), ({"job": 1}, 400), ({}, 422), ({"format": "sfumato-model"}, 422),
        ({"job": "0" * 16}, 404),
    ):  # fmt: skip
        answered = analyst.ask("PUT", "model", body)
        assert answered.status == status and answered.json["reason"], body
    assert running.ask("GET", "/town/model.json").status == 404


def test_a_job_that_makes_no_sense_is_refused_at_once(analyst: Analyst) -> None:
    for body, status in (
        ({"kind": "train", "options": {"method": "nix"}}, 422), ({"kind": "dance"}, 400), ({"kind": "itemsets"}, 400),
        ({"kind": "itemsets", "options": {"min_support": 0.1}}, 422), ({}, 400),
        ({"kind": "train", "options": {"holdout": 2}}, 400),
    ):  # fmt: skip
        answered = analyst.ask("POST", "jobs", body)
        assert answered.status == status and answered.json["reason"], body
    assert analyst.ask("GET", "jobs").json == {"jobs": []}
    for path in ("jobs/" + "0" * 16, "jobs/" + "0" * 16 + "/result"):
        assert analyst.ask("GET", path).status == 404


def test_signing_in_leads_to_the_dashboard_and_signing_out_away_from_it(running: Running) -> None:
    away = running.ask("GET", "/town/dashboard")
    assert away.status == 303 and away.headers["location"] == "/login?survey=town"
    form = running.ask("GET", "/login?survey=town")
    assert b'value="town"' in form.data and "script-src 'self'" in form.headers["content-security-policy"]
    assert b"<script" not in running.ask("GET", '/login?survey="><script>').data.replace(b"<script src=", b"")
    token = issued(running, "town", "read")
    wrong = running.ask("POST", "/login", urlencode({"token": "x", "survey": "town"}).encode(), **FORM, **OWN)
    assert wrong.status == 401 and b"valid token" in wrong.data and "set-cookie" not in wrong.headers
    into = running.ask("POST", "/login", urlencode({"token": token, "survey": ""}).encode(), **FORM, **OWN)
    assert into.status == 303 and into.headers["location"] == "/town/dashboard"
    cookie = into.headers["set-cookie"]
    assert cookie.startswith(f"sfumato={token};") and "HttpOnly" in cookie and "SameSite=strict" in cookie
    assert "Secure" not in cookie
    page = running.ask("GET", "/town/dashboard", Cookie=f"sfumato={token}")
    assert page.status == 200 and b"town" in page.data and "access-control-allow-origin" not in page.headers
    assert running.ask("GET", "/shop/dashboard", Cookie=f"sfumato={token}").status == 403
    assert running.ask("GET", "/town/api/counts", Cookie=f"sfumato={token}").status == 200
    out = running.ask("POST", "/logout", **OWN)
    assert out.status == 303 and 'sfumato=""' in out.headers["set-cookie"]
    for script in ("login.js", "dashboard.js"):
        assert running.ask("GET", f"/static/{script}").headers["content-type"].startswith("text/javascript")
    assert running.ask("GET", "/static/nothing.js").status == 404


def test_over_tls_the_cookie_is_secure(running: Running) -> None:
    body = urlencode({"token": issued(running, None, "read")}).encode()
    origin = {"Origin": "https://survey.example", "Host": "survey.example"}
    assert "Secure" in running.ask("POST", "/login", body, **FORM, **origin).headers["set-cookie"]


def test_a_page_of_another_site_changes_nothing_with_a_cookie(running: Running) -> None:
    cookie = {"Cookie": f"sfumato={issued(running, 'town', 'ship')}"}
    origins = ("https://evil", "null", "http://[", f"{running.url}.evil", f"https://evil/{running.url}")
    sites: list[dict[str, str]] = [{}, *({"Sec-Fetch-Site": each} for each in ("cross-site", "same-site"))]
    for foreign in (*sites, *({"Origin": each} for each in origins)):
        assert running.ask("DELETE", "/town/api/model", **cookie, **foreign).status == 403, foreign
        assert running.ask("POST", "/login", b"token=x", **FORM, **foreign).status == 403
        assert running.ask("POST", "/logout", **foreign).status == 403
    assert running.ask("DELETE", "/town/api/model", **cookie, **OWN).status == 204
    own = {"Origin": running.url}
    assert running.ask("DELETE", "/town/api/model", **cookie, **own).status == 204


def test_every_endpoint_of_analysts_is_described(running: Running) -> None:
    document = running.ask("GET", "/openapi.json").json
    for each in ANALYST:
        told = document["paths"][each.path][each.method.lower()]
        assert told["security"] == [{"token": []}] and {"401", "403"} <= set(told["responses"])
    (first, second) = document["paths"]["/{survey}/api/joint"]["get"]["parameters"][1:]
    assert (first["name"], first["required"], second["name"]) == ("first", True, "second")


def test_nothing_that_was_asked_is_logged(running: Running) -> None:
    assert running.process is not None
    said = running.end().decode()
    assert "estimates" not in said and "smokes" not in said and "failed" not in said, said
    running.start()
