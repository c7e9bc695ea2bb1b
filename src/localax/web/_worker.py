"""What a process of the lab runs: it takes requests from standard input until that ends; `_crew` is the caller's side.

A request names a job and its arguments. While the job is done, further lines are words on it, such as "pause".
"""

import importlib
import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from .._errors import SettingError
from .._system import forget_programs, ignore_interrupts, mend_cache
from ._numbers import json_line

JOBS = {
    "train": "_live", "theory": "_theory", "threshold": "_stimulus", "predict": "_uploads", "keep": "_own",
    "reproduce": "_reports",
}  # fmt: skip
"""The jobs, and the module of this room whose ``work`` does each."""

Tell = Callable[[str, Any], None]
"""Called with the name of an event and its data."""


class Inbox:
    """Lines from whoever asks; when they are gone, so is this process."""

    def __init__(self) -> None:
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in sys.stdin:
            self.lines.put(line)
        os._exit(0)

    def next(self, block: bool = True) -> dict[str, Any] | None:
        """The next message; None where there is none yet and nobody wants to wait."""
        try:
            return json.loads(self.lines.get(block))
        except queue.Empty:
            return None


def main() -> None:
    """Serve requests for ever."""
    ignore_interrupts()  # Ctrl-C is for the server, which ends its processes
    mend_cache()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not be taken for messages

    def tell(name: str, data: Any) -> None:
        out.write(f"{json_line([name, data])}\n")
        out.flush()

    inbox = Inbox()
    importlib.import_module("._live", __package__)  # most of what a first request would wait for
    while request := inbox.next():
        if "job" in request:  # a word on a job that has ended meanwhile means nothing
            tell(*answer(request, tell, inbox))
            forget_programs()


def answer(request: Mapping[str, Any], tell: Tell, inbox: Inbox) -> tuple[str, Any]:
    """Do a job; what it gives, or in one line why it cannot be done."""
    try:
        work = importlib.import_module(f".{JOBS[request['job']]}", __package__).work
        return "done", work(request, tell, inbox)
    except (SettingError, OSError) as error:  # such as a full disk
        return "failed", " ".join(str(error).split())
    except Exception as error:
        return "failed", f"a mistake of ours, sorry: {type(error).__name__}: {' '.join(str(error).split())[:300]}"


if __name__ == "__main__":
    main()
