"""The routes of the lab. What they do is in the other files of this room; `Guard` stands before them all."""

import contextlib
import importlib.metadata
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import plotly
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from fastapi.sse import EventSourceResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException as AnyHTTPException

from .._errors import SettingError, short
from ..runner import TrainingSettings
from ._catalogue import catalogue
from ._export import command_line, python_lines
from ._guard import Door, Guard
from ._jobs import Job
from ._lab import Lab
from ._limits import LabRun
from ._own import receive_data
from ._reports import picture_of, report, reproduce_request
from ._runs import Run
from ._stimulus import preview, samples
from ._uploads import receive_upload
from ._work import AbstractWork, Gone, NotNow

STATIC = Path(__file__).with_name("static")
PLOTLY = Path(plotly.__file__).with_name("package_data") / "plotly.min.js"
DAY = {"Cache-Control": "private, max-age=86400"}
LAW = ("stimulus", "labels", "proportions")
FRESH = {"Cache-Control": "no-cache"}


def create_app(lab: Lab, door: Door) -> FastAPI:
    """The application that serves a **lab** behind a **door**."""

    @contextlib.asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        async with lab.open():
            yield

    app = FastAPI(title="Localax lab", lifespan=life, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(Guard, door=door)
    for kind, status in {SettingError: 400, Gone: 404, NotNow: 409}.items():
        app.add_exception_handler(kind, _answer(status))
    app.add_exception_handler(AnyHTTPException, _plain_error)
    app.add_exception_handler(RequestValidationError, _unread)
    for add in (_pages, _stimulus_routes, _run_routes, _job_routes, _report_routes):
        add(app, lab)
    return app


def _answer(status: int) -> Any:
    async def answer(_: Request, error: Exception) -> JSONResponse:
        line = " ".join(str(error).split())
        where = re.search(r": (\w+) must be ", line)
        shown = line.removeprefix(f"{LabRun.__name__}: ")  # a name that is not on the page
        return JSONResponse({"error": shown, "where": where and where[1]}, status)

    return answer


async def _plain_error(_: Request, error: Any) -> JSONResponse:
    return JSONResponse({"error": str(error.detail), "where": None}, error.status_code)


async def _unread(_: Request, error: Any) -> JSONResponse:
    """What a part of the address must be, in one line."""
    first = error.errors()[0]
    where = str(first["loc"][-1])
    return JSONResponse({"error": f"{where}: {first['msg'].lower()}, got {short(first['input'])}", "where": where}, 422)


async def _body(request: Request) -> dict[str, Any]:
    """The JSON of a request, which must be a table; nothing else that a form of another page could send."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(422, "what is sent must be JSON, with Content-Type: application/json")
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise HTTPException(422, "what was sent is no JSON") from None
    if not isinstance(found, dict):
        raise HTTPException(422, 'what is sent must be a table, as in {"settings": {...}}')
    return found


# Routes ---------------------------------------------------------------------------------------------------------------


def _pages(app: FastAPI, lab: Lab) -> None:
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    version = importlib.metadata.version("plotly")

    @app.get("/")
    async def index() -> FileResponse:
        return FileResponse(STATIC / "index.html", headers=FRESH)

    @app.get("/plotly.min.js")
    async def charts() -> FileResponse:
        return FileResponse(PLOTLY, media_type="text/javascript", headers={**DAY, "X-Version": version})

    @app.get("/favicon.ico")
    async def icon() -> Response:
        return Response(status_code=204, headers=DAY)

    @app.get("/api/catalogue")
    async def everything() -> JSONResponse:
        return JSONResponse(await lab.draw(catalogue, lab.store))


def _stimulus_routes(app: FastAPI, lab: Lab) -> None:
    async def about(request: Request) -> TrainingSettings:
        """The settings that make a stimulus: the rest of the form may be half filled in."""
        given = (await _body(request)).get("settings")
        only = {name: given[name] for name in LAW if name in given} if isinstance(given, dict) else given
        return (await lab.understood(only))[0]

    @app.post("/api/stimulus")
    async def stimulus(request: Request) -> JSONResponse:
        return JSONResponse(await lab.sketch(preview, await about(request)))

    @app.post("/api/samples")
    async def drawn(request: Request) -> JSONResponse:
        return JSONResponse(await lab.draw(samples, await about(request)))

    @app.post("/api/threshold")
    async def threshold(request: Request) -> JSONResponse:
        return JSONResponse(await lab.work_out("threshold", await about(request)))

    @app.post("/api/python")
    async def python(request: Request) -> PlainTextResponse:
        settings, names = await lab.understood((await _body(request)).get("settings"))
        return PlainTextResponse(python_lines(settings, names=names))

    @app.post("/api/command")
    async def command(request: Request) -> PlainTextResponse:
        settings, names = await lab.understood((await _body(request)).get("settings"))
        return PlainTextResponse(command_line(settings, names=names))


def _run_routes(app: FastAPI, lab: Lab) -> None:
    @app.post("/api/runs", status_code=201)
    async def start(request: Request) -> JSONResponse:
        run = await lab.start_run((await _body(request)).get("settings"))
        return JSONResponse(run.state(), 201)

    @app.get("/api/runs")
    async def runs() -> JSONResponse:
        return JSONResponse({"runs": [work.state() for work in lab.works.values() if isinstance(work, Run)]})

    _watched(app, lab, Run, "/api/runs/{name}")

    @app.post("/api/runs/{name}/{word}")
    async def say(name: str, word: str, request: Request) -> JSONResponse:
        found, body = lab.find(Run, name), await _body(request)
        found.say(word, body)
        return JSONResponse(found.state())

    @app.get("/api/runs/{name}/file")
    async def file(name: str) -> FileResponse:
        found = lab.find(Run, name)
        if not found.file.is_file():
            raise NotNow(f"a run can be taken away when it has ended; this one is {found.status}")
        return FileResponse(found.file, filename="run.npz", media_type="application/octet-stream")

    @app.get("/api/runs/{name}/python")
    async def python(name: str) -> PlainTextResponse:
        found = lab.find(Run, name)
        return PlainTextResponse(python_lines(found.settings, found.stretches, found.reached, found.names))

    @app.get("/api/runs/{name}/command")
    async def command(name: str) -> PlainTextResponse:
        found = lab.find(Run, name)
        if len(found.stretches) > 1:
            raise NotNow("the rate was changed on the way, which no command line can say; take the Python lines")
        return PlainTextResponse(command_line(found.settings, steps=found.reached, names=found.names))


def _watched(app: FastAPI, lab: Lab, kind: type[AbstractWork], address: str) -> None:
    """How work of a kind stands, and all that it tells as it goes on."""

    @app.get(address)
    async def state(name: str) -> JSONResponse:
        return JSONResponse(lab.find(kind, name).state())

    @app.get(f"{address}/events")
    async def events(name: str, request: Request) -> Response:
        return _stream(lab.find(kind, name), request)


def _stream(work: AbstractWork, request: Request) -> EventSourceResponse:
    """Server-sent events from the first on, or from behind the last that this watcher has seen."""
    last = request.headers.get("last-event-id", "")
    after = int(last) if last.isdecimal() and len(last) < 10 else -1
    return EventSourceResponse(work.events.follow(after), headers={"X-Accel-Buffering": "no"})


def _job_routes(app: FastAPI, lab: Lab) -> None:
    _watched(app, lab, Job, "/api/jobs/{name}")

    @app.post("/api/jobs/{name}/stop")
    async def stop(name: str, request: Request) -> JSONResponse:
        await _body(request)
        found = lab.find(Job, name)
        found.stop("stopped")
        return JSONResponse(found.state())

    @app.post("/api/predict", status_code=202)
    async def predict(request: Request) -> JSONResponse:
        return JSONResponse((await receive_upload(lab, request)).state(), 202)

    @app.post("/api/data", status_code=202)
    async def keep(request: Request) -> JSONResponse:
        return JSONResponse((await receive_data(lab, request)).state(), 202)

    @app.get("/api/data/{name:path}")
    async def data(name: str) -> JSONResponse:
        return JSONResponse(lab.own.find(name).names)


def _report_routes(app: FastAPI, lab: Lab) -> None:
    @app.get("/api/report")
    async def whole(preset: str = "quick") -> JSONResponse:
        return JSONResponse(await lab.ask(report, lab.store, preset))

    @app.get("/api/report/{name}/{index}.{form}")
    async def figure(name: str, index: int, form: str, preset: str = "quick") -> Response:
        data, kind = await lab.ask(picture_of, lab.store, name, preset, index, form)
        return Response(data, media_type=kind)

    @app.post("/api/reproduce/{name}", status_code=202)
    async def reproduce(name: str, request: Request) -> JSONResponse:
        asked = await lab.ask(reproduce_request, lab.store, name, await _body(request))
        return JSONResponse(lab.start_job(asked).state(), 202)
