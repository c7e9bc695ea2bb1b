"""A hundredth of the inputs that ``make soak`` gives to all that takes input from outside.

In a process of its own, because that is what a user meets: under pytest the shape checks would speak first.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from soak.fuzz import ALL
from soak.fuzz.driver import from_text, to_text
from soak.fuzz.watch import Files


@pytest.mark.slow
def test_every_input_is_accepted_or_refused_in_one_line(tmp_path):
    words = [sys.executable, "-m", "soak.fuzz", "--share", "0.01", "--keep", str(tmp_path)]
    done = subprocess.run(words, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-2000:]}"
    lines = done.stdout.splitlines()
    assert [line.partition("  ")[0] for line in lines] == [target.name for target in ALL]
    assert all(" 0 defects" in line for line in lines)


def test_inputs_that_are_kept_come_back():
    given = {"words": ["é", "a\x00b", ""], "data": b"\xff\x00", "numbers": [1, 2.5, None, True]}
    assert from_text(to_text(given)) == given


def test_the_watch_sees_what_is_written_outside(tmp_path):
    """By Python, by a library in C, and through a link; what is written inside is nobody's business."""
    files, inside = Files(), tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path)
    files.around(tmp_path, inside)
    with files.heard() as strange:
        (inside / "fine").write_text("x")
        assert strange == []
        (inside / ".." / "a").write_text("x")
        (inside / "link" / "b").mkdir()
        subprocess.run(
            [sys.executable, "-c", "import os; os.close(os.open('c', os.O_CREAT))"], cwd=tmp_path, check=True
        )
    told = "\n".join(strange)
    for word in (f"open {tmp_path}/a", f"os.mkdir {tmp_path}/b", "subprocess.Popen", "'c'"):
        assert word in told
