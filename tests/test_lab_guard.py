"""Whom the lab lets in, and what it keeps to itself."""

import asyncio
import re
import socket
from unittest import mock

import httpx
import pytest
from starlette.responses import PlainTextResponse

from lab import events
from localax._commands import _lab
from localax._errors import SettingError
from localax.web import _serve
from localax.web._guard import Door, Guard
from localax.web._limits import LIMITS


async def _echo(scope, receive, send):
    body = b""
    while scope["type"] == "http":
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await PlainTextResponse(f"{len(body)}")(scope, receive, send)


def _asked(door, method, path, *, name="127.0.0.1", app=_echo, **how):
    """What a guard that keeps a door answers."""

    async def asked():
        way = httpx.ASGITransport(Guard(app, door))
        async with httpx.AsyncClient(transport=way, base_url=f"http://{name}") as client:
            return await client.request(method, path, **how)

    return asyncio.run(asked())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200), ({"host": "localhost:81"}, 200), ({"host": "[::1]:81"}, 200), ({"host": "evil.example"}, 403),
        ({"host": ""}, 403), ({"origin": "http://127.0.0.1"}, 200), ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403), ({"host": "["}, 403), ({"origin": "http://["}, 403),
        ({"sec-fetch-site": "cross-site"}, 403), ({"sec-fetch-site": "same-origin"}, 200),
    ],
)  # fmt: skip
def test_only_the_own_page_may_ask(headers, status):
    for method in ("GET", "POST"):
        answer = _asked(Door("127.0.0.1", 80), method, "/api/runs", headers=headers)
        assert answer.status_code == status
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_from_other_machines_the_token_is_asked_for_once():
    door = Door.at("0.0.0.0", 80)

    def status(path, **headers):
        return _asked(door, "GET", path, name="lab.example", headers=headers).status_code

    assert [status("/"), status("/?token=guess"), status(f"/api/runs?token={door.token}")] == [403] * 3
    welcome = _asked(door, "GET", f"/?token={door.token}", name="lab.example")
    assert (welcome.status_code, welcome.headers["location"]) == (303, "/")
    cookie, *rest = welcome.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=strict"} <= set(rest)
    assert status("/api/runs", cookie=cookie) == 200
    assert status("/api/runs", cookie=cookie[:-1]) == 403
    assert status("/api/runs", cookie=cookie, origin="http://evil.example") == 403
    assert Door.at("127.0.0.1", 80).token is None
    assert door.token in door.address


def test_a_mistake_of_ours_says_where_and_no_more(capfd):
    async def wrong(*_):
        raise KeyError("/home/me/secret.npy")

    answer = _asked(Door("127.0.0.1", 80), "GET", "/api/runs", app=wrong)
    assert answer.status_code == 500
    assert answer.json() == {"error": "a mistake of ours, sorry; the lab's terminal says where"}
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert re.fullmatch(
        r"localax: lab: a mistake of ours: KeyError in test_lab_guard\.py, line \d+\n", capfd.readouterr().err
    )


def test_what_is_sent_is_limited():
    door, most = Door("127.0.0.1", 80), LIMITS["body"]

    async def pieces():  # without a length said before
        for _ in range(most // 1000 + 1):
            yield b"x" * 1000

    assert _asked(door, "POST", "/api/runs", content=b"x" * most).text == str(most)
    assert _asked(door, "POST", "/api/runs", content=b"x" * (most + 1)).status_code == 413
    assert _asked(door, "POST", "/api/runs", content=pieces()).status_code == 413
    for length in (str(10**12), "9" * 5000, b"\xb2"):
        assert _asked(door, "POST", "/api/predict", headers={"content-length": length}).status_code == 413


@pytest.mark.parametrize(
    "path", ["/static/../_app.py", "/static/%2e%2e/_app.py", "/static/..%2f_app.py", "/static//etc/passwd"]
)
def test_nothing_outside_is_served(server, path):
    host, port = server.base_url.host, server.base_url.port
    with socket.create_connection((host, port), 10) as line:  # a client of ours would tidy the path up
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: line.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 404")


def test_every_answer_has_its_policy(server):
    for path in ("/", "/static/lab.js", "/plotly.min.js", "/favicon.ico", "/api/catalogue", "/nothing", "/static/none"):
        assert "default-src 'self'" in server.get(path).headers["content-security-policy"], path
    refused = server.get("/", headers={"host": "evil.example"})
    assert "default-src 'self'" in refused.headers["content-security-policy"]


def test_nothing_that_visitors_send_is_in_the_log(server):
    server.get("/nothing/secret-path?secret=query")
    server.post("/api/runs", json={"settings": {"secret-setting": 1}})
    for name, content in (("secret-name.npy", b"secret-content"), ("secret-image.png", b"secret-content")):
        job = server.post("/api/predict", files={"samples": (name, content)}).json()
        told = list(events(server, f"/api/jobs/{job['id']}/events"))
        assert name in told[-1][1]["message"]  # the visitor is told
    broken = {"content-type": "multipart/form-data; boundary=x"}
    server.post("/api/predict", content=b"no such thing", headers=broken)
    said = server.log.read_text()
    assert not [
        word for word in ("secret", "boundary", "evil", "passwd", "x.npz", "/api/", "GET", "POST") if word in said
    ], said


def test_the_token_is_in_the_address_alone(tmp_path, capsys, monkeypatch):
    apps = []
    monkeypatch.setattr(_serve.uvicorn, "Config", lambda app, **_: apps.append(app))
    monkeypatch.setattr(_serve, "_Server", mock.MagicMock())
    _lab.lab(host="0.0.0.0", port=0, browser=False, store=tmp_path)
    said = capsys.readouterr()
    address = httpx.URL(re.fullmatch("the lab is open at (.*)\nCtrl-C closes it\nthe lab is closed\n", said.out)[1])

    async def visited():
        way, here = httpx.ASGITransport(apps[0]), f"http://lab.example:{address.port}"
        async with httpx.AsyncClient(transport=way, base_url=here, follow_redirects=True) as client:
            return [await client.get(path) for path in ("/?token=guess", f"/?{address.query.decode()}", "/api/runs")]

    guessed, welcome, runs = asyncio.run(visited())
    assert (guessed.status_code, welcome.status_code, welcome.url.query) == (403, 200, b"")
    assert runs.json() == {"runs": []}
    assert (said.err, capsys.readouterr()) == ("", ("", ""))


def test_a_port_in_use_is_told_in_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingError, match=f"^lab: port {port} is in use.*--port$"):
            _lab.lab(port=port, host="127.0.0.1", browser=False)
