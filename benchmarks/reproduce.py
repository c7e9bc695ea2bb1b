"""How long `localax reproduce` takes, cold: ``python benchmarks/reproduce.py [--preset paper] [--json]``.

The command itself is run, chapter by chapter, with an empty store and nothing compiled beforehand, up to the finished
report. The exit code is 1 if a chapter takes longer than its target, or more memory, or does not end well.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from localax import runner
from localax.store import Store

TARGETS = {
    "quick": {"paper": 180, "notes": 180, "beyond": 180},
    "paper": {"paper": 720, "notes": 1080, "beyond": 1200, "fig5": 90},
}
"""Seconds for a chapter or an experiment alone, by preset, on two cores."""
MEMORY = 3.0
"""GB, for all processes together."""


def chapter(name: str, preset: str) -> dict:
    """Wall time of a chapter and of each of its experiments, and the memory it took."""
    with tempfile.TemporaryDirectory() as folder:
        store, out = Path(folder) / "results", Path(folder) / "report"
        command = [sys.executable, "-m", "localax", "reproduce", name, "--preset", preset,
                   "--store", str(store), "--out", str(out)]  # fmt: skip
        began, memory = time.perf_counter(), 0.0
        with subprocess.Popen(command, env={**os.environ, "XDG_CACHE_HOME": folder}, stdout=sys.stderr) as process:
            while process.poll() is None:
                memory = max(memory, gigabytes(process.pid))
                time.sleep(0.5)
        wall, code = time.perf_counter() - began, process.returncode
        units = [unit for unit in runner.experiment_units(name, preset) if Store(store).finished(unit.identity)]
        outcomes = [runner.load_outcome(Store(store), unit) for unit in units]
    return {"chapter": name, "preset": preset, "seconds": round(wall, 1), "target": TARGETS[preset][name],
            "memory": round(memory, 2), "code": code,
            "experiments": {o.name: round(o.seconds, 1) for o in outcomes}}  # fmt: skip


def gigabytes(pid: int) -> float:
    """Memory of a process and all its descendants, what they share counted once; 0 where there is no /proc."""
    total = 0.0
    with suppress(OSError, IndexError):  # it has just ended
        total += int(Path(f"/proc/{pid}/smaps_rollup").read_text().split("Pss:")[1].split()[0]) / 1e6
        for thread in Path(f"/proc/{pid}/task").iterdir():
            total += sum(gigabytes(int(child)) for child in (thread / "children").read_text().split())
    return total


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="reproduce", description="How long every experiment takes.")
    parser.add_argument("--preset", choices=tuple(TARGETS), default="quick")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(argv)
    chapters = [chapter(name, options.preset) for name in TARGETS[options.preset]]
    if options.json:
        print(json.dumps(chapters, indent=1))
    else:
        for one in chapters:
            print(f"{one['chapter']} ({one['preset']}): {one['seconds']} s, target {one['target']} s;", end=" ")
            print(f"{one['memory']} GB, target {MEMORY} GB; exit code {one['code']}")
            for name, seconds in sorted(one["experiments"].items(), key=lambda item: -item[1]):
                print(f"  {name:<24}{seconds:8.1f} s")
    met = (one["seconds"] <= one["target"] and one["memory"] < MEMORY and one["code"] == 0 for one in chapters)
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
