"""Predict on a file of 10 GB, and see that it takes no more than 2 GB of memory.

Of so large a file a sample is taken; with a share, so much less of one.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from localax.prediction import _files
from soak.share import share

SAMPLES, PIXELS = 50_000_000, 50

COMMAND = """
import resource, sys
import localax.cli as cli
from localax.prediction import _files
_files.KEPT = int(sys.argv.pop())
try:
    cli.main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def written(path: Path, kept: int) -> None:
    """10 GB that take 0.1 of disk or less: there is something where it is read, and nothing elsewhere."""
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (SAMPLES, PIXELS)})
        head = file.tell()
        file.truncate(head + 4 * SAMPLES * PIXELS)
        for first in _files._runs(SAMPLES, kept // PIXELS, 0).tolist():
            file.seek(head + 4 * PIXELS * first)
            file.write(rng.standard_normal((_files.RUN, PIXELS), dtype=np.float32).tobytes())


def predicted(folder: Path, kept: int) -> tuple[str, int]:
    """What ``localax predict`` says of such a file if it takes so many numbers, and the most bytes that it held."""
    written(folder / "x.npy", kept)
    words = [sys.executable, "-c", COMMAND, "predict", "x.npy", str(kept)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, check=True)
    return done.stdout, 1024 * int(done.stderr.split()[-1])


def main() -> None:
    kept = share(__doc__, ()).of(_files.KEPT)
    with tempfile.TemporaryDirectory() as folder:
        said, most = predicted(Path(folder), kept)
    assert "Of 50,000,000 samples in the file" in said, said
    assert "does not localize" in said, said
    assert most < 2 * 2**30, f"{most / 2**30:.2f} GiB"
    sys.stdout.write(f"10 GB were predicted on within {most / 2**30:.2f} GiB\n")


if __name__ == "__main__":
    main()
