"""A command that ends before it was to be killed has not been killed, and the next moment is an earlier one."""

import random
import subprocess
import sys

from soak.kills import VICTIMS, Span, _moment, kill


def test_who_comes_too_late_is_earlier_from_then_on(tmp_path):
    draw, span = random.Random(0), Span(3000.0, 10**6)
    while span.seconds > 60 or span.changes > 1:
        with subprocess.Popen([sys.executable, "-S", "-c", ""]) as process:
            said, span = _moment(process, tmp_path, draw, span)
        assert said.split()[-1] != "0"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert _moment(process, tmp_path, draw, Span(0.01, 1))[1] == Span(0.01, 1)
        assert VICTIMS["a worker"](process.pid) == 0  # it has none
        assert VICTIMS["everything"](process.pid) == 1
    assert kill([]) == 0
