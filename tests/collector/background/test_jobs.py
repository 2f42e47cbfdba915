"""Jobs run apart from the service, one after the other, and whatever ends them, their state says so."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
from pathlib import Path

from sfumato.collector.http.service import Service
from sfumato.collector.settings import Settings
from sfumato.collector.store import open_store
from tests.collector.analysts import ENDLESS, Analyst, children, fill, is_alive, until
from tests.collector.postgres import Cluster
from tests.collector.serving import PLAN, serving


def test_a_model_is_trained_fetched_and_shipped_to_the_devices(address: str) -> None:
    with serving(address) as running:
        fill(address, 2000)
        analyst = Analyst(running)
        id = analyst.add({"kind": "train", "options": {"method": "byclass"}})
        done = analyst.ended(id)
        assert done["state"] == "done" and "held out" in done["said"], done
        model = analyst.ask("GET", f"jobs/{id}/result")
        assert model.json["format"] == "sfumato-model" and model.json["measured"]["method"] == "byclass"
        assert running.ask("GET", "/town/model.json").status == 404
        assert analyst.ask("PUT", "model", {"job": id}).status == 204
        assert running.ask("GET", "/town/model.json").json == model.json
        assert running.ask("GET", "/town/survey.json").json["model"] == "model.json"
        assert analyst.ask("DELETE", "model").status == 204
        assert running.ask("GET", "/town/model.json").status == 404
        assert analyst.ask("PUT", "model", model.data).status == 204
        assert running.ask("GET", "/town/model.json").json == model.json
        assert [job["id"] for job in analyst.ask("GET", "jobs").json["jobs"]] == [id]


def test_jobs_wait_for_one_another_and_can_be_stopped_and_deleted(tmp_path: Path) -> None:
    address = str(tmp_path / "store.db")
    with serving(address) as running:
        analyst = Analyst(running)
        first, second = analyst.add(ENDLESS), analyst.add({"kind": "audit", "options": {"samples": 1000}})
        assert first < second
        process = analyst.under_way(first)
        assert os.getpriority(os.PRIO_PROCESS, process) == 19
        environment = Path(f"/proc/{process}/environ").read_bytes()
        assert b"OMP_NUM_THREADS=1" in environment
        assert address.encode() not in Path(f"/proc/{process}/cmdline").read_bytes(), "it may hold a password"
        assert analyst.job(second)["state"] == "waiting"
        assert analyst.ask("GET", f"jobs/{second}/result").status == 409
        assert analyst.ask("DELETE", f"jobs/{first}").status == 204
        until(lambda: not is_alive(process))
        assert analyst.ended(second)["state"] == "done"
        assert analyst.job(first)["state"] == "stopped"
        assert analyst.ask("DELETE", f"jobs/{first}").status == 204
        assert analyst.ask("GET", f"jobs/{first}").status == 404
        third = analyst.add(ENDLESS)
        fourth = analyst.add(ENDLESS)
        assert analyst.ask("DELETE", f"jobs/{fourth}").status == 204
        assert analyst.job(fourth)["state"] == "stopped", "it never began"
        assert analyst.under_way(third)


def test_a_job_whose_process_is_killed_has_failed_and_the_next_one_runs(tmp_path: Path) -> None:
    with serving(str(tmp_path / "store.db")) as running:
        analyst = Analyst(running)
        first, second = analyst.add(ENDLESS), analyst.add({"kind": "audit", "options": {"samples": 1000}})
        os.kill(analyst.under_way(first), signal.SIGKILL)
        failed = analyst.ended(first)
        assert failed["state"] == "failed" and "ended before it was done" in failed["said"]
        assert analyst.ended(second)["state"] == "done"


def test_a_job_ends_with_the_service_however_that_ends(address: str) -> None:
    with serving(address) as running:
        analyst = Analyst(running)
        for how in (signal.SIGKILL, signal.SIGTERM):
            id = analyst.add(ENDLESS)
            process = analyst.under_way(id)
            others = children(running)
            running.end(how)
            until(lambda process=process: not is_alive(process))
            until(lambda others=others: not any(map(is_alive, others)))
            running.start()
            failed = analyst.job(id)
            assert (failed["state"], failed["said"]) == ("failed", "the service was restarted")


def test_jobs_and_figures_outlive_a_restarted_database(postgres: Cluster) -> None:
    with serving(postgres.new_database(f"t{secrets.token_hex(6)}")) as running:
        fill(running.address, 50)
        analyst = Analyst(running)
        id = analyst.add(ENDLESS)
        process = analyst.under_way(id)
        postgres.stop("immediate")
        assert analyst.ask("GET", "counts").status == 503
        postgres.start()
        until(lambda: analyst.ask("GET", "counts").status == 200)
        assert analyst.job(id)["state"] == "running" and is_alive(process)
        assert analyst.ask("DELETE", f"jobs/{id}").status == 204
        until(lambda: not is_alive(process))
        assert analyst.ended(analyst.add({"kind": "audit", "options": {"samples": 1000}}))["state"] == "done"


def test_a_job_without_reports_fails_with_a_sentence(tmp_path: Path) -> None:
    with serving(str(tmp_path / "store.db")) as running:
        analyst = Analyst(running)
        failed = analyst.ended(analyst.add({"kind": "train"}))
        assert (failed["state"], failed["said"]) == ("failed", "there are no reports with a class yet")
        assert b"class" not in running.end()


def test_a_job_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))

    async def scene() -> None:
        service = Service(store, Settings(job_seconds=0.5, log=False))
        await service.start()
        number = service.served("town").survey.number
        await service.jobs.add(number, "audit", ENDLESS["options"])
        while (job := (await service.reader.run(lambda connection: connection.jobs()))[0])["state"] != "failed":
            await asyncio.sleep(0.02)
        assert "more than" in job["said"]
        await service.stop()

    with store.connected() as connection, connection.transaction():
        connection.open_survey("town", PLAN)
    asyncio.run(asyncio.wait_for(scene(), 60))


def test_jobs_that_waited_when_the_service_ended_are_done_by_the_next(tmp_path: Path) -> None:
    address = str(tmp_path / "store.db")
    with open_store(address).connected() as connection, connection.transaction():
        number = connection.open_survey("town", PLAN).number
        connection.add_job("0" * 16, number, "audit", {"samples": 1000})
    with serving(address) as running:
        analyst = Analyst(running)
        assert analyst.ended("0" * 16)["state"] == "done"
        assert json.loads(analyst.ask("GET", f"jobs/{'0' * 16}/result").data)["passed"]
