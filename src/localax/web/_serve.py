"""The server: one socket, opened before anything else so that a port in use is told at once; Ctrl-C ends all of it."""

import asyncio
import contextlib
import errno
import logging
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from .._errors import SettingError, setting_error

if TYPE_CHECKING:
    from ._lab import Lab


class _Server(uvicorn.Server):
    """Ends the streams of events when it is told to end: they would never end by themselves."""

    def __init__(self, config: uvicorn.Config, lab: "Lab"):
        super().__init__(config)
        self.lab = lab

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: Any) -> None:
        super().handle_exit(sig, frame)
        self.loop.call_soon_threadsafe(self.lab.hang_up)


def serve(
    host: str = "127.0.0.1",
    port: int = 8271,
    *,
    store: Path | None = None,
    browser: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve the lab until Ctrl-C or a polite end (SIGTERM).

    **host**, **port**: where; a token is asked for where other machines can reach it, and port 0 takes any that is
    free. **store**: the folder of results. **browser**: open the page. **tell**: called with the address.
    """
    from ._app import create_app  # here: processes that the server starts import this room, and have no use for it
    from ._guard import Door
    from ._lab import Lab

    # What is wrong with an upload is told to whoever sent it; its parser would tell the terminal too.
    logging.getLogger("python_multipart").addHandler(logging.NullHandler())
    with _bound(host, port) as listening:
        with tempfile.TemporaryDirectory():  # a full disk is told before the page is
            pass
        door, lab = Door.at(host, listening.getsockname()[1]), Lab(store)
        config = uvicorn.Config(
create_app(lab, door), log_level="error", access_log=False, server_header=False,
            timeout_graceful_shutdown=3,
        )  # fmt: skip
        tell(door.address)
        if browser:
            threading.Timer(1.0, webbrowser.open, [door.address]).start()
        with contextlib.suppress(KeyboardInterrupt):  # how it is ended
            _Server(config, lab).run([listening])


def _bound(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with contextlib.ExitStack() as unless_bound:
            found = unless_bound.enter_context(socket.socket(family))
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
            found.listen(128)
            unless_bound.pop_all()
        return found
    except (socket.gaierror, ValueError):  # the second: no name can be so long, or have such letters
        raise setting_error("lab", "--host", host, "a name or address of this machine") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise SettingError(
                f"lab: port {port} is in use, perhaps by another lab; choose another with --port"
            ) from None
        raise SettingError(f"lab: cannot listen at {host}, port {port}: {error.strerror}; choose others") from None
