"""What ``make soak`` gives to all that takes input from outside can be kept and given again, and is watched."""

import subprocess
import sys

from soak.fuzz.driver import from_text, to_text
from soak.fuzz.watch import Files


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
