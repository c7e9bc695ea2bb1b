"""The lab's server: the page and what it needs, events that reach all who watch, the report, and what is kept."""

import asyncio
from unittest import mock

import pytest

from lab import events
from localax import experiments, runner
from localax.store import Store
from localax.web._crew import Crew, Helper
from localax.web._events import Events
from localax.web._jobs import Job
from localax.web._lab import Lab
from localax.web._limits import LIMITS


def test_the_page_and_what_it_needs(server):
    answer = server.get("/plotly.min.js")
    assert answer.status_code == 200
    assert "javascript" in answer.headers["content-type"]
    assert server.get("/api/nothing").json() == {"error": "Not Found", "where": None}
    found = server.get("/api/catalogue").json()
    assert found["limits"] == LIMITS
    assert {"ipr", "geary", "objective", "effective_flow"} <= set(found["glossary"])
    assert found["glossary"]["ipr"]["mathml"].startswith("<math")
    assert [preset["name"] for preset in found["presets"]] == list(experiments.ALL)
    assert [preset["name"] for preset in found["presets"] if preset["stored"]] == ["kurtosis"]


def test_questions_that_are_wrong_get_one_line(server):
    wrong = server.post("/api/runs", json={"settings": {"rate": -1}})
    assert (wrong.status_code, wrong.json()["where"]) == (400, "rate")
    assert server.post("/api/runs", content="settings=1").status_code == 422
    headers = {"content-type": "application/json"}
    assert server.post("/api/stimulus", content="{", headers=headers).status_code == 422
    assert server.post("/api/stimulus", content="[" * 60_000, headers=headers).status_code == 422
    assert server.post("/api/stimulus", json=[1]).status_code == 422
    assert server.get("/api/runs/unknown").status_code == 404
    assert server.get("/api/jobs/unknown/events").status_code == 404
    assert server.post("/api/runs", json={}, headers={"host": "evil.example"}).status_code == 403
    assert server.get("/api/report?preset=other").status_code == 400
    assert server.get("/api/report/nothing/0.svg").status_code == 404
    assert server.post("/api/reproduce/nothing", json={}).status_code == 400


def test_who_comes_late_or_again_misses_nothing():
    async def life():
        events = Events()
        events.tell("a", 1)
        early = events.follow()
        assert await anext(early) == b"retry: 1000\n\n"
        first = await anext(early)
        events.tell("b", {"x": None}, last=True)
        events.tell("c", "too late")
        rest = b"".join([part async for part in early])
        late = b"".join([part async for part in events.follow()])
        again = b"".join([part async for part in events.follow(0)])
        return first, rest, late, again

    first, rest, late, again = asyncio.run(life())
    assert first == b"id: 0\nevent: a\ndata: 1\n\n"
    assert rest == b'id: 1\nevent: b\ndata: {"x":null}\n\n'
    assert late.endswith(first + rest)
    assert again.endswith(rest)
    assert first not in again


def test_twenty_clients_of_two_runs_each_get_every_frame_in_order():
    frames, clients = 50, 20

    async def life():
        runs = [Events(), Events()]
        watching = [asyncio.create_task(_heard(runs[i % 2])) for i in range(clients)]
        for step in range(frames):
            for run in runs:
                run.tell("frame", step, last=step == frames - 1)
            await asyncio.sleep(0)
        heard = await asyncio.gather(*watching)
        return heard, [run.watchers for run in runs]

    async def _heard(run):
        text = b"".join([part async for part in run.follow()]).decode()
        return [int(line[6:]) for line in text.splitlines() if line.startswith("data: ")]

    heard, left = asyncio.run(life())
    assert heard == [list(range(frames))] * clients
    assert left == [0, 0]


@pytest.mark.parametrize("where", ["request", "hear", "finish"])
def test_a_mistake_of_ours_ends_what_is_watched(where, monkeypatch, capsys):
    """Whoever watches is told that there will be no more, and the terminal where it was."""

    class Mute:
        """A process that is done with whatever it is asked."""

        def say(self, **message):
            pass

        async def answers(self):
            yield "done", None

        def kill(self):
            pass

    async def life():
        async def hire():
            return Mute()

        monkeypatch.setattr("localax.web._crew.Helper.hire", hire)
        job = Job({}, Crew(1))
        monkeypatch.setattr(job, where, lambda *_: {}["a key that is not there"])
        job.task = asyncio.create_task(job.perform())
        told = [part async for part in job.events.follow()]
        await asyncio.wait([job.task])
        return job.status, told[-1], job.task.exception()

    status, last, error = asyncio.run(life())
    assert b"event: end" in last
    if where == "finish":  # the work itself was done
        assert (status, type(error)) == ("done", KeyError)
    else:
        assert (status, error) == ("failed", None)
        assert b"a mistake of ours" in last
        assert "KeyError in test_lab_server.py" in capsys.readouterr().err


def test_a_process_that_is_killed_in_the_middle_of_a_line_has_ended():
    async def life():
        process = mock.Mock(asyncio.subprocess.Process, stdout=asyncio.StreamReader())
        process.stdout.feed_data(b'["frame",1]\n["frame",[2,')
        process.stdout.feed_eof()
        process.wait.return_value = -9
        return [answer async for answer in Helper(process).answers()]

    assert asyncio.run(life()) == [("frame", 1), ("failed", "its process ended with code -9; start it again")]


def test_what_the_lab_keeps_is_bounded_after_many_runs(lab_store):
    """Works, files, events and tasks after many runs whose tabs are closed; counted, as memory would be by chance."""

    class Short(Job):
        async def perform(self):
            self.file = self.lab.folder / f"{self.id}.npz"
            self.file.write_bytes(b"x")
            self.events.tell("frame", "x" * 1000)
            self.status = "done"
            self.events.tell("end", self.state(), last=True)

        def discard(self):
            self.file.unlink()

    async def life():
        lab = Lab(lab_store)
        monkey = pytest.MonkeyPatch()
        monkey.setattr(Lab, "_warm", lambda _: asyncio.sleep(0))
        Short.lab = lab
        async with lab.open():
            for _ in range(20 * LIMITS["kept"]):
                job = lab._begin(Short({}, lab.jobbers))
                assert [part async for part in job.events.follow()]
                lab._forget()
            await asyncio.sleep(0.05)
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            kept = len(lab.works), len(list(lab.folder.glob("*.npz"))), sum(w.events.size for w in lab.works.values())
        monkey.undo()
        return kept, len(tasks)

    (works, files, size), tasks = asyncio.run(life())
    assert works == files <= LIMITS["kept"]
    assert size < LIMITS["kept"] * 2000
    assert tasks == 1  # the one that looks after them all


def test_the_report_shows_what_is_stored(server):
    found = server.get("/api/report").json()
    shown = {one["name"]: one for one in found["experiments"]}
    assert [name for name, one in shown.items() if one["stored"]] == ["kurtosis"]
    assert shown["kurtosis"]["text"][0] == {"words": "Words, and "}
    assert shown["kurtosis"]["text"][1]["mathml"].startswith("<math")
    assert sum(found["counts"].values()) == sum(len(one["claims"]) for one in shown.values())
    (figure,) = shown["kurtosis"]["figures"]
    assert server.get(figure["svg"]).text.startswith("<?xml")
    assert server.get(figure["png"]).content.startswith(b"\x89PNG")
    assert server.get(figure["data"]).json()["rows"][0][0]["values"][0] == [1, 0, 0, 0]
    assert server.get("/api/report/kurtosis/1.svg").status_code == 404
    assert server.get("/api/report/kurtosis/0.exe").status_code == 400
    told = server.get("/api/report/kurtosis/first.svg")
    assert (told.status_code, told.json()["where"]) == (422, "index")
    assert told.json()["error"].endswith("got 'first'")
    assert server.get("/api/report/fig5/0.svg").status_code == 404


@pytest.mark.slow
def test_an_experiment_is_run_again(server, lab_store):
    job = server.post("/api/reproduce/kurtosis", json={"fresh": True}).json()
    told = list(events(server, f"/api/jobs/{job['id']}/events"))
    assert told[-1][1]["status"] == "done", told[-1][1]["message"]
    assert any(name == "progress" and 0 < data["fraction"] < 1 for name, data in told)
    outcome = runner.load_outcome(Store(lab_store), runner.experiment_units("kurtosis")[0])
    assert [claim["verdict"] for claim in told[-1][1]["result"]["claims"]] == [c.verdict for c in outcome.claims]
    assert len(outcome.claims) > 0
