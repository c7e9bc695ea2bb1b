"""The routes of the lab: any method, path, head and body, given to the application as a server would hand them on.

Processes that train and predict are not started: one that is asked for answers at once that it has failed. What they
would be given is checked before that, and their reading of files is a target of its own.
"""

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

from localax import experiments
from localax.web._app import create_app
from localax.web._crew import Helper
from localax.web._guard import Door
from localax.web._lab import Lab
from localax.web._runs import WORDS as SAID

from .driver import AbstractTarget, Defect, Refused
from .settings import NAMES, RUN, runs
from .stores import filled
from .values import SEEDS, anything, changed, spoilt, texts

HOST = (b"host", b"127.0.0.1:8271")
JSON = (b"content-type", b"application/json")
TOKEN = (b"cookie", b"localax-lab-8271=token")
FORM = (b"content-type", b"multipart/form-data; boundary=XX")
STATIC = (
    "/", "/favicon.ico", "/static/lab.css", "/static/../_app.py", "/static/%2e%2e/_app.py", "/plotly.min.js",
    "/api/catalogue", "/api",
)  # fmt: skip
POSTS = re.compile(
    r"/api/(stimulus|samples|threshold|python|command|runs|predict|data|reproduce/.*|jobs/.*/stop"
    r"|runs/.*/(pause|resume|rate|stop))"
)
"""What is asked for with a body."""
KEY = "0123456789abcdef"
OWN = {"kind": "Empirical", "samples": f"{KEY}/data.npy"}
"""Data that were brought before, as a page calls them."""
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "get", "TRACE")
HEADERS = (
    b"content-type", b"content-length", b"last-event-id", b"origin", b"host", b"cookie", b"range", b"accept",
    b"sec-fetch-site", b"if-none-match", b"if-modified-since", b"transfer-encoding", b"x",
)  # fmt: skip
VALUES = (
    b"", b"bytes=0-", b"bytes=5-1,9-", b"bytes=-99999999999999999999", b"-1", b"9" * 400, b"null", b"http://[",
    b"//[::1", b"127.0.0.1", b"localhost:x", b"multipart/form-data", b"multipart/form-data; boundary=",
    b"text/html; charset=utf-99", b"\xff\xfe", b"application/json", b"APPLICATION/JSON ;x", b"a=b; localax-lab-8271=",
    b"localax-lab-8271=token", b"\"=/;@=;a[]=1", b"1" * 9, "٣".encode(), b"\xb2",
)  # fmt: skip


INSIDE = b'{"kind": "GaussianClone", "stimulus": '
DEEP = [b'{"settings": {"stimulus": ' + INSIDE * n + b'"NLGP"' + b"}" * (n + 2) for n in (5, 100, 700)]
"""Tables inside of tables."""


def _paths() -> st.SearchStrategy:
    names = st.sampled_from(("RUN", "JOB", "..", "kurtosis", *list(experiments.ALL)[:3])) | texts
    brought = st.builds(
        "/api/data/{}".format, st.sampled_from((KEY, f"{KEY}/data.npy", f"{KEY}/../..", "/", "")) | texts
    )
    run = st.builds(
        "/api/runs/{}/{}".format, names, st.sampled_from((*SAID, "file", "python", "command", "events")) | texts
    )
    job = st.builds("/api/jobs/{}/{}".format, names, st.sampled_from(("stop", "events", "")))
    index = st.integers(-2, 3).map(str) | texts
    shown = st.builds(
        "/api/report/{}/{}.{}".format, names, index, st.sampled_from(("csv", "json", "svg", "exe")) | texts
    )
    plain = (
        "stimulus", "samples", "threshold", "python", "command", "runs", "runs/RUN", "jobs/JOB", "predict", "data",
        "report",
    )  # fmt: skip
    again = st.builds("/api/reproduce/{}".format, names)
    return st.one_of(
        st.sampled_from(STATIC), st.sampled_from([f"/api/{p}" for p in plain]), run, job, shown, again, brought, texts
    )


def _bodies() -> st.SearchStrategy:
    own = st.just({**RUN, "stimulus": OWN, "network": {"kind": "SingleReLU"}})
    tables = st.fixed_dictionaries({"settings": changed(runs() | own, NAMES)})
    asked = tables | st.fixed_dictionaries({}, optional={"rate": anything, "preset": anything, "fresh": anything})
    sent = (asked | anything).map(lambda value: json.dumps(value).encode())
    return sent | sent | st.builds(spoilt, sent, SEEDS) | st.sampled_from(DEEP)


def _forms() -> st.SearchStrategy:
    files = st.tuples(
        st.sampled_from(("samples", "labels", "x")), texts | st.sampled_from(("x.npy", "../x.npy")), SEEDS
    )
    form = st.lists(files, max_size=4).map(_form)
    return form | st.builds(spoilt, form, SEEDS)


def _form(files: list[tuple[str, str, int]]) -> bytes:
    parts = [
        f'--XX\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'.encode()
        + random.Random(seed).randbytes(seed % 300) + b"\r\n"
        for field, name, seed in files
    ]  # fmt: skip
    return b"".join(parts) + b"--XX--\r\n"


MOSTLY = st.sampled_from((True,) * 19 + (False,))
"""What is so in most requests: else all are turned away at the door."""


@st.composite
def requests(draw: Callable) -> dict[str, Any]:
    """A method, a path with its question, heads and a body; the second door asks for a token."""
    path, question = (
        draw(_paths()),
        draw(st.sampled_from(("", "", "preset=paper", "preset=x", "token=é&token", "%ff=%"))),
    )
    form = path in ("/api/predict", "/api/data")
    usual = "POST" if POSTS.fullmatch(path) else "GET"
    method = draw(st.sampled_from((*METHODS, *[usual] * 30)))
    headers = [HOST, FORM if form else JSON] if draw(MOSTLY) else []
    door = draw(st.sampled_from((0, 0, 0, 1)))
    headers += [TOKEN] if door and draw(MOSTLY) else []
    for _ in range(draw(st.sampled_from((0, 0, 0, 0, 0, 1, 2)))):
        headers.append((draw(st.sampled_from(HEADERS)), draw(st.sampled_from(VALUES))))
    body = draw(_forms() if form else _bodies()) if method != "GET" else b""
    return {
        "method": method,
        "path": path,
        "question": question,
        "headers": [list(pair) for pair in headers],
        "body": body,
        "door": door,
    }


class Idle(Helper):
    """A process that is none."""

    def __init__(self) -> None:
        super().__init__(mock.Mock())

    @classmethod
    async def hire(cls) -> "Idle":
        return cls()

    alive = True  # pyright: ignore[reportAssignmentType]

    def say(self, **message: Any) -> None:
        json.dumps(message)

    async def answers(self) -> AsyncIterator[tuple[str, Any]]:
        yield "failed", "nothing is done here"

    async def dismiss(self) -> None:
        pass

    def kill(self) -> None:
        pass


class Routes(AbstractTarget):
    name = "lab routes"

    def inputs(self) -> st.SearchStrategy:
        return requests()

    @contextmanager
    def opened(self, folder: Path) -> Iterator[None]:
        filled(folder / "store")
        with asyncio.Runner() as self.runner, mock.patch("localax.web._crew.Helper", Idle):
            self.lab = self.runner.run(_lab(folder / "store"))
            self.apps = [create_app(self.lab, Door("127.0.0.1", 8271, token)) for token in (None, "token")]
            within = self.lab.open()
            self.runner.run(within.__aenter__())
            self.runner.run(self._brought())
            yield
            self.runner.run(within.__aexit__(None, None, None))

    async def _brought(self) -> None:
        """Keep data as if somebody had brought them."""
        (self.lab.folder / KEY).mkdir()
        np.save(self.lab.folder / KEY / "samples.npy", np.random.default_rng(0).normal(size=(64, 12)))
        self.lab.own.add(self.lab.folder / KEY, {"samples": "data.npy"})

    def take(self, given: Any) -> None:
        status, headers, body = self.runner.run(self._asked(given))
        if status >= 500:
            raise Defect(f"answers {status}: {body[:200]!r}")
        if status >= 400:
            raise Refused(_line(status, headers, body))

    async def _asked(self, given: dict[str, Any]) -> tuple[int, dict[bytes, bytes], bytes]:
        """What the application answers, as a server would be told."""
        works = {"RUN": "Run", "JOB": "Job"}
        path = given["path"]
        for word, kind in works.items():
            found = [work.id for work in self.lab.works.values() if type(work).__name__ == kind]
            path = path.replace(word, found[-1] if found else "none")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
            "method": given["method"], "path": path, "raw_path": path.encode("utf-8", "replace"),
            "query_string": given["question"].encode(), "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8271),
            "headers": [(bytes(name), bytes(value)) for name, value in given["headers"]],
        }  # fmt: skip
        sent: list[dict[str, Any]] = []
        inbox = [{"type": "http.request", "body": given["body"], "more_body": False}]

        async def receive() -> dict[str, Any]:
            if inbox:
                return inbox.pop()
            await asyncio.sleep(3600)  # it stays
            raise AssertionError

        async def send(message: Any) -> None:
            sent.append(message)

        await asyncio.wait_for(self.apps[given["door"]](scope, receive, send), 60)
        body = b"".join(message.get("body", b"") for message in sent[1:])
        return sent[0]["status"], dict(sent[0]["headers"]), body


async def _lab(store: Path) -> Lab:
    return Lab(store)


def _line(status: int, headers: dict[bytes, bytes], body: bytes) -> str:
    """The line of a refusal: JSON, as the page reads it."""
    if headers.get(b"content-length") == b"0" or not body:  # of HEAD
        return f"status {status}"
    if headers.get(b"content-type", b"").startswith(
        b"text/plain"
    ):  # of a part of a file, which the page never asks for
        return body.decode()
    try:
        return json.loads(body)["error"]
    except (ValueError, KeyError, TypeError) as error:
        raise Defect(f"refuses with {status}, and in no line: {body[:100]!r}") from error
